"""``tf.contrib.tensorboard.plugins``: of TensorBoard's parts the one that shows vectors."""

from . import projector as projector

__all__ = ["projector"]

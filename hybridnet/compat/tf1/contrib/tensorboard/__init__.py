"""``tf.contrib.tensorboard``: what is written for parts of TensorBoard."""

from . import plugins as plugins

__all__ = ["plugins"]

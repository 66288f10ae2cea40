"""``tf.contrib.tensorboard``: what is written for parts of TensorBoard."""

from __future__ import annotations

from . import plugins as plugins

__all__ = ["plugins"]

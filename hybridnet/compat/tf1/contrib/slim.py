"""``tf.contrib.slim``: layers as functions, of `tf.contrib.layers`, and the counter of steps."""

from __future__ import annotations

from . import layers as layers
from .framework import create_global_step as create_global_step
from .framework import get_global_step as get_global_step
from .framework import get_or_create_global_step as get_or_create_global_step
from .layers import avg_pool2d as avg_pool2d
from .layers import conv2d as conv2d
from .layers import flatten as flatten
from .layers import fully_connected as fully_connected
from .layers import l1_regularizer as l1_regularizer
from .layers import l2_regularizer as l2_regularizer
from .layers import max_pool2d as max_pool2d
from .layers import variance_scaling_initializer as variance_scaling_initializer
from .layers import xavier_initializer as xavier_initializer
from .layers import xavier_initializer_conv2d as xavier_initializer_conv2d

__all__ = [
    "avg_pool2d", "conv2d", "create_global_step", "flatten", "fully_connected", "get_global_step",
    "get_or_create_global_step", "l1_regularizer", "l2_regularizer", "layers", "max_pool2d",
    "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
]  # fmt: skip

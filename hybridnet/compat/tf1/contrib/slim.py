"""``tf.contrib.slim``: layers as functions, of `tf.contrib.layers`, and the counter of steps."""

# ruff: noqa: F403, F405

from . import layers, losses
from .framework import *
from .layers import *

__all__ = [
    "add_arg_scope", "arg_scope", "avg_pool2d", "batch_norm", "conv2d", "conv2d_transpose",
    "convolution2d", "convolution2d_transpose", "create_global_step", "dropout", "flatten",
    "fully_connected", "get_global_step", "get_model_variables", "get_or_create_global_step",
    "get_trainable_variables", "get_variables", "get_variables_to_restore", "has_arg_scope",
    "l1_regularizer", "l2_regularizer", "layer_norm", "layers", "linear", "losses", "max_pool2d",
    "one_hot_encoding", "repeat", "stack", "variance_scaling_initializer", "xavier_initializer",
    "xavier_initializer_conv2d",
]  # fmt: skip

"""``tf.contrib.slim``: layers as functions, of `tf.contrib.layers`, and the counter of steps."""

from __future__ import annotations

from . import layers as layers
from . import losses as losses
from .framework import add_arg_scope as add_arg_scope
from .framework import arg_scope as arg_scope
from .framework import create_global_step as create_global_step
from .framework import get_global_step as get_global_step
from .framework import get_model_variables as get_model_variables
from .framework import get_or_create_global_step as get_or_create_global_step
from .framework import get_trainable_variables as get_trainable_variables
from .framework import get_variables as get_variables
from .framework import get_variables_to_restore as get_variables_to_restore
from .framework import has_arg_scope as has_arg_scope
from .layers import avg_pool2d as avg_pool2d
from .layers import batch_norm as batch_norm
from .layers import conv2d as conv2d
from .layers import conv2d_transpose as conv2d_transpose
from .layers import convolution2d as convolution2d
from .layers import convolution2d_transpose as convolution2d_transpose
from .layers import dropout as dropout
from .layers import flatten as flatten
from .layers import fully_connected as fully_connected
from .layers import l1_regularizer as l1_regularizer
from .layers import l2_regularizer as l2_regularizer
from .layers import layer_norm as layer_norm
from .layers import linear as linear
from .layers import max_pool2d as max_pool2d
from .layers import one_hot_encoding as one_hot_encoding
from .layers import repeat as repeat
from .layers import stack as stack
from .layers import variance_scaling_initializer as variance_scaling_initializer
from .layers import xavier_initializer as xavier_initializer
from .layers import xavier_initializer_conv2d as xavier_initializer_conv2d

__all__ = [
    "add_arg_scope", "arg_scope", "avg_pool2d", "batch_norm", "conv2d", "conv2d_transpose",
    "convolution2d", "convolution2d_transpose", "create_global_step", "dropout", "flatten",
    "fully_connected", "get_global_step", "get_model_variables", "get_or_create_global_step",
    "get_trainable_variables", "get_variables", "get_variables_to_restore", "has_arg_scope",
    "l1_regularizer", "l2_regularizer", "layer_norm", "layers", "linear", "losses", "max_pool2d",
    "one_hot_encoding", "repeat", "stack", "variance_scaling_initializer", "xavier_initializer",
    "xavier_initializer_conv2d",
]  # fmt: skip

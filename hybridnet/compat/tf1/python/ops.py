"""``tensorflow.python.ops``: what adds Operations."""

from hybridnet.compat import tf1

from .. import image as image_ops
from .. import nn as nn
from .. import rnn_cell as rnn_cell
from ..contrib import lookup as lookup_ops

array_ops = check_ops = clip_ops = control_flow_ops = data_flow_ops = functional_ops = tf1
gradients = init_ops = io_ops = linalg_ops = logging_ops = math_ops = parsing_ops = tf1
random_ops = script_ops = sparse_ops = state_ops = string_ops = tensor_array_ops = tf1
variable_scope = variables = tf1
embedding_ops = nn_ops = rnn = nn

__all__ = [
    "array_ops", "check_ops", "clip_ops", "control_flow_ops", "data_flow_ops", "embedding_ops",
    "functional_ops", "gradients", "image_ops", "init_ops", "io_ops", "linalg_ops", "logging_ops",
    "lookup_ops", "math_ops", "nn", "nn_ops", "parsing_ops", "random_ops", "rnn", "rnn_cell",
    "script_ops", "sparse_ops", "state_ops", "string_ops", "tensor_array_ops", "variable_scope",
    "variables",
]  # fmt: skip

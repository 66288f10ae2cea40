"""`gluon.contrib.rnn`: further recurrent cells."""

from . import conv_rnn_cell as conv_rnn_cell
from . import rnn_cell as rnn_cell
from .conv_rnn_cell import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)
from .rnn_cell import LSTMPCell, VariationalDropoutCell

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
    "LSTMPCell",
    "VariationalDropoutCell",
]

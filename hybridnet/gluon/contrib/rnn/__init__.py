"""`gluon.contrib.rnn`: further recurrent cells."""

from . import conv_rnn_cell as conv_rnn_cell
from . import rnn_cell as rnn_cell
from .conv_rnn_cell import *  # noqa: F403
from .conv_rnn_cell import __all__ as _conv_names
from .rnn_cell import LSTMPCell, VariationalDropoutCell

__all__ = [*_conv_names, "LSTMPCell", "VariationalDropoutCell"]

"""`gluon.contrib.rnn`: further recurrent cells."""

from . import rnn_cell as rnn_cell
from .rnn_cell import LSTMPCell, VariationalDropoutCell

__all__ = ["LSTMPCell", "VariationalDropoutCell"]

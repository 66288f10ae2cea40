"""`gluon.rnn`: recurrent cells, which take one step, and layers, which take a whole sequence."""

from . import rnn_cell as rnn_cell
from . import rnn_layer as rnn_layer
from .cells import GRUCell, LSTMCell, RNNCell
from .modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from .recurrent import HybridRecurrentCell, RecurrentCell
from .rnn_layer import GRU, LSTM, RNN
from .stacks import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]

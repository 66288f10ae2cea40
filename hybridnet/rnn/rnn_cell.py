"""The cells, where MXNet has them."""

from .base import BaseRNNCell, RNNParams
from .convolutional import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from .dropout import DropoutCell
from .fused import FusedRNNCell
from .modifiers import ModifierCell, ResidualCell, ZoneoutCell
from .stacks import BidirectionalCell, SequentialRNNCell
from .weighted import GRUCell, LSTMCell, RNNCell

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]

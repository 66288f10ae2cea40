"""The cells and the functions on sequences, where MXNet has them.

Packages import the functions by their private names to write `unroll` methods of their own.
"""

from .cells import GRUCell, LSTMCell, RNNCell
from .modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from .recurrent import HybridRecurrentCell, RecurrentCell
from .sequences import begin_states as _cells_begin_state
from .sequences import first_states as _get_begin_state
from .sequences import format_sequence as _format_sequence
from .sequences import mask_sequence as _mask_sequence_variable_length
from .sequences import reverse_sequences as _reverse_sequences
from .sequences import state_infos as _cells_state_info
from .stacks import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell

__all__ = [
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
    "_cells_begin_state",
    "_cells_state_info",
    "_format_sequence",
    "_get_begin_state",
    "_mask_sequence_variable_length",
    "_reverse_sequences",
]

"""The tape: what was computed while recording, and the walk back over it.

It knows no arrays: those that are on it are what `TapeArray` says of them.
"""

from .array import TapeArray as TapeArray
from .nodes import Edge as Edge
from .nodes import Leaf as Leaf
from .nodes import TapeNode as TapeNode
from .nodes import order as order
from .nodes import record_call as record_call
from .nodes import state as state
from .walk import backward as backward

__all__ = [
    "Edge",
    "Leaf",
    "TapeArray",
    "TapeNode",
    "backward",
    "order",
    "record_call",
    "state",
]

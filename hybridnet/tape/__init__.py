"""The tape: what was computed inside `autograd.record()`, and the backward pass over it.

`nodes` holds the tape, `walk` goes back over it, and `replay` repeats a backward pass that has been
done before. This package does not import NDArray: `TapeArray` says what an array must offer.
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

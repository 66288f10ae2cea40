"""The tape: what was computed inside `autograd.record()`, and the backward pass over it.

`nodes` holds the tape, `walk` goes back over it, and `replay` repeats a backward pass that has been
done before; `averages` is about states that the backward pass moves. This package does not import
NDArray: `TapeArray` says what an array must offer.
"""

from .array import TapeArray as TapeArray
from .averages import move as move
from .averages import move_averages as move_averages
from .nodes import Edge as Edge
from .nodes import Leaf as Leaf
from .nodes import TapeNode as TapeNode
from .nodes import order as order
from .nodes import record_call as record_call
from .nodes import state as state
from .walk import backward as backward
from .walk import reachable as reachable

__all__ = [
    "Edge",
    "Leaf",
    "TapeArray",
    "TapeNode",
    "backward",
    "move",
    "move_averages",
    "order",
    "reachable",
    "record_call",
    "state",
]

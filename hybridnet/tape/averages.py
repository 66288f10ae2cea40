"""Running averages, as of batch normalization, which the backward pass moves.

As in MXNet: a forward pass that no gradient comes back through leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.ops.core import Call
from hybridnet.runtime.recording import Value, in_place, recorder

from .nodes import TapeNode

__all__ = ["move", "move_averages"]


def move(call: Call, arrays: Sequence[Any], statistics: Sequence[Value]) -> None:
    """Records that running averages move: as they are now, not as they were in the forward pass.

    Args:
        call: see `Averages`.
        arrays: the `TapeArray`s that hold the averages.
        statistics: what the forward pass found.
    """
    if recorder.several:
        recorder.launch_others(arrays)
    with in_place:
        values = [*(array.read() for array in arrays), *statistics]
        types = tuple(array.type for array in arrays)
        made = recorder.record(arrays[0].context.computes_on, call, values, (), types)
        for array, value in zip(arrays, made, strict=True):
            array.write(value)


def move_averages(nodes: Sequence[TapeNode]) -> None:
    """Moves the averages of nodes that the backward pass has come through, latest first."""
    for node in nodes:
        for call, arrays, statistics in node.averages:
            assert node.outputs is not None
            found = [node.outputs[number] for number in statistics]
            move(call, arrays, [value for value in found if value is not None])

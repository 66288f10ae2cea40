"""Values that a finalizer (`__del__`) reads in the middle of a launch, or of what JAX does.

Nothing may be launched there: JAX crashes if it is called inside itself, and what was interrupted
would find its segment changed. But NumPy can compute a Value from what its segment has recorded,
and leave all that as it is: instructions have no side effects. The Value stays pending.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate, islice, pairwise, starmap
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError
from hybridnet.base.host_array import HostArray
from hybridnet.ops.core import Call
from hybridnet.ops.host import NoHostForm, by_numpy

from ..programs.host_program import put_owned
from ..segments.segment import Segment, Value

__all__ = ["InterruptedLaunchError", "computed_apart"]

#: From Python 3.12 on the collector runs between two instructions of Python's. Before, it runs
#: wherever an object is made, in C++ code of JAX's, too, and there all that touches JAX crashes.
_MAY_BE_IN_CPP: Final = sys.version_info < (3, 12)


class InterruptedLaunchError(MXNetError):
    """A finalizer needs what cannot be launched at this moment."""

    def __init__(self) -> None:
        super().__init__(
            "a finalizer (__del__) needs an array that the code it interrupted is computing at "
            "this moment, or that NumPy cannot compute; let finalizers not compute with arrays"
        )


def computed_apart(value: Value) -> Any:
    """Returns the array of a Value, computed by NumPy if it has none yet; changes nothing.

    Raises:
        InterruptedLaunchError: that is not possible.
    """
    if _MAY_BE_IN_CPP:
        raise InterruptedLaunchError
    segment = value.segment  # the launch that was interrupted takes it away when the array is set
    made = _array_of(value, {})
    if type(segment) is not Segment:
        return value.array
    (array,) = put_owned(segment.ctx, [made], stay=True)
    return array


def _array_of(held: Any, known: dict[int, NumpyArray]) -> NumpyArray:
    """Returns the array of an input of a segment, or of a Value; notes what it computes."""
    if type(held) is Value:
        if held.array is None:
            if id(held) not in known:
                known[id(held)] = _computed(held, known)
            return known[id(held)]
        held = held.array
    if type(held) is HostArray:
        return held.numpy
    if not hasattr(held, "is_ready") or held.is_deleted() or not held.is_ready():
        raise InterruptedLaunchError
    return np.asarray(held)


def _computed(value: Value, known: dict[int, NumpyArray]) -> NumpyArray:
    """Computes a Value by those instructions of its segment that it depends on."""
    segment = value.segment
    if type(segment) is not Segment or segment.traced or segment.ctx.device_type != "cpu":
        raise InterruptedLaunchError
    types = [*segment.input_types]
    held = segment.inputs[: len(types)]
    if len(held) < len(types):  # it is done with them at this moment
        raise InterruptedLaunchError
    instructions = [*segment.instructions]
    firsts = [0, *accumulate(call.num_outputs for call, _ in instructions)]
    results = [*starmap(range, pairwise(firsts))]  # of each instruction
    if value.index >= firsts[-1]:
        raise InterruptedLaunchError
    wanted = {value.index}
    for own, (_, operands) in zip(reversed(results), reversed(instructions), strict=True):
        if not wanted.isdisjoint(own):
            wanted.update(operands)
    numbers = iter([*segment.scalars])
    made: dict[int, NumpyArray] = {}
    for own, (call, operands) in zip(results, instructions, strict=True):
        given = [*islice(numbers, call.num_scalars)]
        if not wanted.isdisjoint(own):
            arrays = [made[i] if i >= 0 else _array_of(held[~i], known) for i in operands]
            made.update(zip(own, _outputs(call, arrays, given), strict=True))
    found = made[value.index]
    if found.shape != value.type.shape or found.dtype != value.type.dtype:
        raise InterruptedLaunchError
    return found


def _outputs(
    call: Call, arrays: Sequence[NumpyArray], numbers: Sequence[float]
) -> list[NumpyArray]:
    """Computes a call; one that stands for several, by these."""
    if not call.has_parts:
        try:
            return [*map(np.asarray, by_numpy(call.evaluate, arrays, [*map(np.float64, numbers)]))]
        except NoHostForm:
            raise InterruptedLaunchError from None
    parts = call.lay_open("cpu")
    rest = iter([x if type(x) is float else numbers[int(x)] for x in parts.scalars])
    made: list[NumpyArray] = []
    for part, operands in parts.instructions:
        inputs = [made[i] if i >= 0 else arrays[~i] for i in operands]
        made += _outputs(part, inputs, [*islice(rest, part.num_scalars)])
    return [made[i] if i >= 0 else arrays[~i] for i in parts.outputs]

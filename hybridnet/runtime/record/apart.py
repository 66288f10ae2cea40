"""Values that a finalizer (`__del__`) reads in the middle of a launch, or of what JAX does.

Nothing may be launched there: JAX crashes if it is called inside itself, and what was interrupted
would find its segment changed. But NumPy can compute a Value from what its segment has recorded,
and leave all that as it is: instructions have no side effects. The Value stays pending.
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.errors import MXNetError
from hybridnet.base.host_array import HostArray
from hybridnet.ops.host import NoHostForm, by_numpy

from ..programs.host_program import put_owned
from ..programs.steps import laid_open
from ..segments.code import Code, Instruction
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


def computed_apart(value: Value) -> HostArray:
    """Returns the array of a Value, computed by NumPy; changes nothing.

    Raises:
        InterruptedLaunchError: that is not possible.
    """
    if _MAY_BE_IN_CPP:
        raise InterruptedLaunchError
    made = _array_of(value, {})
    (array,) = put_owned(cpu(), [made], stay=True)
    assert type(array) is HostArray
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
    instructions, scalars, result = _needed(segment, value.index)
    code = Code(segment.ctx, tuple(instructions), tuple(types), (result,), ())
    parts, _ = laid_open(code, optimized=False)
    numbers = iter([x if type(x) is float else scalars[int(x)] for x in parts.scalars])
    made: list[Any] = []
    try:
        for call, operands in parts.instructions:
            arrays = [made[i] if i >= 0 else _array_of(held[~i], known) for i in operands]
            given = [*map(np.float64, islice(numbers, call.num_scalars))]
            made += map(np.asarray, by_numpy(call.evaluate, arrays, given))
    except NoHostForm:
        raise InterruptedLaunchError from None
    (output,) = parts.outputs
    found = made[output] if output >= 0 else _array_of(held[~output], known)
    if found.shape != value.type.shape or found.dtype != value.type.dtype:
        raise InterruptedLaunchError
    return found


def _needed(segment: Segment, index: int) -> tuple[list[Instruction], list[Any], int]:
    """Returns the instructions that a result depends on.

    Returns:
        They, renumbered; their numbers; and the number that the result has among theirs.
    """
    instructions = [*segment.instructions]
    first, first_scalar, results, numbers = [], [], 0, 0
    home: list[int] = []  # of each result, its instruction
    for step, (call, _) in enumerate(instructions):
        first.append(results)
        first_scalar.append(numbers)
        results += call.num_outputs
        numbers += call.num_scalars
        home += [step] * call.num_outputs
    if index >= results:
        raise InterruptedLaunchError
    wanted = {home[index]}
    for step in range(home[index], -1, -1):
        if step in wanted:
            wanted.update(home[i] for i in instructions[step][1] if i >= 0)
    kept: list[Instruction] = []
    scalars: list[Any] = []
    moved: dict[int, int] = {}
    count = 0
    for step in sorted(wanted):
        call, operands = instructions[step]
        kept.append((call, tuple(moved[i] if i >= 0 else i for i in operands)))
        scalars += segment.scalars[first_scalar[step] : first_scalar[step] + call.num_scalars]
        moved.update((first[step] + i, count + i) for i in range(call.num_outputs))
        count += call.num_outputs
    return kept, scalars, moved[index]

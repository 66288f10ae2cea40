"""Running a structure step by step: each instruction by a program of its own.

A structure is run so while no program for the whole of it has been compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, OpError, OutOfMemoryError
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.references import ALONE, counts
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core import Call, Parts, Types
from hybridnet.ops.host import NoHostForm, by_jax, by_numpy

from ..observe import events
from ..platform.jax_devices import copied, lowered_for
from ..segments.code import Code, Instruction
from .host_program import Array, is_own, put_owned
from .program import Program, StepPlan
from .room import is_lack

__all__ = ["Failed", "FindPart", "plan", "run_steps"]

#: A function from a context, a call and the types of its inputs to the program that runs this call
#: alone, and the types of its results.
FindPart = Callable[[Context, Call, Types], tuple[Program, Types]]
_ONE: Final = (True,)
_NO_STATE: Final = (False,)
_NOTHING: Final[list[Any]] = []


class Failed:
    """Stands for an array that could not be computed.

    Attributes:
        error: why it could not be computed.
        result: the number of the first result of the instruction that failed; None if the failure
            came in with an input.
    """

    __slots__ = ("error", "result")

    def __init__(self, error: BaseException, result: int | None = None) -> None:
        self.error = error
        self.result = result


def plan(code: Code, find: FindPart, *, optimized: bool) -> StepPlan:
    """Returns how to run a structure step by step. A call of a large graph becomes its nodes.

    Args:
        code: the structure.
        find: the function that finds the program of each step.
        optimized: whether the passes are run over graphs first.
    """
    ctx, input_types = code.ctx, code.input_types
    instructions, outputs, scalars, origins = code.instructions, code.outputs, None, None
    if any(call.has_parts for call, _ in instructions):
        (instructions, outputs, scalars), origins = _laid_open(code, optimized)
    last = _last_uses(instructions, outputs)
    programs, dead, rewritten, firsts = [], [], [], []
    needed: list[tuple[bool, ...]] = []
    types: list[TensorType] = []
    for number, (call, operands) in enumerate(instructions):
        in_types = tuple([types[i] if i >= 0 else input_types[~i] for i in operands])
        program, made = find(ctx, call, in_types)
        programs.append(program)
        first = len(types)
        firsts.append(first)
        types += made
        if len(made) == 1:
            needed.append(_ONE if first in last else _NO_STATE)
        else:
            needed.append(tuple([i in last for i in range(first, len(types))]))
        dead.append(tuple({i for i in operands if i >= 0 and last[i] == number}))
        rewritten.append(call.rewrites and operands[0] in dead[-1])
    return StepPlan(
        ctx,
        programs,
        [operands for _, operands in instructions],
        [call.num_scalars for call, _ in instructions],
        needed,
        dead,
        rewritten,
        firsts if origins is None else origins,
        len(types),
        outputs,
        scalars,
        optimized or origins is None,
    )


def _laid_open(code: Code, optimized: bool) -> tuple[Parts, list[int]]:
    """Replaces calls of large graphs by the nodes of these graphs.

    Returns:
        The new instructions; and for each of them the number of the first result of the original
        instruction that it comes from.
    """
    platform = lowered_for(code.ctx)
    instructions: list[Instruction] = []
    scalars: list[int | float] = []
    origins: list[int] = []
    results: list[int] = []  # the new number of each result of the structure
    count = place = 0
    for call, given in code.instructions:
        operands = tuple([results[i] if i >= 0 else i for i in given])
        own = range(place, place + call.num_scalars)
        place += call.num_scalars
        begun, first = len(instructions), len(results)
        if not call.has_parts:
            instructions.append((call, operands))
            scalars += own
            results += range(count, count + call.num_outputs)
            count += call.num_outputs
        else:
            parts = call.lay_open(platform, optimized=optimized)
            for part, inner in parts.instructions:
                moved = tuple([i + count if i >= 0 else operands[~i] for i in inner])
                instructions.append((part, moved))
            scalars += [x if type(x) is float else own[int(x)] for x in parts.scalars]
            results += [i + count if i >= 0 else operands[~i] for i in parts.outputs]
            count += sum([part.num_outputs for part, _ in parts.instructions])
        origins += [first] * (len(instructions) - begun)
    outputs = tuple([results[i] for i in code.outputs])
    return Parts(tuple(instructions), outputs, tuple(scalars)), origins


def _last_uses(instructions: Sequence[Instruction], outputs: Sequence[int]) -> dict[int, int]:
    """Returns, for each result that is used at all, the last instruction that reads it."""
    last: dict[int, int] = {}
    for step, (_, operands) in enumerate(instructions):
        for operand in operands:
            last[operand] = step
    for number in outputs:
        last[number] = len(instructions)
    return last


def run_steps(
    plan: StepPlan, inputs: list[Any], scalars: list[float], *, stay: bool = False
) -> list[Any]:
    """Runs the steps one after the other, and drops each result after its last use.

    Args:
        plan: how to run the structure.
        inputs: JAX arrays, or `Failed`.
        scalars: the numbers, in the order of the instructions.
        stay: see `put_owned`.

    Returns:
        The outputs. If a step fails, its results and those that depend on them are `Failed`; all
        others are computed.
    """
    return by_numpy(_run_all, plan, inputs, scalars, stay)


def _run_all(plan: StepPlan, inputs: list[Any], scalars: list[float], stay: bool) -> list[Any]:
    """Does what `run_steps` says, where lowerings call NumPy's functions."""
    ctx, wanted, sources = plan.ctx, plan.outputs, plan.scalars
    steps = (
        *(plan.programs, plan.operands, plan.counts, plan.needed),
        *(plan.dead, plan.rewritten, plan.origins),
    )
    # The results, then the inputs in reverse order: so input i is found at index ~i, from the end.
    arrays_at = [None] * plan.num_results + inputs[::-1]
    array_at = arrays_at.__getitem__
    number = position = 0
    if sources is not None:
        scalars = [x if type(x) is float else scalars[int(x)] for x in sources]
    failing = Failed in map(type, inputs)
    watched = events.observer is not None
    moves = ctx.is_accelerator
    outputs: Sequence[Any]
    spare: Array | None
    for program, operands, count, needed, dead, rewritten, origin in zip(*steps, strict=True):
        arrays = [*map(array_at, operands)]
        output = spare = None
        if rewritten:
            outputs = _NOTHING  # drops references to the last step's results: one may be `spare`
            spare = _spare(arrays)
        numbers = scalars[position : position + count] if count else _NOTHING
        position += count
        cause = next((x for x in arrays if type(x) is Failed), None) if failing else None
        if cause is not None:
            outputs = [cause] * len(needed)
        else:
            try:
                host, account = program.host, program.account
                if (
                    host is None
                    or watched
                    or program.compiled is not None
                    or account.by_numpy.runs >= account.due
                ):
                    outputs = _run(program, arrays, numbers, spare)
                else:
                    try:
                        outputs = host.run(arrays, numbers, spare)
                    except NoHostForm:
                        program.leave_host()
                        outputs = _run(program, arrays, numbers, spare)
            except Exception as caught:
                if is_from_signal(caught):
                    raise
                outputs = [_failure(program.code, origin, caught)] * len(needed)
                failing = True
            if moves and HostArray in map(type, arrays):
                _keep_placed(arrays_at, operands, arrays)
        for keep, output in zip(needed, outputs, strict=True):
            if keep:
                arrays_at[number] = output
            number += 1
        for i in dead:
            arrays_at[i] = None
    outputs = _on_device(ctx, [*map(array_at, wanted)], stay)
    arrays_at.clear()  # a stored error keeps this frame alive, which must not keep the arrays
    if sources is not None:
        # A graph may return a result twice, or an input; but each output must be its own array.
        taken = set()
        for number, i in enumerate(wanted):
            if (i < 0 or i in taken) and type(outputs[number]) is not Failed:
                outputs[number] = _copied(ctx, outputs[number], stay)
            taken.add(i)
    return outputs


def _copied(ctx: Context, array: Any, stay: bool) -> DeviceArray:
    """Returns a copy of an array, for which nothing is compiled.

    In host memory NumPy makes it. What is in a device's is copied there.
    """
    if lowered_for(ctx) == "cpu" or type(array) is HostArray:
        return put_owned(ctx, [np.array(array, order="C")], stay=stay)[0]
    return copied(array)


def _spare(operands: list[object]) -> Array | None:
    """Returns the first operand of a step if the step may overwrite it, else None.

    It may if the operand is a NumPy array with memory of its own, to which nothing else refers: no
    view of it either, which would count as well.
    """
    # The list of results and that of operands hold it.
    if type(operands[0]) is not np.ndarray or next(counts(operands)) > ALONE + 1:
        return None
    array: Array = operands[0]
    return array if is_own(array.flags) else None


def _run(
    program: Program, arrays: list[Any], numbers: list[float], spare: Array | None
) -> Sequence[DeviceArray | NumpyArray]:
    """Runs a step, on NumPy arrays if it has a host form, once it is known who is to run it.

    Then the results are NumPy arrays, and become JAX arrays only if a step needs that.
    """
    host = program.on_host()
    if host is not None:
        try:
            return host.run(arrays, numbers, spare)
        except NoHostForm:
            program.leave_host()
    arrays[:] = _on_device(program.code.ctx, arrays)
    return by_jax(program.run, [*arrays], numbers)


def _keep_placed(arrays_at: list[Any], operands: Sequence[int], arrays: Sequence[Any]) -> None:
    """Keeps what a step had put on an accelerator for the steps after it that read the same."""
    for i, array in zip(operands, arrays, strict=True):
        if type(arrays_at[i]) is np.ndarray:
            arrays_at[i] = array


def _on_device(ctx: Context, arrays: Sequence[Any], stay: bool = False) -> list[Any]:
    """Returns the arrays with NumPy arrays turned into JAX arrays on the context."""
    places = [i for i, array in enumerate(arrays) if type(array) is np.ndarray]
    made = list(arrays)
    if places:
        put = put_owned(ctx, [arrays[i] for i in places], stay=stay)
        for i, array in zip(places, put, strict=True):
            made[i] = array
    return made


def _failure(code: Code, number: int, caught: Exception) -> Failed:
    kind = OutOfMemoryError if is_lack(caught) else OpError
    error: MXNetError = kind(f"{code.instructions[0][0].name} on {code.ctx} failed: {caught}")
    error.__cause__ = caught
    return Failed(error, number)

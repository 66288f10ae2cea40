"""Running a structure instruction by instruction: which program each is, and when values die."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.lazy import jnp
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core.call import Call, Parts, Types
from hybridnet.ops.host.namespace import NoHostForm

from ..platform.jax_devices import platform_of
from ..segments.code import Code, Instruction
from .host_program import Array, is_own, put_owned

if TYPE_CHECKING:
    from .program import Program

__all__ = ["Failed", "FindPart", "StepPlan", "plan", "run_steps"]

#: Returns the program that runs a call on a context by itself, and the types of its results.
FindPart = Callable[[Context, Call, Types], "tuple[Program, Types]"]
_ONE: Final = (True,)
_NONE: Final = (False,)
_NOTHING: Final[list[Any]] = []


class Failed:
    """Stands for an array that could not be computed.

    Attributes:
        error: why.
        result: the number of the first result of the instruction that failed, if one did here.
    """

    __slots__ = ("error", "result")

    def __init__(self, error: BaseException, result: int | None = None) -> None:
        self.error = error
        self.result = result


class StepPlan(NamedTuple):
    """How a structure is run step by step, each step one instruction.

    What there is to know of the steps stands in lists side by side: with an object for each, plans
    would be most of what Python's garbage collector has to look at.

    Attributes:
        ctx: where they run.
        programs: of each step, the program that runs it. Its inputs are the instruction's operands,
            one that is used twice included twice: so ``x + x`` needs no program of its own.
        operands: of each, results of earlier steps (>= 0), or ``~i`` for input ``i``.
        counts: how many of the scalars each takes.
        needed: for each result of each, whether anything reads it.
        dead: results of earlier steps that nothing reads after this one.
        rewritten: whether each gives its first operand, which nothing reads after it, with a part
            changed.
        origins: the number of the structure's result that an error here is told of.
        num_results: of all steps.
        outputs: the results that are asked for, or ``~i`` for input ``i``.
        scalars: where the numbers of the steps come from; see `hybridnet.ops.core.call.Parts`. None
            where they are those given.
    """

    ctx: Context
    programs: list[Program]
    operands: list[tuple[int, ...]]
    counts: list[int]
    needed: list[tuple[bool, ...]]
    dead: list[tuple[int, ...]]
    rewritten: list[bool]
    origins: list[int]
    num_results: int
    outputs: tuple[int, ...]
    scalars: tuple[int | float, ...] | None

    @property
    def is_kept(self) -> bool:
        """Whether all its programs are in the cache still."""
        return all(program.kept for program in self.programs)


def plan(code: Code, find: FindPart) -> StepPlan:
    """Takes a structure apart into steps; calls of large graphs become the nodes of these.

    Args:
        code: the structure.
        find: finds the programs.
    """
    ctx, input_types = code.ctx, code.input_types
    instructions, outputs, scalars, origins = code.instructions, code.outputs, None, None
    if any(call.has_parts for call, _ in instructions):
        (instructions, outputs, scalars), origins = _laid_open(code)
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
            needed.append(_ONE if first in last else _NONE)
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
    )


def _laid_open(code: Code) -> tuple[Parts, list[int]]:
    """Returns a structure with calls of large graphs replaced by the nodes of these.

    And for each instruction, the number of the first result of the one that it comes from.
    """
    platform = platform_of(code.ctx)
    instructions: list[Instruction] = []
    scalars: list[int | float] = []
    origins: list[int] = []
    results: list[int] = []  # where the structure's results are now
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
            parts = call.lay_open(platform)
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


def run_steps(plan: StepPlan, inputs: list[Any], scalars: list[Any]) -> list[Any]:
    """Runs each instruction through a program of its own, dropping what is not needed again.

    Args:
        plan: of the structure.
        inputs: JAX arrays, or `Failed`.
        scalars: numbers, in the order of the instructions.

    Returns:
        The outputs. An instruction that fails, or reads what failed, gives `Failed`; the others
        run.
    """
    ctx, wanted, sources = plan.ctx, plan.outputs, plan.scalars
    steps = (
        *(plan.programs, plan.operands, plan.counts, plan.needed),
        *(plan.dead, plan.rewritten, plan.origins),
    )
    # Results, and behind them the inputs backwards: so each stands where operands say it is.
    arrays_at = [None] * plan.num_results + inputs[::-1]
    array_at = arrays_at.__getitem__
    number = position = 0
    if sources is not None:
        scalars = [x if type(x) is float else scalars[int(x)] for x in sources]
    failing = Failed in map(type, inputs)
    outputs: Sequence[Any]
    spare: Array | None
    for program, operands, count, needed, dead, rewritten, origin in zip(*steps, strict=True):
        arrays = [*map(array_at, operands)]
        output = spare = None
        if rewritten:
            outputs = _NOTHING  # the last step's may be what this one rewrites
            spare = _spare(arrays)
        numbers = scalars[position : position + count] if count else _NOTHING
        position += count
        cause = next((x for x in arrays if type(x) is Failed), None) if failing else None
        if cause is not None:
            outputs = [cause] * len(needed)
        else:
            try:
                outputs = _run(program, arrays, numbers, spare)
            except Exception as caught:
                if is_from_signal(caught):
                    raise
                outputs = [_failure(program.code, origin, caught)] * len(needed)
                failing = True
        for keep, output in zip(needed, outputs, strict=True):
            if keep:
                arrays_at[number] = output
            number += 1
        for i in dead:
            arrays_at[i] = None
    outputs = _on_device(ctx, [*map(array_at, wanted)])
    arrays_at.clear()  # an error that is kept keeps this frame
    if sources is not None:
        # A graph may give a result twice, or an input: each output is an array of its own.
        taken = set()
        for number, i in enumerate(wanted):
            if (i < 0 or i in taken) and type(outputs[number]) is not Failed:
                outputs[number] = _copied(ctx, outputs[number])
            taken.add(i)
    return outputs


def _copied(ctx: Context, array: Any) -> Any:
    """Returns a copy of an array; on CPUs one that nothing is compiled for."""
    if platform_of(ctx) == "cpu":
        return put_owned(ctx, [np.array(array, order="C")])[0]
    return jnp.copy(array)


def _holders(operands: list[Any]) -> int:
    """Returns how many hold the first operand of a step, and views of it, as Python counts."""
    array = operands[0]
    return sys.getrefcount(array)


_kept: Final = [object()]
# As many as if only the results and the step's operands held it.
_OURS: Final = _holders(_kept.copy())


def _spare(operands: list[Any]) -> Array | None:
    """Returns the first operand of a step if its memory is its own, and nobody else holds it."""
    if type(operands[0]) is not np.ndarray or _holders(operands) > _OURS:
        return None
    array: Array = operands[0]
    return array if is_own(array.flags) else None


def _run(
    program: Program, arrays: list[Any], numbers: list[Any], spare: Array | None
) -> Sequence[Any]:
    """Runs a step; what the host runs takes and gives NumPy arrays, which stay such in between."""
    host = program.on_host()
    if host is not None:
        try:
            return host.run(arrays, numbers, spare)
        except NoHostForm:
            program.leave_host()
    return program.run(_on_device(program.code.ctx, arrays), numbers)


def _on_device(ctx: Context, arrays: Sequence[Any]) -> list[Any]:
    """Returns arrays, those of NumPy's as JAX's."""
    places = [i for i, array in enumerate(arrays) if type(array) is np.ndarray]
    made = list(arrays)
    if places:
        for i, array in zip(places, put_owned(ctx, [arrays[i] for i in places]), strict=True):
            made[i] = array
    return made


def _failure(code: Code, number: int, caught: Exception) -> Failed:
    error: MXNetError = OpError(f"{code.instructions[0][0].name} on {code.ctx} failed: {caught}")
    error.__cause__ = caught
    return Failed(error, number)

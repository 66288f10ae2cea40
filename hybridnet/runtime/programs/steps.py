"""Running a structure instruction by instruction: which program each is, and when values die."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core.call import Call, Types

from ..segments.code import Code

__all__ = ["Failed", "InstructionStep", "plan", "run_steps"]

# Programs of one instruction, and the types of its results, by what decides them: recurring
# instructions are most of what there is to plan in structures that never recur themselves.
_parts: Final[dict[Any, tuple[Code, Types]]] = {}
_LIMIT: Final = 2048
_ONE: Final = (True,)
_NONE: Final = (False,)


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


class InstructionStep(NamedTuple):
    """One instruction of a structure, run alone.

    Attributes:
        code: the structure of the program that runs it. Its inputs are the instruction's operands,
            one that is used twice included twice: so ``x + x`` needs no program of its own.
        program: what the program cache has for that.
        operands: results of earlier steps (>= 0), or ``~i`` for input ``i``.
        num_scalars: how many of the scalars it takes.
        needed: for each of its results, whether anything reads it.
        dead: results of earlier steps that nothing reads after this one.
    """

    code: Code
    program: Any
    operands: tuple[int, ...]
    num_scalars: int
    needed: tuple[bool, ...]
    dead: tuple[int, ...]


def plan(code: Code, find: Callable[[Code], Any]) -> list[InstructionStep]:
    """Takes a structure apart into steps.

    Args:
        code: the structure.
        find: returns the program of a structure of one instruction.
    """
    last = _last_uses(code)
    ctx, instructions, input_types = code.ctx, code.instructions, code.input_types
    steps = []
    types: list[TensorType] = []
    for number, (call, operands) in enumerate(instructions):
        in_types = tuple([types[i] if i >= 0 else input_types[~i] for i in operands])
        part, made = _parts.get((ctx, call, in_types)) or _part(ctx, call, in_types)
        first = len(types)
        types += made
        needed: tuple[bool, ...]
        if len(made) == 1:
            needed = _ONE if first in last else _NONE
        else:
            needed = tuple([i in last for i in range(first, len(types))])
        dead = tuple({i for i in operands if i >= 0 and last[i] == number})
        steps.append(InstructionStep(part, find(part), operands, call.num_scalars, needed, dead))
    return steps


def _part(ctx: Context, call: Call, types: Types) -> tuple[Code, Types]:
    """Returns the structure that runs a call alone, and the types of its results."""
    inputs = tuple(range(-1, ~len(types), -1))
    part = Code(ctx, ((call, inputs),), types, tuple(range(call.num_outputs)), ())
    if len(_parts) >= _LIMIT:
        _parts.clear()
    return _parts.setdefault((ctx, call, types), (part, call.infer(types)))


def _last_uses(code: Code) -> dict[int, int]:
    """Returns, for each result that is used at all, the last instruction that reads it."""
    last: dict[int, int] = {}
    for step, (_, operands) in enumerate(code.instructions):
        for operand in operands:
            last[operand] = step
    for number in code.outputs:
        last[number] = len(code.instructions)
    return last


def run_steps(
    code: Code, steps: list[InstructionStep], inputs: list[Any], scalars: list[Any]
) -> list[Any]:
    """Runs each instruction through a program of its own, dropping what is not needed again.

    Args:
        code: the structure.
        steps: its `plan`.
        inputs: JAX arrays, or `Failed`.
        scalars: numbers, in the order of the instructions.

    Returns:
        The outputs. An instruction that fails, or reads what failed, gives `Failed`; the others
        run.
    """
    results: dict[int, Any] = {}
    number = position = 0
    failing = Failed in map(type, inputs)
    for part, program, operands, num_scalars, needed, dead in steps:
        arrays = [results[i] if i >= 0 else inputs[~i] for i in operands]
        numbers = scalars[position : position + num_scalars] if num_scalars else []
        position += num_scalars
        cause = next((x for x in arrays if type(x) is Failed), None) if failing else None
        outputs: Sequence[Any]
        if cause is not None:
            outputs = [cause] * len(needed)
        else:
            try:
                outputs = program.run(arrays, numbers)
            except Exception as caught:
                outputs = [_failure(part, number, caught)] * len(needed)
                failing = True
        for keep, output in zip(needed, outputs, strict=True):
            if keep:
                results[number] = output
            number += 1
        for i in dead:
            del results[i]
    return [results[i] for i in code.outputs]


def _failure(code: Code, number: int, caught: Exception) -> Failed:
    error: MXNetError = OpError(f"{code.instructions[0][0].name} on {code.ctx} failed: {caught}")
    error.__cause__ = caught
    return Failed(error, number)

"""Running a structure instruction by instruction: which program each is, and when values die."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hybridnet.base.errors import MXNetError, OpError
from hybridnet.base.tensor_type import TensorType

from .segment import Code

__all__ = ["Failed", "Step", "plan", "run_steps"]

#: Runs a structure: (code, inputs, scalars) -> outputs.
Run = Callable[[Code, list[Any], list[Any]], Sequence[Any]]


class Failed:
    """Stands for an array that could not be computed."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Step(NamedTuple):
    """One instruction of a structure, run alone.

    Attributes:
        code: the structure of the program that runs it. Its inputs are the instruction's operands,
            each once, in order of first use.
        slots: those operands.
        num_scalars: how many of the scalars it takes.
        needed: for each of its results, whether anything reads it.
        dead: results of earlier steps that nothing reads after this one.
    """

    code: Code
    slots: tuple[int, ...]
    num_scalars: int
    needed: tuple[bool, ...]
    dead: tuple[int, ...]


def plan(code: Code) -> list[Step]:
    """Takes a structure apart into steps."""
    last = _last_uses(code)
    steps = []
    types: list[TensorType] = []
    for number, (call, operands) in enumerate(code.instructions):
        slots = tuple(dict.fromkeys(operands))
        in_types = tuple([types[i] if i >= 0 else code.input_types[~i] for i in slots])
        count = call.num_outputs
        if len(slots) == len(operands):
            made = call.infer(in_types)
            inputs = tuple(range(-1, ~len(slots), -1))
        else:
            places = {operand: place for place, operand in enumerate(slots)}
            made = call.infer(tuple([in_types[places[operand]] for operand in operands]))
            inputs = tuple([~places[operand] for operand in operands])
        one = Code(code.ctx, ((call, inputs),), in_types, tuple(range(count)), ())
        needed = tuple([i in last for i in range(len(types), len(types) + count)])
        dead = tuple([i for i in slots if i >= 0 and last[i] == number])
        steps.append(Step(one, slots, call.num_scalars, needed, dead))
        types.extend(made)
    return steps


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
    run: Run, code: Code, steps: list[Step], inputs: list[Any], scalars: list[Any]
) -> list[Any]:
    """Runs each instruction through a program of its own, dropping what is not needed again.

    Args:
        run: runs a structure of one instruction.
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
    for one, slots, num_scalars, needed, dead in steps:
        arrays = [results[i] if i >= 0 else inputs[~i] for i in slots]
        numbers = scalars[position : position + num_scalars]
        position += num_scalars
        for keep, output in zip(needed, _run_one(run, one, arrays, numbers), strict=True):
            if keep:
                results[number] = output
            number += 1
        for i in dead:
            del results[i]
    return [results[i] for i in code.outputs]


def _run_one(run: Run, one: Code, arrays: list[Any], numbers: list[Any]) -> Sequence[Any]:
    """Runs a program of one instruction; its error is a value."""
    for array in arrays:
        if type(array) is Failed:
            return [array] * len(one.outputs)
    try:
        return run(one, arrays, numbers)
    except Exception as caught:
        error: MXNetError = OpError(f"{one.instructions[0][0].name} on {one.ctx} failed: {caught}")
        error.__cause__ = caught
        return [Failed(error)] * len(one.outputs)

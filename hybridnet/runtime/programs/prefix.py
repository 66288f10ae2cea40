"""A structure that begins as another one does, whose program is compiled: that runs it, and then
the few instructions that follow.

A loop that reads its loss now and then records one instruction more in these steps (the mean, say).
To compile all of it once more for that would take as long as the first time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hybridnet.base.host_array import DeviceArray

from ..segments.code import Code, result_types
from ..tiers.prices import prices
from .program import Program, StepPlan
from .steps import FindPart, plan, run_steps

__all__ = ["Prefix", "find_prefix", "is_prefix"]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The program that a structure begins with, and how to run what follows.

    Attributes:
        program: of the prefix.
        num_scalars: how many of the numbers are its own.
        rest: how to run what follows; its inputs are those of the structure and then the outputs of
            the prefix.
        outputs: for each output of the structure, its place among the outputs of the prefix (>= 0),
            or ``~i`` for output ``i`` of `rest`.
    """

    program: Program
    num_scalars: int
    rest: StepPlan
    outputs: tuple[int, ...]

    @property
    def is_kept(self) -> bool:
        """Whether all that it runs is still in the cache, and its program compiled."""
        program = self.program
        return program.kept and program.compiled is not None and self.rest.is_kept

    def run(self, inputs: list[DeviceArray], scalars: list[float]) -> list[Any]:
        """Runs the structure; arguments and result are as for `run_steps`."""
        count, begun = self.num_scalars, self.program
        kept = inputs[:]  # what is run may put others in the place of those on the host
        found = begun.run(inputs[: len(begun.code.input_types)], scalars[:count])
        made = run_steps(self.rest, [*kept, *found], scalars[count:])
        return [found[i] if i >= 0 else made[~i] for i in self.outputs]


def find_prefix(program: Program, programs: Iterable[Program], find: FindPart) -> Prefix | None:
    """Returns the longest program that a structure begins with; None if nothing is gained by one.

    Args:
        program: the structure.
        programs: those among which to look.
        find: the function that finds the program of each step that follows.
    """
    begun = [x for x in programs if x.compiled is not None and is_prefix(x, program)]
    found = (_prefix(program.code, one, find) for one in sorted(begun, key=_length, reverse=True))
    return next(filter(None, found), None)


def _length(program: Program) -> int:
    return len(program.code.instructions)


def is_prefix(other: Program, program: Program) -> bool:
    """Whether a structure begins with all of another one's instructions, and few more follow."""
    prefix, code = other.code, program.code
    count, types = len(prefix.instructions), len(prefix.input_types)
    if not 1 < count < len(code.instructions) or code.ctx != prefix.ctx:
        return False
    if code.input_types[:types] != prefix.input_types or not {*prefix.donated} <= {*code.donated}:
        return False
    if code.instructions[:count] != prefix.instructions:
        return False
    # More would take longer by its steps than a program of all of it.
    weight = other.account.weight
    return program.account.weight - weight <= prices.usual * weight


def _prefix(code: Code, program: Program, find: FindPart) -> Prefix | None:
    """Returns how to go on from a program; None if it drops, or gives away, what is needed then."""
    begun = program.code
    count = len(begun.instructions)
    types = result_types(begun)
    results = len(types)
    place = {number: i for i, number in enumerate(begun.outputs)}
    inputs = len(code.input_types)

    def moved(operand: int) -> int:
        """Returns the number of an operand in what follows; raises KeyError if it is gone."""
        if operand >= results:
            return operand - results
        if operand >= 0:
            return ~(inputs + place[operand])
        if ~operand in begun.donated:
            raise KeyError(operand)
        return operand

    try:
        follow = tuple(
            [(call, tuple(map(moved, operands))) for call, operands in code.instructions[count:]]
        )
        wanted = [number for number in code.outputs if number >= results]
        place |= {number: ~i for i, number in enumerate(wanted)}
        outputs = tuple([place[number] for number in code.outputs])
    except KeyError:
        return None
    given = code.input_types + tuple([types[number] for number in begun.outputs])
    ends = tuple([number - results for number in wanted])
    rest = plan(Code(code.ctx, follow, given, ends, ()), find, optimized=False)
    rest = rest._replace(origins=[number + results for number in rest.origins])
    scalars = sum([call.num_scalars for call, _ in begun.instructions])
    return Prefix(program, scalars, rest, outputs)

"""`Checked`: a structure with the answers to what is asked of its launches as further outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from hybridnet.base.dtype import is_float
from hybridnet.ops.core import OpCall

from ..segments.code import Code, Instruction, result_types
from .asked import INDICES, NANS
from .finite import finite_call

__all__ = ["Checked", "checked", "tells_of_positions"]


#: Updates whose new weights are not finite where a gradient or a momentum is not: the sum of them.
_SUMS: Final = frozenset(
    {
        *("sgd_update", "sgd_mom_update", "nag_mom_update", "mp_sgd_update", "mp_sgd_mom_update"),
        *("multi_sgd_update", "multi_sgd_mom_update", "multi_mp_sgd_update"),
        "multi_mp_sgd_mom_update",
    }
)


# Structures with answers that are remembered, while launches are asked something.
_KEPT_STRUCTURES: Final = 1024


class Checked(NamedTuple):
    """A structure that is launched in the place of another, and answers questions beside.

    Attributes:
        mode: the questions; see `asked`.
        code: what is launched. Its outputs are those of the plain structure, then the answers.
        plain: the structure that was recorded.
        floats: the outputs of the plain structure, by position, of which an answer tells whether
            they are finite; empty where there is none. Others tell of those that are left out.
        tables: of each further answer, which is rows about positions, the number of the first
            result of the instruction that it is about, and what each row is about.
    """

    mode: int
    code: Code
    plain: Code
    floats: tuple[int, ...]
    tables: Sequence[tuple[int, Sequence[Any]]] = ()

    @property
    def about(self) -> str:
        """The subject of the answers, in words."""
        found = (("whether results are finite", self.floats), ("positions", self.tables))
        return " and ".join(words for words, there in found if there)


def tells_of_positions(code: Code) -> bool:
    """Whether a structure is to tell of positions outside of arrays, though nobody asks."""
    return any(
        call.has_parts and call.bounded(everything=False) is not None
        for call, _ in code.instructions
    )


@lru_cache(_KEPT_STRUCTURES)
def checked(plain: Code, mode: int) -> Checked:
    """Returns what answers the questions of a mode about a structure.

    PositionRow it is asked for NaN no input is donated, so that it can be run again from them.
    """
    instructions, outputs, tables, extra = _bounded(plain, bool(mode & INDICES))
    types = result_types(plain)
    floats: tuple[int, ...] = ()
    if mode & NANS:
        others = _told_by_others(plain)
        floats = tuple(
            i
            for i, number in enumerate(plain.outputs)
            if is_float(types[number].dtype) and number not in others
        )
    if floats:
        instructions.append((finite_call(len(floats)), tuple(outputs[i] for i in floats)))
        outputs.append(len(types) + len(tables))
    code = Code(
        plain.ctx,
        tuple(instructions),
        plain.input_types,
        (*outputs, *extra),
        () if mode & NANS else plain.donated,
    )
    return Checked(mode, code, plain, floats, tables)


def _bounded(
    plain: Code, everything: bool
) -> tuple[list[Instruction], list[int], list[tuple[int, Sequence[Any]]], list[int]]:
    """Puts calls that tell of positions, too, in the places of those that hold some.

    Returns:
        The instructions; the outputs, by their new numbers; the tables, see `Checked`; and the
        numbers of the results that are the tables.
    """
    instructions: list[Instruction] = []
    tables: list[tuple[int, Sequence[Any]]] = []
    extra: list[int] = []
    moved: list[int] = []  # the new number of each result
    count = 0
    for call, operands in plain.instructions:
        found = call.bounded(everything=everything)
        first = len(moved)
        moved += range(count, count + call.num_outputs)
        count += call.num_outputs
        if found is not None:
            tables += [(first, places) for places in found.tables]
            extra += range(count, count + len(found.tables))
            count += len(found.tables)
            call = found.call
        instructions.append((call, tuple([moved[i] if i >= 0 else i for i in operands])))
    return instructions, [moved[i] for i in plain.outputs], tables, extra


def _told_by_others(code: Code) -> set[int]:
    """Returns the results of which others tell: gradients and momentums that become weights."""
    told: set[int] = set()
    given = {*code.outputs}
    first = 0
    for call, operands in code.instructions:
        weights = range(first, first + call.num_visible)
        if (
            call.name in _SUMS
            and isinstance(call, OpCall)
            and call.attrs["clip_gradient"] < 0
            and given.issuperset(weights)
        ):
            told.update(i for i in operands if i >= 0)
            told.update(range(first + call.num_visible, first + call.num_outputs))
        first += call.num_outputs
    return told

"""`Checked`: a structure with the answers to what is asked of its launches as further outputs."""

from __future__ import annotations

from typing import Final, NamedTuple

from hybridnet.base.dtype import is_float
from hybridnet.ops.core import OpCall

from ..programs.compiling import result_types
from ..segments.code import Code, Instruction
from .asked import NANS
from .finite import finite_call

__all__ = ["Checked", "checked"]


#: Updates whose new weights are not finite where a gradient or a momentum is not: the sum of them.
_SUMS: Final = frozenset(
    {
        *("sgd_update", "sgd_mom_update", "nag_mom_update", "mp_sgd_update", "mp_sgd_mom_update"),
        *("multi_sgd_update", "multi_sgd_mom_update", "multi_mp_sgd_update"),
        "multi_mp_sgd_mom_update",
    }
)


class Checked(NamedTuple):
    """A structure that is launched in the place of another, and answers questions beside.

    Attributes:
        mode: the questions; see `asked`.
        code: what is launched. Its outputs are those of the plain structure, then the answers.
        plain: the structure that was recorded.
        floats: the outputs of the plain structure, by position, of which an answer tells whether
            they are finite; empty where there is none. Others tell of those that are left out.
    """

    mode: int
    code: Code
    plain: Code
    floats: tuple[int, ...]

    @property
    def answers(self) -> int:
        """How many of the outputs, the last ones, are answers."""
        return len(self.code.outputs) - len(self.plain.outputs)


def checked(plain: Code, mode: int) -> Checked:
    """Returns what answers the questions of a mode about a structure.

    Where it is asked for NaN no input is donated, so that it can be run again from them.
    """
    types = result_types(plain)
    added: list[Instruction] = []
    floats: tuple[int, ...] = ()
    if mode & NANS:
        others = _told_by_others(plain)
        floats = tuple(
            i
            for i, number in enumerate(plain.outputs)
            if is_float(types[number].dtype) and number not in others
        )
    if floats:
        operands = tuple(plain.outputs[i] for i in floats)
        added.append((finite_call(len(floats)), operands))
    first = len(types)
    code = Code(
        plain.ctx,
        (*plain.instructions, *added),
        plain.input_types,
        (*plain.outputs, *range(first, first + len(added))),
        () if mode & NANS else plain.donated,
    )
    return Checked(mode, code, plain, floats)


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

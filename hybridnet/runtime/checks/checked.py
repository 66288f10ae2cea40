"""`Checked`: a structure with the answers to what is asked of its launches as further outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

from hybridnet.base.dtype import is_float

from ..programs.compiling import result_types
from ..segments.code import Code, Instruction
from .asked import NANS
from .finite import finite_call

__all__ = ["Checked", "checked"]


class Checked(NamedTuple):
    """A structure that is launched in the place of another, and answers questions beside.

    Attributes:
        mode: the questions; see `asked`.
        code: what is launched. Its outputs are those of the plain structure, then the answers.
        plain: the structure that was recorded.
        floats: the outputs of the plain structure, by position, of which an answer tells whether
            they are finite; empty where there is none.
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
        numbers = plain.outputs
        floats = tuple(i for i, n in enumerate(numbers) if is_float(types[n].dtype))
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


def without_answers(checked: Checked, outputs: Any) -> tuple[Any, Any]:
    """Returns the outputs of a launch as two parts: those of the plain structure, and the answers."""
    count = len(checked.plain.outputs)
    return outputs[:count], outputs[count:]

"""`Code`: the structure of what was recorded, apart from arrays and numbers that it is run on."""

from __future__ import annotations

from typing import NamedTuple

from hybridnet.base.context import Context
from hybridnet.ops.core.call import Call, Types

__all__ = ["Code", "Instruction"]

#: One call in a segment, and its operands: the numbers of earlier results (>= 0), or ``~i`` for
#: input ``i`` of the segment.
Instruction = tuple[Call, tuple[int, ...]]


class Code(NamedTuple):
    """The structure of a segment: the key under which its program is found.

    Attributes:
        ctx: where it runs.
        instructions: in program order; the results are numbered through.
        input_types: of the inputs.
        outputs: the numbers of the results that somebody still refers to.
        donated: inputs that nobody refers to any more and whose memory an output takes over. Those
            that no instruction reads are there for their memory alone.
    """

    ctx: Context
    instructions: tuple[Instruction, ...]
    input_types: Types
    outputs: tuple[int, ...]
    donated: tuple[int, ...]

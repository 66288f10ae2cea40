"""`Code`: the structure of a segment: what it computes, without the arrays and numbers it reads."""

from __future__ import annotations

from typing import NamedTuple

from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core import Call, Types

__all__ = ["Code", "Instruction", "result_types"]

#: One call in a segment, and its operands: the numbers of earlier results (>= 0), or ``~i`` for
#: input ``i`` of the segment.
Instruction = tuple[Call, tuple[int, ...]]


class Code(NamedTuple):
    """The structure of a segment: the key under which its program is found.

    Attributes:
        ctx: the context on which it runs.
        instructions: the calls in their order. Their results are numbered from 0, in that order.
        input_types: the types of the inputs.
        outputs: the numbers of the results that are computed and returned.
        donated: the numbers of the inputs whose memory an output takes over. An input that no
            instruction reads is there only to be donated.
    """

    ctx: Context
    instructions: tuple[Instruction, ...]
    input_types: Types
    outputs: tuple[int, ...]
    donated: tuple[int, ...]


def result_types(code: Code) -> list[TensorType]:
    """Returns the types of all results, by number."""
    types: list[TensorType] = []
    for call, operands in code.instructions:
        found = [types[i] if i >= 0 else code.input_types[~i] for i in operands]
        types.extend(call.infer(tuple(found)))
    return types

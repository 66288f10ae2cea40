"""The pairs of an input and an output of a call in which the output may overwrite the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import REROUTED, is_gate
from hybridnet.ops.core import ELEMENTWISE, Call, OpCall, Types, VjpCall

#: Further operators each element of whose result depends, of an array of the same shape, on the
#: element at the same place and no other.
_ELEMENTWISE: Final = frozenset(
    {
        "Activation", "Cast", "Dropout", "LeakyReLU", "_backward_Activation",
        "_backward_Dropout", "_backward_rrelu", "_power_scalar", "add_n", "clip", "smooth_l1",
        "where",
    }
)  # fmt: skip
#: Operators that give the elements of their first input, in order.
_RESHAPES: Final = frozenset(
    {"Flatten", "Reshape", "expand_dims", "reshape_like", "squeeze", "_np_reshape"}
)
#: Normalizations that read their first input for its statistics, and then element by element.
_NORMALIZATIONS: Final = frozenset({"BatchNorm", "SoftmaxOutput", "log_softmax", "softmax"})


def inplace_pairs(call: Call, inputs: Types, outputs: Types) -> Iterator[tuple[int, int]]:
    """Yields (input, output) where the output may take over the input's memory, if that dies.

    Args:
        inputs: the types of its inputs.
        outputs: the types of its outputs.
    """
    if call is REROUTED:
        yield 0, 0
    elif is_gate(call):
        yield from ((i, i) for i in range(call.num_outputs))
    elif isinstance(call, VjpCall) and _is_elementwise(call.of):
        # The gradients first, which hardly anything else reads.
        for output, type in enumerate(outputs):
            for number in reversed(range(len(inputs))):
                if _fits(inputs[number], type):
                    yield number, output
    elif isinstance(call, OpCall) and call.operator.name in _RESHAPES | _NORMALIZATIONS:
        if inputs[0].nbytes == outputs[0].nbytes:
            yield 0, 0
    elif _is_elementwise(call):
        for number, type in enumerate(inputs):
            if _fits(type, outputs[0]):
                yield number, 0


def _is_elementwise(call: Call) -> bool:
    if not isinstance(call, OpCall):
        return False
    name = call.operator.name
    return name in ELEMENTWISE or name in _ELEMENTWISE


def _fits(source: TensorType, target: TensorType) -> bool:
    """Whether the elements lie at the same places."""
    return source.shape == target.shape and source.nbytes == target.nbytes

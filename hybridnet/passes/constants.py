"""The values of nodes that depend on no input, computed when the graph is optimized.

Operators whose results IEEE arithmetic defines to the bit (sums, products, comparisons), and those
that only move elements, are computed with NumPy. Other functions are computed by their own
lowering; the result may differ in the last place from that of a larger program.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.attrs import HostScalar, Number
from hybridnet.base.dtype import is_float
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Node
from hybridnet.ops.core import Call, OpCall

from .numpy_rules import NUMPY, NumpyRule
from .rewrite import Rewriter, op_name

#: The most elements of an array that is written into a graph, unless they are all the same.
LIMIT: Final = 1024
# The most elements of an operand of a function that is computed here.
_OPERAND_LIMIT: Final = 1 << 16


@final
class Constants:
    """The values of a graph's constant nodes, as far as they can be told.

    An array of which all elements are the same is one element, repeated without memory for it.

    Args:
        rewriter: of the pass, which knows the nodes' types.
    """

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        self._values: dict[Node, NumpyArray | None] = {}

    def value(self, node: Node) -> NumpyArray | None:
        """Returns the value of a node that NumPy can tell exactly; None for any other."""
        if node not in self._values:
            self._values[node] = self._computed(node)
        return self._values[node]

    def by_function(self, node: Node) -> NumpyArray | None:
        """Returns the value of a node whose operands are known, by its operator's lowering."""
        operands = self._operands(node)
        call = node.call
        if (
            operands is None
            or call is None
            or any(operand.size > _OPERAND_LIMIT for operand in operands)
        ):
            return None
        (result,) = computed_now(call, operands, node.scalars)
        return result

    def literal(self, value: NumpyArray, of: Node) -> Edge | None:
        """Returns a node that stands for a value in the place of another; None if it is large."""
        attrs: dict[str, Any] = {"shape": value.shape, "dtype": value.dtype}
        same = _element_of(value)
        if same is None and (value.size > LIMIT or not value.size):
            return None
        text = _text(value.reshape(-1) if same is None else same.reshape(-1))
        name = {"0": "_zeros", "0.0": "_zeros", "1": "_ones", "1.0": "_ones"}.get(text, "_literal")
        if name == "_literal":
            attrs["value"] = text
        return self._rewriter.make(name, [], attrs, of=of, whole=True)

    def _computed(self, node: Node) -> NumpyArray | None:
        rule = NUMPY.get(op_name(node))
        if rule is None or node not in self._rewriter.constants:
            return None
        operands = self._operands(node)
        if operands is None:
            return None
        wanted = self._rewriter.type(Edge(node, 0))
        ones = [element for element in map(_element_of, operands) if element is not None]
        if not operands or len(ones) < len(operands):
            if wanted.size > _OPERAND_LIMIT and operands:
                return None
            made = _applied(rule, operands, node, wanted)
            return None if made is None or made.shape != wanted.shape else made
        made = None
        if rule.elementwise:
            made = _applied(rule, [element.reshape(()) for element in ones], node, wanted)
        elif len({element.tobytes() for element in ones}) == 1:
            made = ones[0].astype(wanted.dtype)  # moving equal elements changes nothing
        return None if made is None else np.broadcast_to(made, wanted.shape)

    def _operands(self, node: Node) -> list[NumpyArray] | None:
        """Returns the values of the operands; None if one is not known, or takes much memory."""
        if any(type(scalar) is HostScalar for scalar in node.scalars):
            return None
        found = []
        for edge in node.inputs:
            value = self.value(edge.node)
            if value is None or (value.size > _OPERAND_LIMIT and any(value.strides)):
                return None
            found.append(value)
        return found


def computed_now(
    call: Call, operands: Sequence[NumpyArray], scalars: Sequence[Number]
) -> list[NumpyArray]:
    """Returns what a call's own lowering makes of arrays, on the CPU."""
    cpu = jax.local_devices(backend="cpu")[0]
    with jax.ensure_compile_time_eval(), jax.enable_x64(True), jax.default_device(cpu):
        arrays = [jax.numpy.asarray(operand) for operand in operands]
        numbers = [jax.numpy.asarray(scalar, "float64") for scalar in scalars]
        return [np.asarray(result) for result in call.lower("cpu", arrays, numbers)]


def _applied(
    rule: NumpyRule, operands: list[NumpyArray], node: Node, wanted: TensorType
) -> NumpyArray | None:
    call = node.call
    assert type(call) is OpCall
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rule.compute(operands, call.attrs, node.scalars, wanted)


def _element_of(value: NumpyArray) -> NumpyArray | None:
    """Returns one element if all are the same, to the bit; None otherwise."""
    if not value.size:
        return None
    first = value.reshape(-1)[:1] if value.flags.c_contiguous else value[(0,) * value.ndim]
    first = np.asarray(first).reshape(())
    if not any(value.strides) or value.size == 1:
        return first
    if first.tobytes() * value.size == value.tobytes():
        return first
    return None


def _text(flat: NumpyArray) -> str:
    if is_float(flat.dtype):
        return " ".join(repr(float(number)) for number in flat)
    return " ".join(str(int(number)) for number in flat)

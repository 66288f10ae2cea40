"""Infers dtypes, without shapes, from those that are known of some variables.

An operator has a single rule for the types of its outputs, and that needs shapes. But dtypes hardly
ever depend on shapes. So the rule is called with made-up shapes, until it accepts some.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from hybridnet.base.array_types import DType
from hybridnet.base.dtype import FLOAT32, FLOAT64, as_dtype
from hybridnet.base.errors import DTypeError, MXNetError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import Call, OpCall, promote_types, wide

from .control_infer import insides
from .node import Edge, Node, at_node
from .shapes import Inference, infer_call
from .subgraph import ControlCall

_T = TypeVar("_T")

# Dimensions tried, with many divisors; and the numbers of dimensions, the likeliest first.
_SIZE: Final = 5040
_RANKS: Final = (2, 4, 3, 1, 5)

# An output that has the same dtype for both of these does not depend on the unknown inputs.
_TRIALS: Final = (FLOAT32, FLOAT64)

#: Inputs whose dtype says nothing about the others: by name, or by operator and name.
_OWN: Final = frozenset(
    {
        "condition",
        "index",
        "indices",
        "length",
        "shape_like",
        ("Embedding", "data"),
        ("broadcast_like", "rhs"),
        ("reshape_like", "rhs"),
        ("_contrib_quantized_elemwise_add", "lhs"),
        ("_contrib_quantized_elemwise_add", "rhs"),
    }
)
#: Operators whose inputs after the first are float32 beside narrower data.
_FLOAT32_INPUTS: Final = frozenset({"BatchNorm", "_contrib_SyncBatchNorm"})
#: Operators of any number of inputs that need not have one dtype.
_MIXED: Final = frozenset({"_contrib_quantized_concat"})


def infer_dtypes(
    nodes: Sequence[Node], known: Mapping[Node, DType], default: DType | None = None
) -> dict[Edge, DType | None]:
    """Infers the dtypes of all values of a graph.

    Args:
        nodes: of the graph, each after its inputs.
        known: dtypes of variables.
        default: of variables about which nothing is known or follows; None leaves them open.

    Returns:
        For each output of each node its dtype, or None.

    Raises:
        DTypeError: an operator cannot take these dtypes; the message names the node.
    """
    inference = _DtypeInference(nodes)
    for node, dtype in known.items():
        inference.dtypes[Edge(node, 0)] = dtype
    inference.run()
    if default is not None:
        for node in nodes:
            if node.is_variable and inference.dtypes[Edge(node, 0)] is None:
                inference.dtypes[Edge(node, 0)] = default
                inference.run()
    return inference.dtypes


class _DtypeInference(Inference[DType]):
    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__(nodes)
        self.dtypes = self.values
        self.probed: dict[Hashable, list[DType]] = {}

    def learn(self, edge: Edge, dtype: DType | None) -> None:
        """Adds the dtype of a value, unless it is known."""
        if dtype is not None and self.dtypes[edge] is None:
            self.dtypes[edge] = dtype
            self.changed = True

    def visit(self, node: Node) -> None:
        """Learns what one node tells."""
        call = node.call
        assert call is not None
        if isinstance(call, ControlCall):
            self.look_inside(node)
            return
        edges = _followers(call, node.inputs)
        known = [dtype for edge in edges if (dtype := self.dtypes[edge]) is not None]
        output = self.dtypes[Edge(node, 0)]
        if known:
            for edge in edges:
                self.learn(edge, known[0])
        elif edges and output is not None:
            self.guess(node, edges, output)
        if isinstance(call, OpCall):
            self.complete(node, call)
        dtypes = [self.dtypes[edge] for edge in node.inputs]
        for index, dtype in enumerate(self.outputs(node, dtypes)):
            self.learn(Edge(node, index), dtype)
        # Identity, since a dtype equals None when it is NumPy's default one.
        if all(dtype is not None for dtype in dtypes):
            self.done.add(node)

    def look_inside(self, node: Node) -> None:
        """Learns what the graphs inside a node tell."""
        for inside in insides(node):
            known = {
                inner: dtype
                for inner, edge, _ in inside.inputs
                if (dtype := self.dtypes[edge]) is not None
            }
            found = infer_dtypes(inside.nodes, known)
            for inner, edge, _ in inside.inputs:
                self.learn(edge, found[Edge(inner, 0)])
            for inner_edge, edge, _ in inside.outputs:
                self.learn(edge, found[inner_edge])

    def outputs(self, node: Node, dtypes: Sequence[DType | None]) -> Sequence[DType | None]:
        """Returns the dtypes of a node's outputs, as far as they are known."""
        if all(dtype is not None for dtype in dtypes):
            return self.probe(node, dtypes)
        try:
            first, second = (
                self.probe(node, [trial if dtype is None else dtype for dtype in dtypes])
                for trial in _TRIALS
            )
        except MXNetError:
            return []
        return [a if a == b else None for a, b in zip(first, second, strict=True)]

    def guess(self, node: Node, edges: Sequence[Edge], output: DType) -> None:
        """Learns that inputs have the output's dtype, if that would give the output this dtype."""
        dtypes = [output if edge in edges else self.dtypes[edge] for edge in node.inputs]
        if isinstance(node.call, OpCall) and "dtype" in node.call.attrs:
            return
        if all(dtype is not None for dtype in dtypes) and self.probe(node, dtypes)[0] == output:
            for edge in edges:
                self.learn(edge, output)

    def complete(self, node: Node, call: OpCall) -> None:
        """Learns what holds for single operators."""
        if call.name in _FLOAT32_INPUTS:
            data = self.dtypes[node.inputs[0]]
            for edge in node.inputs[1:]:
                self.learn(edge, None if data is None else wide(data))
        elif call.name == "Embedding":
            self.learn(node.inputs[1], as_dtype(call.attrs["dtype"]))
        fixed = call.operator.input_dtypes
        if fixed:
            for name, edge in zip(call.input_names(), node.inputs, strict=True):
                if name in fixed:
                    self.learn(edge, as_dtype(fixed[name]))

    def probe(self, node: Node, dtypes: Sequence[Any]) -> list[DType]:
        """Returns the dtypes of a node's outputs for these of its inputs."""
        call = node.call
        assert call is not None
        key = (call, tuple(dtypes))
        found = self.probed.get(key)
        if found is None:
            try:
                found = self.probed[key] = _probe(call, dtypes)
            except MXNetError as error:
                raise at_node(node, error) from error
        return found


def _followers(call: Call, edges: Sequence[_T]) -> Sequence[_T]:
    """Returns the inputs that have one dtype unless the user says otherwise."""
    if not isinstance(call, OpCall):
        return edges if call.one_dtype else ()
    if call.name in _FLOAT32_INPUTS:
        return edges[:1]
    if call.operator.variadic:
        return () if call.name in _MIXED else edges
    names = call.input_names()
    return [
        edge
        for name, edge in zip(names, edges, strict=False)
        if name not in _OWN
        and (call.name, name) not in _OWN
        and name not in call.operator.input_dtypes
    ]


def _probe(call: Call, dtypes: Sequence[DType]) -> list[DType]:
    refused: DTypeError | None = None
    for shapes in _made_up_shapes(call, len(dtypes)):
        types = [tensor_type(*pair) for pair in zip(shapes, dtypes, strict=True)]
        try:
            return [kind.dtype for kind in infer_call(call, types)]
        except DTypeError as error:
            # The dtypes are to blame, and of the made-up shapes nobody should hear.
            refused = DTypeError(re.sub(r"(\w)\[[\d,]+\]", r"\1", str(error)))
        except MXNetError:
            # The shapes may be the reason; with no inputs there are none to blame.
            if not dtypes:
                raise
    if refused is not None:
        raise refused
    # No shape would do (a reshape to a fixed size): the usual rule.
    if isinstance(call, OpCall) and call.attrs.get("dtype"):
        dtype = as_dtype(call.attrs["dtype"])
    else:
        counted = _followers(call, range(len(dtypes))) or range(len(dtypes))
        dtype = promote_types([tensor_type((1,), dtypes[index]) for index in counted])
    return [dtype] * call.num_outputs


def _made_up_shapes(call: Call, count: int) -> Iterator[list[tuple[int, ...]]]:
    """Yields shapes for the inputs of a call, one of which it will probably accept."""
    if not count:
        yield []
        return
    for rank, fewer in itertools.product(_RANKS, (0, 1)):
        shapes: list[tuple[int, ...] | None] = [(_SIZE,) * rank, *[None] * (count - 1)]
        if isinstance(call, OpCall) and call.operator.complete is not None:
            shapes = list(call.operator.complete(shapes, **call.attrs))
        yield [shape or (_SIZE,) * (rank - fewer) for shape in shapes]

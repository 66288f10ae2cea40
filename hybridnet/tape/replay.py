"""Passes back over the tape that repeat.

A training loop differentiates the same computation in each turn. Its rules run once, on handles
that note what they do; from then on the notes are recorded, with the Values of each turn.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, final

from hybridnet.base.attrs import HostScalar
from hybridnet.base.dtype import BOOL
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph.gradient import EdgeHandle
from hybridnet.graph.node import Edge as GraphEdge
from hybridnet.graph.node import Graph, Node, variable
from hybridnet.ops.core.backward import CASTS
from hybridnet.ops.core.call import Backward, Call, Types
from hybridnet.ops.core.registry import revision
from hybridnet.runtime.record import recorder

from .nodes import Edge, Leaf, TapeNode

__all__ = ["Replay", "accumulate", "apply_rule", "reached_edges", "replay_of", "taken"]

#: Passes by their structure; None for one whose rules must run each time.
_Replays = dict[tuple[Any, ...], "Replay | None"]
#: The known passes over operators. Those over a graph are kept by its call.
_known: Final[_Replays] = {}
# A program has a handful of them. One that makes ever new ones begins afresh now and then.
_CAPACITY: Final = 512


def taken(node: TapeNode, grads: dict[Edge, Any], reached: Collection[Edge]) -> list[Any] | None:
    """Takes the gradients of a node's outputs out of `grads`; None if its rule need not run.

    Args:
        reached: what `reached_edges` returned.
    """
    outs = [grads.pop(Edge(node, index), None) for index in range(len(node.types))]
    if node.call.no_gradient:
        return None
    given = any(value is not None for value in outs)
    own = given or any(Edge(node, index) in reached for index in node.call.own_gradients)
    return outs if own else None


def reached_edges(nodes: Sequence[TapeNode], ends: Sequence[Edge]) -> Collection[Edge]:
    """Returns the outputs that the heads of a pass depend on, were it without a gradient.

    They matter to what brings a gradient of its own; without such a node there are none.
    """
    if not any(node.call.own_gradients for node in nodes):
        return ()
    return {*ends, *(edge for node in nodes for edge in node.edges if edge is not None)}


def apply_rule(
    node: TapeNode,
    scalars: tuple[Any, ...],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    outs: list[Any],
    grads: dict[Edge, Any],
    reached: Collection[Edge],
) -> None:
    """Runs a node's rule on handles, and adds the results to the gradients of its inputs."""
    for index in node.call.own_gradients:
        if outs[index] is None and Edge(node, index) in reached:
            outs[index] = outputs[index].zeros_like()
    wanted = [edge is not None for edge in node.edges]
    back = Backward(node.call, inputs, outputs, outs, scalars, wanted)
    found = node.call.gradient(back)
    for source, grad, x in zip(node.edges, found, inputs, strict=False):
        if source is not None and grad is not None:
            accumulate(grads, source, _fitted(node.call, grad, x))


def accumulate(grads: dict[Edge, Any], edge: Edge, grad: Any) -> None:
    """Adds a gradient to those that have come to a place on the tape."""
    before = grads.get(edge)
    if before is None:
        grads[edge] = grad
    elif before.inferred_dtype == BOOL:  # which has no sum: true where either is
        kind, (cast,) = type(before), CASTS
        pair = [kind.apply_call(cast("int32"), [part], ())[0] for part in (before, grad)]
        (grads[edge],) = kind.apply_call(cast("bool"), [pair[0] + pair[1]], ())
    else:
        grads[edge] = before + grad


def _fitted(call: Call, grad: Any, x: Any) -> Any:
    """Returns a gradient in the dtype of what it is the gradient of; the shape must be right."""
    if grad.type is x.type:
        return grad
    if grad.shape != x.shape:
        raise ShapeError(
            f"backward: the gradient rule of {call.name} must return a gradient of shape "
            f"{x.shape} for an input of this shape, got {grad.shape}"
        )
    return grad.astype(x.inferred_dtype)


@final
class Replay:
    """The recording of a pass, in terms of the tape it goes over.

    Everything has a number: the gradients of the heads come first, then the Values it reads from
    the tape, then what it makes.

    Attributes:
        reads: where on the tape: the number of the node, whether it is an output, and which.
        steps: a call, the numbers of its operands, its scalars, the types of its results. The
            scalars are those of a node of the tape, by its number, or a mixture of numbers that
            the rules chose and `HostScalar`, which stand for scalars of nodes.
        scalars: what these stand for, by their index: the number of a node, and which of its.
        leaves: the variables that the heads depend on, as inputs of nodes, and the number of the
            gradient of each (None where none comes).
    """

    __slots__ = ("leaves", "reads", "scalars", "steps")

    def __init__(
        self,
        reads: Sequence[tuple[int, bool, int]],
        steps: Sequence[tuple[Call, tuple[int, ...], Any, Types]],
        scalars: Sequence[tuple[int, int]],
        leaves: Sequence[tuple[int, int, int | None]],
    ) -> None:
        self.reads = reads
        self.steps = steps
        self.scalars = scalars
        self.leaves = leaves

    def run(
        self, nodes: Sequence[TapeNode], seeds: Sequence[Any]
    ) -> tuple[dict[Edge, Any], dict[Edge, None]]:
        """Records the pass over a tape, latest first, from the gradients of its heads.

        Returns:
            The gradients of variables, and the variables that the heads depend on.
        """
        ctx = seeds[0].context
        record, record_one = recorder.record, recorder.record_one
        known = [seed.read() for seed in seeds]
        for number, is_output, index in self.reads:
            node = nodes[number]
            side = node.outputs if is_output else node.inputs
            assert side is not None
            value = side[index]
            assert value is not None
            known.append(value)
        for call, operands, scalars, types in self.steps:
            if type(scalars) is int:
                scalars = nodes[scalars].scalars
            elif scalars:
                scalars = tuple([self._number(scalar, nodes) for scalar in scalars])
            values = [known[i] for i in operands]
            if len(types) == 1 and not call.on_host:
                known.append(record_one(ctx, call, values, scalars, types[0]))
            else:
                known += record(ctx, call, values, scalars, types)
        wrap = type(seeds[0]).from_value
        grads: dict[Edge, Any] = {}
        reached: dict[Edge, None] = {}
        for number, index, at in self.leaves:
            edge = nodes[number].edges[index]
            assert edge is not None
            reached[edge] = None
            if at is not None:
                grads[edge] = wrap(known[at], ctx)
        return grads, reached

    def _number(self, value: Any, nodes: Sequence[TapeNode]) -> Any:
        if type(value) is not HostScalar:
            return value
        number, place = self.scalars[value.index]
        return nodes[number].scalars[place]


def replay_of(nodes: Sequence[TapeNode], ends: Sequence[Edge]) -> Replay | None:
    """Returns the replay of a pass over these nodes, latest first, from these heads.

    Returns:
        None for a pass whose rules must run each time: over several devices, or with rules that
        compute with more than types.
    """
    if any(type(node) is Leaf for node, _ in ends):
        return None
    known, key = _structure(nodes, ends)
    if key is None:
        return None
    try:
        return known[key]
    except KeyError:
        pass
    made = _Maker(nodes, ends).make()
    if len(known) >= _CAPACITY:
        known.clear()
    return known.setdefault(key, made)


def _structure(
    nodes: Sequence[TapeNode], ends: Sequence[Edge]
) -> tuple[_Replays, tuple[Any, ...] | None]:
    """Returns everything that the rules can depend on, without the Values and scalars.

    Returns:
        Where replays of such passes are kept, and the structure; None for one that has no replay.
    """
    known = _known
    ctx = nodes[0].ctx if nodes else None
    numbers: dict[Any, int] = {node: number for number, node in enumerate(nodes)}
    key: list[Any] = [revision.number]
    for node in nodes:
        call = node.call
        if not call.symbolic_rule or node.ctx is not ctx or node.input_ctx is not ctx:
            return known, None
        if call.replays is not None:
            known = call.replays
        key.append(call)
        key.append(node.types)
        inputs = node.inputs or ()
        for place, edge in enumerate(node.edges):
            if (edge is None or type(edge[0]) is not TapeNode) and place < len(inputs):
                key.append(inputs[place].type)
            if edge is None:
                key.append(None)
            else:
                source, index = edge
                number = numbers.get(source)
                if number is None:
                    if source.summed or source.sparse:
                        return known, None
                    number = numbers[source] = len(numbers)
                key.append(number)
                if index:
                    key.append((index,))
    key.extend((numbers[node], index) for node, index in ends)
    return known, tuple(key)


@final
class _Maker:
    """Runs the rules of a pass once, on handles that note what they do."""

    def __init__(self, nodes: Sequence[TapeNode], ends: Sequence[Edge]) -> None:
        self._nodes = nodes
        self._ends = ends
        self._types: dict[Node, Types] = {}
        # Variables for what the rules read, and where that is.
        self._reads: dict[Node, tuple[int, bool, int]] = {}
        self._scalars: list[tuple[int, int]] = []

    def make(self) -> Replay | None:
        """Returns the replay; None if a rule needs to know the numbers it is given."""
        heads: list[Node] = []
        grads: dict[Edge, EdgeHandle] = {}
        for end in self._ends:
            head = self._variable("head", end.node.types[end.index])
            heads.append(head.edge.node)
            accumulate(grads, end, head)
        reached = reached_edges(self._nodes, self._ends)
        try:
            for number, node in enumerate(self._nodes):
                outs = taken(node, grads, reached)
                if outs is not None:
                    self._run(number, node, outs, grads, reached)
        except TypeError:
            return None  # it computed with a scalar, for which only a name was there
        leaves: dict[Edge, tuple[int, int]] = {}
        for number, node in enumerate(self._nodes):
            for index, edge in enumerate(node.edges):
                if edge is not None and type(edge.node) is Leaf:
                    leaves.setdefault(edge, (number, index))
        outputs = [grads[edge].edge for edge in leaves if edge in grads]
        return self._written(Graph((), tuple(outputs)), heads, grads, leaves)

    def _run(
        self,
        number: int,
        node: TapeNode,
        outs: list[Any],
        grads: dict[Edge, EdgeHandle],
        reached: Collection[Edge],
    ) -> None:
        assert node.inputs is not None
        inputs = [self._read(number, False, i, x.type) for i, x in enumerate(node.inputs)]
        outputs = [self._read(number, True, i, type_) for i, type_ in enumerate(node.types)]
        first, count = len(self._scalars), len(node.scalars)
        scalars = [HostScalar(tuple, first + place) for place in range(count)]
        self._scalars += [(number, place) for place in range(count)]
        apply_rule(node, tuple(scalars), inputs, outputs, outs, grads, reached)

    def _variable(self, name: str, type_: TensorType) -> EdgeHandle:
        node = variable(name)
        self._types[node] = (type_,)
        return EdgeHandle(GraphEdge(node, 0), self._types)

    def _read(self, number: int, is_output: bool, index: int, type_: TensorType) -> EdgeHandle:
        handle = self._variable("value", type_)
        self._reads[handle.edge.node] = (number, is_output, index)
        return handle

    def _written(
        self,
        graph: Graph,
        heads: list[Node],
        grads: dict[Edge, EdgeHandle],
        leaves: dict[Edge, tuple[int, int]],
    ) -> Replay:
        """Writes the graph of the pass down as steps."""
        first = {head: number for number, head in enumerate(heads)}
        reads = [node for node in graph.nodes if node in self._reads]
        first |= {node: len(first) + number for number, node in enumerate(reads)}
        count = len(first)
        steps = []
        for node in graph.nodes:
            if node.call is None:
                continue
            operands = tuple(first[edge.node] + edge.index for edge in node.inputs)
            steps.append((node.call, operands, self._spec(node.scalars), self._types[node]))
            first[node] = count
            count += node.num_outputs
        found = []
        for edge, (number, index) in leaves.items():
            grad = grads.get(edge)
            at = None if grad is None else first[grad.edge.node] + grad.edge.index
            found.append((number, index, at))
        return Replay([self._reads[node] for node in reads], steps, self._scalars, found)

    def _spec(self, scalars: tuple[Any, ...]) -> Any:
        """Returns scalars in the form in which a step keeps them."""
        if not scalars or any(type(scalar) is not HostScalar for scalar in scalars):
            return scalars
        meant = [self._scalars[scalar.index] for scalar in scalars]
        number = meant[0][0]
        whole = [(number, place) for place in range(len(self._nodes[number].scalars))]
        return number if meant == whole else scalars

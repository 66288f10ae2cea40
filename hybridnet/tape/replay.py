"""Repeating a backward pass without running the gradient rules again.

A training loop differentiates the same computation in each turn. The first time, the rules run on
*handles*: objects with a type and no value, that note which operators are applied to them. The
notes, a `Replay`, are kept by the structure of the tape. In later turns they are recorded directly,
with the Values of that turn.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any, Final, final

from hybridnet.base.attrs import HostScalar, Number
from hybridnet.base.dtype import BOOL
from hybridnet.base.errors import ShapeError
from hybridnet.base.origins import recorded_at
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge as GraphEdge
from hybridnet.graph import EdgeHandle, Graph, Node, variable
from hybridnet.ops.core import CASTS, Backward, Call, Scalars, Types
from hybridnet.ops.core.registry import revision
from hybridnet.runtime.recording import Value, recorder
from hybridnet.runtime.watching import asked

from .nodes import Edge, Leaf, TapeNode

__all__ = ["Replay", "accumulate", "apply_rule", "reached_edges", "replay_of", "taken"]

#: Replays by the structure of the tape; None if the rules must run each time.
_Replays = dict[tuple[Any, ...], "Replay | None"]
#: A call, the numbers of its operands, its scalars, and the types of its results.
_Step = tuple[Call, tuple[int, ...], Any, Types]
#: The replays of tapes without calls of graphs. A tape with one is kept by that call.
_known: Final[_Replays] = {}
# A training script has a handful of replays. If there are more than this, all are forgotten.
_CAPACITY: Final = 512


def taken(node: TapeNode, grads: dict[Edge, Any], reached: Collection[Edge]) -> list[Any] | None:
    """Removes the gradients of a node's outputs from `grads`.

    Args:
        node: the node.
        grads: the gradients that have been computed so far and not used yet.
        reached: what `reached_edges` returned.

    Returns:
        For each output its gradient or None; or None if the node's rule need not run.
    """
    outs = [grads.pop(Edge(node, index), None) for index in range(len(node.types))]
    if node.call.no_gradient:
        return None
    given = any(value is not None for value in outs)
    own = given or any(Edge(node, index) in reached for index in node.call.own_gradients)
    return outs if own else None


def reached_edges(nodes: Sequence[TapeNode], ends: Sequence[Edge]) -> Collection[Edge]:
    """Returns the places on the tape that the heads depend on, whether or not a gradient comes.

    Only operators that make a gradient of their own (`Call.own_gradients`) need to know them. If
    the tape has no such node, the result is empty.
    """
    if not any(node.call.own_gradients for node in nodes):
        return ()
    return {*ends, *(edge for node in nodes for edge in node.edges if edge is not None)}


def apply_rule(
    node: TapeNode,
    scalars: tuple[Number, ...],
    inputs: Sequence[object],
    outputs: Sequence[Any],
    outs: list[Any],
    grads: dict[Edge, Any],
    reached: Collection[Edge],
) -> None:
    """Runs the gradient rule of a node, and adds what it returns to the gradients of its inputs.

    Args:
        node: the node.
        scalars: the numbers that its call took; or what stands for them.
        inputs: its inputs, as arrays or handles.
        outputs: its outputs, likewise.
        outs: the gradients of its outputs, likewise; None where none came.
        grads: the gradients so far, by place on the tape; the new ones are added here.
        reached: what `reached_edges` returned.
    """
    for index in node.call.own_gradients:
        if outs[index] is None and Edge(node, index) in reached:
            outs[index] = outputs[index].zeros_like()
    wanted = [edge is not None for edge in node.edges]
    back = Backward(node.call, inputs, outputs, outs, scalars, wanted)
    found = node.call.gradient(back)
    for source, grad, x in zip(node.edges, found, inputs, strict=False):
        if source is not None and grad is not None:
            accumulate(grads, source, _fitted(node.call, grad, x))


def accumulate(grads: dict[Edge, Any], edge: Edge, grad: object) -> None:
    """Adds a gradient to what has arrived at a place on the tape before."""
    before = grads.get(edge)
    if before is None:
        grads[edge] = grad
    elif before.inferred_dtype == BOOL:  # bool arrays have no sum: true where either is true
        kind, (cast,) = type(before), CASTS
        pair = [kind.apply_call(cast("int32"), [part], ())[0] for part in (before, grad)]
        (grads[edge],) = kind.apply_call(cast("bool"), [pair[0] + pair[1]], ())
    else:
        grads[edge] = before + grad


def _fitted(call: Call, grad: Any, x: Any) -> Any:
    """Casts a gradient to the dtype of the input `x` that it belongs to; the shapes must agree."""
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
    """The calls of a backward pass, written such that they fit any tape of the same structure.

    The nodes of the tape are numbered, latest first. The operands of the calls are numbered, too:
    first the gradients of the heads that are given, then the Values read from the tape (`reads`),
    then the results of the steps.

    Attributes:
        reads: for each Value that is read from the tape: the number of its node, whether it is one
            of the outputs (or else of the inputs), and which one.
        steps: for each call: the call, the numbers of its operands, its scalars, and the types of
            its results. The scalars are given either as the number of a node, whose scalars they
            are; or as a tuple of numbers and `HostScalar` objects, which stand for a node's scalar.
        scalars: what each `HostScalar` stands for, by its index: the number of a node, and which of
            its scalars.
        leaves: for each variable that the heads depend on: a node and an input by which the tape
            refers to it, and the number of its gradient (None if none comes).
        moving: the nodes that move running averages.
        sources: for each call the number of the node whose gradient it is part of.
    """

    __slots__ = ("leaves", "moving", "reads", "scalars", "sources", "steps")

    def __init__(
        self,
        reads: Sequence[tuple[int, bool, int]],
        steps: Sequence[_Step],
        scalars: Sequence[tuple[int, int]],
        leaves: Sequence[tuple[int, int, int | None]],
        moving: Sequence[int],
        sources: Sequence[int],
    ) -> None:
        self.reads = reads
        self.steps = steps
        self.scalars = scalars
        self.leaves = leaves
        self.moving = moving
        self.sources = sources

    def run(
        self, nodes: Sequence[TapeNode], seeds: Sequence[Value]
    ) -> list[tuple[Edge, Value | None]]:
        """Records the calls of the backward pass over a tape.

        Args:
            nodes: the nodes of the tape, latest first.
            seeds: the gradients of the heads, where they are given.

        Returns:
            The variables that the heads depend on, with their gradients; None where none comes.
        """
        known = list(seeds)
        for number, is_output, index in self.reads:
            node = nodes[number]
            side = node.outputs if is_output else node.inputs
            assert side is not None
            value = side[index]
            assert value is not None
            known.append(value)
        steps = []
        for call, operands, scalars, types in self.steps:
            if type(scalars) is int:
                scalars = nodes[scalars].scalars
            elif scalars:
                scalars = tuple([self._number(scalar, nodes) for scalar in scalars])
            steps.append((call, operands, scalars, types))
        if asked.mode:
            self._record_with_lines(nodes, steps, known)
        else:
            recorder.record_all(nodes[0].ctx, steps, known)
        found: list[tuple[Edge, Value | None]] = []
        for number, index, at in self.leaves:
            edge = nodes[number].edges[index]
            assert edge is not None
            found.append((edge, None if at is None else known[at]))
        return found

    def _record_with_lines(
        self, nodes: Sequence[TapeNode], steps: Sequence[_Step], known: list[Value]
    ) -> None:
        """Records the calls, each at the line of the forward pass whose gradient it is part of.

        Args:
            nodes: the nodes of the tape.
            steps: as `recorder.record_all` takes them.
            known: the Values by their numbers, to which those of the calls are added.
        """
        ctx, record = nodes[0].ctx, recorder.record
        with recorded_at(None) as line:
            for (call, operands, scalars, types), number in zip(steps, self.sources, strict=True):
                line.instead = nodes[number].origin
                known += record(ctx, call, [known[i] for i in operands], scalars, types)

    def _number(self, value: object, nodes: Sequence[TapeNode]) -> Any:
        if type(value) is not HostScalar:
            return value
        number, place = self.scalars[value.index]
        return nodes[number].scalars[place]


def replay_of(
    nodes: Sequence[TapeNode], ends: Sequence[Edge], given: tuple[bool, ...]
) -> Replay | None:
    """Returns the replay of a backward pass; makes it if it is not known yet.

    Args:
        nodes: the nodes of the tape, latest first.
        ends: the places of the heads on the tape.
        given: for each head whether its gradient is given; else it is ones.

    Returns:
        None if the rules must run each time, because the tape is on several devices, or because a
        rule looks at the numbers that it is given.
    """
    for node, _ in ends:
        if type(node) is Leaf:
            return None
    known = _known
    ctx = nodes[0].ctx if nodes else None
    # The structure of the tape: all that the rules can depend on. Values and scalars are not in it.
    key: list[Any] = [revision.number, given]
    numbers: dict[Any, int] = dict(zip(nodes, itertools.count()))
    for node in nodes:
        call = node.call
        if not call.symbolic_rule or node.ctx is not ctx or node.input_ctx is not ctx:
            return None
        if call.replays is not None:
            known = call.replays
        key.append(call)
        key.append(node.types)
        if node.averages:
            key.append("averages")
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
                    if source.sparse:
                        return None
                    number = numbers[source] = len(numbers)
                key.append(number)
                if index:
                    key.append((index,))
    for node, index in ends:
        key.append((numbers[node], index))
    structure = tuple(key)
    try:
        return known[structure]
    except KeyError:
        pass
    made = _Maker(nodes, ends).make(given)
    if len(known) >= _CAPACITY:
        known.clear()
    return known.setdefault(structure, made)


@final
class _Maker:
    """Makes a `Replay`: runs the rules of a backward pass once, on handles."""

    def __init__(self, nodes: Sequence[TapeNode], ends: Sequence[Edge]) -> None:
        self._nodes = nodes
        self._ends = ends
        self._types: dict[Node, Types] = {}
        # The variables that stand for Values of the tape, and where each of these is found.
        self._reads: dict[Node, tuple[int, bool, int]] = {}
        # The number of the tape's node whose gradient a node is part of.
        self._sources: dict[Node, int] = {}
        self._scalars: list[tuple[int, int]] = []
        self._moving: list[int] = []

    def make(self, given: Sequence[bool]) -> Replay | None:
        """Returns the replay; None if a rule looks at the numbers that it is given."""
        heads: list[Node] = []
        grads: dict[Edge, EdgeHandle] = {}
        for end, is_given in zip(self._ends, given, strict=True):
            type_ = end.node.types[end.index]
            if is_given:
                seed = self._variable("head", type_)
                heads.append(seed.edge.node)
            else:
                seed = self._read(self._nodes.index(end.node), True, end.index, type_).ones_like()
            accumulate(grads, end, seed)
        reached = reached_edges(self._nodes, self._ends)
        try:
            for number, node in enumerate(self._nodes):
                outs = taken(node, grads, reached)
                if outs is not None:
                    self._run(number, node, outs, grads, reached)
        except TypeError:
            return None  # a rule computed with a scalar, but a `HostScalar` has no value
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
        outs: list[object],
        grads: dict[Edge, EdgeHandle],
        reached: Collection[Edge],
    ) -> None:
        assert node.inputs is not None
        if node.averages:
            self._moving.append(number)
        inputs = [self._read(number, False, i, x.type) for i, x in enumerate(node.inputs)]
        outputs = [self._read(number, True, i, type_) for i, type_ in enumerate(node.types)]
        first, count = len(self._scalars), len(node.scalars)
        scalars = [HostScalar(tuple, first + place) for place in range(count)]
        self._scalars += [(number, place) for place in range(count)]
        apply_rule(node, tuple(scalars), inputs, outputs, outs, grads, reached)
        new = [handle.edge.node for handle in grads.values()]
        while new:
            made = new.pop()
            if made not in self._sources:
                self._sources[made] = number
                new += [edge.node for edge in made.inputs]

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
        """Turns the graph of the backward pass into the steps of a `Replay`."""
        first = {head: number for number, head in enumerate(heads)}
        reads = [node for node in graph.nodes if node in self._reads]
        first |= {node: len(first) + number for number, node in enumerate(reads)}
        count = len(first)
        steps, sources = [], []
        for node in graph.nodes:
            if node.call is None:
                continue
            sources.append(self._sources.get(node, 0))
            operands = tuple(first[edge.node] + edge.index for edge in node.inputs)
            steps.append((node.call, operands, self._spec(node.scalars), self._types[node]))
            first[node] = count
            count += node.num_outputs
        found = []
        for edge, (number, index) in leaves.items():
            grad = grads.get(edge)
            at = None if grad is None else first[grad.edge.node] + grad.edge.index
            found.append((number, index, at))
        numbers = [self._reads[node] for node in reads]
        return Replay(numbers, steps, self._scalars, found, self._moving, sources)

    def _spec(self, scalars: Scalars) -> Any:
        """Returns scalars in the form that `Replay.steps` describes."""
        if not scalars or any(type(scalar) is not HostScalar for scalar in scalars):
            return scalars
        meant = [self._scalars[scalar.index] for scalar in scalars]
        number = meant[0][0]
        whole = [(number, place) for place in range(len(self._nodes[number].scalars))]
        return number if meant == whole else scalars

"""`GraphCall`: a graph that is run as one call, like an operator.

A traced function, a hybridized block and a bound symbol are each one of these, recorded into the
caller's segment like any operator; so a training step made of them can still become one program.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final, cast, final
from weakref import WeakValueDictionary

from hybridnet.base import config
from hybridnet.base.attrs import HostScalar, Number
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import ShapeError
from hybridnet.graph import (
    GradientGraph,
    Graph,
    Node,
    differentiate,
    evaluate,
    host_scalars_of,
    infer_types,
    joint_gradient,
    renarrowed,
    structure_of,
    with_open_scalars,
    with_own_gradients,
)
from hybridnet.ops.core import MAKING, Backward, Bounded, Call, Parts, Types
from hybridnet.passes import PIPELINE, Pass, PassContext, mirror, mirror_marks, optimize
from hybridnet.passes import enabled as passes_enabled

from ..checks.positions import may_hold_positions, positions_in
from ..observe.journal import listeners
from ..platform.collecting import without_collecting
from ..record.host_task import awaited
from ..record.waiting import ready_array

# From how many operators on a graph runs node by node until it is compiled. If NumPy runs the nodes
# that is from 1 on, as NumPy is quicker than XLA's compiler (a dense layer: 50 us against 50 ms).
# If each node has to be compiled alone, it pays only for graphs that take XLA seconds (an LSTM of
# 60 steps and its gradient, 2,300 operators: 8 s).
_ANY_NODES: Final = 1
_MANY_NODES: Final = 500

_ATTENTION: Final = (PIPELINE["attention"],)

#: For each wanted input the number of the output that is its gradient, or None.
_Numbers = tuple[int | None, ...]


@final
class GraphCall(Call):
    """A graph, for inputs of certain types, that can be recorded as one call.

    Only its visible outputs have gradients; the others are states that it updates, and what it
    keeps for its gradient.

    Attributes:
        graph: the graph.
        input_types: the types of its inputs.
        output_types: the types of its outputs.
        hosts: the numbers that Python computes anew for each run; they are passed as scalars.
        split: for a call made for training: how its graph was split into what runs forward and what
            runs backward; else None.
        weight: the number of its operators.
        optimized: whether the optimization passes are run over the graph when it is compiled.
        origin: the call from which this one was made, for training or as its gradient. As a program
            keeps its calls alive, it keeps the origin alive, too; so the next graph of the same
            structure (`shared_call`) finds everything that was made for training.
    """

    updates: Mapping[int, int] = {}  # it gives new states out
    no_gradient: str = ""

    __slots__ = (
        "_backward",
        "_bounded",
        "_joint",
        "_lowered",
        "_name",
        "_own_gradients",
        "_training",
        "graph",
        "has_parts",
        "hosts",
        "in_order",
        "inferred",
        "input_types",
        "on_host",
        "optimized",
        "origin",
        "output_types",
        "replays",
        "split",
        "weight",
    )

    def __init__(
        self,
        graph: Graph,
        input_types: Types,
        name: str,
        num_visible: int | None = None,
        split: GradientGraph | None = None,
        optimized: bool | None = None,
        origin: GraphCall | None = None,
    ) -> None:
        self.graph = graph
        self.origin = origin
        self.input_types = input_types
        self._name = name
        self.hosts = host_scalars_of(graph)
        self.split = split
        calls = [node.call for node in graph.nodes if node.call is not None]
        self.weight = sum(inner.weight for inner in calls)
        self.has_parts = self.weight >= (_MANY_NODES if config.host() == "off" else _ANY_NODES)
        self.on_host = any(inner.on_host for inner in calls)
        self.in_order = any(inner.in_order for inner in calls)
        self.num_outputs = len(graph.outputs)
        self.num_visible = self.num_outputs if num_visible is None else num_visible
        self.num_scalars = len(self.hosts)
        self.takes_state = False
        self._own_gradients = with_own_gradients(graph, self.num_visible)
        # Here, since the tape's own would keep it alive.
        self.replays: dict[Hashable, Any] = {}
        types = infer_types(graph, input_types)
        self.output_types: Types = tuple(types[e.node][e.index] for e in graph.outputs)
        self.inferred = {input_types: self.output_types}
        self.optimized = passes_enabled() if optimized is None else optimized
        # What passes made of the graph, by platform, and which passes these were.
        self._lowered: dict[str, tuple[tuple[Pass, ...], Graph]] = {}
        # All of these are filled by a dict's `setdefault`, which is one step of CPython's: threads
        # get the same.
        self._training: dict[tuple[tuple[int, ...], bool], GraphCall] = {}
        self._backward: dict[tuple[int, ...], tuple[GraphCall, GradientGraph] | None] = {}
        self._bounded: dict[bool, Bounded | None] = {}
        self._joint: dict[tuple[tuple[int, ...], ...], tuple[GraphCall, _Numbers]] = {}

    @property
    def name(self) -> str:
        """The name of the function, block or symbol."""
        return self._name

    @property
    def alike(self) -> Hashable:
        """The operators and edges of the graph: sessions give all their graphs one name."""
        inputs, nodes, outputs, _ = cast(tuple[Any, Any, Any, Any], structure_of(self.graph)[0])
        return (self.name, inputs, outputs, *((call.alike, edges) for call, edges in nodes))

    def facts(self) -> Sequence[object] | None:
        """The calls and edges of the graph, its constants, and where the numbers go."""
        structure, scalars = structure_of(self.graph)
        inputs, nodes, outputs, order = cast(tuple[Any, Any, Any, Any], structure)
        calls = [(call.fingerprint, edges) for call, edges in nodes]
        if any(fingerprint is None for fingerprint, _ in calls):
            return None
        places = {host: number for number, host in enumerate(self.hosts)}
        numbers = [
            ("given", places[scalar]) if type(scalar) is HostScalar else float(scalar)
            for scalar in scalars
        ]
        return (inputs, calls, outputs, order, numbers, self.optimized)

    @property
    def own_gradients(self) -> frozenset[int]:
        """The visible outputs that depend on what brings a gradient of its own in the graph."""
        return self._own_gradients

    def infer(self, types: Types) -> Types:
        """Returns the types of the outputs; the inputs must have the types it was made for."""
        if types != self.input_types:
            raise ShapeError(
                f"{self.name}: was made for inputs {list(self.input_types)}, got {list(types)}"
            )
        return self.output_types

    def lower(
        self, platform: str, operands: Sequence[object], scalars: Sequence[object]
    ) -> Sequence[Any]:
        """Runs the nodes that the passes leave of the graph."""
        numbers = dict(zip(self.hosts, scalars, strict=True))
        return evaluate(self.lowered(platform), platform, operands, numbers)

    def lowered(self, platform: str) -> Graph:
        """Returns the graph as the optimization passes leave it; only their exact rules are used.

        This happens when a program is built, which is after the gradient was derived. The gradient
        is another graph, and the passes optimize that by itself.
        """
        if not self.optimized:
            return self.graph
        steps = PIPELINE.steps
        found = self._lowered.get(platform)
        if found is None or found[0] is not steps:
            context = PassContext(self.input_types, platform, tolerance=0)
            chosen = [step for step in steps if step.by_default]
            made = optimize(self.graph, context, chosen, lenient=True)[0]
            found = self._lowered[platform] = steps, made
        return found[1]

    def lay_open(self, platform: str, *, optimized: bool = False) -> Parts:
        """Returns the nodes of the graph, with calls of large graphs replaced by theirs.

        It is computed for each run and not kept, since it is as large as the graph. There are few
        such runs, as the graph is compiled soon.

        Args:
            platform: on which they are run.
            optimized: whether they are those that the passes leave. To run the passes takes longer
                than they save a graph that runs a few times (`Program.repays_passes`).
        """
        places = {host: place for place, host in enumerate(self.hosts)}
        inputs = tuple(range(-1, ~len(self.input_types), -1))
        laid = _LaidOpen(platform if optimized else None, [], [], 0)
        outputs = laid.add(self, inputs, places)
        return Parts(tuple(laid.instructions), tuple(outputs), tuple(laid.scalars))

    def run_on_host(
        self, ctx: Any, values: Sequence[Any], scalars: tuple[Number, ...], record: Any
    ) -> list[Any]:
        """Runs a graph that has Python code in it, node by node.

        The nodes between two that run Python are compiled as programs. If a control edge leads from
        a node that runs Python to another node, the other begins after it has ended.
        """
        first = {control for node in self.graph.nodes for control in node.controls}
        numbers = dict(zip(self.hosts, scalars, strict=True))
        made = {node: [value] for node, value in zip(self.graph.inputs, values, strict=True)}
        for node in self.graph.nodes:
            if node.call is None:
                continue
            operands = [made[edge.node][edge.index] for edge in node.inputs]
            own = tuple(numbers[x] if type(x) is HostScalar else x for x in node.scalars)
            types = node.call.infer(tuple(value.type for value in operands))
            with awaited() if node in first else nullcontext():
                made[node] = record(ctx, node.call, operands, own, types)
                for value in made[node] if node in first and node.call.on_host else ():
                    ready_array(value)
        return [made[edge.node][edge.index] for edge in self.graph.outputs]

    def bounded(self, *, everything: bool) -> Bounded | None:
        """Returns the call of the graph with rows about the positions in it as a further output."""
        if everything not in self._bounded:
            self._bounded.setdefault(everything, self._with_bounds(everything))
        return self._bounded[everything]

    def _with_bounds(self, everything: bool) -> Bounded | None:
        if not any(may_hold_positions(node.call) for node in self.graph.nodes):
            return None
        types = infer_types(self.graph, self.input_types)
        found = positions_in(self.graph, types, everything)
        if found is None:
            return None
        graph, tables = found
        call = GraphCall(
            graph, self.input_types, self.name, self.num_visible, None, self.optimized, self
        )
        call._bounded = {False: None, True: None}  # it tells of them already
        return Bounded(call, tables)

    # -- its gradient ------------------------------------------------------------------------

    def training(self, wanted: tuple[int, ...], mirrored: bool | None = None) -> GraphCall:
        """Returns the call for training, whose hidden outputs are what its gradient needs.

        These outputs are called residuals. What is not among them is computed again by the gradient
        (`hybridnet.passes.mirror`).

        Args:
            wanted: the numbers of the inputs whose gradients will be asked for.
            mirrored: whether results are computed again to save memory; default as
                MXNET_BACKWARD_DO_MIRROR says.
        """
        key = wanted, config.do_mirror() if mirrored is None else mirrored
        made = self._training.get(key)
        if made is None:
            whole = not any(is_float(self.input_types[i].dtype) for i in wanted)
            kinds = self.output_types[: self.num_visible]
            floats = [i for i, kind in enumerate(kinds) if is_float(kind.dtype)]
            # Whole outputs have gradients where they are alone: of what was cast to be one.
            given = range(self.num_visible) if whole else floats or range(self.num_visible)
            with without_collecting():
                types = infer_types(self.graph, self.input_types)
                split = differentiate(self.graph, wanted, given, types)
                split = mirror(split, self.input_types, key[1])
                made = GraphCall(
                    split.forward,
                    self.input_types,
                    self.name,
                    self.num_visible,
                    split,
                    self.optimized,
                    self,
                )
            made = self._training.setdefault(key, made)
        return made

    def backward_call(self, given: tuple[int, ...] | None = None) -> GraphCall:
        """Returns the call that computes the gradient of a call made by `training`.

        Its inputs are the residuals, those forward inputs that it uses, and the gradients of the
        outputs.

        Args:
            given: the numbers of the outputs that have a gradient; default all that may have one.

        Raises:
            ShapeError: the forward call does not return all that this gradient needs.
        """
        assert self.split is not None
        found = self._backward_of(self.split.given if given is None else given)
        if found is None:
            raise ShapeError(f"{self.name}: keeps too little for the gradient of outputs {given}")
        return found[0]

    def _backward_of(self, given: tuple[int, ...]) -> tuple[GraphCall, GradientGraph] | None:
        """Returns the call that computes the gradient, and the split that it belongs to.

        Args:
            given: the numbers of the outputs that have a gradient.

        Returns:
            None if the forward call does not give out all that this gradient needs.
        """
        if given not in self._backward:
            split = self.split
            assert split is not None
            if given != split.given:
                split = renarrowed(split, given, infer_types(self.graph, self.input_types))
            made = None
            if split is not None:
                types = (
                    *self.output_types[self.first_residual(split) :],
                    *(self.input_types[i] for i in split.uses),
                    *(self.output_types[i] for i in split.given),
                )
                made = self._gradient_call(split.backward, types), split
            self._backward.setdefault(given, made)
        return self._backward[given]

    def _gradient_call(self, graph: Graph, types: Types) -> GraphCall:
        name = f"_backward_{self.name}"
        return GraphCall(graph, types, name, optimized=self.optimized, origin=self)

    def kept_for_gradient(self) -> tuple[int, int] | None:
        """Returns the bytes of what it keeps for its gradient, and of what it would, mirrored.

        None for a call that was not made for training.
        """
        split, origin = self.split, self.origin
        if split is None or origin is None:
            return None
        wanted = next(key[0] for key, made in origin._training.items() if made is self)
        mirrored = origin.training(wanted, mirrored=True)
        return self._residual_bytes(), mirrored._residual_bytes()

    def _residual_bytes(self) -> int:
        assert self.split is not None
        return sum(kind.nbytes for kind in self.output_types[self.first_residual(self.split) :])

    def first_residual(self, split: GradientGraph) -> int:
        """Returns the number of the first output that is kept for the gradient."""
        return self.num_outputs - split.num_residuals

    def joint_call(
        self, wanted: tuple[int, ...], given: tuple[int, ...]
    ) -> tuple[GraphCall, _Numbers]:
        """Returns a call that computes the gradient from the inputs: it runs the graph again."""
        made = self._joint.get((wanted, given))
        if made is None:
            known = infer_types(self.graph, self.input_types)
            graph, numbers = joint_gradient(self.graph, wanted, given, known)
            types = (*self.input_types, *(self.output_types[i] for i in given))
            call = self._gradient_call(graph, types)
            made = self._joint.setdefault((wanted, given), (call, numbers))
        return made

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Runs the backward graph on what the forward call kept.

        Where it kept too little (the gradient of a gradient also reaches what was kept), the
        forward graph is computed again.
        """
        given = tuple(i for i, grad in enumerate(back.grads) if grad is not None)
        heads = [back.grads[i] for i in given]
        kept = None
        if self.split is not None and set(given) <= set(self.split.given):
            kept = self._backward_of(given)
        if kept is not None:
            call, split = kept
            positions, numbers = split.positions, split.wanted
            operands = [*back.outputs[self.first_residual(split) :]]
            operands += [back.inputs[i] for i in split.uses]
        else:
            wanted = tuple(i for i, want in enumerate(back.wanted) if want)
            floats = tuple(i for i in wanted if is_float(self.input_types[i].dtype))
            positions = floats or wanted
            call, numbers = self.joint_call(positions, given)
            operands = list(back.inputs)
        if all(number is None for number in numbers):
            return [None] * len(back.inputs)
        scalars = dict(zip(self.hosts, back.scalars, strict=True))
        grads = back.apply(call, [*operands, *heads], tuple(scalars[host] for host in call.hosts))
        result: list[Any] = [None] * len(back.inputs)
        for position, number in zip(positions, numbers, strict=True):
            if number is not None:
                result[position] = grads[number]
        return result

    def __repr__(self) -> str:
        return f"{self.name}[{len(self.graph.nodes)} nodes]"


@dataclass
class _LaidOpen:
    """Nodes of graphs as instructions, and where their numbers come from: see `Parts`."""

    platform: str | None  # for which the passes are run over the graphs; None: they are not
    instructions: list[tuple[Call, tuple[int, ...]]]
    scalars: list[int | float]
    count: int  # of results

    def add(
        self, call: GraphCall, inputs: Sequence[int], numbers: Mapping[HostScalar, int | float]
    ) -> list[int]:
        """Adds the nodes of a call's graph; returns its outputs.

        Args:
            call: which.
            inputs: its inputs, as operands of instructions.
            numbers: what stands for the numbers it asks for.
        """
        graph = call.graph if self.platform is None else call.lowered(self.platform)
        known: dict[Node, Sequence[int]] = {
            node: (number,) for node, number in zip(graph.inputs, inputs, strict=True)
        }
        for node in graph.nodes:
            if node.call is None:
                continue
            operands = tuple([known[edge.node][edge.index] for edge in node.inputs])
            own = [numbers[x] if type(x) is HostScalar else float(x) for x in node.scalars]
            if isinstance(node.call, GraphCall) and node.call.has_parts:
                within = dict(zip(node.call.hosts, own, strict=True))
                known[node] = self.add(node.call, operands, within)
                continue
            self.instructions.append((node.call, operands))
            self.scalars += own
            known[node] = range(self.count, self.count + node.num_outputs)
            self.count += node.num_outputs
        return [known[edge.node][edge.index] for edge in graph.outputs]


_shared: Final[WeakValueDictionary[Any, GraphCall]] = WeakValueDictionary()
# The numbers of blocks and symbols in a name.
_COUNTER: Final = re.compile(r"(?<=[a-z])[0-9]+(?=_|$)")


def _with_attention(graph: Graph, input_types: Types) -> Graph:
    """Returns a graph with what is attention, written out, as one operator.

    Here, where numbers are known, and before a gradient is derived. It is the one rule that is not
    exact and is used all the same: as another lowering of an operator would, it rounds otherwise.
    """
    if not any(node.call is not None and node.call.name == "softmax" for node in graph.nodes):
        return graph
    return optimize(graph, PassContext(input_types), _ATTENTION, lenient=True)[0]


def shared_call(
    graph: Graph, input_types: Types, name: str, num_visible: int
) -> tuple[GraphCall, tuple[Any, ...]]:
    """Returns the call of a graph; graphs of the same structure get the same call.

    Programs are found by the identity of their calls. So when a function is traced again, or the
    same method of another instance is traced, the programs that exist are used. The call keeps no
    arrays alive, nor the functions that compute its numbers. Names may differ in their counters, as
    ``dense0`` and ``dense7`` do; the call has the name of the first graph.

    Returns:
        The call, and the graph's scalars in the order in which the call takes them.
    """
    if passes_enabled():
        graph = _with_attention(graph, input_types)
    structure, scalars = structure_of(graph)
    # Blocks and symbols without a name of their own get a counter, which does not matter here.
    kind = _COUNTER.sub("", name)
    # Who notes lines wants those of this graph.
    lines = tuple([node.origin for node in graph.nodes]) if listeners.lines else ()
    key = (kind, num_visible, input_types, structure, mirror_marks(graph), passes_enabled(), lines)
    made = _shared.get(key)
    if made is None:
        call = GraphCall(with_open_scalars(graph), input_types, name, num_visible)
        with MAKING:  # `setdefault` of a weak dictionary is not one step
            made = _shared.setdefault(key, call)
    return made, scalars

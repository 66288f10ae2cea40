"""Lab 6: what is to hold of a cut, tried on small graphs whose nodes are on up to three devices.

The nodes compute nothing but numbers that stand for values (see share.py), so that they need no
operators and a wrong value cannot be right by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from hypothesis import strategies as st

from hybridnet import nd, sym
from hybridnet.base.context import cpu
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import Edge, Graph, Node, infer_types, variable
from hybridnet.ops.core import HostOnlyCall, Types
from hybridnet.passes import partition

from ...checking import Check, Wrong
from .cutting import Cutting
from .share import (
    Share,
    check_nodes,
    check_pairs,
    check_reads,
    check_run,
    check_transfers,
    shares_of,
)

_DEVICES: Final = ("x", "y", "z")
_ORDERS: Final = 4


@final
class _NamedCall(HostOnlyCall):
    """The call of a node of these graphs; each output has a shape of its own."""

    __slots__ = ("_number",)
    name = "op"

    def __init__(self, number: int, num_outputs: int) -> None:
        super().__init__(num_outputs)
        self._number = number

    def infer(self, types: Types) -> Types:
        """A type that no other output has."""
        return tuple(
            tensor_type((self._number + 1, index + 1), np.dtype(np.float32))
            for index in range(self.num_outputs)
        )

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _PlacedGraph:
    """A graph, and where its nodes are.

    Attributes:
        graph: of it.
        devices: of each node, variables included.
        wanted: where each output is wanted.
    """

    graph: Graph
    devices: Mapping[Node, str] = field(repr=False)
    wanted: tuple[str, ...]

    @property
    def types(self) -> Mapping[Node, Types]:
        kinds = [tensor_type((100 + i,), np.dtype(np.float32)) for i in range(len(_DEVICES))]
        return infer_types(self.graph, kinds[: len(self.graph.inputs)])

    def __str__(self) -> str:
        lines = [self._line(node) for node in self.graph.nodes]
        wanted = zip(self.graph.outputs, self.wanted, strict=True)
        lines += [
            f"output {i}: {_of(edge)}, on {device}" for i, (edge, device) in enumerate(wanted)
        ]
        return "\n".join(lines)

    def _line(self, node: Node) -> str:
        if node.is_variable:
            return f"{node.name}: a variable on {self.devices[node]}"
        words = [f"{node.name}: on {self.devices[node]}"]
        words += ["2 outputs"] * (node.num_outputs == 2)
        words += [f"reads {' and '.join(map(_of, node.inputs))}"] * bool(node.inputs)
        after = " and ".join(before.name for before in node.controls)
        words += [f"runs after {after}"] * bool(after)
        return ", ".join(words)


def _of(edge: Edge) -> str:
    return edge.node.name if edge.node.num_outputs == 1 else f"{edge.node.name}:{edge.index}"


_BEFORE: Final = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 1)), max_size=2)
_PLACE: Final = st.integers(0, len(_DEVICES) - 1)
#: A node: what it reads and what it runs after, how many outputs it has, where it is and is wanted.
_NODE: Final = st.tuples(
    _BEFORE, st.lists(st.integers(1, 6), max_size=2), st.booleans(), _PLACE, st.none() | _PLACE
)


@st.composite
def _placed(draw: Any, controls: bool = False, names: str = "ABCDEFG") -> _PlacedGraph:
    """Draws a graph; the nodes that nobody reads are outputs, and maybe others."""
    rows = draw(st.lists(_NODE, min_size=1, max_size=6))
    variables = [variable(name) for name in "ab"]
    devices = {node: _DEVICES[draw(_PLACE)] for node in variables}
    nodes, wishes = list(variables), dict[Node, int | None]()
    for number, (reads, after, is_double, place, wanted) in enumerate(rows):
        edges = tuple(
            Edge(nodes[-back], index % nodes[-back].num_outputs)
            for back, index in reads
            if back <= len(nodes)
        )
        before = dict.fromkeys(nodes[-back] for back in after if controls and back <= len(nodes))
        call = _NamedCall(number, 2 if is_double else 1)
        made = Node(call, edges, names[number % len(names)])
        made = made.with_controls(tuple(one for one in before if not one.is_variable))
        nodes.append(made)
        devices[made], wishes[made] = _DEVICES[place], wanted
    awaited = {edge.node for node in nodes for edge in node.inputs}
    awaited |= {before for node in nodes for before in node.controls}
    outputs = {
        Edge(node, node.num_outputs - 1): devices[node] if wish is None else _DEVICES[wish]
        for node, wish in wishes.items()
        if wish is not None or node not in awaited
    }
    found = Graph(tuple(variables), tuple(outputs))
    used = [node for node in variables if node in found.nodes]
    return _PlacedGraph(Graph(tuple(used), found.outputs), devices, tuple(outputs.values()))


def _shares(part: Any, case: _PlacedGraph) -> dict[str, Share]:
    graph = case.graph
    own = {node: case.devices[node] for node in (*graph.inputs, *graph.nodes)}
    return shares_of(part, graph, own, case.types, case.wanted)


def _has_each_node(part: Any, case: _PlacedGraph) -> None:
    check_nodes(case.graph, case.devices, _shares(part, case))


def _is_cut(part: Any, case: _PlacedGraph) -> None:
    shares = _shares(part, case)
    check_nodes(case.graph, case.devices, shares)
    check_reads(case.devices, shares)


def _paired(part: Any, case: _PlacedGraph) -> dict[str, Share]:
    shares = _shares(part, case)
    check_nodes(case.graph, case.devices, shares)
    check_pairs(shares)
    return shares


def _has_pairs(part: Any, case: _PlacedGraph) -> None:
    _paired(part, case)


def _sends_once(part: Any, case: _PlacedGraph) -> None:
    shares = _shares(part, case)
    check_transfers(case.graph, case.devices, case.wanted, shares)


def _runs(part: Any, case: _PlacedGraph) -> None:
    shares = _paired(part, case)
    for seed in range(_ORDERS):
        check_run(case.graph, case.devices, case.wanted, shares, seed)


def _runs_in_order(part: Any, case: _PlacedGraph) -> None:
    _is_cut(part, case)
    _sends_once(part, case)
    _runs(part, case)


def _in_the_framework(part: Any) -> None:
    """A small network on two devices, forward and backward, gives what it gives on one."""
    found = []
    for there in (cpu(0), cpu(1)):
        x = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc1")
        h = sym.Activation(x, act_type="tanh", name="tanh", attr={"ctx_group": "other"})
        y = sym.FullyConnected(h, num_hidden=4, name="fc2") + x * h
        with partition.replaced_by(Cutting(part)):
            executor = y.simple_bind(cpu(0), group2ctx={"other": there}, data=(2, 5))
            for number, array in enumerate(executor.arg_dict.values()):
                array[:] = np.sin(np.arange(array.size) + number).reshape(array.shape)
            executor.forward(is_train=True)
            executor.backward(nd.ones((2, 4)))
            found.append([*executor.outputs, *executor.grad_dict.values()])
            found[-1] = [array.asnumpy() for array in found[-1]]
    for ours, theirs in zip(*found, strict=True):
        if not np.allclose(ours, theirs, rtol=1e-5, atol=1e-6):
            raise Wrong("network", ours=ours.ravel()[:4], theirs=theirs.ravel()[:4])


CHECKS: Final = (
    Check("nodes", _has_each_node, _placed()),
    Check("reads", _is_cut, _placed()),
    Check("pairs", _has_pairs, _placed(), tries=300),
    Check("once", _sends_once, _placed(), tries=300),
    Check("values", _runs, _placed(), tries=300),
    Check("names", _has_pairs, _placed(names="A")),
    Check("controls", _runs_in_order, _placed(controls=True), tries=300),
    Check("network", _in_the_framework),
)

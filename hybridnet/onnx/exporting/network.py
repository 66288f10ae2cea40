"""A symbol with its parameters, written into a draft of an ONNX graph."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.graph import Edge, Node
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import OpCall
from hybridnet.symbol import Symbol

from ..draft import Draft, Network, Port
from .layers import LABELS
from .place import ExportError, Place
from .sizes import Known
from .table import translate

#: What `nd.zeros` and its kin say of their elements.
_FILLED: Final = {"_zeros": 0.0, "_zeros_without_dtype": 0.0, "_ones": 1.0}


def inputs_of(
    symbol: Symbol, params: Mapping[str, NDArray], with_labels: bool = False
) -> list[str]:
    """Returns the names of what is no parameter and no label, which training alone needs."""
    nodes = symbol.graph.nodes
    used: set[Node] = set()
    labels: set[Node] = set()
    for node in nodes:
        is_output = node.call is not None and node.call.name in LABELS
        for index, edge in enumerate(node.inputs):
            (labels if is_output and index == 1 else used).add(edge.node)
    used.update(edge.node for edge in symbol.edges)
    return [
        node.name
        for node in symbol.graph.inputs
        if node.name not in params and (with_labels or node in used or node not in labels)
    ]


def draft_of(
    symbol: Symbol,
    params: Mapping[str, NDArray],
    inputs: Sequence[str],
    known: Known,
    verbose: bool,
) -> Network:
    """Writes a network as a graph of ONNX's operators.

    Args:
        symbol: the network.
        params: its parameters by name.
        inputs: the names of the variables that are inputs.
        known: the types of all values.
        verbose: whether each node is logged.

    Raises:
        ExportError: a node has no form in ONNX.
    """
    return _Writer(symbol, params, inputs, known, verbose).written()


@final
class _Writer:
    def __init__(
        self,
        symbol: Symbol,
        params: Mapping[str, NDArray],
        inputs: Sequence[str],
        known: Known,
        verbose: bool,
    ) -> None:
        self._symbol = symbol
        self._input_names = inputs
        self._params = params
        self._known = known
        self._verbose = verbose
        graph = symbol.graph
        self._draft = Draft([node.name for node in graph.inputs])
        self._names: dict[Edge, str] = {}
        self._final: dict[str, str] = {}
        # Constants of a size that is left open: whoever uses one would hold it fast.
        self._unfit: dict[str, Node] = {}

    def written(self) -> Network:
        """Writes all nodes."""
        for node in self._symbol.graph.nodes:
            if node.is_variable:
                self._names[Edge(node, 0)] = node.name
                if node.name in self._params:
                    self._draft.constants[node.name] = self._params[node.name].asnumpy()
                continue
            if self._verbose:
                logging.info("export_model: %s", node.title)
            made = self._of_nothing(node) or translate(self._place(node))
            for index, name in enumerate(made):
                self._names[Edge(node, index)] = name
            self._call_by_node(node, made)
        return self._finished()

    def _call_by_node(self, node: Node, made: Sequence[str]) -> None:
        """Gives the value that a node's translation ends with the name of the node."""
        if len(made) == 1 and self._draft.steps and made[0] == self._draft.steps[-1].outputs[0]:
            self._final.setdefault(made[0], self._draft.name(node.name))

    def _of_nothing(self, node: Node) -> list[str]:
        """Returns the constant that a node without inputs makes; [] if it draws or has inputs."""
        call = node.call
        if node.inputs or not isinstance(call, OpCall) or call.takes_state:
            return []
        type_ = self._known.types[Edge(node, 0)]
        if call.name in _FILLED:
            array = np.full(type_.shape, _FILLED[call.name], type_.dtype)
        else:
            array = Symbol([Edge(node, 0)]).eval()[0].asnumpy()
        if None not in self._known.sizes(Edge(node, 0)):
            return [self._draft.constant(array)]
        name = self._draft.name(node.name)
        self._draft.constants[name] = array
        self._unfit[name] = node
        return [name]

    def _place(self, node: Node) -> Place:
        call, known = node.call, self._known
        if not isinstance(call, OpCall):
            what = "nothing" if call is None else call.name
            raise ExportError(
                f"export_model: node {node.title}: ONNX has no form of {what} (a loop, a branch or "
                "Python code); unroll it, or take another way out: hn.export (StableHLO)"
            )
        results = [Edge(node, index) for index in range(call.num_visible)]
        return Place(
            self._draft,
            node,
            call,
            [self._names.get(edge, "") for edge in node.inputs],
            [known.types[edge] for edge in node.inputs],
            [known.sizes(edge) for edge in node.inputs],
            [known.types[edge] for edge in results],
            [known.sizes(edge) for edge in results],
            lambda index: self._value_of(node.inputs[index]),
        )

    def _value_of(self, edge: Edge) -> NumpyArray | None:
        """Returns a value that depends on parameters alone; None for any other."""
        part = Symbol([edge])
        names = part.list_inputs()
        if any(name not in self._params for name in names):
            return None
        given: dict[str, Any] = {name: self._params[name] for name in names}
        array: NumpyArray = part.eval(**given)[0].asnumpy()
        return array

    def _finished(self) -> Network:
        names: list[str] = []
        values: list[Port] = []
        inputs = [
            Port(name, self._known.types[edge].dtype, self._known.sizes(edge))
            for name, edge in self._inputs()
        ]
        given = {value.name for value in inputs}
        for text, edge in zip(self._symbol.list_outputs(), self._symbol.edges, strict=True):
            name = self._names[edge]
            if name in names or name in given or name in self._draft.constants:
                name = self._draft.add(name, "Identity", [name], {})
            names.append(name)
            wanted = _output_name(text)
            taken = {*self._final.values(), *given, *self._draft.constants}
            if self._final.get(name) != wanted and wanted not in taken:
                self._final[name] = wanted
            values.append(
                Port(
                    self._final.get(name, name),
                    self._known.types[edge].dtype,
                    self._known.sizes(edge),
                )
            )
        used = self._draft.prune(names)
        for name in self._unfit.keys() & used:
            raise ExportError(
                f"export_model: node {self._unfit[name].title}: its size is left open, and it "
                "depends on no input in ONNX; use zeros_like or broadcast_like of an input, or "
                "export it with fixed sizes"
            )
        self._draft.rename(self._final)
        return Network(self._draft, inputs, values)

    def _inputs(self) -> list[tuple[str, Edge]]:
        by_name = {node.name: Edge(node, 0) for node in self._symbol.graph.inputs}
        return [(name, by_name[name]) for name in self._input_names]


def _output_name(text: str) -> str:
    """Returns what MXNet calls an output of a model, by what it calls that of a symbol."""
    for ending, number in (("_state_output", "1"), ("_statecell_output", "2"), ("_output", "")):
        if text.endswith(ending):
            return text.removesuffix(ending) + number
    stem, _, number = text.rpartition("_output")
    return stem + number if stem and number.isdigit() else text

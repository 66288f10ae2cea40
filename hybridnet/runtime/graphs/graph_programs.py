"""The calls with which a graph is run: one for each mode and each combination of input types.

They are made when they are needed, and kept. As programs are found by the identity of their calls,
a graph that is run again (a symbol that is bound twice, an executor that is reshaped back and
forth) must get the same calls. Graphs of one structure share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hybridnet.base import config
from hybridnet.graph import (
    STATE,
    Edge,
    Graph,
    Node,
    Prepared,
    prepare,
    settled,
    structure_of,
    with_open_scalars,
)
from hybridnet.ops.core import Averages, Types
from hybridnet.passes import on_devices

from .graph_call import GraphCall, shared_call


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """A call of a graph, with the meaning of its inputs and outputs.

    Attributes:
        call: the call. Its inputs are those of the graph, and then the random state if `draws`. Its
            outputs are the heads (the outputs of the graph), then the new values of the inputs in
            `writes`, then the statistics of `averages`, and in training the
            residuals.
        scalars: the numbers that it takes beside its inputs.
        num_heads: how many outputs the graph has.
        writes: the numbers of the inputs that are overwritten after the run.
        draws: whether it draws random numbers.
        averages: the running averages that the backward pass moves, latest first: held by inputs,
            the statistics in outputs.
        num_results: how many outputs there are before the residuals.
    """

    call: GraphCall
    scalars: tuple[float, ...]
    num_heads: int
    writes: tuple[int, ...]
    draws: bool
    averages: tuple[Averages, ...]
    num_results: int

    def backward(self) -> tuple[GraphCall, tuple[Any, ...]]:
        """Returns the gradient of a call made for training, and the numbers that it takes."""
        call = self.call.backward_call()
        numbers = dict(zip(self.call.hosts, self.scalars, strict=True))
        return call, tuple(numbers[host] for host in call.hosts)


class GraphPrograms:
    """The calls that were made of a graph, which itself says neither mode nor types.

    Args:
        graph: the graph.
        name: its name in messages.
        watched: further edges to compute, for a monitor; they come after the graph's outputs.
        devices: for each node the name of its device, if the nodes are on several.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        watched: Sequence[Edge] = (),
        devices: Mapping[Node, str] | None = None,
    ) -> None:
        self.num_outputs = len(graph.outputs)
        self._graph = replace(graph, outputs=(*graph.outputs, *watched))
        self._placed = devices is not None
        if devices is not None:
            self._graph = on_devices(self._graph, devices)
        self._name = name
        self._prepared: dict[bool, Prepared] = {}
        self._made: dict[tuple[Types, tuple[int, ...] | None, bool, bool], Run] = {}

    def inference(self, types: Types) -> Run:
        """Returns the run outside training, for inputs of these types.

        Raises:
            ShapeError, DTypeError: they do not fit; the message names the node.
        """
        return self._made.get((types, None, False, False)) or self._make(types, None, False)

    def training(self, types: Types, wanted: tuple[int, ...], train: bool = True) -> Run:
        """Returns the run whose call has a gradient.

        Args:
            types: the types of the inputs.
            wanted: the numbers of the inputs whose gradients will be asked for.
            train: whether operators behave as in training.

        Raises:
            ShapeError, DTypeError: they do not fit; the message names the node.
        """
        key = types, wanted, train, config.do_mirror()
        return self._made.get(key) or self._make(types, wanted, train)

    def _make(self, types: Types, wanted: tuple[int, ...] | None, train: bool) -> Run:
        graph = settled(self._graph, types)
        if graph is not self._graph:
            ready = prepare(graph, train, goes_back=True)
        elif train in self._prepared:
            ready = self._prepared[train]
        else:
            ready = self._prepared[train] = prepare(graph, train, goes_back=True)
        types_of_all = (*types, STATE) if ready.draws else types
        # What is written or watched is no visible output, so that it gets no gradient.
        if self._placed:  # graphs of one structure may be on different devices
            opened, scalars = with_open_scalars(ready.graph), structure_of(ready.graph)[1]
            call = GraphCall(opened, types_of_all, self._name, self.num_outputs)
        else:
            call, scalars = shared_call(ready.graph, types_of_all, self._name, self.num_outputs)
        if wanted is not None:
            numbers = dict(zip(call.hosts, scalars, strict=True))
            call = call.training(wanted)
            scalars = tuple(numbers[host] for host in call.hosts)
        averages = tuple(one for one, by in ready.averages if not by.isdisjoint(wanted or ()))
        count = len(ready.graph.outputs)
        run = Run(call, scalars, ready.num_heads, ready.writes, ready.draws, averages, count)
        mirrors = wanted is not None and config.do_mirror()
        return self._made.setdefault((types, wanted, train, mirrors), run)

"""The calls a graph is run with: made at need, one for each mode and types of its inputs, and kept.

Programs are found by the identity of their calls, so whoever runs a graph again (a symbol bound
twice, an executor reshaped back and forth) must get the same calls again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridnet.base.dtype import is_float
from hybridnet.graph.evaluate import infer_types
from hybridnet.graph.node import Edge, Graph
from hybridnet.graph.split import differentiate
from hybridnet.graph.transform import STATE, Prepared, prepare
from hybridnet.ops.call import Types

from .graph_call import GraphCall

__all__ = ["GraphPrograms", "Run"]


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """A call of a graph, and what its inputs and outputs are.

    Attributes:
        call: takes the graph's inputs, then the random state if `draws`; gives the heads, the
            values of the inputs in `writes`, and in training the residuals.
        num_heads: how many outputs the graph has.
        writes: the inputs, by number, that are overwritten after the run.
        draws: whether random numbers are drawn.
    """

    call: GraphCall
    num_heads: int
    writes: tuple[int, ...]
    draws: bool

    @property
    def num_results(self) -> int:
        """Heads and new values of inputs; what follows in the outputs are residuals."""
        return self.num_heads + len(self.writes)


class GraphPrograms:
    """A graph with open mode and side effects, and the calls made of it.

    Args:
        graph: what is run.
        name: for messages.
        watched: further edges to compute, for a monitor; they come after the graph's outputs.
    """

    def __init__(self, graph: Graph, name: str, watched: Sequence[Edge] = ()) -> None:
        self.num_outputs = len(graph.outputs)
        self._graph = Graph(graph.inputs, (*graph.outputs, *watched))
        self._name = name
        self._prepared: dict[bool, Prepared] = {}
        self._made: dict[tuple[Types, tuple[int, ...] | None], Run] = {}

    def inference(self, types: Types) -> Run:
        """Returns the run outside training, for inputs of these types.

        Raises:
            ShapeError, DTypeError: they do not fit; the message names the node.
        """
        key = (types, None)
        made = self._made.get(key)
        if made is None:
            ready = self._prepare(False)
            call = GraphCall(ready.graph, _with_state(types, ready), self._name, self.num_outputs)
            run = Run(call, ready.num_heads, ready.writes, ready.draws)
            made = self._made.setdefault(key, run)
        return made

    def training(self, types: Types, wanted: tuple[int, ...]) -> Run:
        """Returns the run in training, whose call has a `backward_call`.

        Args:
            types: of the inputs.
            wanted: the inputs whose gradients will be asked for, by number.

        Raises:
            ShapeError, DTypeError: they do not fit; the message names the node.
        """
        key = (types, wanted)
        made = self._made.get(key)
        if made is None:
            ready = self._prepare(True)
            input_types = _with_state(types, ready)
            known = infer_types(ready.graph, input_types)
            # The graph's own outputs alone have gradients, not what is written or watched.
            given = [
                index
                for index, edge in enumerate(ready.graph.outputs[: self.num_outputs])
                if is_float(known[edge.node][edge.index].dtype)
            ]
            split = differentiate(ready.graph, wanted, given, known)
            call = GraphCall(split.forward, input_types, self._name, self.num_outputs, split)
            run = Run(call, ready.num_heads, ready.writes, ready.draws)
            made = self._made.setdefault(key, run)
        return made

    def _prepare(self, train: bool) -> Prepared:
        made = self._prepared.get(train)
        return made or self._prepared.setdefault(train, prepare(self._graph, train))


def _with_state(types: Types, ready: Prepared) -> Types:
    return (*types, STATE) if ready.draws else types

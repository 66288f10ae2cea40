"""Lab 3: a device that runs node by node, and whose results lie where a plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.lazy import jax, jnp
from hybridnet.graph import Edge, Graph, Node, infer_types
from hybridnet.ops.core import Call, Types
from hybridnet.passes import DeviceCost, MemoryPlan, MemoryStep, memory_steps
from hybridnet.runtime.placing import Device

#: Of each byte of which nothing is known: of these, floating numbers are no numbers (NaN).
_NOTHING: Final = 0xFF


@final
class ArenaDevice(Device):
    """Computes a graph in one piece of memory, at the places of a plan, and nowhere else.

    A kernel begins to write before it has read everything: so the place of each result is spoiled
    before the node runs, unless the node may write over what it reads. A plan in which two results
    that are needed at the same time overlap gives wrong numbers.

    Args:
        index: which device of its type it is.
        plan: makes the plan of a graph whose types are known.

    Attributes:
        placed: how many results have been written to their places.
    """

    def __init__(self, index: int, plan: Callable[[Graph, Mapping[Node, Types]], MemoryPlan]):
        super().__init__("arena", index, memory=cpu(0))
        self.placed = 0
        self._plan = plan
        self._prepared: dict[Call, _PlannedRun] = {}
        self._kernels: dict[Call, Callable[..., Sequence[Any]]] = {}

    @property
    def cost(self) -> DeviceCost:
        """Nothing is placed on it by cost."""
        return DeviceCost()

    def supports(self, call: Call) -> bool:
        """It has all operators: XLA makes a kernel of each."""
        return True

    def receive(self, array: Any) -> Any:
        """Returns a copy."""
        return jnp.array(array)

    def run(self, code: Any, inputs: list[Any], scalars: list[float]) -> Sequence[Any]:
        """Runs graphs in the arena, and single operators outside of it."""
        results: list[Any] = []
        numbers = iter(scalars)
        for call, operands in code.instructions:
            arrays = [results[i] if i >= 0 else inputs[~i] for i in operands]
            own = [np.float64(next(numbers)) for _ in range(call.num_scalars)]
            run = self._compute if getattr(call, "graph", None) is None else self._run_graph
            results += run(call, arrays, own)
        return [jnp.asarray(results[i]) for i in code.outputs]

    def _compute(self, call: Call, arrays: Sequence[Any], numbers: Sequence[Any]) -> Sequence[Any]:
        kernel = self._kernels.get(call)
        if kernel is None:
            kernel = jax.jit(lambda arrays, numbers: call.lower("cpu", arrays, numbers))
            self._kernels[call] = kernel
        return kernel(list(arrays), list(numbers))

    def _run_graph(self, call: Any, arrays: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
        prepared = self._prepared.get(call)
        if prepared is None:
            types = infer_types(call.graph, call.input_types)
            plan = self._plan(call.graph, types)
            prepared = self._prepared[call] = _PlannedRun(call.graph, types, plan)
        given = dict(zip(call.hosts, numbers, strict=True))
        held: dict[Edge, Any] = {
            Edge(node, 0): array for node, array in zip(call.graph.inputs, arrays, strict=True)
        }
        places = prepared.places()
        for node, spoiled in prepared.nodes:
            assert node.call is not None
            for edge in spoiled:
                places[edge].view(np.uint8)[...] = _NOTHING
            own = [np.float64(given.get(number, number)) for number in node.scalars]
            made = self._compute(node.call, [held[edge] for edge in node.inputs], own)
            for index, value in enumerate(made):
                edge = Edge(node, index)
                held[edge] = places.get(edge)
                if held[edge] is None:
                    held[edge] = np.array(value)  # which might be a part of the arena
                else:
                    held[edge][...] = np.asarray(value)
                    self.placed += 1
        return [held[edge] for edge in call.graph.outputs]


class _PlannedRun:
    """The facts that are known of a graph before it runs.

    Attributes:
        nodes: those that compute, and for each the results whose places are spoiled before.
    """

    def __init__(self, graph: Graph, types: Mapping[Node, Types], plan: MemoryPlan) -> None:
        self._plan = plan
        self._types = {edge: types[edge.node][edge.index] for edge in plan.place}
        nodes = [node for node in graph.nodes if node.call is not None]
        steps = memory_steps(graph, types)
        self.nodes = [(node, self._spoiled(step)) for node, step in zip(nodes, steps, strict=True)]

    def _spoiled(self, step: MemoryStep) -> list[Edge]:
        place: Mapping[Any, int] = self._plan.place
        over = {new for old, new in step.over if place[old] == place[new]}
        made: Iterable[Any] = step.makes
        return [edge for edge in made if edge not in over]

    def places(self) -> dict[Edge, NumpyArray]:
        """Returns new memory: for each result the array at its place."""
        memory = np.full(self._plan.num_bytes, _NOTHING, np.uint8)
        return {
            edge: memory[at : at + kind.nbytes].view(kind.dtype).reshape(kind.shape)
            for edge, kind in self._types.items()
            for at in (self._plan.place[edge],)
        }

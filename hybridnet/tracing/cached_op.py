"""`CachedOp`: a symbol as a function of arrays, run as one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from hybridnet import tape
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import Edge, Graph, has_open_shapes, settled, topological
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import OpCall

from .traced import Function


@final
class CachedOp:
    """A symbol as a function of arrays; gradients flow through it.

    Args:
        sym: the symbol.
        flags: nothing; MXNet's say how its programs are run (``static_alloc`` and the like).
        thread_safe: nothing: it can be called by several threads.
    """

    def __init__(self, sym: Any, flags: object = (), thread_safe: bool = False) -> None:
        self._names: list[str] = sym.list_inputs()
        self._edges: Sequence[Edge] = tuple(sym.edges)
        self._function = Function(self._run, "CachedOp", autograph=False)

    def _run(self, *arrays: NDArray) -> Any:
        return run_graph(self._edges, dict(zip(self._names, arrays, strict=True)))

    def __call__(self, *args: Any, out: object = None, default_ctx: object = None) -> Any:
        """Computes the outputs: one array, or a list of several.

        Args:
            args: the values of the symbol's variables, in the order of its `list_inputs`; those of
                auxiliary states are changed in a training pass.
            out: an array, or several, to write them into.
            default_ctx: nothing; it runs where its arrays are.

        Raises:
            ParameterError: there are more variables, or fewer.
        """
        if len(args) != len(self._names):
            raise ParameterError(
                f"CachedOp: needs {len(self._names)} arrays ({', '.join(self._names)}), "
                f"got {len(args)}"
            )
        made = self._function(*args)
        if out is None:
            return made[0] if len(made) == 1 else list(made)
        for target, source in zip(_as_list(out), made, strict=True):
            source.copyto(target)
        return out


def _as_list(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else [value]


def run_graph(edges: Sequence[Edge], values: Mapping[str, NDArray]) -> list[NDArray]:
    """Applies a graph's calls to arrays one by one: eagerly, or into the trace at hand.

    Args:
        edges: the outputs wanted.
        values: of the variables, by name.
    """
    training = tape.state.training
    made: dict[Edge, NDArray] = {}
    nodes = topological(edges)
    if has_open_shapes(nodes):
        inputs = tuple(node for node in nodes if node.is_variable)
        types = [(values[node.name].shape, values[node.name].inferred_dtype) for node in inputs]
        graph = settled(Graph(inputs, tuple(edges)), tuple(tensor_type(*one) for one in types))
        nodes, edges = list(graph.nodes), graph.outputs
    for node in nodes:
        if node.call is None:
            made[Edge(node, 0)] = values[node.name]
            continue
        call = node.call
        if isinstance(call, OpCall):
            call = call.with_train(training)
        outputs = NDArray.apply_call(call, [made[edge] for edge in node.inputs], node.scalars)
        made.update((Edge(node, index), output) for index, output in enumerate(outputs))
    return [made[edge] for edge in edges]

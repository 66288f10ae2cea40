"""`SymbolBlock`: a block made from a symbol, such as a network that MXNet saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridnet import autograd, symbol
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.graph.node import Edge, topological
from hybridnet.ndarray import NDArray
from hybridnet.ops.operator import OpCall

from .block import HybridBlock
from .parameter import ParameterDict

__all__ = ["SymbolBlock"]


class SymbolBlock(HybridBlock):
    """A block made from a symbol.

    Args:
        outputs: a symbol, or several.
        inputs: the variables that calls give values for.
        params: values for others; the rest become parameters to be initialised.
    """

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None) -> None:
        super().__init__(prefix="", params=params)
        self._whole = symbol.Group(list(outputs)) if isinstance(outputs, (list, tuple)) else outputs
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        self._names = [one.name for one in given]
        aux = set(self._whole.list_auxiliary_states())
        for name in self._whole.list_inputs():
            if name not in self._names:
                self._own[name] = self.params.get(
                    name,
                    grad_req="null" if name in aux else "write",
                    allow_deferred_init=True,
                    differentiable=name not in aux,
                )

    @staticmethod
    def imports(
        symbol_file: Any,
        input_names: str | Sequence[str],
        param_file: Any = None,
        ctx: Context | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """Loads what `HybridBlock.export`, or MXNet, has written.

        Args:
            symbol_file: the ``-symbol.json`` file.
            input_names: the variables that calls give values for.
            param_file: the ``.params`` file; without one, initialise the block.
            ctx: where the parameters go.
            allow_missing, ignore_extra: whether parameters and arrays may differ by names.
        """
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(symbol.load(symbol_file), [symbol.var(name) for name in names])
        if param_file is not None:
            block.collect_params().load(
                param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved"
            )
        return block

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Composes the symbol with others, or runs it on arrays."""
        given = (x, *args)
        if len(given) != len(self._names):
            raise ParameterError(
                f"SymbolBlock: needs {len(self._names)} inputs ({', '.join(self._names)}), "
                f"got {len(given)}"
            )
        values = {**dict(zip(self._names, given, strict=True)), **kwargs}
        if F is symbol:
            return self._whole(**values)
        outputs = _run(self._whole.edges, values)
        return outputs[0] if len(outputs) == 1 else outputs


def _run(edges: Sequence[Edge], values: Mapping[str, NDArray]) -> list[NDArray]:
    """Applies a graph's calls to arrays one by one: eagerly, or into the trace at hand."""
    training = autograd.is_training()
    made: dict[Edge, NDArray] = {}
    for node in topological(edges):
        if node.call is None:
            made[Edge(node, 0)] = values[node.name]
            continue
        call = node.call
        if isinstance(call, OpCall):
            call = call.with_train(training)
        outputs = NDArray.apply_call(call, [made[edge] for edge in node.inputs], node.scalars)
        made.update((Edge(node, index), one) for index, one in enumerate(outputs))
    return [made[edge] for edge in edges]

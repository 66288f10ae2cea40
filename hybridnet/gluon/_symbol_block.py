"""`SymbolBlock`: a block made from a symbol, such as a network that MXNet saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet import symbol
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.graph.node import topological
from hybridnet.ops.core.operator import OpCall
from hybridnet.tracing import run_graph

from ._hybrid_block import HybridBlock
from ._parameter_dict import ParameterDict

__all__ = ["SymbolBlock"]

#: Operators whose parameters stay in float32 when their data are in half precision.
_WIDE: Final = frozenset({"BatchNorm"})


class SymbolBlock(HybridBlock):
    """A block made from a symbol.

    Args:
        outputs: a symbol, or several.
        inputs: the variables that calls give values for, one or several.
        params: parameters to share for the symbol's other variables; new ones are made for the
            rest, to be initialized.

    Raises:
        ParameterError: an input is not a variable.
    """

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None) -> None:
        super().__init__()
        self._prefix = ""
        self._params = ParameterDict("", params)
        self._whole = symbol.Group(list(outputs)) if isinstance(outputs, (list, tuple)) else outputs
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        for variable in given:
            if len(variable) != 1 or not variable.edges[0].node.is_variable:
                raise ParameterError(f"SymbolBlock: inputs must be variables, got {variable!r}")
        self._input_names = [variable.name for variable in given]
        aux = set(self._whole.list_auxiliary_states())
        attributes = self._whole.attr_dict()
        for name in self._whole.list_inputs():
            if name not in self._input_names:
                self._own[name] = self.params.get(
                    name,
                    grad_req="null" if name in aux else "write",
                    init=attributes.get(name, {}).get("__init__"),
                    allow_deferred_init=True,
                    differentiable=name not in aux,
                )

    @staticmethod
    def imports(
        symbol_file: Any,
        input_names: str | Sequence[str],
        param_file: Any = None,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """Loads what `HybridBlock.export`, `model.save_checkpoint` or MXNet has written.

        Args:
            symbol_file: the ``-symbol.json`` file.
            input_names: the variables that calls give values for.
            param_file: the ``.params`` file; without one, initialize the block.
            ctx: where the parameters go; default the current context.
            allow_missing, ignore_extra: whether parameters and arrays may differ by names.

        Raises:
            FormatError: a file is damaged.
            ParameterError, ShapeError: the files do not fit together.
            OSError: one cannot be read.
        """
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(symbol.load(symbol_file), [symbol.var(name) for name in names])
        if param_file is not None:
            block.collect_params().load(
                param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved"
            )
        return block

    def cast(self, dtype: Any) -> None:
        """Changes the element type of the parameters; batch norms' stay at 32 bits or more."""
        super().cast(dtype)
        if np.dtype(dtype).itemsize >= 4:
            return
        for node in topological(self._whole.edges):
            if isinstance(node.call, OpCall) and node.call.operator.name in _WIDE:
                for edge in node.inputs[1:]:
                    self.params[edge.node.name].cast("float32")

    def forward(self, x: Any, *args: Any) -> Any:
        """Composes the symbol with others, or runs it on arrays."""
        given = (x, *args)
        if len(given) != len(self._input_names):
            raise ParameterError(
                f"SymbolBlock: needs {len(self._input_names)} inputs "
                f"({', '.join(self._input_names)}), got {len(given)}"
            )
        return super().forward(x, *args)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Composes the symbol with others, or applies its operators to arrays."""
        values = {**dict(zip(self._input_names, (x, *args), strict=True)), **kwargs}
        if F is symbol:
            return self._whole(**values)
        outputs = run_graph(self._whole.edges, values)
        return outputs[0] if len(outputs) == 1 else outputs

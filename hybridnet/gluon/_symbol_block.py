"""`SymbolBlock`: a block made from a symbol, such as a network that MXNet saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet import symbol
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.dtype import DTYPE_OF_CODE
from hybridnet.base.errors import ParameterError, RefusedError
from hybridnet.base.remote import PathLike
from hybridnet.graph import topological
from hybridnet.ops.core import OpCall
from hybridnet.symbol import Symbol
from hybridnet.tracing import run_graph

from ._hybrid_block import HybridBlock
from ._nesting import Form, flatten, regroup
from ._parameter_dict import ParameterDict
from .types import Data, Operators

#: Operators whose parameters stay in float32 when their data are in half precision.
_FLOAT32_OPERATORS: Final = frozenset({"BatchNorm"})


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

    _in_format: Form = 0
    _out_format: Form = 0

    def __init__(
        self,
        outputs: Symbol | list[Symbol] | tuple[Symbol, ...],
        inputs: Symbol | list[Symbol] | tuple[Symbol, ...],
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__()
        self._prefix = ""
        self._params = ParameterDict("", params)
        self._whole = symbol.Group(list(outputs)) if isinstance(outputs, (list, tuple)) else outputs
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        for variable in given:
            if len(variable) != 1 or not variable.edges[0].node.is_variable:
                raise ParameterError(f"SymbolBlock: inputs must be variables, got {variable!r}")
        self._input_names = [str(variable.name) for variable in given]
        # How calls nest their inputs and get their outputs, which programs may set: a file of a
        # symbol does not say.
        self._in_format = flatten(given, "input")[1]
        single = outputs[0] if isinstance(outputs, (list, tuple)) and len(outputs) == 1 else outputs
        self._out_format = flatten(single, "output")[1]
        aux = set(self._whole.list_auxiliary_states())
        attributes = self._whole.attr_dict()
        names = [name for name in self._whole.list_inputs() if name not in self._input_names]
        dtypes = _dtypes(self._whole, given)
        # Places in files must not hang on the names that automatic prefixes gave.
        self._shared_prefix = _shared_prefix(names)
        for name in names:
            known = attributes.get(name, {})
            if known.get("__storage_type__", "0") not in ("0", "-1"):
                raise RefusedError(
                    f"SymbolBlock: parameters must be dense, but the variable {name!r} is sparse; "
                    "bind the symbol, or use Parameter.row_sparse_data in a Block"
                )
            self._reg_params[name[len(self._shared_prefix) :]] = self.params.get(
                name,
                grad_req="null" if name in aux else "write",
                init=known.get("__init__"),
                allow_deferred_init=True,
                differentiable=name not in aux,
                **({"dtype": dtypes[name]} if name in dtypes else {}),
            )

    @staticmethod
    def imports(
        symbol_file: PathLike,
        input_names: str | Sequence[str],
        param_file: PathLike | None = None,
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

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Moves the parameters to other contexts."""
        self.collect_params().reset_ctx(ctx)

    def __repr__(self) -> str:
        counts = f"{len(self._input_names)} -> {len(self._whole)}"
        return f"{type(self).__name__}(\n  {self._whole!r} : {counts}\n)"

    def cast(self, dtype: DTypeLike) -> None:
        """Changes the element type of the parameters; batch norms' stay at 32 bits or more."""
        super().cast(dtype)
        if np.dtype(dtype).itemsize >= 4:
            return
        for node in topological(self._whole.edges):
            if isinstance(node.call, OpCall) and node.call.operator.name in _FLOAT32_OPERATORS:
                for edge in node.inputs[1:]:
                    self.params[edge.node.name].cast("float32")

    def forward(self, x: Any, *args: Any) -> Any:
        """Composes the symbol with others, or runs it on arrays."""
        leaves, form = flatten([x, *args], "input")
        given = [leaf for leaf in leaves if leaf is not None]
        if len(given) != len(self._input_names):
            raise ParameterError(
                f"SymbolBlock: needs {len(self._input_names)} inputs "
                f"({', '.join(self._input_names)}), got {len(given)}"
            )
        if form != self._in_format:
            raise ParameterError(
                f"SymbolBlock: inputs must be nested as {self._in_format} says (0 for an array, "
                f"-1 for None, a list for a list), got {form}"
            )
        return super().forward(*given)

    def hybrid_forward(self, F: Operators[Data], x: Any, *args: Any, **kwargs: Any) -> Any:
        """Composes the symbol with others, or applies its operators to arrays."""
        values = {self._shared_prefix + name: value for name, value in kwargs.items()}
        values.update(zip(self._input_names, (x, *args), strict=True))
        nested = isinstance(self._out_format, list)
        if F is symbol:
            whole = self._whole(**values)
            return regroup(list(whole), self._out_format) if nested else whole
        outputs = run_graph(self._whole.edges, values)
        if nested:
            return regroup(outputs, self._out_format)
        return outputs[0] if len(outputs) == 1 else outputs


def _dtypes(whole: Symbol, inputs: Sequence[Symbol]) -> dict[str, Any]:
    """Returns the dtypes that variables must have for what the inputs say about theirs."""
    codes = {str(variable.name): variable.attr("__dtype__") for variable in inputs}
    given = {name: DTYPE_OF_CODE[int(code)] for name, code in codes.items() if code is not None}
    arguments, _, states = whole.infer_type_partial(**given) if given else (None, None, None)
    found = dict(zip(whole.list_arguments(), arguments or (), strict=False))
    found.update(zip(whole.list_auxiliary_states(), states or (), strict=False))
    return {name: dtype for name, dtype in found.items() if dtype is not None}


def _shared_prefix(names: Sequence[str]) -> str:
    """Returns what all names begin with, up to an underscore."""
    first, last = (min(names), max(names)) if len(names) > 1 else ("", "")
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return first[: first.rfind("_", 0, same) + 1]

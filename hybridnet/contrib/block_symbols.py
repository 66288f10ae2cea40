"""Trained blocks as symbols and arrays, and back: for what changes the graph in between."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybridnet import symbol
from hybridnet.base.context import Context, cpu
from hybridnet.gluon import HybridBlock, SymbolBlock
from hybridnet.ndarray import NDArray
from hybridnet.ndarray import load as load_arrays
from hybridnet.symbol import Symbol

__all__ = ["as_block", "as_symbol"]


def as_symbol(block: HybridBlock) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Returns a block that has been called as a symbol, its parameters, and its states."""
    with tempfile.TemporaryDirectory() as folder:
        graph_file, params_file = block.export(str(Path(folder) / "block"))
        sym, arrays = symbol.load(graph_file), load_arrays(params_file)
    assert isinstance(arrays, dict)
    kinds: dict[str, dict[str, NDArray]] = {"arg": {}, "aux": {}}
    for name, array in arrays.items():
        kind, _, rest = name.partition(":")
        kinds[kind][rest] = array
    return sym, kinds["arg"], kinds["aux"]


def as_block(
    sym: Symbol,
    data_names: Sequence[str],
    arrays: Mapping[str, NDArray],
    ctx: Context | Sequence[Context] | None,
) -> SymbolBlock:
    """Returns a symbol as a block whose parameters and states have these values and dtypes."""
    block = SymbolBlock(sym, [symbol.var(name) for name in data_names])
    for name, array in arrays.items():
        param = block.collect_params()[name]
        param.cast(array.dtype)
        param.shape = array.shape
        param.initialize("zeros", ctx=ctx or cpu())
        param.set_data(array)
    return block

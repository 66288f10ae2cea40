"""Checkpoints of symbols with recurrent cells, whose files hold one array for each gate.

So what was trained with a `FusedRNNCell` can be loaded for cells that take single steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from hybridnet import model
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from .base import Arrays, BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]

Cells = BaseRNNCell | Sequence[BaseRNNCell]


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Any = None,
    begin_state: list[Symbol] | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, Any]:
    """Takes all steps of a sequence; `BaseRNNCell.unroll` is the same, and newer.

    Args:
        cell: the cell.
        length, inputs, begin_state, layout: as for `BaseRNNCell.unroll`.
        input_prefix: without meaning.
    """
    warnings.warn("rnn_unroll is deprecated; call cell.unroll", DeprecationWarning, stacklevel=2)
    return cell.unroll(length, inputs, begin_state, layout)


def _all(cells: Cells) -> Sequence[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def save_rnn_checkpoint(
    cells: Cells, prefix: str, epoch: int, symbol: Symbol, arg_params: Arrays, aux_params: Arrays
) -> None:
    """Saves ``prefix-symbol.json`` and ``prefix-0005.params``, with one array for each gate.

    Args:
        cells: the cells of the symbol.
        prefix: the beginning of both names.
        epoch: the number in the second.
        symbol: the network.
        arg_params, aux_params: weights and auxiliary states by name.
    """
    arrays = dict(arg_params)
    for cell in _all(cells):
        arrays = cell.unpack_weights(arrays)
    model.save_checkpoint(prefix, epoch, symbol, arrays, aux_params)


def load_rnn_checkpoint(
    cells: Cells, prefix: str, epoch: int
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Loads what `save_rnn_checkpoint` has saved; returns symbol, weights and auxiliary states.

    Args:
        cells: the cells of the symbol that the weights are for.
        prefix: the beginning of both names.
        epoch: the number in the second.
    """
    symbol, arrays, states = model.load_checkpoint(prefix, epoch)
    for cell in _all(cells):
        arrays = cell.pack_weights(arrays)
    return symbol, arrays, states


def do_rnn_checkpoint(cells: Cells, prefix: str, period: int = 1) -> Callable[..., None]:
    """Returns a function for ``epoch_end_callback`` of `fit` that saves a checkpoint.

    Args:
        cells: the cells of the symbol.
        prefix: the beginning of the names.
        period: save every so many epochs.
    """
    period = int(max(1, period))

    def save(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return save

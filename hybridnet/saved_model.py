"""A symbol with its parameters in the two files MXNet writes; users find this in `model`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from hybridnet import ndarray, symbol
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.ndarray import NDArray

__all__ = ["by_kind", "load_checkpoint", "load_params", "save_checkpoint"]


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Any,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Saves ``prefix-symbol.json`` and ``prefix-0005.params``; MXNet 1.9.1 reads both.

    Args:
        prefix: the beginning of both names.
        epoch: the number in the second.
        symbol: the network; None saves the arrays only.
        arg_params: weights by name.
        aux_params: auxiliary states by name.
        remove_amp_cast: as in `Symbol.save`.

    Raises:
        ParameterError: a value is no array; then nothing is written.
        OSError: a file cannot be written.
    """
    arrays = {f"arg:{name}": array for name, array in arg_params.items()}
    arrays.update({f"aux:{name}": array for name, array in aux_params.items()})
    for name, array in arrays.items():
        if not isinstance(array, NDArray):
            raise ParameterError(
                f"save_checkpoint: {name!r} must be an NDArray, got {type(array).__name__}"
            )
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast)
    name = f"{prefix}-{epoch:04d}.params"
    ndarray.save(name, arrays)
    logging.info('Saved checkpoint to "%s"', name)


def load_params(prefix: str, epoch: int) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Loads the arrays of a checkpoint: weights, and auxiliary states, by name.

    Raises:
        FormatError: the file is damaged, or no checkpoint.
        OSError: it cannot be read.
    """
    name = f"{prefix}-{epoch:04d}.params"
    loaded = ndarray.load(name)
    if not loaded:
        return {}, {}  # a file of no arrays has no names either
    if not isinstance(loaded, dict):
        raise FormatError(f"{name}: holds arrays without names, so no checkpoint")
    return by_kind(name, loaded)


def by_kind(
    name: str, arrays: Mapping[str, NDArray]
) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Returns the arrays of a checkpoint by their own names: weights, and auxiliary states.

    Args:
        name: of the file, for messages.
        arrays: what it holds, under names like 'arg:fc1_weight'.

    Raises:
        FormatError: a name is not of that form.
    """
    found: dict[str, dict[str, NDArray]] = {"arg": {}, "aux": {}}
    for key, array in arrays.items():
        kind, _, rest = key.partition(":")
        if kind not in found or not rest:
            raise FormatError(f"{name}: names must be like 'arg:fc1_weight', got {key!r}")
        found[kind][rest] = array
    return found["arg"], found["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Any, dict[str, NDArray], dict[str, NDArray]]:
    """Loads a checkpoint: the symbol, weights, and auxiliary states.

    Raises:
        FormatError: a file is damaged, or no checkpoint.
        OSError: one cannot be read.
    """
    return (symbol.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch))

"""Saving and loading arrays in MXNet's `.params` format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context, current_context
from hybridnet.base.errors import ParameterError
from hybridnet.base.params_file import Saved, load_params, save_params
from hybridnet.base.sparse_parts import SparseParts

from .copies import put
from .ndarray import NDArray
from .storage_types import STORAGE_TYPES

__all__ = ["load", "load_frombuffer", "save"]

PathLike = str | os.PathLike[str]


def save(fname: PathLike, data: NDArray | Sequence[NDArray] | Mapping[str, NDArray]) -> None:
    """Saves one array, a list, or a dict of arrays; MXNet 1.9.1 reads the file.

    The file appears whole or not at all.

    Raises:
        ParameterError: something in `data` is no NDArray.
        OSError: the file cannot be written.
    """
    if isinstance(data, NDArray):
        data = [data]
    arrays: Sequence[Saved] | Mapping[str, Saved]
    if isinstance(data, Mapping):
        _check_arrays(data.items())
        arrays = {name: _on_host(array) for name, array in data.items()}
    else:
        data = list(data)
        _check_arrays(enumerate(data))
        arrays = [_on_host(array) for array in data]
    save_params(fname, arrays)


def load(fname: PathLike) -> Any:
    """Loads what `save`, or any MXNet since 0.8, has written: a list or a dict of arrays.

    Raises:
        FormatError: the file is no such file, truncated or corrupt.
        OSError: it cannot be read.
    """
    return _restore(load_params(fname))


def load_frombuffer(buf: bytes) -> list[NDArray] | dict[str, NDArray]:
    """Loads arrays from the bytes of such a file."""
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ParameterError(f"load_frombuffer: needs bytes, got {type(buf).__name__}")
    return _restore(load_params(bytes(buf)))


def _restore(loaded: list[Saved] | dict[str, Saved]) -> list[NDArray] | dict[str, NDArray]:
    ctx = current_context()
    if isinstance(loaded, dict):
        return {name: _on_device(array, ctx) for name, array in loaded.items()}
    return [_on_device(array, ctx) for array in loaded]


def _on_host(array: NDArray) -> NumpyArray | SparseParts:
    if array.stype == "default":
        return array.asnumpy()
    return STORAGE_TYPES[array.stype].to_parts(array)


def _on_device(loaded: Saved, ctx: Context) -> NDArray:
    if isinstance(loaded, SparseParts):
        made: NDArray = STORAGE_TYPES[loaded.stype].from_parts(loaded, ctx)
        return made
    return NDArray.from_value(put(loaded, ctx), ctx)


def _check_arrays(items: Iterable[tuple[object, object]]) -> None:
    for key, value in items:
        if not isinstance(value, NDArray):
            raise ParameterError(
                f"nd.save: every value must be an NDArray, got {type(value).__name__} for {key!r}"
            )

"""Saving and loading np arrays, counting GPUs, and checking values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from hybridnet import ndarray as nd
from hybridnet.base.errors import ValuesNeededError
from hybridnet.ndarray import NDArray
from hybridnet.runtime.contexts import num_devices
from hybridnet.runtime.recording import recorder

__all__ = ["constraint_check", "load", "num_gpus", "save"]


def num_gpus() -> int:
    """Returns how many GPUs this process can use."""
    return num_devices("gpu")


def save(file: str | os.PathLike[str], arr: Any) -> None:
    """Writes arrays to a file in MXNet's format.

    Args:
        file: its name.
        arr: an array, a list of arrays, or a dict of them.
    """
    if isinstance(arr, NDArray):
        plain: Any = [arr.as_nd_ndarray()]
    elif isinstance(arr, Mapping):
        plain = {key: value.as_nd_ndarray() for key, value in arr.items()}
    else:
        plain = [value.as_nd_ndarray() for value in arr]
    nd.save(file, plain)


def load(file: str | os.PathLike[str]) -> Any:
    """Reads arrays from a file in MXNet's format: a list, or a dict where they have names."""
    found = nd.load(file)
    if isinstance(found, Mapping):
        return {key: value.as_np_ndarray() for key, value in found.items()}
    return [value.as_np_ndarray() for value in found]


def constraint_check(input: Any, msg: str = "Constraint violated.") -> Any:
    """Returns True, as a bool array, if no element is 0; this waits for the values.

    Raises:
        ValueError: some element is 0; the message is `msg`.
        ValuesNeededError: this is a symbol, or inside a traced function.
    """
    if not isinstance(input, NDArray) or recorder.current_trace() is not None:
        raise ValuesNeededError(
            "npx.constraint_check: reads values, which a graph does not have; call it on arrays "
            "outside"
        )
    whole = input.as_np_ndarray().all()  # type: ignore[attr-defined]
    if not bool(whole):
        raise ValueError(msg)
    return whole

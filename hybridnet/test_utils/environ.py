"""Environment variables and devices during a test."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from hybridnet import engine
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import waitall
from hybridnet.runtime.contexts import num_devices

__all__ = ["EnvManager", "environment", "list_gpus"]


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """A scope with other environment variables.

    Args:
        args: a name and a value, or a dict of them; None for a value removes the variable.
    """
    if len(args) == 1 and isinstance(args[0], Mapping):
        wanted: dict[str, str | None] = dict(args[0])
    elif len(args) == 2:
        wanted = {args[0]: args[1]}
    else:
        raise ParameterError(f"environment: requires a name and a value, or a dict, got {args}")
    before = {name: os.environ.get(name) for name in wanted}
    _set(wanted)
    try:
        yield
    finally:
        waitall()  # what was recorded inside may still read them, and what is compiled of it
        engine.wait_for_all()
        _set(before)


def EnvManager(key: str, val: str | None) -> AbstractContextManager[None]:
    """Is ``environment(key, val)``, by the name it had before MXNet 1.7."""
    return environment(key, val)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def list_gpus() -> range:
    """Returns the numbers of the GPUs that can be used."""
    return range(num_devices("gpu"))

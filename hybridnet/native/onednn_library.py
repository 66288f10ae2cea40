"""oneDNN's library: where it is installed, and how it is loaded into this process."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from hybridnet.base.lazy import metadata
from hybridnet.base.processor import environment, num_threads

#: The package that holds the library.
DISTRIBUTION: Final = "onednn-cpu-gomp"
# How often a thread of OpenMP looks whether the others are done before it sleeps: some 20 us.
_SPIN_COUNT: Final = "1000"

_log: Final = logging.getLogger("hybridnet.native")


def file_of(distribution: str, name: str) -> Path:
    """Returns a file of an installed package.

    Raises:
        FileNotFoundError: there is none of this name.
        PackageNotFoundError: the package is not installed.
    """
    for file in metadata.files(distribution) or ():
        if file.name == name:
            found = Path(str(file.locate())).resolve()
            if found.exists():
                return found
    raise FileNotFoundError(name)


@cache
def find() -> Path | None:
    """Returns the library's file; None where it is not installed."""
    try:
        return file_of(DISTRIBUTION, "libdnnl.so.3")
    except (metadata.PackageNotFoundError, FileNotFoundError):
        return None


def load() -> ctypes.CDLL | None:
    """Loads the library; None where it is not installed, or cannot be loaded."""
    file = find()
    if file is None:
        return None
    try:
        with settings():
            return ctypes.CDLL(str(file))
    except OSError as error:
        _log.warning("oneDNN is installed but cannot be loaded: %s", error)
        return None


@contextlib.contextmanager
def settings() -> Iterator[None]:
    """Sets what OpenMP reads from the environment as it is loaded.

    By itself it has a thread that waits for the others spin for milliseconds, which takes the
    processor from those that it waits for wherever the machine has other work, too: a step of
    LeNet beside two busy processes takes 70 ms then, and 25 so. Alone it is no slower.
    """
    wanted = {"OMP_NUM_THREADS": str(num_threads())}
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        wanted["GOMP_SPINCOUNT"] = _SPIN_COUNT
    with environment(**wanted):
        yield

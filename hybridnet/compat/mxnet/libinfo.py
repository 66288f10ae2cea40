"""`mxnet.libinfo`: MXNet's version, and that there is no C library."""

from __future__ import annotations

from typing import Final, NoReturn

from hybridnet.base.unsupported import NotSupportedError

__all__ = ["__version__", "find_include_path", "find_lib_path"]

#: The version of MXNet whose names and behaviour hybridnet has.
__version__: Final = "1.9.1"


def find_lib_path(prefix: str = "libmxnet") -> NoReturn:
    """Raises: there is no library of MXNet's to link with.

    Raises:
        NotSupportedError: always.
    """
    raise _none("find_lib_path")


def find_include_path() -> NoReturn:
    """Raises: there are no C headers of MXNet's.

    Raises:
        NotSupportedError: always.
    """
    raise _none("find_include_path")


def _none(name: str) -> NotSupportedError:
    return NotSupportedError(
        f"libinfo.{name}: hybridnet is Python on JAX and has no C library; add operators as "
        "docs/extending.md says"
    )

"""Addresses such as ``s3://bucket/train.rec``: the file systems that know them, and their errors.

The package fsspec, an extra, knows ``http://``, ``s3://``, ``hdfs://``, ``memory://`` and more;
some of them need a package of their own, and then fsspec's error says which.

What goes wrong there is an OSError here, as it is with files of this machine: the libraries raise
what they like, botocore's and aiohttp's own classes among it, and at times without a word.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from typing import Any, Final

from .errors import MissingFileError, MXNetError, ParameterError
from .lazy import fsspec

#: A scheme has two letters or more: one is a drive of Windows.
_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: What the places are called that a scheme's addresses begin with.
_PLACES: Final = {"s3": "bucket", "s3a": "bucket", "gs": "bucket", "gcs": "bucket"}
#: Answers of HTTP that say who may read, and that there is nothing.
_REFUSED: Final = (401, 403, 407)
_MISSING: Final = (404, 410)
#: Errors of botocore and aiohttp that are no OSErrors, by the names of their classes.
_NO_LEAVE: Final = re.compile(r"NoCredentials|PartialCredentials|Credential|NoAuth|TokenRetrieval")
_NO_SERVER: Final = re.compile(r"Connect|ConnectionClosed|ServerDisconnected|DNS|Proxy")
_NETWORK_ERRORS: Final = (
    FileExistsError, IsADirectoryError, NotADirectoryError, TimeoutError, ConnectionError,
)  # fmt: skip


def is_remote(path: object) -> bool:
    """Whether it is an address with a scheme, and not a path."""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def system_of(address: str) -> tuple[Any, str]:
    """Returns the file system of an address, and the file's name there.

    It keeps no listings: what another process has written since is seen.

    Raises:
        ParameterError: nobody knows the address's scheme.
        ModuleNotFoundError: fsspec, or the package for this scheme, is missing.
        OSError: the file system cannot be reached.
    """
    scheme = address.partition("://")[0]
    try:
        with faults(address):
            system, name = fsspec.core.url_to_fs(address, use_listings_cache=False)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "fsspec":
            raise
        extra = " (pip install 'hybridnet[remote]')" if scheme in ("http", "https", "s3") else ""
        raise ModuleNotFoundError(
            f"{address}: files at {scheme}:// need one more package{extra}: {error}",
            name=error.name,
        ) from error
    except ValueError as error:
        raise ParameterError(
            f"{address!r}: must be a path, or an address that fsspec knows (http, s3, hdfs, "
            f"memory, ...), got {scheme}://: {error}"
        ) from error
    return system, str(name)


@contextlib.contextmanager
def missing_told() -> Iterator[None]:
    """Raises Python's FileNotFoundError as a `MissingFileError`."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFileError(error.errno, error.strerror, error.filename) from None


@contextlib.contextmanager
def faults(address: str) -> Iterator[None]:
    """Raises what goes wrong at an address as an OSError that names it, and says why in words.

    What says of itself what is wrong goes by: our own errors, missing packages, and ValueErrors,
    which are about what was asked for.
    """
    try:
        yield
    except (MXNetError, ImportError, ValueError, MemoryError):
        raise
    except Exception as error:
        raise _told(error, address) from error


def _told(error: Exception, address: str) -> OSError:
    """Returns an error as an OSError of the fitting class: FileNotFoundError and so on."""
    if isinstance(error, OSError) and error.filename == address:
        return error
    status = getattr(error, "status", None)
    name = type(error).__name__
    words = _words(error, address)
    if isinstance(error, FileNotFoundError) or status in _MISSING:
        return MissingFileError(errno.ENOENT, words or "there is no such file", address)
    if isinstance(error, PermissionError) or status in _REFUSED or _NO_LEAVE.search(name):
        told = f"no permission{': ' * bool(words)}{words}; look at the credentials"
        return PermissionError(errno.EACCES, told, address)
    if not isinstance(error, OSError) and _NO_SERVER.search(name):
        told = f"the server cannot be reached: {words or name}"
        return ConnectionError(errno.ECONNREFUSED, told, address)
    number = getattr(error, "errno", None) or errno.EIO
    told = words or (os.strerror(number) if isinstance(error, OSError) else name)
    kind = next((one for one in _NETWORK_ERRORS if isinstance(error, one)), OSError)
    return kind(number, told, address)


def _words(error: Exception, address: str) -> str:
    """Returns what an error says, with the name of the bucket if the address has one."""
    said = getattr(error, "strerror", None) or next(
        (one for one in error.args if isinstance(one, str)), str(error)
    )
    scheme, _, rest = address.partition("://")
    if said.strip() in ("None", rest, address, os.strerror(errno.ENOENT)):
        said = "there is no such file" if isinstance(error, FileNotFoundError) else ""
    if scheme in _PLACES:
        place = f"{_PLACES[scheme]} {rest.partition('/')[0]!r}"
        said = f"{said} ({place})" if said else f"({place})"
    return " ".join(said.split())

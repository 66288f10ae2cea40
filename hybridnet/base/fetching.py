"""Files from the network: fetched whole or not at all, checked, tried again."""

from __future__ import annotations

import os
import shutil
import ssl
import urllib.error
import urllib.request
import warnings
from http.client import HTTPException
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from .errors import MXNetError, ParameterError
from .files import atomic_write
from .lazy import hashlib

#: Where MXNet keeps data sets and trained models, unless MXNET_GLUON_REPO says otherwise.
_REPOSITORY: Final = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
_PIECE: Final = 1 << 20  # bytes read at once
_SILENCE: Final = 60.0  # seconds without a byte after which a connection is given up


class RemoteFile(NamedTuple):
    """A file that belongs to a data set.

    Attributes:
        name: of the file.
        sha1: its SHA-1 hash, in hexadecimal digits.
    """

    name: str
    sha1: str

    def fetched(self, data_set: str, folder: str) -> str:
        """Returns its path in a folder; it is fetched unless it is there. See `download`."""
        url = repo_file_url(f"gluon/dataset/{data_set}", self.name)
        return download(url, path=folder, sha1_hash=self.sha1)


class DownloadError(MXNetError, OSError):
    """A file could not be fetched, or what was fetched is not the file that was wanted."""


def check_sha1(filename: str | os.PathLike[str], sha1_hash: str) -> bool:
    """Returns whether a file has this SHA-1 hash, given in hexadecimal digits."""
    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest() == sha1_hash


def _target(url: str, path: str | None) -> str:
    """Returns the file that a URL is stored in."""
    name = url.rpartition("/")[2]
    if path is None:
        if not name:
            raise ParameterError(f"download: {url} has no file name at its end; give a path")
        return name
    path = os.path.expanduser(path)
    return os.path.join(path, name) if os.path.isdir(path) else path


def _is_wanted(name: str, sha1_hash: str | None) -> bool:
    return os.path.exists(name) and (not sha1_hash or check_sha1(name, sha1_hash))


def _transfer(url: str, name: str, sha1_hash: str | None, context: ssl.SSLContext | None) -> None:
    """Fetches once. The file appears when all of it is there and it is the right one."""
    request = urllib.request.Request(url, headers={"User-Agent": "hybridnet"})
    with (
        urllib.request.urlopen(request, timeout=_SILENCE, context=context) as answer,
        atomic_write(name) as file,
    ):
        shutil.copyfileobj(answer, file, _PIECE)
        expected, got = answer.headers.get("Content-Length"), file.tell()
        if expected is not None and int(expected) != got:
            raise DownloadError(f"download: {url} broke off after {got} of {expected} bytes")
        file.flush()
        if sha1_hash and not check_sha1(file.name, sha1_hash):
            raise DownloadError(
                f"download: {url} must have the SHA-1 hash {sha1_hash}, and its {got} bytes have "
                "another one; the server may have another version (MXNET_GLUON_REPO names it)"
            )


def download(
    url: str,
    path: str | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Fetches a file, unless it is there already.

    Nobody ever sees a part of it: it is written beside its place and put there when it is whole.
    Several processes may fetch the same file at once.

    Args:
        url: of the file: http, https, ftp or file.
        path: the file to write, or the folder to write it to under its name; default the current
            folder. Folders are made where there are none.
        overwrite: fetch it even if it is there.
        sha1_hash: of the file, in hexadecimal digits; one that is there and has another is fetched
            again.
        retries: how often to try again after a failure.
        verify_ssl: see that the server is who it says it is.

    Returns:
        The file's path.

    Raises:
        DownloadError: it could not be fetched, or has another hash than `sha1_hash`.
        ParameterError: `retries` is negative, or there is no name for the file.
    """
    if retries < 0:
        raise ParameterError(f"download: retries must be at least 0, got {retries}")
    name = _target(url, path)
    if not overwrite and _is_wanted(name, sha1_hash):
        return name
    os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
    context = None
    if not verify_ssl:
        warnings.warn(
            f"download: {url} is fetched without checking whose server it is (verify_ssl=False)",
            stacklevel=2,
        )
        if urlsplit(url).scheme == "https":
            context = ssl._create_unverified_context()
    print(f"Downloading {name} from {url}...")
    for left in reversed(range(max(retries, 1))):
        try:
            _transfer(url, name, sha1_hash, context)
            return name
        except DownloadError as error:
            failure = error
        except (OSError, HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            failure = DownloadError(f"download: {url} could not be fetched: {error}")
            failure.__cause__ = error
        print(f"{failure}; {left} attempts left")
    raise failure


def repo_url() -> str:
    """MXNET_GLUON_REPO: where data sets and trained models are fetched from; ends with a slash."""
    return os.environ.get("MXNET_GLUON_REPO", _REPOSITORY).rstrip("/") + "/"


def repo_file_url(namespace: str, filename: str) -> str:
    """Returns the URL of a file there, such as 'gluon/dataset/mnist' and its name."""
    return f"{repo_url()}{namespace}/{filename}"

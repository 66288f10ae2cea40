"""Where a folder is: on this machine, or on Hugging Face's hub."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import MissingFileError, MXNetError, ParameterError

_HUB: Final = "hf://"
#: What is fetched of a folder on the hub: nothing that would have to be unpickled or run.
_WANTED: Final = ["*.json", "*.safetensors", "*.jinja"]


def local_folder(folder: str | os.PathLike[str], where: str) -> Path:
    """Returns the path of a folder, which is fetched first where it is on the hub.

    Args:
        folder: a path, or ``hf://owner/name``, perhaps with ``@revision``.
        where: begins messages.

    Raises:
        MissingFileError: there is no such folder.
        ImportError: it is on the hub, and the package huggingface_hub is not installed.
        MXNetError: it could not be fetched.
    """
    text = os.fspath(folder)
    if text.startswith(_HUB):
        return _fetched(text, where)
    path = Path(text)
    if path.is_file():
        raise ParameterError(f"{where}: needs the folder that {path} is in, got the file")
    if not path.is_dir():
        raise MissingFileError(
            f"{where}: there is no folder {path}; give one with a config.json and a "
            "model.safetensors, or hf://owner/name"
        )
    return path


def _fetched(address: str, where: str) -> Path:
    name, _, revision = address.removeprefix(_HUB).strip("/").partition("@")
    if name.count("/") != 1:
        raise ParameterError(f"{where}: an address must be hf://owner/name, got {address}")
    hub = _import_hub(where)
    try:
        found = hub.snapshot_download(name, revision=revision or None, allow_patterns=_WANTED)
    except Exception as error:  # what it raises is of several libraries, and changes
        raise MXNetError(
            f"{where}: {address} could not be fetched: {error}; where this machine may not, fetch "
            "it elsewhere (`hf download`), and give the folder"
        ) from error
    return Path(found)


def _import_hub(where: str) -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise ImportError(
            f"{where}: hf:// needs the package huggingface_hub; pip install huggingface_hub, or "
            "fetch the folder elsewhere and give its path",
            name="huggingface_hub",
        ) from error

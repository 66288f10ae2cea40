"""The tensors of a folder, in one safetensors file or in several with an index.

The files are mapped into memory, and one tensor at a time is read out of them. Every size and place
is checked against the file by the package safetensors.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import BFLOAT16
from hybridnet.base.errors import FormatError, MissingFileError

from .json_files import read_object

WHOLE: Final = "model.safetensors"
INDEX: Final = "model.safetensors.index.json"
#: The format's names of the dtypes that weights have.
DTYPES: Final[Mapping[str, np.dtype[Any]]] = {
    "BF16": BFLOAT16,
    **{f"F{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
}
#: Files that only Python's pickle reads, by their names' ends.
_PICKLED: Final = (".bin", ".pt", ".pth", ".ckpt")
#: How the text begins that git leaves in the place of a large file.
_POINTER: Final = b"version https://git-lfs"


class Stored(NamedTuple):
    """The entry of a tensor in a file's header.

    Attributes:
        file: the path.
        code: the format's name of the dtype.
        shape: its dimensions.
    """

    file: Path
    code: str
    shape: tuple[int, ...]


def import_safetensors(where: str) -> Any:
    """Returns the module of the package safetensors that is for NumPy.

    Raises:
        ImportError: it is not installed; the message says how to get it.
    """
    try:
        return importlib.import_module("safetensors.numpy")
    except ImportError as error:
        raise ImportError(
            f"{where} needs the package safetensors; install it, or hybridnet with its text extra: "
            "pip install 'hybridnet[text]'",
            name="safetensors",
        ) from error


def files_of(folder: Path) -> list[Path]:
    """Returns the files that the tensors of a folder are in.

    Raises:
        FormatError: the index cannot be read, or the weights are pickled ones.
        MissingFileError: there are none, or one that the index names is not there.
    """
    if (folder / WHOLE).exists():  # before the index, as transformers has it
        return [folder / WHOLE]
    if (folder / INDEX).exists():
        return _indexed(folder)
    pickled = sorted(one.name for one in folder.iterdir() if one.name.endswith(_PICKLED))
    if pickled:
        raise FormatError(
            f"{folder}: has {pickled[0]}, and no {WHOLE}; what is pickled can run anything, and is "
            "not read. Convert it where you trust it: AutoModel.from_pretrained(folder)"
            ".save_pretrained(new_folder) of the package transformers, with the class of the "
            "network in the place of AutoModel"
        )
    raise MissingFileError(f"{folder}: has neither {WHOLE} nor {INDEX}")


def _indexed(folder: Path) -> list[Path]:
    where = folder / INDEX
    places = read_object(where).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise FormatError(f"{where}: weight_map must be an object of files by tensor")
    for tensor, file in places.items():
        # Not "..", or what is elsewhere on this machine.
        if not isinstance(file, str) or Path(file).name != file:
            raise FormatError(f"{where}: {tensor!r} must be in a file of the folder, got {file!r}")
        if not (folder / file).exists():
            raise MissingFileError(
                f"{where}: {tensor!r} is in {file}, which is not there; fetch the folder again"
            )
    files = [folder / file for file in sorted(set(places.values()))]
    held = {name: one for file in files for name, one in stored_in(file).items()}
    for tensor, file in places.items():
        if tensor not in held or held[tensor].file.name != file:
            raise FormatError(
                f"{folder / file}: has no {tensor!r}, which it has by {INDEX}; the two are not of "
                "the same network, fetch the folder again"
            )
    return files


def stored_in(file: Path) -> dict[str, Stored]:
    """Returns what a file's header says, by name.

    Raises:
        FormatError: it is damaged; the message names it.
    """
    with open_tensors(file) as opened:
        found = {}
        for name in opened.keys():  # noqa: SIM118 (no dict)
            entry = opened.get_slice(name)
            found[name] = Stored(file, entry.get_dtype(), tuple(entry.get_shape()))
        return found


@contextlib.contextmanager
def open_tensors(file: Path) -> Iterator[Any]:
    """Opens a file with the package safetensors.

    Raises:
        FormatError: it is damaged; the message names it and says what is wrong.
    """
    library = import_safetensors("reading a folder of weights")
    failure = importlib.import_module("safetensors").SafetensorError
    with open(file, "rb") as raw:  # its own errors name neither what is no file nor what is locked
        if raw.read(len(_POINTER)) == _POINTER:
            raise FormatError(
                f"{file}: is what git leaves in the place of a large file; run `git lfs pull`, or "
                "fetch the folder again"
            )
    try:
        with library.safe_open(file, framework="np") as opened:
            yield opened
    except failure as error:
        raise FormatError(
            f"{file}: {error}; the file is cut off, damaged or no safetensors file, fetch it again"
        ) from error


def read_tensor(opened: Any, name: str, code: str) -> NumpyArray:
    """Returns a tensor of an open file, a new array in C order."""
    return np.asarray(opened.get_tensor(name), DTYPES[code], order="C")

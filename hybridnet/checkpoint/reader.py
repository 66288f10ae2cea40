"""Looking into a checkpoint without variables to restore."""

from __future__ import annotations

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType

from .faults import missing_names
from .files import wait_for_saves
from .index import PathLike, file_of
from .tensor_file import open_tensors


def variable_types(checkpoint: PathLike) -> dict[str, TensorType]:
    """Returns the types of the variables in a checkpoint, by name; no value is read.

    Raises:
        FormatError: the file is damaged.
        OSError: it cannot be read.
    """
    path = file_of(checkpoint)
    wait_for_saves(path.parent)
    with open_tensors(path) as file:
        return dict(sorted(file.types.items()))


def list_variables(checkpoint: PathLike) -> list[tuple[str, list[int]]]:
    """Returns names and shapes of the variables in a checkpoint, by name.

    Raises:
        FormatError: the file is damaged.
        OSError: it cannot be read.
    """
    return [(name, list(found.shape)) for name, found in variable_types(checkpoint).items()]


def load_variable(checkpoint: PathLike, name: str) -> NumpyArray:
    """Returns the value of a variable in a checkpoint.

    Raises:
        ParameterError: it has no such variable; the message gives the nearest names.
        FormatError: the file is damaged.
        OSError: it cannot be read.
    """
    path = file_of(checkpoint)
    wait_for_saves(path.parent)
    with open_tensors(path) as file:
        if name not in file.types:
            raise ParameterError(missing_names(path, [name], list(file.types)))
        return file.read(name)

"""Whether a file fits the variables that are to be restored from it, and what is said if not."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError

from .tensor_file import TensorFile

#: A shape with None for dimensions that are not known; None where nothing is.
OpenShape = tuple[int | None, ...] | None

#: How many names are listed, and how many are offered for one that is missing.
_LISTED: Final = 10
_NEAREST: Final = 3
#: How alike names must be to be offered, from 0 to 1.
_ALIKE: Final = 0.6


def require(
    file: TensorFile,
    wanted: Mapping[str, tuple[OpenShape, np.dtype[Any] | None]],
    reshape: bool = False,
) -> None:
    """Checks that a file has variables of these names, shapes and dtypes.

    Args:
        file: the file.
        wanted: by name; None is any dtype.
        reshape: whether a shape of as many elements will do.

    Raises:
        ParameterError: it has no variable of some name.
        ShapeError, DTypeError: one has another shape or dtype.
    """
    absent = [name for name in wanted if name not in file.types]
    if absent:
        raise ParameterError(missing_names(file.path, absent, list(file.types)))
    for name, (shape, dtype) in wanted.items():
        found = file.types[name]
        kind: type[MXNetError]
        if not _fits(found.shape, shape) and not (reshape and _is_size(found.size, shape)):
            kind, what = ShapeError, "shape"
        elif dtype is not None and found.dtype != dtype:
            kind, what = DTypeError, "dtype"
        else:
            continue
        sizes = "..." if shape is None else ",".join("?" if n is None else str(n) for n in shape)
        raise kind(
            f"{file.path}: variable {name!r} has another {what} than the one to be restored: the "
            f"file has {found}, the variable is {'any' if dtype is None else dtype.name}[{sizes}]"
        )


def _fits(shape: tuple[int, ...], known: OpenShape) -> bool:
    if known is None:
        return True
    return len(shape) == len(known) and all(
        wanted in (None, size) for wanted, size in zip(known, shape, strict=True)
    )


def _is_size(size: int, shape: OpenShape) -> bool:
    return shape is not None and None not in shape and math.prod(map(int, shape)) == size  # type: ignore[arg-type]


def missing_names(path: Path, absent: Sequence[str], present: Sequence[str]) -> str:
    """Returns a message: what a file lacks, what it has instead, and what may be done.

    Args:
        path: the file.
        absent: the names that were looked for, and are not in it.
        present: the names that are.
    """
    lines = [f"{path}: has no variable {_listed(absent[:_LISTED], len(absent))}"]
    for name in absent[:_LISTED]:
        alike = difflib.get_close_matches(name, present, _NEAREST, _ALIKE)
        if alike:
            lines.append(f"the nearest to {name!r}: {_listed(alike, len(alike))}")
    lines.append(f"it has {_listed(sorted(present)[:_LISTED], len(present))}")
    lines.append(
        "restore some of the variables by giving a saver only these, and others under the names "
        "they had by giving it {'the old name': variable}"
    )
    return "; ".join(lines)


def _listed(names: Sequence[str], count: int) -> str:
    shown = ", ".join(map(repr, names)) or "no variables"
    return f"{shown} and {count - len(names)} more" if count > len(names) else shown

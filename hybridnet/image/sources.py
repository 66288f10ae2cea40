"""The sources of the samples of `ImageIter`: record files, list files, lists."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.contained import contained
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.remote import open_text

__all__ = ["read_list", "read_list_file"]

#: Key -> labels and path.
Listed = dict[Any, tuple[NumpyArray, str]]


def read_list_file(path: str | os.PathLike[str], dtype: str, root: str) -> Listed:
    """Reads a list file: a line for each image, its number, labels and path with tabs between.

    Args:
        path: of the list.
        dtype: of the labels.
        root: the folder that the images must lie in; '' for anywhere.

    Raises:
        FormatError: a line is none of these, or its path leads out of the folder.
        OSError: the file cannot be read.
    """
    listed: Listed = {}
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            fields = line.strip().split("\t")
            if fields == [""]:
                continue
            try:
                labels = np.array([float(one) for one in fields[1:-1]]).astype(dtype)
                if root:
                    contained(root, fields[-1], f"{os.fspath(path)}: line {number}")
                listed[int(fields[0])] = (labels, fields[-1])
            except FormatError:
                raise
            except ValueError as error:
                raise FormatError(
                    f"{os.fspath(path)}: line {number} must be a number, labels and a path, with "
                    f"tabs between, got {line[:80]!r}: {error}"
                ) from error
    return listed


def read_list(items: Sequence[Sequence[Any]], dtype: str) -> Listed:
    """Reads a list of [label, ..., path] or [[label, ...], path]; keys are '1', '2' and so on.

    Raises:
        ParameterError: an item is none of these.
    """
    listed: Listed = {}
    for number, item in enumerate(items, 1):
        try:
            *labels, path = item
            given = labels if len(labels) != 1 or isinstance(labels[0], Number) else labels[0]
            listed[str(number)] = (np.array(given, dtype=dtype), path)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"image: item {number - 1} of imglist must be [label, ..., path], got {item!r}"
            ) from error
    return listed

"""Labels of image records: from their headers, or from a list file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError
from hybridnet.recordio import IRHeader

from .text_files import lines_of

__all__ = ["label_of", "read_labels"]


def read_labels(path: str, width: int | None) -> dict[int, NumpyArray]:
    """Reads a list file: a line for each image, its number, labels and path with blanks between.

    Args:
        path: of the file.
        width: labels of each image; None: all but the last field are.

    Returns:
        Number -> labels, float32.

    Raises:
        FormatError: a line is none of these.
        OSError: the file cannot be read.
    """
    found = {}
    for block in lines_of(path):
        for number, line in enumerate(block.lines, block.first):
            fields = line.split(None, -1 if width is None else width + 1)
            if not fields:
                continue
            labels = fields[1:-1] if width is None else fields[1 : 1 + width]
            try:
                if not labels or len(labels) < (width or 0):
                    raise ValueError(f"{len(labels)} labels")
                found[int(fields[0])] = np.array([float(one) for one in labels], np.float32)
            except ValueError as error:
                count = "labels" if width is None else f"{width} labels"
                raise FormatError(
                    f"{path}: line {number} must be a number, {count} and a path, got "
                    f"{line[:60]!r}: {error}"
                ) from error
    return found


def label_of(
    header: IRHeader, listed: Mapping[int, NumpyArray] | None, width: int | None
) -> NumpyArray:
    """Returns the labels of a record.

    Args:
        header: of the record.
        listed: labels by number, which take the place of the record's, or None.
        width: how many there must be; None: any number.

    Raises:
        FormatError: there are others, or none in the list.
    """
    if listed is not None:
        if header.id not in listed:
            raise FormatError(f"the list must have labels of every image, got none of {header.id}")
        return listed[header.id]
    labels = np.asarray(header.label, np.float32).reshape(-1)
    if width is not None and len(labels) != width:
        raise FormatError(
            f"image {header.id} must have label_width={width} labels, got {len(labels)}"
        )
    return labels

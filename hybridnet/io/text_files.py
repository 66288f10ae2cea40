"""Text files read in blocks of whole lines, in parts for several workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from hybridnet.base.remote import file_size, listed_files, open_binary

__all__ = ["Lines", "lines_of"]

_BLOCK: Final = 1 << 20  # bytes that are read at a time, and then to the end of a line


class Lines(NamedTuple):
    """Some lines of a file.

    Attributes:
        path: of the file.
        first: the number of the first of them in the part that is read, from 1.
        lines: without their ends.
    """

    path: str
    first: int
    lines: list[str]


def lines_of(
    path: str | os.PathLike[str], num_parts: int = 1, part_index: int = 0
) -> Iterator[Lines]:
    """Yields the lines of a file, or of all files of a folder in the order of their names.

    Args:
        path: of the file or folder.
        num_parts: how many parts the bytes are cut into. A line belongs to the part that its first
            byte is in.
        part_index: which part is read.

    Raises:
        OSError: a file cannot be read.
    """
    files = listed_files(path)
    sizes = [file_size(one) for one in files]
    step = -(-sum(sizes) // num_parts)
    begin, end = step * part_index, step * (part_index + 1)
    for file, size in zip(files, sizes, strict=True):
        if begin < size and end > 0:
            yield from _lines(file, max(begin, 0), min(end, size))
        begin, end = begin - size, end - size


def _lines(path: str, begin: int, end: int) -> Iterator[Lines]:
    with open_binary(path) as file:
        if begin:
            # The line that begins before ends in this part, and belongs to the one before.
            file.seek(begin - 1)
            file.readline()
        number = 1
        while file.tell() < end:
            block = file.read(min(_BLOCK, end - file.tell()))
            if not block.endswith(b"\n"):
                block += file.readline()
            lines = block.decode("utf-8").splitlines()
            yield Lines(path, number, lines)
            number += len(lines)

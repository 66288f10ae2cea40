"""Files at addresses of which only what is read is fetched, and little more.

A server is asked for as few parts as can be, since each request takes its time, and for no more
bytes than that is worth:

- who reads on from where the last part ended, gets ever larger parts;
- who jumps, gets what is asked for: with an index (`expect`) up to where the next record begins;
- who knows what comes (`gather`), has several parts fetched at once.
"""

from __future__ import annotations

import bisect
import errno
import io
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from .addresses import faults

#: The largest part that is read ahead, bytes.
_MAX_READ_AHEAD: Final = 1 << 23
#: How far an index is believed that says that there is one record and no other, bytes.
_TRUSTED: Final = 1 << 20
#: What was read in a row, over what is then read ahead: no more than 1.5 times what was read is
#: fetched, however it goes on.
_AHEAD: Final = 2


class _Part(NamedTuple):
    begin: int
    data: bytes

    def rest(self, place: int) -> memoryview:
        """Returns what it has from a place on; nothing where the place is outside."""
        inside = self.begin <= place < self.begin + len(self.data)
        return memoryview(self.data)[place - self.begin :] if inside else memoryview(b"")


class RangedFile(io.RawIOBase):
    """A file at an address; reading gives less than was asked for where a part ends.

    Args:
        system: the file system of fsspec that has it.
        path: its name there.
        source: the file, opened without a cache; it is closed with this one.
        address: of the file.
        block: bytes that whoever buffers this asks for; more is wanted for itself.
    """

    def __init__(self, system: Any, path: str, source: Any, address: str, block: int) -> None:
        self.name = address
        self._system, self._path, self._source = system, path, source
        self._block = block
        self._size: int = source.seek(0, io.SEEK_END)
        self._place = 0
        self._part = _Part(0, b"")
        #: Bytes that were fetched in a row, and where they end.
        self._row, self._row_end = 0, -1
        self._places: Sequence[int] = ()
        self._gathered: dict[int, bytes] = {}

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def seekable(self) -> bool:
        """Whether the place can be moved: yes."""
        return True

    def tell(self) -> int:
        """Returns the place."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a place and returns it; nothing is fetched."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError(f"{self.name}: a place must be 0 or more, got {start + offset}")
        self._place = start + offset
        return self._place

    def close(self) -> None:
        """Closes it."""
        if not self.closed:
            self._source.close()
        super().close()

    def expect(self, places: Sequence[int]) -> None:
        """Says where all records begin, in order."""
        self._places = places

    def gather(self, begins: Sequence[int]) -> int:
        """Fetches the records that are read next, several at once, up to some megabytes.

        Args:
            begins: where they begin, in the order of reading.

        Returns:
            How many of them were fetched: one or more.

        Raises:
            OSError: the server does not give them.
        """
        wanted: list[list[int]] = []
        size = count = 0
        for begin in begins:
            end = self._end_of(begin)
            if count and size + end - begin > _MAX_READ_AHEAD:
                break
            if wanted and wanted[-1][1] == begin:
                wanted[-1][1] = end
            elif begin < end:
                wanted.append([begin, end])
            size += end - begin
            count += 1
        starts = [one[0] for one in wanted]
        with faults(self.name):
            parts = self._system.cat_ranges(
                [self._path] * len(wanted), starts, [one[1] for one in wanted]
            )
            for part in parts:
                if isinstance(part, Exception):
                    raise part
        self._gathered = dict(zip(starts, parts, strict=True))
        return count

    def readinto(self, buffer: Any) -> int:
        """Reads into a buffer; 0 at the end of the file.

        Raises:
            OSError: the server does not give what is there.
        """
        with memoryview(buffer) as given, given.cast("B") as view:
            if self._place >= self._size or not len(view):
                return 0
            if not (rest := self._part.rest(self._place)):
                self._part = self._next_part(len(view))
                rest = self._part.rest(self._place)
            if not rest:
                said = f"broke off at byte {self._place} of {self._size}"
                raise OSError(errno.EIO, said, self.name)
            count = min(len(view), len(rest))
            view[:count] = rest[:count]
            self._place += count
            return count

    def _end_of(self, place: int) -> int:
        """Returns where the record ends that a place is in, as far as the index is believed."""
        number = bisect.bisect_right(self._places, place)
        end = self._places[number] if number < len(self._places) else self._size
        return min(end, place + _TRUSTED, self._size)

    def _next_part(self, wanted: int) -> _Part:
        place = self._place
        if place in self._gathered:
            return _Part(place, self._gathered.pop(place))
        if place != self._row_end:
            self._row = 0
        end = min(self._wanted_end(place, wanted), self._size)
        with faults(self.name):
            self._source.seek(place)
            data = self._source.read(end - place)
        self._row += len(data)
        self._row_end = place + len(data)
        return _Part(place, data)

    def _wanted_end(self, place: int, wanted: int) -> int:
        ahead = place + min(self._row // _AHEAD, _MAX_READ_AHEAD)
        if not self._places:
            return max(place + wanted, ahead)
        end = self._end_of(place)
        if wanted > self._block:
            end = max(end, place + wanted)
        # Whole records only.
        number = bisect.bisect_right(self._places, ahead)
        return max(end, self._places[number - 1] if number else 0)

"""Messages between two processes over a socket pair, with file descriptors beside them.

The main process never blocks in writing: what the socket does not take is kept and written later.
So it cannot happen that it waits for a worker to read while that waits for it to read.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, final

_LENGTH: Final = struct.Struct("<QI")  # bytes of the message, descriptors that came with it
_PIECE: Final = 1 << 16
_MOST_DESCRIPTORS: Final = 64  # that one call of the system brings
_FLAGS: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class ChannelClosed(EOFError):
    """The other side has closed the channel, or its process has ended."""


@final
class Channel:
    """One end of a connection.

    Args:
        end: a connected Unix socket; closed with the channel. Where it does not block, `send` and
            `receive` do not either.

    Attributes:
        pid: the process that made this object; in a forked child it is another's.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self.pid = os.getpid()
        self._out: deque[memoryview] = deque()
        self._in = bytearray()
        self._descriptors: deque[int] = deque()

    def fileno(self) -> int:
        """The socket's descriptor, to wait for."""
        return self._socket.fileno()

    @property
    def is_writing(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._out)

    def send(self, message: Any, descriptors: Sequence[int] = ()) -> None:
        """Sends a message of plain values.

        Args:
            message: what pickle takes; the other side is a process of ours.
            descriptors: of open files, which the other side gets its own of.

        Raises:
            ChannelClosed: nobody reads it.
        """
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        frame = memoryview(_LENGTH.pack(len(data), len(descriptors)) + data)
        try:
            if descriptors:
                self._finish()  # they come with their message, not before it
                sent = socket.send_fds(self._socket, [frame], list(descriptors))
                frame = frame[sent:]
            self._out.append(frame)
            self.flush()
        except OSError as error:  # the other side's end is closed, or this one
            raise ChannelClosed(str(error)) from None

    def _finish(self) -> None:
        was = self._socket.gettimeout()
        self._socket.settimeout(None)
        try:
            self.flush()
        finally:
            self._socket.settimeout(was)

    def flush(self) -> None:
        """Writes what waits, as far as the socket takes it.

        Raises:
            ChannelClosed: nobody reads it.
        """
        try:
            while self._out:
                sent = self._socket.send(self._out[0])
                rest = self._out[0][sent:]
                if rest:
                    self._out[0] = rest
                else:
                    self._out.popleft()
        except BlockingIOError:
            pass
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> list[tuple[Any, list[int]]]:
        """Returns the messages that have come whole, with their descriptors.

        A channel that blocks waits for the first one.

        Raises:
            ChannelClosed: no more will come, and all that came have been returned.
        """
        found: list[tuple[Any, list[int]]] = []
        while True:
            found += self._whole()
            if found and self._socket.gettimeout() is None:
                return found
            try:
                data, descriptors, _, _ = socket.recv_fds(
                    self._socket, _PIECE, _MOST_DESCRIPTORS, _FLAGS
                )
            except BlockingIOError:
                return found
            except OSError:
                data, descriptors = b"", []
            self._descriptors.extend(descriptors)
            if not data:
                if found:
                    return found
                raise ChannelClosed("the other side has closed the channel")
            self._in += data

    def _whole(self) -> list[tuple[Any, list[int]]]:
        found = []
        start = 0
        while len(self._in) >= start + _LENGTH.size:
            length, count = _LENGTH.unpack_from(self._in, start)
            begin = start + _LENGTH.size
            if len(self._in) < begin + length:
                break
            with memoryview(self._in) as view, view[begin : begin + length] as data:
                message = pickle.loads(data)
            found.append((message, [self._descriptors.popleft() for _ in range(count)]))
            start = begin + length
        del self._in[:start]
        return found

    def set_blocking(self, blocks: bool) -> None:
        """Says whether `send` and `receive` wait."""
        self._socket.setblocking(blocks)

    def receive_first(self) -> Any:
        """Returns the first message, for which it waits, and leaves all others unread.

        Raises:
            ChannelClosed: none will come.
        """
        length, _ = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return pickle.loads(self._exactly(length))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ChannelClosed("the other side has closed the channel")
            data += piece
        return data

    def __del__(self) -> None:
        if hasattr(self, "_descriptors"):  # else it was never whole
            self.close()

    def close(self) -> None:
        """Closes it; the other side learns that. Descriptors that nobody took are closed, too."""
        self._socket.close()
        self._out.clear()
        while self._descriptors:
            os.close(self._descriptors.popleft())

"""The loop of a worker process: batches, one after another, until the channel is closed."""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import sys
import traceback
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet import random as generators
from hybridnet.base.numpy_mode import mode
from hybridnet.runtime.asking import ask_in_whole_program

from ..fetching import fetch
from .channel import Channel, ChannelClosed
from .sending import pack, unpack
from .shared_memory import ALIGNMENT, Arena

#: What takes fewer bytes goes through the socket: a segment's pages cost more than the copy.
INLINE: Final = 1 << 14

#: What a worker is told first: the environment, module search path and folder of the main process,
#: its NumPy mode, and where in the file beside it the dataset and its arrays are.
Setup = dict[str, Any]


def run(channel: Channel) -> int:
    """Makes batches until nobody wants any more; returns the exit code."""
    try:
        channel.send(("started", os.getpid()))
        return _Maker(channel).run()
    except ChannelClosed:
        return 0


@final
class _Maker:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._arena = Arena()
        self._inbox: deque[Any] = deque()
        self._cancelled: set[int] = set()

    def run(self) -> int:
        (setup, (descriptor,)), *rest = self._channel.receive()
        self._take([message for message, _ in rest])
        try:
            dataset, batchify = _take_over(setup, descriptor)
        except Exception as error:
            self._channel.send(("refused", *_described(error)))
            return 1
        while True:
            self._listen()
            number, seed, positions = self._inbox.popleft()
            if number in self._cancelled:
                self._cancelled.discard(number)
                self._channel.send(("cancelled", number))
                continue
            _seed(seed)
            try:
                batch = fetch(dataset, positions, batchify)
                self._send(number, batch)
                del batch
            except ChannelClosed:
                raise
            except Exception as error:
                self._channel.send(("failed", number, *_described(error)))
            sys.stdout.flush()  # what the user prints; nothing is written where a worker is killed

    def _listen(self) -> None:
        """Reads what has come; waits where there is nothing to do."""
        while True:
            self._channel.set_blocking(not self._inbox)
            try:
                self._take([message for message, _ in self._channel.receive()])
            finally:
                self._channel.set_blocking(True)
            if self._inbox:
                return

    def _take(self, messages: Sequence[Any]) -> None:
        for kind, *content in messages:
            if kind == "make":
                *task, returned = content
                self._inbox.append(task)
                self._arena.take_back(returned)
            elif any(number == content[0] for number, *_ in self._inbox):  # not begun yet
                self._cancelled.add(content[0])

    def _send(self, number: int, batch: Any) -> None:
        data, buffers, _ = pack(batch)
        places, size = laid_out(buffers)
        if size <= INLINE:
            inline = [bytes(buffer) for buffer in buffers]
            self._channel.send(("made", number, data, inline, None, self._dropped()))
            return
        segment, is_new = self._arena.lend(size)
        for (start, length), buffer in zip(places, buffers, strict=True):
            segment.memory[start : start + length] = buffer
        self._channel.send(
            ("made", number, data, places, segment.number, self._dropped()),
            [segment.descriptor] if is_new else (),
        )

    def _dropped(self) -> list[int]:
        dropped, self._arena.dropped = self._arena.dropped, []
        return dropped


def laid_out(buffers: Sequence[memoryview]) -> tuple[list[tuple[int, int]], int]:
    """Returns where each of several buffers goes, as (start, length), and the bytes of all."""
    places, end = [], 0
    for buffer in buffers:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        end = start + buffer.nbytes
        places.append((start, buffer.nbytes))
    return places, end


def become_like(setup: Setup) -> None:
    """Takes over environment, module search path, arguments and folder of the main process."""
    os.environ.update(setup["environment"])
    sys.path[:] = setup["path"]
    sys.argv[:] = setup["arguments"]
    with contextlib.suppress(OSError):  # it may have been removed
        os.chdir(setup["folder"])


def _take_over(setup: Setup, descriptor: int) -> Any:
    """Becomes like the main process; returns the dataset and batchify_fn."""
    become_like(setup)
    mode.set_everywhere(*setup["mode"])
    ask_in_whole_program()
    # A mapping of this process's own: pages are shared until somebody writes to them.
    memory = mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY)
    os.close(descriptor)
    view = memoryview(memory)
    data, *buffers = (view[start : start + length] for start, length in setup["places"])
    return unpack(data, buffers)


def _seed(number: int) -> None:
    random.seed(number)
    np.random.seed(number)
    generators.seed(number)


def _described(error: Exception) -> tuple[bytes | None, str]:
    """Returns an error for the main process: itself, if it can be sent, and its traceback."""
    text = "".join(traceback.format_exception(error))
    try:
        data, buffers, _ = pack(error.with_traceback(None))
        return (None if buffers else data), text
    except Exception:
        return None, text

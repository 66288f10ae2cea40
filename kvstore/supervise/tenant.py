"""`Tenant`: what an actor of Ray's runs on its machine, a process of a job; see `ray`."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final, final

from hybridnet.engine import Flag
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.local import ProcessHandle, start_process

#: What Ray sets in its actors to the processors that they have asked for, and to 1 for none.
THREADS: Final = "OMP_NUM_THREADS"
_LOOK_SECONDS: Final = 0.05  # seconds between looks at the process, and at what it prints
_CHUNK: Final = 1 << 16  # bytes that are read at once
_CHUNKS: Final = 64  # that wait to be fetched; then the process waits, as it does for a full pipe
_HOLD: Final = 1.0  # seconds that a question for output may wait for some


@final
class Tenant:
    """A process on this machine, and what it prints.

    Its methods are called from another machine, at the same time.
    """

    def __init__(self) -> None:
        self._handle: ProcessHandle | None = None
        self._over = Flag()
        self._printed: queue.Queue[tuple[int, bytes]] = queue.Queue(_CHUNKS)

    def look(self) -> tuple[str, int]:
        """Returns this machine's address, and a port of it that nobody listens on now."""
        import ray.util

        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("", 0))
            return str(ray.util.get_node_ip_address()), int(probe.getsockname()[1])

    def run(
        self, title: str, command: Sequence[str], environment: Mapping[str, str], folder: str
    ) -> int | str:
        """Runs a command to its end.

        Returns:
            Its exit status (the negative number of a signal); a sentence where it cannot be
            started.
        """
        if os.path.isdir(folder):
            os.chdir(folder)
        os.environ.pop(THREADS, None)  # it is to have as many as it would have without Ray
        pipes = [os.pipe() for _ in range(2)]
        try:
            self._handle = start_process(
                title, command, environment, output=(pipes[0][1], pipes[1][1])
            )
        except KVStoreError as error:
            self._over.set()
            return str(error)
        finally:
            for _, end in pipes:
                os.close(end)
            readers = [
                threading.Thread(target=self._read, args=(number, pipe[0]))
                for number, pipe in zip((1, 2), pipes, strict=True)
            ]
            for one in readers:
                one.start()
        try:
            while (code := self._handle.poll()) is None:
                time.sleep(_LOOK_SECONDS)
        finally:
            self._over.set()
            for one in readers:
                one.join()
        return code

    def printed(self) -> list[tuple[int, bytes]]:
        """Returns what the process has printed since: pieces, each with its descriptor, 1 or 2.

        It waits a moment for some.
        """
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._printed.get(timeout=_HOLD))
            while True:
                found.append(self._printed.get_nowait())
        return found

    def signal(self, number: int) -> None:
        """Sends a signal to the process."""
        if self._handle is not None:
            self._handle.signal(number)

    def _read(self, number: int, pipe: int) -> None:
        """Takes what is printed, to the end: that of the process, or of the pipe."""
        with contextlib.closing(open(pipe, "rb", buffering=0)) as file:
            while True:
                ended = self._over.is_set
                if not select.select([file], [], [], _LOOK_SECONDS)[0]:
                    if ended:  # what it has left behind may hold the pipe open for ever
                        return
                    continue
                data = file.read(_CHUNK)
                if not data:
                    return
                self._printed.put((number, data))

"""`Worker`: a thread for what may never return, as where another process is stopped midway."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import final

from hybridnet import engine
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax


@final
class _Job:
    """A program to run, and what came of it."""

    def __init__(self, program: Callable[[], Sequence[DeviceArray]]) -> None:
        self.program = program
        self.ended = engine.Flag()
        self.arrays: Sequence[DeviceArray] | None = None
        self.error: Exception | None = None


@final
class Worker:
    """Runs programs one after the other; whoever waits for one can be freed.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._awaited: set[_Job] = set()
        self._is_free = False
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def run(self, program: Callable[[], Sequence[DeviceArray]]) -> Sequence[DeviceArray] | None:
        """Runs a program until its arrays are computed.

        Returns:
            Its arrays; None if `free` was called before they were there.

        Raises:
            Exception: whatever it fails by.
        """
        job = _Job(program)
        self._awaited.add(job)  # before the look whether all are free: `free` does it the other way
        try:
            if not self._is_free:
                self._jobs.put(job)
                job.ended.wait()
        finally:
            self._awaited.discard(job)
        if job.error is not None:
            raise job.error
        return job.arrays

    def free(self) -> None:
        """Frees all who wait for a program, from now on."""
        self._is_free = True
        for job in list(self._awaited):
            job.ended.set()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                arrays = job.program()
                jax.block_until_ready(arrays)
                job.arrays = arrays
            except Exception as error:
                job.error = error
            job.ended.set()

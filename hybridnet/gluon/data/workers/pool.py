"""`ProcessWorkers`: the processes of one loader, seen from the main process."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import random
import select
import signal
import socket
import sys
import time
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.numpy_mode import mode
from hybridnet.engine import RLock

from ..fetching import timed_out
from ..samples import Batchify, Samples
from .channel import ChannelClosed
from .sending import pack, unpack
from .shared_memory import Lent, new_file
from .starting import Nursery, environment, nursery_for
from .worker import Setup, laid_out

_SLICE: Final = 0.1  # seconds after which a thread that waits lets another one look
_KEPT_BATCHES: Final = 16  # batches in shared memory that users may hold on to; more are copied


def are_possible() -> bool:
    """Whether this system has what workers need: fork, and descriptors over sockets."""
    return hasattr(os, "fork") and hasattr(socket, "send_fds") and hasattr(select, "poll")


class WorkerError(MXNetError):
    """A worker process ended, or raised what cannot be sent."""


class _Traceback(Exception):
    """The traceback of an error in a worker: the cause of the error that the user sees."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text

    def __str__(self) -> str:
        return f"in a worker process of DataLoader:\n\n{self._text}"


@final
class _Ticket:
    """A batch that is being made.

    Attributes:
        positions: of its samples.
        is_done: whether `batch` or `error` is there.
    """

    __slots__ = ("batch", "error", "is_done", "number", "positions")

    def __init__(self, number: int, positions: list[int]) -> None:
        self.number = number
        self.positions = positions
        self.is_done = False
        self.batch: Any = None
        self.error: BaseException | None = None


@final
class _Worker:
    """One process.

    Attributes:
        tickets: the batches it was asked for, by number; it makes them in this order.
    """

    def __init__(self, nursery: Nursery) -> None:
        self.nursery = nursery
        self.number, self.channel = nursery.fork("worker")
        self.channel.set_blocking(False)
        self.tickets: dict[int, _Ticket] = {}
        self.lent = Lent()
        self.process: int | None = None

    def close(self) -> None:
        """Closes what leads to it."""
        self.channel.close()
        self.lent.close()


def _entropy() -> int:
    """Returns a number that the random generators here decide, without drawing from them."""
    words = np.random.get_state(legacy=False)["state"]
    state = zlib.crc32(words["key"].tobytes(), words["pos"]) if isinstance(words, dict) else 0
    return hash((state, random.getstate()[1])) & 0xFFFFFFFF


@final
class ProcessWorkers:
    """Processes that make batches in the background.

    They end with the loader, with this process, and after an error of theirs; the next pass has new
    ones then.

    Args:
        dataset: where samples come from; each worker gets a copy as it is now.
        batchify: makes a batch of a list of samples.
        count: how many processes.

    Raises:
        ParameterError: the dataset or `batchify` cannot be sent to another process.
    """

    def __init__(self, dataset: Samples, batchify: Batchify, count: int) -> None:
        self._count = count
        self._lock = RLock()
        self._workers: list[_Worker] = []
        self._submitted = 0
        self._cancelled: deque[_Ticket] = deque()
        self._file, self._places, self._modules = _packed(dataset, batchify, count)
        self._pid = os.getpid()
        self._start()

    # -- starting and ending -------------------------------------------------------------------

    def _start(self) -> None:
        setup: Setup = {
            "environment": environment(),
            "path": list(sys.path),
            "arguments": list(sys.argv),
            "folder": os.getcwd(),
        }
        try:
            nursery = nursery_for(setup, self._modules)
            self._workers = [_Worker(nursery) for _ in range(self._count)]
        except ChannelClosed:  # somebody has killed it; there is a new one now
            nursery = nursery_for(setup, self._modules)
            self._workers = [_Worker(nursery) for _ in range(self._count)]
        setup |= {"mode": (mode.shape, mode.array), "places": self._places}
        for worker in self._workers:
            worker.channel.send(setup, [self._file])

    def _stop(self, error: BaseException) -> None:
        """Ends all workers; batches that are not made fail with this error."""
        workers, self._workers = self._workers, []
        for worker in workers:
            for ticket in worker.tickets.values():
                ticket.is_done, ticket.error = True, error
            worker.close()
            worker.nursery.end_worker(worker.number)

    def close(self) -> None:
        """Ends the processes; returns at once. Batches that were made stay as they are."""
        if os.getpid() != self._pid:
            # In a forked child: they are the parent's, and so are threads that may hold the lock.
            for worker in self._workers:
                worker.close()
            os.close(self._file)
            return
        with self._lock:
            self._stop(WorkerError("DataLoader: this loader is closed"))
            os.close(self._file)

    # -- batches -------------------------------------------------------------------------------

    def submit(self, positions: Sequence[int]) -> _Ticket:
        """Queues a batch to be made; returns the ticket for it."""
        ticket = _Ticket(self._submitted, [_plain(position) for position in positions])
        seed = (_entropy() + 0x9E3779B1 * self._submitted) & 0xFFFFFFFF
        with self._lock, self._whole():
            self._submitted += 1
            self._look(0)
            if not self._workers:
                self._start()
            worker = min(self._workers, key=lambda worker: len(worker.tickets))
            worker.tickets[ticket.number] = ticket
            self._hand_over(worker, ticket, seed)
        return ticket

    def _hand_over(self, worker: _Worker, ticket: _Ticket, seed: int) -> None:
        message = ("make", ticket.number, seed, ticket.positions, worker.lent.returned())
        with contextlib.suppress(ChannelClosed):  # the next look says why
            self._pass_on_cancelled()
            worker.channel.send(message)

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Ends the workers where something is interrupted that cannot be done by half."""
        try:
            yield
        except BaseException:
            # Ctrl-C may have struck between two halves of a message: nothing can be read from
            # these workers any more. After a timeout nothing is worth it.
            self._stop(WorkerError("DataLoader: a loop over this loader was interrupted"))
            raise

    def result(self, ticket: _Ticket, timeout: float) -> Any:
        """Returns the batch, for which it waits.

        Raises:
            LoaderTimeout: it takes more than `timeout` seconds.
            WorkerError: a worker has ended.
            Exception: what the dataset or `batchify` raised.
        """
        end = time.monotonic() + timeout
        while not ticket.is_done:
            with self._lock, self._whole():
                left = end - time.monotonic()
                if left <= 0:
                    raise timed_out(timeout, "processes")
                if not ticket.is_done:
                    self._look(min(left, _SLICE))
        if ticket.error is not None:
            raise ticket.error
        batch, ticket.batch = ticket.batch, None
        return batch

    def cancel(self, ticket: _Ticket) -> None:
        """Says that nobody will ask for this batch."""
        # A finalizer may say so while a message is being sent: the next batch's takes it along.
        if not ticket.is_done:
            ticket.is_done = True
            self._cancelled.append(ticket)
        ticket.batch = None

    def _pass_on_cancelled(self) -> None:
        while self._cancelled:
            number = self._cancelled.popleft().number
            for worker in self._workers:
                if number in worker.tickets:
                    worker.channel.send(("cancel", number))

    # -- what comes from them ------------------------------------------------------------------

    def _look(self, seconds: float) -> None:
        """Reads what the workers have sent, and waits for something so long."""
        poll = select.poll()
        workers = {worker.channel.fileno(): worker for worker in self._workers}
        for descriptor, worker in workers.items():
            poll.register(
                descriptor, select.POLLIN | (select.POLLOUT if worker.channel.is_writing else 0)
            )
        for descriptor, _ in poll.poll(1000 * seconds) if workers else ():
            worker = workers[descriptor]
            try:
                with contextlib.suppress(ChannelClosed):
                    worker.channel.flush()
                for message, descriptors in worker.channel.receive():
                    self._take(worker, message, descriptors)
                    if not self._workers:  # they are ended, and their channels closed
                        return
            except ChannelClosed:
                self._stop(_ended(worker))
                return

    def _take(self, worker: _Worker, message: Any, descriptors: list[int]) -> None:
        kind, *content = message
        if kind == "started":
            (worker.process,) = content
        elif kind == "refused":
            data, text = content
            self._stop(_raised(data, text, "could not take over the dataset"))
        elif kind == "cancelled":
            del worker.tickets[content[0]]
        else:
            number, *content = content
            ticket = worker.tickets.pop(number)
            if kind == "failed":
                data, text = content
                ticket.error = _raised(data, text, "raised what cannot be sent")
            else:
                self._receive(worker, ticket, *content, *descriptors)
            ticket.is_done = True

    def _receive(
        self,
        worker: _Worker,
        ticket: _Ticket,
        data: bytes,
        parts: Sequence[Any],
        segment: int | None,
        dropped: list[int],
        *descriptors: int,
    ) -> None:
        worker.lent.drop(dropped)
        buffers: list[Any] = []
        if segment is None:
            buffers = [bytearray(part) for part in parts]
        else:
            if descriptors:
                worker.lent.add(segment, descriptors[0])
            keeps = worker.lent.count < _KEPT_BATCHES
            view = memoryview(worker.lent.open(segment))
            buffers = [view[start : start + length] for start, length in parts]
            if not keeps:
                buffers = [bytearray(buffer) for buffer in buffers]
            del view
        if ticket.is_done:  # nobody wants it any more
            return
        try:
            ticket.batch = unpack(data, buffers)
        except Exception as error:
            ticket.error = error


def _plain(position: Any) -> Any:
    """Returns a position without NumPy's type, which takes ten times as long to send."""
    return position.item() if isinstance(position, np.integer) else position


def _packed(
    dataset: Samples, batchify: Any, count: int
) -> tuple[int, list[tuple[int, int]], list[str]]:
    """Puts what workers need into a file in memory.

    Returns:
        The file, where its parts are, and the modules that workers will import.
    """
    try:
        data, buffers, modules = pack((dataset, batchify))
    except Exception as error:
        raise ParameterError(
            f"DataLoader: with num_workers={count} the dataset and batchify_fn must be such as can "
            f"be sent to other processes, got: {error}; keep what cannot out of them (open it when "
            "it is first used), or use thread_pool=True"
        ) from error
    parts = [memoryview(data), *buffers]
    places, size = laid_out(parts)
    file = new_file(max(size, 1))
    with mmap.mmap(file, max(size, 1)) as memory:
        for (start, length), part in zip(places, parts, strict=True):
            memory[start : start + length] = part
    return file, places, modules


def _raised(data: bytes | None, text: str, otherwise: str) -> BaseException:
    """Returns an error of a worker, with its traceback there as the cause."""
    error: BaseException | None = None
    if data is not None:
        with contextlib.suppress(Exception):
            error = pickle.loads(data)
    if not isinstance(error, BaseException):
        error = WorkerError(f"DataLoader: a worker process {otherwise}; see its traceback above")
    error.__cause__ = _Traceback(text)
    return error


def _ended(worker: _Worker) -> WorkerError:
    """Returns the error for a worker that is not there any more."""
    code = worker.nursery.how_it_ended(worker.number)
    how = "ended"
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            how = f"was killed by {signal.Signals(-code).name}"
    elif code is not None:
        how = f"ended with exit code {code}"
    what = "while it had nothing to do"
    waiting = [ticket for ticket in worker.tickets.values() if not ticket.is_done]
    if waiting:
        first = ", ".join(map(str, waiting[0].positions[:8]))
        more = ", ..." if len(waiting[0].positions) > 8 else ""
        what = f"while it made the batch of samples {first}{more}"
    return WorkerError(
        f"DataLoader: worker process {worker.process or ''} {how} {what}; it may have taken too "
        "much memory, or a library in it has crashed"
    )

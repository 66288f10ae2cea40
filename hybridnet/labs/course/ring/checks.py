"""Lab 10: what is to hold of an all-reduce, tried in a ring of threads of which one runs at a time.

What threads say to each other goes through `send` and `receive` alone, so that what comes out does
not depend on which of them runs when; and where none can go on, that is seen and said.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from hybridnet.base.array_types import NumpyArray

from ...checking import Check, Wrong

_SIZES: Final = st.integers(1, 5)
_LENGTHS: Final = st.integers(0, 13)
#: Numbers whose sums depend on the order in which they are added.
_FLOATS: Final = (0.1, 0.2, 0.3, 0.7, 1.1, 1e-3, 1e4)


@dataclass(frozen=True, eq=False)
class _Arrays:
    """An array for each process of a ring."""

    arrays: tuple[NumpyArray, ...]

    def __str__(self) -> str:
        lines = [f"{len(self.arrays)} x {self.arrays[0].dtype}"]
        for rank, array in enumerate(self.arrays):
            lines.append(f"{rank}: {array.tolist()}")
        return "\n".join(lines)


def _arrays(dtype: str, elements: st.SearchStrategy[Any]) -> st.SearchStrategy[_Arrays]:
    def of(shape: tuple[int, int]) -> st.SearchStrategy[_Arrays]:
        size, length = shape
        row = st.lists(elements, min_size=length, max_size=length)
        rows = st.lists(row, min_size=size, max_size=size)
        return rows.map(lambda found: _Arrays(tuple(np.array(one, dtype) for one in found)))

    return st.tuples(_SIZES, _LENGTHS).flatmap(of)


class _Stopped(BaseException):
    """Ends a thread that waits for what never comes; no part's ``except Exception`` takes it."""


@dataclass
class _Process:
    """A process of a ring.

    Attributes:
        inbox: what has been sent to it and not received.
        sent: elements that it has sent.
        waits: 'send', 'receive', 'start', or '' where it has ended.
        result: what it has returned.
        error: what it has raised.
        turn: given to it when it may run.
    """

    inbox: deque[NumpyArray]
    sent: int = 0
    waits: str = "start"
    result: Any = None
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.turn: SimpleQueue[None] = SimpleQueue()


class _Ring:
    """Runs the part in a ring.

    Args:
        arrays: of the processes.
        waiting: whether `send` waits until the part is received.
    """

    def __init__(self, part: Any, arrays: _Arrays, *, waiting: bool) -> None:
        self.given = [array.copy() for array in arrays.arrays]
        self.processes = [_Process(deque()) for _ in self.given]
        self._waiting = waiting
        self._part = part
        self._back: SimpleQueue[None] = SimpleQueue()
        self._stopped = False
        self._run()

    def _run(self) -> None:
        ranks = range(len(self.processes))
        threads = [threading.Thread(target=self._one, args=(r,), daemon=True) for r in ranks]
        for thread in threads:
            thread.start()
        try:
            while (rank := next((r for r in ranks if self._can_go_on(r)), None)) is not None:
                self._let(rank)
                error = self.processes[rank].error
                if error is not None:
                    raise error
            self._see_the_end()
        finally:
            self._stopped = True
            for rank in ranks:
                if self.processes[rank].waits:
                    self._let(rank)

    def _let(self, rank: int) -> None:
        """Lets a process run until it waits or has ended."""
        self.processes[rank].turn.put(None)
        self._back.get()

    def _can_go_on(self, rank: int) -> bool:
        waits = self.processes[rank].waits
        if waits == "receive":
            return bool(self.processes[rank].inbox)
        if waits == "send":
            return not self._after(rank).inbox
        return waits == "start"

    def _after(self, rank: int) -> _Process:
        return self.processes[(rank + 1) % len(self.processes)]

    def _see_the_end(self) -> None:
        """Looks whether all have ended and nothing is left over."""
        waiting = {
            how: [rank for rank, one in enumerate(self.processes) if one.waits == how]
            for how in ("send", "receive")
        }
        if waiting["send"]:
            raise Wrong("deadlock", **{how: _listed(ranks) for how, ranks in waiting.items()})
        if waiting["receive"]:
            raise Wrong("starved", ranks=_listed(waiting["receive"]))
        for rank, process in enumerate(self.processes):
            if process.inbox:
                raise Wrong("left_over", rank=rank, count=len(process.inbox))

    def _one(self, rank: int) -> None:
        """The thread of a process."""
        process = self.processes[rank]
        process.turn.get()
        try:
            if not self._stopped:
                process.result = self._part.all_reduce(
                    rank, len(self.processes), self.given[rank], self._send(rank), self._get(rank)
                )
        except BaseException as error:
            process.error = error
        process.waits = ""
        self._back.put(None)

    def _pause(self, process: _Process, waits: str) -> None:
        """Gives the turn back until the process can go on."""
        process.waits = waits
        if not self._stopped:
            self._back.put(None)
            process.turn.get()
        if self._stopped:
            raise _Stopped

    def _send(self, rank: int) -> Callable[[Any], None]:
        def send(part: Any) -> None:
            process = self.processes[rank]
            check_sent(part, self.given[rank])
            process.sent += part.size
            self._after(rank).inbox.append(part.copy())
            if self._waiting:
                self._pause(process, "send")

        return send

    def _get(self, rank: int) -> Callable[[], NumpyArray]:
        def receive() -> NumpyArray:
            process = self.processes[rank]
            if not process.inbox:
                self._pause(process, "receive")
            return process.inbox.popleft()

        return receive


def check_sent(part: Any, given: NumpyArray) -> None:
    """Looks at what a process sends.

    Raises:
        Wrong: it is no array of its own array's dtype.
    """
    if not isinstance(part, np.ndarray):
        raise Wrong("no_part", found=type(part).__name__)
    if part.dtype != given.dtype:
        raise Wrong("part_dtype", found=part.dtype, wanted=given.dtype)


def check_result(rank: int, result: Any, given: NumpyArray) -> None:
    """Looks at the kind of what a process returns.

    Raises:
        Wrong: it is no array of its own array's shape and dtype.
    """
    wanted = f"{given.dtype} {given.shape}"
    if not isinstance(result, np.ndarray):
        raise Wrong("kind", rank=rank, found=type(result).__name__, wanted=wanted)
    if (result.shape, result.dtype) != (given.shape, given.dtype):
        raise Wrong("kind", rank=rank, found=f"{result.dtype} {result.shape}", wanted=wanted)


def _listed(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks)) or "-"


def _results(part: Any, example: _Arrays, *, waiting: bool = False) -> list[NumpyArray]:
    """Returns what the processes return, each an array like its own."""
    ring = _Ring(part, example, waiting=waiting)
    for rank, process in enumerate(ring.processes):
        check_result(rank, process.result, example.arrays[rank])
    return [process.result for process in ring.processes]


def _ends(part: Any, example: _Arrays) -> None:
    _Ring(part, example, waiting=False)


def _adds(part: Any, example: _Arrays, *, waiting: bool = False) -> None:
    wanted = np.sum(example.arrays, axis=0)
    for rank, result in enumerate(_results(part, example, waiting=waiting)):
        if not np.array_equal(result, wanted):
            raise Wrong("sum", rank=rank, found=result.tolist(), wanted=wanted.tolist())


def _adds_when_sends_wait(part: Any, example: _Arrays) -> None:
    _adds(part, example, waiting=True)


def _leaves_its_array(part: Any, example: _Arrays) -> None:
    ring = _Ring(part, example, waiting=False)
    for rank, process in enumerate(ring.processes):
        given, before = ring.given[rank], example.arrays[rank]
        if not (given is process.result or np.array_equal(given, before)):
            raise Wrong("changed", rank=rank, before=before.tolist(), after=given.tolist())


def _same_bits(part: Any, example: _Arrays) -> None:
    results = _results(part, example)
    wanted = np.sum([one.astype("float64") for one in example.arrays], axis=0)
    for rank, result in enumerate(results):
        if not np.allclose(result, wanted, rtol=1e-5):
            raise Wrong("sum", rank=rank, found=result.tolist(), wanted=wanted.tolist())
        unequal = np.nonzero(result != results[0])[0]
        if len(unequal):
            at = int(unequal[0])
            raise Wrong(
                "bits", rank=rank, at=at, found=repr(result[at]), other=repr(results[0][at])
            )


def most(size: int, length: int) -> int:
    """Returns how many elements a process of a ring may send: 2 (size - 1) parts of the longest."""
    return 2 * (size - 1) * -(-length // size)


def _sends_little(part: Any, example: _Arrays) -> None:
    ring = _Ring(part, example, waiting=False)
    size, length = len(ring.given), len(ring.given[0])
    for rank, process in enumerate(ring.processes):
        if process.sent > most(size, length):
            raise Wrong(
                "much", rank=rank, count=process.sent, most=most(size, length),
                length=length, size=size,
            )  # fmt: skip


_INTEGERS: Final = _arrays("int64", st.integers(-9, 9))
_INEXACT: Final = _arrays("float32", st.sampled_from(_FLOATS))

CHECKS: Final = (
    Check("ends", _ends, _INTEGERS),
    Check("adds", _adds, _INTEGERS),
    Check("leaves", _leaves_its_array, _INTEGERS),
    Check("waits", _adds_when_sends_wait, _INTEGERS),
    Check("bits", _same_bits, _INEXACT),
    Check("little", _sends_little, _INTEGERS),
)

"""`Coordinator`: threads that end together, and whose errors are raised where they are joined.

`LooperThread` is one that calls a function again and again until they are to end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, final

from hybridnet.engine import Flag, RLock

from ..errors import OutOfRangeError

__all__ = ["Coordinator", "LooperThread"]


@final
class Coordinator:
    """A coordinator of threads: all of them stop when one of them requests it or fails.

    Args:
        clean_stop_exception_types: the errors that mean the end of the data and are no failure;
            default `tf.errors.OutOfRangeError`.
    """

    def __init__(self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None):
        ends = clean_stop_exception_types
        self._clean = (OutOfRangeError,) if ends is None else tuple(ends)
        self._lock = RLock()
        self._stop = Flag()
        self._error: BaseException | None = None
        self._threads: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Whether no thread that it knows is alive."""
        return not any(one.is_alive() for one in self._threads)

    def should_stop(self) -> bool:
        """Whether the threads are to end."""
        return self._stop.is_set

    def request_stop(self, ex: Any = None) -> None:
        """Requests that the threads stop.

        Args:
            ex: the reason, if it is an error: an exception, which `join` raises, or the result of
                `sys.exc_info`.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        with self._lock:
            clean = error is None or isinstance(error, self._clean)
            if not clean and self._error is None and not self._stop.is_set:
                self._error = error
            self._stop.set()

    def clear_stop(self) -> None:
        """Lets threads be started again."""
        with self._lock:
            self._error = None
            if self._stop.is_set:  # else somebody may be waiting for it
                self._stop = Flag()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """A block whose error ends all threads, and is raised where they are joined."""
        try:
            yield
        except BaseException as error:
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until the threads are to end; returns whether they are."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread that `join` waits for."""
        with self._lock:
            self._threads.add(thread)

    def raise_requested_exception(self) -> None:
        """Raises the error that the threads ended for, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error

    def join(
        self,
        threads: Sequence[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until threads have ended.

        Args:
            threads: for which besides those that were registered.
            stop_grace_period_secs: how many seconds they have to end once they are to.
            ignore_live_threads: whether it is no error that they have not.

        Raises:
            RuntimeError: they have not ended by then.
            BaseException: what `request_stop` was given.
        """
        every = {*self._threads, *(threads or ())}
        while any(one.is_alive() for one in every) and not self.wait_for_stop(0.05):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for one in every:
            one.join(max(end - time.monotonic(), 0.0))
        late = [one.name for one in every if one.is_alive()]
        self.raise_requested_exception()
        if late and not ignore_live_threads:
            raise RuntimeError(
                f"Coordinator stopped with threads still running: {' '.join(sorted(late))}"
            )
        with self._lock:
            self._threads.clear()


class LooperThread(threading.Thread):
    """Calls a function every so often; derive from it, or give it one.

    Args:
        coord: has it end, and is told of its errors.
        timer_interval_secs: how many seconds lie between two calls; None: none.
        target: the function; default `run_loop`.
        args, kwargs: for it.

    Raises:
        ValueError: there is no coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._called, self._given, self._named = target, tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls a function; returns it."""
        made = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        made.start()
        return made

    def run(self) -> None:
        """Calls the function, the first time at once."""
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.wait_for_stop(max(due - time.monotonic(), 0.0)):
                due += self._interval or 0.0
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called before the first time."""

    def run_loop(self) -> None:
        """Called each time; calls the function."""
        if self._called is not None:
            self._called(*self._given, **self._named)

    def stop_loop(self) -> None:
        """Called after the last time."""

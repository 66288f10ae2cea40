"""`LooperThread`: a thread that calls a function again and again until others are to end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .coordinator import Coordinator

__all__ = ["LooperThread"]


class LooperThread(threading.Thread):
    """Calls a function every so often; derive from it, or give it one.

    Args:
        coord: has it end, and is told of its errors.
        timer_interval_secs: how many seconds lie between two calls; None: none.
        target: the function; default `run_loop`.
        args: for it.
        kwargs: for it.

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

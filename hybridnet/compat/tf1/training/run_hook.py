"""`SessionRunHook`: what happens around each run of a monitored session, and how it is told."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, final

from .rates import get_global_step

__all__ = [
    "SecondOrStepTimer", "SessionRunArgs", "SessionRunContext", "SessionRunHook",
    "SessionRunValues",
]  # fmt: skip


class SessionRunArgs(NamedTuple):
    """The fetches and feeds that a hook adds to a run.

    Attributes:
        fetches: what to fetch, as for `Session.run`.
        feed_dict: what to feed, as for `Session.run`.
        options: the `RunOptions`, where the hook wants the run traced.
    """

    fetches: Any
    feed_dict: Mapping[Any, Any] | None = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a run, as a hook gets them.

    Attributes:
        results: the values of the hook's fetches, in the same structure.
        options: the `RunOptions` of the run.
        run_metadata: the `RunMetadata` of the run.
    """

    results: Any
    options: Any = None
    run_metadata: Any = None


@final
class SessionRunContext:
    """A run, as hooks see it.

    Args:
        original_args: what the loop asked for.
        session: that runs it.

    Attributes:
        original_args, session: as given.
        stop_requested: whether the loop is to end after this run.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self.original_args = original_args
        self.session = session
        self.stop_requested = False

    def request_stop(self) -> None:
        """Requests that the loop end after this run."""
        self.stop_requested = True


class SessionRunHook:
    """A hook that a `MonitoredSession` calls around each run; derive from it."""

    def begin(self) -> None:
        """Called once, before the graph is finalized: Operations can be added."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when variables are initialized or restored."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns what is to be fetched and fed besides."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that did not fail."""

    def end(self, session: Any) -> None:
        """Called when the loop has ended without an error."""


class StepHook(SessionRunHook):
    """A hook that looks at the global step."""

    def begin(self) -> None:
        """Finds the global step.

        Raises:
            RuntimeError: there is none.
        """
        self._step = get_global_step()
        if self._step is None:
            raise RuntimeError(f"Global step should be created to use {type(self).__name__}.")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the global step."""
        return SessionRunArgs(self._step)


class SecondOrStepTimer:
    """Tells at which steps something is due.

    Args:
        every_secs: how many seconds lie between.
        every_steps: or how many steps.

    Raises:
        ValueError: both are given, or neither.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise ValueError("exactly one of every_secs and every_steps should be provided.")
        self._secs, self._steps = every_secs, every_steps
        self._last: tuple[int, float] | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is due at a step."""
        if self._last is None:
            return True
        last, at = self._last
        if step == last:
            return False
        if self._secs is not None:
            return time.monotonic() >= at + self._secs
        assert self._steps is not None
        return step >= last + self._steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that it was done; returns seconds and steps since the last time, or Nones."""
        now = time.monotonic()
        last, self._last = self._last, (step, now)
        return (None, None) if last is None else (now - last[1], step - last[0])

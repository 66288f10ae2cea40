"""Hooks of monitored sessions: what happens around each run of a training loop."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from .run_hook import (
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepHook,
)
from .saver import Saver

__all__ = [
    "CheckpointSaverHook", "CheckpointSaverListener", "FeedFnHook", "FinalOpsHook",
    "GlobalStepWaiterHook", "LoggingTensorHook", "NanLossDuringTrainingError", "NanTensorHook",
    "StopAtStepHook",
]  # fmt: skip

log: Final = logging.getLogger("hybridnet.tf1")
#: Seconds between two looks at the global step.
_LOOK: Final = 0.5


@final
class StopAtStepHook(StepHook):
    """Ends the loop after some steps.

    Args:
        num_steps: how many from the beginning of this loop;
        last_step: or the value of the global step to end at.

    Raises:
        ValueError: both are given, or neither.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise ValueError("One of num_steps or last_step must be specified.")
        self._num, self._last = num_steps, last_step

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Finds the last step."""
        if self._last is None:
            assert self._num is not None
            self._last = int(session.run(self._step)) + self._num

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Ends the loop at the last step."""
        assert self._last is not None
        # The run may have seen the step of before it: look again where that decides.
        if int(run_values.results) + 1 >= self._last and (
            int(run_context.session.run(self._step)) >= self._last
        ):
            run_context.request_stop()


@final
class LoggingTensorHook(SessionRunHook):
    """Logs tensors (``hybridnet.tf1``) every so often.

    Args:
        tensors: by the names to log them with, or a list of tensors or their names.
        every_n_iter: how many runs lie between;
        every_n_secs: or how many seconds.
        at_end: whether they are logged at the end, too.
        formatter: from a dict of values to the line to log.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[Mapping[str, Any]], str] | None = None,
    ) -> None:
        if (every_n_iter is None) == (every_n_secs is None) and not (
            at_end and every_n_iter is None
        ):
            raise ValueError("exactly one of every_n_iter and every_n_secs must be provided.")
        self._given = tensors
        self._at_end = at_end
        self._format = formatter
        self._timer = None
        if every_n_iter is not None or every_n_secs is not None:
            self._timer = SecondOrStepTimer(every_n_secs, every_n_iter)
        self._count = 0

    def begin(self) -> None:
        """Names the tensors."""
        given = self._given
        if not isinstance(given, Mapping):
            given = {one if isinstance(one, str) else one.name: one for one in given}
        self._tensors: dict[str, Any] = dict(given)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches them when it is time."""
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._tensors) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs them when it is time."""
        if self._due:
            self._log(run_values.results)
        self._count += 1

    def end(self, session: Any) -> None:
        """Logs them, if asked for."""
        if self._at_end:
            self._log(session.run(self._tensors))

    def _log(self, values: Mapping[str, Any]) -> None:
        if self._timer is not None:
            self._timer.update_last_triggered_step(self._count)
        text = ", ".join(f"{name} = {value}" for name, value in values.items())
        log.info("%s", self._format(values) if self._format is not None else text)


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number any more."""

    def __str__(self) -> str:
        return "NaN loss during training."


@final
class NanTensorHook(SessionRunHook):
    """Ends the loop when a loss is not a number.

    Args:
        loss_tensor: the loss.
        fail_on_nan_loss: whether that is an error.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fails = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at it."""
        if np.isnan(run_values.results).any():
            if self._fails:
                raise NanLossDuringTrainingError
            log.warning("the loss is not a number: the training loop ends")
            run_context.request_stop()


class CheckpointSaverListener:
    """A listener that a `CheckpointSaverHook` calls around each save; derive from it."""

    def begin(self) -> None:
        """Called once, before the graph is finalized."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a save."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called after a save; True ends the loop."""
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """Called after the last save."""


@final
class CheckpointSaverHook(StepHook):
    """Saves checkpoints every so often, when the loop begins, and when it ends.

    Args:
        checkpoint_dir: the folder.
        save_secs: how many seconds lie between;
        save_steps: or how many steps.
        saver: what saves; default a Saver of all variables.
        checkpoint_basename: what the names of files begin with.
        scaffold: whose saver it is, if it has one.
        listeners: what happens around saves.
    """

    def __init__(
        self,
        checkpoint_dir: Any,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._saver = saver if saver is not None else getattr(scaffold, "saver", None)
        self._listeners = list(listeners or ())

    def begin(self) -> None:
        """Makes the saver."""
        super().begin()
        if self._saver is None:
            self._saver = Saver()
        for one in self._listeners:
            one.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Saves what the loop begins with."""
        self._save(session, int(session.run(self._step)))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves when it is time."""
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step) and self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        """Saves what the loop ends with."""
        step = int(session.run(self._step))
        if step != self._saved:
            self._save(session, step)
        for one in self._listeners:
            one.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Saves; returns whether a listener wants the loop to end."""
        assert self._saver is not None
        self._timer.update_last_triggered_step(step)
        self._saved = step
        for one in self._listeners:
            one.before_save(session, step)
        self._saver.save(session, self._path, global_step=step)
        answers = [one.after_save(session, step) for one in self._listeners]  # each is asked
        return any(answers)


@final
class FeedFnHook(SessionRunHook):
    """Feeds each run.

    Args:
        feed_fn: returns a dict of what is fed.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Feeds what the function returns."""
        return SessionRunArgs(None, feed_dict=self.feed_fn())


@final
class FinalOpsHook(SessionRunHook):
    """Fetches something when the loop has ended.

    Args:
        final_ops: what, as for `Session.run`.
        final_ops_feed_dict: what it is fed.

    Attributes:
        final_ops_values: what was fetched; None before.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self.final_ops_values: Any = None

    def end(self, session: Any) -> None:
        """Fetches it."""
        if self._ops is not None:
            self.final_ops_values = session.run(self._ops, feed_dict=self._feeds)


@final
class GlobalStepWaiterHook(StepHook):
    """A hook that makes a worker wait for a global step, so that workers start one by one.

    Args:
        wait_until_step: the global step to wait for, which other workers reach.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._until = wait_until_step
        self._is_there = wait_until_step <= 0

    def before_run(self, run_context: SessionRunContext) -> None:
        """Waits, before the first run."""
        while not self._is_there:
            step = int(run_context.session.run(self._step))
            self._is_there = step >= self._until
            if not self._is_there:
                log.info("waiting for global step %d; it is %d", self._until, step)
                time.sleep(_LOOK)

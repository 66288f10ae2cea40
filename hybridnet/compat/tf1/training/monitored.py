"""`MonitoredTrainingSession`: a session that initializes or restores, with hooks around runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet.session import RunMetadata

from ..errors import OutOfRangeError
from ..graph.graph import get_default_graph
from ..queues.coordinator import Coordinator
from ..queues.runner import start_queue_runners
from .hooks import CheckpointSaverHook
from .reporting import StepCounterHook, SummarySaverHook
from .run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from .scaffold import ChiefSessionCreator, Scaffold, WorkerSessionCreator
from .session_manager import LOST

__all__ = ["MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession"]

_log: Final = logging.getLogger("hybridnet.cluster")
#: What is no error, but the end of the data.
_ENDS: Final = (OutOfRangeError, StopIteration)
#: Seconds after which it does not try any more.
_GIVE_UP: Final = 7200.0
#: How often in a row it is made anew without a run that ends.
_TRIES: Final = 10
#: Seconds between two attempts.
_LOOK: Final = 0.2

#: How often checkpoints are saved unless told otherwise, in seconds.
_SAVE_SECS: Final = 600
#: How often summaries are written unless told otherwise, in steps.
_SUMMARIES: Final = 100
_DEFAULT: Final = object()


class _Monitored:
    """The base class of both kinds of monitored sessions.

    Attributes:
        graph: the graph that is run.
    """

    #: Seconds for which a session is made anew after a task was lost; 0: it is not.
    _patience = 0.0

    def __init__(
        self,
        session_creator: Any = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._hooks = list(hooks or ())
        self._grace = stop_grace_period_secs
        self.graph = get_default_graph()
        self._coordinator = Coordinator()
        self._tries = 0
        for one in self._hooks:
            one.begin()
        self._creator = session_creator or ChiefSessionCreator()
        self._session: Any = None
        self._stops = False
        self._create()

    def _create(self) -> None:
        """Makes the session; while tasks are away, again."""
        end = time.monotonic() + self._patience
        while True:
            try:
                session = self._session = self._creator.create_session()
                coordinator = self._coordinator = Coordinator(_ENDS)
                start_queue_runners(session, coordinator)
                for one in self._hooks:
                    one.after_create_session(session, coordinator)
                return
            except LOST as error:
                if time.monotonic() > end:
                    raise
                _log.warning("the session could not be made, and is tried again: %s", error)
                self._close_session()
                time.sleep(_LOOK)

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Runs what is asked for, and what the hooks ask for; see `Session.run`.

        Where a task was lost, the session is made anew, with what the last checkpoint held, and
        it is run again.

        Raises:
            RuntimeError: it is closed, or a hook feeds what is fed already.
            tf.errors.UnavailableError, tf.errors.AbortedError: a task was lost again each time.
        """
        while True:
            self._check_open()
            try:
                found = self._run(fetches, feed_dict, options, run_metadata)
            except Exception as error:
                self._renew(self._cause(error))
            else:
                self._tries = 0
                return found

    def _cause(self, error: BaseException) -> BaseException:
        """Returns why a run failed: a thread beside it may have failed first."""
        try:
            self._coordinator.raise_requested_exception()
        except Exception as first:
            return first
        return error

    def _renew(self, error: BaseException) -> None:
        """Makes the session anew after an error, if it is of that kind; raises it otherwise."""
        if not self._patience or not isinstance(error, LOST):
            raise error
        self._tries += 1
        if self._tries > _TRIES:
            raise type(error)(
                f"the session was made anew {_TRIES} times, and no run has ended since: {error}"
            ) from error
        _log.warning("the session is made anew: %s", error)
        self._close_session()
        self._create()

    def _run(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), self._session)
        asked: dict[Any, Any] = {}
        feeds = dict(feed_dict or {})
        for number, one in enumerate(self._hooks):
            wanted = one.before_run(context)
            if wanted is None:
                continue
            if wanted.fetches is not None:
                asked[number] = wanted.fetches
            options = wanted.options if options is None else options
            for key, value in (wanted.feed_dict or {}).items():
                if key in feeds:
                    raise RuntimeError(f"Same tensor is fed by two hooks or the caller: {key}")
                feeds[key] = value
        if options is not None and run_metadata is None:
            run_metadata = RunMetadata()
        found = self._session.run({"caller": fetches, **asked}, feeds, options, run_metadata)
        for number, one in enumerate(self._hooks):
            one.after_run(context, SessionRunValues(found.get(number), options, run_metadata))
        self._stops = self._stops or context.stop_requested
        return found["caller"]

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls a function with a step context, whose ``session`` runs without hooks.

        Args:
            step_fn: takes the context, which has ``session``, ``run_with_hooks`` and
                ``request_stop``.
        """
        self._check_open()
        return step_fn(_StepContext(self))

    def should_stop(self) -> bool:
        """Whether the loop is to end: a hook has asked for it, or it is closed."""
        if self._stops or self._session is None:
            return True
        try:
            self._coordinator.raise_requested_exception()
        except LOST as error:
            self._renew(error)
        return self._coordinator.should_stop()

    def close(self) -> None:
        """Ends the loop: hooks are told, and the session is closed."""
        if self._session is not None:
            for one in self._hooks:
                one.end(self._session)
            self._close_session()

    def _close_session(self) -> None:
        session, self._session = self._session, None
        self._coordinator.request_stop()
        if session is not None:
            session.stop_waiting()
            try:
                self._coordinator.join((), self._grace, ignore_live_threads=True)
            except Exception as error:
                _log.info("a thread of the session that is closed had failed: %s", error)
            session.close()

    def _check_open(self) -> None:
        if self._session is None:
            raise RuntimeError("Run called even after should_stop requested, or after close.")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        ended = isinstance(error, _ENDS)
        try:
            if error is None or ended:
                self.close()
        finally:
            self._close_session()
        return ended  # the data have come to their end


@final
class _StepContext:
    """The argument of a step function.

    Attributes:
        session: the session; its runs call no hooks.
        run_with_hooks: runs the session with hooks; as `MonitoredSession.run`.
    """

    def __init__(self, monitored: _Monitored) -> None:
        self.session = monitored._session
        self.run_with_hooks = monitored.run
        self._monitored = monitored

    def request_stop(self) -> None:
        """Ends the loop: `should_stop` is true from now on, and StopIteration is raised."""
        self._monitored._stops = True
        raise StopIteration("step_fn has requested the iterations to stop.")


@final
class MonitoredSession(_Monitored):
    """A session with hooks around each run.

        with tf.train.MonitoredSession(hooks=[...]) as sess:
            while not sess.should_stop():
                sess.run(train_op)

    The end of the data (`tf.errors.OutOfRangeError`) ends the loop without an error.

    Args:
        session_creator: what makes the session.
        hooks: what happens around runs.
        stop_grace_period_secs: how many seconds its threads have to end.
    """

    _patience = _GIVE_UP


@final
class SingularMonitoredSession(_Monitored):
    """As `MonitoredSession`, with the session itself at hand.

    Args:
        hooks, stop_grace_period_secs: as for `MonitoredSession`.
        scaffold, config, checkpoint_dir, checkpoint_filename_with_path: as for
            `ChiefSessionCreator`.
        master: the target of the session: '' for this process, or that of a `Server`. Where a task
            is lost, a run fails, and the session is not made anew.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        path = checkpoint_filename_with_path
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, path)
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Returns the session, which runs without hooks."""
        return self._session


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = _DEFAULT,
    save_summaries_steps: Any = _DEFAULT,
    save_summaries_secs: Any = _DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = _DEFAULT,
    summary_dir: Any = None,
) -> MonitoredSession:
    """Returns a session for a training loop: it restores, saves and counts steps.

    Args:
        master: its target: '' for this process, or that of a `Server`. Where a task is lost, the
            session is made anew and goes on from the last checkpoint.
        is_chief: whether this process initializes and saves; others wait until it has.
        checkpoint_dir: where checkpoints are restored from and saved to; None for neither.
        chief_only_hooks: what happens around runs in the chief only.
        save_checkpoint_secs: how many seconds lie between checkpoints; default 600.
        save_summaries_steps: how many steps lie between summaries; default 100.
        save_summaries_secs: or how many seconds.
        scaffold, hooks, config, stop_grace_period_secs: as for `SingularMonitoredSession`.
        log_step_count_steps: how often steps a second are logged; None for never.
        max_wait_secs: how long to wait for the chief.
        save_checkpoint_steps: or how many steps.
        summary_dir: the folder of the summaries; default `checkpoint_dir`.
    """
    secs, steps = _chosen(save_checkpoint_secs, save_checkpoint_steps, (_SAVE_SECS, None))
    every_secs, every = _chosen(save_summaries_secs, save_summaries_steps, (None, _SUMMARIES))
    scaffold = scaffold or Scaffold()
    if not is_chief:
        waits = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(waits, hooks, stop_grace_period_secs)
    listed = [*(hooks or ()), *(chief_only_hooks or ())]
    folder = checkpoint_dir if summary_dir is None else summary_dir
    if folder is not None:
        if log_step_count_steps:
            listed.append(StepCounterHook(log_step_count_steps, output_dir=folder))
        if every_secs or every:
            listed.append(SummarySaverHook(every, every_secs, folder, scaffold=scaffold))
    if checkpoint_dir is not None and (secs or steps):
        listed.append(CheckpointSaverHook(checkpoint_dir, secs, steps, scaffold=scaffold))
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, listed, stop_grace_period_secs)


def _chosen(secs: Any, steps: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """Returns seconds and steps between two of something, or Nones."""
    if secs is _DEFAULT and steps is _DEFAULT:
        return default
    return None if secs is _DEFAULT else secs, None if steps is _DEFAULT else steps

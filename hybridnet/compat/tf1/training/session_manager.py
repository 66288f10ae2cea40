"""`SessionManager`: makes sessions whose variables are restored, initialized or waited for."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, final

from ..errors import AbortedError, DeadlineExceededError, UnavailableError
from ..graph.graph import Graph, get_default_graph
from ..session.session import Session
from .saver import Saver, latest_checkpoint

__all__ = ["SessionManager"]

_log: Final = logging.getLogger("hybridnet.tf1")

#: Seconds after which a worker that waits for the chief says so.
_LONG = 30.0

#: What is tried again: a task died, or was started anew.
LOST = (AbortedError, UnavailableError)


@final
class SessionManager:
    """Makes sessions that are ready.

        manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
        sess = manager.prepare_session(master, init_op, saver, checkpoint_dir)     # the chief
        sess = manager.wait_for_session(master)                                    # the others

    Args:
        local_init_op: what initializes local variables, or None.
        ready_op: what is fetched to see whether a session is ready: names, none if it is.
        ready_for_local_init_op: likewise, before `local_init_op` runs.
        graph: of the sessions; default the default one.
        recovery_wait_secs: how many seconds lie between two looks.
        local_init_run_options: of the run of `local_init_op`.
        local_init_feed_dict: what that is fed.

    Raises:
        ValueError: there is a `ready_for_local_init_op` and nothing that it is for.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError("ready_for_local_init_op needs a local_init_op")
        self._graph = get_default_graph() if graph is None else graph
        self._local, self._local_feeds = local_init_op, local_init_feed_dict
        self._local_options = local_init_run_options
        self._ready, self._ready_for_local = ready_op, ready_for_local_init_op
        self._pause = recovery_wait_secs

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Saver | None = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """Returns a session with the last checkpoint, or with the variables initialized.

        Args:
            master: the target of the session.
            init_op: what initializes the variables.
            saver: what restores them.
            checkpoint_dir: the folder of the checkpoints;
            checkpoint_filename_with_path: or the checkpoint.
            wait_for_checkpoint: whether to wait until there is one.
            max_wait_secs: how long.
            config: of the session.
            init_feed_dict: what `init_op` is fed.
            init_fn: called with the session after `init_op`.

        Raises:
            RuntimeError: there is nothing to initialize with, or variables have no value then.
        """
        session, is_loaded = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path,
            wait_for_checkpoint, max_wait_secs, config,
        )  # fmt: skip
        if not is_loaded:
            if init_op is None and init_fn is None and self._local is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            with _closing(session):
                if init_op is not None:
                    session.run(init_op, init_feed_dict)
                if init_fn is not None:
                    init_fn(session)
        with _closing(session):
            left = self._made_ready(session)
            if left:
                raise RuntimeError(
                    f"variables have no value after init_op, init_fn and local_init_op: {left}"
                )
        return session

    def recover_session(
        self,
        master: str,
        saver: Saver | None = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """Returns a session, with the last checkpoint if there is one, and whether it is ready."""
        session, is_loaded = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path,
            wait_for_checkpoint, max_wait_secs, config,
        )  # fmt: skip
        with _closing(session):
            return session, is_loaded and not self._made_ready(session)

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float = float("inf")
    ) -> Session:
        """Returns a session when another process has initialized, or restored, the variables.

        Raises:
            tf.errors.DeadlineExceededError: it has not after `max_wait_secs`.
        """
        end = time.monotonic() + (float("inf") if max_wait_secs is None else max_wait_secs)
        while True:
            try:
                session = Session(master, graph=self._graph, config=config)
                with _closing(session):
                    self._wait_until_ready(session, end, max_wait_secs)
                return session
            except LOST:
                if time.monotonic() > end:
                    raise
                time.sleep(self._pause)

    def _wait_until_ready(self, session: Session, end: float, seconds: float) -> None:
        tell = time.monotonic() + _LONG
        while left := self._made_ready(session):
            now = time.monotonic()
            if now > end:
                raise DeadlineExceededError(f"variables have no value after {seconds:g} s: {left}")
            if now >= tell:
                tell = float("inf")
                _log.warning(
                    "still waiting for the chief (task 0), which must initialize or restore these "
                    "variables where this worker sees them: %s",
                    left,
                )
            time.sleep(self._pause)

    def _made_ready(self, session: Session) -> str:
        """Initializes local variables; returns which variables have no value, as text."""
        left = _names(session, self._ready_for_local)
        if left:
            return left
        if self._local is not None:
            session.run(self._local, self._local_feeds, options=self._local_options)
        return _names(session, self._ready)

    def _restored(
        self, master: str, saver: Saver | None, folder: Any, path: Any, wait: bool,
        max_wait_secs: float, config: Any,
    ) -> tuple[Session, bool]:  # fmt: skip
        """Returns a session, and whether its variables were restored."""
        if folder is not None and path is not None:
            raise ValueError("checkpoint_dir and checkpoint_filename_with_path exclude each other")
        if saver is not None and folder is not None:
            path = self._checkpoint(folder, max_wait_secs if wait else 0.0)
        session = Session(master, graph=self._graph, config=config)
        if saver is None or path is None:
            return session, False
        with _closing(session):
            saver.restore(session, path)
        return session, True

    def _checkpoint(self, folder: Any, seconds: float) -> Any:
        """Returns the last checkpoint, for which it waits so long; None if there is none."""
        end = time.monotonic() + seconds
        while (found := latest_checkpoint(folder)) is None and time.monotonic() < end:
            time.sleep(self._pause)
        return found


@contextmanager
def _closing(session: Session) -> Iterator[None]:
    """A block whose error closes a session."""
    try:
        yield
    except BaseException:
        session.close()
        raise


def _names(session: Session, op: Any) -> str:
    """Returns what a `ready_op` names, as text."""
    if op is None:
        return ""
    found = [one.decode() if isinstance(one, bytes) else str(one) for one in session.run(op)]
    return ", ".join([*found[:5], *(["..."] if len(found) > 5 else [])])

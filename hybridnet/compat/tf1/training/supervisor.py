"""`Supervisor`: what looked after training loops before monitored sessions did."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final, final

from ..graph.graph import Graph, GraphKeys, get_default_graph
from ..queues.coordinator import Coordinator, LooperThread
from ..session.session import Session
from ..summaries.values import merge_all
from ..summaries.writer import FileWriter
from ..variables.lists import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)
from .rates import get_global_step, global_step
from .reporting import write_rate
from .run_hook import SecondOrStepTimer
from .saver import Saver
from .scaffold import Scaffold, unset_globals
from .session_manager import SessionManager

__all__ = ["Supervisor"]

log: Final = logging.getLogger("hybridnet.tf1")


@final
class Supervisor:
    """Makes a session for a training loop, and has threads beside it save and summarize.

        sv = tf.train.Supervisor(is_chief=is_chief, logdir=folder, global_step=step)
        with sv.managed_session(server.target) as sess:
            while not sv.should_stop():
                sess.run(train)

    `MonitoredTrainingSession` does more: it goes on after a task was lost. The graph is finalized.

    Args:
        graph: of the session; default the default one.
        ready_op, ready_for_local_init_op, init_op, init_feed_dict, local_init_op: see `Scaffold`.
        is_chief: whether this process initializes, saves and summarizes; others wait for it.
        logdir: the folder of checkpoints and summaries; None for neither.
        summary_op: the summaries; default all of the graph; None: none.
        saver: what saves and restores; None: nothing is saved.
        global_step: what counts steps; default the graph's.
        save_summaries_secs: how many seconds lie between summaries; 0: there are none.
        save_model_secs: how many lie between checkpoints; 0: there are none.
        recovery_wait_secs: how many lie between two looks whether the chief is ready.
        stop_grace_secs: how many the threads have to end.
        checkpoint_basename: what the names of checkpoints begin with.
        session_manager: what makes sessions, in the place of a `SessionManager`.
        summary_writer: what writes summaries; default one for `logdir`; None: none.
        init_fn: called with the session after `init_op`.
        local_init_run_options: of the run of `local_init_op`.

    Attributes:
        is_chief, init_op, init_feed_dict, ready_op, ready_for_local_init_op, summary_op, saver,
        global_step, save_summaries_secs, save_model_secs, summary_writer, session_manager: as given
            or made.
        coord: the `Coordinator` of the threads.
        save_path: of the checkpoints, without the step; None: nothing is saved.
    """

    #: In the place of what is to be made.
    USE_DEFAULT: ClassVar[int] = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: Any = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        self.graph = get_default_graph() if graph is None else graph
        self.is_chief, self.coord = is_chief, Coordinator()
        self.init_feed_dict, self._init_fn = init_feed_dict, init_fn
        self.save_summaries_secs, self.save_model_secs = save_summaries_secs, save_model_secs
        self._grace = stop_grace_secs
        with self.graph.as_default():
            keys = GraphKeys
            self.ready_op = _or_made(ready_op, report_uninitialized_variables, keys.READY_OP)
            first = _or_made(ready_for_local_init_op, unset_globals, keys.READY_FOR_LOCAL_INIT_OP)
            local = _or_made(local_init_op, Scaffold.default_local_init_op, keys.LOCAL_INIT_OP)
            self.ready_for_local_init_op = None if local is None else first
            self.init_op = _or_made(init_op, global_variables_initializer, keys.INIT_OP)
            self.summary_op = _or_made(summary_op, merge_all, keys.SUMMARY_OP)
            self.saver = _or_made(
                saver, lambda: Saver() if global_variables() else None, keys.SAVERS
            )
            self.global_step = _or_made(global_step, get_global_step)
        self._folder = None if logdir is None or not is_chief else os.fspath(logdir)
        self.save_path = (
            os.path.join(self._folder, checkpoint_basename) if self._folder is not None else None
        )
        self.summary_writer: FileWriter | None = _or_made(
            summary_writer, lambda: None if self._folder is None else FileWriter(self._folder)
        )
        self.session_manager = session_manager or SessionManager(
            local_init_op=local,
            ready_op=self.ready_op,
            ready_for_local_init_op=self.ready_for_local_init_op,
            graph=self.graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._session: Session | None = None
        self.graph.finalize()

    # -- the session -------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Returns a session that is ready.

        Args:
            master: its target.
            config: of it.
            wait_for_checkpoint: whether the chief waits until there is one.
            max_wait_secs: how long to wait.
            start_standard_services: whether the threads are started.
        """
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()
        if self.is_chief:
            session = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._folder,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self._init_fn,
            )
            if self.summary_writer is not None:
                self.summary_writer.add_graph(self.graph)
        else:
            session = self.session_manager.wait_for_session(master, config, max_wait_secs)
        self._session = session
        if start_standard_services:
            if self.is_chief:
                self.start_standard_services(session)
            self.start_queue_runners(session)
        return session

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """A block with a session; its end, or an error in it, ends the threads.

        The end of the data (`tf.errors.OutOfRangeError`) is no error.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            with session.as_default():
                yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with suppress(Exception):  # what matters was raised already
                        session.close()

    # -- threads beside it -------------------------------------------------------------------

    def start_standard_services(self, sess: Any) -> list[LooperThread]:
        """Starts the threads that save and summarize; returns them.

        Raises:
            RuntimeError: this is not the chief.
        """
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief "
                "supervisors can write events."
            )
        if self._folder is None:
            log.warning("Standard services need a 'logdir' passed to the Supervisor")
            return []
        threads = []
        if self.save_summaries_secs and self.summary_writer is not None:
            if self.summary_op is not None:
                threads.append(self._every(self.save_summaries_secs, self._summarize, sess))
            if self.global_step is not None:
                timer = SecondOrStepTimer(self.save_summaries_secs)
                threads.append(self._every(self.save_summaries_secs, self._count, timer, sess))
        if self.saver is not None and self.save_model_secs:
            threads.append(self._every(self.save_model_secs, self._save, sess))
        for one in threads:
            one.start()
        return threads

    def _every(self, seconds: float, target: Callable[..., Any], *args: Any) -> LooperThread:
        return LooperThread(self.coord, seconds, target, args)

    def _summarize(self, sess: Any) -> None:
        self.summary_computed(sess, sess.run(self.summary_op))

    def _count(self, timer: SecondOrStepTimer, sess: Any) -> None:
        write_rate(timer, global_step(sess, self.global_step), self.summary_writer)

    def _save(self, sess: Any) -> None:
        assert self.saver is not None and self.save_path is not None
        self.saver.save(sess, self.save_path, global_step=self.global_step)

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> list[Any]:
        """Starts the threads that fill queues; returns them.

        Args:
            sess: the session.
            queue_runners: the `QueueRunner`s; default all of the graph.
        """
        if queue_runners is None:
            queue_runners = self.graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for one in queue_runners
            for thread in one.create_threads(sess, coord=self.coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls a function every so often; see `LooperThread.loop`."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Writes a summary.

        Args:
            sess: the session that it was fetched from.
            summary: what was fetched.
            global_step: at which step; default what the session says.

        Raises:
            RuntimeError: there is no writer.
        """
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = int(sess.run(self.global_step))
        self.summary_writer.add_summary(summary, global_step)

    # -- the end -----------------------------------------------------------------------------

    def should_stop(self) -> bool:
        """Whether the loop is to end."""
        return self.coord.should_stop()

    def request_stop(self, ex: Any = None) -> None:
        """Requests that the loop and the threads stop; see `Coordinator.request_stop`."""
        self.coord.request_stop(ex)

    def stop_on_exception(self) -> Any:
        """A block whose error ends the loop."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until the loop is to end."""
        self.coord.wait_for_stop()

    def stop(
        self, threads: Any = None, close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:  # fmt: skip
        """Stops the threads, and waits until they have ended.

        Args:
            threads: threads to wait for besides the supervisor's own.
            close_summary_writer: whether to close the file of the summaries; else it is flushed.
            ignore_live_threads: whether a thread that does not end is no error.

        Raises:
            BaseException: the error for which the loop or a thread ended.
        """
        self.coord.request_stop()
        if self._session is not None:
            self._session.stop_waiting()
        try:
            self.coord.join(threads, self._grace, ignore_live_threads)
        finally:
            if self.summary_writer is not None:
                (self.summary_writer.close if close_summary_writer else self.summary_writer.flush)()


def _or_made(given: Any, make: Callable[[], Any], key: str | None = None) -> Any:
    """Returns what was given; in the place of `USE_DEFAULT` what a collection has, or is made."""
    if given is not Supervisor.USE_DEFAULT:
        return given
    return make() if key is None else Scaffold.get_or_default(key, make)

"""`QueueRunner`: threads that keep a queue filled."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any, Final, final

from hybridnet.engine import RLock

from ..errors import CancelledError, OutOfRangeError
from ..graph.graph import GraphKeys, default_sessions, get_default_graph

__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]

log: Final = logging.getLogger("hybridnet.tf1")


@final
class QueueRunner:
    """Runs Operations that add to a queue, each in a thread of its own, until there is no more.

    Args:
        queue: the queue.
        enqueue_ops: what adds to it; the same one several times has as many threads.
        close_op: what closes it when all have come to their end; default its own.
        cancel_op: what closes it when the threads are to end; default its own, with what is
            waiting cancelled.
        queue_closed_exception_types: errors that are no failure, but the end of the data.

    Raises:
        ValueError: the queue or the Operations are missing.

    Attributes:
        queue, enqueue_ops, close_op, cancel_op: as given.
        name: that of the queue.
        exceptions_raised: what threads without a coordinator failed with.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[BaseException], ...] | None = None,
    ) -> None:
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self.queue = queue
        self.name: str = queue.name
        self.enqueue_ops = list(enqueue_ops)
        self.close_op = queue.close() if close_op is None else close_op
        self.cancel_op = (
            queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        )
        self._ends = queue_closed_exception_types or (OutOfRangeError, CancelledError)
        self._lock = RLock()
        self._left: dict[int, int] = {}
        self.exceptions_raised: list[BaseException] = []

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Returns the threads that run the Operations in a session.

        Args:
            sess: the session.
            coord: has them end, and is told of their errors; None: they run until the data end.
            daemon: whether the program may end while they run.
            start: whether they are started.
        """
        with self._lock:
            if self._left.get(id(sess), 0):
                return []
            self._left[id(sess)] = len(self.enqueue_ops)
        name = f"QueueRunner-{self.name}"
        threads = [
            threading.Thread(None, self._fill, name, (sess, op, coord)) for op in self.enqueue_ops
        ]
        if coord is not None:
            threads.append(threading.Thread(None, self._cancel, f"{name}-close", (sess, coord)))
        for one in threads:
            one.daemon = daemon
            if coord is not None:
                coord.register_thread(one)
            if start:
                one.start()
        return threads

    def _fill(self, sess: Any, op: Any, coord: Any) -> None:
        """Runs one Operation over and over."""
        ended = False
        try:
            while coord is None or not coord.should_stop():
                sess.run(op)
        except self._ends:
            ended = True
        except Exception as error:
            if coord is not None:
                coord.request_stop(error)
            else:
                log.error("a thread of %s failed: %s", self.name, error)
                self.exceptions_raised.append(error)
        if self._is_last(sess) and ended:
            self._close(sess, self.close_op)

    def _close(self, sess: Any, op: Any) -> None:
        try:
            sess.run(op)
        except Exception as error:  # the session may be closed
            log.info("%s could not be closed: %s", self.name, error)

    def _is_last(self, sess: Any) -> bool:
        with self._lock:
            self._left[id(sess)] -= 1
            return self._left[id(sess)] == 0

    def _cancel(self, sess: Any, coord: Any) -> None:
        """Ends what waits for the queue when the threads are to end."""
        coord.wait_for_stop()
        self._close(sess, self.cancel_op)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to a collection of the default graph."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts the threads of all runners of a collection; returns them.

    Args:
        sess: the session that they run in; default the one that is the default.
        coord, daemon, start: as for `QueueRunner.create_threads`.
        collection: of the runners.

    Raises:
        ValueError: there is no session.
    """
    session = default_sessions.top() if sess is None else sess
    if session is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to tf.start_queue_runners(sess=sess)"
        )
    runners = get_default_graph().get_collection(collection)
    return [
        thread
        for one in runners
        for thread in one.create_threads(session, coord, daemon=daemon, start=start)
    ]

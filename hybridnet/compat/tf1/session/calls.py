"""The Python of a run: functions of arrays, and what queues and accumulators are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import Any, NamedTuple, NoReturn, final

import numpy as np

from hybridnet.base import MXNetError, free_in_children
from hybridnet.clusters import ClusterRunner, LateError, SharedStore, SharedUse
from hybridnet.engine import RLock
from hybridnet.graph import Node
from hybridnet.session import Runner

from ..graph.host_call import HostCall

__all__ = ["Calls"]

Arrays = Sequence[np.ndarray[Any, Any]]


class _Pending(NamedTuple):
    """A question without an answer yet.

    Attributes:
        node: that asks it.
        answer: what comes of it.
        give_up: takes it back.
    """

    node: Node
    answer: Future[Sequence[Any]]
    give_up: Callable[[], None]


@final
class Calls:
    """Runs nodes of Python.

    Args:
        runner: whose runs they belong to.
        store: the queues and accumulators of this process, if they are not a cluster's.
    """

    def __init__(self, runner: Runner | ClusterRunner, store: SharedStore) -> None:
        self._shared = runner.shared if isinstance(runner, ClusterRunner) else store
        self._pending: set[_Pending] = set()
        self._lock = free_in_children(RLock())
        self._closed = False

    def run(
        self, nodes: Sequence[Node], given: Sequence[Arrays], timeout: float | None
    ) -> list[np.ndarray[Any, Any]]:
        """Runs nodes none of which needs another; what they ask is asked before functions run.

        Args:
            nodes: of `HostCall`s.
            given: the values of the inputs of each.
            timeout: seconds that an answer may take; None: any.

        Returns:
            What they return, one after the other.

        Raises:
            MXNetError: one failed; the others are not waited for.
        """
        pending: list[_Pending] = []
        try:
            for node, arrays in zip(nodes, given, strict=True):
                use = _call(node).use
                if use is not None:
                    pending.append(self._ask(node, use, arrays))
            made: dict[Node, list[Any]] = {}
            for node, arrays in zip(nodes, given, strict=True):
                if _call(node).use is None:
                    made[node] = self._called(node, arrays, timeout)
            self._wait(pending, timeout)
            for one in pending:
                made[one.node] = _call(one.node).checked(_result(one))
        finally:
            for one in pending:
                if not one.answer.done():
                    one.give_up()
            with self._lock:
                self._pending.difference_update(pending)
        return [one for node in nodes for one in made[node]]

    def close(self) -> None:
        """Gives up all that waits, and would wait from now on."""
        with self._lock:
            self._closed = True
            left = list(self._pending)
        for one in left:
            one.give_up()

    def _called(
        self, node: Node, arrays: Arrays, timeout: float | None
    ) -> list[np.ndarray[Any, Any]]:
        call = _call(node)
        given: Sequence[Any] = arrays
        if call.asks:
            given = [lambda use: self._answer(node, use, timeout), *arrays]
        try:
            return call.compute(given)
        except MXNetError as error:
            _raise(node, error)
        except Exception as error:  # a user's function may raise anything
            raise MXNetError(f"{node.title} failed: {error}") from error

    def _answer(self, node: Node, use: SharedUse, timeout: float | None) -> Sequence[Any]:
        """Asks something while a function runs, and waits for the answer."""
        one = self._ask(node, use, ())
        try:
            self._wait([one], timeout)
        finally:
            if not one.answer.done():
                one.give_up()
            with self._lock:
                self._pending.discard(one)
        return one.answer.result()

    def _ask(self, node: Node, use: SharedUse, arrays: Arrays) -> _Pending:
        try:
            asked = use.asked(arrays)
            give_up = self._shared.ask(use, asked)
        except MXNetError as error:
            _raise(node, error)
        made = _Pending(node, asked.answer, give_up)
        with self._lock:
            self._pending.add(made)
            closed = self._closed
        if closed:
            give_up()
        return made

    def _wait(self, pending: Sequence[_Pending], seconds: float | None) -> None:
        """Waits for answers, or for the first that is an error."""
        done, late = wait([one.answer for one in pending], seconds, FIRST_EXCEPTION)
        for one in pending:
            if one.answer in done:
                _result(one)
        for one in pending:
            if one.answer in late:
                _raise(one.node, LateError(f"there was no answer in {seconds:g} s"))


def _call(node: Node) -> HostCall:
    assert isinstance(node.call, HostCall)
    return node.call


def _result(one: _Pending) -> Sequence[Any]:
    error = one.answer.exception()
    if isinstance(error, MXNetError):
        _raise(one.node, error)
    return one.answer.result()


def _raise(node: Node, error: MXNetError) -> NoReturn:
    """Raises an error with the node that it is of."""
    raise type(error)(f"{node.title} failed: {error}") from error.__cause__

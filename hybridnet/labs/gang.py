"""Real processes that a run starts beside itself: what each returns, and that all of them end."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from types import TracebackType
from typing import Any, Final, final

from .checking import Wrong, place_in

#: Seconds until processes that have not ended are taken to wait for each other: less than the
#: frame gives a whole run, so that it can be said.
_LIMIT: Final = 280.0


@final
class Gang:
    """Processes, each of which calls a function; at the end of the ``with`` block all are ended.

    A process begins anew, with nothing of this one (as on another machine), so that functions and
    arguments must be such as can be pickled. Connections may be among the arguments.

    Args:
        file: the student's, of which errors name the line.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._context = multiprocessing.get_context("spawn")
        self._all: list[BaseProcess] = []
        self._results: dict[Any, tuple[BaseProcess, str]] = {}
        self._found: dict[str, Any] = {}
        self._deadline = monotonic() + _LIMIT

    def start(self, name: str, function: Callable[..., Any], *args: Any) -> BaseProcess:
        """Starts a process.

        Args:
            name: what it is called in messages.
            function: is called there.
            args: its arguments.
        """
        result, give = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_call, args=(give, self._file, function, args), daemon=True
        )
        process.start()
        give.close()  # so that its end is seen here when the process has ended
        self._all.append(process)
        self._results[result] = process, name
        return process

    def kill(self, process: BaseProcess) -> None:
        """Ends one at once by SIGKILL, with no result to wait for."""
        process.kill()
        process.join()
        self._results = {one: it for one, it in self._results.items() if it[0] is not process}

    def results(self, names: Sequence[str]) -> list[Any]:
        """Waits for what processes return; returns that.

        Raises:
            Wrong: one has raised an error, has died, or has not ended in time.
        """
        while not set(names) <= set(self._found):
            self._look()
        return [self._found[name] for name in names]

    def hear(self, connection: Connection) -> Any:
        """Waits for a message of a process on a connection; returns that.

        Raises:
            Wrong: as `results`.
        """
        while not connection.poll():
            self._look(connection)
        return connection.recv()

    def _look(self, *others: Connection) -> None:
        """Waits until a process has ended, or something comes on another connection."""
        ready = wait([*self._results, *others], max(0.0, self._deadline - monotonic()))
        if not ready:
            raise Wrong("process_hangs", seconds=round(_LIMIT))
        answers = [self._answer(one) for one in ready if one in self._results]
        # Where one has failed, its neighbours fail for want of it.
        for kind, name, value in sorted(answers, key=lambda answer: answer[0] == "gone"):
            if kind == "wrong":
                key, values = value
                raise Wrong(key, **values)
            if kind in ("raised", "gone"):
                raise Wrong("process_raised", process=name, error=value)
            if kind == "died":
                raise Wrong("process_died", process=name, status=value)
            self._found[name] = value

    def _answer(self, result: Any) -> tuple[str, str, Any]:
        process, name = self._results.pop(result)
        with result, suppress(EOFError):
            kind, value = result.recv()
            return kind, name, value
        process.join()
        return "died", name, process.exitcode

    def __enter__(self) -> Gang:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._all:
            process.kill()
        for process in self._all:
            process.join()


def _call(give: Connection, file: str, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Runs in a process: calls a function and gives what that returns."""
    try:
        answer: tuple[str, Any] = "returned", function(*args)
    except Wrong as error:
        answer = "wrong", (error.key, error.values)
    except Exception as error:
        place = place_in(error, file)
        where = "" if place is None else f" (part.py, {place.line}: {place.text})"
        kind = "gone" if isinstance(error, (EOFError, ConnectionError)) else "raised"
        answer = kind, f"{type(error).__name__}: {error}{where}"
    with suppress(BrokenPipeError):
        give.send(answer)

"""Runs contestants in a process of their own, by turns, as another process asks for them.

It has an interpreter of its own, too: MXNet needs one with an older NumPy. The other process
writes one JSON object a line and gets one back; between two requests the worker sleeps, so that
turns are interleaved as within one process. The seconds that the processors worked in turns, all
threads together, are among the facts: they say something on a busy machine, too.

    python benchmarks/worker.py        # {"do": "make", "work": "mlp", "contestant": "torch"}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from works.runner import Array, Runner


class WorkerError(RuntimeError):
    """A request failed in the worker; carries the worker's traceback."""


class Worker:
    """The asking side: one process, in which any number of contestants is made.

    Args:
        python: the interpreter.
        environment: variables that it has besides this process's.
    """

    def __init__(self, python: str, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [python, str(Path(__file__).resolve())],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def make(self, work: str, contestant: str) -> Runner:
        """Makes a contestant there and returns a runner that stands for it.

        Raises:
            WorkerError: it cannot be made, for example because its framework is missing.
        """
        self._ask(do="make", work=work, contestant=contestant)

        def ask(**request: Any) -> Any:
            return self._ask(contestant=contestant, **request)

        def answer() -> Array:
            return np.array(ask(do="answer"))

        def warm_up() -> None:
            ask(do="warm_up")

        return Runner(
            turn=lambda turns: float(ask(do="turn", turns=turns)),
            answer=answer,
            warm_up=warm_up,
            facts=lambda: dict(ask(do="facts")),
        )

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, **request: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"the worker ended with status {self._process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise WorkerError(reply["error"])
        return reply["value"]


def _serve(requests: Any, replies: Any) -> None:
    from works.catalog import contestants_of

    runners: dict[str, Runner] = {}
    # Seconds that the processors worked, by contestant, and in how many turns; since it was warm.
    worked: dict[str, list[float]] = {}

    def turn(contestant: str, turns: int) -> float:
        before = time.process_time()
        seconds = runners[contestant].turn(turns)
        so_far = worked.setdefault(contestant, [0.0, 0])
        so_far[0] += time.process_time() - before
        so_far[1] += turns
        return seconds

    def facts(contestant: str) -> dict[str, float]:
        seconds, turns = worked.get(contestant, [0.0, 1])
        return runners[contestant].facts() | {"CPU ms a turn": 1e3 * seconds / turns}

    def handle(do: str, contestant: str, work: str = "", turns: int = 0) -> Any:
        if do == "make":
            runners[contestant] = contestants_of(work)[contestant]()
            return None
        if do == "turn":
            return turn(contestant, turns)
        if do == "facts":
            return facts(contestant)
        if do == "answer":
            return runners[contestant].answer().tolist()
        worked.pop(contestant, None)
        return runners[contestant].warm_up()

    for line in requests:
        try:
            reply = {"value": handle(**json.loads(line))}
        except Exception:
            reply = {"error": traceback.format_exc()}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def main() -> None:
    # What a framework prints must not end up among the replies.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _serve(sys.stdin, replies)


if __name__ == "__main__":
    main()

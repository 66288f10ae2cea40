"""`monitor` (also `mon`): statistics of what a bound graph computes, batch by batch."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any

from hybridnet import ndarray as nd
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

__all__ = ["Monitor"]

Statistic = Callable[[NDArray], Any]


def _root_mean_square(x: NDArray) -> NDArray:
    return nd.norm(x) / math.sqrt(x.size)


class Monitor:
    """Notes a statistic of outputs of nodes and of arrays, for one batch of every so many.

        monitor = mx.mon.Monitor(100, pattern=".*weight")
        mod.install_monitor(monitor)         # or mod.fit(..., monitor=monitor)

    Args:
        interval: of how many batches one is noted.
        stat_func: gets an array and returns the statistic: an array, or a list of them; default
            the root of the mean of squares.
        pattern: a regular expression; only names that begin with a match are noted.
        sort: whether the notes are in the order of the names.
        monitor_all: whether inputs of nodes are noted, too, and not only outputs.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Statistic | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.interval = interval
        self.stat_func = stat_func or _root_mean_square
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Notes an array, if its batch is noted and its name matches."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Watches an executor."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Begins a batch; call it before forward."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Ends a batch; call it after backward or update.

        Returns:
            For each note the number of the batch, the name, and the statistic as text; nothing for
            batches that are not noted.

        Raises:
            ParameterError: a statistic is no array, nor a list of them.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self.stat_helper(name, array)
        self.activated = False
        noted, self.queue = self.queue, []
        if self.sort:
            noted.sort(key=lambda note: note[1])
        return [(step, name, _text(value)) for step, name, value in noted]

    def toc_print(self) -> None:
        """Ends a batch, and logs what was noted."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)


def _text(value: Any) -> str:
    parts = [value] if isinstance(value, NDArray) else value
    if not isinstance(parts, list) or not all(isinstance(part, NDArray) for part in parts):
        raise ParameterError(
            f"Monitor: stat_func must return an NDArray or a list of them, got {value!r}"
        )
    texts = [str(x.asscalar() if x.shape == (1,) else x.asnumpy()) for x in parts]
    return "".join(f"{text}\t" for text in texts)

"""`callback`: what training loops call after batches and after passes over the data."""

from __future__ import annotations

import logging
import math
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from shutil import get_terminal_size
from typing import Any, Final

from hybridnet.base.errors import ParameterError
from hybridnet.saved_model import save_checkpoint

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]

_BAR_WORDS: Final = 48  # characters beside a bar of tqdm's: epoch, per cent, batches, times


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Returns a callback that saves a module after every so many passes over the data.

    Args:
        mod: the module; what its `save_checkpoint` writes is saved.
        prefix: the beginning of the files' names.
        period: after how many passes; at least 1.
        save_optimizer_states: whether to save what the optimizer remembers, too.
    """
    every = max(1, int(period))

    def save(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % every == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return save


def do_checkpoint(prefix: str, period: int = 1) -> Callable[[int, Any, Any, Any], None]:
    """Returns a callback that saves symbol and parameters after every so many passes.

    Args:
        prefix: the beginning of the files' names.
        period: after how many passes; at least 1.
    """
    every = max(1, int(period))

    def save(iter_no: int, sym: Any, arg: Any, aux: Any) -> None:
        if (iter_no + 1) % every == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return save


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Returns a callback that logs the metric after every so many batches.

    Args:
        period: after how many.
        auto_reset: whether the metric then begins anew.
    """

    def log(param: Any) -> None:
        if param.nbatch % period or param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            param.eval_metric.reset_local()

    return log


class Speedometer:
    """A callback that logs the metric, and how many samples a second were trained.

    Args:
        batch_size: rows of a batch.
        frequent: after how many batches; reading the metric waits for them.
        auto_reset: whether the metric then begins anew.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: Any) -> None:
        """Takes in that a batch is done: a `BatchEndParam`."""
        count = param.nbatch
        if self.last_count > count:
            self.init = False  # the next pass has begun
        self.last_count = count
        if not self.init:
            self.init, self.tic = True, time.time()
            return
        if count % self.frequent:
            return
        values: list[tuple[str, float]] = []
        if param.eval_metric is not None:
            values = param.eval_metric.get_name_value()  # before the clock, since it waits
        seconds = time.time() - self.tic
        speed = self.frequent * self.batch_size / seconds if seconds else math.inf
        first = count - self.frequent if self.auto_reset else 0
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            shown = "".join(f"\t{name}={value:f}" for name, value in values)
            text = "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s"
            logging.info(text, param.epoch, first, count, speed, shown)
            if self.auto_reset:
                param.eval_metric.reset_local()
        self.tic = time.time()


class ProgressBar:
    """A callback that shows how far a pass over the data has come.

    On a terminal and in a notebook it is a bar of tqdm's, where that is installed (``pip install
    'hybridnet[viz]'``). Elsewhere each batch is logged, as MXNet does.

    Args:
        total: how many batches it has.
        length: of the bar, in characters; on a narrow terminal less.

    Raises:
        ParameterError: `total` is less than 1.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        if total < 1:
            raise ParameterError(f"ProgressBar: total must be at least 1, got {total}")
        self.bar_len = length
        self.total = total
        self._bar: Any = None
        self._last = math.inf  # the number of the batch that was told of last

    def __call__(self, param: Any) -> None:
        """Takes in that a batch is done: a `BatchEndParam`."""
        kind = _bar_type() if _is_watched() else None
        if kind is None:
            self._log(param.nbatch)
            return
        if param.nbatch <= self._last:  # another pass
            if self._bar is not None:
                self._bar.close()
            self._bar = kind(total=self.total, desc=f"Epoch[{param.epoch}]", **self._size(kind))
            self._last = param.nbatch - 1  # some loops count batches from 0, others from 1
        steps, self._last = param.nbatch - self._last, param.nbatch
        if self._bar is not None:
            self._bar.update(steps)
            if self._bar.n >= self.total:
                self._bar.close()
                self._bar = None

    def _log(self, count: int) -> None:
        done = count / self.total
        filled = round(self.bar_len * done)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %s%%\r", bar, math.ceil(100 * done))

    def _size(self, kind: type) -> dict[str, int]:
        """Returns how wide a bar with its words is; a notebook's takes the room there is."""
        if any(one.__module__ == "tqdm.notebook" for one in kind.__mro__):
            return {}
        return {"ncols": min(self.bar_len + _BAR_WORDS, get_terminal_size().columns - 1)}


def _is_watched() -> bool:
    """Whether the standard error is a terminal, or shown by a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@cache
def _bar_type() -> Any:
    """Returns tqdm's bar, which is a widget in notebooks that have widgets; None: it is missing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a notebook without widgets: a bar of text will do
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


class LogValidationMetricsCallback:
    """A callback that logs the metric after a pass over validation data."""

    def __call__(self, param: Any) -> None:
        """Takes in that the pass is done: a `BatchEndParam`."""
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)

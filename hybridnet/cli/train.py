"""``hybridnet train``: LeNet on real digits three ways, timed, compared and saved.

With a record file of images it is `train_records` that does the work.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybridnet import gluon, kv, model, nd
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError
from hybridnet.lenet import (
    AbstractWay,
    Bound,
    Digits,
    Eager,
    Settings,
    Traced,
    batches,
    initial_weights,
    predicted,
)
from hybridnet.ndarray import NDArray
from hybridnet.runtime.contexts import device_of

from .result import Result
from .train_options import ONLY_RECORDS
from .train_records import train_records

_VIZ: Final = ("rich", "matplotlib")


def train(options: Namespace) -> None:
    """Runs the command.

    Args:
        options: data, epochs, batch_size, lr, ctx, seed, kvstore and out, as `main` parses them.

    Raises:
        MXNetError: unfit data or settings; a missing extra.
        OSError: files that cannot be read or written.
    """
    for name in _VIZ:
        if importlib.util.find_spec(name) is None:
            raise MXNetError(f"needs {name}: install hybridnet with its viz extra, hybridnet[viz]")
    from . import report

    device_of(options.ctx)
    if options.data is not None and options.data.suffix == ".rec":
        if options.kvstore is not None:
            raise MXNetError("--kvstore is for digits; images of a record file have one worker")
        train_records(options, report)
        return
    for name in ONLY_RECORDS:
        if getattr(options, name) not in (None, False):
            raise MXNetError(f"--{name.replace('_', '-')} needs the images of a --data FILE.rec")
    digits = Digits.load(options.data)
    if len(digits.train_images) < options.batch_size:
        raise MXNetError(
            f"--batch-size {options.batch_size} is more than the {len(digits.train_images)} digits"
        )
    settings = _settings(options)
    if settings.rank:  # worker 0 prints and writes for all
        _train_ways(digits, options, settings, lambda title, steps, loss: None)
        return
    with report.output_folder(options.out) as files:
        steps = options.epochs * (len(digits.train_images) // options.batch_size)
        with report.progress(len(_WAYS) * steps) as advance:
            results, bound = _train_ways(digits, options, settings, advance)
        report.print_results(results, "LeNet, three ways from the same weights")
        prefix = files / "lenet"
        model.save_checkpoint(str(prefix), options.epochs, bound.symbol, bound.weights(), {})
        accuracy = _score_checkpoint(prefix, options.epochs, digits, settings)
        report.plot_losses(results, files / "lenet-loss.png", "LeNet on MNIST digits")
    print(f"checkpoint loaded back: test accuracy {accuracy:.2%}")
    for name in sorted(os.listdir(options.out)):
        if name.startswith("lenet"):
            print(f"wrote {options.out / name}")


def _settings(options: Namespace) -> Settings:
    """Returns what the ways share, with this worker's place among all."""
    made = Settings(options.batch_size, options.lr, options.ctx, store=options.kvstore)
    if options.kvstore is None:
        return made
    store = kv.create(options.kvstore)
    if options.batch_size % store.num_workers:
        raise MXNetError(
            f"--batch-size must be a multiple of the {store.num_workers} workers, "
            f"got {options.batch_size}"
        )
    return replace(made, rank=store.rank, workers=store.num_workers)


def _train_ways(
    digits: Digits,
    options: Namespace,
    settings: Settings,
    advance: Callable[[str, int, float], None],
) -> tuple[list[Result], Bound]:
    """Trains all ways; returns their results, and the bound one."""
    weights = initial_weights(options.seed)
    results = []
    for kind in _WAYS:
        way = kind(weights, settings)
        order = batches(len(digits.train_images), options.batch_size, options.seed)
        results.append(run_way(way, digits, order, settings, options.epochs, advance))
        if isinstance(way, Bound):
            bound = way
    return results, bound


_WAYS: Final[tuple[Callable[..., AbstractWay], ...]] = (Eager, Bound, Traced)


def run_way(
    way: AbstractWay,
    digits: Digits,
    order: Iterator[list[NumpyArray]],
    settings: Settings,
    epochs: int,
    advance: Callable[[str, int, float], None],
) -> Result:
    """Trains one way and scores it.

    Args:
        order: the batches of each epoch.
        advance: called with (title, steps done since, loss now), for a progress bar.
    """
    losses: list[float] = []
    times: list[float] = []
    first_step = 0.0
    for epoch in range(epochs):
        times_now = []
        for chunk in _chunks(next(order), first=epoch == 0):
            # The device has the digits before the clock starts: what is timed is the steps.
            sets = digits.train_images, digits.train_labels
            mine = slice(settings.rank * settings.share, (settings.rank + 1) * settings.share)
            inputs = [[nd.array(part[rows[mine]], settings.ctx) for part in sets] for rows in chunk]
            nd.waitall()
            started = time.perf_counter()
            pending = [way.step(data, label) for data, label in inputs]
            # Nothing in the loop above waits; reading the last loss waits for all steps.
            last = float(pending[-1].mean().asscalar())
            elapsed = time.perf_counter() - started
            if losses:
                times_now.append(elapsed / len(chunk))
            else:
                first_step = elapsed
            losses.extend(float(loss.mean().asscalar()) for loss in pending)
            advance(way.title, len(chunk), last)
        times = times_now or times
    steady = statistics.median(times) if times else first_step
    accuracy, test_loss = _score(way.predict, digits, settings)
    speed = settings.batch_size / steady
    return Result(way.title, losses, accuracy, test_loss, first_step, steady, speed)


def _chunks(batches: list[Any], first: bool) -> Iterator[list[Any]]:
    """Cuts an epoch into stretches that are timed together; the very first step stands alone."""
    if first:
        yield batches[:1]
        batches = batches[1:]
    for start in range(0, len(batches), 10):
        yield batches[start : start + 10]


def _score(
    predict: Callable[[NDArray], NDArray], digits: Digits, settings: Settings
) -> tuple[float, float]:
    """Returns the accuracy and the mean cross-entropy on the test digits."""
    scores = predicted(predict, digits.test_images, settings.share, settings.ctx)
    scores = scores.astype(np.float64)
    labels = digits.test_labels.astype(int)
    accuracy = float((scores.argmax(axis=1) == labels).mean())
    if np.allclose(scores.sum(axis=1), 1, atol=1e-3) and (scores >= 0).all():
        scores = np.log(np.maximum(scores, 1e-38))
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return accuracy, float(-log_softmax[np.arange(len(labels)), labels].mean())


def _score_checkpoint(prefix: Path, epoch: int, digits: Digits, settings: Settings) -> float:
    """Loads a checkpoint as a stranger would, and scores it."""
    names, params = ["data", "softmax_label"], f"{prefix}-{epoch:04d}.params"
    net = gluon.SymbolBlock.imports(f"{prefix}-symbol.json", names, params, ctx=settings.ctx)
    net.hybridize()

    def predict(data: NDArray) -> NDArray:
        probabilities: NDArray = net(data, nd.zeros(data.shape[:1], settings.ctx))
        return probabilities

    return _score(predict, digits, settings)[0]

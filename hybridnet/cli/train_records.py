"""``hybridnet train --data FILE.rec``: a network of the model zoo, which may be gone on with."""

from __future__ import annotations

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

import numpy as np

from hybridnet import nd, random
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError
from hybridnet.lenet import Settings

from .checkpoints import Checkpoints
from .network import AbstractSpelling, Network, spelled
from .pictures import Pictures, Reading
from .result import Result

_NETWORK: Final = "resnet18_v1"
_WAY: Final = "hybridized"
_THREADS: Final = 4
#: Steps between two looks at the loss, each of which waits for it; of slow ones there are fewer.
_STRETCH: Final = 10
_SECONDS: Final = 1.0  # after which there is a look, too: so long a count may stand still
#: Title, steps done since the last call, loss now.
Advance = Callable[[str, int, float], None]


def train_records(options: Namespace, report: ModuleType) -> None:
    """Runs the command.

    Args:
        options: as `main` parses them.
        report: the module that shows what is done.

    Raises:
        MXNetError: unfit data or settings, or checkpoints that are in the way.
        OSError: files that cannot be read or written.
    """
    job = _Job.of(options)
    name = job.network.name
    ways = {way: Checkpoints(options.out / f"{name}-{way}") for way in options.ways or [_WAY]}
    starts = {way: files.begin(options.resume) for way, files in ways.items()}
    weights = job.network.initial_weights(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    steps = -(-job.data.count // options.batch_size)
    left = sum(max(options.epochs - start, 0) for start in starts.values())
    results: list[Result] = []
    with report.progress(left * steps) as advance:
        for way, files in ways.items():
            if starts[way] < options.epochs:
                results.append(_train_way(job, way, files, starts[way], weights, advance))
            else:
                print(f"{way}: {starts[way]} epochs are done already")
    if results:
        report.print_results(results, f"{name}, scored on {(job.val or job.data).path.name}")
        picture = options.out / f"{name}-loss.png"
        report.plot_losses(results, picture, f"{name} on {job.data.path.name}")
        print(f"wrote {picture}")


@dataclass(frozen=True, eq=False)
class _Job:
    """A training job: the network, the data, and how it is trained."""

    options: Namespace
    network: Network
    data: Pictures
    val: Pictures | None
    reading: Reading
    settings: Settings

    @staticmethod
    def of(options: Namespace) -> _Job:
        data = Pictures.survey(options.data, labels=options.classes is None)
        val = None if options.val is None else Pictures.survey(options.val, labels=False)
        classes = options.classes or data.classes
        if classes is None or classes < 2:
            raise MXNetError(f"{options.data}: needs at least 2 classes, got {classes}")
        size = options.size or data.default_size(options.resize)
        reading = Reading(size, options.batch_size, options.resize, options.threads or _THREADS)
        network = Network(options.network or _NETWORK, classes, size)
        settings = Settings(options.batch_size, options.lr, options.ctx)
        return _Job(options, network, data, val, reading, settings)

    def rate(self, epoch: int) -> float:
        """Returns the learning rate of an epoch, counted from 0."""
        passed = sum(epoch >= one for one in self.options.lr_epochs or ())
        rate: float = self.options.lr / 10**passed
        return rate

    def inputs(self, batch: Any, pictures: Pictures) -> tuple[nd.NDArray, nd.NDArray]:
        """Returns images and labels of a batch on the device.

        Raises:
            MXNetError: there is a label that the network has no class for.
        """
        (data,), (label,) = batch.data, batch.label
        largest = label.asnumpy().max()
        if largest >= self.network.classes:
            raise MXNetError(
                f"{pictures.path}: has labels up to {largest:g}, which {self.network.classes} "
                "classes are too few for: see --classes"
            )
        ctx = self.settings.ctx
        return data.as_in_context(ctx), label.as_in_context(ctx)


@dataclass(eq=False)
class _Notes:
    """The losses and times that are noted while a way is trained.

    Attributes:
        losses: of each step, the mean over its images.
        first_step: seconds that it took.
        steps: seconds that a step took, the mean over each later stretch of them.
    """

    losses: list[float] = field(default_factory=list)
    first_step: float = 0.0
    steps: list[float] = field(default_factory=list)

    def add(self, losses: list[float], seconds: float) -> None:
        """Notes a stretch of steps; the very first step stands alone."""
        if self.losses:
            self.steps.append(seconds / len(losses))
        else:
            self.first_step = seconds
        self.losses += losses


def _train_way(
    job: _Job,
    way: str,
    files: Checkpoints,
    start: int,
    weights: dict[str, NumpyArray],
    advance: Advance,
) -> Result:
    """Trains a way from an epoch to the last one, and scores it."""
    options = job.options
    if start:
        weights = files.load_weights(start, job.network)
    spelling = spelled(way, job.network, weights, job.settings)
    if start:
        spelling.load_states(files.states(start))
    notes, scored = _Notes(), None

    def score(pictures: Pictures) -> tuple[float, float]:
        advance(f"{spelling.title}, scoring", 0, notes.losses[-1])
        found = _score(spelling, pictures, job)
        advance(spelling.title, 0, notes.losses[-1])
        return found

    for epoch in range(start, options.epochs):
        spelling.set_rate(job.rate(epoch))
        random.seed(options.seed + epoch)  # of dropout; a resumed epoch draws the same
        augment = options.augment is not False
        batches = job.data.training(job.reading, augment, options.seed + epoch)
        begun, before = time.perf_counter(), len(notes.losses)
        _train_epoch(spelling, batches, job, notes, advance)
        speed = job.data.count / (time.perf_counter() - begun)
        if job.val is not None:
            scored = score(job.val)
        files.save(epoch + 1, spelling, job.network)
        files.note(epoch + 1, statistics.fmean(notes.losses[before:]), scored, speed)
    accuracy, test_loss = scored or score(job.data)
    steady = statistics.median(notes.steps) if notes.steps else notes.first_step
    speed = options.batch_size / steady
    return Result(way, notes.losses, accuracy, test_loss, notes.first_step, steady, speed)


def _train_epoch(
    spelling: AbstractSpelling, batches: Iterable[Any], job: _Job, notes: _Notes, advance: Advance
) -> None:
    """Takes the steps of an epoch; each stretch of them waits for the loss of its last one."""
    pending: list[Any] = []
    begun = time.perf_counter()

    def look() -> None:
        nonlocal begun
        last = float(pending[-1].asscalar())
        seconds = time.perf_counter() - begun
        if not np.isfinite(last):
            raise MXNetError(f"the loss became {last}: a smaller --lr may help")
        notes.add([float(one.asscalar()) for one in pending], seconds)
        advance(spelling.title, len(pending), last)
        pending.clear()
        begun = time.perf_counter()

    for batch in batches:
        pending.append(spelling.step(*job.inputs(batch, job.data)).mean())
        is_slow = time.perf_counter() - begun > _SECONDS
        if not notes.losses or len(pending) == _STRETCH or is_slow:
            look()
    if pending:
        look()


def _score(spelling: AbstractSpelling, pictures: Pictures, job: _Job) -> tuple[float, float]:
    """Returns the accuracy and the mean cross entropy on images."""
    right, total, count = 0.0, 0.0, 0
    for batch in pictures.scoring(job.reading):
        data, label = job.inputs(batch, pictures)
        rows = len(label) - (batch.pad or 0)
        scores, classes = spelling.predict(data)[:rows], label[:rows]
        right += float((scores.argmax(axis=1) == classes).sum().asscalar())
        total -= float(nd.pick(nd.log_softmax(scores), classes).sum().asscalar())
        count += rows
    return right / count, total / count

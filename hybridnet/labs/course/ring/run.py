"""Lab 10: three processes train LeNet on shares of every batch; the part adds up gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybridnet import kv, nd
from hybridnet.base.array_types import NumpyArray
from hybridnet.lenet import AbstractWay, Digits, Eager, Settings
from hybridnet.runtime import deterministic

from ...checking import Wrong
from ...folder import load_part
from ...gang import Gang
from ...training import Outcome, hold_against, ordinary_losses, take_step, train_lenet
from .drawing import draw_call, draw_example
from .link import Link, Sending

#: Processes; the digits of a step, over all of them.
_SIZE: Final = 3
_BATCH: Final = 66
#: So many steps are compared with those of one process, as closely as sums of another order
#: allow: from then on, what was a rounding grows.
_COMPARED: Final = 20
_CLOSE: Final = 1e-3


@dataclass
class _Trained:
    """The result that a process returns.

    Attributes:
        outcome: of its training.
        weights: the bytes of all weights at its end.
        calls: how often the part was asked.
        sent: bytes of parts.
        longest: of the largest array.
    """

    outcome: Outcome
    weights: bytes
    calls: int
    sent: int
    longest: list[Sending]


def figure(folder: Path) -> None:
    """Draws the example of the page: three parts that go round a ring of three."""
    draw_example(folder / "figure.svg")


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet in three processes, and for some steps in this one."""
    pipes = [Pipe(duplex=False) for _ in range(_SIZE)]  # number i leads from i to the next one
    names = [str(rank) for rank in range(_SIZE)]
    with Gang(part.__file__) as gang:
        for rank in range(_SIZE):
            before, after = pipes[rank - 1][0], pipes[rank][1]
            gang.start(names[rank], _train, part.__file__, rank, before, after)
        for pipe in pipes:
            pipe[0].close()
            pipe[1].close()  # so that a neighbour's end is noticed
        found: list[_Trained] = gang.results(names)
    for rank, one in enumerate(found):
        if one.weights != found[0].weights:
            raise Wrong("weights", rank=rank)
    losses = np.mean([one.outcome.losses for one in found], axis=0)
    _compare(losses)
    outcome = replace(found[0].outcome, losses=losses.tolist())
    outcome.counts = {
        "calls": sum(one.calls for one in found),
        "bytes": sum(one.sent for one in found),
        "parts": sum(len(one.longest) for one in found),
    }
    longest = [one.longest for one in found]
    outcome.draw(pictures / "ring.svg", partial(draw_call, longest))
    return outcome


def _compare(losses: NumpyArray) -> None:
    """Holds the losses of the first steps against those of one process."""
    deterministic()
    alone = ordinary_losses(Eager, _COMPARED, batch_size=_BATCH)
    hold_against(alone, losses.tolist(), rtol=_CLOSE)


def _train(file: str, rank: int, before: Connection, after: Connection) -> _Trained:
    """One of the processes."""
    deterministic()  # the same bits in all of them, whatever the clock says
    link = Link(rank, _SIZE, load_part(Path(file)), before, after)

    @kv.KVStoreBase.register
    class RingStore(kv.KVStoreBase):
        """Adds up what the processes push; each of them updates its weights for itself."""

        def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
            """The first weights are the same in all processes."""

        def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
            """Adds an array (a list of one) over all processes, in its place."""
            (array,) = value
            total = link.all_reduce(array.asnumpy().ravel())
            array[:] = nd.array(total.reshape(array.shape))

        def is_capable(self, capability: str) -> bool:
            """It cannot update."""
            return False

    ways: list[AbstractWay] = []

    def make(weights: dict[str, Any], settings: Settings) -> AbstractWay:
        share = replace(settings, store="ringstore", rank=rank, workers=_SIZE)
        ways.append(Eager(weights, share))
        return ways[0]

    outcome = train_lenet(make, batch_size=_BATCH, steps=partial(_steps, rank))
    weights = b"".join(one.asnumpy().tobytes() for one in ways[0].weights().values())
    return _Trained(outcome, weights, link.calls, link.sent, link.longest)


def _steps(rank: int, way: AbstractWay, digits: Digits, rows: Sequence[NumpyArray]) -> list[float]:
    """Takes all steps, with a process's share of each batch."""
    return [take_step(way, digits, one[rank::_SIZE]) for one in rows]

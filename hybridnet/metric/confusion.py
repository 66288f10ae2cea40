"""Metrics computed from how often which class was taken for which."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hybridnet.base.array_types import NumpyArray

from .base import Arrays, EvalMetric, pairs, register

__all__ = ["PCC"]


@register
class PCC(EvalMetric):
    """Pearson's correlation coefficient for any number of classes (Gorodkin, 2004).

    With C counting how often class k was predicted for label l, it is the covariance of the two
    sides' indicators of classes over the root of the product of their variances: `MCC` for two
    classes. Chance is 0, and all right is 1.

    Predictions are classes in the shape of the labels, or scores (batch, classes). Updating waits
    for the values, since these say how many classes there are.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        has_global_stats: whether `get_global` goes on after `reset_local`.
    """

    def __init__(
        self,
        name: str = "pcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        has_global_stats: bool = True,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def reset(self) -> None:
        """Resets the statistics."""
        super().reset()
        self._global_counts = np.zeros((2, 2))

    def reset_local(self) -> None:
        """Resets the local counts; `get_global` goes on."""
        super().reset_local()
        self._counts = np.zeros((2, 2))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for label, pred in pairs(labels, preds):
            true, said = label.asnumpy(), pred.asnumpy()
            said = said.argmax(axis=1) if said.shape != true.shape else said
            places = said.astype(np.int64).ravel(), true.astype(np.int64).ravel()
            classes = 1 + max(int(np.max(place, initial=0)) for place in places)
            self._counts = _added(self._counts, places, classes)
            self._global_counts = _added(self._global_counts, places, classes)
        self.num_inst += 1
        self.global_num_inst += 1

    def get(self) -> tuple[str, float]:
        """Returns the name and the value, nan where one side has a single class."""
        return self.name, _correlation(self._counts)

    def get_global(self) -> tuple[str, float]:
        """Returns the name and the value since `reset`, whatever `reset_local` did."""
        if not self._has_global_stats:
            return self.get()
        return self.name, _correlation(self._global_counts)


def _added(counts: NumpyArray, places: tuple[NumpyArray, NumpyArray], classes: int) -> NumpyArray:
    """Returns counts with further ones, for as many classes as there are."""
    room = max(classes - len(counts), 0)
    counts = np.pad(counts, ((0, room), (0, room)))
    np.add.at(counts, places, 1)
    return counts


def _correlation(counts: NumpyArray) -> float:
    total, said, true = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    spread = (said * (total - said)).sum() * (true * (total - true)).sum()
    shared = (counts.diagonal() * total - said * true).sum()
    return float(shared / math.sqrt(spread)) if spread else math.nan

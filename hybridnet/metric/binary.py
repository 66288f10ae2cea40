"""Metrics of two classes, computed from the counts of right and wrong decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hybridnet import nd
from hybridnet.base.defaults import with_defaults
from hybridnet.ndarray import NDArray

from .base import Arrays, TalliedMetric, check_rows, pairs, register

__all__ = ["F1", "MCC"]


#: Sums are numbers, or arrays of one.
Number = TypeVar("Number", float, NDArray)


class _BinaryMetric(TalliedMetric):
    """A score of the four counts: true and false positives, false and true negatives.

    Class 1 is positive, any other label negative; predictions are scores (batch, 2).
    """

    _num_tallies = 4

    def _score(self, counts: Sequence[Number], at_least_one: Callable[[Number], Number]) -> Number:
        """Returns the score of the counts, which are numbers or arrays.

        Args:
            counts: true positives, false positives, false negatives, true negatives.
            at_least_one: ``max(1, x)``; what is divided by nothing is 0.
        """
        raise NotImplementedError

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        seen = 0
        total: list[NDArray] = []
        for label, pred in pairs(labels, preds):
            check_rows(self.name, label, pred, "2")
            said = (pred.argmax(axis=1) == 1).astype("float64")
            true = (label.astype("int32").reshape(-1) == 1).astype("float64")
            parts = (said * true, said * (1 - true), (1 - said) * true, (1 - said) * (1 - true))
            counts = [part.sum() for part in parts]
            ctx = total[0].context if total else pred.context
            counts = [count.as_in_context(ctx) for count in counts]
            total = [a + b for a, b in zip(total, counts, strict=True)] if total else counts
            seen += label.size
        if not total:
            return
        if self.average == "macro":
            self._add(self._score(total, lambda x: nd.maximum(x, 1.0)), 1, total[0].context)
            return
        self._tally(total)
        self._add(0.0, seen, total[0].context)

    def _of_sums(self, sums: Sequence[float], count: float) -> float:
        score: float = self._score(sums, lambda x: max(x, 1.0))
        return score


@register
@with_defaults(name="f1")
class F1(_BinaryMetric):
    """The harmonic mean of precision and recall, 0 if nothing was found.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        average: 'macro' for the mean of each update's value, 'micro' for the value of all.
    """

    def _score(self, counts: Sequence[Number], at_least_one: Callable[[Number], Number]) -> Number:
        found, false_alarm, missed, _ = counts
        return 2 * found / at_least_one(2 * found + false_alarm + missed)


@register
@with_defaults(name="mcc")
class MCC(_BinaryMetric):
    """Matthews' correlation coefficient, from -1 to 1; 0 for a decision by chance.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        average: 'macro' for the mean of each update's value, 'micro' for the value of all.
    """

    def _score(self, counts: Sequence[Number], at_least_one: Callable[[Number], Number]) -> Number:
        tp, fp, fn, tn = counts
        square: Any = 1.0
        for term in (tp + fp, tp + fn, tn + fp, tn + fn):
            square = at_least_one(term) * square
        score: Number = (tp * tn - fp * fn) / square**0.5
        return score

"""Metrics of two classes, computed from the counts of right and wrong decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet import nd
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray

from ._tally import Tally
from .base import EvalMetric, pairs, register

__all__ = ["F1", "MCC"]


class _BinaryMetric(EvalMetric):
    """A score of the four counts: true and false positives, false and true negatives.

    Class 1 is positive, any other label negative; predictions are scores (batch, 2).
    """

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None,
        label_names: Sequence[str] | None,
        average: str,
    ) -> None:
        if average not in ("macro", "micro"):
            raise ParameterError(f"{name}: average must be 'macro' or 'micro', got {average!r}")
        self._counts = tuple(Tally() for _ in range(4))
        self._global_counts = tuple(Tally() for _ in range(4))
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)
        self.average = average

    def _score(self, counts: Sequence[Any], at_least_one: Callable[[Any], Any]) -> Any:
        """Returns the score of the counts, which are numbers or arrays.

        Args:
            counts: true positives, false positives, false negatives, true negatives.
            at_least_one: ``max(1, x)``; what is divided by nothing is 0.
        """
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        seen = 0
        total: list[NDArray] = []
        for label, pred in pairs(labels, preds):
            if pred.ndim != 2 or label.size != pred.shape[0]:
                raise ShapeError(
                    f"{self.name}: requires predictions of shape (batch, 2) and as many labels, "
                    f"got {pred.shape} and {label.shape}"
                )
            said = (pred.argmax(axis=1) == 1).astype("float64")
            true = (label.astype("int32").reshape(-1) == 1).astype("float64")
            parts = (said * true, said * (1 - true), (1 - said) * true, (1 - said) * (1 - true))
            counts = [one.sum() for one in parts]
            ctx = total[0].context if total else pred.context
            counts = [one.as_in_context(ctx) for one in counts]
            total = [a + b for a, b in zip(total, counts, strict=True)] if total else counts
            seen += label.size
        if not total:
            return
        if self.average == "macro":
            self._add(self._score(total, lambda x: nd.maximum(x, 1.0)), 1, total[0].context)
            return
        for tallies in (self._counts, self._global_counts):
            for tally, one in zip(tallies, total, strict=True):
                tally.add(one, one.context)
        self._add(0.0, seen, total[0].context)

    def reset(self) -> None:
        """Begins anew."""
        super().reset()
        for tally in self._global_counts:
            tally.set(0)

    def reset_local(self) -> None:
        """Begins the local sums anew; `get_global` goes on."""
        super().reset_local()
        for tally in self._counts:
            tally.set(0)

    def get(self) -> tuple[Any, Any]:
        """Returns the name and the value, nan before the first update; waits for it."""
        return self._read(super().get(), self._counts)

    def get_global(self) -> tuple[Any, Any]:
        """Returns the name and the value since `reset`, whatever `reset_local` did."""
        return self._read(super().get_global(), self._global_counts)

    def _read(self, mean: tuple[Any, Any], tallies: Sequence[Tally]) -> tuple[Any, Any]:
        counts = [tally.read() for tally in tallies]
        # Nothing was counted under 'macro', or before the first update.
        return (self.name, self._score(counts, lambda x: max(x, 1.0))) if any(counts) else mean


@register
class F1(_BinaryMetric):
    """The harmonic mean of precision and recall, 0 if nothing was found.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        average: 'macro' for the mean of each update's value, 'micro' for the value of all.
    """

    def __init__(
        self,
        name: str = "f1",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts: Sequence[Any], at_least_one: Callable[[Any], Any]) -> Any:
        found, false_alarm, missed, _ = counts
        return 2 * found / at_least_one(2 * found + false_alarm + missed)


@register
class MCC(_BinaryMetric):
    """Matthews' correlation coefficient, from -1 to 1; 0 for a decision by chance.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        average: 'macro' for the mean of each update's value, 'micro' for the value of all.
    """

    def __init__(
        self,
        name: str = "mcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts: Sequence[Any], at_least_one: Callable[[Any], Any]) -> Any:
        tp, fp, fn, tn = counts
        square: Any = 1.0
        for term in (tp + fp, tp + fn, tn + fp, tn + fn):
            square = at_least_one(term) * square
        return (tp * tn - fp * fn) / square**0.5

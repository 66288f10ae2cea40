"""Metrics of predicted numbers, and the mean of a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import current_context
from hybridnet.base.defaults import with_defaults
from hybridnet.base.dtype import as_dtype, is_float, promote
from hybridnet.base.errors import ShapeError
from hybridnet.ndarray import NDArray

from .base import Arrays, EvalMetric, TalliedMetric, alias, operands, pairs, register

__all__ = ["MAE", "MSE", "RMSE", "Caffe", "Loss", "PearsonCorrelation", "Torch"]

Names = Sequence[str] | None


@register
class Loss(EvalMetric):
    """The mean of all elements of the predictions, which are losses; labels are not used.

    Args:
        name, output_names, label_names: see `EvalMetric`.
    """

    def __init__(
        self, name: str = "loss", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _: object, preds: Arrays) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for pred in operands(preds):
            self._add(_wide(pred).sum(), pred.size, pred.context)


@register
@with_defaults(name="torch")
class Torch(Loss):
    """`Loss` under the name that it had for criterions of Torch."""


@register
@with_defaults(name="caffe")
class Caffe(Loss):
    """`Loss` under the name that it had for losses of Caffe."""


class _ErrorMetric(EvalMetric):
    """The mean over updates of a mean error; one-dimensional arrays are taken as columns."""

    def __init__(
        self, name: str = "error", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _error(self, difference: NDArray) -> NDArray:
        """Returns the batch's error, of shape (1,), from label - prediction."""
        raise NotImplementedError

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for label, pred in pairs(labels, preds):
            label, pred = (
                array.reshape(-1, 1) if array.ndim == 1 else array for array in (label, pred)
            )
            label, pred = _alike(label, pred)
            self._add(self._error(label - pred), 1, pred.context)


@register
@with_defaults(name="mae")
class MAE(_ErrorMetric):
    """The mean absolute error: the mean over updates of the mean over a batch.

    Args:
        name, output_names, label_names: see `EvalMetric`.
    """

    def _error(self, difference: NDArray) -> NDArray:
        mean: NDArray = difference.abs().mean()
        return mean


@register
@with_defaults(name="mse")
class MSE(_ErrorMetric):
    """The mean squared error: the mean over updates of the mean over a batch.

    Args:
        name, output_names, label_names: see `EvalMetric`.
    """

    def _error(self, difference: NDArray) -> NDArray:
        mean: NDArray = difference.square().mean()
        return mean


@register
@with_defaults(name="rmse")
class RMSE(_ErrorMetric):
    """The root mean squared error: the mean over updates of the root of a batch's mean.

    Args:
        name, output_names, label_names: see `EvalMetric`.
    """

    def _error(self, difference: NDArray) -> NDArray:
        root: NDArray = difference.square().mean().sqrt()
        return root


@alias("pearsonr")
@register
@with_defaults(name="pearsonr")
class PearsonCorrelation(TalliedMetric):
    """The correlation coefficient of all elements of predictions and labels.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        average: 'macro' for the mean of each update's value, 'micro' for the value of all.
    """

    _num_tallies = 5  # of x, y, their squares and their product

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for label, pred in pairs(labels, preds):
            if label.shape != pred.shape:
                raise ShapeError(
                    f"{self.name}: labels and predictions must have one shape, got "
                    f"{label.shape} and {pred.shape}"
                )
            x, y = label.astype("float64"), pred.astype("float64")
            if self.average == "macro":
                x, y = (x - x.mean().reshape((1,) * x.ndim), y - y.mean().reshape((1,) * y.ndim))
                spread = (x.square().sum() * y.square().sum()).sqrt()
                self._add((x * y).sum() / spread, 1, pred.context)
                continue
            self._tally([term.sum() for term in (x, y, x * x, y * y, x * y)])
            self._add(0.0, label.size, pred.context)

    def reset_micro(self) -> None:
        """Resets the sums that 'micro' is computed from; `num_inst` stays."""
        for tally in (*self._tallies, *self._global_tallies):
            tally.set(0)

    def update_variance(self, new_values: Any, *aggregate: Any) -> tuple[Any, Any, Any]:
        """Returns count, mean and sum of squared deviations, once more values have come in.

        Args:
            new_values: a NumPy vector.
            aggregate: the count, mean and sum before; all 0 at first.
        """
        count, mean, spread = aggregate
        size = len(new_values)
        if not size:
            return count, mean, spread
        total = count + size
        own = new_values.mean()
        apart = own - mean
        spread += ((new_values - own) ** 2).sum() + apart * apart * count * size / total
        return total, mean + apart * size / total, spread

    def update_cov(self, label: NumpyArray, pred: NumpyArray) -> None:
        """Adds a batch's products of deviations from the present means to the covariance.

        Args:
            label, pred: NumPy vectors of one length.
        """
        count = self.num_inst or 1
        for tallies in (self._tallies, self._global_tallies):
            x, y = (tally.read() / count for tally in tallies[:2])
            tallies[4].add(float(((label - x) * (pred - y)).sum()), current_context())

    def _of_sums(self, sums: Sequence[float], count: float) -> float:
        """Returns the correlation from the sums of x, y, x*x, y*y and x*y; nan if there is none."""
        x, y, xx, yy, xy = (total / count for total in sums)
        # Rounding may leave a little less than nothing of the variance of a constant.
        spread = math.sqrt(max((xx - x * x) * (yy - y * y), 0.0))
        return (xy - x * y) / spread if spread else math.nan


def _wide(data: NDArray) -> NDArray:
    """Returns an array in a floating dtype whose sums are worth something."""
    dtype = data.inferred_dtype
    if not is_float(dtype):
        return data.astype("float64")
    return data if dtype in (as_dtype("float32"), as_dtype("float64")) else data.astype("float32")


def _alike(a: NDArray, b: NDArray) -> tuple[NDArray, NDArray]:
    """Returns two arrays in one floating dtype."""
    a, b = _wide(a), _wide(b)
    dtype = promote(a.inferred_dtype, b.inferred_dtype)
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False)

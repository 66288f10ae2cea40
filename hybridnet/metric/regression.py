"""Metrics of predicted numbers, and the mean of a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hybridnet.base.dtype import as_dtype, is_float, promote
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray

from ._tally import Tally
from .base import EvalMetric, alias, operands, pairs, register

__all__ = ["MAE", "MSE", "RMSE", "Loss", "PearsonCorrelation"]

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

    def update(self, _: Any, preds: Any) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for pred in operands(preds):
            self._add(_wide(pred).sum(), pred.size, pred.context)


class _ErrorMetric(EvalMetric):
    """The mean over updates of a mean error; one-dimensional arrays are taken as columns."""

    def __init__(self, name: str, output_names: Names, label_names: Names) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _error(self, difference: NDArray) -> NDArray:
        """Returns the batch's error, of shape (1,), from label - prediction."""
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for label, pred in pairs(labels, preds):
            label, pred = (one.reshape(-1, 1) if one.ndim == 1 else one for one in (label, pred))
            label, pred = _alike(label, pred)
            self._add(self._error(label - pred), 1, pred.context)


@register
class MAE(_ErrorMetric):
    """The mean absolute error: the mean over updates of the mean over a batch.

    Args:
        name, output_names, label_names: see `EvalMetric`.
    """

    def __init__(
        self, name: str = "mae", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: NDArray) -> NDArray:
        mean: NDArray = difference.abs().mean()
        return mean


@register
class MSE(_ErrorMetric):
    """The mean squared error: the mean over updates of the mean over a batch.

    Args:
        name, output_names, label_names: see `EvalMetric`.
    """

    def __init__(
        self, name: str = "mse", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: NDArray) -> NDArray:
        mean: NDArray = difference.square().mean()
        return mean


@register
class RMSE(_ErrorMetric):
    """The root mean squared error: the mean over updates of the root of a batch's mean.

    Args:
        name, output_names, label_names: see `EvalMetric`.
    """

    def __init__(
        self, name: str = "rmse", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: NDArray) -> NDArray:
        root: NDArray = difference.square().mean().sqrt()
        return root


@alias("pearsonr")
@register
class PearsonCorrelation(EvalMetric):
    """The correlation coefficient of all elements of predictions and labels.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        average: 'macro' for the mean of each update's value, 'micro' for the value of all.
    """

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Names = None,
        label_names: Names = None,
        average: str = "macro",
    ) -> None:
        if average not in ("macro", "micro"):
            raise ParameterError(f"{name}: average must be 'macro' or 'micro', got {average!r}")
        # Sums of x, y, x*x, y*y and x*y, for 'micro'.
        self._moments = tuple(Tally() for _ in range(5))
        self._global_moments = tuple(Tally() for _ in range(5))
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)
        self.average = average

    def update(self, labels: Any, preds: Any) -> None:
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
            for tallies in (self._moments, self._global_moments):
                for tally, one in zip(tallies, (x, y, x * x, y * y, x * y), strict=True):
                    tally.add(one.sum(), pred.context)
            self._add(0.0, label.size, pred.context)

    def reset(self) -> None:
        """Begins anew."""
        super().reset()
        for tally in self._global_moments:
            tally.set(0)

    def reset_local(self) -> None:
        """Begins the local sums anew; `get_global` goes on."""
        super().reset_local()
        for tally in self._moments:
            tally.set(0)

    def get(self) -> tuple[Any, Any]:
        """Returns the name and the value, nan before the first update; waits for it."""
        if self.average == "macro":
            return super().get()
        return self.name, _correlation(self._moments, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Returns the name and the value since `reset`, whatever `reset_local` did."""
        if self.average == "macro":
            return super().get_global()
        return self.name, _correlation(self._global_moments, self.global_num_inst)


def _correlation(moments: Sequence[Tally], count: float) -> float:
    """Returns the correlation from the sums of x, y, x*x, y*y and x*y; nan if there is none."""
    if not count:
        return math.nan
    x, y, xx, yy, xy = (tally.read() / count for tally in moments)
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

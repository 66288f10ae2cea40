"""Metrics computed by a function of the user's, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from hybridnet.base.context import cpu

from .base import EvalMetric, pairs, register

__all__ = ["CustomMetric", "np"]

Feval = Callable[[numpy.ndarray[Any, Any], numpy.ndarray[Any, Any]], Any]


@register
class CustomMetric(EvalMetric):
    """The mean of what a function says of NumPy arrays; every update waits for the values.

    Args:
        feval: ``feval(label, pred)`` returns a number, or a sum and what it is to be divided by.
        name: what it is called in reports; default the function's name.
        allow_extra_outputs: allow more predictions than labels; only the first are used.
        output_names, label_names: see `EvalMetric`.
    """

    def __init__(
        self,
        feval: Feval,
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names, label_names, feval=feval, has_global_stats=True)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        if self._allow_extra_outputs and isinstance(labels, (list, tuple)):
            preds = preds[: len(labels)]
        for label, pred in pairs(labels, preds):
            value = self._feval(label.asnumpy(), pred.asnumpy())
            total, count = value if isinstance(value, tuple) else (value, 1)
            self._add(float(total), count, cpu())

    def get_config(self) -> dict[str, Any]:
        """Not available: a function cannot be put into a configuration.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("CustomMetric: a function cannot be put into a configuration")


def np(
    numpy_feval: Feval, name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """Makes a metric of a function on NumPy arrays; see `CustomMetric`.

    Args:
        numpy_feval: ``numpy_feval(label, pred)`` returns a number, or a sum and a count.
        name: what it is called in reports; default the function's name.
        allow_extra_outputs: allow more predictions than labels.
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)

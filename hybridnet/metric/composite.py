"""Several metrics as one, metrics computed by a function, and making a metric of a name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from .base import Arrays, EvalMetric, alias, create_registered, pairs, register

__all__ = ["CompositeEvalMetric", "CustomMetric", "MetricLike", "create", "np"]

#: A metric, its name, a function of labels and predictions, its configuration, or several.
MetricLike: TypeAlias = "EvalMetric | str | Feval | dict[str, Any] | Sequence[MetricLike]"
Feval = Callable[[NumpyArray, NumpyArray], Any]


@alias("composite")
@register
class CompositeEvalMetric(EvalMetric):
    """Several metrics, updated and read together.

    Args:
        metrics: metrics, or what `create` makes metrics of.
        name, output_names, label_names: see `EvalMetric`.
    """

    def __init__(
        self,
        metrics: Sequence[MetricLike] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.metrics: list[EvalMetric] = []
        super().__init__(name, output_names, label_names)
        for metric in metrics or ():
            self.add(metric)

    def add(self, metric: MetricLike) -> None:
        """Adds a metric, or what `create` makes of this."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Returns a metric by its position.

        Raises:
            ParameterError: there is none.
        """
        if not 0 <= index < len(self.metrics):
            raise ParameterError(
                f"get_metric: the index must be below {len(self.metrics)}, got {index}"
            )
        return self.metrics[index]

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Hands the named arrays on to each metric; absent names are left out."""
        if self.label_names is not None:
            label = {name: label[name] for name in self.label_names if name in label}
        if self.output_names is not None:
            pred = {name: pred[name] for name in self.output_names if name in pred}
        for metric in self.metrics:
            metric.update_dict(label, pred)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch, in each metric."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Resets each metric."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Resets the local sums of each metric."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[float]]:
        """Returns the names and the values."""
        return _flat(metric.get_name_value() for metric in self.metrics)

    def get_global(self) -> tuple[list[str], list[float]]:
        """Returns the names and the global values."""
        return _flat(metric.get_global_name_value() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        """Returns the configuration of the metric and of each inside."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


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

    def update(self, labels: Arrays, preds: Arrays) -> None:
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


def create(metric: MetricLike, *args: Any, **kwargs: Any) -> EvalMetric:
    """Makes a metric: ``create('acc')``, ``create(['acc', 'ce'])``.

    Args:
        metric: a registered name in any case, JSON, a function (see `CustomMetric`), a metric,
            which is returned itself, or a list of these.
        args, kwargs: what the metric takes.

    Raises:
        ParameterError: no metric has the name.
    """
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(name, *args, **kwargs) for name in metric])
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    made: EvalMetric = create_registered(metric, *args, **kwargs)
    return made


def _flat(listed: Iterable[list[tuple[str, float]]]) -> tuple[list[str], list[float]]:
    together = list(itertools.chain.from_iterable(listed))
    return [name for name, _ in together], [value for _, value in together]

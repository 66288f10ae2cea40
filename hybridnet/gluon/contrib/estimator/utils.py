"""Helpers for the metrics of an estimator: they list, check and suggest metrics."""

from __future__ import annotations

from collections.abc import Iterable

from hybridnet.base.errors import ParameterError
from hybridnet.metric import Accuracy, CompositeEvalMetric, EvalMetric

from ...loss import Loss, SoftmaxCrossEntropyLoss

__all__ = ["as_metrics", "check_known", "suggested_metric"]


def as_metrics(metrics: EvalMetric | Iterable[EvalMetric] | None) -> list[EvalMetric]:
    """Returns metrics as a list; those in a composite one by one.

    Raises:
        ParameterError: one is none.
    """
    if isinstance(metrics, CompositeEvalMetric):
        return [one for metric in metrics.metrics for one in as_metrics(metric)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    listed = list(metrics or ())
    if not all(isinstance(metric, EvalMetric) for metric in listed):
        raise ParameterError(f"metrics must be an EvalMetric or a list of them, got {metrics!r}")
    return listed


def check_known(handler: object, known: Iterable[EvalMetric]) -> None:
    """Checks that a handler looks at metrics that somebody updates.

    Raises:
        ParameterError: one is another.
    """
    held = [value for name, value in vars(handler).items() if "metric" in name and value]
    listed = [one for value in held for one in (value if isinstance(value, list) else [value])]
    numbers = {id(metric) for metric in known}
    for metric in listed:
        if id(metric) not in numbers:
            raise ParameterError(
                f"{type(handler).__name__}: metrics must be from estimator.train_metrics and "
                f"estimator.val_metrics, got {metric}"
            )


def suggested_metric(loss: Loss) -> EvalMetric | None:
    """Returns the metric that goes with a loss, or None."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None

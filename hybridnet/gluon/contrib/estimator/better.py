"""Whether a metric has got better: whether more of it is better, or less."""

from __future__ import annotations

import math
import warnings

from hybridnet.metric import EvalMetric

__all__ = ["Better"]


class Better:
    """Compares values of a metric.

    Args:
        who: for messages.
        metric: the metric.
        mode: 'max', 'min', or 'auto': more is better of an accuracy or F1, less of all else.
    """

    def __init__(self, who: str, metric: EvalMetric, mode: str) -> None:
        if mode not in ("auto", "min", "max"):
            warnings.warn(
                f"{who}: mode must be 'auto', 'min' or 'max', got {mode!r}; 'auto' is taken",
                RuntimeWarning,
                stacklevel=3,
            )
            mode = "auto"
        name = str(metric.get()[0]).lower()
        self.more = mode == "max" or (mode == "auto" and ("acc" in name or "f1" in name))

    @property
    def worst(self) -> float:
        """The value that every other is better than."""
        return -math.inf if self.more else math.inf

    def __call__(self, value: float, than: float, by: float = 0) -> bool:
        """Whether a value is better than another by some amount."""
        return value - by > than if self.more else value + by < than

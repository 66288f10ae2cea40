"""`tensorboard`: metrics of training, written to files that TensorBoard shows."""

from __future__ import annotations

import os
from typing import final

from hybridnet.events import EventWriter, Summary, Value
from hybridnet.module.base_module import BatchEndParam

__all__ = ["LogMetricsCallback"]


@final
class LogMetricsCallback:
    """A callback that writes a metric's values, one point for each pass over the data.

        mod.fit(data, eval_end_callback=LogMetricsCallback("logs/eval"), ...)

    Args:
        logging_dir: the folder; TensorBoard shows each of its folders as a line of its own.
        prefix: what names begin with, before a hyphen.
    """

    def __init__(self, logging_dir: str | os.PathLike[str], prefix: str | None = None) -> None:
        self.prefix = prefix
        self.summary_writer = EventWriter(logging_dir)

    def __call__(self, param: BatchEndParam) -> None:
        """Writes the metric of a `BatchEndParam`; several for one pass are several points."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            summary = Summary(value=[Value(tag, simple_value=float(value))])
            self.summary_writer.add_summary(summary, global_step=param.epoch)
        self.summary_writer.flush()

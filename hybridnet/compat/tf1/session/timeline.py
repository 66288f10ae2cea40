"""The timeline of a step: a trace of what ran when, for the viewers of Chrome and Perfetto."""

from __future__ import annotations

from typing import final

from hybridnet.profiler import Record, Span, events_of, trace_text
from hybridnet.session import DeviceStepStats, StepStats

__all__ = ["Timeline"]


@final
class Timeline:
    """A trace of a step that was run with ``trace_level=tf.RunOptions.FULL_TRACE``.

    Args:
        step_stats: of the run's metadata.
        graph: without meaning here.
    """

    def __init__(self, step_stats: StepStats, graph: object = None) -> None:
        self._stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """Returns the trace as JSON in Chrome's Trace Event Format, for a file of its own.

        Each device is a group of rows, each node a bar with its operator as its name; on several
        devices, or tasks, it is programs and what was received.

        Args:
            show_dataflow: without meaning here: there are no arrows.
            show_memory: without meaning here: sizes of tensors are not noted.
            op_time: without meaning here: nodes have one time.
        """
        return trace_text([span for one in self._stats.dev_stats for span in _spans(one)])


def _spans(stats: DeviceStepStats) -> list[Span]:
    """Returns the nodes of a device as events; a row holds those that do not overlap."""
    records = [
        Record(
            "device",
            node.timeline_label or node.node_name,
            (0, "nodes"),
            node.all_start_micros * 1000,
            (node.all_start_micros + node.all_end_rel_micros) * 1000,
            {"device": stats.device, "name": node.node_name, "op": node.timeline_label},
        )
        for node in stats.node_stats
    ]
    return events_of(records, 0)

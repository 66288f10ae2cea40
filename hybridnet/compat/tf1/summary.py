"""``tf.summary``: values of a run for TensorBoard, and the files that it reads."""

from __future__ import annotations

from .summaries.events import Event as Event
from .summaries.events import Summary as Summary
from .summaries.values import histogram as histogram
from .summaries.values import image as image
from .summaries.values import merge as merge
from .summaries.values import merge_all as merge_all
from .summaries.values import scalar as scalar
from .summaries.writer import FileWriter as FileWriter
from .summaries.writer import FileWriterCache as FileWriterCache

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "Summary",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
]

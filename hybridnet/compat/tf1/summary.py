"""``tf.summary``: values of a run for TensorBoard, and the files that it reads."""

from hybridnet.events import Event, Summary

from .summaries.values import histogram, image, merge, merge_all, scalar
from .summaries.writer import FileWriter, FileWriterCache

__all__ = [
    "Event", "FileWriter", "FileWriterCache", "Summary", "histogram", "image", "merge", "merge_all",
    "scalar",
]  # fmt: skip

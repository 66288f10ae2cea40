"""``tf.python_io``: TFRecord files, read and written by Python."""

from .files.records import TFRecordCompressionType as TFRecordCompressionType
from .files.records import TFRecordOptions as TFRecordOptions
from .files.records import TFRecordWriter as TFRecordWriter
from .files.records import tf_record_iterator as tf_record_iterator

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]

"""``tf.io``: files and what is in them, by their newer names."""

# ruff: noqa: F403, F405

from .files.parsing import *
from .files.readers import match_filenames_once, matching_files, read_file, write_file
from .files.records import *
from .operations.strings import decode_raw

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "TFRecordCompressionType", "TFRecordOptions",
    "TFRecordWriter", "VarLenFeature", "decode_csv", "decode_raw", "match_filenames_once",
    "matching_files", "parse_example", "parse_single_example", "read_file", "tf_record_iterator",
    "write_file",
]  # fmt: skip

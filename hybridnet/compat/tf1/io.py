"""``tf.io``: files and what is in them, by their newer names."""

from .files.parsing import FixedLenFeature as FixedLenFeature
from .files.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from .files.parsing import VarLenFeature as VarLenFeature
from .files.parsing import decode_csv as decode_csv
from .files.parsing import parse_example as parse_example
from .files.parsing import parse_single_example as parse_single_example
from .files.readers import match_filenames_once as match_filenames_once
from .files.readers import matching_files as matching_files
from .files.readers import read_file as read_file
from .files.readers import write_file as write_file
from .files.records import TFRecordCompressionType as TFRecordCompressionType
from .files.records import TFRecordOptions as TFRecordOptions
from .files.records import TFRecordWriter as TFRecordWriter
from .files.records import tf_record_iterator as tf_record_iterator
from .operations.strings import decode_raw as decode_raw

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "TFRecordCompressionType", "TFRecordOptions",
    "TFRecordWriter", "VarLenFeature", "decode_csv", "decode_raw", "match_filenames_once",
    "matching_files", "parse_example", "parse_single_example", "read_file", "tf_record_iterator",
    "write_file",
]  # fmt: skip

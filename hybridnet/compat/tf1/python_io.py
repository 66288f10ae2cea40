"""``tf.python_io``: TFRecord files, read and written by Python."""

from .files.records import *  # noqa: F403

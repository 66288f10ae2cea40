"""``tensorflow.python.platform``: files, flags, and the beginning of a script."""

from .. import app as app
from .. import flags as flags
from .. import gfile as gfile
from .. import logging as tf_logging
from .. import test as test

__all__ = ["app", "flags", "gfile", "test", "tf_logging"]

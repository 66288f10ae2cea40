"""``tensorflow.python.framework``: graphs, dtypes and shapes."""

from hybridnet.compat import tf1

from .. import dtypes as dtypes
from .. import errors as errors

constant_op = ops = tensor_shape = tf1

__all__ = ["constant_op", "dtypes", "errors", "ops", "tensor_shape"]

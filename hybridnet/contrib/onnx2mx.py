"""`mxnet.contrib.onnx.onnx2mx`: a module of its own, since two in it have the names of functions.

Python puts a module that it has imported into the one around it: ``onnx2mx.import_model`` in the
place of `contrib.onnx.import_model`, if that were the one around it.
"""

from .onnx import *  # noqa: F403
from .onnx import __all__ as __all__

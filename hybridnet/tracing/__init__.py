"""`hn.function`: a Python function over arrays, traced into a graph and run as one program."""

from . import control_flow as control_flow
from .bucketed import Bucketed
from .buckets import Buckets
from .cached_op import CachedOp, run_graph
from .decorator import function
from .host import print, py_func
from .retracing import RetracingWarning
from .signature import TensorSpec
from .traced import Function

__all__ = [
    "Bucketed",
    "Buckets",
    "CachedOp",
    "Function",
    "RetracingWarning",
    "TensorSpec",
    "function",
    "print",
    "py_func",
    "run_graph",
]

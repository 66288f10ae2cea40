"""`hn.function`: a Python function over arrays, traced into a graph and run as one program."""

from . import control_flow as control_flow
from .bucketed import Bucketed as Bucketed
from .buckets import Buckets as Buckets
from .decorator import function as function
from .host import print as print
from .host import py_func as py_func
from .retracing import RetracingWarning as RetracingWarning
from .signature import TensorSpec as TensorSpec
from .traced import Function as Function

__all__ = [
    "Bucketed",
    "Buckets",
    "Function",
    "RetracingWarning",
    "TensorSpec",
    "function",
    "print",
    "py_func",
]

"""`hn.function`: a Python function over arrays, traced into a graph and run as one program."""

from . import control_flow as control_flow
from .admission import NEW_KIND, Admissions
from .autograph import Converter, Operators, run_converted
from .bucketed import Bucketed
from .buckets import Buckets, several
from .build import Output, Outside, Plan, build
from .cached_op import CachedOp, run_graph
from .decorator import function
from .host import print, py_func
from .host_call import world
from .retracing import RetracingWarning
from .signature import TensorSpec
from .structure import Arguments, flatten, unflatten
from .traced import Function

__all__ = [
    "NEW_KIND",
    "Admissions",
    "Arguments",
    "Bucketed",
    "Buckets",
    "CachedOp",
    "Converter",
    "Function",
    "Operators",
    "Output",
    "Outside",
    "Plan",
    "RetracingWarning",
    "TensorSpec",
    "build",
    "flatten",
    "function",
    "print",
    "py_func",
    "run_converted",
    "run_graph",
    "several",
    "unflatten",
    "world",
]

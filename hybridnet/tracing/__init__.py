"""`hn.function`: a Python function over arrays, traced into a graph and run as one program."""

from .function import Function as Function
from .function import function as function

__all__ = ["Function", "function"]

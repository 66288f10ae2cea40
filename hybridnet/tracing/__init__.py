"""`hn.function`: a Python function over arrays, traced into a graph and run as one program."""

from .traced import Function as Function
from .traced import function as function

__all__ = ["Function", "function"]

"""Control flow of Python becomes control flow of the graph.

A function that is traced runs once, on arrays that have no values. So its source is converted
first (`transpile`, by diastatic-malt): what an `if` or a loop does becomes a call of an operator of
this package, which lets Python do it where Python knows the condition, and else traces all that may
happen into one node (`conditions`, `while_loops`, `for_loops`).
"""

from .convert import converted, run_converted
from .number import Number
from .user_operators import Converter, Operators

__all__ = ["Converter", "Number", "Operators", "converted", "run_converted"]

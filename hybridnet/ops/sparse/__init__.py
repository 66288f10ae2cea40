"""Operators that sparse arrays are computed with, on the dense arrays that they are made of."""

from . import elements as elements
from . import products as products
from . import storage as storage
from .names import KEEPS_ZERO as KEEPS_ZERO
from .names import SPARSE_OPERATORS as SPARSE_OPERATORS

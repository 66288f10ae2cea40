"""Functions of numbers, products of matrices, and what sums numbers up: reductions, histograms."""

from . import arithmetic as arithmetic
from . import elementwise as elementwise
from . import few_rows as few_rows
from . import histogram as histogram
from . import matrix as matrix
from . import quantization as quantization
from . import reduce as reduce

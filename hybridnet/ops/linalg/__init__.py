"""Linear algebra after BLAS and LAPACK: products, factorizations, and parts of matrices."""

from . import factors as factors
from . import parts as parts
from . import products as products

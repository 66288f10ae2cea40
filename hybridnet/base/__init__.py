"""The floor below all others: errors, configuration, dtypes, contexts, parameters.

Nothing here imports JAX; everything here can be imported by a data-loading worker at no cost.
"""

from .config import data_dir
from .errors import MXNetError, NotImplementedForSymbol, NotSupportedForSparseNDArray

__all__ = [
    "MXNetError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "data_dir",
]

"""Parameters, under the name of MXNet's module."""

from typing import Final

from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ._constant import Constant
from ._parameter import DeferredInitializationError, Parameter
from ._parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]

#: What a block may be called with.
tensor_types: Final = (Symbol, NDArray)

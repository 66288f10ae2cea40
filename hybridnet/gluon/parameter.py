"""Parameters, under the name of MXNet's module."""

from ._parameter import Constant, DeferredInitializationError, Parameter
from ._parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]

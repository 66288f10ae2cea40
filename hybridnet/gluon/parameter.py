"""Parameters, under the name of MXNet's module."""

from ._parameter import Constant as Constant
from ._parameter import DeferredInitializationError as DeferredInitializationError
from ._parameter import Parameter as Parameter
from ._parameter_dict import ParameterDict as ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]

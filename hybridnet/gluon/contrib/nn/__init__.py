"""`gluon.contrib.nn`: branches, layers for many devices, finer pictures; adapted dense layers."""

from . import adapters as adapters
from . import basic_layers as basic_layers
from .adapters import *  # noqa: F403
from .adapters import __all__ as _adapters
from .basic_layers import *  # noqa: F403
from .basic_layers import __all__ as _layers

__all__ = [*_adapters, *_layers]

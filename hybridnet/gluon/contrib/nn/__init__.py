"""`gluon.contrib.nn`: branches, and layers for many devices and for finer pictures."""

from . import basic_layers as basic_layers
from .basic_layers import *  # noqa: F403
from .basic_layers import __all__ as __all__

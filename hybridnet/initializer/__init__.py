"""Initial values of weights.

An initializer is called with the name of an array and the array, and fills it. The name decides:
only ``..._weight`` gets the initializer's own values; biases, betas and running means become 0,
gammas and running variances 1. A variable can name another initializer for itself in its
``__init__`` attribute, which then fills it whatever its name.

Random values come from the generator of the array's context, so `hybridnet.random.seed` makes
them reproducible.
"""

from .base import InitDesc as InitDesc
from .base import Initializer as Initializer
from .base import alias as alias
from .base import create as create
from .base import register as register
from .combined import Load as Load
from .combined import Mixed as Mixed
from .scaled import MSRAPrelu as MSRAPrelu
from .scaled import Orthogonal as Orthogonal
from .scaled import Xavier as Xavier
from .simple import Bilinear as Bilinear
from .simple import Constant as Constant
from .simple import LSTMBias as LSTMBias
from .simple import Normal as Normal
from .simple import One as One
from .simple import Uniform as Uniform
from .simple import Zero as Zero

__all__ = [
    "Bilinear",
    "Constant",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]

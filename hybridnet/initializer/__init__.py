"""Initial values of weights.

An initializer is called with the name of an array and the array, and fills it. The name decides:
only ``..._weight`` gets the initializer's own values; biases, betas and running means become 0,
gammas and running variances 1. A variable can name another initializer for itself in its
``__init__`` attribute, which then fills it whatever its name.

Random values come from the generator of the array's context, so `hybridnet.random.seed` makes
them reproducible.
"""

from .base import InitDesc, Initializer, alias, create, register
from .combined import Load, Mixed
from .fused import FusedRNN
from .scaled import MSRAPrelu, Orthogonal, Xavier
from .simple import Bilinear, Constant, LSTMBias, Normal, One, Uniform, Zero

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
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

"""The operator library: its core, and a folder for each family of operators.

Importing it fills the registry; JAX itself is imported when the first operator is lowered. An
operator's lowerings stand beside it, and are its host form, too.

    host        the array functions that lowerings are written with: JAX's, or NumPy's
    core        the registry and its rows, calls, gradients, alternatives, rules that families share
    state       the variables of graphs, and the parts of a Storage that views show
    random      generators, distributions and their densities, choices
    math        functions of numbers, products of matrices, reductions
    linalg      products, factorizations and parts of matrices, after BLAS and LAPACK
    shape       arrays made, reshaped, joined, cut, indexed, masked and sorted
    sparse      what sparse arrays are computed with
    optimizer   updates of weights
    numpy       NumPy's functions, where they differ from the older operators
    nn          layers of networks; conv: windows that slide over images; rnn: recurrent networks
    vision      images, boxes, regions

All families import from the core; besides, numpy and nn from math and random, and vision from
random and nn. `alternatives` is for users who write their own.
"""

from . import linalg as linalg
from . import math as math
from . import nn as nn
from . import numpy as numpy
from . import optimizer as optimizer
from . import random as random
from . import shape as shape
from . import sparse as sparse
from . import state as state
from . import vision as vision
from .core.registry import complete_library
from .numpy.names import add_numpy_names

add_numpy_names()
complete_library()

"""``tf.initializers``: what makes the first values of variables, by their shorter names."""

from __future__ import annotations

from .init_ops import Constant as constant
from .init_ops import GlorotNormal as glorot_normal
from .init_ops import GlorotUniform as glorot_uniform
from .init_ops import Identity as identity
from .init_ops import Ones as ones
from .init_ops import Orthogonal as orthogonal
from .init_ops import RandomNormal as random_normal
from .init_ops import RandomUniform as random_uniform
from .init_ops import TruncatedNormal as truncated_normal
from .init_ops import UniformUnitScaling as uniform_unit_scaling
from .init_ops import VarianceScaling as variance_scaling
from .init_ops import Zeros as zeros
from .init_ops import he_normal as he_normal
from .init_ops import he_uniform as he_uniform
from .init_ops import lecun_normal as lecun_normal
from .init_ops import lecun_uniform as lecun_uniform
from .variable_lists import global_variables_initializer as global_variables
from .variable_lists import local_variables_initializer as local_variables
from .variable_lists import variables_initializer as variables

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]  # fmt: skip

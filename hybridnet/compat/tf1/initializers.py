"""``tf.initializers``: what makes the first values of variables, by their shorter names."""

from .variables.initial import Constant as constant
from .variables.initial import GlorotNormal as glorot_normal
from .variables.initial import GlorotUniform as glorot_uniform
from .variables.initial import Identity as identity
from .variables.initial import Ones as ones
from .variables.initial import Orthogonal as orthogonal
from .variables.initial import RandomNormal as random_normal
from .variables.initial import RandomUniform as random_uniform
from .variables.initial import TruncatedNormal as truncated_normal
from .variables.initial import UniformUnitScaling as uniform_unit_scaling
from .variables.initial import VarianceScaling as variance_scaling
from .variables.initial import Zeros as zeros
from .variables.initial import he_normal, he_uniform, lecun_normal, lecun_uniform
from .variables.lists import global_variables_initializer as global_variables
from .variables.lists import local_variables_initializer as local_variables
from .variables.lists import variables_initializer as variables

__all__ = [
    "constant", "global_variables", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "identity", "lecun_normal", "lecun_uniform", "local_variables", "ones", "orthogonal",
    "random_normal", "random_uniform", "truncated_normal", "uniform_unit_scaling", "variables",
    "variance_scaling", "zeros",
]  # fmt: skip

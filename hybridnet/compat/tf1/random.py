"""``tf.random``: random numbers, by their newer names."""

from .graph.control import set_random_seed
from .operations.random import categorical, multinomial, truncated_normal
from .operations.random import random_normal as normal
from .operations.random import random_shuffle as shuffle
from .operations.random import random_uniform as uniform

__all__ = [
    "categorical", "multinomial", "normal", "set_random_seed", "shuffle", "truncated_normal",
    "uniform",
]  # fmt: skip

"""``tf.random``: random numbers, by their newer names."""

from __future__ import annotations

from .graph.control import set_random_seed as set_random_seed
from .operations.random import categorical as categorical
from .operations.random import multinomial as multinomial
from .operations.random import random_normal as normal
from .operations.random import random_shuffle as shuffle
from .operations.random import random_uniform as uniform
from .operations.random import truncated_normal as truncated_normal

__all__ = [
    "categorical", "multinomial", "normal", "set_random_seed", "shuffle", "truncated_normal",
    "uniform",
]  # fmt: skip

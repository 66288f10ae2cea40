"""``tf.random``: random numbers, by their newer names."""

from __future__ import annotations

from .control import set_random_seed as set_random_seed
from .random_ops import categorical as categorical
from .random_ops import multinomial as multinomial
from .random_ops import random_normal as normal
from .random_ops import random_shuffle as shuffle
from .random_ops import random_uniform as uniform
from .random_ops import truncated_normal as truncated_normal

__all__ = [
    "categorical", "multinomial", "normal", "set_random_seed", "shuffle", "truncated_normal",
    "uniform",
]  # fmt: skip

"""``tf.contrib.framework``: the names that the counter of steps had there."""

from __future__ import annotations

from ..training.rates import create_global_step as create_global_step
from ..training.rates import get_global_step as get_global_step
from ..training.rates import get_or_create_global_step as get_or_create_global_step

__all__ = ["create_global_step", "get_global_step", "get_or_create_global_step"]

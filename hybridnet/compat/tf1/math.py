"""``tf.math``: functions of numbers, reductions, running sums, segments."""

from .math_names import *  # noqa: F403

"""``tf.debugging``: checks of tensors."""

# ruff: noqa: F403, F405

from .operations import is_finite, is_inf, is_nan
from .operations import verify_tensor_all_finite as assert_all_finite
from .operations.checks import *
from .operations.known import *

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal",
    "assert_integer", "assert_less", "assert_less_equal", "assert_negative", "assert_non_negative",
    "assert_non_positive", "assert_none_equal", "assert_positive", "assert_rank",
    "assert_rank_at_least", "assert_rank_in", "assert_scalar", "assert_type", "check_numerics",
    "is_finite", "is_inf", "is_nan", "is_numeric_tensor",
]  # fmt: skip

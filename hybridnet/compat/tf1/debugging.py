"""``tf.debugging``: checks of tensors."""

from __future__ import annotations

from .operations.checks import Assert as Assert
from .operations.checks import assert_equal as assert_equal
from .operations.checks import assert_greater as assert_greater
from .operations.checks import assert_greater_equal as assert_greater_equal
from .operations.checks import assert_less as assert_less
from .operations.checks import assert_less_equal as assert_less_equal
from .operations.checks import assert_negative as assert_negative
from .operations.checks import assert_non_negative as assert_non_negative
from .operations.checks import assert_non_positive as assert_non_positive
from .operations.checks import assert_none_equal as assert_none_equal
from .operations.checks import assert_positive as assert_positive
from .operations.checks import assert_rank as assert_rank
from .operations.checks import check_numerics as check_numerics
from .operations.checks import verify_tensor_all_finite as assert_all_finite
from .operations.elementwise import is_finite as is_finite
from .operations.elementwise import is_inf as is_inf
from .operations.elementwise import is_nan as is_nan
from .operations.known import assert_integer as assert_integer
from .operations.known import assert_rank_at_least as assert_rank_at_least
from .operations.known import assert_rank_in as assert_rank_in
from .operations.known import assert_scalar as assert_scalar
from .operations.known import assert_type as assert_type
from .operations.known import is_numeric_tensor as is_numeric_tensor

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal",
    "assert_integer", "assert_less", "assert_less_equal", "assert_negative", "assert_non_negative",
    "assert_non_positive", "assert_none_equal", "assert_positive", "assert_rank",
    "assert_rank_at_least", "assert_rank_in", "assert_scalar", "assert_type", "check_numerics",
    "is_finite", "is_inf", "is_nan", "is_numeric_tensor",
]  # fmt: skip

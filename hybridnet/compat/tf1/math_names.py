"""Names of ``tf.math``, from modules that have others, too: those in `__all__` are handed on."""

# ruff: noqa: F403, F405

from .operations import *
from .operations.nn.activation import *
from .operations.segments import *

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "argmax", "argmin", "asin", "asinh",
    "atan", "atan2", "atanh", "ceil", "confusion_matrix", "cos", "cosh", "count_nonzero", "cumprod",
    "cumsum", "digamma", "divide", "equal", "erf", "erfc", "exp", "expm1", "floor", "floordiv",
    "floormod", "greater", "greater_equal", "in_top_k", "invert_permutation", "is_finite", "is_inf",
    "is_nan", "l2_normalize", "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid",
    "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "mod", "multiply", "negative", "not_equal", "pow", "reciprocal", "reduce_all", "reduce_any",
    "reduce_euclidean_norm", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min",
    "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance", "rint", "round", "rsqrt",
    "scalar_mul", "segment_max", "segment_mean", "segment_min", "segment_sum", "sigmoid", "sign",
    "sin", "sinh", "softmax", "softplus", "softsign", "sqrt", "square", "squared_difference",
    "subtract", "tan", "tanh", "top_k", "truediv", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_sum", "xlogy", "zero_fraction",
]  # fmt: skip

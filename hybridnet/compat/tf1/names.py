"""Names of ``tf`` from modules that have others, too: those in `__all__` are handed on."""

# ruff: noqa: F403, F405

from .graph import *
from .operations import *
from .operations.sparse.functions import *
from .operations.sparse.tensor import *
from .operations.strings import *

__all__ = [
    "Dimension", "Graph", "GraphDef", "GraphKeys", "IndexedSlices", "NodeDef", "SparseTensor",
    "SparseTensorValue", "TensorShape", "abs", "accumulate_n", "acos", "acosh", "add", "add_n",
    "add_to_collection", "add_to_collections", "arg_max", "arg_min", "argmax", "argmin", "argsort",
    "as_string", "asin", "asinh", "atan", "atan2", "atanh", "cast", "ceil", "colocate_with",
    "confusion_matrix", "constant", "container", "control_dependencies", "convert_to_tensor",
    "convert_to_tensor_or_sparse_tensor", "cos", "cosh", "count_nonzero", "cumprod", "cumsum",
    "decode_raw", "device", "diag", "diag_part", "digamma", "dimension_value", "div", "div_no_nan",
    "divide", "einsum", "equal", "erf", "erfc", "exp", "expm1", "eye", "floor", "floor_div",
    "floordiv", "floormod", "foldl", "foldr", "gather", "gather_nd", "get_collection",
    "get_collection_ref", "get_default_graph", "greater", "greater_equal", "group", "identity",
    "invert_permutation", "is_finite", "is_inf", "is_nan", "less", "less_equal", "lgamma", "log",
    "log1p", "log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor", "map_fn",
    "matmul", "matrix_determinant", "matrix_diag", "matrix_diag_part", "matrix_inverse",
    "matrix_transpose", "maximum", "minimum", "mod", "multinomial", "multiply", "name_scope",
    "negative", "no_op", "norm", "not_equal", "one_hot", "placeholder", "placeholder_with_default",
    "pow", "random_crop", "random_normal", "random_shuffle", "random_uniform", "realdiv",
    "reciprocal", "reduce_all", "reduce_any", "reduce_join", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "regex_replace",
    "register_tensor_conversion_function", "reset_default_graph", "rint", "round", "rsqrt",
    "saturate_cast", "scalar_mul", "scan", "scatter_nd", "sequence_mask", "set_random_seed",
    "sigmoid", "sign", "sin", "sinh", "sort", "sparse_add", "sparse_placeholder",
    "sparse_reduce_sum", "sparse_reorder", "sparse_reshape", "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense", "sparse_to_dense", "sqrt", "square", "squared_difference",
    "stop_gradient", "string_join", "string_strip", "string_to_number", "substr", "subtract", "tan",
    "tanh", "tensor_scatter_nd_add", "tensor_scatter_nd_sub", "tensor_scatter_nd_update",
    "tensordot", "to_double", "to_float", "to_int32", "to_int64", "trace", "truediv",
    "truncated_normal", "truncatediv", "truncatemod", "tuple", "unsorted_segment_max",
    "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_sum", "where_v2",
]  # fmt: skip

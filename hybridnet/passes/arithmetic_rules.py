"""The rules of arithmetic that are operator expressions."""

from typing import Final

from .rule import Rule

_IDEMPOTENT: Final = ("abs", "relu", "sign", "floor", "ceil", "rint", "round", "trunc", "fix")
# Of a float, the first leaves the second nothing to do.
_ROUNDED: Final = ("floor", "ceil", "rint", "round", "trunc", "fix")

#: Signs, and functions that undo one another or come twice.
SIGNS: Final = (
    Rule("negative_twice", "negative(negative(x))", "x"),
    Rule("not_thrice", "logical_not(logical_not(logical_not(x)))", "logical_not(x)"),
    *(Rule(f"{name}_twice", f"{name}({name}(x))", f"{name}(x)") for name in _IDEMPOTENT),
    *(
        Rule(f"{outer}_of_{inner}", f"{outer}({inner}(x))", f"{inner}(x)")
        for inner in _ROUNDED
        for outer in _ROUNDED
        # Rounding loses the sign of -0.0, and the others keep it.
        if outer not in (inner, "rint", "round")
    ),
    Rule("abs_of_negative", "abs(negative(x))", "abs(x)", where="x.dtype.kind != 'u'"),
    Rule("square_of_negative", "square(negative(x))", "square(x)"),
    Rule("square_of_abs", "square(abs(x))", "square(x)"),
    Rule("relu_of_abs", "relu(abs(x))", "abs(x)", where="x.floating"),
    Rule("abs_of_square", "abs(square(x))", "square(x)", where="x.floating"),
    Rule("plus_negative", "add(x, negative(y))", "sub(x, y)"),
    Rule("minus_negative", "sub(x, negative(y))", "add(x, y)"),
    Rule("product_of_negatives", "mul(negative(x), negative(y))", "mul(x, y)"),
    Rule(
        "quotient_of_negatives",
        "div(negative(x), negative(y))",
        "div(x, y)",
        where="result.floating",
    ),
    Rule(
        "negative_of_scaled",
        "negative(_mul_scalar(x, a))",
        "_mul_scalar(x, -a)",
        where="x.floating",
    ),
    Rule(
        "scaled_negative", "_mul_scalar(negative(x), a)", "_mul_scalar(x, -a)", where="x.floating"
    ),
    Rule("number_plus_negative", "_plus_scalar(negative(x), a)", "_rminus_scalar(x, a)"),
    Rule("number_minus_negative", "_rminus_scalar(negative(x), a)", "_plus_scalar(x, a)"),
    Rule("negative_of_difference", "negative(sub(x, y))", "sub(y, x)", exact=False),
    Rule(
        "negative_of_number_minus",
        "negative(_rminus_scalar(x, a))",
        "_minus_scalar(x, a)",
        exact=False,
    ),
)

_BOTH_WAYS: Final = "(min(abs(a), abs(b)) >= 1 or max(abs(a), abs(b)) <= 1)"
_EXACT_FACTORS: Final = (
    "x.floating and power_of_two(a, x.dtype) and power_of_two(b, x.dtype) "
    f"and power_of_two(a * b, x.dtype) and {_BOTH_WAYS}"
)

#: Numbers beside arrays.
NUMBERS: Final = (
    Rule(
        "scaled_twice",
        "_mul_scalar(_mul_scalar(x, a), b)",
        "_mul_scalar(x, a * b)",
        where=_EXACT_FACTORS,
    ),
    Rule(
        "scaled_twice_whole",
        "_mul_scalar(_mul_scalar(x, a), b)",
        "_mul_scalar(x, a * b)",
        where="x.integer and whole(a, b)",
    ),
    Rule(
        "scaled_twice_float",
        "_mul_scalar(_mul_scalar(x, a), b)",
        "_mul_scalar(x, a * b)",
        exact=False,
        where="x.floating",
    ),
    Rule(
        "plus_twice_whole",
        "_plus_scalar(_plus_scalar(x, a), b)",
        "_plus_scalar(x, a + b)",
        where="x.integer and whole(a, b)",
    ),
    Rule(
        "plus_twice_float",
        "_plus_scalar(_plus_scalar(x, a), b)",
        "_plus_scalar(x, a + b)",
        exact=False,
        where="x.floating",
    ),
    Rule(
        "over_power_of_two",
        "_div_scalar(x, a)",
        "_mul_scalar(x, 1 / a)",
        where="x.floating and power_of_two(a, x.dtype) and power_of_two(1 / a, x.dtype)",
    ),
    Rule(
        "over_number_twice",
        "_div_scalar(_div_scalar(x, a), b)",
        "_div_scalar(x, a * b)",
        exact=False,
        where="x.floating",
    ),
)

#: Identities of real numbers that do not hold of all floating-point numbers.
ALGEBRA: Final = (
    Rule("reciprocal_twice", "reciprocal(reciprocal(x))", "x", exact=False),
    Rule("square_of_root", "square(sqrt(x))", "x", exact=False),
    Rule("root_of_square", "sqrt(square(x))", "abs(x)", exact=False),
    Rule("exp_of_log", "exp(log(x))", "x", exact=False),
    Rule("log_of_exp", "log(exp(x))", "x", exact=False),
    Rule("times_reciprocal", "mul(x, reciprocal(y))", "div(x, y)", exact=False),
    Rule("over_root", "div(x, sqrt(y))", "mul(x, rsqrt(y))", exact=False),
    Rule("product_of_exps", "mul(exp(x), exp(y))", "exp(add(x, y))", exact=False),
    Rule("product_of_roots", "mul(sqrt(x), sqrt(x))", "x", exact=False),
    Rule("times_itself", "mul(x, x)", "square(x)"),
    Rule("largest_of_one", "_maximum(x, x)", "x"),
    Rule("largest_of_one_wide", "broadcast_maximum(x, x)", "x"),
    Rule("smallest_of_one", "_minimum(x, x)", "x"),
    Rule("smallest_of_one_wide", "broadcast_minimum(x, x)", "x"),
    Rule("choice_of_one", "where(c, x, x)", "x"),
)

#: What moves or converts elements, and undoes, or can be done at once.
MOVES: Final = (
    Rule(
        "transpose_to_same",
        "transpose(x, axes=p)",
        "x",
        where="order(p, x.rank) == tuple(range(x.rank))",
    ),
    Rule(
        "transpose_of_ones",
        "transpose(x, axes=p)",
        "Reshape(x, shape=result.shape)",
        where="keeps_order(p, x.shape) and x.size > 0 and x.rank > 0",
    ),
    Rule(
        "transpose_twice",
        "transpose(transpose(x, axes=p), axes=q)",
        "transpose(x, axes=composed(p, q, x.rank))",
        where="x.rank > 0",
    ),
    Rule("swap_twice", "SwapAxis(SwapAxis(x, dim1=a, dim2=b), dim1=a, dim2=b)", "x"),
    Rule("swap_back", "SwapAxis(SwapAxis(x, dim1=a, dim2=b), dim1=b, dim2=a)", "x"),
    Rule("swap_of_same", "SwapAxis(x, dim1=a, dim2=a)", "x"),
    Rule("reverse_twice", "reverse(reverse(x, axis=a), axis=a)", "x"),
    Rule(
        "cast_twice",
        "Cast(Cast(x, dtype=t), dtype=u)",
        "Cast(x, dtype=u)",
        where="holds(t, x.dtype)",
    ),
    Rule(
        "broadcast_twice",
        "broadcast_to(broadcast_to(x, shape=s), shape=t)",
        "broadcast_to(x, shape=result.shape)",
        where="x.rank == result.rank and result.size > 0",
    ),
    Rule("broadcast_to_same", "broadcast_to(x, shape=s)", "x"),
    Rule("tile_once", "tile(x, reps=r)", "x", where="all(n == 1 for n in r)"),
    Rule("whole_slice", "slice_axis(x, axis=a, begin=b, end=e)", "x"),
)

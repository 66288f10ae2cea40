"""Derivatives of the functions that lowerings are written with, on NumPy arrays.

Where a function has a kink, its derivative is the one that JAX has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import functions
from . import rearranging as rearranging
from .convolution import Convolution
from .functions import words
from .namespace import NoHostForm, on_host
from .traced import (
    LATER,
    TRACING,
    Pending,
    Pull,
    TracedArray,
    call,
    composed,
    constant,
    is_traced,
    noted,
    plain,
    rule,
    summed_like,
    vjp,
)

__all__ = ["vjp"]

# What has no derivative but 0, or makes arrays of nothing but sizes.
for _name in words("""
    all any arange argmax argmin argsort array asarray bitwise_and bitwise_not bitwise_or
    bitwise_xor broadcast_shapes ceil equal eye finfo floor full greater greater_equal heaviside
    iinfo isfinite isinf isnan issubdtype less less_equal linspace logical_and logical_not
    logical_or logical_xor ndim not_equal ones ones_like promote_types result_type round
    searchsorted shape sign signbit size trunc unravel_index zeros zeros_like full_like
    lax.broadcasted_iota lax.stop_gradient lax.bitcast_convert_type
"""):
    TRACING[_name] = constant(functions.FUNCTIONS[_name])
for _name in ("asarray", "array"):
    TRACING[_name] = lambda x, dtype=None, _plain_one=TRACING[_name]: (
        (x if dtype is None else call("astype", x, dtype))
        if type(x) is TracedArray
        else _plain_one(x, dtype)
    )
for _name in ("lax.optimization_barrier", "lax.reduce_precision"):
    TRACING[_name] = lambda x, *_: x


# -- element by element ----------------------------------------------------------------------------


def _slope(paths: str, slope: Callable[[Any, Any], Any]) -> None:
    """Functions of each element; `slope` gives the derivative from the result and the element."""
    rule(*words(paths))(lambda y, x, *_, **__: [lambda g: (g * slope(y, x)).astype(x.dtype)])


_slope("abs", lambda y, x: np.where(x >= 0, 1, -1).astype(x.dtype))
_slope("negative", lambda y, x: np.array(-1, x.dtype))
_slope("square", lambda y, x: 2 * x)
_slope("sqrt", lambda y, x: 0.5 / y)
_slope("lax.rsqrt", lambda y, x: -0.5 * y / x)
_slope("cbrt", lambda y, x: y / (3 * x))
_slope("reciprocal", lambda y, x: -y * y)
_slope("exp", lambda y, x: y)
_slope("exp2", lambda y, x: y * np.log(2).astype(x.dtype))
_slope("expm1", lambda y, x: y + 1)
_slope("log", lambda y, x: 1 / x)
_slope("log2", lambda y, x: 1 / (x * np.log(2).astype(x.dtype)))
_slope("log10", lambda y, x: 1 / (x * np.log(10).astype(x.dtype)))
_slope("log1p", lambda y, x: 1 / (1 + x))
_slope("sin", lambda y, x: np.cos(x))
_slope("cos", lambda y, x: -np.sin(x))
_slope("tan", lambda y, x: 1 + y * y)
_slope("arcsin", lambda y, x: 1 / np.sqrt(1 - x * x))
_slope("arccos", lambda y, x: -1 / np.sqrt(1 - x * x))
_slope("arctan", lambda y, x: 1 / (1 + x * x))
_slope("sinh", lambda y, x: np.cosh(x))
_slope("cosh", lambda y, x: np.sinh(x))
_slope("tanh", lambda y, x: 1 - y * y)
_slope("arcsinh", lambda y, x: 1 / np.sqrt(x * x + 1))
_slope("arccosh", lambda y, x: 1 / np.sqrt((x - 1) * (x + 1)))
_slope("arctanh", lambda y, x: 1 / (1 - x * x))
_slope("deg2rad", lambda y, x: np.array(np.pi / 180, x.dtype))
_slope("rad2deg", lambda y, x: np.array(180 / np.pi, x.dtype))
_slope("lax.logistic nn.sigmoid", lambda y, x: y * (1 - y))
_slope("nn.relu", lambda y, x: (x > 0).astype(x.dtype))
_slope("nn.soft_sign", lambda y, x: 1 / np.square(1 + np.abs(x)))
_slope("nn.softplus", lambda y, x: functions.FUNCTIONS["lax.logistic"](x))
_slope("lax.erf", lambda y, x: (2 / np.sqrt(np.pi)) * np.exp(-x * x))
_slope("lax.erfc", lambda y, x: (-2 / np.sqrt(np.pi)) * np.exp(-x * x))
_slope("lax.erf_inv", lambda y, x: (np.sqrt(np.pi) / 2) * np.exp(y * y))
_slope("lax.lgamma scipy.special.gammaln", lambda y, x: functions.FUNCTIONS["lax.digamma"](x))
_slope("scipy.special.gamma", lambda y, x: y * functions.FUNCTIONS["lax.digamma"](x))


@rule("nn.elu")
def _elu_rule(y: Any, x: Any, alpha: Any = 1.0) -> Sequence[Pull]:
    return [lambda g: g * np.where(x > 0, 1, alpha * np.exp(np.where(x > 0, 0, x))).astype(x.dtype)]


@rule("astype")
def _astype_rule(y: Any, x: Any, *_: Any, **__: Any) -> Sequence[Pull]:
    return [lambda g: g.astype(x.dtype)]


def _pair(paths: str, left: Callable[..., Any], right: Callable[..., Any]) -> None:
    """Functions of two arrays that broadcast; derivatives from (result, x, y)."""
    rule(*words(paths))(
        lambda z, x, y: [
            lambda g: summed_like(g * left(z, x, y), x),
            lambda g: summed_like(g * right(z, x, y), y),
        ]
    )


def _half(first: Any, second: Any, dtype: Any) -> Any:
    """1 where the first wins, 1/2 where both are equal."""
    return np.where(first, 1, np.where(second, 0, 0.5)).astype(dtype)


rule("add", "lax.add")(lambda z, x, y: [lambda g: summed_like(g, x), lambda g: summed_like(g, y)])
rule("subtract")(lambda z, x, y: [lambda g: summed_like(g, x), lambda g: summed_like(-g, y)])
_pair("multiply", lambda z, x, y: y, lambda z, x, y: x)
_pair("true_divide lax.div", lambda z, x, y: np.divide(1, y), lambda z, x, y: -z / y)
_pair(
    "maximum lax.max",
    lambda z, x, y: _half(x > y, x < y, z.dtype),
    lambda z, x, y: _half(y > x, y < x, z.dtype),
)
_pair(
    "minimum",
    lambda z, x, y: _half(x < y, x > y, z.dtype),
    lambda z, x, y: _half(y < x, y > x, z.dtype),
)
_pair(
    "power",
    lambda z, x, y: np.where(y == 0, 0, y * np.power(x, np.where(y == 0, 1, y - 1))),
    lambda z, x, y: np.log(np.where(x == 0, 1, x)) * z,
)
_pair("hypot", lambda z, x, y: x / z, lambda z, x, y: y / z)
_pair("arctan2", lambda z, x, y: y / (x * x + y * y), lambda z, x, y: -x / (x * x + y * y))
_pair("logaddexp", lambda z, x, y: np.exp(x - z), lambda z, x, y: np.exp(y - z))
_pair("mod", lambda z, x, y: np.ones_like(z), lambda z, x, y: -np.floor(x / y))
_pair(
    "copysign",
    lambda z, x, y: np.where(np.signbit(x) == np.signbit(z), 1, -1),
    lambda z, x, y: np.zeros_like(z),
)
_pair("ldexp", lambda z, x, y: np.exp2(y), lambda z, x, y: z * np.log(2))


@rule("where")
def _where_rule(z: Any, condition: Any, x: Any, y: Any) -> Sequence[Pull | None]:
    return [
        None,
        lambda g: summed_like(np.where(condition, g, np.zeros((), g.dtype)), x),
        lambda g: summed_like(np.where(condition, np.zeros((), g.dtype), g), y),
    ]


@composed("clip")
def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    if min is not None:
        x = call("maximum", min, x)
    return x if max is None else call("minimum", max, x)


# -- over axes -------------------------------------------------------------------------------------


def _axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(a % x.ndim for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))


def _kept(reduced: Any, x: Any, axis: Any) -> Any:
    """Returns a reduction with the axes that it lacks, 1 long."""
    axes = _axes_of(x, axis)
    return np.reshape(reduced, [1 if i in axes else size for i, size in enumerate(x.shape)])


@rule("sum")
def _sum_rule(y: Any, x: Any, axis: Any = None, **_: Any) -> Sequence[Pull]:
    return [lambda g: np.broadcast_to(_kept(g, x, axis), x.shape).astype(x.dtype)]


@rule("mean")
def _mean_rule(y: Any, x: Any, axis: Any = None, **_: Any) -> Sequence[Pull]:
    count = max(1, x.size // max(1, y.size))
    return [lambda g: np.broadcast_to(_kept(g / count, x, axis), x.shape).astype(x.dtype)]


@rule("max", "min")
def _max_rule(y: Any, x: Any, axis: Any = None, **_: Any) -> Sequence[Pull]:
    def pull(g: Any) -> Any:
        best = x == _kept(y, x, axis)
        count = np.sum(best, axis=_axes_of(x, axis), keepdims=True)
        return np.where(best, _kept(g, x, axis) / count, 0).astype(x.dtype)

    return [pull]


@rule("prod")
def _prod_rule(y: Any, x: Any, axis: Any = None, **_: Any) -> Sequence[Pull]:
    def pull(g: Any) -> Any:
        axes = _axes_of(x, axis)
        last = tuple(range(x.ndim - len(axes), x.ndim))
        moved = np.moveaxis(x, axes, last)
        flat = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
        # The product of all the others: of those before times those after, which may hold zeros.
        one = np.ones_like(flat[..., :1])
        before = np.cumprod(np.concatenate([one, flat[..., :-1]], -1), -1)
        after = np.cumprod(np.concatenate([one, flat[..., :0:-1]], -1), -1)[..., ::-1]
        others = np.moveaxis((before * after).reshape(moved.shape), last, axes)
        return (_kept(g, x, axis) * others).astype(x.dtype)

    return [pull]


@composed("var")
def _var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, **_: Any) -> Any:
    mean = call("mean", x, axis=axis, keepdims=True)
    squares = call("square", x - mean)
    count = x.size // max(1, mean.size)
    return call("sum", squares, axis=axis, keepdims=keepdims) / max(0, count - ddof)


@composed("nansum")
def _nansum(x: Any, **kwargs: Any) -> Any:
    return call("sum", call("where", np.isnan(x.value), np.zeros((), x.dtype), x), **kwargs)


@composed("nanprod")
def _nanprod(x: Any, **kwargs: Any) -> Any:
    return call("prod", call("where", np.isnan(x.value), np.ones((), x.dtype), x), **kwargs)


@rule("cumsum")
def _cumsum_rule(y: Any, x: Any, axis: Any = None, **_: Any) -> Sequence[Pull]:
    along = 0 if axis is None else axis
    return [lambda g: np.flip(np.cumsum(np.flip(g, along), along), along).reshape(x.shape)]


@rule("lax.cumsum")
def _lax_cumsum_rule(y: Any, x: Any, axis: int = 0, reverse: bool = False) -> Sequence[Pull]:
    return [lambda g: functions.FUNCTIONS["lax.cumsum"](g, axis, not reverse)]


@rule("nn.softmax")
def _softmax_rule(y: Any, x: Any, axis: Any = -1) -> Sequence[Pull]:
    return [lambda g: y * (g - np.sum(g * y, axis=axis, keepdims=True))]


@rule("nn.log_softmax")
def _log_softmax_rule(y: Any, x: Any, axis: Any = -1) -> Sequence[Pull]:
    return [lambda g: g - np.exp(y) * np.sum(g, axis=axis, keepdims=True)]


@rule("sort")
def _sort_rule(y: Any, x: Any, axis: int = -1, **kwargs: Any) -> Sequence[Pull]:
    def pull(g: Any) -> Any:
        order = functions.FUNCTIONS["argsort"](x, axis=axis, **kwargs)
        made = np.zeros_like(x)
        np.put_along_axis(made, order, g, axis)
        return made

    return [pull]


# -- products --------------------------------------------------------------------------------------


@rule("matmul")
def _matmul_rule(z: Any, x: Any, y: Any, **_: Any) -> Sequence[Pull]:
    if x.ndim < 2 or y.ndim < 2:
        raise NoHostForm("the gradient of a product with a vector")
    return [lambda g: summed_like(g @ y.mT, x), lambda g: summed_like(x.mT @ g, y)]


def _product_later(compute: Any, x: Any, y: Any, axes: Any = 2) -> Any:
    of_x, of_y = functions.summed_axes(x, y, axes)
    if x.dtype != y.dtype:
        return compute(x, y, axes)
    left = [size for i, size in enumerate(x.shape) if i not in of_x]
    right = [size for i, size in enumerate(y.shape) if i not in of_y]
    return Pending((*left, *right), x.dtype, lambda: compute(x, y, axes))


LATER["tensordot"] = _product_later


@rule("tensordot")
def _tensordot_rule(z: Any, x: Any, y: Any, axes: Any = 2) -> Sequence[Pull]:
    of_x, of_y = functions.summed_axes(x, y, axes)
    if x.ndim == 2 == y.ndim and len(of_x) == 1:

        def pull_rows(g: Any) -> Any:
            made = g @ (y if of_y[0] else y.T)
            return made if of_x[0] else made.T

        def pull_columns(g: Any) -> Any:
            made = (x.T if of_x[0] else x) @ g
            return made.T if of_y[0] else made

        return [pull_rows, pull_columns]
    free_x = [i for i in range(x.ndim) if i not in of_x]
    free_y = [i for i in range(y.ndim) if i not in of_y]

    def pull_x(g: Any) -> Any:
        made = np.tensordot(g, y, (range(len(free_x), g.ndim), free_y))
        return np.transpose(made, np.argsort([*free_x, *(of_x[i] for i in np.argsort(of_y))]))

    def pull_y(g: Any) -> Any:
        made = np.tensordot(x, g, (free_x, range(len(free_x))))
        return np.transpose(made, np.argsort([*(of_y[i] for i in np.argsort(of_x)), *free_y]))

    return [pull_x, pull_y]


@composed("dot")
def _dot(x: Any, y: Any) -> Any:
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return call("tensordot", x, y, ((x.ndim - 1,), (max(0, y.ndim - 2),)))


@composed("einsum")
def _einsum(how: str, *operands: Any, **_options: Any) -> Any:
    given, _, result = how.replace(" ", "").partition("->")
    names = given.split(",")
    whole = [x.value if type(x) is TracedArray else x for x in operands]
    if "..." in how:
        longest = max(
            np.ndim(x) - len(n) + 3 for x, n in zip(whole, names, strict=True) if "..." in n
        )
        spare = [c for c in "ABCDEFGHIJ" if c not in how][:longest]
        names = [
            n.replace("...", "".join(spare[longest - (np.ndim(x) - len(n) + 3) :]))
            for x, n in zip(whole, names, strict=True)
        ]
        result = result.replace("...", "".join(spare))
        how = ",".join(names) + "->" + result
    if (not result and "->" not in how) or any(len(set(n)) < len(n) for n in names):
        raise NoHostForm(f"the gradient of einsum {how}")

    def pull(number: int) -> Pull:
        others = [i for i in range(len(whole)) if i != number]
        sizes = dict(zip(names[number], whole[number].shape, strict=True))
        known = set(result).union(*(names[i] for i in others)) & set(names[number])
        inner = "".join(n for n in names[number] if n in known)
        how_back = ",".join([result, *(names[i] for i in others)]) + "->" + inner
        shape = [sizes[n] if n in known else 1 for n in names[number]]

        def back(g: Any) -> Any:
            made = np.einsum(how_back, g, *(whole[i] for i in others), optimize=True)
            return np.broadcast_to(made.reshape(shape), whole[number].shape)

        return back

    made = functions.FUNCTIONS["einsum"](how, *whole)
    sources = [(x, pull(i)) for i, x in enumerate(operands) if type(x) is TracedArray]
    return noted(made, sources)


@composed("lax.conv_general_dilated")
def _convolution(x: Any, w: Any, *args: Any, **kwargs: Any) -> Any:
    convolution = Convolution(plain(x), plain(w), *args, **kwargs)
    pulls = (x, convolution.pull_x), (w, convolution.pull_w)
    result = Pending(convolution.shape, plain(x).dtype, convolution)
    return noted(result, [pair for pair in pulls if type(pair[0]) is TracedArray])


# -- rules of their own, and none ----------------------------------------------------------------

for _name in functions.COMPOSED:
    TRACING[_name] = functions.FUNCTIONS[_name]


class _WithVjp:
    """Stands for `jax.custom_vjp`: a function with a rule of its own."""

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        self._function = function
        if nondiff_argnums:
            raise NoHostForm("custom_vjp with nondiff_argnums")

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Sets the rule."""
        self._forward, self._backward = forward, backward

    def __call__(self, *args: Any) -> Any:
        if not any(map(is_traced, args)):
            return self._function(*args)
        made, kept = on_host(functions.FUNCTIONS, self._forward, *map(plain, args))
        if isinstance(made, (tuple, list)):
            raise NoHostForm("custom_vjp with several results")

        def pull(number: int) -> Pull:
            return lambda g: self._backward(kept, g)[number]

        sources = [(x, pull(i)) for i, x in enumerate(args) if type(x) is TracedArray]
        return noted(made, sources)


class _WithJvp:
    """Stands for `jax.custom_jvp`: the rule gives the tangent, whose transpose is the pull."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def defjvp(self, tangent: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule."""
        self._tangent = tangent
        return tangent

    def __call__(self, *args: Any) -> Any:
        values = [plain(x) for x in args]
        made = self._function(*values)
        if not any(map(is_traced, args)):
            return made

        def pull(number: int) -> Pull:
            def tangent(dx: Any) -> Any:
                tangents = [np.zeros_like(x) for x in values]
                tangents[number] = dx
                return self._tangent(tuple(values), tuple(tangents))[1]

            return lambda g: vjp(tangent, np.zeros_like(values[number]))[1](g)[0]

        sources = [(x, pull(i)) for i, x in enumerate(args) if type(x) is TracedArray]
        return noted(made, sources)


def _linear_transpose(function: Callable[..., Any], *types: Any) -> Callable[[Any], Any]:
    """As `jax.linear_transpose`: the gradient of a linear function is its transpose."""
    zeros = [np.zeros(x.shape, x.dtype) for x in types]
    return lambda grad: vjp(function, *zeros)[1](grad)


functions.FUNCTIONS["linear_transpose"] = _linear_transpose


def _vjp_and_values(function: Any, *primals: Any) -> Any:
    made, pull_back = vjp(function, *primals)
    return plain(made), pull_back


functions.FUNCTIONS["vjp"] = _vjp_and_values
TRACING["custom_vjp"] = _WithVjp
TRACING["custom_jvp"] = _WithJvp


def _untraced(path: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that is refused traced arrays: no rule for it stands here."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_traced, (*args, *kwargs.values()))):
            raise NoHostForm(f"the gradient of {path}")
        return compute(*args, **kwargs)

    return function


for _name, _compute in functions.FUNCTIONS.items():
    if _name not in TRACING:
        TRACING[_name] = _untraced(_name, _compute)

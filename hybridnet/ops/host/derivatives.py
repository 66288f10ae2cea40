"""Derivatives of the functions that lowerings are written with, on NumPy arrays.

Where a function has a kink, its derivative is the one that JAX has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import custom_rules as custom_rules
from . import products as products
from . import rearranging as rearranging
from . import rows as rows
from . import windows as windows
from .namespace import NoHostForm, on_host
from .table import COMPOSED, FUNCTIONS, words
from .traced import (
    TRACING,
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

_where = FUNCTIONS["where"]

# What has no derivative but 0, or makes arrays of nothing but sizes.
for _name in words("""
    all allclose any arange argmax argmin argsort array asarray bitwise_and bitwise_not
    bitwise_or bitwise_xor broadcast_shapes ceil equal eye finfo first_positions floor full
    full_like greater
    greater_equal heaviside iinfo isfinite isinf isnan isneginf issubdtype
    lax.bitcast_convert_type lax.broadcasted_iota lax.stop_gradient lcm less less_equal linspace
    logical_and logical_not logical_or logical_xor ndim nonzero not_equal ones ones_like
    promote_types result_type round searchsorted shape sign signbit size trunc unravel_index
    zeros zeros_like
"""):
    TRACING[_name] = constant(FUNCTIONS[_name])
for _name in ("asarray", "array"):
    TRACING[_name] = lambda x, dtype=None, _plain_one=TRACING[_name]: (
        (x if dtype is None else call("astype", x, dtype))
        if type(x) is TracedArray
        else _plain_one(x, dtype)
    )
for _name in ("lax.optimization_barrier", "lax.reduce_precision"):
    TRACING[_name] = lambda x, *_: x


def _slope(paths: str, slope: Callable[[Any, Any], Any]) -> None:
    """Functions of each element; `slope` gives the derivative from the result and the element."""
    rule(*words(paths))(
        lambda y, x, *_, **__: [lambda g: (g * slope(y, x)).astype(x.dtype, copy=False)]
    )


_slope("abs", lambda y, x: 2 * (x >= 0).astype(x.dtype) - 1)
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
_slope("nn.relu", lambda y, x: x > 0)
_slope("nn.soft_sign", lambda y, x: 1 / np.square(1 + np.abs(x)))
_slope("nn.softplus", lambda y, x: FUNCTIONS["lax.logistic"](x))
_slope("lax.erf", lambda y, x: (2 / np.sqrt(np.pi)) * np.exp(-x * x))
_slope("lax.erfc", lambda y, x: (-2 / np.sqrt(np.pi)) * np.exp(-x * x))
_slope("lax.erf_inv", lambda y, x: (np.sqrt(np.pi) / 2) * np.exp(y * y))
_slope("lax.lgamma scipy.special.gammaln", lambda y, x: FUNCTIONS["lax.digamma"](x))
_slope("scipy.special.gamma", lambda y, x: y * FUNCTIONS["lax.digamma"](x))
_slope("nan_to_num", lambda y, x: np.isfinite(x))


@rule("nn.elu")
def _elu_rule(y: Any, x: Any, alpha: Any = 1.0) -> Sequence[Pull]:
    return [lambda g: g * _where(x > 0, 1, alpha * np.exp(_where(x > 0, 0, x))).astype(x.dtype)]


@rule("astype")
def _astype_rule(y: Any, x: Any, *_: Any, **__: Any) -> Sequence[Pull]:
    return [lambda g: g.astype(x.dtype, copy=False)]


_converted = TRACING["astype"]


def _traced_astype(x: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    """Converts to a dtype; an array that has it already may be pending, and stays so."""
    if type(x) is TracedArray and x.dtype == dtype:
        return x
    return _converted(x, dtype, *args, **kwargs)


TRACING["astype"] = _traced_astype


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
    made = np.subtract(first, second, dtype=dtype)
    made += 1
    made /= 2
    return made


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
    lambda z, x, y: y * np.power(x, y - 1),  # of 0 to the power of 0 NaN, as XLA's and MXNet's
    lambda z, x, y: np.log(_where(x == 0, 1, x)) * z,
)
_pair("hypot", lambda z, x, y: x / z, lambda z, x, y: y / z)
_pair("arctan2", lambda z, x, y: y / (x * x + y * y), lambda z, x, y: -x / (x * x + y * y))
_pair("logaddexp", lambda z, x, y: np.exp(x - z), lambda z, x, y: np.exp(y - z))
_pair("mod", lambda z, x, y: np.ones_like(z), lambda z, x, y: -np.floor(x / y))
_pair(
    "copysign",
    lambda z, x, y: _where(np.signbit(x) == np.signbit(z), 1, -1),
    lambda z, x, y: np.zeros_like(z),
)
_pair("ldexp", lambda z, x, y: np.exp2(y), lambda z, x, y: z * np.log(2))


for _name, _function in (("plus", "add"), ("times", "multiply")):
    composed(_name)(lambda x, y, _function=_function: call(_function, x, y))


@rule("where")
def _where_rule(z: Any, condition: Any, x: Any, y: Any) -> Sequence[Pull | None]:
    return [
        None,
        lambda g: summed_like(_where(condition, g, np.zeros((), g.dtype)), x),
        lambda g: summed_like(_where(condition, np.zeros((), g.dtype), g), y),
    ]


@composed("clip")
def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    if min is not None:
        x = call("maximum", min, x)
    return x if max is None else call("minimum", max, x)


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
        return _where(best, _kept(g, x, axis) / count, 0).astype(x.dtype)

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
    return [
        lambda g: np.flip(FUNCTIONS["cumsum"](np.flip(g, along), along), along).reshape(x.shape)
    ]


@rule("lax.cumsum")
def _lax_cumsum_rule(y: Any, x: Any, axis: int = 0, reverse: bool = False) -> Sequence[Pull]:
    return [lambda g: FUNCTIONS["lax.cumsum"](g, axis, not reverse)]


@rule("sort")
def _sort_rule(y: Any, x: Any, axis: int = -1, **kwargs: Any) -> Sequence[Pull]:
    def pull(g: Any) -> Any:
        order = FUNCTIONS["argsort"](x, axis=axis, **kwargs)
        made = np.zeros_like(x)
        np.put_along_axis(made, order, g, axis)
        return made

    return [pull]


for _name in COMPOSED:
    TRACING[_name] = FUNCTIONS[_name]


def _linear_transpose(function: Callable[..., Any], *types: Any) -> Callable[[Any], Any]:
    """As `jax.linear_transpose`: the gradient of a linear function is its transpose."""
    zeros = [np.zeros(x.shape, x.dtype) for x in types]
    return lambda grad: vjp(function, *zeros)[1](grad)


FUNCTIONS["linear_transpose"] = _linear_transpose


def _traced_transpose(function: Callable[..., Any], *types: Any) -> Callable[[Any], Any]:
    """Likewise, of a traced gradient: the transpose's own is the function."""
    transpose = _linear_transpose(function, *types)

    def apply(grad: Any) -> Any:
        if type(grad) is not TracedArray:
            return transpose(grad)
        (made,) = on_host(FUNCTIONS, transpose, grad.value)
        return (noted(made, [(grad, function)]),)

    return apply


TRACING["linear_transpose"] = _traced_transpose


def _vjp_and_values(function: Any, *primals: Any) -> Any:
    made, pull_back = vjp(function, *primals)
    return plain(made), pull_back


FUNCTIONS["vjp"] = _vjp_and_values


def _untraced(path: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that is refused traced arrays: no rule for it stands here."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_traced, (*args, *kwargs.values()))):
            raise NoHostForm(f"the gradient of {path}")
        return compute(*args, **kwargs)

    return function


for _name, _compute in FUNCTIONS.items():
    if _name not in TRACING:
        TRACING[_name] = _untraced(_name, _compute)

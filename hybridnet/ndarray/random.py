"""`nd.random`: arrays of random numbers, drawn in program order from the context's generator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.dtype import FLOAT32, name_of
from hybridnet.ops.core import Functions, registry
from hybridnet.ops.core.registry import public_operators
from hybridnet.ops.random import drawing_function as _function

from .functions import array_function
from .ndarray import NDArray

_NUMBERS: Final = frozenset({float, int})

if TYPE_CHECKING:
    from ._random_operators import *  # noqa: F403

# The forms of a distribution that take an array's shape and dtype: ``normal_like``.
_functions = Functions(
    "nd.random",
    globals(),
    {name: op for name, op in public_operators("_random_").items() if name.endswith("_like")},
    array_function,
)

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
    *_functions,
]


def _draw(
    name: str,
    params: Mapping[str, Any],
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> Any:
    """Draws from a distribution whose parameters are numbers, or arrays of them."""
    plain = _NUMBERS.issuperset(map(type, params.values()))
    arrays = () if plain else [x for x in params.values() if isinstance(x, NDArray)]
    if arrays:
        inputs = [
            param if isinstance(param, NDArray) else arrays[0].ones_like() * param
            for param in params.values()
        ]
        attrs = {"shape": () if shape is None else shape, "dtype": name_of(dtype or FLOAT32)}
        return NDArray.apply_operator(registry.get(f"_sample_{name}"), inputs, attrs, out=out)
    if out is not None:
        shape, ctx, dtype = out.shape, out.context, dtype or out.dtype
    attrs = {
        **params,
        "shape": (1,) if shape is None else shape,
        "dtype": name_of(dtype or FLOAT32),
    }
    return NDArray.apply_operator(registry.get(f"_random_{name}"), (), attrs, out=out, ctx=ctx)


_ARGUMENTS: Final = """Args:
    low, high, loc, ...: numbers, or arrays of one shape: then `shape` numbers are drawn for
        each set of parameters.
    shape: of the result; default (1,).
    dtype: float32 by default.
    ctx: where; default the current context.
    out: an array to fill instead.
"""

if not TYPE_CHECKING:
    uniform = _function("uniform", _draw, _ARGUMENTS)
    normal = _function("normal", _draw, _ARGUMENTS)
    exponential = _function("exponential", _draw, _ARGUMENTS)
    gamma = _function("gamma", _draw, _ARGUMENTS)
    poisson = _function("poisson", _draw, _ARGUMENTS)
    negative_binomial = _function("negative_binomial", _draw, _ARGUMENTS)
    generalized_negative_binomial = _function("generalized_negative_binomial", _draw, _ARGUMENTS)


def multinomial(
    data: NDArray,
    shape: Dims | None = None,
    get_prob: bool = False,
    out: NDArray | None = None,
    dtype: DTypeLike = "int32",
) -> Any:
    """Draws categories by their probabilities.

    Args:
        data: (..., categories), probabilities.
        shape: how many are drawn from each distribution; default one, without an axis for it.
        get_prob: return the logarithms of their probabilities too, which have a gradient.
        out: an array to fill instead.
        dtype: of the categories.
    """
    attrs = {
        "shape": () if shape is None else shape,
        "get_prob": get_prob,
        "dtype": name_of(dtype),
    }
    return NDArray.apply_operator(registry.get("_sample_multinomial"), (data,), attrs, out=out)


def randn(
    *shape: int,
    loc: NDArray | float = 0,
    scale: NDArray | float = 1,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
) -> NDArray:
    """Draws an array of the given dimensions from the normal distribution."""
    return normal(loc, scale, shape or None, dtype, ctx)


def randint(
    low: int,
    high: int,
    shape: Dims | None = None,
    dtype: DTypeLike = "int32",
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draws whole numbers from [low, high), each as likely.

    Args:
        low: the smallest that may come.
        high: one more than the largest.
        shape: of the result; None: one number, of shape (1,).
        dtype: 'int32' or 'int64'.
        ctx: where; default the current context.
        out: an array to write into, whose shape, dtype and context then count.

    Examples:
        >>> drawn = nd.random.randint(0, 3, shape=(100,)).asnumpy()
        >>> int(drawn.min()) >= 0 and int(drawn.max()) <= 2
        True
    """
    if out is not None:
        shape, ctx, dtype = out.shape, out.context, out.dtype
    attrs = {
        "low": low,
        "high": high,
        "shape": (1,) if shape is None else shape,
        "dtype": name_of(dtype or "int32"),
    }
    op = registry.get("_random_randint")
    drawn: NDArray = NDArray.apply_operator(op, (), attrs, out=out, ctx=ctx)
    return drawn


def shuffle(data: NDArray, out: NDArray | None = None) -> NDArray:
    """Returns the array with its rows (first axis) in random order."""
    shuffled: NDArray = NDArray.apply_operator(registry.get("_shuffle"), (data,), {}, out=out)
    return shuffled


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _functions.attribute(name)

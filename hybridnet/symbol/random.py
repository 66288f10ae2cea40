"""`sym.random`: symbols of random numbers, drawn anew at each forward pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.ops.core import Functions, registry
from hybridnet.ops.core.registry import public_operators
from hybridnet.ops.random import drawing_function as _function

from .functions import symbol_function
from .symbol import Symbol

if TYPE_CHECKING:
    from ._random_operators import *  # noqa: F403

# The forms of a distribution that take an array's shape and dtype: ``normal_like``.
_functions = Functions(
    "sym.random",
    globals(),
    {name: op for name, op in public_operators("_random_").items() if name.endswith("_like")},
    symbol_function,
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
    /,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> Symbol:
    """Draws from a distribution whose parameters are numbers, or all symbols of them."""
    attrs: dict[str, Any] = {"ctx": kwargs.pop("ctx")} if "ctx" in kwargs else {}
    if shape is not None:
        attrs["shape"] = shape
    if dtype is not None:
        attrs["dtype"] = as_dtype(dtype).name
    symbols = [isinstance(param, Symbol) for param in params.values()]
    if all(symbols):
        inputs: tuple[Any, ...] = tuple(params.values())
        return Symbol.apply_operator(registry.get(f"_sample_{name}"), inputs, attrs, **kwargs)
    if any(symbols):
        raise ParameterError(
            f"random.{name}: {' and '.join(params)} must all be numbers or all be symbols"
        )
    return Symbol.apply_operator(registry.get(f"_random_{name}"), (), {**params, **attrs}, **kwargs)


_ARGUMENTS: Final = """Args:
    low, high, loc, ...: numbers, or all symbols: then `shape` numbers are drawn for each set of
        their elements.
    shape: of the result; default the one that the rest of the graph wants, or (1,).
    dtype: float32 by default.
    kwargs: ``name`` and ``attr`` of the node; `ctx`, which saved symbols hold.
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
    data: Symbol,
    shape: Dims | None = None,
    get_prob: bool = True,
    dtype: DTypeLike = "int32",
    **kwargs: Any,
) -> Symbol:
    """Draws categories by their probabilities.

    Args:
        data: (..., categories), probabilities.
        shape: how many are drawn from each distribution; default one, without an axis for it.
        get_prob: return the logarithms of their probabilities too, which have a gradient; here
            that is the default, in ``nd.random`` it is not.
        dtype: of the categories.
        kwargs: ``name`` and ``attr`` of the node.
    """
    attrs: dict[str, Any] = {"get_prob": get_prob, "dtype": as_dtype(dtype).name}
    if shape is not None:
        attrs["shape"] = shape
    return Symbol.apply_operator(registry.get("_sample_multinomial"), (data,), attrs, **kwargs)


def randn(
    *shape: int,
    loc: Symbol | float = 0,
    scale: Symbol | float = 1,
    dtype: DTypeLike = None,
    **kwargs: object,
) -> Symbol:
    """Draws an array of the given dimensions from the normal distribution.

    Without dimensions it has the shape that the rest of the graph wants. Symbols given by other
    names are passed over, as in MXNet.
    """
    kwargs = {key: value for key, value in kwargs.items() if not isinstance(value, Symbol)}
    drawn: Symbol = normal(loc, scale, shape or None, dtype, **kwargs)
    return drawn


def randint(
    low: int, high: int, shape: Dims | None = None, dtype: DTypeLike = "int32", **kwargs: Any
) -> Symbol:
    """Draws whole numbers from [low, high), each as likely."""
    attrs = {"low": low, "high": high, "dtype": as_dtype(dtype or "int32").name}
    if "ctx" in kwargs:
        attrs["ctx"] = kwargs.pop("ctx")
    if shape is not None:
        attrs["shape"] = shape
    return Symbol.apply_operator(registry.get("_random_randint"), (), attrs, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """Returns the rows (first axis) in random order."""
    return Symbol.apply_operator(registry.get("_shuffle"), (data,), {}, **kwargs)


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _functions.attribute(name)

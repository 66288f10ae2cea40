"""`sym.random`: symbols of random numbers, drawn anew at each forward pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.ops import registry

from .symbol import Symbol

__all__ = ["normal", "randint", "randn", "shuffle", "uniform"]


def _draw(
    operator: str,
    sampled: str,
    params: Mapping[str, Any],
    shape: Any,
    dtype: Any,
    kwargs: Mapping[str, Any],
) -> Symbol:
    """Draws from a distribution with two parameters: numbers, or symbols of them."""
    attrs: dict[str, Any] = {}
    if shape is not None:
        attrs["shape"] = shape
    if dtype is not None:
        attrs["dtype"] = as_dtype(dtype).name
    symbols = [isinstance(one, Symbol) for one in params.values()]
    if all(symbols):
        inputs: tuple[Any, ...] = tuple(params.values())
        return Symbol.apply_operator(registry.get(sampled), inputs, attrs, **kwargs)
    if any(symbols):
        raise ParameterError(
            f"{operator}: {' and '.join(params)} must both be numbers or both be symbols"
        )
    return Symbol.apply_operator(registry.get(operator), (), {**params, **attrs}, **kwargs)


def uniform(
    low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draws from the uniform distribution on [low, high).

    Args:
        low: a number, or a symbol: then `shape` numbers are drawn for each of its elements.
        high: likewise, of the same kind.
        shape: of the result; default (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node.
    """
    params = {"low": low, "high": high}
    return _draw("_random_uniform", "_sample_uniform", params, shape, dtype, kwargs)


def normal(
    loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draws from the normal distribution with mean `loc` and standard deviation `scale`.

    The arguments are as for `uniform`.
    """
    params = {"loc": loc, "scale": scale}
    return _draw("_random_normal", "_sample_normal", params, shape, dtype, kwargs)


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draws an array of the given dimensions from the normal distribution."""
    return normal(loc, scale, shape or None, dtype, **kwargs)


def randint(low: int, high: int, shape: Any = None, dtype: Any = "int32", **kwargs: Any) -> Symbol:
    """Draws whole numbers from [low, high), each as likely."""
    attrs = {"low": low, "high": high, "dtype": as_dtype(dtype or "int32").name}
    if shape is not None:
        attrs["shape"] = shape
    return Symbol.apply_operator(registry.get("_random_randint"), (), attrs, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """Returns the rows (first axis) in random order."""
    return Symbol.apply_operator(registry.get("_shuffle"), (data,), {}, **kwargs)

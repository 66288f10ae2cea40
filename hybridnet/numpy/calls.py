"""The calls of operators by the functions of `np`, on arrays or on symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import (
    Operand,
    Operator,
    documentation,
    registry,
    signature_of,
    split_arguments,
)

from .multiarray import array, ndarray
from .operands import ArrayLike

__all__ = [
    "apply",
    "apply_all",
    "dimensions",
    "dtype_name",
    "merge",
    "operand",
    "operator_of_either",
    "shape_of",
]


def operand(value: ArrayLike | None, what: str = "np") -> Any:
    """Returns a value as an operand with NumPy's semantics: numbers and lists become arrays."""
    if isinstance(value, ndarray):
        return value
    if isinstance(value, Operand):
        return value.as_np_ndarray()  # type: ignore[attr-defined]
    if value is None:
        raise ParameterError(f"{what}: an array was not given")
    # NumPy's scalars are numbers here: a float64 among them must not widen a float32 array.
    return array(value.item() if isinstance(value, onp.generic) else value)


def apply(name: str, *inputs: ArrayLike, out: NDArray | None = None, **attrs: object) -> ndarray:
    """Applies an operator to arrays, or to symbols where there is one among the inputs.

    Type checkers are told of arrays: who has symbols uses ``sym.np``.

    Args:
        inputs: arrays, symbols, or what `array` takes.
        out: an array for the result.
    """
    values = [operand(x, name) for x in inputs]
    kinds = [type(value) for value in values if not isinstance(value, NDArray)]
    kind: Any = kinds[0] if kinds else ndarray
    made: ndarray = kind.apply_operator(registry.get(name), values, attrs, out=out)
    return made


def apply_all(
    name: str, *inputs: ArrayLike, out: NDArray | None = None, **attrs: object
) -> list[ndarray]:
    """Applies an operator of several outputs; returns them in a list."""
    made: ndarray | Sequence[ndarray] = apply(name, *inputs, out=out, **attrs)
    return [made] if isinstance(made, ndarray) else list(made)


def operator_of_either(op: Operator, public: str) -> Callable[..., Any]:
    """Makes the function users call, which takes np arrays or symbols."""

    def function(*args: object, **kwargs: object) -> Any:
        out, name = kwargs.pop("out", None), kwargs.pop("name", None)
        inputs, attrs = split_arguments(op, args, kwargs)
        values = [None if x is None else operand(x, public) for x in inputs]
        kinds = [
            type(value) for value in values if value is not None and not isinstance(value, NDArray)
        ]
        kind: Any = kinds[0] if kinds else ndarray
        return kind.apply_operator(op, values, attrs, name=name, out=out)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = documentation(op)
    function.__signature__ = signature_of(op)  # type: ignore[attr-defined]
    function.operator = op  # type: ignore[attr-defined]
    return function


def dtype_name(dtype: DTypeLike, default: str | None = None) -> str | None:
    """Returns the name of an element type; Python's float and int are 64 bits wide, as in NumPy."""
    return default if dtype is None else as_dtype(onp.dtype(dtype)).name


def dimensions(size: Dims | None, default: tuple[int, ...] | None = ()) -> Any:
    """Returns a size, which is a number or a tuple, as a tuple; the default for None."""
    if size is None:
        return default
    return (int(size),) if isinstance(size, (int, onp.integer)) else tuple(size)


def shape_of(name: str, x: ArrayLike) -> tuple[int, ...]:
    """Returns the shape of an array.

    Raises:
        ParameterError: it is a symbol, whose shape is not known.
    """
    if not isinstance(x, NDArray):
        raise ParameterError(f"{name}: needs an array: the shape of a symbol is not known yet")
    return x.shape


def merge(result: ndarray, out: NDArray | None, where: ArrayLike) -> ndarray:
    """Returns a result only where a condition holds, and what `out` holds (or 0) elsewhere."""
    if where is True:
        return result
    other = apply("_npi_full_like", result, fill_value=0) if out is None else out
    return apply("_npi_where", operand(where), result, other, out=out)

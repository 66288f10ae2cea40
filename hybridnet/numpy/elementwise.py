"""The elementwise functions of `np`: ``f(x, out=None, where=True)`` and of two operands."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as onp

from hybridnet import tape
from hybridnet.base.errors import DTypeError
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Arithmetic, Operand, binary, documentation, registry
from hybridnet.runtime.recording import recorder
from hybridnet.util import UFUNC_OPTIONS, check_ufunc_options

from .calls import apply, merge, operand
from .multiarray import ndarray
from .operands import ArrayLike

__all__ = [
    "around",
    "binary_functions",
    "clip",
    "nan_to_num",
    "round",
    "round_",
    "unary_functions",
]

_UNARY: Final = (
    "negative abs sign rint ceil floor trunc fix square sqrt cbrt exp expm1 log log10 log2 log1p "
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians "
    "reciprocal isnan isinf isfinite isposinf isneginf logical_not bitwise_not"
)
#: Public name -> the one above that it is another name of.
_SYNONYMS: Final = {
    "absolute": "abs",
    "fabs": "abs",
    "invert": "bitwise_not",
    "deg2rad": "radians",
    "rad2deg": "degrees",
}
#: Of these, what MXNet writes into bool arrays only.
_TESTS: Final = frozenset({"isnan", "isinf", "isfinite", "isposinf", "isneginf"})
_COMMUTATIVE: Final = "add multiply maximum minimum hypot bitwise_and bitwise_or bitwise_xor lcm"
_REVERSIBLE: Final = "subtract true_divide mod power arctan2 copysign ldexp"
#: Name of a function of two operands -> operator, form with a number on the right, on the left.
_BINARY: Final[dict[str, tuple[str, str, str]]] = {
    **{name: (f"_npi_{name}", *(f"_npi_{name}_scalar",) * 2) for name in _COMMUTATIVE.split()},
    **{
        name: (f"_npi_{name}", f"_npi_{name}_scalar", f"_npi_r{name}_scalar")
        for name in _REVERSIBLE.split()
    },
    "equal": ("_npi_equal", "_npi_equal_scalar", "_npi_equal_scalar"),
    "not_equal": ("_npi_not_equal", "_npi_not_equal_scalar", "_npi_not_equal_scalar"),
    "greater": ("_npi_greater", "_npi_greater_scalar", "_npi_less_scalar"),
    "greater_equal": ("_npi_greater_equal", "_npi_greater_equal_scalar", "_npi_less_equal_scalar"),
    "less": ("_npi_less", "_npi_less_scalar", "_npi_greater_scalar"),
    "less_equal": ("_npi_less_equal", "_npi_less_equal_scalar", "_npi_greater_equal_scalar"),
}
_BINARY_SYNONYMS: Final = {"divide": "true_divide", "remainder": "mod"}


def _check_options(name: str, options: dict[str, object]) -> Any:
    """Returns ``where``; raises an error for what of NumPy's keywords is not supported."""
    where = options.pop("where", True)
    check_ufunc_options(f"np.{name}", {**options, **({"where": where} if where is False else {})})
    return where


def _signature(*names: str) -> inspect.Signature:
    """Returns the signature of a function of operands, with the keywords of NumPy's ufuncs."""
    plain, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    types = {"where": "ArrayLike", "dtype": "DTypeLike", "subok": "bool"}
    return inspect.Signature(
        [
            *(inspect.Parameter(name, plain, annotation="ArrayLike") for name in names),
            inspect.Parameter("out", plain, default=None, annotation="NDArray | None"),
            *(
                inspect.Parameter(name, by_name, default=value, annotation=types.get(name, "str"))
                for name, value in UFUNC_OPTIONS.items()
            ),
        ]
    )


_OF_ONE: Final = _signature("x")
_OF_TWO: Final = _signature("x1", "x2")


def _unary(public: str, name: str) -> Callable[..., Any]:
    row = f"_npi_{name}"
    plain = getattr(onp, public)
    is_test = public in _TESTS

    def function(x: ArrayLike, out: NDArray | None = None, **kwargs: object) -> Any:
        where = _check_options(public, kwargs)
        if is_test and out is not None and out.dtype != onp.bool_:
            raise DTypeError(f"np.{public}: out must be bool, got {out.dtype}")
        if isinstance(x, (int, float)) and out is None:
            return plain(x)
        if where is True:
            return apply(row, x, out=out)
        return merge(apply(row, x), out, where)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = _doc(row, "x: an array; a number gives a number.")
    function.__signature__ = _OF_ONE  # type: ignore[attr-defined]
    return function


def _doc(row: str, args: str) -> str:
    first = documentation(registry.get(row)).splitlines()[0]
    return (
        f"{first}\n\nArgs:\n    {args}\n    out: an array for the result.\n"
        "    where: a condition; elsewhere the result is what `out` holds, or 0.\n"
        "    casting, order, dtype, subok: as they are by default; NumPy has them."
    )


def _binary(public: str, name: str) -> Callable[..., Any]:
    pair, right, left = _BINARY[name]
    number_right, number_left = Arithmetic(pair, right), Arithmetic(pair, left, swap=True)
    plain = getattr(onp, public)

    def compute(x1: Any, x2: Any) -> Any:
        if isinstance(x1, Operand):
            x1 = operand(x1)
            if not isinstance(x2, (Operand, int, float, onp.number, onp.bool_)):
                x2 = operand(x2)
            return binary(x1, x2, number_right)
        if isinstance(x1, (int, float, onp.number, onp.bool_)):
            return binary(operand(x2), x1, number_left)
        return binary(
            operand(x1), x2 if isinstance(x2, (int, float)) else operand(x2), number_right
        )

    def function(x1: ArrayLike, x2: ArrayLike, out: NDArray | None = None, **kwargs: object) -> Any:
        where = _check_options(public, kwargs)
        if isinstance(x1, (int, float)) and isinstance(x2, (int, float)) and out is None:
            return plain(x1, x2)
        result = compute(x1, x2)
        if where is not True:
            return merge(result, out, where)
        if out is None:
            return result
        return apply("_np_copy", result, out=out)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = _doc(
        pair, "x1, x2: arrays, which broadcast, or numbers; two numbers give a number."
    )
    function.__signature__ = _OF_TWO  # type: ignore[attr-defined]
    return function


unary_functions: Final[dict[str, Callable[..., Any]]] = {
    **{name: _unary(name, name) for name in _UNARY.split()},
    **{public: _unary(public, name) for public, name in _SYNONYMS.items()},
}
binary_functions: Final[dict[str, Callable[..., ndarray]]] = {
    **{name: _binary(name, name) for name in _BINARY},
    **{public: _binary(public, name) for public, name in _BINARY_SYNONYMS.items()},
}


def around(x: ArrayLike, decimals: int = 0, out: NDArray | None = None, **kwargs: object) -> Any:
    """Rounds to a number of decimals; halves go to the even neighbor."""
    if isinstance(x, (int, float)):
        return onp.around(x, decimals)
    return apply("_npi_around", x, out=out, decimals=decimals)


round = round_ = around


def clip(
    a: ArrayLike, a_min: ArrayLike | None, a_max: ArrayLike | None, out: NDArray | None = None
) -> ndarray:
    """Sets elements beyond limits to these.

    Args:
        a: an array.
        a_min: the lower limit, a number; None for none.
        a_max: the upper limit.
        out: an array for the result.
    """
    low, high = (-math.inf if a_min is None else a_min), (math.inf if a_max is None else a_max)
    if isinstance(low, Operand) or isinstance(high, Operand):
        return binary_functions["minimum"](binary_functions["maximum"](a, low), high, out=out)
    return apply("_npi_clip", a, out=out, a_min=low, a_max=high)


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
    **kwargs: object,
) -> Any:
    """Replaces NaN, and infinities by the largest numbers of the dtype or those given.

    Args:
        x: an array; or a number, of which the result is one of NumPy's.
        copy: False changes `x` itself, but where a hybridized block is recorded for its gradient.
        nan, posinf, neginf: what is put in the place of each.
        kwargs: none.
    """
    attrs: dict[str, Any] = {"nan": nan, "posinf": posinf, "neginf": neginf}
    if isinstance(x, (int, float)):
        return onp.nan_to_num(x, **attrs)
    # While a traced function is recorded nothing can be changed in place.
    in_place = not (copy or (tape.state.recording and recorder.current_trace() is not None))
    return apply("_npi_nan_to_num", x, out=x if in_place else None, **attrs)

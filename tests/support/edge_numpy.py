"""What NumPy answers to a call of an operator, for those that have an equivalent there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

__all__ = ["FUNCTIONS", "answer", "differs"]

Array = np.ndarray[Any, Any]

_UNARY: Final = (
    "negative abs sign rint ceil floor trunc fix square sqrt cbrt exp expm1 log log10 log2 log1p "
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians "
    "reciprocal"
)
_NPI: Final = (
    "isnan isinf isfinite isposinf isneginf logical_not bitwise_not copysign ldexp arctan2 add "
    "subtract multiply true_divide equal not_equal greater greater_equal less less_equal "
    "bitwise_and bitwise_or bitwise_xor lcm sort argsort argmax argmin mean"
)
_NP: Final = "sum prod max min any all cumsum"
_SCALAR: Final = (
    "copysign ldexp arctan2 true_divide equal not_equal greater greater_equal less less_equal "
    "bitwise_and bitwise_or bitwise_xor lcm"
)
_OLD: Final = "mod power maximum minimum hypot"
_OLDER: Final = {"plus": "add", "minus": "subtract", "mul": "multiply"}

#: Operator -> NumPy's function of its arrays and numbers.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: getattr(np, name) for name in _UNARY.split()},
    **{f"_npi_{name}": getattr(np, name) for name in _NPI.split()},
    **{f"_np_{name}": getattr(np, name) for name in _NP.split()},
    **{f"_npi_{name}_scalar": getattr(np, name) for name in _SCALAR.split()},
    **{f"broadcast_{name}": getattr(np, name) for name in _OLD.split()},
    **{f"_{name}_scalar": getattr(np, name) for name in _OLD.split()},
    **{f"_{name}_scalar": getattr(np, other) for name, other in _OLDER.items()},
    "broadcast_add": np.add,
    "broadcast_sub": np.subtract,
    "broadcast_mul": np.multiply,
}
_WITH_PARAMETERS: Final = ("axis", "keepdims")


def answer(
    operator: str, arrays: Sequence[Array], numbers: Sequence[Any], attrs: Mapping[str, Any]
) -> Array | None:
    """Returns NumPy's answer; None where NumPy refuses, or has no such call."""
    if any(one.dtype.kind not in "fiub" for one in arrays):
        return None  # NumPy has no bfloat16 of its own
    options = {key: value for key, value in attrs.items() if key in _WITH_PARAMETERS}
    if set(attrs) - set(options) - {"scalar", "is_int"}:
        return None
    sides: list[Any] = [*arrays]
    for number in numbers:
        if arrays[0].dtype.kind != "f":
            if (
                not np.isfinite(number)
                or number != int(number)
                or (not number and np.signbit(number))
            ):
                return None  # beside whole numbers a fraction is cut off, as the docs say
            limits = (
                (0, 1)
                if arrays[0].dtype == np.bool_
                else (np.iinfo(arrays[0].dtype).min, np.iinfo(arrays[0].dtype).max)
            )
            if not limits[0] <= number <= limits[1]:
                return None  # NumPy refuses it
            sides.append(arrays[0].dtype.type(int(number)))
        else:
            with np.errstate(all="ignore"):
                sides.append(arrays[0].dtype.type(number))
    try:
        with np.errstate(all="ignore"):
            return np.asarray(FUNCTIONS[operator](*sides, **options))
    except (TypeError, ValueError):
        return None


_TOLERANCE: Final = {"float64": (3e-7, 1e-300), "float32": (3e-5, 1e-37), "float16": (4e-3, 6e-5)}


def differs(got: Array, wanted: Array) -> tuple[str, str]:
    """Returns how a result differs from NumPy's: its kind, and in words; '' where it does not.

    The kinds are 'shape', 'zero' (no more than the signs of zeros), and 'result'.

    Values are compared in the operator's dtype: the library keeps that of whole numbers. Where
    NumPy's answer is a float that has no such value, C leaves open what it is.
    """
    if got.shape != wanted.shape:
        return "shape", f"{got.shape}, NumPy {wanted.shape}"
    with np.errstate(all="ignore"):
        if got.dtype.kind in "iu":
            same = _same_whole(got, wanted)
        elif got.dtype.kind == "f":
            cast = wanted.astype(got.dtype)
            rtol, atol = _TOLERANCE[got.dtype.name]
            same = np.isclose(got, cast, rtol=rtol, atol=atol, equal_nan=True)
            signs = same & ~((got == 0) & (cast == 0) & (np.signbit(got) != np.signbit(cast)))
        else:
            same = got == wanted.astype(got.dtype)
    kind, wrong = "result", ~same
    if same.all():
        if got.dtype.kind != "f" or signs.all():
            return "", ""
        kind, wrong = "zero", ~signs
    places = np.argwhere(wrong)[:4].tolist()
    pairs = [f"{got[tuple(at)]} at {at}, NumPy {wanted[tuple(at)]}" for at in places]
    return kind, "; ".join(pairs)


def _same_whole(got: Array, wanted: Array) -> Array:
    if wanted.dtype.kind != "f":
        return np.asarray(got == wanted.astype(got.dtype))
    limits = np.iinfo(got.dtype)
    low, high = float(limits.min), float(limits.max)
    open_ = ~np.isfinite(wanted) | (wanted <= low - 1) | (wanted >= high)
    cut = np.trunc(np.where(open_, 0, wanted))
    near = np.abs(got.astype(np.float64) - cut) <= 1 + 1e-9 * np.abs(cut)
    return np.asarray(open_ | near)

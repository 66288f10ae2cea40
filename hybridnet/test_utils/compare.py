"""Comparing arrays, and expecting errors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from hybridnet.base.array_types import ArrayLike, NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray, waitall

from .defaults import Tolerance, get_etol, get_tols

__all__ = [
    "Given",
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "checkShapes",
    "compare_ndarray_tuple",
    "retry",
    "same",
    "same_array",
]

#: An array of ours, or what NumPy makes one of.
Given: TypeAlias = "NDArray | ArrayLike"


def _host(value: Given) -> NumpyArray:
    """Returns an array of ours, of NumPy's, or a number, as NumPy's array."""
    return value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


def _comparable(value: Given) -> NumpyArray:
    """Returns it in a dtype that NumPy compares with tolerances."""
    host = _host(value)
    return host if host.dtype.kind in "biufc" else host.astype(np.float32)  # bfloat16


def same(a: Given, b: Given) -> bool:
    """Whether two arrays have the same shape and elements, bit for bit but for -0.0."""
    return bool(np.array_equal(_host(a), _host(b)))


def checkShapes(a: Given, b: Given) -> None:
    """Raises AssertionError unless two arrays have one shape."""
    shapes = np.shape(a), np.shape(b)
    if shapes[0] != shapes[1]:
        raise AssertionError(f"shapes must be equal, got {shapes[0]} and {shapes[1]}")


def almost_equal(
    a: Given,
    b: Given,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether ``|a - b| <= atol + rtol * |b|`` for every element.

    Args:
        a, b: arrays of ours or NumPy's.
        rtol, atol: numbers, numbers by dtype, or None for `default_rtols` and `default_atols`.
        equal_nan: whether NaN equals NaN.
        use_broadcast: whether shapes may broadcast; otherwise they must be equal.

    Raises:
        AssertionError: the shapes differ and may not.
    """
    if not use_broadcast:
        checkShapes(a, b)
    first, second = _comparable(a), _comparable(b)
    rtol, atol = get_tols(_host(a), _host(b), rtol, atol)
    return bool(np.allclose(first, second, rtol=rtol, atol=atol, equal_nan=equal_nan))


def assert_almost_equal(
    a: Given,
    b: Given,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raises AssertionError, naming the worst elements, unless `almost_equal`.

    Args:
        a, b, rtol, atol, equal_nan, use_broadcast: as for `almost_equal`.
        names: what the arrays are called in the message.
        mismatches: how many elements are listed, and counted up to.
    """
    if not almost_equal(a, b, rtol, atol, equal_nan, use_broadcast):
        raise AssertionError(_report(a, b, rtol, atol, names, equal_nan, mismatches))


def _violation(
    a: NumpyArray, b: NumpyArray, rtol: float, atol: float, equal_nan: bool
) -> NumpyArray:
    """Returns by how many times its tolerance each element is off; above 1 is a mismatch."""
    first, second = np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64))
    with np.errstate(all="ignore"):
        # A tolerance of 0 leaves the smallest number, so that any difference is a violation.
        off = np.abs(first - second) / (atol + rtol * np.abs(second) + np.finfo(float).tiny)
    alike = first == second
    if equal_nan:
        alike |= np.isnan(first) & np.isnan(second)
    off = np.where(np.isnan(off) | ~np.isfinite(second), np.inf, off)
    return np.where(alike, 0.0, off)


def _report(
    a: Given,
    b: Given,
    rtol: Tolerance,
    atol: Tolerance,
    names: Sequence[str],
    equal_nan: bool,
    mismatches: tuple[int, int],
) -> str:
    rtol, atol = get_tols(_host(a), _host(b), rtol, atol)
    first, second = _comparable(a), _comparable(b)
    off = _violation(first, second, rtol, atol, equal_nan)
    first, second = np.broadcast_arrays(first, second)
    wrong = np.argwhere(off > 1)
    worst = sorted(map(tuple, wrong), key=lambda place: -off[place])[: mismatches[0]]
    counted = f"more than {mismatches[1]}" if len(wrong) > mismatches[1] else str(len(wrong))
    lines = [
        f"{names[0]} and {names[1]} must be equal within rtol={rtol:g}, atol={atol:g}; "
        f"{counted} of {off.size} elements differ, worst first:"
    ]
    for place in worst:
        where = ", ".join(map(str, place))
        lines.append(
            f"  [{where}] {names[0]}={first[place]!s} {names[1]}={second[place]!s} "
            f"(error {off[place]:.3g} times the tolerance)"
        )
    return "\n".join(lines)


def assert_allclose(
    a: Given, b: Given, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True
) -> None:
    """Is `assert_almost_equal` with the defaults of NumPy's function of this name."""
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Given,
    b: Given,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raises AssertionError where more than the share `etol` of the elements differ.

    The other arguments are those of `assert_almost_equal`.
    """
    relative, absolute = get_tols(_host(a), _host(b), rtol, atol)
    off = _violation(_comparable(a), _comparable(b), relative, absolute, equal_nan)
    share = np.count_nonzero(off > 1) / max(off.size, 1)
    if share > get_etol(etol):
        report = _report(a, b, rtol, atol, names, equal_nan, mismatches)
        raise AssertionError(f"{report}\n  a share of {share:g}, allowed is {get_etol(etol):g}")


def assert_almost_equal_ignore_nan(
    a: Given,
    b: Given,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Sequence[str] = ("a", "b"),
) -> None:
    """Is `assert_almost_equal` of the elements that are NaN in neither array."""
    first, second = _comparable(a).copy(), _comparable(b).copy()
    either = np.isnan(first) | np.isnan(second)
    first[either] = second[either] = 0
    assert_almost_equal(first, second, rtol, atol, names)


def assert_exception(
    f: Callable[..., object], exception_type: type[BaseException], *args: Any, **kwargs: Any
) -> None:
    """Raises AssertionError unless ``f(*args, **kwargs)`` raises an error of this type.

    What it records is run too, so that errors of host tasks come up.
    """
    try:
        f(*args, **kwargs)
        waitall()
    except exception_type:
        return
    name = getattr(f, "__name__", f)
    raise AssertionError(f"{name} must raise {exception_type.__name__}, but raised nothing")


def retry(n: int) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Makes a test of random numbers run up to n times, until it passes once.

    Raises:
        ParameterError: n is not positive.
    """
    if n <= 0:
        raise ParameterError(f"retry: n must be positive, got {n}")

    def decorate(test: Callable[..., object]) -> Callable[..., None]:
        @functools.wraps(test)
        def repeated(*args: Any, **kwargs: Any) -> None:
            for left in reversed(range(n)):
                try:
                    test(*args, **kwargs)
                    return
                except AssertionError:
                    if not left:
                        raise
                    waitall()

        return repeated

    return decorate


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two arrays share their memory: what is written to the first shows in the second."""
    array1[:] += 1
    seen = same(array1, array2)
    array1[:] -= 1
    return seen and same(array1, array2)


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """Is `assert_almost_equal` of arrays, or of tuples of them as deep as they go; None is skipped.

    The states of optimizers are such tuples.
    """
    if t1 is None or t2 is None:
        return
    if isinstance(t1, (tuple, list)):
        for item, other in zip(t1, t2, strict=True):
            compare_ndarray_tuple(item, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)

# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any

from hybridnet.base.array_types import Axes, Dims, DTypeLike
from hybridnet.base.context import Context
from hybridnet.ndarray.ndarray import NDArray
from hybridnet.numpy.multiarray import ndarray
from hybridnet.numpy.operands import ArrayLike

def abs(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Absolute value.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def absolute(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Absolute value.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def add(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Sum of two arrays; of bool, logical or.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def all(
    a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False
) -> ndarray:
    """Returns whether no element over axes is 0."""

def any(
    a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False
) -> ndarray:
    """Returns whether any element over axes is not 0."""

def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
) -> ndarray:
    """Returns evenly spaced numbers in [start, stop), float32 by default.

    With one number given, counts from 0 to it.
    """

def arccos(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Inverse cosine, from 0 to pi.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def arccosh(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Inverse hyperbolic cosine, of numbers from 1 on.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def arcsin(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Inverse sine, from -pi/2 to pi/2.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def arcsinh(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Inverse hyperbolic sine.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def arctan(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Inverse tangent, from -pi/2 to pi/2.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def arctan2(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Angle of the point (rhs, lhs), from -pi to pi.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def arctanh(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Inverse hyperbolic tangent, of numbers from -1 to 1.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def argmax(a: ArrayLike, axis: int | None = None, out: ndarray | None = None) -> ndarray:
    """Returns the position of the largest element, the first of equal ones, as int64."""

def argmin(a: ArrayLike, axis: int | None = None, out: ndarray | None = None) -> ndarray:
    """Returns the position of the smallest element, the first of equal ones, as int64."""

def bitwise_and(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Bits that are set in both; of bool, logical and.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def bitwise_not(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Every bit turned over; of bool, logical not.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def bitwise_or(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Bits that are set in either; of bool, logical or.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def bitwise_xor(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Bits that are set in just one of the two.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def blackman(M: int, dtype: DTypeLike = ..., ctx: Context | None = None) -> ndarray:
    """Returns the Blackman window of M points."""

def cbrt(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Cube root, of negative numbers too.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def ceil(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Smallest whole number not below the element.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def copysign(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """The size of lhs with the sign of rhs.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def cos(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Cosine, of radians.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def cosh(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Hyperbolic cosine.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def deg2rad(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Degrees to radians.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def degrees(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Radians to degrees.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def divide(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Quotient of two arrays, which broadcast; of integers, in float32.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def empty(
    shape: Dims, dtype: DTypeLike = ..., order: str = "C", ctx: Context | None = None
) -> ndarray:
    """Returns an array to be overwritten; here it holds zeros."""

def equal(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether x1 equals x2; they broadcast.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def exp(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """e to the power of the element.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def expm1(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """exp(x) - 1, exact for small x.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = ..., **kwargs: Any) -> ndarray:
    """Returns an (N, M or N) array with ones on the k-th diagonal and zeros elsewhere.

    Args:
        N, M: rows and columns.
        k: which diagonal.
        dtype: the element type.
        kwargs: ``ctx``; ``order='C'``.
    """

def fabs(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Absolute value.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def fix(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Nearest whole number towards zero.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def floor(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Largest whole number not above the element.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def full(
    shape: Dims,
    fill_value: Any,
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | None = None,
    out: ndarray | None = None,
) -> ndarray:
    """Returns an array with every element equal to `fill_value`.

    Args:
        shape: the dimensions.
        fill_value: a number, or an array that broadcasts to the shape.
        dtype: default float32; bool for True and False.
        order: 'C'.
        ctx: where; default the current context.
        out: an array for the result.
    """

def greater(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether x1 is greater than x2; they broadcast.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def greater_equal(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether x1 is at least x2; they broadcast.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def hamming(M: int, dtype: DTypeLike = ..., ctx: Context | None = None) -> ndarray:
    """Returns the Hamming window of M points."""

def hanning(M: int, dtype: DTypeLike = ..., ctx: Context | None = None) -> ndarray:
    """Returns the Hann window of M points."""

def hypot(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Length of the hypotenuse: sqrt(lhs**2 + rhs**2).

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def identity(n: int, dtype: DTypeLike = None, ctx: Context | None = None) -> ndarray:
    """Returns an (n, n) array with ones on the main diagonal and zeros elsewhere."""

def indices(dimensions: Dims, dtype: DTypeLike = ..., ctx: Context | None = None) -> ndarray:
    """Returns the position along each axis of every element of an array of these dimensions."""

def invert(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Every bit turned over; of bool, logical not.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def isfinite(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether each element is a finite number.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def isinf(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether each element is infinite.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def isnan(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether each element is not a number.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def isneginf(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether each element is negative infinity.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def isposinf(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether each element is positive infinity.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def lcm(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Least common multiple of whole numbers.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def ldexp(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """lhs times 2 to the power of rhs.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def less(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether x1 is less than x2; they broadcast.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def less_equal(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether x1 is at most x2; they broadcast.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    ctx: Context | None = None,
) -> ndarray:
    """Returns `num` evenly spaced numbers from `start` to `stop`.

    Args:
        start, stop: numbers.
        num: how many.
        endpoint: whether `stop` is the last of them.
        retstep: return the distance too.
        dtype: float32 by default.
        axis: must be 0: the limits are numbers.
        ctx: where; default the current context.
    """

def log(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Natural logarithm.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def log10(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Logarithm to base 10.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def log1p(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """log(1 + x), exact for small x.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def log2(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Logarithm to base 2.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def logical_not(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether each element is zero.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
    ctx: Context | None = None,
) -> ndarray:
    """Returns `num` numbers from base**start to base**stop, each the same factor apart."""

def maximum(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """The larger of two elements; the gradient of a tie goes to lhs.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: ndarray | None = None,
    keepdims: bool = False,
) -> ndarray:
    """Returns the mean over axes; of integers in float32."""

def minimum(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """The smaller of two elements; the gradient of a tie goes to lhs.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def mod(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Remainder, with the sign of the divisor; 0 where that is 0.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def multiply(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Product of two arrays; of bool, logical and.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def negative(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """The element with its sign changed.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def not_equal(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Whether x1 differs from x2; they broadcast.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def ones(
    shape: Dims, dtype: DTypeLike = ..., order: str = "C", ctx: Context | None = None
) -> ndarray:
    """Returns an array of ones; the arguments are those of `zeros`."""

def power(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """The first array to the power of the second.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def rad2deg(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Radians to degrees.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def radians(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Degrees to radians.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def reciprocal(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """1 over the element.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def remainder(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Remainder, with the sign of the divisor; 0 where that is 0.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def rint(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Nearest whole number; halves go to the lower one.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def sign(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """-1, 0 or 1, as the element is negative, zero (of either sign) or positive.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def sin(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Sine, of radians.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def sinh(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Hyperbolic sine.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def sometrue(
    a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False
) -> ndarray:
    """Returns whether any element over axes is not 0."""

def sqrt(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Square root.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def square(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """The element times itself.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: ndarray | None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> ndarray:
    """Returns the standard deviation over axes, with n - ddof in the divisor."""

def subtract(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Difference of two arrays.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def tan(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Tangent, of radians.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def tanh(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Hyperbolic tangent.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def tri(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None, ctx: Context | None = None
) -> ndarray:
    """Returns an (N, M or N) array with ones at and below the k-th diagonal."""

def true_divide(
    x1: ArrayLike,
    x2: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """Quotient of two arrays, which broadcast; of integers, in float32.

    Args:
        x1, x2: arrays, which broadcast, or numbers; two numbers give a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def trunc(
    x: ArrayLike,
    out: NDArray | None = None,
    *,
    where: ArrayLike = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike = None,
    subok: bool = True,
) -> ndarray:
    """The element without its fraction.

    Args:
        x: an array; a number gives a number.
        out: an array for the result.
        where: a condition; elsewhere the result is what `out` holds, or 0.
        casting, order, dtype, subok: as they are by default; NumPy has them.
    """

def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: ndarray | None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> ndarray:
    """Returns the variance over axes, with n - ddof in the divisor."""

def zeros(
    shape: Dims, dtype: DTypeLike = None, order: str = "C", ctx: Context | None = None
) -> ndarray:
    """Returns an array of zeros, float32 by default.

    Args:
        shape: the dimensions: a number or a tuple, which may be empty or hold 0.
        dtype: the element type.
        order: 'C'.
        ctx: where; default the current context.
    """

def allclose(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's allclose on the host."""

def alltrue(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's alltrue on the host."""

def apply_along_axis(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's apply_along_axis on the host."""

def apply_over_axes(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's apply_over_axes on the host."""

def argpartition(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's argpartition on the host."""

def argwhere(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's argwhere on the host."""

def array_equal(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's array_equal on the host."""

def array_equiv(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's array_equiv on the host."""

def choose(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's choose on the host."""

def compress(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's compress on the host."""

def corrcoef(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's corrcoef on the host."""

def correlate(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's correlate on the host."""

def count_nonzero(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's count_nonzero on the host."""

def cov(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's cov on the host."""

def digitize(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's digitize on the host."""

def divmod(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's divmod on the host."""

def extract(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's extract on the host."""

def flatnonzero(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's flatnonzero on the host."""

def float_power(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's float_power on the host."""

def frexp(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's frexp on the host."""

def genfromtxt(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's genfromtxt on the host."""

def heaviside(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's heaviside on the host."""

def histogram2d(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's histogram2d on the host."""

def histogram_bin_edges(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's histogram_bin_edges on the host."""

def histogramdd(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's histogramdd on the host."""

def i0(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's i0 on the host."""

def in1d(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's in1d on the host."""

def interp(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's interp on the host."""

def intersect1d(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's intersect1d on the host."""

def isclose(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's isclose on the host."""

def isin(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's isin on the host."""

def ix_(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's ix_ on the host."""

def lexsort(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's lexsort on the host."""

def min_scalar_type(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's min_scalar_type on the host."""

def modf(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's modf on the host."""

def msort(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's msort on the host."""

def nanargmax(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nanargmax on the host."""

def nanargmin(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nanargmin on the host."""

def nancumprod(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nancumprod on the host."""

def nancumsum(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nancumsum on the host."""

def nanmax(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nanmax on the host."""

def nanmedian(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nanmedian on the host."""

def nanmin(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nanmin on the host."""

def nanpercentile(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nanpercentile on the host."""

def nanprod(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nanprod on the host."""

def nanquantile(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's nanquantile on the host."""

def ndim(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's ndim on the host."""

def packbits(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's packbits on the host."""

def partition(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's partition on the host."""

def piecewise(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's piecewise on the host."""

def poly(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's poly on the host."""

def polyadd(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's polyadd on the host."""

def polydiv(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's polydiv on the host."""

def polyfit(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's polyfit on the host."""

def polyint(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's polyint on the host."""

def polymul(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's polymul on the host."""

def polysub(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's polysub on the host."""

def positive(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's positive on the host."""

def promote_types(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's promote_types on the host."""

def ptp(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's ptp on the host."""

def real(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's real on the host."""

def result_type(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's result_type on the host."""

def roots(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's roots on the host."""

def searchsorted(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's searchsorted on the host."""

def select(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's select on the host."""

def setdiff1d(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's setdiff1d on the host."""

def setxor1d(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's setxor1d on the host."""

def signbit(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's signbit on the host."""

def size(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's size on the host."""

def spacing(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's spacing on the host."""

def take_along_axis(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's take_along_axis on the host."""

def trapz(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's trapz on the host."""

def tril_indices_from(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's tril_indices_from on the host."""

def trim_zeros(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's trim_zeros on the host."""

def triu_indices_from(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's triu_indices_from on the host."""

def union1d(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's union1d on the host."""

def unpackbits(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's unpackbits on the host."""

def unwrap(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's unwrap on the host."""

def vander(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's vander on the host."""

def mirr(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's mirr on the host."""

def npv(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's npv on the host."""

def ppmt(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's ppmt on the host."""

def pv(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's pv on the host."""

def rate(*args: Any, **kwargs: Any) -> Any:
    """Runs NumPy's rate on the host."""

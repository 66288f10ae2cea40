"""The arithmetic and the methods that np arrays and np symbols share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeVar, cast

import numpy as onp

from hybridnet.base.array_types import Axes, Dims, DTypeLike
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.ops.core import Arithmetic, ArithmeticMethod, Operand, binary, registry, with_names

from .operands import ArrayLike

__all__ = ["NumpyMethods"]

K = TypeVar("K")


def _arithmetic(name: str, scalar: str, swap: bool = False) -> ArithmeticMethod:
    """Returns a method for one of Python's operators; see `Arithmetic`."""
    how = Arithmetic(name, scalar, swap)

    def arithmetic(self: Any, other: ArrayLike) -> Any:
        return binary(self, self._other(other), how)

    return cast("ArithmeticMethod", arithmetic)


@with_names
class NumpyMethods(Operand):
    """Arithmetic and methods with NumPy's semantics, written in terms of operators."""

    __slots__ = ()

    def _other(self, other: ArrayLike) -> Any:
        """Returns what stands at the other side of an operator as an operand, if it can be one."""
        return other

    __add__ = __radd__ = _arithmetic("_npi_add", "_npi_add_scalar")
    __sub__ = _arithmetic("_npi_subtract", "_npi_subtract_scalar")
    __rsub__ = _arithmetic("_npi_subtract", "_npi_rsubtract_scalar", swap=True)
    __mul__ = __rmul__ = _arithmetic("_npi_multiply", "_npi_multiply_scalar")
    __truediv__ = __div__ = _arithmetic("_npi_true_divide", "_npi_true_divide_scalar")
    __rtruediv__ = _arithmetic("_npi_true_divide", "_npi_rtrue_divide_scalar", swap=True)
    __mod__ = _arithmetic("_npi_mod", "_npi_mod_scalar")
    __rmod__ = _arithmetic("_npi_mod", "_npi_rmod_scalar", swap=True)
    __pow__ = _arithmetic("_npi_power", "_npi_power_scalar")
    __rpow__ = _arithmetic("_npi_power", "_npi_rpower_scalar", swap=True)
    __and__ = __rand__ = _arithmetic("_npi_bitwise_and", "_npi_bitwise_and_scalar")
    __or__ = __ror__ = _arithmetic("_npi_bitwise_or", "_npi_bitwise_or_scalar")
    __xor__ = __rxor__ = _arithmetic("_npi_bitwise_xor", "_npi_bitwise_xor_scalar")
    __eq__: ArithmeticMethod = _arithmetic("_npi_equal", "_npi_equal_scalar")
    __ne__: ArithmeticMethod = _arithmetic("_npi_not_equal", "_npi_not_equal_scalar")
    __gt__ = _arithmetic("_npi_greater", "_npi_greater_scalar")
    __ge__ = _arithmetic("_npi_greater_equal", "_npi_greater_equal_scalar")
    __lt__ = _arithmetic("_npi_less", "_npi_less_scalar")
    __le__ = _arithmetic("_npi_less_equal", "_npi_less_equal_scalar")
    __hash__ = object.__hash__

    def __matmul__(self, other: ArrayLike) -> Self:
        other = self._other(other)
        return _apply(self, "_npi_matmul", other) if isinstance(other, Operand) else NotImplemented

    def __rmatmul__(self, other: ArrayLike) -> Any:
        other = self._other(other)
        return _apply(other, "_npi_matmul", self) if isinstance(other, Operand) else NotImplemented

    def __invert__(self) -> Self:
        inverted: Self = _apply(self, "_npi_bitwise_not")
        return inverted

    def __neg__(self) -> Self:
        negative: Self = _apply(self, "_npi_negative")
        return negative

    def __round__(self, n: int = 0) -> Self:
        return self.round(n)

    def astype(
        self,
        dtype: DTypeLike,
        order: Any = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Self:
        """Returns the array in another dtype; itself if that is its dtype and `copy` is False.

        Args:
            dtype: Python's float and int mean float64 and int64 here, as in NumPy.
            order, casting, subok: must be 'K' or 'C', 'unsafe' and True.
            copy: whether an array of this dtype is copied too.
        """
        if isinstance(order, bool):  # as x.astype(dtype, copy) of `nd`
            order, copy = "K", order
        if order not in ("K", "C") or casting != "unsafe" or not subok:
            raise ParameterError(
                "astype: order must be 'K' or 'C', casting 'unsafe' and subok True, got "
                f"{order!r}, {casting!r}, {subok!r}"
            )
        wanted = as_dtype(onp.dtype(dtype))
        if not copy and wanted == self.inferred_dtype:
            return self
        return _apply(self, "_npi_cast", dtype=wanted.name)

    def reshape(self, *args: Any, **kwargs: Any) -> Self:
        """Returns the elements in another shape, in which one -1 stands for what is left.

        Args:
            args: the dimensions, or one tuple of them.
            kwargs: ``order='C'``.
        """
        shape = kwargs.pop("newshape", None) or kwargs.pop("shape", None) or args
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        return _apply(self, "_np_reshape", newshape=tuple(shape), **kwargs)

    def transpose(self, *axes: object) -> Self:
        """Returns the axes in another order: as one tuple, as integers, or none to reverse them."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            axes = tuple(axes[0] or ())
        return _apply(self, "_np_transpose", axes=axes or None)

    def flatten(self, order: str = "C") -> Self:
        """Returns the elements along one axis."""
        return self.reshape(-1, order=order)

    ravel = flatten

    def squeeze(self, axis: Axes = None) -> Self:
        """Returns the array without axes of size 1: those given, or all."""
        return _apply(self, "_np_squeeze", axis=axis)

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Returns the array with two axes exchanged."""
        return _apply(self, "_npi_swapaxes", dim1=axis1, dim2=axis2)

    def broadcast_to(self, shape: Dims) -> Self:
        """Returns the array with axes of size 1 repeated, and axes added in front."""
        return _apply(self, "_npi_broadcast_to", shape=shape)

    def repeat(self, repeats: int, axis: int | None = None) -> Self:
        """Returns the array with each element repeated."""
        return _apply(self, "_np_repeat", repeats=repeats, axis=axis)

    def sum(
        self,
        axis: Axes = None,
        dtype: DTypeLike = None,
        out: Self | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Returns the sum over axes."""
        return _apply(self, "_np_sum", out=out, axis=axis, dtype=_name(dtype), keepdims=keepdims)

    def prod(
        self,
        axis: Axes = None,
        dtype: DTypeLike = None,
        out: Self | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Returns the product over axes."""
        return _apply(self, "_np_prod", out=out, axis=axis, dtype=_name(dtype), keepdims=keepdims)

    def mean(
        self,
        axis: Axes = None,
        dtype: DTypeLike = None,
        out: Self | None = None,
        keepdims: bool = False,
    ) -> Self:
        """Returns the mean over axes; of integers in float32."""
        return _apply(self, "_npi_mean", out=out, axis=axis, dtype=_name(dtype), keepdims=keepdims)

    def std(
        self,
        axis: Axes = None,
        dtype: DTypeLike = None,
        out: Self | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """Returns the standard deviation over axes, with n - ddof in the divisor."""
        options = {"axis": axis, "dtype": _name(dtype), "ddof": ddof, "keepdims": keepdims}
        return _apply(self, "_npi_std", out=out, **options)

    def var(
        self,
        axis: Axes = None,
        dtype: DTypeLike = None,
        out: Self | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """Returns the variance over axes, with n - ddof in the divisor."""
        options = {"axis": axis, "dtype": _name(dtype), "ddof": ddof, "keepdims": keepdims}
        return _apply(self, "_npi_var", out=out, **options)

    def max(self, axis: Axes = None, out: Self | None = None, keepdims: bool = False) -> Self:
        """Returns the largest element over axes."""
        return _apply(self, "_np_max", out=out, axis=axis, keepdims=keepdims)

    def min(self, axis: Axes = None, out: Self | None = None, keepdims: bool = False) -> Self:
        """Returns the smallest element over axes."""
        return _apply(self, "_np_min", out=out, axis=axis, keepdims=keepdims)

    def any(self, axis: Axes = None, out: Self | None = None, keepdims: bool = False) -> Self:
        """Returns whether any element over axes is not 0."""
        return _apply(self, "_np_any", out=out, axis=axis, keepdims=keepdims)

    def all(self, axis: Axes = None, out: Self | None = None, keepdims: bool = False) -> Self:
        """Returns whether no element over axes is 0."""
        return _apply(self, "_np_all", out=out, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, out: Self | None = None) -> Self:
        """Returns the position of the largest element, the first of equal ones, as int64."""
        return _apply(self, "_npi_argmax", out=out, axis=axis)

    def argmin(self, axis: int | None = None, out: Self | None = None) -> Self:
        """Returns the position of the smallest element, the first of equal ones, as int64."""
        return _apply(self, "_npi_argmin", out=out, axis=axis)

    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike = None, out: Self | None = None
    ) -> Self:
        """Returns the running sum along an axis, or of the flattened array."""
        return _apply(self, "_np_cumsum", out=out, axis=axis, dtype=_name(dtype))

    def argsort(
        self,
        axis: int | None = -1,
        kind: str | None = None,
        order: str | Sequence[str] | None = None,
    ) -> Self:
        """Returns the positions that would sort along an axis."""
        if order is not None:
            raise ParameterError("argsort: order must be None: there are no arrays of fields")
        return _apply(self, "_npi_argsort", axis=axis)

    def clip(
        self, min: ArrayLike | None = None, max: ArrayLike | None = None, out: Self | None = None
    ) -> Self:
        """Returns the elements, with those beyond the limits set to them."""
        if min is None and max is None:
            raise ParameterError("clip: needs min or max, got neither")
        low, high = (-onp.inf if min is None else min), (onp.inf if max is None else max)
        return _apply(self, "_npi_clip", out=out, a_min=low, a_max=high)

    def round(self, decimals: int = 0, out: Self | None = None, **kwargs: object) -> Self:
        """Returns the elements rounded to a number of decimals, halves to even."""
        return _apply(self, "_npi_around", out=out, decimals=decimals)

    def dot(self, b: ArrayLike, out: Self | None = None) -> Self:
        """Returns the sum of products with another array; see ``np.dot``."""
        return _apply(self, "_np_dot", self._other(b), out=out)

    def take(self, indices: ArrayLike, axis: int | None = None, mode: str = "raise") -> Self:
        """Returns elements, or parts along an axis, at positions."""
        return _apply(self, "_npi_take", self._other(indices), axis=axis, mode=mode)

    def diag(self, k: int = 0, **kwargs: object) -> Self:
        """Returns the k-th diagonal, or a matrix with this array on it."""
        return _apply(self, "_np_diag", k=k)


def _apply(self: K, name: str, *inputs: ArrayLike, out: object = None, **attrs: object) -> K:
    kind: Any = type(self)
    made: K = kind.apply_operator(registry.get(name), (self, *inputs), attrs, out=out)
    return made


def _name(dtype: DTypeLike) -> str | None:
    return None if dtype is None else as_dtype(onp.dtype(dtype)).name

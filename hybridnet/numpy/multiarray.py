"""`ndarray`: arrays with NumPy's semantics, on the memory, tape and recorder of `NDArray`.

What differs from `NDArray`: results may have no dimensions or no elements, comparisons give bool,
``/`` of integers gives float32, bool arrays are masks, and methods have NumPy's names and defaults.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as onp

from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.context import Context, current_context
from hybridnet.base.dtype import BFLOAT16, BOOL, FLOAT32, as_dtype, printable
from hybridnet.base.errors import ParameterError
from hybridnet.base.unsupported import NotSupportedError
from hybridnet.ndarray import NDArray, indexing
from hybridnet.ndarray.copies import host_array, put
from hybridnet.ops.core import registry
from hybridnet.runtime.recording import recorder

from . import _protocols
from .methods import NumpyMethods
from .operands import ArrayLike

__all__ = ["array", "as_host", "ndarray"]

# NumPy says the dtype on a line of its own where the last one is full.
_FLOAT32: Final = re.compile(r",\s+dtype=float32")


def as_host(value: object) -> Any:
    """Returns a value with NumPy arrays in the place of arrays, in lists, tuples and dicts too."""
    if isinstance(value, NDArray):
        return value.asnumpy()
    if isinstance(value, (list, tuple)):
        return type(value)(as_host(item) for item in value)
    if isinstance(value, dict):
        return {key: as_host(item) for key, item in value.items()}
    return value


class ndarray(NumpyMethods, NDArray):  # type: ignore[misc]  # astype has NumPy's arguments
    """An n-dimensional array with NumPy's semantics, computed asynchronously on one device.

    Make one with `array`, `zeros`, `ones`, `arange` and the other functions of `np`, or of an
    `NDArray` with ``as_np_ndarray()``, which shares its memory.
    """

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The element type, as a NumPy dtype."""
        return self.inferred_dtype

    @property
    def T(self) -> Self:
        """The transpose: a copy with the axes in reverse order."""
        return self.transpose()

    def __repr__(self) -> str:
        if recorder.current_trace() is not None:
            return f"<ndarray {self.type} @{self.context}, being traced>"
        text = repr(printable(self.asnumpy()))
        dtype = self.inferred_dtype
        if dtype in (FLOAT32, BFLOAT16):
            text = _FLOAT32.sub("", text)
        if (
            dtype not in (FLOAT32, BOOL) and "dtype=" not in text
        ):  # NumPy's default types are not ours
            text = f"{text[:-1]}, dtype={dtype})"
        return text if self.context.device_type == "cpu" else f"{text[:-1]}, ctx={self.context})"

    def __str__(self) -> str:
        if recorder.current_trace() is not None:
            return repr(self)
        text = str(printable(self.asnumpy()))
        plain = not self.ndim or self.context.device_type == "cpu"
        return text if plain else f"{text} @{self.context}"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        return format(self.asnumpy()[()], spec)  # of no dimensions; of others NumPy raises

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth value of an ndarray of shape {self.shape} is ambiguous: use a.any() or "
                "a.all()"
            )
        return bool(self.host_view().item())

    __array_function__ = _protocols.array_function
    __array_ufunc__ = _protocols.array_ufunc

    def _other(self, other: ArrayLike) -> Any:
        if isinstance(other, (onp.ndarray, list)):
            return array(other, ctx=self.context)
        return other

    def __getitem__(self, key: object) -> Self:
        plain, selects = _without_booleans(key)
        if not selects:
            part: Self = _empty_part(self, key)
            return part
        key = plain
        part = indexing.get(self, _plain_key(key))
        if part.shape == (1,) and _is_element(key, self.ndim):
            part = part.view(0, ())
        return part

    def __setitem__(self, key: object, value: object) -> None:
        key, selects = _without_booleans(key)
        if selects:
            super().__setitem__(_plain_key(key), value)

    def __iadd__(self, other: Any) -> Self:
        return self._update(ndarray.__add__, other, "+=")

    def __isub__(self, other: Any) -> Self:
        return self._update(ndarray.__sub__, other, "-=")

    def __imul__(self, other: Any) -> Self:
        return self._update(ndarray.__mul__, other, "*=")

    def __itruediv__(self, other: Any) -> Self:
        return self._update(ndarray.__truediv__, other, "/=")

    def __imod__(self, other: Any) -> Self:
        return self._update(ndarray.__mod__, other, "%=")

    def __ipow__(self, other: Any) -> Self:
        return self._update(ndarray.__pow__, other, "**=")

    def item(self, *args: Any) -> Any:
        """Returns one element as a Python number: the only one, or that at a position."""
        if not args and self.size != 1:
            raise ValueError(f"item: needs an array of one element or a position, got {self.shape}")
        return self.host_view().item(*args)

    def copy(self, order: str = "C") -> Any:
        """Returns a copy on the same context.

        Raises:
            NotSupportedError: `order` is not 'C', the only one there is.
        """
        if order != "C":
            raise NotSupportedError(f"copy: order must be 'C', got {order!r}")
        return _apply("_np_copy", self)

    def reshape_view(self, *shape: Dims, **kwargs: object) -> NDArray:
        """Returns a view of the same memory in another shape."""
        viewed: NDArray = indexing.reshape(self, shape, kwargs)
        return viewed

    def broadcast_like(  # type: ignore[override]  # without parameters
        self, other: NDArray
    ) -> Self:
        """Returns the array broadcast to the shape of another."""
        return self.broadcast_to(other.shape)

    def sort(  # type: ignore[override]  # NumPy's returns nothing
        self, axis: int = -1, kind: str | None = None, order: str | Sequence[str] | None = None
    ) -> None:
        """Sorts this array in place along an axis."""
        if order is not None:
            raise ParameterError("sort: order must be None: there are no arrays of fields")
        self[...] = _apply("_npi_sort", self, axis=axis)

    def nonzero(self) -> tuple[ndarray, ...]:
        """Returns the positions of the elements that are not 0, one array for each axis."""
        rows = _apply("_npx_nonzero", self)
        return tuple(rows[:, axis] for axis in range(max(self.ndim, 1)))


ndarray.kind_of_results = ndarray
NDArray.numpy_kind = ndarray


def _apply(name: str, *inputs: ArrayLike, out: NDArray | None = None, **attrs: object) -> Any:
    return ndarray.apply_operator(registry.get(name), inputs, attrs, out=out)


def _boolean(item: Any) -> bool | None:
    """Returns the truth value that an item of an index is; None for other items."""
    if isinstance(item, (bool, onp.bool_)):
        return bool(item)
    if getattr(item, "shape", None) == () and getattr(item, "dtype", None) in (bool, onp.bool_):
        return bool(item.item())
    return None


def _without_booleans(key: object) -> tuple[object, bool]:
    """Returns an index without truth values, and whether it selects anything.

    As in NumPy, truth values in an index are masks of no dimensions: together they add an axis,
    unless masks or index arrays add theirs anyway, whose size is 0 where one of them is False.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    found = [_boolean(item) for item in items]
    if all(truth is None for truth in found):
        return key, True
    arrays = any(
        truth is None and (isinstance(item, list) or getattr(item, "shape", ()) != ())
        for item, truth in zip(items, found, strict=True)
    )
    kept: list[object] = []
    for item, truth in zip(items, found, strict=True):
        if truth is None:
            kept.append(item)
        elif not arrays:
            kept.append(None)
            arrays = True
    return tuple(kept), all(truth is not False for truth in found)


def _empty_part(x: ndarray, key: object) -> Any:
    """Returns the part of an array that an index with False in it selects: no elements."""
    items = key if isinstance(key, tuple) else (key,)
    host = tuple(item.asnumpy() if isinstance(item, NDArray) else item for item in items)
    shape = onp.broadcast_to(onp.empty((), bool), x.shape)[host].shape
    return array(onp.empty(shape, x.inferred_dtype), ctx=x.context)


def _plain_key(key: object) -> Any:
    """Returns an index with arrays of `nd` in it made ndarrays, and lists NumPy's arrays.

    A list of True and False is a mask, as in NumPy; of an array of `nd` it is positions.
    """
    if isinstance(key, tuple):
        return tuple(_plain_key(item) for item in key)
    if isinstance(key, list):
        return onp.asarray(key)
    return key.as_np_ndarray() if isinstance(key, NDArray) else key


def _is_element(key: object, ndim: int) -> bool:
    """Whether an index names one position on each axis, and so gives no dimension."""
    items = key if isinstance(key, tuple) else (key,)
    found = 0
    for item in items:
        if item is Ellipsis:
            continue
        number = isinstance(item, (int, onp.integer)) and not isinstance(item, bool)
        if not number and getattr(item, "shape", None) != ():
            return False
        found += 1
    return found == ndim


def array(object: ArrayLike, dtype: DTypeLike = None, ctx: Context | None = None) -> ndarray:
    """Makes an array from host data, another array, or nested sequences.

    Args:
        object: the data; copied.
        dtype: default that of an array or of NumPy's scalars, and float32 for Python's numbers
            and lists.
        ctx: where to; default the current context.

    Returns:
        An array of the data's shape; a number gives an array of no dimensions.

    Raises:
        DTypeError: `dtype` is none that hybridnet computes with.
        ShapeError: nested sequences are ragged.
    """
    ctx = ctx or current_context()
    wanted = None if dtype is None else as_dtype(onp.dtype(dtype))
    if isinstance(object, NDArray):
        moved = object.copyto(ctx).as_np_ndarray()
        return moved if wanted is None else moved.astype(wanted, copy=False)  # type: ignore
    if wanted is None:
        wanted = FLOAT32
        if isinstance(object, (onp.ndarray, onp.generic)):
            wanted = as_dtype(object.dtype)
    host = host_array(as_host(object), wanted, "np.array")
    return ndarray.from_value(put(host, ctx), ctx)  # type: ignore[return-value]

"""NumPy's functions by the names that JAX has for them, where both give the same.

What is missing here has no host form; an operator that needs it runs through XLA from the start.
Where arguments or results differ between the two, the function here takes and gives JAX's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import finfo

from . import control_flow as control_flow
from . import matrices as matrices
from . import padding as padding
from . import special_functions as special_functions
from . import sums as sums
from .convolution import Convolution
from .half import sum_in_float32
from .namespace import NoHostForm, changeable, jax, jnp, lax
from .random_bits import bits, fold_in
from .table import FUNCTIONS, named, words

__all__ = ["FUNCTIONS", "place_of", "summed_axes"]

_SAME_IN_NUMPY: Final = words("""
    abs add all any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin
    array asarray atleast_1d atleast_2d atleast_3d bitwise_and bitwise_not bitwise_or
    bitwise_xor broadcast_arrays broadcast_shapes broadcast_to cbrt ceil column_stack
    concatenate copysign cos cosh cumprod cumsum deg2rad diag diagflat diagonal diff dot dstack
    equal exp exp2 expand_dims expm1 eye flip floor floor_divide full full_like greater
    greater_equal heaviside hstack hypot iinfo indices isfinite isinf isnan isneginf issubdtype
    lcm ldexp less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not
    logical_or logical_xor matmul max maximum meshgrid min minimum moveaxis multiply nan_to_num
    nanprod nansum ndim negative not_equal ones ones_like outer pad prod promote_types rad2deg
    reciprocal repeat reshape result_type roll rollaxis rot90 round shape sign signbit sin sinh
    size sqrt square squeeze stack subtract swapaxes tan tanh tile trace transpose
    tril triu true_divide trunc unravel_index vander vdot vstack zeros zeros_like
""")
FUNCTIONS.update({name: getattr(np, name) for name in _SAME_IN_NUMPY})
FUNCTIONS["finfo"] = finfo


@named("exp")
def _exp(x: Any) -> Any:
    """NumPy's own, of float32, is off by 2 units in the last place, XLA's by less than 1."""
    if getattr(x, "dtype", None) != np.float32:
        return np.exp(x)
    return np.exp(x, dtype=np.float64).astype(np.float32)


@named("astype")
def _astype(x: NumpyArray, dtype: Any) -> NumpyArray:
    """As XLA converts: what is too large becomes the largest, and NaN becomes 0."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "iu" or x.dtype.kind != "f":
        return x.astype(dtype, copy=False)
    if x.dtype.itemsize < 4:
        x = x.astype(np.float32)  # whose range holds the limits
    limits = np.iinfo(dtype)
    # The largest int64 is no float: what reaches it is put in afterwards.
    inside = (x > limits.min) & (x < float(limits.max))
    highest, lowest, zero = (np.array(one, dtype) for one in (limits.max, limits.min, 0))
    ends = np.where(x >= float(limits.max), highest, np.where(x == x, lowest, zero))
    made: NumpyArray = np.where(inside, np.where(inside, x, 0).astype(dtype), ends)
    return made


# Elements from which on choosing by masks is quicker, ten times and more: `numpy.where` takes
# nanoseconds for each, as a processor does that cannot foresee which it will be.
_MANY_ELEMENTS: Final = 256


@named("where")
def _where(condition: Any, x: Any, y: Any) -> Any:
    dtype = np.result_type(x, y)
    if np.ndim(condition) == 0 and type(x) is type(y) is np.ndarray and x.shape == y.shape:
        return (x if condition else y).astype(dtype, copy=False)
    if (
        np.size(condition) < _MANY_ELEMENTS
        or condition.dtype != bool
        or dtype.itemsize not in (2, 4, 8)
    ):
        return np.where(condition, x, y)
    bits = np.dtype(f"i{dtype.itemsize}")
    mask = condition.view(np.int8).astype(bits)
    np.negative(mask, out=mask)  # -1, all bits, where it holds
    first, second = (np.asarray(each, dtype).view(bits) for each in (x, y))
    if np.ndim(y) == 0 and not second:
        made = first & mask
    else:  # the first where the mask is, or else the second
        made = first ^ second
        made = np.bitwise_and(made, mask, out=made if made.shape == mask.shape else None)
        made = np.bitwise_xor(made, second, out=made)
    return made.view(dtype)


@named("argsort")
def _argsort(
    x: NumpyArray, axis: int | None = -1, *, stable: bool = True, descending: bool = False
) -> Any:
    if axis is None:
        x, axis = x.ravel(), 0
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # The last of the reversed array comes first, so that equal elements keep their order.
    order = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(order, axis)


# The length from which on, and the part of it up to which, the first ones are found without sorting
# the others: 10 of 10,000 in 36 us instead of 570, 5 of 1,000 in 64 rows in 270 instead of 2,760.
_MIN_LENGTH: Final = 256
_LENGTH_PER_FOUND: Final = 8


@named("first_positions")
def _first_positions(x: NumpyArray, count: int, axis: int, descending: bool) -> NumpyArray:
    """The positions of the first elements along an axis, were it sorted; equal ones in order."""
    length = x.shape[axis]
    if length >= _MIN_LENGTH and 0 < count * _LENGTH_PER_FOUND <= length:
        rows = np.moveaxis(x, axis, -1)
        place = length - count if descending else count - 1
        bound = np.partition(rows, place, -1)[..., place, None]
        # NaN is the greatest. If it is the bound itself, these are too many or too few.
        chosen = ~(rows < bound) if descending else rows <= bound
        if np.count_nonzero(chosen) == count * (x.size // length):  # none equals the last of them
            found = np.nonzero(chosen)[-1].reshape(*rows.shape[:-1], count)
            order = _argsort(np.take_along_axis(rows, found, -1), descending=descending)
            return np.moveaxis(np.take_along_axis(found, order, -1), -1, axis)
    order = _argsort(x, axis, descending=descending)
    return _part(order, axis, slice(count))


@named("sort")
def _sort(
    x: NumpyArray, axis: int | None = -1, *, stable: bool = True, descending: bool = False
) -> Any:
    made = np.sort(x, axis=axis, kind="stable")
    return np.flip(made, 0 if axis is None else axis) if descending else made


@named("lax.sort")
def _lax_sort(x: NumpyArray, is_stable: bool = True) -> Any:
    return np.sort(x, axis=-1, kind="stable")


@named("lax.top_k")
def _top_k(x: NumpyArray, k: int) -> tuple[NumpyArray, NumpyArray]:
    order = _first_positions(x, k, x.ndim - 1, descending=True)
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


@named("clip")
def _clip(
    x: NumpyArray, min: Any = None, max: Any = None
) -> Any:  # NumPy has None for both in newer
    return np.clip(x, min, max)


@named("power")
def _power(x: NumpyArray, y: Any) -> Any:
    if np.asarray(x).dtype.kind in "iub" and np.asarray(y).dtype.kind in "iub":
        raise NoHostForm("power of integers")
    return np.power(x, y)


@named("mod")
def _mod(x: NumpyArray, y: Any) -> Any:
    if np.asarray(y).dtype.kind in "iub" and np.any(np.equal(y, 0)):
        raise NoHostForm("mod 0")
    return np.mod(x, y)


@named("matmul")
def _matmul(x: NumpyArray, y: NumpyArray, **kwargs: Any) -> Any:
    if x.ndim <= 2 or y.ndim != 2:
        return np.matmul(x, y, **kwargs)
    # One product, where NumPy has one for each matrix of the first.
    return np.matmul(x.reshape(-1, x.shape[-1]), y, **kwargs).reshape(*x.shape[:-1], y.shape[1])


FUNCTIONS["in_order"] = np.ascontiguousarray
FUNCTIONS["plus"] = lambda x, y: np.add(x, y, out=x)
FUNCTIONS["times"] = lambda x, y: np.multiply(x, y, out=x)


def summed_axes(x: NumpyArray, y: NumpyArray, axes: Any) -> tuple[list[int], list[int]]:
    """Returns the axes of each array that `tensordot` sums over, as numbers from 0 on."""
    if isinstance(axes, int):
        return [*range(x.ndim - axes, x.ndim)], [*range(axes)]
    of_x, of_y = (side if isinstance(side, (tuple, list)) else (side,) for side in axes)
    return [_axis_of(axis, x) for axis in of_x], [_axis_of(axis, y) for axis in of_y]


def _axis_of(axis: int, x: NumpyArray) -> int:
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {x.ndim}")
    return axis % x.ndim


@named("tensordot")
def _tensordot(x: NumpyArray, y: NumpyArray, axes: Any = 2) -> Any:
    of_x, of_y = summed_axes(x, y, axes)
    if x.ndim == 2 == y.ndim and len(of_x) == 1:  # a product of matrices, in half the time
        return (x if of_x[0] else x.T) @ (y.T if of_y[0] else y)
    return np.tensordot(x, y, (of_x, of_y))


@named("std", composed=True)
def _std(x: Any, **kwargs: Any) -> Any:
    return jnp.sqrt(jnp.var(x, **kwargs))


@named("einsum")
def _einsum(how: str, *operands: NumpyArray, **_: Any) -> Any:
    # Of more than two it is quicker in pairs.
    return np.einsum(how, *operands, optimize=len(operands) > 2)


@named("put_along_axis")
def _put_along_axis(
    x: NumpyArray, indices: NumpyArray, values: Any, axis: int, inplace: bool = True
) -> Any:
    if inplace:
        raise NoHostForm("put_along_axis, in place")
    changed = x.copy()
    np.put_along_axis(changed, indices, values, axis)
    return changed


@named("nonzero")
def _nonzero(
    x: NumpyArray, *, size: int | None = None, fill_value: Any = 0
) -> tuple[NumpyArray, ...]:
    found = np.nonzero(x)
    if size is None:
        return found
    if isinstance(fill_value, tuple):
        raise NoHostForm("nonzero with several fill values")
    missing = max(0, size - len(found[0]))
    return tuple(np.pad(one[:size], (0, missing), constant_values=fill_value) for one in found)


@named("bincount")
def _bincount(
    x: NumpyArray, weights: Any = None, minlength: int = 0, length: int | None = None
) -> Any:
    refused = weights is not None and weights.dtype == bool  # which JAX does not add
    if length is None or x.dtype.kind not in "iu" or refused:
        raise NoHostForm("bincount")
    x = np.maximum(x.ravel(), 0)
    inside = x < length
    if weights is None:
        return np.bincount(x[inside], minlength=length)
    return np.bincount(x[inside], weights.ravel()[inside], length).astype(weights.dtype)


FUNCTIONS["histogram"] = np.histogram


@named("allclose")
def _allclose(x: NumpyArray, y: NumpyArray, *args: Any, **kwargs: Any) -> NumpyArray:
    return np.asarray(np.allclose(x, y, *args, **kwargs))


@named("unique")
def _unique(x: NumpyArray, *, size: int, fill_value: Any) -> Any:
    if x.dtype == bool:
        raise NoHostForm("unique of bool")  # which JAX refuses
    found = np.unique(x)[:size]
    return np.pad(found, (0, size - len(found)), constant_values=fill_value)


@named("split")
def _split(x: NumpyArray, indices: Any, axis: int = 0) -> list[NumpyArray]:
    size = x.shape[axis]
    if isinstance(indices, (int, np.integer)):
        if size % indices:
            raise ValueError(f"split of {size} into {indices} equal parts")
        indices = range(size // indices, size, size // indices) if size else [0] * (indices - 1)
    ends = [0, *indices, size]
    return [_part(x, axis, slice(*both)) for both in pairwise(ends)]


@named("array_split", composed=True)
def _array_split(x: Any, parts: int, axis: int = 0) -> Sequence[Any]:
    size, longer = divmod(x.shape[axis], parts)
    return lax.split(x, [size + (i < longer) for i in range(parts)], axis)


@named("searchsorted")
def _searchsorted(a: NumpyArray, v: NumpyArray, side: str = "left") -> Any:
    return np.searchsorted(a, v, side).astype(np.int64)  # type: ignore[call-overload]


@named("take")
def _take(
    a: NumpyArray,
    indices: Any,
    axis: int | None = None,
    mode: str | None = None,
    fill_value: Any = None,
) -> Any:
    if mode == "fill":
        if axis is None or fill_value is None or np.ndim(indices) != 1:
            raise NoHostForm("take with values for what is not there")
        inside = (indices >= -a.shape[axis]) & (indices < a.shape[axis])
        found = np.take(a, np.where(inside, indices, 0), axis) if a.shape[axis] else a
        shape = [-1 if i == axis % a.ndim else 1 for i in range(a.ndim)]
        return np.where(inside.reshape(shape), found, np.asarray(fill_value, a.dtype))
    # Positions outside raise here; JAX has NaN for them.
    return np.take(a, indices, axis=axis, mode=mode or "raise")  # type: ignore[call-overload]


@named("take_along_axis")
def _take_along_axis(
    a: NumpyArray, indices: NumpyArray, axis: int | None, mode: str | None = None
) -> Any:
    if mode not in (None, "clip"):
        raise NoHostForm(f"take_along_axis, mode {mode}")
    if mode == "clip" and axis is not None:
        indices = np.clip(indices, 0, a.shape[axis] - 1)
    return np.take_along_axis(a, indices, axis)


# -- jax.lax ---------------------------------------------------------------------------------------


def _same(x: Any, *_: Any) -> Any:
    return x


FUNCTIONS.update(
    {
        "lax.add": np.add,
        "lax.bitcast_convert_type": lambda x, dtype: x.view(dtype),
        "lax.max": np.maximum,
        "lax.optimization_barrier": _same,
        "lax.rsqrt": lambda x: 1 / np.sqrt(x),
        "lax.stop_gradient": _same,
    }
)


@named("lax.reduce_precision")
def _reduce_precision(x: NumpyArray, exponent_bits: int, mantissa_bits: int) -> NumpyArray:
    if (x.dtype, exponent_bits, mantissa_bits) != (np.float32, 8, 23):
        raise NoHostForm("reduce_precision")
    return x


@named("lax.broadcasted_iota")
def _broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> NumpyArray:
    outer = [1] * len(shape)
    outer[dimension] = shape[dimension]
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(outer), shape)


def _part(x: NumpyArray, axis: int, part: slice | int) -> NumpyArray:
    return x[(slice(None),) * (axis % x.ndim) + (part,)]


@named("lax.slice_in_dim", composed=True)
def _slice_in_dim(
    x: NumpyArray, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> NumpyArray:
    return _part(x, axis, slice(start_index, limit_index, stride))


@named("lax.split", composed=True)
def _lax_split(x: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    return jnp.split(x, [*accumulate(sizes)][:-1], axis)


@named("lax.index_in_dim", composed=True)
def _index_in_dim(x: NumpyArray, index: int, axis: int = 0, keepdims: bool = True) -> NumpyArray:
    index %= x.shape[axis]
    return _part(x, axis, slice(index, index + 1) if keepdims else index)


@named("lax.slice", composed=True)
def _slice(
    x: NumpyArray,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> NumpyArray:
    return x[tuple(map(slice, start_indices, limit_indices, strides or [1] * x.ndim))]


def place_of(
    shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int]
) -> tuple[slice, ...]:
    """Returns the part that `lax.dynamic_slice` takes: it is moved inside as a whole."""
    axes = zip(shape, starts, sizes, strict=True)
    moved = [(max(0, min(int(start), whole - size)), size) for whole, start, size in axes]
    return tuple([slice(start, start + size) for start, size in moved])


@named("lax.dynamic_slice")
def _dynamic_slice(
    x: NumpyArray, start_indices: Sequence[Any], slice_sizes: Sequence[int]
) -> NumpyArray:
    return x[place_of(x.shape, start_indices, slice_sizes)]


@named("lax.dynamic_slice_in_dim", composed=True)
def _dynamic_slice_in_dim(x: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    starts = [start_index if i == axis % x.ndim else 0 for i in range(x.ndim)]
    sizes = [slice_size if i == axis % x.ndim else size for i, size in enumerate(x.shape)]
    return lax.dynamic_slice(x, starts, sizes)


@named("added_at")
def _added_at(whole: NumpyArray, part: NumpyArray, starts: Sequence[Any]) -> NumpyArray:
    whole[place_of(whole.shape, starts, part.shape)] += part
    return whole


@named("lax.dynamic_update_slice")
def _dynamic_update_slice(
    x: NumpyArray, update: NumpyArray, start_indices: Sequence[Any]
) -> NumpyArray:
    changed = changeable(x)
    changed[place_of(x.shape, start_indices, update.shape)] = update
    return changed


def _first(offset: Any, size: int, whole: int) -> int:
    return max(0, min(int(offset), whole - size))


@named("run_of")
def _run_of(x: NumpyArray, size: int, offset: Any, block: bool) -> NumpyArray:
    """The elements of an array, taken as one row, from an offset on."""
    first = _first(offset, size, x.size)
    return x.reshape(-1)[first : first + size]


@named("run_assigned")
def _run_assigned(x: NumpyArray, values: NumpyArray, offset: Any, block: bool) -> NumpyArray:
    """The array with these elements replaced."""
    changed = changeable(x)
    first = _first(offset, values.size, x.size)
    changed.reshape(-1)[first : first + values.size] = values.reshape(-1)
    return changed


def _running(scan: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: NumpyArray, axis: int = 0, reverse: bool = False) -> Any:
        if reverse:
            return np.flip(scan(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
        return scan(x, axis=axis, dtype=x.dtype)

    return run


FUNCTIONS["lax.cumsum"] = _running(np.cumsum)
FUNCTIONS["lax.cumprod"] = _running(np.cumprod)


@named("lax.div")
def _div(x: NumpyArray, y: Any) -> Any:
    if x.dtype.kind == "f":
        return x / y
    # Integers: towards zero, and -1, which is all bits, where the divisor is zero.
    quotient, rest = np.divmod(x, y)
    down = (rest != 0) & ((rest < 0) != (x < 0))
    return np.where(y == 0, np.bitwise_not(x.dtype.type(0)), quotient + down.astype(x.dtype))


@named("lax.rem")
def _rem(x: NumpyArray, y: Any) -> Any:
    rest = np.fmod(x, y)
    return rest if x.dtype.kind == "f" else np.where(y == 0, x, rest)


@named("lax.dot_general", composed=True)
def _dot_general(x: Any, y: Any, dimensions: Any, **_: Any) -> Any:
    (of_x, of_y), (batch, _batch) = dimensions
    if batch:
        raise NoHostForm("dot_general of batches")
    return jnp.tensordot(x, y, (of_x, of_y))


def _inside(array: NumpyArray, key: Any, values: Any) -> tuple[Any, Any]:
    """Returns a key without its positions outside of an array, and the values of the others.

    Raises:
        NoHostForm: the key has both slices and arrays of positions, or is of another kind.
    """
    parts = key if isinstance(key, tuple) else (key,)
    outside: Any = np.False_
    for part, size in zip(parts, array.shape, strict=False):
        if not isinstance(part, slice):
            places = np.asarray(part)
            if places.dtype.kind not in "iu":
                raise NoHostForm("at of this key")
            outside = outside | (places < -size) | (places >= size)
    if outside.ndim == 0:
        return (np.s_[:0], array[:0]) if outside else (key, values)
    if any(isinstance(part, slice) for part in parts):
        raise NoHostForm("at of slices and arrays")
    kept = ~outside
    values = np.broadcast_to(values, (*kept.shape, *array.shape[len(parts) :]))
    return tuple([np.broadcast_to(part, kept.shape)[kept] for part in parts]), values[kept]


class _At:
    """As ``array.at`` of JAX: copies with some elements changed.

    Positions outside are left out where the mode is to drop them. Otherwise they raise, where JAX
    leaves them out or takes the nearest.
    """

    def __init__(self, array: NumpyArray, key: Any = None) -> None:
        self._array, self._key = array, key

    def __getitem__(self, key: Any) -> _At:
        return _At(self._array, key)

    def get(self, *, mode: str | None = None, fill_value: Any = None) -> Any:
        """The elements themselves."""
        return self._array[self._key]

    def set(self, values: Any, mode: str | None = None) -> NumpyArray:
        """With these in their place."""
        changed = changeable(self._array)
        key, values = self._where(values, mode)
        changed[key] = values
        return changed

    def add(self, values: Any, mode: str | None = None) -> NumpyArray:
        """With these added, as often as a position is named."""
        if self._array.dtype == bool:
            raise NoHostForm("at add of bool")  # which JAX refuses
        changed = self._array.copy()
        key, values = self._where(values, mode)
        np.add.at(changed, key, values)
        return changed

    def _where(self, values: Any, mode: str | None) -> tuple[Any, Any]:
        """Returns an index, and the values to write there: in mode 'drop' those that lie inside."""
        if mode != "drop":
            return self._key, values
        return _inside(self._array, self._key, values)


FUNCTIONS["at"] = _At


# -- random numbers and convolution ----------------------------------------------------------------

FUNCTIONS.update(
    {
        "lax.conv_general_dilated": lambda *args, **kwargs: Convolution(*args, **kwargs)(),
        "random.bits": bits,
        "random.fold_in": fold_in,
        "random.wrap_key_data": lambda words, impl: words,
        "threefry_partitionable": lambda _: nullcontext(),
    }
)


# -- jax.nn ----------------------------------------------------------------------------------------


def _logistic(x: NumpyArray) -> Any:
    return 1 / (1 + np.exp(-x))


def _elu(x: NumpyArray, alpha: Any = 1.0) -> Any:
    return _where(x > 0, x, alpha * np.expm1(_where(x > 0, 0, x)))


@named("nn.selu", composed=True)
def _selu(x: Any) -> Any:
    return 1.0507009873554804934193349852946 * jax.nn.elu(x, 1.6732632423543772848170429916717)


@named("nn.gelu", composed=True)
def _gelu(x: Any, approximate: bool = True) -> Any:
    if approximate:
        return 0.5 * x * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    return 0.5 * x * lax.erfc(-x / math.sqrt(2))


FUNCTIONS.update(
    {
        "lax.logistic": _logistic,
        "nn.elu": _elu,
        "nn.relu": lambda x: np.maximum(x, 0),
        "nn.sigmoid": _logistic,
        "nn.soft_sign": lambda x: x / (1 + np.abs(x)),
        "nn.softplus": lambda x: np.logaddexp(x, 0),
    }
)


# -- rules of differentiation, which make no difference where nothing is differentiated ------------


class _WithRule:
    """Stands for `jax.custom_vjp` and `jax.custom_jvp`."""

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        self._function = function

    def defvjp(self, *_: Any) -> None:
        """The rule is not needed."""

    def defjvp(self, rule: Any) -> Any:
        """The rule is not needed."""
        return rule

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)


FUNCTIONS["custom_vjp"] = _WithRule
FUNCTIONS["custom_jvp"] = _WithRule

sum_in_float32("""
    dot einsum matmul mean nanprod nansum prod sum tensordot trace var vdot
""")

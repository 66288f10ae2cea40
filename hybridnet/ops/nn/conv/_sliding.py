"""Sums and maxima over sliding windows, for the lowering of pooling.

XLA's own window reduction serves GPUs and TPUs. On CPUs its gradient is a scalar loop, so there a
window is reduced one axis at a time over strided slices of ``(channel, *spatial, batch)`` data, or
``(batch, *spatial, channel)``: the batch or the channels are innermost, and so every slice is made
of whole vectors. Max pooling remembers which
tap won, and its gradient is a select on that.

The gradient of a maximum goes to the first greatest element of the window in row-major order, on
every platform. Reducing the last axis first keeps that order: the first greatest of the rows' own
first greatest is the first of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from hybridnet.ops.host.namespace import has_host_form, jax, jnp, lax

if TYPE_CHECKING:
    from jax import Array

Platform = Literal["cpu", "gpu", "host", "tpu"]
#: The axis that makes the vectors of a CPU.
Innermost = Literal["batch", "channel"]

# A longer window is not unrolled: the program would grow with it.
_UNROLL_LIMIT: Final = 32


def batch_last(x: Array, channel_last: bool) -> Array:
    """(batch, channel, *spatial) or (batch, *spatial, channel) -> (channel, *spatial, batch)."""
    return jnp.swapaxes(x, 0, -1) if channel_last else jnp.moveaxis(x, 0, -1)


def from_batch_last(x: Array, channel_last: bool) -> Array:
    """Undoes :func:`batch_last`."""
    return jnp.swapaxes(x, 0, -1) if channel_last else jnp.moveaxis(x, -1, 0)


def _around(x: Array, channel_last: bool, innermost: Innermost) -> Array:
    """The data with the spatial axes between the two others, of which one is the last."""
    if innermost == "batch":
        return batch_last(x, channel_last)
    return x if channel_last else jnp.moveaxis(x, 1, -1)


def _from_around(x: Array, channel_last: bool, innermost: Innermost) -> Array:
    """Undoes :func:`_around`."""
    if innermost == "batch":
        return from_batch_last(x, channel_last)
    return x if channel_last else jnp.moveaxis(x, -1, 1)


def pooled_size(size: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    """Length of a pooling's output along one axis.

    Args:
        size: Length of the input.
        kernel: Length of the window.
        stride: Distance of two windows.
        pad: Padding on each side.
        convention: ``valid`` drops what does not fill a window, ``full`` keeps it, and ``same``
            gives ``ceil(size / stride)``.
    """
    if convention == "same":
        return -(-size // stride)
    rest = size + 2 * pad - kernel
    return (-(-rest // stride) if convention == "full" else rest // stride) + 1


@dataclass(frozen=True)
class WindowAxis:
    """The windows along one spatial axis.

    Attributes:
        size: Length of the data.
        kernel: Length of a window.
        stride: Distance of two windows.
        low: Padding before the data.
        end: Where the padding after the data ends. Windows may reach beyond it.
        output: Number of windows.
    """

    size: int
    kernel: int
    stride: int
    low: int
    end: int
    output: int

    @classmethod
    def whole(cls, size: int) -> WindowAxis:
        """One window over the whole axis."""
        return cls(size, size, 1, 0, size, 1)

    @classmethod
    def of(cls, size: int, kernel: int, stride: int, pad: int, convention: str) -> WindowAxis:
        """The windows by the rules of :func:`pooled_size`; ``same`` ignores ``pad``."""
        output = pooled_size(size, kernel, stride, pad, convention)
        if convention != "same":
            return cls(size, kernel, stride, pad, size + pad, output)
        missing = max((output - 1) * stride + kernel - size, 0)
        low = missing // 2
        return cls(size, kernel, stride, low, size + missing - low, output)

    @property
    def high(self) -> int:
        """The elements from the data's end to the last window's; negative if that ends before."""
        return (self.output - 1) * self.stride + self.kernel - self.low - self.size

    @property
    def tiles(self) -> bool:
        """Whether windows follow each other without overlap or gap."""
        return self.output == 1 or self.kernel == self.stride

    @property
    def has_empty_window(self) -> bool:
        """Whether a window may lie wholly outside the data."""
        return self.low >= self.kernel or self.high >= self.kernel

    def counts(self, include_pad: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
        """(output,) elements of each window that an average counts, at least 1."""
        start = np.arange(self.output) * self.stride - self.low
        stop = np.minimum(start + self.kernel, self.end)
        if not include_pad:
            start, stop = np.maximum(start, 0), np.minimum(stop, self.size)
        return np.maximum(stop - start, 1)


def max_windows(
    data: Array,
    axes: list[WindowAxis],
    channel_last: bool,
    platform: Platform,
    innermost: Innermost = "batch",
) -> Array:
    """Greatest element of every window; the dtype's lowest value where a window has none.

    Not-a-number wins against every number.

    Args:
        data: (batch, channel, *spatial) or (batch, *spatial, channel).
        axes: The windows along each spatial axis.
        channel_last: Which of the two layouts it is.
        platform: Where the program will run.
        innermost: On CPUs, the last axis while it is computed; it decides speed alone.
    """
    if _is_native(axes, platform):
        return _native_max(data, axes, channel_last)
    x = _around(data, channel_last, innermost)
    for i in reversed(range(len(axes))):
        axis, dim = axes[i], i + 1
        x = _padded(x, dim, axis, _lowest(x.dtype))
        if axis.kernel == 1:
            x = lax.slice_in_dim(x, 0, None, axis.stride, dim)
        else:
            x = _greatest_along(x, dim, axis)
    return _from_around(x, channel_last, innermost)


def sum_windows(
    data: Array,
    axes: list[WindowAxis],
    channel_last: bool,
    platform: Platform,
    innermost: Innermost = "batch",
) -> Array:
    """Sum of every window; arguments as in :func:`max_windows`."""
    if _is_native(axes, platform):
        zero = np.zeros((), data.dtype)
        total: Array = lax.reduce_window(
            data, zero, lax.add, *_native_arguments(axes, channel_last)
        )
        return total
    x = _around(data, channel_last, innermost)
    for i in reversed(range(len(axes))):
        axis, dim = axes[i], i + 1
        x = _padded(x, dim, axis, 0)
        if axis.tiles:
            x = jnp.sum(_cut(x, dim, axis), dim + 1, dtype=x.dtype)
        else:
            x = _sums_along(x, dim, axis)
    return _from_around(x, channel_last, innermost)


def _is_native(axes: list[WindowAxis], platform: Platform) -> bool:
    if platform != "cpu":
        return platform != "host"
    return any(a.kernel > _UNROLL_LIMIT and not a.tiles for a in axes)


def _native_arguments(axes: list[WindowAxis], channel_last: bool) -> tuple[Any, Any, Any]:
    def around(values: list[Any], outer: Any) -> tuple[Any, ...]:
        return (outer, *values, outer) if channel_last else (outer, outer, *values)

    return (
        around([a.kernel for a in axes], 1),
        around([a.stride for a in axes], 1),
        around([(a.low, max(a.high, 0)) for a in axes], (0, 0)),
    )


def _native_max(data: Array, axes: list[WindowAxis], channel_last: bool) -> Array:
    # JAX knows the gradient of this reduction only from the neutral element, which is -inf.
    floating = jnp.issubdtype(data.dtype, jnp.floating)
    start = np.asarray(-np.inf if floating else _lowest(data.dtype), data.dtype)
    y: Array = lax.reduce_window(data, start, lax.max, *_native_arguments(axes, channel_last))
    if floating and any(a.has_empty_window for a in axes):
        return jnp.where(jnp.isneginf(y), _lowest(data.dtype), y)
    return y


def _lowest(dtype: Any) -> Any:
    info = jnp.finfo if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo
    return info(dtype).min


# One axis of (outer, *spatial, inner) data ----------------------------------------------------


def _padded(x: Array, dim: int, axis: WindowAxis, fill: Any) -> Array:
    if axis.low == axis.high == 0:
        return x
    widths = [(0, 0, 0)] * x.ndim
    widths[dim] = (axis.low, axis.high, 0)
    return lax.pad(x, jnp.asarray(fill, x.dtype), widths)


def _cut(x: Array, dim: int, axis: WindowAxis) -> Array:
    """(..., output, kernel, ...) windows of padded data, where they do not overlap."""
    return x.reshape(*x.shape[:dim], axis.output, axis.kernel, *x.shape[dim + 1 :])


def _taps(x: Array, dim: int, axis: WindowAxis) -> list[Array]:
    """Tap ``k`` of every window of padded data, for each ``k``."""
    reach = (axis.output - 1) * axis.stride + 1
    return [lax.slice_in_dim(x, k, k + reach, axis.stride, dim) for k in range(axis.kernel)]


@has_host_form("sums_along")
def _sums_along(x: Array, dim: int, axis: WindowAxis) -> Array:
    """Sum of each window of padded data along an axis."""
    first, *rest = _taps(x, dim, axis)
    return sum(rest, start=first)


@has_host_form("greatest_along")
def _greatest_along(x: Array, dim: int, axis: WindowAxis) -> Array:
    """Greatest of each window of padded data along an axis."""
    return _max_tiles(_cut(x, dim, axis), dim) if axis.tiles else _max_taps(x, dim, axis)


def _first_greatest(taps: list[Array]) -> tuple[Array, Array]:
    """Elementwise greatest of the taps, and the number of the first tap that has it."""
    best = taps[0]
    which = jnp.zeros(best.shape, jnp.int8)
    for k, tap in enumerate(taps[1:], 1):
        # Not-a-number wins, and then stays, since nothing compares greater.
        better = (tap > best) | ((tap != tap) & (best == best))
        best = jnp.where(better, tap, best)
        which = jnp.where(better, jnp.int8(k), which)
    return best, which


def _max_tiles(x: Array, dim: int) -> Array:
    """Greatest along the window axis ``dim + 1``.

    The tangent is a masked sum over the window. Its transpose is a broadcast and a select, which
    XLA fuses with what comes before and after.
    """
    kernel = x.shape[dim + 1]
    unrolls = kernel <= _UNROLL_LIMIT
    numbers = lax.broadcasted_iota(
        jnp.int8 if unrolls else jnp.int32, (kernel, *(1,) * (x.ndim - dim - 2)), 0
    )

    def pick(x: Array) -> tuple[Array, Array]:
        if unrolls:
            taps = [lax.index_in_dim(x, k, dim + 1, keepdims=False) for k in range(kernel)]
            best, which = _first_greatest(taps)
            return best, jnp.expand_dims(which, dim + 1)
        best = x.max(dim + 1, keepdims=True)
        # An ordinary minimum, where argmax would be a scalar loop.
        wins = (x == best) | (x != x)
        return best.squeeze(dim + 1), jnp.where(wins, numbers, kernel).min(dim + 1, keepdims=True)

    greatest = jax.custom_jvp(lambda x: pick(x)[0])

    @greatest.defjvp
    def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        best, which = pick(primals[0])
        return best, jnp.where(which == numbers, tangents[0], 0).sum(dim + 1)

    return greatest(x)


def _max_taps(x: Array, dim: int, axis: WindowAxis) -> Array:
    """Greatest of each window of padded data; windows may overlap or leave gaps."""
    greatest = jax.custom_jvp(lambda x: _first_greatest(_taps(x, dim, axis))[0])

    @greatest.defjvp
    def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        best, which = _first_greatest(_taps(primals[0], dim, axis))
        first, *rest = (
            jnp.where(which == k, tap, 0) for k, tap in enumerate(_taps(tangents[0], dim, axis))
        )
        return best, sum(rest, start=first)

    return greatest(x)

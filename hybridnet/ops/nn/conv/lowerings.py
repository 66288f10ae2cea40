"""Lowerings of convolution, deconvolution and pooling to JAX, chosen by platform and shape.

GPUs and TPUs get XLA's own convolution and window reduction. On CPUs these are slow, and what is
measured to win (``benchmarks/lowerings.py``) is used instead:

- Data is transposed so that the batch is the innermost axis, ``(channel, *spatial, batch)``: then
  every slice of a window is a run of whole vectors, and patches are copied in long runs. The
  transposes cost little: XLA keeps the physical order through the elementwise operators between two
  layers, and so most of them cancel.
- A convolution with a small patch matrix is one matrix product with it (im2col; Chellapilla et
  al., "High Performance Convolutional Neural Networks for Document Processing", 2006). Its
  gradients are two more products, without the wasted work of a convolution over padded gradients.
- Depthwise convolution is a sum of scaled slices. The other large ones are XLA's, channels last.
- Pooling goes one axis at a time (:mod:`hybridnet.ops.nn.conv._sliding`).

``lax.optimization_barrier`` keeps XLA from repeating a layer's computation once for every tap of
the next layer's window.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ops.host.namespace import jax, jnp, lax

from ._sliding import (
    Innermost,
    Platform,
    WindowAxis,
    batch_last,
    from_batch_last,
    max_windows,
    pooled_size,
    sum_windows,
)

if TYPE_CHECKING:
    from jax import Array

__all__ = [
    "Platform",
    "convolution",
    "convolved_size",
    "deconvolution",
    "deconvolution_padding",
    "pooled_size",
    "pooling",
]

# In bytes; with a larger patch matrix, filling it costs more than it saves.
_PATCH_LIMIT: Final = 12 << 20

_LAYOUTS: Final = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


# Sizes ------------------------------------------------------------------------------------------


def convolved_size(size: int, kernel: int, stride: int, dilate: int, pad: int) -> int:
    """Length of a convolution's output along one axis whose input has length ``size``."""
    return (size + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1


def deconvolution_padding(
    size: int, kernel: int, stride: int, dilate: int, pad: int, adj: int, target: int | None
) -> tuple[int, int]:
    """Padding and output length of a deconvolution along one axis.

    With a ``target`` length, ``pad`` and ``adj`` are ignored and what is too much is cut off both
    ends, one more at the beginning when it is odd (as MXNet 1.9 does).

    Raises:
        ShapeError: If the target is longer than the uncut result, or the ends would differ by as
            much as the stride.
    """
    whole = (size - 1) * stride + dilate * (kernel - 1) + 1
    if target is None:
        return pad, whole - 2 * pad + adj
    if target > whole:
        raise ShapeError(
            f"Deconvolution: target_shape must be at most {whole} here, got {target}; "
            "ask for less or use a larger kernel or stride"
        )
    before, after = -(-(whole - target) // 2), (whole - target) // 2
    if before - after >= stride:
        raise ShapeError(
            f"Deconvolution: target_shape must be {whole} less an even number where the stride is "
            f"1, got {target}; ask for {target - 1} or {target + 1}"
        )
    return before, target


def _is_channel_last(layout: str | None, spatial: int) -> bool:
    first, last = _LAYOUTS[spatial]
    if layout not in (None, first, last):
        raise ParameterError(
            f"layout must be {first} or {last} for {spatial} spatial axes, got {layout!r}"
        )
    return layout == last


def _per_axis(value: Sequence[int] | None, spatial: int, default: int) -> tuple[int, ...]:
    return tuple(value)[:spatial] if value else (default,) * spatial


# Convolution ------------------------------------------------------------------------------------


def convolution(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    dilate: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    num_group: int = 1,
    layout: str | None = None,
    platform: Platform = "cpu",
) -> Array:
    """Convolution over 1, 2 or 3 spatial axes; shapes and arguments are those of the operator.

    Args:
        platform: Where the program will run; it decides the method, not the result.

    Raises:
        ParameterError: If the layout does not fit the number of spatial axes.
    """
    n = len(kernel)
    stride, dilate = _per_axis(stride, n, 1), _per_axis(dilate, n, 1)
    pad = _per_axis(pad, n, 0)
    channel_last = _is_channel_last(layout, n)
    windows = _Windows(tuple(kernel), stride, dilate, pad)
    spatial = data.shape[1:-1] if channel_last else data.shape[2:]
    channel = data.shape[-1 if channel_last else 1]
    patches = channel * math.prod(kernel) * math.prod(windows.sizes(spatial)) * data.shape[0]
    size = patches * data.dtype.itemsize
    # Of an exported program the batch may be of any size, and then no number.
    is_large = not isinstance(size, int) or size > _PATCH_LIMIT
    if platform != "cpu":
        y = _by_xla(data, weight, windows, num_group, channel_last)
    elif num_group == 1 and math.prod(kernel) > 1 and is_large:
        # Channels last is the order that XLA's CPU kernel wants.
        x, w = (data, weight) if channel_last else map(_channel_last, (data, weight))
        y = _by_xla(x, w, windows, num_group, channel_last=True)
        y = y if channel_last else jnp.moveaxis(y, -1, 1)
    else:
        if num_group == channel > 1:
            method = _by_slices
        elif math.prod(kernel) == 1 or not is_large:
            method = _by_patches
        else:
            # XLA's grouped convolution on CPUs is a scalar loop, an order slower than products.
            method = _by_products
        x = lax.optimization_barrier(batch_last(data, channel_last))
        w = jnp.moveaxis(weight, -1, 1) if channel_last else weight
        y = method(x, w, windows, num_group)
        if bias is not None:
            y = y + bias.reshape(-1, *(1,) * (n + 1))
        # Without this one, the axis order of the next layer's gradient reaches the products here.
        return from_batch_last(lax.optimization_barrier(y), channel_last)
    return y if bias is None else y + _along_channel(bias, n, channel_last)


@dataclass(frozen=True)
class _Windows:
    """The windows of a convolution; one entry per spatial axis in each field."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    pad: tuple[int, ...]

    def sizes(self, spatial: Sequence[int]) -> tuple[int, ...]:
        """Spatial shape of the output for data of this spatial shape."""
        axes = zip(spatial, self.kernel, self.stride, self.dilate, self.pad, strict=True)
        return tuple(itertools.starmap(convolved_size, axes))

    def taps(self, x: Array) -> list[Array]:
        """One (channel, *output, batch) slice of the padded data per tap, in the weight's order."""
        sizes = self.sizes(x.shape[1:-1])
        if any(self.pad):
            x = jnp.pad(x, ((0, 0), *((p, p) for p in self.pad), (0, 0)))
        strides = (1, *self.stride, 1)
        slices = []
        for tap in itertools.product(*map(range, self.kernel)):
            start = [t * d for t, d in zip(tap, self.dilate, strict=True)]
            stop = [a + s * (m - 1) + 1 for a, s, m in zip(start, self.stride, sizes, strict=True)]
            limits = (x.shape[0], *stop, x.shape[-1])
            slices.append(lax.slice(x, (0, *start, 0), limits, strides))
        return slices


def _by_patches(x: Array, w: Array, windows: _Windows, num_group: int) -> Array:
    """One product of the weight with the matrix of all windows (im2col)."""
    taps = windows.taps(x)
    shape = taps[0].shape[1:]
    patches = lax.optimization_barrier(jnp.stack(taps, axis=1))
    if num_group == 1:
        rows = w.reshape(w.shape[0], -1)
        y = rows @ patches.reshape(rows.shape[-1], math.prod(shape))
    else:
        rows = w.reshape(num_group, w.shape[0] // num_group, -1)
        y = rows @ patches.reshape(num_group, rows.shape[-1], math.prod(shape))
    result: Array = y.reshape(w.shape[0], *shape)
    return result


def _by_products(x: Array, w: Array, windows: _Windows, num_group: int) -> Array:
    """One product per tap and group, summed: never makes the patch matrix."""
    filters, channel = w.shape[:2]
    grouped = w.reshape(num_group, filters // num_group, channel, -1)
    taps = windows.taps(x)
    first, *rest = (
        grouped[..., i] @ tap.reshape(num_group, channel, -1) for i, tap in enumerate(taps)
    )
    return sum(rest, start=first).reshape(filters, *taps[0].shape[1:])


def _by_slices(x: Array, w: Array, windows: _Windows, num_group: int) -> Array:
    """Depthwise: every filter sees one channel, so each tap is an elementwise product."""
    scales = w.reshape(num_group, -1, math.prod(windows.kernel), *(1,) * (x.ndim - 1))
    first, *rest = (scales[:, :, i] * tap[:, None] for i, tap in enumerate(windows.taps(x)))
    y = sum(rest, start=first)
    return y.reshape(-1, *y.shape[2:])


def _along_channel(bias: Array, spatial: int, channel_last: bool) -> Array:
    return bias if channel_last else bias.reshape(-1, *(1,) * spatial)


def _channel_last(x: Array) -> Array:
    return jnp.moveaxis(x, 1, -1)


def _by_xla(
    data: Array, weight: Array, windows: _Windows, num_group: int, channel_last: bool
) -> Array:
    first, last = _LAYOUTS[len(windows.kernel)]
    axes = first[2:]
    return lax.conv_general_dilated(
        data,
        weight,
        windows.stride,
        [(p, p) for p in windows.pad],
        rhs_dilation=windows.dilate,
        dimension_numbers=(last, f"O{axes}I", last)
        if channel_last
        else (first, f"OI{axes}", first),
        feature_group_count=num_group,
    )


# Deconvolution ----------------------------------------------------------------------------------


def deconvolution(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    dilate: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    adj: Sequence[int] | None = None,
    target_shape: Sequence[int] | None = None,
    num_group: int = 1,
    layout: str | None = None,
    platform: Platform = "cpu",
) -> Array:
    """Transposed convolution; shapes and arguments are those of the operator Deconvolution.

    Args:
        platform: As in :func:`convolution`.

    Raises:
        ParameterError: If the layout does not fit the number of spatial axes.
        ShapeError: If ``target_shape`` is larger than the uncut result.
    """
    n = len(kernel)
    stride, dilate = _per_axis(stride, n, 1), _per_axis(dilate, n, 1)
    channel_last = _is_channel_last(layout, n)
    spatial = data.shape[1:-1] if channel_last else data.shape[2:]
    targets = tuple(target_shape) if target_shape and any(target_shape) else (None,) * n
    axes = zip(
        spatial, kernel, stride, dilate, _per_axis(pad, n, 0), _per_axis(adj, n, 0), targets,
        strict=True,
    )  # fmt: skip
    pads, sizes = zip(*itertools.starmap(deconvolution_padding, axes), strict=True)
    filters = weight.shape[-1 if channel_last else 1] * num_group
    shape = (*sizes, filters) if channel_last else (filters, *sizes)

    convolve = partial(
        convolution, kernel=kernel, stride=stride, dilate=dilate, pad=pads,
        num_group=num_group, layout=layout, platform=platform,
    )  # fmt: skip
    y = _transposed(convolve, (data.shape[0], *shape))(data, weight)
    return y if bias is None else y + _along_channel(bias, n, channel_last)


def _transposed(
    convolve: Callable[..., Array], shape: tuple[int, ...]
) -> Callable[[Array, Array], Array]:
    """Returns a convolution's transpose: what its gradient makes of data, of the input's shape.

    Its gradients are the convolution itself, and that convolution's gradient for the weight.
    """

    def forward(data: Array, weight: Array) -> Array:
        source = jax.ShapeDtypeStruct(shape, data.dtype)
        y: Array = jax.linear_transpose(partial(convolve, weight=weight), source)(data)[0]
        return y

    def backward(saved: tuple[Array, Array], grad: Array) -> tuple[Array, Array]:
        data, weight = saved
        data_grad, pull = jax.vjp(lambda weight: convolve(grad, weight=weight), weight)
        return data_grad, pull(data)[0]

    made: Any = jax.custom_vjp(forward)
    made.defvjp(lambda data, weight: (forward(data, weight), (data, weight)), backward)
    transposed: Callable[[Array, Array], Array] = made
    return transposed


# Pooling ----------------------------------------------------------------------------------------


def pooling(
    data: Array,
    *,
    kernel: Sequence[int] | None = None,
    pool_type: str = "max",
    global_pool: bool = False,
    stride: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    pooling_convention: str = "valid",
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    platform: Platform = "cpu",
    innermost: Innermost = "batch",
) -> Array:
    """Pooling over 1, 2 or 3 spatial axes, with MXNet 1.9's rules; arguments as for the operator.

    The gradient of max pooling goes to the first greatest element of a window, in row-major
    order. Not-a-number wins against every number (MXNet would skip it and hide it). A window that
    lies wholly in the padding gives the dtype's lowest value for ``max`` and 0 for the others.

    Args:
        pool_type: ``lp`` is the signed p-th root of the sum of p-th powers (not of absolute
            values; its gradient at 0 is 0).
        pooling_convention: How the output's size is rounded, see :func:`pooled_size`. With
            ``same``, ``pad`` is ignored, and the end gets the odd element of padding.
        count_include_pad: Whether ``avg`` divides by the elements of the padding too, None for
            yes; never by those beyond it, which ``full`` reaches.
        platform: As in :func:`convolution`.
        innermost: See :func:`hybridnet.ops.nn.conv._sliding.max_windows`.

    Raises:
        ParameterError: If the layout, ``pool_type`` or ``p_value`` is not one of those above.
    """
    n = data.ndim - 2
    channel_last = _is_channel_last(layout, n)
    spatial = data.shape[1:-1] if channel_last else data.shape[2:]
    if pool_type not in ("max", "avg", "sum", "lp"):
        raise ParameterError(f"Pooling: pool_type must be max, avg, sum or lp, got {pool_type!r}")
    if pool_type == "lp" and p_value not in (1, 2, 3):
        raise ParameterError(f"Pooling: p_value must be 1, 2 or 3 for lp pooling, got {p_value!r}")
    if global_pool:
        axes = [WindowAxis.whole(size) for size in spatial]
    else:
        strides, pads = _per_axis(stride, n, 1), _per_axis(pad, n, 0)
        each = zip(spatial, kernel or (), strides, pads, strict=True)
        axes = [WindowAxis.of(*sizes, pooling_convention) for sizes in each]
    if pool_type == "max":
        return max_windows(data, axes, channel_last, platform, innermost)
    if pool_type == "lp":
        p = cast("int", p_value)
        return _signed_root(sum_windows(data**p, axes, channel_last, platform, innermost), p)
    total = sum_windows(data, axes, channel_last, platform, innermost)
    if pool_type == "sum":
        return total
    counts = np.asarray(
        math.prod(np.ix_(*(axis.counts(count_include_pad is not False) for axis in axes)))
    )
    if (counts == counts.flat[0]).all():
        counts = counts.flat[0]
    elif channel_last:
        counts = counts[..., None]
    return total / jnp.asarray(counts, data.dtype)


def _signed_root(total: Array, p: int) -> Array:
    if p == 1:
        return total
    # The root's slope at 0 is infinite; the inner where keeps it out of the gradient.
    zero = total == 0
    safe = jnp.where(zero, 1, total)
    return jnp.where(zero, 0, jnp.sqrt(safe) if p == 2 else jnp.cbrt(safe))

"""Convolution of NumPy arrays: for each element of the kernel, a product of matrices.

A window's element (i, j), taken over all windows, is a strided part of the input; its product with
the kernel's element (i, j), a matrix from channels to filters, is one summand of the result. Few
channels make narrow matrices: then the parts are put side by side first (im2col), and there is one
product. What is large is computed by oneDNN instead, where that is installed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.native import convolutions
from hybridnet.native.convolutions import ConvolutionSpec

from .namespace import NoHostForm
from .padding import pad

# Channels from which on each element of the kernel has a product of its own.
_WIDE_CHANNELS: Final = 16
# Multiplications from which on a kernel of oneDNN is worth its call.
_MIN_PRODUCTS: Final = 500_000


@final
class Convolution:
    """A convolution with its settings fixed; arguments are those of `lax.conv_general_dilated`.

    Args:
        x: the input.
        w: the kernel.
        window_strides: of the windows, along each spatial axis.
        padding: zeros before and after, likewise.
        lhs_dilation: 1, or nothing.
        rhs_dilation: distance of the kernel's elements.
        dimension_numbers: what the axes of input, kernel and result are.
        feature_group_count: in how many groups channels and filters are.
    """

    def __init__(
        self,
        x: NumpyArray,
        w: NumpyArray,
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        lhs_dilation: Sequence[int] | None = None,
        rhs_dilation: Sequence[int] | None = None,
        dimension_numbers: tuple[str, str, str] | None = None,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        **_: Any,
    ) -> None:
        dilated = lhs_dilation is not None and any(d != 1 for d in lhs_dilation)
        if dilated or batch_group_count != 1 or dimension_numbers is None:
            raise NoHostForm("conv_general_dilated of this kind")
        given, kernel, result = dimension_numbers
        axes = "".join(axis for axis in given if axis not in "NC")
        self._dtype = x.dtype
        if x.dtype == np.float16:  # sums of products, as in `half`
            x, w = x.astype(np.float32), w.astype(np.float32)
        self._order = [given.index(axis) for axis in f"N{axes}C"]
        self._kernel_order = [kernel.index(axis) for axis in f"{axes}IO"]
        self._result_order = [f"N{axes}C".index(axis) for axis in result]
        self._strides = window_strides
        self._dilation = rhs_dilation or [1] * len(axes)
        self._pads = [(0, 0), *padding, (0, 0)]
        self._groups = feature_group_count
        self._data = x.transpose(self._order)  # (N, *spatial, C)
        self._weights = w.transpose(self._kernel_order)  # (*kernel, I, O)
        self._kernel = self._weights.shape[:-2]
        padded = [n + sum(pads) for n, pads in zip(self._data.shape, self._pads, strict=True)]
        sizes = zip(padded[1:-1], self._kernel, self._strides, self._dilation, strict=True)
        self._out = [(size - (k - 1) * d - 1) // s + 1 for size, k, s, d in sizes]
        if min(self._out, default=1) < 1:
            raise NoHostForm("conv_general_dilated without windows")
        if min(map(min, self._pads)) < 0:
            raise NoHostForm("conv_general_dilated of a part of the data")
        self._spec = self._find_spec()

    @cached_property
    def _x(self) -> NumpyArray:
        data = np.ascontiguousarray(self._data)
        if not any(map(any, self._pads)):
            return data
        return pad(data, 0, [(before, after, 0) for before, after in self._pads])

    @cached_property
    def _w(self) -> NumpyArray:
        return np.ascontiguousarray(self._weights)

    def _find_spec(self) -> ConvolutionSpec | None:
        """Describes it for oneDNN; None where that would not have it, or not be faster."""
        before, after = zip(*self._pads[1:-1], strict=True) if self._kernel else ((), ())
        work = self._data.shape[0] * math.prod(self._out) * self._weights.size
        if self._data.dtype != np.float32 or self._weights.dtype != np.float32:
            return None
        if work < _MIN_PRODUCTS or not self._kernel:
            return None
        shape = (self._data.shape[0], *self._out, self._weights.shape[-1])
        steps = tuple(self._strides), tuple(self._dilation)
        return ConvolutionSpec(
            self._data.shape, shape, self._kernel, *steps, before, after, self._groups
        )

    @property
    def _filters_first(self) -> NumpyArray:
        """The weights as (O, I, *kernel)."""
        axes = len(self._kernel)
        return self._weights.transpose(axes + 1, axes, *range(axes))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        sizes = (self._data.shape[0], *self._out, self._weights.shape[-1])
        return tuple([sizes[axis] for axis in self._result_order])

    def __call__(self) -> NumpyArray:
        """Returns the result."""
        made = None
        if self._spec is not None:
            made = convolutions.forward(self._spec, self._data, self._filters_first)
        if made is None:
            made = self._products()
        result: NumpyArray = made.transpose(self._result_order)
        return result.astype(self._dtype, copy=False)

    def _products(self) -> NumpyArray:
        """The result by NumPy's products, (N, *spatial, O)."""
        filters = self._w.shape[-1]
        rows = self._x.shape[0] * math.prod(self._out)
        if self._groups == 1 and self._x.shape[-1] < _WIDE_CHANNELS:
            made = np.concatenate([part for _, part in self._parts()], -1) @ self._w.reshape(
                -1, filters
            )
        else:
            made = np.zeros((rows, filters), self._x.dtype)
            for tap, part in self._parts():
                made += self._product(part, self._w[tap])
        return made.reshape(self._x.shape[0], *self._out, filters)

    def pull_x(self, grad: NumpyArray) -> NumpyArray:
        """Returns the gradient of the input from that of the result."""
        last = self._channels_last(grad)
        made = None
        if self._spec is not None:
            made = convolutions.data_gradient(self._spec, self._filters_first, last)
        if made is None:
            made = self._pulled_x(last.reshape(-1, last.shape[-1]))
        return made.transpose(np.argsort(self._order)).astype(self._dtype, copy=False)

    def _pulled_x(self, rows: NumpyArray) -> NumpyArray:
        """The gradient of the input by NumPy's products, (N, *spatial, C)."""
        made = np.zeros_like(self._x)
        for tap, place in self._places():
            back = self._product(rows, self._transposed(self._w[tap]))
            made[place] += back.reshape(made[place].shape)
        inner = [
            slice(before, made.shape[i] - after) for i, (before, after) in enumerate(self._pads)
        ]
        return made[tuple(inner)]

    def pull_w(self, grad: NumpyArray) -> NumpyArray:
        """Returns the gradient of the kernel from that of the result."""
        last = self._channels_last(grad)
        made = None
        if self._spec is not None:
            made = convolutions.weight_gradient(self._spec, self._data, last)
        if made is None:
            made = self._pulled_w(last.reshape(-1, last.shape[-1]))
        else:
            made = made.transpose(*range(2, made.ndim), 1, 0)
        # (In the order of the weights, which the optimizer adds it to.)
        whole = made.transpose(np.argsort(self._kernel_order))
        return np.ascontiguousarray(whole.astype(self._dtype, copy=False))

    def _pulled_w(self, rows: NumpyArray) -> NumpyArray:
        """The gradient of the kernel by NumPy's products, (*kernel, I, O)."""
        made = np.empty_like(self._w)
        for tap, part in self._parts():
            if self._groups == 1:
                made[tap] = part.T @ rows
            else:
                products = self._in_groups(part).mT @ self._in_groups(rows)  # (groups, I, O/groups)
                made[tap] = np.moveaxis(products, 0, 1).reshape(made[tap].shape)
        return made

    def _channels_last(self, grad: NumpyArray) -> NumpyArray:
        """The gradient of the result as (N, *spatial, O)."""
        turned = grad.transpose(np.argsort(self._result_order))
        return turned.astype(self._weights.dtype, copy=False)

    def _places(self) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        """Yields each element of the kernel, and where the input meets it."""
        for tap in np.ndindex(*self._kernel):
            along = zip(tap, self._out, self._strides, self._dilation, strict=True)
            inner = [slice(k * d, k * d + (n - 1) * s + 1, s) for k, n, s, d in along]
            yield tap, (slice(None), *inner, slice(None))

    def _parts(self) -> Iterator[tuple[tuple[int, ...], NumpyArray]]:
        """Yields each element of the kernel, and what it meets: (windows, channels)."""
        for tap, place in self._places():
            yield tap, self._x[place].reshape(-1, self._x.shape[-1])

    def _in_groups(self, rows: NumpyArray) -> NumpyArray:
        """(rows, columns) as (groups, rows, columns of one)."""
        return np.moveaxis(rows.reshape(len(rows), self._groups, -1), 1, 0)

    def _product(self, rows: NumpyArray, w: NumpyArray) -> NumpyArray:
        """Returns rows times a kernel's element, group by group."""
        if self._groups == 1:
            return rows @ w
        made = self._in_groups(rows) @ self._in_groups(w)
        return np.moveaxis(made, 0, 1).reshape(len(rows), -1)

    def _transposed(self, w: NumpyArray) -> NumpyArray:
        """A kernel's element (I, O) the other way: (O of a group, I of all groups)."""
        if self._groups == 1:
            return w.T
        return np.moveaxis(self._in_groups(w).mT, 0, 1).reshape(-1, self._groups * len(w))

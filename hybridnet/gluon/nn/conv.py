"""Convolution layers and their transposes, over one, two and three axes."""

from __future__ import annotations

from typing import Any, Unpack

from hybridnet.base.defaults import with_defaults
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike

from ..parameter import Parameter
from ..types import BlockNames, Data, Operators
from .activations import activation_of
from .axes import Sizes, SpatialBlock, check_layout, deferred, shown_options, sizes_of

__all__ = [
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
]


class _Conv(SpatialBlock):
    """Base of the convolution layers; arguments as `Conv2D`."""

    _transposed = False

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: InitLike | None = None,
        bias_initializer: InitLike | None = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        name = type(self).__name__
        ndim = self._ndim
        self._channels = channels
        self._in_channels = in_channels
        check_layout(layout, ndim, name)
        if groups < 1 or channels % groups or in_channels % groups:
            raise ParameterError(
                f"{name}: groups must divide channels and in_channels, got {groups} for channels="
                f"{channels} and in_channels={in_channels}"
            )
        kernel = sizes_of(kernel_size, ndim, f"{name}: kernel_size")
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": sizes_of(strides, ndim, f"{name}: strides"),
            "dilate": sizes_of(dilation, ndim, f"{name}: dilation"),
            "pad": sizes_of(padding, ndim, f"{name}: padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        shape = self._weight_shape(kernel, groups, layout)
        self.weight = deferred(self, "weight", shape, weight_initializer)
        self.bias: Parameter | Any = (
            deferred(self, "bias", (channels,), bias_initializer) if use_bias else None
        )
        self.act = activation_of(self, activation)

    def _alias(self) -> str:
        return "conv"

    def _weight_shape(self, kernel: tuple[int, ...], groups: int, layout: str) -> tuple[int, ...]:
        if self._transposed:
            outer, inner = self._in_channels, self._channels // groups
        else:
            outer, inner = self._channels, self._in_channels // groups
        if layout.index("C") == 1:
            return (outer, inner, *kernel)
        return (outer, *kernel, inner)

    def hybrid_forward(
        self, F: Operators[Data], x: Data, weight: Data, bias: Data | None = None
    ) -> Data:
        """Computes the layer."""
        op = F.Deconvolution if self._transposed else F.Convolution
        out = op(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        shown = shown_options(self._kwargs, self.act)
        return f"{type(self).__name__}({self._num_inputs()} -> {self._channels}, {shown})"

    def _num_inputs(self) -> int | None:
        """Returns the number of input channels, None where it is not known yet."""
        shape: tuple[int, ...] = self.weight.shape or ()
        if self._transposed:
            return shape[0] or None
        inner = shape[self._kwargs["layout"].index("C")]
        return inner * self._kwargs["num_group"] or None


class _ConvTranspose(_Conv):
    """Base of the transposed convolution layers; arguments as `Conv2DTranspose`."""

    _transposed = True

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: InitLike | None = None,
        bias_initializer: InitLike | None = "zeros",
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            in_channels,
            **kwargs,
        )
        what = f"{type(self).__name__}: output_padding"
        self._kwargs["adj"] = sizes_of(output_padding, self._ndim, what)


class Conv1D(_Conv, ndim=1):
    """Convolution over one axis, of (batch, in_channels, width); arguments as `Conv2D`."""


@with_defaults(strides=(1, 1), padding=(0, 0), dilation=(1, 1), layout="NCHW")
class Conv2D(_Conv, ndim=2):
    """Convolution over two axes.

    Args:
        channels: output channels.
        kernel_size, strides, padding, dilation: a number, or one for each spatial axis.
        groups: input and output channels are split into this many independent groups.
        layout: the order of the axes, 'NCHW' or 'NHWC': batch N, channels C, height H, width W.
        activation: the name of an activation that follows, or None.
        use_bias: whether a bias is added.
        weight_initializer, bias_initializer: first values.
        in_channels: input channels; 0 to find out from the first input.

    Input (batch, in_channels, height, width), output (batch, channels, height', width').
    """


@with_defaults(strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), layout="NCDHW")
class Conv3D(_Conv, ndim=3):
    """Convolution over three axes, of (batch, in_channels, depth, height, width); as `Conv2D`."""


class Conv1DTranspose(_ConvTranspose, ndim=1):
    """Transposed convolution over one axis; arguments as `Conv2DTranspose`."""


@with_defaults(
    strides=(1, 1), padding=(0, 0), output_padding=(0, 0), dilation=(1, 1), layout="NCHW"
)
class Conv2DTranspose(_ConvTranspose, ndim=2):
    """Transposed convolution over two axes: the gradient of `Conv2D` with respect to its input.

    Args:
        channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias,
            weight_initializer, bias_initializer, in_channels: as for `Conv2D`.
        output_padding: size added at the end of each axis, less than its stride.

    Input (batch, in_channels, height, width), output (batch, channels, height', width'), where
    height' = (height - 1) · stride - 2 · padding + dilation · (kernel - 1) + output_padding + 1.
    """


@with_defaults(
    strides=(1, 1, 1),
    padding=(0, 0, 0),
    output_padding=(0, 0, 0),
    dilation=(1, 1, 1),
    layout="NCDHW",
)
class Conv3DTranspose(_ConvTranspose, ndim=3):
    """Transposed convolution over three axes; arguments as `Conv2DTranspose`."""

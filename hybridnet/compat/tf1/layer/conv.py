"""Convolutions as layers, over one, two and three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph import Tensor, TensorShape
from ..operations import expand_dims, size_of, squeeze, stack
from ..operations.nn.conv import conv2d_transpose, convolution, separable_conv2d
from .base import ZEROS, Layer, known_sizes, weight_settings
from .core import finished
from .windows import format_of, numbers, with_channel

__all__ = ["Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D", "SeparableConv1D", "SeparableConv2D"]


class _Conv(Layer):
    """Slides filters over spatial axes.

    Args:
        filters: how many.
        kernel_size: their size: one number, or one for each spatial axis.
        strides: how far they move, likewise.
        padding: 'valid' or 'same'.
        data_format: 'channels_last' or 'channels_first'.
        dilation_rate: the distance of a filter's elements, as `strides`.
        activation: a function of the result; None: none.
        use_bias: whether a number is added for each filter.
        kernel_initializer: sets `kernel`, (size, ..., channel, filter).
        bias_initializer: sets `bias`, (filter,).
        kernel_regularizer: what is computed of `kernel`, and collected as a loss.
        bias_regularizer: likewise of `bias`.
        activity_regularizer: likewise of the result.
        kernel_constraint: kept with `kernel`.
        bias_constraint: kept with `bias`.
        trainable: whether optimizers change them.
        name: of the layer.
        kwargs: those of `Layer`.
    """

    spatial = 2

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.filters = int(filters)
        self.kernel_size = numbers("kernel_size", kernel_size, self.spatial)
        self.strides = numbers("strides", strides, self.spatial)
        self.dilation_rate = numbers("dilation_rate", dilation_rate, self.spatial)
        self.padding = padding
        self.data_format = data_format
        self.activation = activation
        self.use_bias = use_bias
        self._layout = format_of(data_format, self.spatial)
        self._kernel = weight_settings(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = weight_settings(bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None

    def _channels(self, shape: TensorShape) -> int:
        return known_sizes(type(self).__name__, shape, self._layout.index("C"))[0]

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, channels, self.filters]

    def build(self, input_shape: TensorShape) -> None:
        """Makes `kernel` and `bias`."""
        shape = self._kernel_shape(self._channels(input_shape))
        self.kernel = self.add_weight("kernel", shape, **self._kernel)
        self._add_bias()

    def _add_bias(self) -> None:
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.filters], **self._bias)

    def call(self, inputs: Tensor, *args: Any, **keywords: Any) -> Tensor:
        """Returns the result."""
        how = (self.padding.upper(), self.strides, self.dilation_rate)
        return self._finished(convolution(inputs, self.kernel, *how, data_format=self._layout))

    def _finished(self, made: Tensor) -> Tensor:
        layout = "NHWC" if self._layout.endswith("C") else "NCHW"
        return finished(made, self.bias, self.activation, layout)


class Conv1D(_Conv):
    """Slides filters over sequences: (batch, length, channel)."""

    spatial = 1


class Conv2D(_Conv):
    """Slides filters over images: (batch, height, width, channel)."""


class Conv3D(_Conv):
    """Slides filters over volumes: (batch, depth, height, width, channel)."""

    spatial = 3


class Conv2DTranspose(_Conv):
    """The gradient of `Conv2D` with respect to its input, as a layer.

    Args:
        filters: as for `Conv2D`, and so all else; `kernel` is (height, width, filter, channel).
        kwargs: those of `Layer`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, 1, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            activity_regularizer, kernel_constraint, bias_constraint, trainable, name, **kwargs,
        )  # fmt: skip

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, self.filters, channels]

    def call(self, inputs: Tensor, *args: Any, **keywords: Any) -> Tensor:
        """Returns the result."""
        made = spread_over(
            inputs, self.kernel, self.kernel_size, self.strides, self.padding, self._layout
        )
        return self._finished(made)


def spread_over(
    inputs: Tensor, kernel: Any, size: Sequence[int], strides: Sequence[int], padding: str,
    layout: str,
) -> Tensor:  # fmt: skip
    """Spreads each pixel over a filter, to the size that images had before a convolution.

    Args:
        inputs: images in the layout.
        kernel: (height, width, filter, channel).
        size: its height and width.
        strides: the distance of two pixels in the result, down and to the right.
        padding: 'same' or 'valid', in any letters.
        layout: 'NHWC' or 'NCHW'.
    """
    sizes = [size_of(inputs, 0)]
    for letter, length, stride in zip("HW", size, strides, strict=True):
        extra = max(length - stride, 0) if padding.lower() == "valid" else 0
        sizes.append(size_of(inputs, layout.index(letter)) * stride + extra)
    sizes.insert(layout.index("C"), kernel.shape.as_list()[2])
    static = [one if isinstance(one, int) else None for one in sizes]
    whole = stack(sizes) if None in static else sizes
    steps = with_channel(strides, layout)
    made = conv2d_transpose(inputs, kernel, whole, steps, padding.upper(), layout)
    made.set_shape(static)
    return made


class _Separable(_Conv):
    """Filters of each channel alone, and then filters of one element over all that come out.

    Args:
        filters: as for `Conv2D`, and so all that is not named here.
        depth_multiplier: how many filters each channel has.
        depthwise_initializer: sets `depthwise_kernel`, (size, ..., channel, depth_multiplier).
        pointwise_initializer: sets `pointwise_kernel`, (1, ..., channel * multiplier, filter).
        depthwise_regularizer: what is computed of `depthwise_kernel`, and collected as a loss.
        pointwise_regularizer: likewise of `pointwise_kernel`.
        depthwise_constraint: kept with `depthwise_kernel`.
        pointwise_constraint: kept with `pointwise_kernel`.
        kwargs: those of `Layer`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, None, bias_initializer, None, bias_regularizer, activity_regularizer, None,
            bias_constraint, trainable, name, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = int(depth_multiplier)
        each = (depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        whole = (pointwise_initializer, pointwise_regularizer, pointwise_constraint)
        self._depthwise, self._pointwise = weight_settings(*each), weight_settings(*whole)

    def build(self, input_shape: TensorShape) -> None:
        """Makes `depthwise_kernel`, `pointwise_kernel` and `bias`."""
        channels = self._channels(input_shape)
        each = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self.add_weight("depthwise_kernel", each, **self._depthwise)
        whole = [*[1] * self.spatial, channels * self.depth_multiplier, self.filters]
        self.pointwise_kernel = self.add_weight("pointwise_kernel", whole, **self._pointwise)
        self._add_bias()

    def call(self, inputs: Tensor, *args: Any, **keywords: Any) -> Tensor:
        """Returns the result."""
        axis = self._layout.index("W") if self.spatial == 1 else None
        x, each, whole = inputs, self.depthwise_kernel, self.pointwise_kernel
        strides, rates = self.strides, self.dilation_rate
        if axis is not None:  # a sequence is an image that is one high
            x, each, whole = expand_dims(x, axis), expand_dims(each, 0), expand_dims(whole, 0)
            strides, rates = strides * 2, (1, *rates)
        layout = format_of(self.data_format, 2)
        how = (with_channel(strides, layout), self.padding.upper(), rates)
        made = separable_conv2d(x, each, whole, *how, data_format=layout)
        return self._finished(made if axis is None else squeeze(made, [axis]))


class SeparableConv1D(_Separable):
    """`SeparableConv2D` for sequences."""

    spatial = 1


class SeparableConv2D(_Separable):
    """Filters of each channel alone, and then filters of one element over all that come out."""

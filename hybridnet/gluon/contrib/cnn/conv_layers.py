"""Convolutions whose taps move (Dai et al. 2017), and are weighted (Zhu et al. 2018)."""

from __future__ import annotations

from typing import Any

from hybridnet.base.defaults import with_defaults
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike

from ...block import HybridBlock
from ...nn import Activation
from ...nn.axes import Sizes, deferred, shown_options, sizes_of
from ...parameter import Parameter, ParameterDict
from ...types import Data, Operators

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class DeformableConvolution(HybridBlock):
    """A convolution whose taps are moved, at each place by offsets that another one finds.

    Args:
        channels: output channels.
        kernel_size, strides, padding, dilation: a number, or one for each of height and width.
        groups: input and output channels are split into this many independent groups.
        num_deformable_group: how many groups of input channels have offsets of their own.
        layout: 'NCHW': batch N, channels C, height H, width W.
        use_bias: whether a bias is added.
        in_channels: input channels; 0 to find out from the first input.
        activation: the name of an activation that follows, or None.
        weight_initializer, bias_initializer: first values.
        offset_weight_initializer, offset_bias_initializer: those of the other convolution, by which
            at first no tap moves.
        offset_use_bias: whether that one has a bias.
        op_name: the operator's name; without meaning.
        adj: must be None, or 0: it is for transposed convolutions.
        prefix, params: see `gluon.Block`.

    Input (batch, in_channels, height, width), output (batch, channels, height', width').
    """

    #: How many numbers for each tap the other convolution finds.
    _numbers = 2
    #: The order of the two convolutions' parameters, as MXNet has it.
    _order: tuple[str, str] = ("offset", "deformable_conv")

    offset_weight: Parameter
    deformable_conv_weight: Parameter

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes = (1, 1),
        strides: Sizes = (1, 1),
        padding: Sizes = (0, 0),
        dilation: Sizes = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: InitLike | None = None,
        bias_initializer: InitLike | None = "zeros",
        offset_weight_initializer: InitLike | None = "zeros",
        offset_bias_initializer: InitLike | None = "zeros",
        offset_use_bias: bool = True,
        op_name: str = "DeformableConvolution",
        adj: object = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name = type(self).__name__
        if layout != "NCHW":
            raise ParameterError(f"{name}: layout must be 'NCHW', got {layout!r}")
        if adj:
            raise ParameterError(f"{name}: adj is for transposed convolutions, got {adj!r}")
        kernel = sizes_of(kernel_size, 2, f"{name}: kernel_size")
        taps = kernel[0] * kernel[1] * num_deformable_group
        self._num_offsets = 2 * taps
        self._in_channels = in_channels
        shared = {
            "kernel": kernel,
            "stride": sizes_of(strides, 2, f"{name}: strides"),
            "dilate": sizes_of(dilation, 2, f"{name}: dilation"),
            "pad": sizes_of(padding, 2, f"{name}: padding"),
            "num_group": groups,
            "layout": layout,
        }
        self._offset = {
            **shared,
            "num_filter": self._numbers * taps,
            "no_bias": not offset_use_bias,
        }
        self._options: dict[str, Any] = {
            **shared,
            "num_filter": channels,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias,
        }
        inner = in_channels // groups
        offset_inits = (offset_weight_initializer, offset_bias_initializer)
        parts = {
            "offset": (self._numbers * taps, offset_use_bias, offset_inits),
            "deformable_conv": (channels, use_bias, (weight_initializer, bias_initializer)),
        }
        with self.name_scope():
            for part in self._order:
                rows, bias, inits = parts[part]
                weight = deferred(self, f"{part}_weight", (rows, inner, *kernel), inits[0])
                setattr(self, f"{part}_weight", weight)
                made = deferred(self, f"{part}_bias", (rows,), inits[1]) if bias else None
                setattr(self, f"{part}_bias", made)
            self.act = Activation(activation, prefix=f"{activation}_") if activation else None

    def _alias(self) -> str:
        return "deformable_conv"

    def hybrid_forward(
        self,
        F: Operators[Data],
        x: Data,
        offset_weight: Data,
        deformable_conv_weight: Data,
        offset_bias: Data | None = None,
        deformable_conv_bias: Data | None = None,
    ) -> Data:
        """Computes the layer."""
        found = F.Convolution(x, offset_weight, offset_bias, **self._offset)
        out = self._convolved(F, x, found, deformable_conv_weight, deformable_conv_bias)
        return out if self.act is None else self.act(out)

    def _convolved(
        self, F: Operators[Data], x: Data, found: Data, weight: Data, bias: Data | None
    ) -> Data:
        op = F.contrib.DeformableConvolution
        return op(x, found, weight, bias, name="fwd", **self._options)

    def __repr__(self) -> str:
        shown = shown_options(self._options, self.act)
        rows, inner, *_ = self.deformable_conv_weight.shape or (0, 0)
        return f"{type(self).__name__}({inner or None} -> {rows}, {shown})"


@with_defaults(op_name="ModulatedDeformableConvolution")
class ModulatedDeformableConvolution(DeformableConvolution):
    """A deformable convolution with a weight for each tap, too; as `DeformableConvolution`."""

    _numbers = 3
    _order = ("deformable_conv", "offset")

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    def _convolved(
        self, F: Operators[Data], x: Data, found: Data, weight: Data, bias: Data | None
    ) -> Data:
        offsets = F.slice_axis(found, axis=1, begin=0, end=self._num_offsets)
        mask = F.sigmoid(F.slice_axis(found, axis=1, begin=self._num_offsets, end=None)) * 2
        op = F.contrib.ModulatedDeformableConvolution
        return op(x, offsets, mask, weight, bias, name="fwd", **self._options)

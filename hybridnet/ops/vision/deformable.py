"""Convolution whose taps are moved, each at each place, by predicted offsets.

Dai et al., "Deformable convolutional networks", 2017; Zhu et al., "Deformable ConvNets v2", 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from hybridnet.base.attrs import Range, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import fill, require_one_dtype, require_shape, wide
from ..core.operator import Shapes, describe
from ..core.registry import operator
from ..core.rules import UNKNOWN
from .resize import require_images

Layout = Literal["NCDHW", "NCHW", "NCW"]
Positive = Annotated[int, Range(1)]


def _settings(
    op: str, kernel: tuple[int, ...], stride: Any, dilate: Any, pad: Any
) -> list[tuple[int, int]]:
    """Returns kernel, stride, dilate and pad for (y, x), with defaults filled in."""
    found = []
    given = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad}
    for name, value in given.items():
        least = 0 if name == "pad" else 1
        pair = tuple(value) or (least, least)
        if len(pair) != 2 or min(pair) < least or (name == "kernel" and not value):
            raise ParameterError(
                f"{op}: {name} must be two numbers of {least} or more, got {value}"
            )
        found.append(pair)
    return found


def _output_size(op: str, size: Sequence[int], settings: list[tuple[int, int]]) -> tuple[int, int]:
    spans = [
        extent + 2 * pad - dilate * (kernel - 1) - 1
        for extent, kernel, _, dilate, pad in zip(size, *settings, strict=True)
    ]
    if min(spans) < 0:
        raise ShapeError(
            f"{op}: kernel {settings[0]} with dilate {settings[2]} must fit into the padded data, "
            f"got height and width {tuple(size)} with pad {settings[3]}"
        )
    stride = settings[1]
    return spans[0] // stride[0] + 1, spans[1] // stride[1] + 1


class _Rules:
    """Input and shape rules of the two operators, which differ in the mask alone.

    Args:
        name: of the operator, for messages.
        masked: whether there is an input `mask`.
    """

    def __init__(self, name: str, masked: bool) -> None:
        self.name = name
        self.masked = masked

    def takes(self, *, no_bias: bool, **_: Any) -> tuple[str, ...]:
        mask = ("mask",) if self.masked else ()
        return ("data", "offset", *mask, "weight", *(() if no_bias else ("bias",)))

    def shapes(self, data: Sequence[int], **params: Any) -> list[tuple[int, ...]]:
        """Returns what the shapes of the other inputs must be, and that of the result."""
        settings = _settings(
            self.name, params["kernel"], params["stride"], params["dilate"], params["pad"]
        )
        size = _output_size(self.name, data[2:], settings)
        taps = params["num_deformable_group"] * math.prod(settings[0])
        filters, groups = params["num_filter"], params["num_group"]
        return [
            (data[0], 2 * taps, *size),
            *([(data[0], taps, *size)] if self.masked else []),
            (filters, data[1] // groups, *settings[0]),
            *([] if params["no_bias"] else [(filters,)]),
            (data[0], filters, *size),
        ]

    def check(self, *types: TensorType, **params: Any) -> None:
        names = self.takes(**params)
        if len(types) != len(names):
            raise ParameterError(
                f"{self.name}: these parameters require the inputs {', '.join(names)}, got "
                f"{describe(names, types)}"
            )
        data = types[0]
        require_images(self.name, "data", data)
        require_one_dtype(self.name, names, types)
        if params["layout"] not in (None, "NCHW"):
            raise ParameterError(f"{self.name}: layout must be NCHW, got {params['layout']}")
        for group in ("num_group", "num_deformable_group"):
            if data.shape[1] % params[group] or params["num_filter"] % params["num_group"]:
                raise ParameterError(
                    f"{self.name}: {group} must divide the channels of data, and num_group "
                    f"num_filter={params['num_filter']} too, got {params[group]} for {data}"
                )
        *wanted, _ = self.shapes(data.shape, **params)
        for name, type_, shape in zip(names[1:], types[1:], wanted, strict=True):
            require_shape(self.name, name, type_, shape, f"data {data} and these parameters")

    def infer(self, data: TensorType, *_: TensorType, **params: Any) -> tuple[TensorType, ...]:
        return (tensor_type(self.shapes(data.shape, **params)[-1], data.dtype),)

    def complete(self, shapes: Shapes, **params: Any) -> Shapes:
        data = shapes[0]
        if data is None or len(data) != 4 or UNKNOWN in data:
            return shapes
        *wanted, _ = self.shapes(data, **params)
        return [
            data,
            *(fill(given, shape) for given, shape in zip(shapes[1:], wanted, strict=True)),
        ]


_PLAIN = _Rules("DeformableConvolution", masked=False)
_MODULATED = _Rules("ModulatedDeformableConvolution", masked=True)


def _taps(data: Any, offset: Any, settings: list[tuple[int, int]], groups: int, fades: bool) -> Any:
    """Samples the image at the moved taps; outside of the image all is zero.

    Args:
        data: (batch, channels, height, width).
        offset: as users give it.
        settings: see `_settings`.
        groups: of channels with their own offsets.
        fades: whether the image fades out within a pixel around it; otherwise it reaches from the
            first pixel's center up to a pixel past the last one's, as that is.

    Returns:
        (batch, groups, taps, height, width, channels of a group).
    """
    (rows, columns), stride, dilate, pad = settings
    batch, channels, height, width = data.shape
    size = offset.shape[2:]
    moved = offset.reshape(batch, groups, rows, columns, 2, *size)
    # Where each tap is unmoved: (rows, 1, height, 1) and (1, columns, 1, width).
    at_row = jnp.arange(rows)[:, None, None, None] * dilate[0] - pad[0]
    at_row = at_row + jnp.arange(size[0])[:, None] * stride[0]
    at_column = jnp.arange(columns)[None, :, None, None] * dilate[1] - pad[1]
    at_column = at_column + jnp.arange(size[1]) * stride[1]
    y = at_row + moved[:, :, :, :, 0]
    x = at_column + moved[:, :, :, :, 1]
    if not fades:
        reached = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        y, x = jnp.minimum(y, height - 1), jnp.minimum(x, width - 1)
    # The four pixels around each: two more axes in front.
    row = jnp.floor(y) + jnp.arange(2).reshape(2, *(1,) * (y.ndim + 1))
    column = jnp.floor(x) + jnp.arange(2).reshape(2, *(1,) * y.ndim)
    near_row, near_column = row, column
    if fades:
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    else:  # past the last pixel's center the value stays, so that its slope there is 0
        inside = jnp.broadcast_to(reached, (2, 2, *reached.shape))
        near_row = jnp.minimum(row, height - 1)
        near_column = jnp.minimum(column, width - 1)
    weight = jnp.where(inside, (1 - jnp.abs(x - column)) * (1 - jnp.abs(y - row)), 0)
    # Channels last, so that a pixel of a group is one run of memory.
    parted = data.reshape(batch, groups, channels // groups, height, width)
    pixels = jnp.moveaxis(parted, 2, 4).reshape(-1, channels // groups)
    image = jnp.arange(batch * groups).reshape(batch, groups, *(1,) * 4)
    place = (image * height + near_row) * width + near_column
    pixel = jnp.where(inside, place, 0).astype("int32")
    sampled = jnp.einsum("ab...c,ab...->...c", pixels[pixel], weight)
    return sampled.reshape(batch, groups, rows * columns, *size, channels // groups)


def _convolve(
    data: Any,
    offset: Any,
    mask: Any,
    weight: Any,
    bias: Any,
    settings: list[tuple[int, int]],
    num_group: int,
    groups: int,
) -> Any:
    dtype = wide(data.dtype)
    taps = _taps(data.astype(dtype), offset.astype(dtype), settings, groups, mask is not None)
    if mask is not None:
        taps = taps * mask.reshape(taps.shape[:-1]).astype(dtype)[..., None]
    batch, _, count, height, width, _ = taps.shape
    # (batch, taps, height, width, channels), the channels then by the groups of the filters.
    merged = jnp.moveaxis(taps, 1, 4).reshape(batch, count, height, width, num_group, -1)
    filters = weight.reshape(num_group, -1, weight.shape[1], count).astype(dtype)
    output = jnp.einsum("bthwgc,gfct->bgfhw", merged, filters, precision=lax.Precision.HIGHEST)
    output = output.reshape(batch, -1, height, width)
    if bias is not None:
        output = output + bias.astype(dtype)[:, None, None]
    return output.astype(data.dtype)


@operator(
    "_contrib_DeformableConvolution",
    takes=_PLAIN.takes,
    check=_PLAIN.check,
    infer=_PLAIN.infer,
    complete=_PLAIN.complete,
)
def deformable_convolution(
    data: Any,
    offset: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Positive,
    num_group: Positive = 1,
    num_deformable_group: Positive = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: Layout | None = None,
) -> Any:
    """Convolution of images whose taps are moved by offsets, by bilinear interpolation.

    Outside of the image all is zero: as in MXNet it ends at the center of its first pixels, and a
    pixel past that of its last ones.

    Args:
        data: (batch, channels, height, width).
        offset: (batch, num_deformable_group * taps * 2, new height, new width), by how many pixels
            each tap is moved, y and then x.
        weight: (num_filter, channels / num_group, *kernel).
        bias: (num_filter,); not taken with no_bias=True.
        kernel: rows and columns of taps.
        stride: the distance of two windows, default 1.
        dilate: the distance of two taps, default 1.
        pad: zeros around the image, default 0.
        num_filter: how many channels the result has.
        num_deformable_group: how many groups of channels there are, each with its own offsets.
        layout: NCHW is the only one.

    Returns:
        (batch, num_filter, new height, new width), sizes as for `Convolution`.
    """
    settings = _settings("DeformableConvolution", kernel, stride, dilate, pad)
    return _convolve(data, offset, None, weight, bias, settings, num_group, num_deformable_group)


@operator(
    "_contrib_ModulatedDeformableConvolution",
    takes=_MODULATED.takes,
    check=_MODULATED.check,
    infer=_MODULATED.infer,
    complete=_MODULATED.complete,
)
def modulated_deformable_convolution(
    data: Any,
    offset: Any,
    mask: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Positive,
    num_group: Positive = 1,
    num_deformable_group: Positive = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    im2col_step: int = 64,
    layout: Layout | None = None,
) -> Any:
    """`DeformableConvolution` whose taps are weighted, each at each place, by a predicted mask.

    Here the image fades out within a pixel around it.

    Args:
        data: (batch, channels, height, width).
        offset: (batch, num_deformable_group * taps * 2, new height, new width).
        mask: (batch, num_deformable_group * taps, new height, new width).
        weight: (num_filter, channels / num_group, *kernel).
        bias: (num_filter,); not taken with no_bias=True.
        kernel: rows and columns of taps; see DeformableConvolution for this and what follows.
        stride: the distance of two windows, default 1.
        dilate: the distance of two taps, default 1.
        pad: zeros around the image, default 0.
        num_filter: how many channels the result has.
        num_group: groups of channels with their own filters.
        num_deformable_group: groups of channels with their own offsets and masks.
        workspace: without meaning here, like `im2col_step`; read for MXNet's sake.
        im2col_step: see `workspace`.
        layout: NCHW is the only one.

    Returns:
        (batch, num_filter, new height, new width).
    """
    settings = _settings("ModulatedDeformableConvolution", kernel, stride, dilate, pad)
    return _convolve(data, offset, mask, weight, bias, settings, num_group, num_deformable_group)

"""The patches that a sliding window sees, as columns of a matrix, and the way back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from hybridnet.base.attrs import Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jax, jnp

from ...core.checks import require_floats
from ...core.registry import operator
from ._rules import check_data, check_kernel, check_sizes, per_axis
from .lowerings import convolved_size


def _places(op: str, spatial: Sequence[int], params: Mapping[str, Any]) -> tuple[int, ...]:
    """Returns how many places the window has along each axis."""
    sizes = zip(
        spatial,
        params["kernel"],
        per_axis(op, params, "stride", 1),
        per_axis(op, params, "dilate", 1),
        per_axis(op, params, "pad", 0),
        strict=True,
    )
    return tuple(itertools.starmap(convolved_size, sizes))


def _patches(data: Any, params: Mapping[str, Any]) -> Any:
    """Returns the patches: a slice of the data for each element of the window."""
    places = _places("im2col", data.shape[2:], params)
    stride = per_axis("im2col", params, "stride", 1)
    dilate = per_axis("im2col", params, "dilate", 1)
    pad = per_axis("im2col", params, "pad", 0)
    padded = jnp.pad(data, ((0, 0), (0, 0), *((zeros, zeros) for zeros in pad)))
    slices = []
    for place in itertools.product(*map(range, params["kernel"])):
        starts = [index * step for index, step in zip(place, dilate, strict=True)]
        window = tuple(
            slice(start, start + (count - 1) * step + 1, step)
            for start, count, step in zip(starts, places, stride, strict=True)
        )
        slices.append(padded[(slice(None), slice(None), *window)])
    stacked = jnp.stack(slices, axis=2)
    return stacked.reshape(data.shape[0], data.shape[1] * len(slices), math.prod(places))


def _check_im2col(data: TensorType, **params: Any) -> None:
    check_kernel("im2col", params["kernel"])
    check_data("im2col", data, len(params["kernel"]), None, f"kernel {params['kernel']}")
    check_sizes("im2col", data, _places("im2col", data.shape[2:], params), params)


def _im2col_type(data: TensorType, **params: Any) -> tuple[TensorType]:
    rows = data.shape[1] * math.prod(params["kernel"])
    places = _places("im2col", data.shape[2:], params)
    return (tensor_type((data.shape[0], rows, math.prod(places)), data.dtype),)


@operator("im2col", check=_check_im2col, infer=_im2col_type)
def im2col(
    data: Any, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = ()
) -> Any:
    """The patches that a convolution's window sees, one in each column.

    A convolution is the product of its weights, as a matrix, with them.

    Args:
        data: (batch, channel, *spatial), with 1, 2 or 3 spatial axes.
        kernel: the size of the window.
        stride: the steps between its places; default 1.
        dilate: the steps between its elements; default 1.
        pad: how many zeros are put on both sides of each axis; default 0.

    Returns:
        (batch, channel * elements of the window, places).
    """
    return _patches(data, {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad})


def _image_shape(data: TensorType | Any, params: Mapping[str, Any]) -> tuple[int, ...]:
    channels = data.shape[1] // math.prod(params["kernel"])
    return (data.shape[0], channels, *params["output_size"])


def _check_col2im(data: TensorType, **params: Any) -> None:
    kernel, size = params["kernel"], params["output_size"]
    check_kernel("col2im", kernel)
    require_floats("col2im", ("data",), (data,))
    if len(size) != len(kernel) or len(kernel) > 3:
        raise ParameterError(
            "col2im: output_size and kernel must have a number for each of 1, 2 or 3 axes, got "
            f"{size} and {kernel}"
        )
    elements = math.prod(kernel)
    places = _places("col2im", size, params)
    check_sizes("col2im", data, places, params)
    shape = data.shape
    if len(shape) != 3 or shape[1] % elements or shape[2] != math.prod(places):
        raise ShapeError(
            f"col2im: data must be (batch, channel * {elements}, {math.prod(places)}) for kernel "
            f"{kernel} and output_size {size}, got data {data}"
        )


@operator(
    "col2im",
    check=_check_col2im,
    infer=lambda data, **params: (tensor_type(_image_shape(data, params), data.dtype),),
)
def col2im(
    data: Any,
    *,
    output_size: Shape,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
) -> Any:
    """Adds patches up to an image, each where it came from: the transpose of `im2col`.

    Args:
        data: (batch, channel * elements of the window, places).
        output_size: the spatial size of the image.
        kernel: the size of the window.
        stride: the steps between its places; default 1.
        dilate: the steps between its elements; default 1.
        pad: how many zeros were put on both sides of each axis; default 0.

    Returns:
        (batch, channel, *output_size).
    """
    params = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad}
    shape = _image_shape(data, {**params, "output_size": output_size})
    image = jax.ShapeDtypeStruct(shape, data.dtype)
    (added,) = jax.linear_transpose(lambda source: _patches(source, params), image)(data)
    return added

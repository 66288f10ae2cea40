"""Correlation of two feature maps at all displacements up to some pixels."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from hybridnet.base.attrs import Range
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import require_one_dtype, wide
from ..core.operator import describe
from ..core.registry import operator
from .resize import require_images

Positive = Annotated[int, Range(1)]
Natural = Annotated[int, Range(0)]


def _output_shape(
    shape: tuple[int, ...],
    *,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    pad_size: int,
    **_: Any,
) -> tuple[int, ...]:
    border = max_displacement + kernel_size // 2
    rows, columns = (math.ceil((size + 2 * pad_size - 2 * border) / stride1) for size in shape[2:])
    return shape[0], (2 * (max_displacement // stride2) + 1) ** 2, rows, columns


def _check(data1: TensorType, data2: TensorType, **params: Any) -> None:
    names, types = ("data1", "data2"), (data1, data2)
    for name, type_ in zip(names, types, strict=True):
        require_images("Correlation", name, type_)
    require_one_dtype("Correlation", names, types)
    if data1.shape != data2.shape:
        raise ShapeError(
            f"Correlation: data1 and data2 must have equal shapes, got {describe(names, types)}"
        )
    if params["kernel_size"] % 2 == 0:
        raise ParameterError(f"Correlation: kernel_size must be odd, got {params['kernel_size']}")
    if min(_output_shape(data1.shape, **params)[2:]) < 1:
        raise ShapeError(
            "Correlation: the padded images must be larger than twice max_displacement and half "
            f"the kernel, got {describe(names, types)} with pad_size={params['pad_size']}, "
            f"max_displacement={params['max_displacement']}"
        )


@operator(
    "Correlation",
    check=_check,
    infer=lambda data1, *_, **params: (
        tensor_type(_output_shape(data1.shape, **params), data1.dtype),
    ),
)
def correlation(
    data1: Any,
    data2: Any,
    *,
    kernel_size: Positive = 1,
    max_displacement: Natural = 1,
    stride1: Positive = 1,
    stride2: Positive = 1,
    pad_size: Natural = 0,
    is_multiply: bool = True,
) -> Any:
    """Compares patches of one image with patches of another, displaced by some pixels.

    Dosovitskiy et al., "FlowNet", 2015: the mean, over a patch and all channels, of products or of
    absolute differences.

    Args:
        data1: (batch, channels, height, width).
        data2: the shape of `data1`.
        kernel_size: the height and width of a patch, odd.
        max_displacement: by how many pixels patches of `data2` are displaced at most.
        stride1: the distance of two patches of `data1`.
        stride2: the distance of two displacements.
        pad_size: zeros around both images.
        is_multiply: products, or else absolute differences.

    Returns:
        (batch, displacements, new height, new width); the displacements row by row, from
        ``-(max_displacement // stride2) * stride2`` up.
    """
    channels = data1.shape[1]
    reach = max_displacement // stride2
    _, _, rows, columns = _output_shape(
        data1.shape,
        kernel_size=kernel_size,
        max_displacement=max_displacement,
        stride1=stride1,
        stride2=stride2,
        pad_size=pad_size,
    )
    edge = ((0, 0), (0, 0), (pad_size, pad_size), (pad_size, pad_size))
    first, second = (jnp.pad(array.astype(wide(array.dtype)), edge) for array in (data1, data2))
    # What the patches of `data1` cover; those of `data2` are the same, displaced.
    size = tuple((count - 1) * stride1 + kernel_size for count in (rows, columns))
    fixed = lax.dynamic_slice(
        first, (0, 0, max_displacement, max_displacement), (*first.shape[:2], *size)
    )
    steps = np.arange(-reach, reach + 1) * stride2 + max_displacement
    starts = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)

    zero = np.int32(0)

    def displaced(start: Any) -> Any:
        other = lax.dynamic_slice(second, (zero, zero, start[0], start[1]), fixed.shape)
        fit = fixed * other if is_multiply else jnp.abs(fixed - other)
        window, stride = (1, kernel_size, kernel_size), (1, stride1, stride1)
        return lax.reduce_window(
            fit.sum(1), np.zeros((), fit.dtype), lax.add, window, stride, "VALID"
        )

    total = lax.map(displaced, jnp.asarray(starts, "int32"))
    mean = total / (kernel_size * kernel_size * channels)
    return jnp.moveaxis(mean, 0, 1).astype(data1.dtype)

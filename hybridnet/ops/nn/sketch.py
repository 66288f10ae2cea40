"""The parts of compact bilinear pooling: count sketches, and Fourier transforms of rows.

Gao et al., "Compact bilinear pooling", 2016. (MXNet has these on GPUs alone.)
"""

from __future__ import annotations

from typing import Annotated, Any

from hybridnet.base.attrs import Range
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp

from ..core.checks import require_floats, wide
from ..core.operator import describe
from ..core.registry import operator

_SKETCHED = ("data", "h", "s")


def _transform_check(name: str, data: TensorType, parts: int) -> None:
    require_floats(name, ("data",), (data,))
    if len(data.shape) not in (2, 4) or data.shape[-1] < parts or data.shape[-1] % parts:
        raise ShapeError(
            f"{name}: data must have 2 or 4 dimensions, the last a multiple of {parts}, got "
            f"data {data}"
        )


@operator(
    "_contrib_fft",
    check=lambda data, **_: _transform_check("fft", data, 1),
    infer=lambda data, **_: (tensor_type((*data.shape[:-1], data.shape[-1] * 2), data.dtype),),
)
def fft(data: Any, *, compute_size: int = 128) -> Any:
    """The discrete Fourier transform along the last axis.

    Args:
        data: (n, d) or (n, c, h, d), real.
        compute_size: without meaning here; read for MXNet's sake.

    Returns:
        The shape of `data` with 2 * d: the real and the imaginary part of each number in turn.
    """
    if not data.size:  # which the transform refuses
        return data.reshape(*data.shape[:-1], data.shape[-1] * 2)
    found = jnp.fft.fft(data.astype(wide(data.dtype)))
    parts = jnp.stack([found.real, found.imag], -1)
    return parts.reshape(*data.shape[:-1], -1).astype(data.dtype)


@operator(
    "_contrib_ifft",
    check=lambda data, **_: _transform_check("ifft", data, 2),
    infer=lambda data, **_: (tensor_type((*data.shape[:-1], data.shape[-1] // 2), data.dtype),),
)
def ifft(data: Any, *, compute_size: int = 128) -> Any:
    """The inverse of `fft` times d, real parts alone: divide by d to have back what went in.

    Args:
        data: (n, 2 * d) or (n, c, h, 2 * d): real and imaginary parts in turn.
        compute_size: without meaning here; read for MXNet's sake.

    Returns:
        The shape of `data` with d.
    """
    if not data.size:
        return data.reshape(*data.shape[:-1], data.shape[-1] // 2)
    parts = data.astype(wide(data.dtype)).reshape(*data.shape[:-1], -1, 2)
    found = jnp.fft.ifft(parts[..., 0] + 1j * parts[..., 1])
    return (found.real * found.shape[-1]).astype(data.dtype)


def _sketch_check(data: TensorType, h: TensorType, s: TensorType, **_: Any) -> None:
    types = (data, h, s)
    require_floats("count_sketch", _SKETCHED, types)
    row = (1, data.shape[-1]) if data.shape else ()
    if len(data.shape) != 2 or h.shape != row or s.shape != row:
        raise ShapeError(
            "count_sketch: requires data (n, d), h (1, d) and s (1, d), got "
            f"{describe(_SKETCHED, types)}"
        )


@operator(
    "_contrib_count_sketch",
    check=_sketch_check,
    infer=lambda data, *_, out_dim, **__: (tensor_type((data.shape[0], out_dim), data.dtype),),
)
def count_sketch(
    data: Any,
    h: Any,
    s: Any,
    *,
    out_dim: Annotated[int, Range(1)],
    processing_batch_size: int = 32,
) -> Any:
    """Adds up the columns of an array that have one number, each with its sign.

    Args:
        data: (n, d).
        h: (1, d), the number of each column, from 0 to out_dim - 1.
        s: (1, d), the sign of each column, 1 or -1.
        out_dim: how many columns there are then.
        processing_batch_size: without meaning here; read for MXNet's sake.

    Returns:
        (n, out_dim).
    """
    signed = data * s.astype(data.dtype)
    place = h[0].astype("int32")
    return at(jnp.zeros((data.shape[0], out_dim), data.dtype))[:, place].add(signed, mode="drop")

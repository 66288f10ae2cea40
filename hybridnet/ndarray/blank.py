"""Arrays filled with one number, of any shape: what `nd.zeros` and hybridnet itself make."""

from __future__ import annotations

from collections.abc import Mapping

from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.context import Context, current_context
from hybridnet.base.dtype import FLOAT32, name_of
from hybridnet.base.shape_arguments import sizes_of
from hybridnet.ops.core import registry

from .ndarray import NDArray
from .storage_types import storage_type

__all__ = ["create_by", "filled", "ones_of", "zeros_of"]


def create_by(
    name: str, attrs: Mapping[str, object], ctx: Context | None, out: NDArray | None = None
) -> NDArray:
    """Returns what an operator without inputs makes, in `out` if that is given."""
    if out is not None and ctx is None:
        ctx = out.context
    made: NDArray = NDArray.apply_operator(registry.get(name), (), attrs, ctx=ctx, out=out)
    return made


def filled(
    name: str,
    sizes: tuple[int, ...],
    ctx: Context | None,
    dtype: DTypeLike,
    out: NDArray | None = None,
) -> NDArray:
    """Returns what ``_zeros`` or ``_ones`` makes, float32 by default."""
    attrs = {"shape": sizes, "dtype": name_of(dtype or FLOAT32)}
    return create_by(name, attrs, ctx, out)


def zeros_of(
    shape: Dims, ctx: Context | None = None, dtype: DTypeLike = None, stype: str | None = None
) -> NDArray:
    """Returns an array of zeros, float32 by default; also of shapes that `nd.zeros` refuses."""
    sizes = sizes_of("nd.zeros", shape)
    if stype not in (None, "default"):
        kind = storage_type(stype, "nd.zeros")
        made: NDArray = kind.zeros(sizes, ctx or current_context(), dtype)
        return made
    return filled("_zeros", sizes, ctx, dtype)


def ones_of(shape: Dims, ctx: Context | None = None, dtype: DTypeLike = None) -> NDArray:
    """Returns an array of ones; likewise."""
    return filled("_ones", sizes_of("nd.ones", shape), ctx, dtype)

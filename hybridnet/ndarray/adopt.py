"""Arrays of host memory that whoever filled it gives away: how images and files become arrays."""

from __future__ import annotations

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.tensor_type import tensor_type
from hybridnet.runtime.contexts import put
from hybridnet.runtime.recording import Value

from .ndarray import NDArray

__all__ = ["adopt"]


def adopt(host: NumpyArray, ctx: Context) -> NDArray:
    """Makes an array of host memory, without a copy where the device takes it as it is.

    That is so on cpu(0) until JAX is there, and on CPUs for memory of `copies.aligned`.

    Args:
        host: of a dtype that hybridnet computes with. Nobody else may hold its memory, which
            becomes read-only here, and which programs may overwrite.
        ctx: where to.
    """
    (placed,) = put(ctx, (np.ascontiguousarray(host),))
    return NDArray.from_value(Value(tensor_type(host.shape, host.dtype), placed), ctx)

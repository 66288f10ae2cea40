"""Memory of an array that others may write to: DLPack capsules for writing."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridnet.base.errors import MXNetError
from hybridnet.base.lazy import jax
from hybridnet.runtime.contexts import note_exported
from hybridnet.runtime.recording import Value, recorder

from .copies import aligned

__all__ = ["lend"]


def lend(data: Any) -> object:
    """Returns a DLPack capsule of memory to which an array is moved; see `to_dlpack_for_write`.

    Args:
        data: the NDArray.
    """
    if data.offset is not None or not data.context.device_type.startswith("cpu"):
        raise MXNetError(
            "to_dlpack_for_write: needs a whole array on a CPU, got a part of another array, or "
            f"one on {data.context}; lend x.copyto(mx.cpu()) instead"
        )
    host = aligned(data.shape, data.type.dtype)
    host[...] = np.asarray(recorder.wait(data.read()))
    recorder.flush_all()  # what was recorded before reads the memory that the array had
    with jax.enable_x64(True):
        array = jax.dlpack.from_dlpack(host)
    note_exported(array)
    # XLA donates no memory that a capsule refers to.
    data.storage.write(Value(data.type, array, shared=array.__dlpack__()), data)
    return host.__dlpack__()

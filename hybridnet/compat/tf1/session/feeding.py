"""The conversion of fed values to arrays of the dtypes and shapes of the tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridnet.base import CODE_OF
from hybridnet.ndarray import NDArray

from ..dtypes import string
from ..graph import Tensor, host_constant
from ..graph.coded import STRINGS

__all__ = ["as_fed"]


def as_fed(tensor: Tensor, value: Any) -> Any:
    """Returns a value for a tensor, as an array of its dtype.

    Raises:
        TypeError: it is a tensor, or not of the dtype.
        ValueError: it is not of the shape.
    """
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the "
            f"tensor object was {value} which was passed to the feed with key {tensor}."
        )
    kind = tensor.dtype.numpy
    if kind == STRINGS:
        return _as_strings(tensor, value)
    if isinstance(value, NDArray) and value.dtype == kind:
        host: Any = value
    else:
        if isinstance(value, NDArray):
            value = value.asnumpy()
        try:
            host = np.asarray(value, kind)
        except OverflowError:
            raise _out_of_range(tensor, value) from None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            same = np.isnan(host) if value != value else host.item() == value
            if isinstance(value, int) and not same and tensor.dtype.is_integer:
                raise _out_of_range(tensor, value)
    if host.dtype not in CODE_OF:
        raise TypeError(f"Tensor {tensor.name} of dtype {tensor.dtype.name} cannot be fed")
    _require_shape(tensor, host)
    return host


def _as_strings(tensor: Tensor, value: Any) -> np.ndarray[Any, Any]:
    try:
        host, kind = host_constant(value, None)
    except (TypeError, ValueError):
        kind = None
    if kind is not string:
        raise TypeError(f"Tensor {tensor.name} of dtype string must be fed text, got {value!r}")
    _require_shape(tensor, host)
    return host


def _require_shape(tensor: Tensor, host: Any) -> None:
    if not tensor.shape.is_compatible_with(host.shape):
        raise ValueError(
            f"Cannot feed value of shape {host.shape} for Tensor {tensor.name}, which has shape "
            f"{tensor.shape}: {tensor.op.title}"
        )


def _out_of_range(tensor: Tensor, value: Any) -> TypeError:
    return TypeError(
        f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
        f"{tensor.dtype.base_dtype.name}. Try explicitly setting the type of the feed tensor to a "
        "larger type (e.g. int64)."
    )

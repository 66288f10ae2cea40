"""Samples of distributions without parameters, of any shape: what other systems' graphs draw."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from hybridnet.base.attrs import DType, RandomState, Shape
from hybridnet.base.dtype import as_dtype, is_float
from hybridnet.base.errors import DTypeError
from hybridnet.base.lazy import jnp, lax
from hybridnet.base.tensor_type import tensor_type

from ..core.checks import wide
from ..core.registry import operator
from .state import next_key, normals, uniforms

__all__: list[str] = []

#: The truncated normal distribution's bound, in standard deviations.
_BOUND: Final = 2.0


def _check_samples(*, dtype: str, **_: Any) -> None:
    if not is_float(as_dtype(dtype)):
        raise DTypeError(f"_standard_samples: dtype must be floating point, got {dtype}")


@operator(
    "_standard_samples",
    check=_check_samples,
    infer=lambda *, shape, dtype, **_: (tensor_type(shape, as_dtype(dtype)),),
    no_gradient="samples are drawn, not computed from inputs",
)
def standard_samples(
    *,
    shape: Shape = (),
    dtype: DType = "float32",
    distribution: Literal["normal", "truncated_normal", "uniform"] = "normal",
    state: RandomState,
) -> Any:
    """Independent samples of a distribution without parameters.

    Args:
        shape: of the result; () for a single number.
        dtype: of the result, floating point.
        distribution: 'normal' with mean 0 and deviation 1; 'truncated_normal', the same without
            what lies beyond 2; 'uniform' from 0 to, not including, 1.
    """
    kind = as_dtype(dtype)
    key, state = next_key(state)
    if distribution == "uniform":
        return uniforms(key, shape, kind), state
    if distribution == "normal":
        return normals(key, shape, wide(kind)).astype(kind), state
    # The inverse of the distribution function, of a uniform number between its values at the ends.
    end = lax.erf(jnp.asarray(_BOUND / np.sqrt(2.0), wide(kind)))
    u = uniforms(key, shape, wide(kind)) * 2 - 1
    found = np.sqrt(2.0).astype(wide(kind)) * lax.erf_inv(u * end)
    return jnp.clip(found, -_BOUND, _BOUND).astype(kind), state

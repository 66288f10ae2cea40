"""The types of an operator's outputs, where no rule of its own tells them: by evaluating it."""

from __future__ import annotations

from typing import Final

import numpy as np

from hybridnet.base import config
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import tensor_type

from ..host.namespace import by_jax, by_numpy
from ..host.table import HOST_DTYPES
from .call import Call, Types

# Elements of all inputs with which NumPy computes an output sooner than JAX traces the operator,
# which takes 1 to 5 ms.
_FEW_ELEMENTS: Final = 1 << 16
_FLOAT64: Final = np.dtype(np.float64)


def output_types(call: Call, types: Types) -> Types:
    """Returns the types of a call's outputs.

    Args:
        call: the call.
        types: of its inputs.

    Raises:
        Exception: what its lowering has against them.
    """
    few = sum([kind.size for kind in types]) <= _FEW_ELEMENTS
    if few and config.host() != "off" and all(kind.dtype.char in HOST_DTYPES for kind in types):
        try:
            return _by_numpy(call, types)
        except Exception as error:  # which may be the fault of the host form: JAX decides
            if is_from_signal(error):
                raise
    return _by_jax(call, types)


def _by_numpy(call: Call, types: Types) -> Types:
    """Runs the host form on zeros, which any index may be: no type depends on a value."""
    operands = [np.zeros(kind.shape, kind.dtype) for kind in types]
    scalars = [np.float64(1)] * call.num_scalars
    made = by_numpy(call.evaluate, operands, scalars)
    return tuple([tensor_type(np.shape(array), array.dtype) for array in made])


def _by_jax(call: Call, types: Types) -> Types:
    operands = [jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in types]
    scalars = [jax.ShapeDtypeStruct((), _FLOAT64) for _ in range(call.num_scalars)]
    with jax.enable_x64(True):
        # A finalizer may ask for a type where NumPy runs something.
        made = by_jax(
            jax.eval_shape, lambda x, y: tuple(call.lower("cpu", x, y)), operands, scalars
        )
    return tuple([tensor_type(tuple(x.shape), np.dtype(x.dtype)) for x in made])

"""NumPy's names of operators that the library has under older ones.

As in MXNet, the elementwise functions of `mx.np` keep the dtype of integers, which is what the
older operators do; so do operators on an array and a number.
"""

from __future__ import annotations

from typing import Final

from ..core.registry import REGISTRY, get

__all__ = ["add_numpy_names"]

_SAME: Final = (
    "negative abs sign rint ceil floor trunc fix square sqrt cbrt exp expm1 log log10 log2 log1p "
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians "
    "reciprocal expand_dims tile"
)

#: Operator -> further names of it.
_NAMES: Final[dict[str, str]] = {
    **{name: f"_npi_{name}" for name in _SAME.split()},
    "_plus_scalar": "_npi_add_scalar",
    "_minus_scalar": "_npi_subtract_scalar",
    "_rminus_scalar": "_npi_rsubtract_scalar",
    "_mul_scalar": "_npi_multiply_scalar",
    "_mod_scalar": "_npi_mod_scalar",
    "_rmod_scalar": "_npi_rmod_scalar",
    "_power_scalar": "_npi_power_scalar",
    "_rpower_scalar": "_npi_rpower_scalar",
    "_maximum_scalar": "_npi_maximum_scalar",
    "_minimum_scalar": "_npi_minimum_scalar",
    "_hypot_scalar": "_npi_hypot_scalar",
    "broadcast_mod": "_npi_mod",
    "broadcast_power": "_npi_power",
    "broadcast_maximum": "_npi_maximum",
    "broadcast_minimum": "_npi_minimum",
    "broadcast_hypot": "_npi_hypot",
    "clip": "_npi_clip",
    "Cast": "_npi_cast _npx_cast",
    "_copy": "_np_copy",
    "repeat": "_np_repeat",
    "SwapAxis": "_npi_swapaxes",
    "gather_nd": "_npi_gather_nd _npx_gather_nd",
    "slice": "_npi_slice _npx_slice",
    "relu": "_npx_relu",
    "sigmoid": "_npx_sigmoid",
    "batch_dot": "_npx_batch_dot",
    "Flatten": "_npx_batch_flatten",
    "Embedding": "_npx_embedding",
    "erf": "_npx_erf",
    "erfinv": "_npx_erfinv",
    "gamma": "_npx_gamma",
    "gammaln": "_npx_gammaln",
    "one_hot": "_npx_one_hot",
    "pick": "_npx_pick",
    "reshape_like": "_npx_reshape_like",
    "shape_array": "_npx_shape_array",
    "smooth_l1": "_npx_smooth_l1",
    "topk": "_npx_topk",
}


def add_numpy_names() -> None:
    """Enters the names; called once all operators are there."""
    for name, further in _NAMES.items():
        row = get(name)
        names = further.split()
        REGISTRY.update(dict.fromkeys(names, row))
        object.__setattr__(row, "aliases", (*row.aliases, *names))

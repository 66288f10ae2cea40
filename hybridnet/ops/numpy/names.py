"""NumPy's names of operators that the library has under older ones.

As in MXNet, the elementwise functions of `mx.np` keep the dtype of integers, which is what the
older operators do; so do operators on an array and a number.
"""

from __future__ import annotations

from typing import Final

from ..core.registry import REGISTRY, get

_SAME_NAMES: Final = (
    "negative abs sign rint ceil floor trunc fix square sqrt cbrt exp expm1 log log10 log2 log1p "
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians "
    "reciprocal expand_dims"
)
_SAME_EXTENSIONS: Final = (
    "relu sigmoid batch_dot erf erfinv gamma gammaln one_hot pick reshape_like shape_array "
    "smooth_l1 topk"
)
_OF_TWO: Final = "mod power maximum minimum hypot"

#: Operator -> further names of it.
_NAMES: Final[dict[str, str]] = {
    **{name: f"_npi_{name}" for name in _SAME_NAMES.split()},
    **{name: f"_npx_{name}" for name in _SAME_EXTENSIONS.split()},
    **{f"broadcast_{name}": f"_npi_{name}" for name in _OF_TWO.split()},
    **{f"_{name}_scalar": f"_npi_{name}_scalar" for name in f"{_OF_TWO} rmod rpower".split()},
    "_plus_scalar": "_npi_add_scalar",
    "_minus_scalar": "_npi_subtract_scalar",
    "_rminus_scalar": "_npi_rsubtract_scalar",
    "_mul_scalar": "_npi_multiply_scalar",
    "clip": "_npi_clip",
    "Cast": "_npi_cast _npx_cast",
    "_copy": "_np_copy",
    "repeat": "_np_repeat",
    "SwapAxis": "_npi_swapaxes",
    "gather_nd": "_npi_gather_nd _npx_gather_nd",
    "slice": "_npi_slice _npx_slice",
    "Flatten": "_npx_batch_flatten",
    "Embedding": "_npx_embedding",
}


def add_numpy_names() -> None:
    """Enters the names; called once all operators are there."""
    for name, further in _NAMES.items():
        row = get(name)
        names = further.split()
        REGISTRY.update(dict.fromkeys(names, row))
        object.__setattr__(row, "aliases", (*row.aliases, *names))

"""`np`: NumPy's functions on arrays that are computed asynchronously and have gradients.

    from hybridnet import autograd, np, npx
    npx.set_np()
    w = np.random.normal(size=(3, 2))
    w.attach_grad()
    with autograd.record():
        loss = np.square(np.dot(np.ones((4, 3)), w)).mean()
    loss.backward()

The functions take symbols as well as arrays; ``sym.np`` has those that start from nothing, too.

As in MXNet 1.9, and not as in NumPy: numbers and lists become float32, elementwise functions keep
the dtype of integers (``exp`` of them is truncated), a number beside an array of integers loses its
fraction, ``/`` and `mean` of integers give float32, and `reshape` copies.

Not as in MXNet, on purpose: `std`, `var` and `average` of integers are float32, and not integers;
arrays of different dtypes are combined everywhere, and NumPy arrays and lists are taken as arrays;
``initial=`` and ``where=`` of reductions work, and ``where=`` of elementwise functions; the
gradients of `var`, `rot90`, `atleast_1d` and of `where` with a number are the derivatives; the mean
of no elements is NaN; ``average(returned=True)`` gives a sum of weights for each average.
"""

from __future__ import annotations

from builtins import bool as _bool
from typing import TYPE_CHECKING, Any

import numpy as _onp

from hybridnet.ops.core import Functions as _Functions

from . import _internal as _internal
from . import linalg as linalg
from . import random as random
from .calls import operator_of_either as _operator_of_either
from .creation import NAMES as _creation_names
from .creation import Creation as _Creation
from .elementwise import *  # noqa: F403
from .elementwise import __all__ as _elementwise_names
from .elementwise import binary_functions as _binary_functions
from .elementwise import unary_functions as _unary_functions
from .fallback import FALLBACKS as _FALLBACKS
from .manipulation import *  # noqa: F403
from .manipulation import __all__ as _manipulation_names
from .multiarray import array, ndarray
from .positions import *  # noqa: F403
from .positions import __all__ as _position_names
from .reduction import *  # noqa: F403
from .reduction import __all__ as _reduction_names

if TYPE_CHECKING:
    from ._functions import *  # noqa: F403

_arrays = _Creation(ndarray)
_functions: dict[str, object] = {
    **_unary_functions,
    **_binary_functions,
    **_FALLBACKS,
    **{name: getattr(_arrays, name) for name in _creation_names},
}
globals().update(_functions)

_TYPES = "bool_ dtype float16 float32 float64 int32 int64 int8 uint8"
_constants: dict[str, object] = {
    "NAN": _onp.nan,
    "NINF": -_onp.inf,
    "NZERO": -0.0,
    "NaN": _onp.nan,
    "PINF": _onp.inf,
    "PZERO": 0.0,
    "bool": bool,
    "e": _onp.e,
    "finfo": _onp.finfo,
    "iinfo": _onp.iinfo,
    "inf": _onp.inf,
    "nan": _onp.nan,
    "newaxis": None,
    "pi": _onp.pi,
    **{name: getattr(_onp, name) for name in _TYPES.split()},
}
globals().update(_constants)

__all__ = [
    "array",
    "linalg",
    "ndarray",
    "random",
    *_constants,
    *_functions,
    *(name for name in _elementwise_names if not name.endswith("_functions")),
    *_manipulation_names,
    *_position_names,
    *_reduction_names,
]


#: What is no function, for type checkers.
NAN: float
NINF: float
NZERO: float
NaN: float
PINF: float
PZERO: float
bool: type[_bool]
bool_: type[_onp.bool_]
dtype: type[_onp.dtype[Any]]
e: float
finfo: type[_onp.finfo[Any]]
float16: type[_onp.float16]
float32: type[_onp.float32]
float64: type[_onp.float64]
iinfo: type[_onp.iinfo[Any]]
inf: float
int32: type[_onp.int32]
int64: type[_onp.int64]
int8: type[_onp.int8]
nan: float
newaxis: None
pi: float
uint8: type[_onp.uint8]


# The library's are above, by hand: NumPy's functions take more than arrays.
_of_users = _Functions("np", globals(), {}, _operator_of_either, prefix="_np_")


def __dir__() -> list[str]:
    return _of_users.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _of_users.attribute(name)

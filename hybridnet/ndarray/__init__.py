"""`nd`: eager arrays, and a function for every operator.

The functions are made from the operator registry (`hybridnet.ops`), so ``nd.relu`` is declared
where the operator ``relu`` is, and its documentation is the operator's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any as _Any

# Here and not where it is used first: deep below other imports, where CPython 3.11 gets and gives
# back a piece of its stack at each call, it takes twice as long.
import numpy as _numpy  # noqa: F401

from hybridnet.base.modules import load as _load
from hybridnet.ops.core import Functions as _Functions
from hybridnet.ops.core.registry import public_operators as _public_operators

from . import _internal as _internal
from . import contrib as contrib
from . import image as image
from . import linalg as linalg
from . import random as random
from . import sparse as sparse
from ._whole import *  # noqa: F403
from ._whole import __all__ as _whole_names
from .create import *  # noqa: F403
from .create import __all__ as _create_names
from .custom import Custom
from .functions import *  # noqa: F403
from .functions import __all__ as _function_names
from .functions import array_function as _array_function
from .ndarray import NDArray
from .serialize import *  # noqa: F403
from .serialize import __all__ as _serialize_names
from .share import *  # noqa: F403
from .share import __all__ as _share_names

# Names written by hand win over operators of the same name: they take more than arrays.
_by_hand = {*_create_names, *_function_names, *_whole_names}
if TYPE_CHECKING:
    from ._operators import *  # noqa: F403

_functions = _Functions(
    "nd",
    globals(),
    {name: op for name, op in _public_operators().items() if name not in _by_hand},
    _array_function,
    prefix="",
)

__all__ = [
    "Custom",
    "NDArray",
    "contrib",
    "image",
    "linalg",
    "random",
    "sparse",
    *_create_names,
    *(name for name in _function_names if name != "array_function"),
    *_serialize_names,
    *_share_names,
    *_whole_names,
    *_functions,
]


def __dir__() -> list[str]:
    return _functions.names()


#: Modules and a class of floors above, which are loaded when they are first used.
CachedOp: _Any
np: _Any
npx: _Any


if not TYPE_CHECKING:

    def __getattr__(name: str) -> _Any:
        if name in ("np", "npx", "CachedOp"):
            return _load(name)
        return _functions.attribute(name)

"""`sym`: expressions that are bound to arrays and then computed, and a function per operator.

The functions are made from the operator registry (`hybridnet.ops`), so ``sym.relu`` is declared
where the operator ``relu`` is, and its documentation is the operator's.

Names that are here and not in ``__all__`` are for floors above, which make symbols of their own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hybridnet.attribute import AttrScope as AttrScope
from hybridnet.ops.core import Functions as _Functions
from hybridnet.ops.core.registry import public_operators as _public_operators

from . import _internal as _internal
from . import contrib as contrib
from . import image as image
from . import linalg as linalg
from . import random as random
from . import sparse as sparse
from ._lower import lower_control
from ._memory import MemoryEstimate, estimate_memory, plan_memory
from .composition import scope_attributes as scope_attributes
from .composition import user_attributes as user_attributes
from .create import *  # noqa: F403
from .create import __all__ as _create_names
from .custom import Custom
from .functions import *  # noqa: F403
from .functions import __all__ as _function_names
from .functions import symbol_function as _symbol_function
from .inside import Inside as Inside
from .inside import is_inside as is_inside
from .inside import joined as joined
from .inside import outside as outside
from .optimization import optimize as optimize
from .structured import case, cond, while_loop
from .symbol import Group, Symbol

# Names written by hand win over operators of the same name: they take plain numbers too.
_by_hand = {*_create_names, *_function_names}
if TYPE_CHECKING:
    from . import numpy as numpy
    from ._operators import *  # noqa: F403

    np = numpy
    npx: Any  # on symbols it returns symbols, of which checkers are not told

_functions = _Functions(
    "sym",
    globals(),
    {name: op for name, op in _public_operators().items() if name not in _by_hand},
    _symbol_function,
    prefix="",
)

__all__ = [
    "Custom",
    "Group",
    "MemoryEstimate",
    "Symbol",
    "case",
    "cond",
    "contrib",
    "estimate_memory",
    "image",
    "linalg",
    "lower_control",
    "optimize",
    "plan_memory",
    "random",
    "sparse",
    "while_loop",
    *_create_names,
    *(name for name in _function_names if name != "symbol_function"),
    *_functions,
]


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in ("np", "npx", "numpy"):  # loaded when first used
            home = "hybridnet.numpy_extension" if name == "npx" else "hybridnet.symbol.numpy"
            return importlib.import_module(home)
        return _functions.attribute(name)

"""`npx`: what NumPy does not have and neural networks need, on np arrays and symbols.

The functions are the operators of `nd` under their names in small letters; `set_np` turns NumPy
mode on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridnet.base.context import cpu, cpu_pinned, current_context, gpu
from hybridnet.ndarray import waitall
from hybridnet.numpy.calls import operator_of_either as _operator_of_either
from hybridnet.ops.core import Functions as _Functions
from hybridnet.util import (
    is_np_array,
    is_np_shape,
    np_array,
    np_shape,
    reset_np,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)

from . import image as image
from . import random as random
from .files import *  # noqa: F403
from .files import __all__ as _file_names
from .operators import OPERATORS as _operators

if TYPE_CHECKING:
    from ._operators import *  # noqa: F403

globals().update(_operators)

__all__ = [
    "cpu",
    "cpu_pinned",
    "current_context",
    "gpu",
    "image",
    "is_np_array",
    "is_np_shape",
    "np_array",
    "np_shape",
    "random",
    "reset_np",
    "set_np",
    "set_np_shape",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "waitall",
    *_file_names,
    *_operators,
]


_of_users = _Functions("npx", globals(), {}, _operator_of_either, prefix="_npx_")


def __dir__() -> list[str]:
    return _of_users.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _of_users.attribute(name)

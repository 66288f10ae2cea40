"""`numpy_op_signature`: the functions of `np` and `npx` by the names of their operators.

MXNet makes such functions from operators named ``_np_...`` and ``_npx_...``, and has their
signatures and documentation in a module of its own, `_numpy_op_doc`. Here both are the functions'.
"""

from __future__ import annotations

import inspect
from typing import Any, Final

from hybridnet import numpy, numpy_extension

__all__: list[str] = []

_SUBMODULES: Final = ("_random_", "_linalg_", "_image_")


def _get_builtin_op(op_name: str) -> Any:
    """Returns the function of `np` or `npx` that is made of an operator; None for other names.

    Raises:
        ValueError: there is no such function.
    """
    for prefix, module in (("_npx_", numpy_extension), ("_np_", numpy)):
        if not op_name.startswith(prefix):
            continue
        name = op_name.removeprefix(prefix)
        place: Any = module
        for part in _SUBMODULES:
            if name.startswith(part):
                name, place = name.removeprefix(part), getattr(module, part.strip("_"), None)
        found = getattr(place, name, None)
        if found is None:
            raise ValueError(f"there is no function {name!r} in {module.__name__}")
        found.__signature__ = inspect.signature(found)  # where MXNet's functions have it
        return found
    return None


def __getattr__(name: str) -> Any:
    """Gives the functions as attributes, as MXNet's `_numpy_op_doc`, which is this module."""
    try:
        found = _get_builtin_op(name)
    except ValueError as error:
        raise AttributeError(str(error)) from None
    if found is None:
        raise AttributeError(f"module 'hybridnet.numpy_op_signature' has no attribute {name!r}")
    return found

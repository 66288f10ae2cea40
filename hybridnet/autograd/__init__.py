"""`autograd`: record what is computed, and differentiate it.

In short::

    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    x.grad
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from hybridnet.base.unsupported import missing
from hybridnet.ndarray import NDArray

from ._custom_gradient import custom_gradient
from .function import Function
from .gradient_tape import GradientTape
from .scopes import (
    backward,
    grad,
    is_recording,
    is_training,
    mark_variables,
    pause,
    predict_mode,
    record,
    set_recording,
    set_training,
    train_mode,
)

if TYPE_CHECKING:
    from .history import get_symbol

# Name -> its module. Symbols take long to load, and most programs that take gradients have none.
_LATER: Final = {"get_symbol": "hybridnet.autograd.history"}

__all__ = [
    "Function",
    "GradientTape",
    "NDArray",
    "backward",
    "custom_gradient",
    "get_symbol",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise missing("autograd", name, __all__)
        made = globals()[name] = getattr(importlib.import_module(_LATER[name]), name)
        return made

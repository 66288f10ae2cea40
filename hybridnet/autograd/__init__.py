"""`autograd`: record what is computed, and differentiate it.

In short::

    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    x.grad

`get_symbol` is loaded when first used: who only differentiates needs no symbols.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._custom_gradient import custom_gradient
from .function import Function
from .gradient_tape import GradientTape
from .history import get_symbol
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
    from .history import get_symbol as get_symbol

__all__ = [
    "Function",
    "GradientTape",
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


def __getattr__(name: str) -> Any:
    if name != "get_symbol":
        raise AttributeError(f"module 'hybridnet.autograd' has no attribute {name!r}")
    value = globals()[name] = importlib.import_module(f"{__name__}.history").get_symbol
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

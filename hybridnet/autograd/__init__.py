"""`autograd`: record what is computed, and differentiate it.

In short::

    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    x.grad
"""

from hybridnet.ndarray import NDArray

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

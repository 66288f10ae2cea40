"""`autograd` as it was before `mx.autograd`: recording and training mode are one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from hybridnet import autograd as present
from hybridnet import ndarray as nd
from hybridnet.autograd import mark_variables as mark_variables
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train: bool) -> bool:
    """Switches recording and training mode on or off; returns whether it was recording."""
    present.set_training(is_train)
    return present.set_recording(is_train)


class TrainingStateScope:
    """A block in which recording and training mode are on, or off.

    Args:
        enter_state: whether they are on.
    """

    def __init__(self, enter_state: bool) -> None:
        self._enter_state = enter_state
        self._before = (False, False)

    def __enter__(self) -> None:
        self._before = present.is_recording(), present.is_training()
        set_is_training(self._enter_state)

    def __exit__(self, ptype: object, value: object, trace: object) -> None:
        recording, training = self._before
        present.set_recording(recording)
        present.set_training(training)


def train_section() -> TrainingStateScope:
    """Returns a block that is recorded, in training mode."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """Returns a block that is not recorded, outside training mode."""
    return TrainingStateScope(False)


def backward(
    outputs: Sequence[NDArray],
    out_grads: Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
) -> None:
    """Computes the gradients of marked variables.

    Args:
        outputs: what they are of.
        out_grads: gradients of the outputs; default ones.
        retain_graph: whether what was recorded is kept for another time.
    """
    present.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """Computes the gradients of marked variables; the old name of `backward`."""
    backward(outputs)


def grad_and_loss(
    func: Callable[..., Any], argnum: int | Sequence[int] | None = None
) -> Callable[..., tuple[list[NDArray], Any]]:
    """Returns a function that returns gradients of its arguments, and what `func` returns.

    Args:
        func: a function of arrays.
        argnum: the positions of the arguments; default all.
    """

    @functools.wraps(func)
    def wrapped(*args: Any) -> tuple[list[NDArray], Any]:
        chosen = list(args)
        if argnum is not None:
            chosen = [args[i] for i in ([argnum] if isinstance(argnum, int) else argnum)]
        for x in chosen:
            if not isinstance(x, NDArray):
                raise ParameterError(
                    f"grad_and_loss: arguments must be NDArrays, got {type(x).__name__}"
                )
        grads = [nd.zeros_like(x) for x in chosen]
        mark_variables(chosen, grads)
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, NDArray) else outputs)
        return grads, outputs

    return wrapped


def grad(
    func: Callable[..., Any], argnum: int | Sequence[int] | None = None
) -> Callable[..., list[NDArray]]:
    """Returns a function that returns the gradients of its arguments; see `grad_and_loss`."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: Any) -> list[NDArray]:
        return both(*args)[0]

    return wrapped

"""The scopes that switch recording and training on and off, and the ways to ask for gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ndarray import NDArray, _tape
from hybridnet.runtime import recorder

__all__ = [
    "backward",
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


def set_recording(is_recording: bool) -> bool:
    """Switches recording for this thread; returns what it was."""
    was = _tape.state.recording
    _tape.state.recording = bool(is_recording)
    return was


def set_training(train_mode: bool) -> bool:
    """Switches training behaviour for this thread; returns what it was."""
    was = _tape.state.training
    _tape.state.training = bool(train_mode)
    return was


def is_recording() -> bool:
    """Whether this thread records."""
    return _tape.state.recording


def is_training() -> bool:
    """Whether operators behave as in training (dropout drops, batch norm uses the batch)."""
    return _tape.state.training


class _Scope:
    """A stretch of code with recording and training set; None leaves one as it is.

    Also a decorator. One scope object can be entered again, and inside itself.
    """

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        state = _tape.state
        if self._recording and not state.recording:
            recorder.begin_step()
        self._before.append((state.recording, state.training))
        if self._recording is not None:
            state.recording = self._recording
        if self._training is not None:
            state.training = self._training

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _tape.state.recording, _tape.state.training = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return scoped


def record(train_mode: bool = True) -> _Scope:
    """Returns a scope in which operations on variables are recorded for `backward`."""
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """Returns a scope in which nothing is recorded."""
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """Returns a scope in which operators behave as in training."""
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """Returns a scope in which operators behave as in prediction."""
    return _Scope(None, False)


def mark_variables(
    variables: NDArray | Sequence[NDArray],
    gradients: NDArray | Sequence[NDArray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Marks arrays as variables whose gradients go to given arrays.

    Args:
        variables: the arrays.
        gradients: one for each, of its shape.
        grad_reqs: 'write', 'add' or 'null', one for all or one for each.

    Raises:
        ParameterError: the numbers differ.
    """
    if isinstance(variables, NDArray):
        variables = [variables]
    if isinstance(gradients, NDArray):
        gradients = [gradients]
    reqs = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(reqs):
        raise ParameterError(
            f"mark_variables: needs one gradient and one grad_req for each variable, got "
            f"{len(variables)} variables, {len(gradients)} gradients and {len(reqs)} grad_reqs"
        )
    for variable, gradient, req in zip(variables, gradients, reqs, strict=True):
        variable.mark_variable(gradient, req)


def backward(
    heads: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Computes the gradients of `heads` with respect to the marked variables.

    Args:
        heads: arrays computed while recording.
        head_grads: their gradients, of their shapes; None means ones.
        retain_graph: keep what was recorded, for another backward.
        train_mode: whether operators behave as in training.

    Raises:
        MXNetError: a head was not computed while recording.
    """
    if isinstance(heads, NDArray):
        heads = [heads]
    if isinstance(head_grads, NDArray):
        head_grads = [head_grads]
    _tape.backward(heads, head_grads, retain_graph=retain_graph, train_mode=train_mode)


def grad(
    heads: NDArray | Sequence[NDArray],
    variables: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> NDArray | list[NDArray]:
    """Returns the gradients of `heads` with respect to `variables`, writing to no `grad` array.

    Args:
        heads: arrays computed while recording.
        variables: the arrays to differentiate by.
        head_grads: gradients of the heads; None means ones.
        retain_graph: keep what was recorded; default `create_graph`.
        create_graph: record the differentiation too, for gradients of gradients.
        train_mode: whether operators behave as in training.

    Returns:
        One gradient for each variable (a single array if a single variable was given).

    Raises:
        MXNetError: the heads do not depend on a variable.
    """
    single = isinstance(variables, NDArray)
    wanted = [variables] if isinstance(variables, NDArray) else list(variables)
    if isinstance(heads, NDArray):
        heads = [heads]
    if isinstance(head_grads, NDArray):
        head_grads = [head_grads]
    for variable in wanted:
        if variable.edge is None:
            raise MXNetError("grad: a variable was neither marked (attach_grad) nor recorded")
    found = _tape.backward(
        heads,
        head_grads,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        train_mode=train_mode,
        targets=[variable.edge for variable in wanted if variable.edge is not None],
    )
    if any(one is None for one in found):
        raise MXNetError("grad: the heads do not depend on one of the variables")
    return found[0] if single else found

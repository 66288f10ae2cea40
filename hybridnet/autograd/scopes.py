"""The scopes that switch recording and training on and off, and the ways to ask for gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from hybridnet import tape
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder
from hybridnet.tape import backward as run_backward

__all__ = [
    "Scope",
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
    was = tape.state.recording
    tape.state.recording = bool(is_recording)
    return was


def set_training(train_mode: bool) -> bool:
    """Switches training behaviour for this thread; returns what it was."""
    was = tape.state.training
    tape.state.training = bool(train_mode)
    return was


def is_recording() -> bool:
    """Whether this thread records."""
    return tape.state.recording


def is_training() -> bool:
    """Whether operators behave as in training (dropout drops, batch norm uses the batch)."""
    return tape.state.training


class Scope:
    """A stretch of code with recording and training set; None leaves one as it is.

    Also a decorator. One scope object can be entered again, and inside itself, by one thread.
    """

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        state = tape.state
        if self._recording and not state.recording:
            recorder.begin_pass()
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
        tape.state.recording, tape.state.training = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function with its calls in such a scope."""

        @functools.wraps(function)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            # A scope for each call: threads that call the function at once must not share one.
            with Scope(self._recording, self._training):
                return function(*args, **kwargs)

        return scoped


def record(train_mode: bool = True) -> Scope:
    """Returns a scope in which operations on variables are recorded for `backward`.

    Variables are arrays with `attach_grad`, and parameters. Threads record for themselves.

    Args:
        train_mode: whether operators such as Dropout and BatchNorm behave as in training.

    Examples:
        >>> x = nd.array([1, 2, 3])
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad.asnumpy().tolist()
        [2.0, 4.0, 6.0]
    """
    return Scope(True, train_mode)


def pause(train_mode: bool = False) -> Scope:
    """Returns a scope in which nothing is recorded, as within `record`, for what has no gradient.

    Args:
        train_mode: whether operators behave as in training; default as in prediction.

    Examples:
        >>> x = nd.array([3])
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     with autograd.pause():
        ...         factor = x * 2      # a number, to the gradient
        ...     y = factor * x
        >>> y.backward()
        >>> float(x.grad.asscalar())
        6.0
    """
    return Scope(False, train_mode)


def train_mode() -> Scope:
    """Returns a scope in which operators behave as in training."""
    return Scope(None, True)


def predict_mode() -> Scope:
    """Returns a scope in which operators behave as in prediction."""
    return Scope(None, False)


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
    variables, gradients = _listed(variables), _listed(gradients)
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

    Warns:
        UserWarning: a head is of whole numbers or bool: so are its gradients.
    """
    run_backward(
        _listed(heads),
        None if head_grads is None else _listed(head_grads),
        retain_graph=retain_graph,
        train_mode=train_mode,
    )


def grad(
    heads: NDArray | Sequence[NDArray],
    variables: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """Returns the gradients of `heads` with respect to `variables`, writing to no `grad` array.

    Args:
        heads: arrays computed while recording.
        variables: the arrays to differentiate by: marked ones, or results on the way.
        head_grads: gradients of the heads; None means ones.
        retain_graph: keep what was recorded; default `create_graph`.
        create_graph: record the differentiation too, for gradients of gradients.
        train_mode: whether operators behave as in training.

    Returns:
        One gradient for each variable; a list even for a single one, as in MXNet.

    Raises:
        MXNetError: the heads do not depend on a variable, or were not recorded.
    """
    wanted = [variables] if isinstance(variables, NDArray) else list(variables)
    for index, variable in enumerate(wanted):
        if variable.edge is None or not variable.edge.node.wanted:
            raise MXNetError(
                f"grad: variable {index} was neither marked with attach_grad() nor recorded, so "
                "nothing can be differentiated by it"
            )
    found = run_backward(
        _listed(heads),
        None if head_grads is None else _listed(head_grads),
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        train_mode=train_mode,
        targets=wanted,
    )
    for index, value in enumerate(found):
        if value is None:
            raise MXNetError(f"grad: the heads do not depend on variable {index}")
    return found


def _listed(arrays: Any) -> list[Any]:
    return [arrays] if isinstance(arrays, NDArray) else list(arrays)

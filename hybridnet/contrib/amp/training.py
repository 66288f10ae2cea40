"""Training in mixed precision: functions that cast what they are given, and scaled losses."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from hybridnet import ndarray, symbol
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.gluon import Trainer
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from . import lists
from .casts import Casts
from .loss_scaler import LossScaler

__all__ = ["init", "init_trainer", "is_on", "scale_loss", "stop", "unscale"]

# What `init` has replaced: namespace, name, and the function that was there.
_replaced: Final[list[tuple[Any, str, Any]]] = []


def init(
    target_dtype: DTypeLike = "float16",
    target_precision_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    fp32_ops: Sequence[str] | None = None,
) -> None:
    """Makes the functions of `nd` and `sym` cast their arguments, as the lists of operators say.

    It holds for networks made afterwards, and until `stop`; called again it does nothing.

    Args:
        target_dtype: 'float16' or 'bfloat16'.
        target_precision_ops, conditional_fp32_ops, fp32_ops: see `Casts`.

    Raises:
        ParameterError: the dtype is another, or an operator is in two lists.
    """
    if _replaced:
        return
    casts = Casts(target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops)
    logging.info("Using AMP")
    conditional = [name for name, _, _ in conditional_fp32_ops or lists.list_conditional_fp32_ops()]
    listed = casts.half_ops | casts.single_ops | casts.widest_ops | set(conditional)
    for namespace in (ndarray, symbol):
        for name in dir(namespace):
            function = getattr(namespace, name, None)
            operator = getattr(function, "operator_name", name)
            if callable(function) and lists.canonical([operator]) & listed:
                _replaced.append((namespace, name, function))
                setattr(namespace, name, _casting(function, operator, casts))


def is_on() -> bool:
    """Returns whether functions cast what they are given: after `init`, and before `stop`."""
    return bool(_replaced)


def stop() -> None:
    """Takes back what `init` did."""
    while _replaced:
        namespace, name, function = _replaced.pop()
        setattr(namespace, name, function)


def _casting(function: Callable[..., Any], name: str, casts: Casts) -> Callable[..., Any]:
    (operator,) = lists.canonical([name])

    @functools.wraps(function)
    def cast_and_call(*args: Any, **kwargs: Any) -> Any:
        arrays = [x for x in (*args, *kwargs.values()) if isinstance(x, (NDArray, Symbol))]
        if any(isinstance(x, Symbol) for x in arrays):
            # Afterwards, when variables have been made for what was not given.
            made = function(*args, **kwargs)
            node = made.edges[0].node
            cast = casts.apply(node, node.inputs, {})
            return type(made)([edge._replace(node=cast) for edge in made.edges])
        target = _target(operator, kwargs, arrays, casts)
        if target is None:
            return function(*args, **kwargs)
        return function(
            *(_as(x, target) for x in args), **{key: _as(x, target) for key, x in kwargs.items()}
        )

    return cast_and_call


def _target(
    operator: str, kwargs: dict[str, Any], arrays: Sequence[Any], casts: Casts
) -> str | None:
    """Returns the dtype that arrays are cast to before an operator, or None."""
    if operator in casts.half_ops:
        return casts.half.name
    condition = casts.conditions.get(operator)
    if condition is not None:
        return "float32" if kwargs.get(condition[0]) in condition[1] else None
    if operator in casts.single_ops:
        return "float32"
    return "float32" if len({x.dtype for x in arrays if _is_ours(x)}) > 1 else None


def _is_ours(x: object) -> bool:
    return isinstance(x, NDArray) and x.dtype.__name__ in ("float16", "bfloat16", "float32")


def _as(x: Any, target: str) -> Any:
    return ndarray.amp_cast(x, dtype=target) if _is_ours(x) else x


def init_trainer(optimizer_or_trainer: Trainer) -> None:
    """Makes a trainer skip updates whose gradients have overflowed; see `scale_loss`.

    Args:
        optimizer_or_trainer: the trainer; its store must not do the updates.

    Raises:
        ParameterError: it is no `Trainer`.
    """
    if not isinstance(optimizer_or_trainer, Trainer):
        raise ParameterError(
            f"init_trainer: needs a gluon.Trainer, got {type(optimizer_or_trainer).__name__}"
        )
    trainer: Any = optimizer_or_trainer
    scaler = LossScaler()
    update = trainer._update
    trainer._amp_loss_scaler = scaler
    trainer._amp_original_scale = trainer._scale

    def update_if_finite(ignore_stale_grad: bool = False) -> None:
        params = [param for _, param in trainer.updated_params(ignore_stale_grad)]
        if not scaler.has_overflow(params):
            update(ignore_stale_grad)
            return
        for param in params:
            param.note_grads_used()

    trainer._update = update_if_finite


@contextmanager
def scale_loss(
    loss: NDArray | list[NDArray] | tuple[NDArray, ...], optimizer_or_trainer: Trainer
) -> Iterator[Any]:
    """A block with the loss times the scale; the trainer divides gradients by it again.

        with autograd.record():
            loss = loss_of(net(data), label)
            with amp.scale_loss(loss, trainer) as scaled:
                autograd.backward(scaled)
        trainer.step(batch_size)

    Args:
        loss: an array, or a list of them.
        optimizer_or_trainer: the trainer.

    Raises:
        MXNetError: `init_trainer` was not called.
    """
    trainer: Any = optimizer_or_trainer
    scale = _scaler_of("scale_loss", trainer).loss_scale
    trainer._scale = trainer._amp_original_scale / scale
    yield [x * scale for x in loss] if isinstance(loss, (list, tuple)) else loss * scale


def unscale(optimizer_or_trainer: Trainer) -> None:
    """Divides gradients by the scale now, so that they can be looked at or clipped.

    Raises:
        MXNetError: `init_trainer` was not called.
    """
    trainer: Any = optimizer_or_trainer
    _scaler_of("unscale", trainer)
    factor = trainer._scale / trainer._amp_original_scale
    for param in trainer._params:
        if param.grad_req != "null":
            for grad in param.list_grad():
                grad *= factor
    trainer._scale = trainer._amp_original_scale


def _scaler_of(what: str, trainer: Any) -> LossScaler:
    scaler: LossScaler | None = getattr(trainer, "_amp_loss_scaler", None)
    if scaler is None:
        raise MXNetError(f"{what}: the trainer has no scale; call amp.init_trainer(trainer) first")
    return scaler

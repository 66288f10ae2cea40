"""`optimize_loss`: a training step in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ..graph import GraphKeys, Tensor, convert_to_tensor, identity
from ..graph.control import add_to_collections, control_dependencies, get_collection
from ..operations import add, multiply, truncated_normal
from ..operations import shape as shape_of
from ..operations.clipping import clip_by_global_norm, global_norm
from ..summaries.values import scalar
from ..training import optimizers
from ..training.optimizer import Optimizer
from ..training.rates import get_global_step
from ..variables.lists import trainable_variables
from ..variables.scope import variable_scope

__all__ = ["OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "apply_regularization", "optimize_loss"]

OPTIMIZER_CLS_NAMES: Final = {
    "Adagrad": optimizers.AdagradOptimizer,
    "Adam": optimizers.AdamOptimizer,
    "Ftrl": optimizers.FtrlOptimizer,
    "Momentum": lambda learning_rate: optimizers.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES: Final = ("learning_rate", "loss", "gradients", "gradient_norm")


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Iterable[Any] | None = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Iterable[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Returns the loss, which moves variables against its gradients whenever it is computed.

    Args:
        loss: one number.
        global_step: a variable that counts steps; None: that of the graph, if there is one.
        learning_rate: a number, or a tensor of one; None: the optimizer's own.
        optimizer: 'Adagrad', 'Adam', 'Ftrl', 'Momentum', 'RMSProp' or 'SGD'; or a function of the
            learning rate (or of nothing, if that is None), a class, or an optimizer.
        gradient_noise_scale: the spread of noise that is added to gradients.
        gradient_multipliers: what the gradients of variables, or of their names, are times.
        clip_gradients: what the norm of all gradients is clipped to; or a function from pairs of
            gradient and variable to others.
        learning_rate_decay_fn: a function of the learning rate and the step, to another rate.
        update_ops: what runs before; default the collection UPDATE_OPS.
        variables: that are moved; default those that are trainable.
        summaries: what is written for TensorBoard, of 'learning_rate', 'loss' and 'gradient_norm';
            default the first two. 'gradients' is taken and not looked at.
        colocate_gradients_with_ops: as for `Optimizer.compute_gradients`.
        increment_global_step: whether the step is counted.

    Raises:
        ValueError: an argument is something else.
    """
    value = convert_to_tensor(loss)
    step = get_global_step() if global_step is None else global_step
    with variable_scope(name, "OptimizeLoss", [value, step]):
        before = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        if before:
            with control_dependencies(before):
                value = identity(value)
        rate = None if learning_rate is None else convert_to_tensor(learning_rate, name="rate")
        if learning_rate_decay_fn is not None:
            if rate is None or step is None:
                raise ValueError("learning_rate_decay_fn needs a learning_rate and a global_step")
            rate = learning_rate_decay_fn(rate, step)
        shown = ("learning_rate", "loss") if summaries is None else tuple(summaries)
        unknown = set(shown) - set(OPTIMIZER_SUMMARIES)
        if unknown:
            raise ValueError(f"Summaries should be one of {OPTIMIZER_SUMMARIES}, got {unknown}")
        chosen = _optimizer(optimizer, rate)
        pairs = chosen.compute_gradients(
            value, trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )  # fmt: skip
        if gradient_noise_scale is not None:
            for place, (one, of) in enumerate(pairs):
                if one is not None:
                    noise = multiply(truncated_normal(shape_of(one)), gradient_noise_scale)
                    pairs[place] = (add(one, noise), of)
        if gradient_multipliers is not None:
            pairs = _multiplied(pairs, gradient_multipliers)
        norm = global_norm([one for one, _ in pairs]) if "gradient_norm" in shown else None
        if callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif clip_gradients is not None:
            clipped, _ = clip_by_global_norm([one for one, _ in pairs], clip_gradients)
            pairs = [(one, of) for one, (_, of) in zip(clipped, pairs, strict=True)]
        for key, number in (("learning_rate", rate), ("loss", value), ("gradient_norm", norm)):
            if key in shown and number is not None:
                scalar("global_norm/gradient_norm" if key == "gradient_norm" else key, number)
        counted = step if increment_global_step else None
        done = chosen.apply_gradients(pairs, global_step=counted, name="train")
        with control_dependencies([done]):
            return identity(value)


def _optimizer(given: Any, rate: Any) -> Optimizer:
    if isinstance(given, str):
        if given not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of {sorted(OPTIMIZER_CLS_NAMES)}, got {given}"
            )
        given = OPTIMIZER_CLS_NAMES[given]
        if rate is None:
            raise ValueError("Learning rate is None, but should be specified")
    made = given if isinstance(given, Optimizer) else given() if rate is None else given(rate)
    if not isinstance(made, Optimizer):
        raise ValueError(f"Unrecognized optimizer: {made}")
    return made


def _multiplied(pairs: Iterable[Any], factors: Mapping[Any, Any]) -> list[Any]:
    found = []
    for gradient, variable in pairs:
        key = variable if variable in factors else variable.name
        known = gradient is not None and key in factors
        found.append((multiply(gradient, factors[key]) if known else gradient, variable))
    return found


def apply_regularization(
    regularizer: Callable[[Any], Any], weights_list: Iterable[Any] | None = None
) -> Tensor:
    """Returns the sum of what a regularizer makes of variables; default those in WEIGHTS."""
    given = get_collection("weights") if weights_list is None else list(weights_list)
    if not given:
        raise ValueError("No weights to regularize.")
    made = [one for one in (regularizer(weight) for weight in given) if one is not None]
    total = convert_to_tensor(made[0] if made else 0.0)
    for one in made[1:]:
        total = add(total, one)
    add_to_collections(GraphKeys.REGULARIZATION_LOSSES, total)
    return total

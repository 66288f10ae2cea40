"""Learning rates that change with the number of steps, and the variable that counts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hybridnet.graph import EdgeHandle

from ..dtypes import int64
from ..graph import Graph, GraphKeys, Tensor, convert_to_tensor, get_default_graph
from ..graph.adding import described, fused, handle
from ..graph.control import get_collection, name_scope
from ..operations.elementwise import cast
from ..variables.variable import Variable

__all__ = [
    "cosine_decay", "cosine_decay_restarts", "create_global_step", "exponential_decay",
    "get_global_step", "get_or_create_global_step", "global_step", "inverse_time_decay",
    "linear_cosine_decay", "natural_exp_decay", "piecewise_constant", "piecewise_constant_decay",
    "polynomial_decay",
]  # fmt: skip


def _rate(
    scope: str,
    function: Callable[..., EdgeHandle],
    learning_rate: Any,
    global_step: Any,
    numbers: Sequence[Any],
    name: str | None,
) -> Tensor:
    """Adds the Operation for a rate: `function` of the rate, the step, and numbers."""
    if global_step is None:
        raise ValueError(f"global_step is required for {scope}.")
    with name_scope(name, scope, [learning_rate, global_step]) as own:
        start = convert_to_tensor(learning_rate, name="learning_rate")
        kind = start.dtype.base_dtype
        given = [cast(convert_to_tensor(one), kind) for one in (global_step, *numbers)]
        return fused("Mul", function, [start, *given], name=own)


def _decay(
    name: str, kind: str, doc: str, rule: Callable[..., EdgeHandle]
) -> Callable[..., Tensor]:
    """Returns a rate that is a rule of the first rate, `decay_rate`, and the steps in steps."""

    def decay(
        learning_rate: Any,
        global_step: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> Tensor:
        def rate(start: EdgeHandle, step: EdgeHandle, steps: EdgeHandle, factor: EdgeHandle) -> Any:
            part = step / steps
            return rule(start, factor, handle("floor", part) if staircase else part)

        return _rate(kind, rate, learning_rate, global_step, (decay_steps, decay_rate), name)

    return described(decay, name, doc)


exponential_decay = _decay(
    "exponential_decay",
    "ExponentialDecay",
    """Returns ``learning_rate * decay_rate ^ (global_step / decay_steps)``.

    Args:
        learning_rate: in the beginning.
        global_step: the number of steps made.
        decay_steps, decay_rate: see above.
        staircase: whether the exponent is rounded down.

    Raises:
        ValueError: `global_step` is None.
    """,
    lambda start, factor, part: start * handle("broadcast_power", factor, part),
)
natural_exp_decay = _decay(
    "natural_exp_decay",
    "NaturalExpDecay",
    """Returns ``learning_rate * exp(-decay_rate * global_step / decay_steps)``; see above.""",
    lambda start, factor, part: start * handle("exp", handle("negative", factor * part)),
)
inverse_time_decay = _decay(
    "inverse_time_decay",
    "InverseTimeDecay",
    """Returns ``learning_rate / (1 + decay_rate * global_step / decay_steps)``; see above.""",
    lambda start, factor, part: start / (factor * part + 1),
)


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that goes from one to another along a power of the steps that are left.

    Args (the first two as for `exponential_decay`):
        decay_steps: after which the end is reached.
        end_learning_rate: in the end.
        power: of the part that is left.
        cycle: whether it begins again, over ever longer multiples of `decay_steps`.
    """

    def rate(*handles: EdgeHandle) -> Any:
        start, step, steps, end, power = handles
        if cycle:
            rounds = handle("ceil", step / steps)
            steps = steps * handle("_maximum_scalar", rounds, scalar=1.0)
        else:
            step = handle("broadcast_minimum", step, steps)
        left = handle("_rminus_scalar", step / steps, scalar=1.0)
        return (start - end) * handle("broadcast_power", left, power) + end

    numbers = (decay_steps, end_learning_rate, power)
    return _rate("PolynomialDecay", rate, learning_rate, global_step, numbers, name)


def _cosine(part: EdgeHandle) -> EdgeHandle:
    """(1 + cos(pi * part)) / 2."""
    found: EdgeHandle = (handle("cos", part * float(np.pi)) + 1) * 0.5
    return found


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: Any = None
) -> Tensor:
    """Returns a rate that falls to `alpha` of itself along half a cosine.

    Args (the first three as for `polynomial_decay`):
        alpha: the part that is left in the end.
    """

    def rate(start: EdgeHandle, step: EdgeHandle, steps: EdgeHandle, alpha: EdgeHandle) -> Any:
        found = _cosine(handle("broadcast_minimum", step, steps) / steps)
        return start * ((1 - alpha) * found + alpha)

    return _rate("CosineDecay", rate, learning_rate, global_step, (decay_steps, alpha), name)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: float = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that falls along half a cosine again and again (Loshchilov and Hutter, 2017).

    Args (the first two as for `exponential_decay`):
        first_decay_steps: how long the first fall is.
        t_mul: how many times as long as the one before each fall is.
        m_mul: what the rate of each is of the one before.
        alpha: the part that is left at the end of each.
    """

    def rate(*handles: EdgeHandle) -> Any:
        start, step, steps, factor, alpha = handles
        part = step / steps
        if t_mul == 1.0:
            number = handle("floor", part)
            part = part - number
        else:
            grown = handle("log", part * (t_mul - 1.0) + 1)
            number = handle("floor", grown * float(1.0 / np.log(t_mul)))
            power = handle("_rpower_scalar", number, scalar=float(t_mul))
            part = (part - (power - 1) * (1.0 / (t_mul - 1.0))) / power
        found = handle("broadcast_power", factor, number) * _cosine(part)
        return start * ((1 - alpha) * found + alpha)

    numbers = (first_decay_steps, m_mul, alpha)
    return _rate("SGDRDecay", rate, learning_rate, global_step, numbers, name)


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that falls along a line times a cosine (Bello et al., 2017).

    Args (the first three as for `polynomial_decay`):
        num_periods: of the cosine.
        alpha: added to the line.
        beta: added to the product.
    """

    def rate(*handles: EdgeHandle) -> Any:
        start, step, steps, periods, alpha, beta = handles
        part = handle("broadcast_minimum", step, steps) / steps
        line = handle("_rminus_scalar", part, scalar=1.0)
        return start * ((alpha + line) * _cosine(part * periods * 2) + beta)

    numbers = (decay_steps, num_periods, alpha, beta)
    return _rate("LinearCosineDecay", rate, learning_rate, global_step, numbers, name)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """Returns the first value up to the first boundary (included), then the second, and so on.

    Args:
        x: a number, such as the step.
        boundaries: ascending.
        values: one more than boundaries.

    Raises:
        ValueError: there are not one more values than boundaries.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant") as scope:
        place = convert_to_tensor(x)
        ends = convert_to_tensor(list(boundaries), place.dtype.base_dtype)
        levels = convert_to_tensor(list(values))

        def level(x: EdgeHandle, ends: EdgeHandle, levels: EdgeHandle) -> EdgeHandle:
            passed = handle("Cast", handle("_npi_greater", x, ends), dtype="int32")
            return handle("take", levels, handle("_np_sum", passed, dtype="int32"), axis=0)

        return fused("Merge", level, [place, ends, levels], name=scope)


piecewise_constant_decay = piecewise_constant


# The number of steps ------------------------------------------------------------------------------


def create_global_step(graph: Graph | None = None) -> Variable:
    """Makes the variable that counts a graph's steps.

    Raises:
        ValueError: there is one.
    """
    own = graph or get_default_graph()
    if get_global_step(own) is not None:
        raise ValueError('"global_step" already exists.')
    with own.as_default(), own.name_scope(None):
        return Variable(
            np.int64(0),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
            name="global_step",
            dtype=int64,
        )


def get_global_step(graph: Graph | None = None) -> Any:
    """Returns the variable that counts a graph's steps; None if there is none."""
    own = graph or get_default_graph()
    with own.as_default():
        found = get_collection(GraphKeys.GLOBAL_STEP)
    if found:
        return found[0]
    held = own.get_collection(GraphKeys.GLOBAL_VARIABLES)
    return next((one for one in held if one.op.name == "global_step"), None)


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """Returns the variable that counts a graph's steps, and makes it if there is none."""
    found: Variable = get_global_step(graph) or create_global_step(graph)
    return found


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Returns the number of steps that a session has made."""
    return int(sess.run(global_step_tensor))

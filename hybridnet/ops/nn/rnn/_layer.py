"""One layer of a recurrent network in one direction: a scan over time, and its gradient.

What does not depend on the step before (the product of the inputs and their weights) is computed
for all steps at once, outside. The gradient likewise: only what goes from step to step is scanned
backward, and the gradients of the weights are one product over all steps.

The cells are those of MXNet and cuDNN: Hochreiter and Schmidhuber, "Long short-term memory" (1997),
with the gates in the order input, forget, cell, output; Cho et al. (2014) for the GRU, with reset,
update, new, where the reset gate acts on the product, as in Chung et al. (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.ops.host.namespace import elementwise, has_host_form, jax, jnp, lax

from ..conv.onednn import product_weight_gradient
from . import onednn

#: How many gates a cell computes at each step.
GATES: Final = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
#: How many arrays `scan` keeps for the gradient.
KEPT: Final = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 3, "gru": 3}


class Way(NamedTuple):
    """The computation of a step.

    Attributes:
        parts: into how many parts the batch is cut, which take each step beside each other.
        native: whether oneDNN computes them, which it can where `onednn.applies`.
    """

    parts: int = 1
    native: bool = False


#: One by one, each as one.
SCANNED: Final = Way()


class Layer(NamedTuple):
    """The settings of a layer: all but its arrays.

    Attributes:
        mode: the cell: 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
        reverse: whether it begins with the last step.
        clip: the bounds that an LSTM's cell state is held within, and whether NaN becomes 0;
            None for no bounds.
        way: how its steps are computed.
    """

    mode: str
    reverse: bool
    clip: tuple[float, float, bool] | None = None
    way: Way = SCANNED


def scan(
    layer: Layer,
    x: Any,
    state: tuple[Any, ...],
    weight: Any,
    bias: Any,
    projection: Any,
    valid: Any,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Runs a layer.

    Args:
        x: (time, batch, gates * hidden), the part of the gates that the inputs make, with biases.
        state: (batch, hidden) each; the hidden state and, of an LSTM, the cell state.
        weight: (gates * hidden, hidden), for the hidden state.
        bias: (hidden,), of a GRU: what is added to the hidden state's part of the last gate.
        projection: (projected, hidden) or None: the hidden state is multiplied by it.
        valid: (time, batch, 1) bool or None: where it is False the state stays and the output is 0.

    Returns:
        The outputs (time, batch, hidden), the last state, and what `remembered` needs.
    """
    if layer.way.native:
        h, gates, c = onednn.steps(x, state, weight, layer.reverse)
        last = 0 if layer.reverse else -1
        return h, (h[last], c[last]), (h, gates, c)
    cell, parts = _CELLS[layer.mode], layer.way.parts
    turned = _in_order(weight.T)

    def one_step(before: tuple[Any, ...], now: Any) -> Any:
        x, valid = now
        after, kept = cell(layer, x, before, before[0] @ turned, bias)
        if projection is not None:
            after = (after[0] @ projection.T, *after[1:])
        output = after[0]
        if valid is not None:
            output = jnp.where(valid, output, 0)
            after = tuple(jnp.where(valid, *both) for both in zip(after, before, strict=True))
        return after, (output, *kept)

    def step(before: Sequence[Any], now: Sequence[Any]) -> Any:
        return _columns([one_step(*both) for both in zip(before, now, strict=True)])

    ends, found = lax.scan(
        step, _cut(state, 0, parts), _cut((x, valid), 1, parts), reverse=layer.reverse
    )
    outputs, *kept = _joined(found, 1)
    return outputs, _joined(ends, 0), (outputs, *kept)


@has_host_form("in_order")
def _in_order(x: Any) -> Any:
    """Returns an array whose order in memory is that of its axes; XLA's arrays have none."""
    return x


def _columns(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    """Returns the columns of a table."""
    return tuple(zip(*rows, strict=True))


def _cut(arrays: Sequence[Any], axis: int, parts: int) -> tuple[tuple[Any, ...], ...]:
    """Cuts each array (or None) into parts along an axis; returns the parts, each of all arrays."""
    if parts == 1:
        return (tuple(arrays),)
    cut = [(None,) * parts if x is None else jnp.array_split(x, parts, axis) for x in arrays]
    return _columns(cut)


def _joined(parts: Sequence[tuple[Any, ...]], axis: int) -> tuple[Any, ...]:
    """Joins what `_cut` has cut."""
    if len(parts) == 1:
        return parts[0]
    return tuple(jnp.concatenate(arrays, axis) for arrays in _columns(parts))


_Step = tuple[tuple[Any, ...], tuple[Any, ...]]


def _relu(layer: Layer, x: Any, state: Sequence[Any], product: Any, bias: Any) -> _Step:
    return (jnp.maximum(x + product, 0),), ()


def _tanh(layer: Layer, x: Any, state: Sequence[Any], product: Any, bias: Any) -> _Step:
    return (jnp.tanh(x + product),), ()


def _lstm(layer: Layer, x: Any, state: Sequence[Any], product: Any, bias: Any) -> _Step:
    # All gates by one tanh, sigmoid(x) being tanh(x / 2) / 2 + 1/2: XLA makes vector code of it,
    # and not of four functions of four slices (35 steps of 20x200 on a CPU: 0.5 ms against 2.0 in
    # jaxlib 0.10, 0.9 against 1.1 in 0.12).
    scale = np.repeat(np.array([0.5, 0.5, 1, 0.5], x.dtype), state[1].shape[-1])
    gates = x + product
    gates *= scale
    gates = lax.optimization_barrier(jnp.tanh(gates))
    gates *= scale
    gates += 1 - scale
    i, f, g, o = jnp.split(gates, 4, -1)
    c = f * state[1]
    c += i * g
    c = lax.optimization_barrier(c)
    if layer.clip is not None:
        low, high, replace_nan = layer.clip
        c = jnp.clip(jnp.where(jnp.isnan(c), 0, c) if replace_nan else c, low, high)
    return (o * jnp.tanh(c), c), (gates, c)


def _gru(layer: Layer, x: Any, state: Sequence[Any], product: Any, bias: Any) -> _Step:
    hidden = state[0].shape[-1]
    # As above. The last third is of no use, and the two others alone take twice as long.
    gates = lax.optimization_barrier(jnp.tanh((x + product) * 0.5) * 0.5 + 0.5)
    r, z, _ = jnp.split(gates, 3, -1)
    inner = product[..., 2 * hidden :] + bias
    n = jnp.tanh(x[..., 2 * hidden :] + r * inner)
    kept = jnp.concatenate([gates[..., : 2 * hidden], n], -1)
    return ((1 - z) * n + z * state[0],), (kept, inner)


_CELLS: Final[dict[str, Callable[..., _Step]]] = {
    "rnn_relu": _relu,
    "rnn_tanh": _tanh,
    "lstm": _lstm,
    "gru": _gru,
}


# -- the gradient --------------------------------------------------------------------------------


def remembered(
    layer: Layer,
    x: Any,
    state: tuple[Any, ...],
    weight: Any,
    bias: Any,
    valid: Any,
    kept: tuple[Any, ...],
) -> tuple[Any, tuple[Any, ...]]:
    """Returns the outputs of a layer that has run, to be differentiated: nothing is computed again.

    The last state is not computed either: what stands for it has the right gradient only. The layer
    has no projection and no bounds.

    Args:
        layer, x, state, weight, bias, valid: as for `scan`.
        kept: what it returned last.
    """

    @jax.custom_vjp
    def run(x: Any, state: Any, weight: Any, bias: Any, valid: Any, kept: Any) -> Any:
        return kept[0], state

    def forward(x: Any, state: Any, weight: Any, bias: Any, valid: Any, kept: Any) -> Any:
        return (kept[0], state), (state, weight, bias, valid, kept)

    def backward(saved: Any, grads: Any) -> Any:
        return (*_backward(layer, *saved, *grads), None, None)

    run.defvjp(forward, backward)
    made: tuple[Any, tuple[Any, ...]] = run(x, state, weight, bias, valid, kept)
    return made


def _backward(
    layer: Layer,
    state: tuple[Any, ...],
    weight: Any,
    bias: Any,
    valid: Any,
    kept: tuple[Any, ...],
    grad: Any,
    state_grads: tuple[Any, ...],
) -> tuple[Any, tuple[Any, ...], Any, Any]:
    """Returns the gradients of x, state, weight and bias."""
    h = _before(kept[0], state[0], valid, layer.reverse)
    if layer.way.native:
        x_grad, first = onednn.steps_gradient(
            grad, kept, state[1], state_grads, weight, layer.reverse
        )
        return x_grad, first, product_weight_gradient(h, x_grad), bias
    c = _before(kept[2], state[1], valid, layer.reverse) if layer.mode == "lstm" else None
    local, rule = _RULES[layer.mode](kept, h, c)

    def step(after: tuple[Any, ...], now: Any) -> Any:
        grad, valid, local = now
        grads = (grad + after[0], *after[1:])
        passed: Any = 0
        if valid is not None:
            grads = tuple(jnp.where(valid, array, 0) for array in grads)
            passed = tuple(jnp.where(valid, 0, array) for array in after)
        x_grad, product_grad, direct = rule(local, grads)
        found = (product_grad @ weight + direct[0], *direct[1:])
        if valid is not None:
            found = tuple(a + b for a, b in zip(found, passed, strict=True))
        return found, x_grad

    first, x_grad = lax.scan(step, state_grads, (grad, valid, local), reverse=not layer.reverse)
    product_grad = x_grad
    if layer.mode == "gru":
        hidden = h.shape[-1]
        last = x_grad[..., 2 * hidden :] * kept[1][..., :hidden]
        product_grad = jnp.concatenate([x_grad[..., : 2 * hidden], last], -1)
        bias = jnp.sum(last, (0, 1))
    elif bias is not None:
        bias = jnp.zeros_like(bias)
    return x_grad, first, weight_gradient(product_grad, h), bias


def weight_gradient(grad: Any, x: Any) -> Any:
    """Returns the gradient of w in ``x @ w.T``.

    It is the transpose of the transposed product: on CPUs, that is 1.5 times as fast as the product
    itself in jaxlib 0.10 (1.2 ms against 1.9 for (700, 800) and (700, 200)).

    Args:
        grad: (..., outputs), the gradient of the product.
        x: (..., inputs).
    """
    return (x.reshape(-1, x.shape[-1]).T @ grad.reshape(-1, grad.shape[-1])).T


def _before(sequence: Any, first: Any, valid: Any, reverse: bool) -> Any:
    """Returns for each step the state that it began with."""
    if not reverse:
        return jnp.concatenate([first[None], sequence[:-1]])
    moved = jnp.concatenate([sequence[1:], first[None]])
    if valid is None:
        return moved
    # Going backward, a shorter sequence begins in the middle, with the first state.
    known = jnp.concatenate([valid[1:], jnp.zeros_like(valid[:1])])
    return jnp.where(known, moved, first[None])


#: From what a step of the scan is given, and the gradients of the state after it: those of x, of
#: the product with the hidden state, and of the state before it beside that product.
_Rule = Callable[[Any, Sequence[Any]], tuple[Any, Any, tuple[Any, ...]]]


def _plain_rule(slope: Any) -> tuple[Any, _Rule]:
    def rule(slope: Any, grads: Sequence[Any]) -> Any:
        found = grads[0] * slope
        return found, found, (0,)

    return slope, rule


def _relu_rule(kept: Sequence[Any], h: Any, c: Any) -> tuple[Any, _Rule]:
    return _plain_rule((kept[0] > 0).astype(kept[0].dtype))


def _tanh_rule(kept: Sequence[Any], h: Any, c: Any) -> tuple[Any, _Rule]:
    return _plain_rule(1 - kept[0] * kept[0])


@elementwise
def _lstm_slopes(gates: Any, after: Any, c: Any) -> tuple[Any, Any]:
    """Returns the slopes of what the gates make, and of the hidden state by the cell state."""
    i, f, g, o = jnp.split(gates, 4, -1)
    shown = jnp.tanh(after)
    of_cell = (g * i * (1 - i), c * f * (1 - f), i * (1 - g * g))
    slopes = jnp.concatenate([*of_cell, shown * o * (1 - o)], -1)
    return slopes, o * (1 - shown * shown)


def _lstm_rule(kept: Sequence[Any], h: Any, c: Any) -> tuple[Any, _Rule]:
    slopes, between = _lstm_slopes(kept[1], kept[2], c)
    _, f, _, _ = jnp.split(kept[1], 4, -1)

    def rule(local: Any, grads: Sequence[Any]) -> Any:
        slopes, between, f = local
        cell = grads[1] + grads[0] * between
        found = jnp.concatenate([cell, cell, cell, grads[0]], -1) * slopes
        return found, found, (0, cell * f)

    # Made for all steps before the scan, not within it.
    return lax.optimization_barrier((slopes, between, f)), rule


def _gru_rule(kept: Sequence[Any], h: Any, c: Any) -> tuple[Any, _Rule]:
    r, z, n = jnp.split(kept[1], 3, -1)
    of_new = (1 - z) * (1 - n * n)
    of_update = (h - n) * z * (1 - z)
    of_reset = kept[2] * r * (1 - r)

    def rule(local: Any, grads: Sequence[Any]) -> Any:
        of_new, of_update, of_reset, r, z = local
        new = grads[0] * of_new
        gates = [new * of_reset, grads[0] * of_update]
        x_grad = jnp.concatenate([*gates, new], -1)
        product_grad = jnp.concatenate([*gates, new * r], -1)
        return x_grad, product_grad, (grads[0] * z,)

    return (of_new, of_update, of_reset, r, z), rule


_RULES: Final[dict[str, Callable[..., tuple[Any, _Rule]]]] = {
    "rnn_relu": _relu_rule,
    "rnn_tanh": _tanh_rule,
    "lstm": _lstm_rule,
    "gru": _gru_rule,
}

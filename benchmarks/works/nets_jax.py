"""The networks in JAX as one writes them by hand for a CPU: one ``jax.jit``, channels last.

Everything is what `jax.lax` and `jax.numpy` offer, compiled with the default options; nothing of
hybridnet is in it. The state of training is donated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from works.layers import (
    LSTM,
    Activation,
    BatchNorm,
    Conv,
    Dense,
    Flatten,
    GlobalAverage,
    Layer,
    MaxPool,
    Residual,
    channels_last,
    first_statistics,
    first_values,
    images_last,
    taken,
)
from works.nets import Net
from works.runner import Runner, each, losses, plain, waited
from works.training import EPSILON, KEEP


class _Forward:
    """One pass over the layers, which takes the parameters in order and moves the statistics."""

    def __init__(self, params: dict[str, Any], moving: Sequence[Any], train: bool) -> None:
        self._params = taken(params)
        self._moving: Iterator[Any] = iter(moving)
        self._train = train
        self.moved: list[Any] = []

    def run(self, layers: Sequence[Layer], x: Any) -> Any:
        for layer in layers:
            x = self._apply(layer, x)
        return x

    def _apply(self, layer: Layer, x: Any) -> Any:
        import jax
        import jax.numpy as jnp

        match layer:
            case Conv():
                return self._convolution(layer, x)
            case BatchNorm():
                return self._normalization(x)
            case Activation():
                return jax.nn.relu(x) if layer.kind == "relu" else jnp.tanh(x)
            case MaxPool():
                pad = (layer.pad, layer.pad)
                window = (1, layer.size, layer.size, 1), (1, layer.stride, layer.stride, 1)
                edges = ((0, 0), pad, pad, (0, 0))
                return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, *window, edges)
            case GlobalAverage():
                return x.mean((1, 2))
            case Flatten():
                return x.reshape(len(x), -1)
            case Dense():
                return x @ next(self._params) + next(self._params)
            case Residual():
                body = self.run(layer.body, x)
                return jax.nn.relu(body + self.run(layer.skip, x))
            case LSTM():
                for _ in range(layer.layers):
                    x = self._recurrent(layer, x)
                return x[-1]

    def _convolution(self, layer: Conv, x: Any) -> Any:
        from jax import lax

        y = lax.conv_general_dilated(
            x,
            next(self._params),
            (layer.stride, layer.stride),
            [(layer.pad, layer.pad)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=layer.groups,
        )
        return y + next(self._params) if layer.bias else y

    def _normalization(self, x: Any) -> Any:
        from jax import lax

        gamma, beta = next(self._params), next(self._params)
        mean, var = next(self._moving)
        if self._train:
            old_mean, old_var = mean, var
            mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
            new = (mean, var)
            self.moved.append(
                [KEEP * a + (1 - KEEP) * b for a, b in zip((old_mean, old_var), new, strict=True)]
            )
        return (x - mean) * (gamma * lax.rsqrt(var + EPSILON)) + beta

    def _recurrent(self, layer: LSTM, x: Any) -> Any:
        """All steps' inputs are multiplied at once; the rest is a scan."""
        import jax
        import jax.numpy as jnp

        i2h, h2h, bias, more = (next(self._params) for _ in range(4))
        first = jnp.zeros((x.shape[1], layer.hidden))

        def step(state: Any, given: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(given + h @ h2h, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return jax.lax.scan(step, (first, first), x @ i2h + (bias + more))[1]


def _first(net: Net) -> dict[str, Any]:
    import jax.numpy as jnp

    table = net.parameters
    return {
        name: jnp.asarray(channels_last(table[name], value))
        for name, value in first_values(table).items()
    }


def inference(net: Net) -> Runner:
    import jax
    import jax.numpy as jnp

    params = _first(net)
    moving = jax.tree.map(jnp.asarray, first_statistics(net.statistics))
    batches = [jnp.asarray(images_last(data)) for data, _ in net.batches()]
    given = cycle(batches)

    @jax.jit
    def run(params: Any, moving: Any, data: Any) -> Any:
        return _Forward(params, moving, train=False).run(net.layers, data)

    return plain(
        each(lambda: jax.block_until_ready(run(params, moving, next(given)))),
        lambda: np.asarray(run(params, moving, batches[0])),
    )


def training(net: Net) -> Runner:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, moving: Any, data: Any, label: Any) -> Any:
        forward = _Forward(params, moving, train=True)
        scores = jax.nn.log_softmax(forward.run(net.layers, data))
        return -jnp.take_along_axis(scores, label[:, None], 1).mean(), forward.moved

    @partial(jax.jit, donate_argnums=0)
    def step(state: Any, data: Any, label: Any) -> Any:
        params, momenta, moving = state
        (value, moving), slopes = jax.value_and_grad(loss, has_aux=True)(
            params, moving, data, label
        )
        if not net.momentum:
            new = jax.tree.map(lambda p, g: p - net.learning_rate * g, params, slopes)
            return (new, momenta, moving), value
        momenta = jax.tree.map(
            lambda m, g: net.momentum * m - net.learning_rate * g, momenta, slopes
        )
        return (jax.tree.map(jnp.add, params, momenta), momenta, moving), value

    params = _first(net)
    momenta = jax.tree.map(jnp.zeros_like, params) if net.momentum else None
    state: Any = (params, momenta, [[jnp.zeros(n), jnp.ones(n)] for n in net.statistics])
    given = cycle(
        [(jnp.asarray(images_last(data)), jnp.asarray(label)) for data, label in net.batches()]
    )

    def once() -> float:
        nonlocal state
        state, value = step(state, *next(given))
        return float(value)

    turn = waited(once, lambda: jax.block_until_ready(state))
    return plain(turn, lambda: losses(once))

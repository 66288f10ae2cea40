"""A raw loop of 3 operators, 10,000 turns of it, never read until the end: ``relu(x * 0.999 + b)``.

There is no natural mark in it. ``jit`` is the loop's body as a program that donates x, called as
often. The compilations that are counted are those of the first 10,000 turns, all programs
forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from works.runner import Array, Runner, each, hybrid, plain, pytorch

TURNS = 10_000
OPERATORS = 3 * TURNS
_SHAPE = (32, 32)
_FACTOR = 0.999


def _inputs() -> tuple[Array, Array]:
    random = np.random.default_rng(0)
    return (
        random.standard_normal(_SHAPE, dtype=np.float32),
        random.standard_normal(_SHAPE, dtype=np.float32),
    )


def _mxnet_like(mx: Any) -> Callable[[], Array]:
    first, b = (mx.nd.array(array) for array in _inputs())
    relu = mx.nd.relu

    def loop() -> Array:
        x = first
        for _ in range(TURNS):
            x = relu(x * _FACTOR + b)
        return x.asnumpy()

    return loop


def ours() -> Runner:
    import hybridnet as hn
    from hybridnet import engine
    from hybridnet.runtime.programs.cache import cache

    loop = _mxnet_like(hn)
    counted: dict[str, float] = {}

    def answer() -> Array:
        cache.clear()
        before = cache.statistics()
        value = loop()
        engine.wait_for_all()
        after = cache.statistics()
        counted["compilations"] = after.compilations - before.compilations
        return value

    return hybrid(each(loop), answer, lambda: counted)


def mxnet_eager() -> Runner:
    import mxnet as mx

    loop = _mxnet_like(mx)
    return plain(each(loop), loop, 1)


def _jax(body: Callable[[Any, Any], Any]) -> Runner:
    import jax.numpy as jnp

    first, b = (jnp.asarray(array) for array in _inputs())

    def loop() -> Array:
        x = first + 0  # a copy, which may be donated
        for _ in range(TURNS):
            x = body(x, b)
        return np.asarray(x)

    return plain(each(loop), loop, 1)


def _jax_body(x: Any, b: Any) -> Any:
    import jax.numpy as jnp

    return jnp.maximum(x * _FACTOR + b, 0)


def jax_jit() -> Runner:
    import jax

    return _jax(jax.jit(_jax_body, donate_argnums=0))


def jax_eager() -> Runner:
    return _jax(_jax_body)


def torch_eager() -> Runner:
    import torch

    first, b = (torch.from_numpy(array) for array in _inputs())

    def loop() -> Array:
        x = first
        for _ in range(TURNS):
            x = torch.relu(x * _FACTOR + b)
        return x.numpy()

    return pytorch(each(loop), loop)


CONTESTANTS: dict[str, Callable[[], Runner]] = {
    "hybridnet": ours,
    "jit": jax_jit,
    "jax": jax_eager,
    "torch": torch_eager,
    "mxnet": mxnet_eager,
}

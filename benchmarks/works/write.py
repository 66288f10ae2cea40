"""``x[3] = 1`` on an array of 100 MB, each write waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from works.runner import Array, Runner, each, hybrid, plain, pytorch

_SHAPE = (5000, 5000)


def _sample(value: Array) -> Array:
    return np.concatenate([value[2, ::500], value[3, ::500], value[4, ::500]])


def _mxnet_like(mx: Any) -> tuple[Callable[[], None], Callable[[], Array]]:
    x = mx.nd.zeros(_SHAPE)

    def once() -> None:
        x[3] = 1
        x.wait_to_read()

    def answer() -> Array:
        once()
        return _sample(x.asnumpy())

    return once, answer


def ours() -> Runner:
    import hybridnet as hn

    once, answer = _mxnet_like(hn)
    return hybrid(each(once), answer)


def mxnet_eager() -> Runner:
    import mxnet as mx

    once, answer = _mxnet_like(mx)
    return plain(each(once), answer)


def _jax(write: Callable[[Any], Any]) -> Runner:
    import jax.numpy as jnp

    x = jnp.zeros(_SHAPE, jnp.float32)

    def once() -> None:
        nonlocal x
        x = write(x).block_until_ready()

    def answer() -> Array:
        once()
        return _sample(np.asarray(x).copy())

    return plain(each(once), answer)


def _write(x: Any) -> Any:
    return x.at[3].set(1)


def jax_jit() -> Runner:
    import jax

    return _jax(jax.jit(_write, donate_argnums=0))


def jax_eager() -> Runner:
    return _jax(_write)


def torch_eager() -> Runner:
    import torch

    x = torch.zeros(_SHAPE)

    def once() -> None:
        x[3] = 1

    def answer() -> Array:
        once()
        return _sample(x.numpy())

    return pytorch(each(once), answer)


CONTESTANTS: dict[str, Callable[[], Runner]] = {
    "hybridnet": ours,
    "jit": jax_jit,
    "jax": jax_eager,
    "torch": torch_eager,
    "mxnet": mxnet_eager,
}

"""200 chained small operators: ``x * 1.001 + b``, 100 times over, from the same x each turn.

Nothing can be donated, since x and b are needed again. On small arrays the value is read at the
end of each turn; on large ones it is waited for, because reading would time the copy to the host.

The same under a tape, with a backward pass, is timed until the gradient is computed. ``RECORDING``
and ``TAPING`` time hybridnet's own share of both: the Python code up to the launch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from works.runner import Array, Runner, each, hybrid, plain, pytorch

#: Operators in one turn.
OPERATORS = 200
_FACTOR = 1.001


def _inputs(size: int) -> tuple[Array, Array]:
    random = np.random.default_rng(0)
    return (
        random.standard_normal((size, size), dtype=np.float32),
        random.standard_normal((size, size), dtype=np.float32),
    )


def _chain(x: Any, b: Any) -> Any:
    for _ in range(OPERATORS // 2):
        x = x * _FACTOR + b
    return x


def _sample(value: Array) -> Array:
    return np.asarray(value).reshape(-1)[::997]


def _mxnet_like(mx: Any, size: int) -> tuple[Callable[[], Any], Callable[[], Array]]:
    x, b = (mx.nd.array(array) for array in _inputs(size))

    def read() -> Any:
        return _chain(x, b).asnumpy()

    def wait() -> None:
        _chain(x, b).wait_to_read()

    return (read if size < 100 else wait), lambda: _sample(read())


def ours(size: int) -> Runner:
    import hybridnet as hn

    once, answer = _mxnet_like(hn, size)
    return hybrid(each(once), answer)


def mxnet_eager(size: int) -> Runner:
    import mxnet as mx

    once, answer = _mxnet_like(mx, size)
    return plain(each(once), answer)


def mxnet_hybridized(size: int) -> Runner:
    import mxnet as mx

    class Chain(mx.gluon.HybridBlock):  # type: ignore[misc]
        def hybrid_forward(self, F: Any, x: Any, b: Any) -> Any:
            return _chain(x, b)

    net = Chain()
    net.hybridize(static_alloc=True, static_shape=True)
    x, b = (mx.nd.array(array) for array in _inputs(size))

    def read() -> Array:
        return net(x, b).asnumpy()

    def wait() -> None:
        net(x, b).wait_to_read()

    return plain(each(read if size < 100 else wait), lambda: _sample(read()))


def _jax(size: int, chain: Callable[[Any, Any], Any]) -> Runner:
    import jax
    import jax.numpy as jnp

    x, b = (jnp.asarray(array) for array in _inputs(size))

    def read() -> Array:
        return np.array(chain(x, b))

    def wait() -> None:
        jax.block_until_ready(chain(x, b))

    return plain(each(read if size < 100 else wait), lambda: _sample(read()))


def jax_jit(size: int) -> Runner:
    import jax

    return _jax(size, jax.jit(_chain))


def jax_eager(size: int) -> Runner:
    return _jax(size, _chain)


def torch_eager(size: int) -> Runner:
    import torch

    x, b = (torch.from_numpy(array) for array in _inputs(size))

    def once() -> Array:
        y = _chain(x, b).numpy()
        return y.copy() if size < 100 else y

    return pytorch(each(once), lambda: _sample(once()))


CONTESTANTS: dict[str, Callable[[int], Runner]] = {
    "hybridnet": ours,
    "jit": jax_jit,
    "jax": jax_eager,
    "torch": torch_eager,
    "mxnet": mxnet_eager,
    "mxnet hybridized": mxnet_hybridized,
}


# The recorder alone -------------------------------------------------------------------------------


def _recorded(size: int) -> Runner:
    from hybridnet import nd

    x, b = (nd.array(array) for array in _inputs(size))

    def turn(turns: int) -> float:
        spent = 0.0
        for _ in range(turns):
            started = time.perf_counter()
            y = _chain(x, b)
            spent += time.perf_counter() - started
            y.wait_to_read()
        return spent

    return hybrid(turn, lambda: _sample(_chain(x, b).asnumpy()))


RECORDING: dict[str, Callable[[int], Runner]] = {"hybridnet": _recorded}


def _taped(size: int, whole: bool) -> Runner:
    """With the program that computes the gradient, or without."""
    from hybridnet import autograd, nd

    x, b = (nd.array(array) for array in _inputs(size))
    x.attach_grad()

    def turn(turns: int) -> float:
        spent = 0.0
        for _ in range(turns):
            started = time.perf_counter()
            with autograd.record():
                y = _chain(x, b)
            y.backward()
            recorded = time.perf_counter()
            x.grad.wait_to_read()
            spent += (time.perf_counter() if whole else recorded) - started
        return spent

    def answer() -> Array:
        turn(1)
        return _sample(x.grad.asnumpy())

    return hybrid(turn, answer)


def _taped_torch(size: int) -> Runner:
    import torch

    x, b = (torch.from_numpy(array) for array in _inputs(size))
    x.requires_grad_()
    ones = torch.ones_like(b)

    def once() -> None:
        x.grad = None
        _chain(x, b).backward(ones)

    def answer() -> Array:
        once()
        return _sample(x.grad.numpy())

    return pytorch(each(once), answer)


def _taped_jit(size: int) -> Runner:
    import jax
    import jax.numpy as jnp

    x, b = (jnp.asarray(array) for array in _inputs(size))

    @jax.jit
    def both(x: Any, b: Any) -> tuple[Any, Any]:
        y, pull = jax.vjp(lambda x: _chain(x, b), x)
        return y, pull(jnp.ones_like(y))[0]

    def once() -> None:
        jax.block_until_ready(both(x, b))

    return plain(each(once), lambda: _sample(np.asarray(both(x, b)[1])))


TAPED: dict[str, Callable[[int], Runner]] = {
    "hybridnet": partial(_taped, whole=True),
    "jit": _taped_jit,
    "torch": _taped_torch,
}
TAPING: dict[str, Callable[[int], Runner]] = {"hybridnet": partial(_taped, whole=False)}

"""Works of code that runs once (``once.py``), in JAX: operator by operator, as in a notebook.

Each takes the library, and the time before its import, and returns the seconds of what it measured.
A round of operators is there as one ``jax.jit`` of all ten, too, which is compiled for each shape.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from works.once import Seconds

__all__ = ["WORKS"]


def first_operator(jax: Any, started: float) -> Seconds:
    """From before the import until the first result is printed."""
    print(np.asarray(jax.numpy.ones((2, 3)) * 2 + 1), file=sys.stderr)
    return {"import and first operator": time.perf_counter() - started}


def _ten(jax: Any, x: Any) -> Any:
    jnp = jax.numpy
    y = jnp.tanh(x @ x.T)
    z = jax.nn.softmax(y)
    both = jnp.concatenate([y, z], axis=1).T
    return z.sum(axis=1), both[:2, :2].mean()


def operators(jax: Any, _: float) -> Seconds:
    """Ten ordinary operators, on shapes that never come again: by themselves, and as one."""
    draw = np.random.RandomState(0)
    found = {}
    for row, function in (
        ("ten operators, new shapes", lambda x: _ten(jax, x)),
        ("ten operators, one jit", jax.jit(lambda x: _ten(jax, x))),
    ):
        times = []
        for number in range(40):
            data = draw.rand(3 + number, 4 + number).astype("float32")
            started = time.perf_counter()
            sums, mean = function(jax.numpy.asarray(data))
            sums.block_until_ready()
            float(mean)
            times.append(time.perf_counter() - started)
        found[row] = statistics.median(times[5:])
    return found


def gradients(jax: Any, _: float) -> Seconds:
    """The same with a gradient, also on shapes that never come again."""
    draw = np.random.RandomState(0)

    def value(x: Any) -> Any:
        return jax.nn.softmax(jax.nn.relu(x - 0.5) @ x.T).max(axis=1).sum()

    times = []
    for number in range(40):
        data = draw.rand(3 + number, 4 + number).astype("float32")
        started = time.perf_counter()
        np.asarray(jax.grad(value)(jax.numpy.asarray(data)))
        times.append(time.perf_counter() - started)
    return {"six operators and gradients": statistics.median(times[5:])}


WORKS: dict[str, Callable[[Any, float], Seconds]] = {
    "import": first_operator,
    "operators": operators,
    "gradients": gradients,
}

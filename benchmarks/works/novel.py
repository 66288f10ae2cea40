"""The worst case: programs whose structure never repeats, each read at its end.

Program k is drawn from seed k: 10 to 40 small operators, each of which reads the result before it,
so that nothing is dead code. Every contestant runs programs 0, 1, 2, ... once each, from a cold
start; there is no ``jit``, which would compile each of them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from works.runner import Array, Runner

#: Used by no other work, so that every contestant starts cold.
_SHAPE = (11, 7)
_UNARY = ("tanh", "sigmoid", "abs", "negative", "relu")
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum")

Step = tuple[str, int, Any]
Operators = dict[str, Callable[..., Any]]


def program(seed: int) -> list[Step]:
    """Returns steps (operator, other operand or -1, scalar or None)."""
    draw = random.Random(seed)
    steps: list[Step] = []
    for number in range(draw.randint(10, 40)):
        kind = draw.random()
        if kind < 0.4:
            steps.append((draw.choice(_UNARY), -1, None))
        elif kind < 0.55:
            steps.append(("scale", -1, draw.uniform(0.5, 1.0)))
        elif kind < 0.65:
            steps.append(("mean", -1, None))
        else:
            steps.append((draw.choice(_BINARY), draw.randint(0, number), None))
    return steps


def _run(steps: list[Step], x: Any, of: Operators) -> Any:
    values = [x]
    for name, other, scalar in steps:
        last = values[-1]
        if scalar is not None:
            values.append(of[name](last, scalar))
        elif other < 0:
            values.append(of[name](last))
        else:
            values.append(of[name](last, values[other]))
    return values[-1]


def _runner(x: Any, of: Operators, read: Callable[[Any], Array]) -> Runner:
    results: list[float] = []

    def turn(turns: int) -> float:
        spent = 0.0
        for _ in range(turns):
            steps = program(len(results))
            started = time.perf_counter()
            value = read(_run(steps, x, of))
            spent += time.perf_counter() - started
            results.append(float(value.sum()))
        return spent

    return Runner(turn, lambda: np.array(results), lambda: None)


def _first() -> Array:
    return np.random.default_rng(0).standard_normal(_SHAPE, dtype=np.float32)


def _arithmetic() -> Operators:
    return {
        "abs": abs,
        "negative": lambda x: -x,
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "scale": lambda x, by: x * by,
    }


def _mxnet_like(mx: Any) -> Runner:
    nd = mx.nd
    of = _arithmetic() | {
        "tanh": nd.tanh,
        "sigmoid": nd.sigmoid,
        "relu": nd.relu,
        "maximum": nd.maximum,
        "minimum": nd.minimum,
        "mean": lambda x: x - nd.mean(x, axis=0, keepdims=True),
    }
    return _runner(nd.array(_first()), of, lambda value: value.asnumpy())


def ours() -> Runner:
    import hybridnet as hn

    return _mxnet_like(hn)


def mxnet_eager() -> Runner:
    import mxnet as mx

    return _mxnet_like(mx)


def jax_eager() -> Runner:
    import jax
    import jax.numpy as jnp

    of = _arithmetic() | {
        "tanh": jnp.tanh,
        "sigmoid": jax.nn.sigmoid,
        "relu": jax.nn.relu,
        "maximum": jnp.maximum,
        "minimum": jnp.minimum,
        "mean": lambda x: x - jnp.mean(x, axis=0, keepdims=True),
    }
    return _runner(jnp.asarray(_first()), of, np.asarray)


def torch_eager() -> Runner:
    import torch

    of = _arithmetic() | {
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "relu": torch.relu,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "mean": lambda x: x - torch.mean(x, dim=0, keepdim=True),
    }
    return _runner(torch.from_numpy(_first()), of, lambda value: value.numpy())


CONTESTANTS: dict[str, Callable[[], Runner]] = {
    "hybridnet": ours,
    "jax": jax_eager,
    "torch": torch_eager,
    "mxnet": mxnet_eager,
}

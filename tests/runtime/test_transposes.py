"""Transposes sink below what works element by element: as many as are needed, the same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hybridnet.runtime.programs.transposes import sink


def last(x):
    return jnp.moveaxis(x, 1, -1)


def back(x):
    return jnp.moveaxis(x, -1, 1)


def residual(x, y):
    """Two values with the channels last whose sum is needed twice."""
    total = jax.nn.relu(back(jnp.sin(x))) + back(y) * 0.5
    kept = jnp.where(total > 0, total, 0.25)
    return last(kept).sum((0, 1, 2)), last(total * kept), x.sum()


def per_channel(x, y):
    """Vectors and thin arrays that are broadcast in between."""
    bias = y[0, 0, 0]
    moved = back(jnp.cos(x)) + bias[:, None, None] * back(y[:1, :1, :1])
    return last(moved), last(moved - y[:1, :1, 0, :1].reshape(1, 1, 1, 1))


def given_last(x, y):
    """What is needed with the channels first, too."""
    turned = back(x * y)
    return turned + 1, last(jnp.tanh(turned) - turned)


def looped(x, y):
    """Loops and functions that are called keep what they compute."""
    turned = back(x)
    scanned, _ = jax.lax.scan(lambda c, _: (c * 0.5 + turned, None), turned, None, 3)
    return last(jnp.exp(turned) + turned), last(scanned), jax.jit(jnp.sinh)(y)


@pytest.mark.parametrize(
    ("function", "left"), [(residual, 0), (per_channel, 0), (given_last, 1), (looped, 2)]
)
def test_the_numbers_are_the_same_and_transposes_fewer(function, left):
    random = np.random.default_rng(0)
    arrays = [jnp.asarray(random.normal(size=(8, 12, 12, 32)), "float32") for _ in range(2)]
    closed = jax.jit(function).trace(*arrays).jaxpr
    sunk = jax.jit(sink(closed)).trace(*arrays)
    turned = [one.outvars[0] for one in sunk.jaxpr.eqns if one.primitive.name == "transpose"]
    assert sum(array.aval.size == arrays[0].size for array in turned) == left
    for made, expected in zip(jax.jit(sink(closed))(*arrays), function(*arrays), strict=True):
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: last(back(x)),  # nothing is between them
        lambda x: back(jnp.sin(x)),  # it is needed with the channels first
        lambda x: last(back(x) + jnp.cumsum(back(x), 1)),  # not of one element alone
        lambda x: last(back(x[:1, :2, :2])) + 1,  # small
    ],
)
def test_what_is_as_good_as_it_was_is_left_alone(function):
    array = jnp.zeros((8, 12, 12, 32), "float32")
    assert sink(jax.jit(function).trace(array).jaxpr) is None

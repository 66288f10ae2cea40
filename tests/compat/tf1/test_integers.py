"""Small and unsigned integers: what TensorFlow does with them on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf

KINDS = ("int8", "uint8", "int16", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_fed_held_and_made(kind: str) -> None:
    dtype, values = getattr(tf, kind), np.array([3, 4], kind)
    a, b = tf.placeholder(dtype), tf.placeholder(dtype, [2])
    variable = tf.Variable(values)
    made = tf.cast([3.2, 4.9], dtype)
    assert a.dtype == variable.dtype.base_dtype == made.dtype == dtype
    with tf.Session() as session:
        session.run(variable.initializer)
        found = session.run(
            [a, b, variable, made, tf.constant([3, 4], dtype)], {a: [3, 4], b: values}
        )
    for one in found:
        assert one.dtype == np.dtype(kind) and one.tolist() == [3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_computed_with(kind: str) -> None:
    a, b = tf.placeholder(getattr(tf, kind)), tf.placeholder(getattr(tf, kind))
    sums = [a + b, a * b, a - b, tf.concat([a, b], 0), tf.reduce_max(a), tf.cast(a, tf.float32)]
    x, y = np.array([2, 100], kind), np.array([3, 99], kind)
    with tf.Session() as session:
        found = session.run(sums, {a: x, b: y})
    wanted = [x + y, x * y, x - y, np.concatenate([x, y]), x.max(), x.astype("float32")]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype

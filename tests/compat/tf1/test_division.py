"""Divisions that round, against NumPy: down, and towards 0."""

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_quotients_and_rests(dtype):
    x = np.array([7, -7, 7, -7, 6, 0, 2**24 + 1, -(2**24) - 1], dtype)
    y = np.array([2, 2, -2, -2, 3, 5, 3, 3], dtype)
    wanted = {
        "floor_div": x // y,
        "truncatediv": np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y)),
        "truncatemod": np.fmod(x, y),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        for name, want in wanted.items():
            made = getattr(tf, name)(tf.constant(x), tf.constant(y))
            assert made.dtype.name == dtype
            kind = {"floor_div": "FloorDiv", "truncatediv": "TruncateDiv"}.get(name, "TruncateMod")
            assert (made.op.type, made.name) == (kind, f"{kind}:0")
            np.testing.assert_array_equal(session.run(made), want, err_msg=name)


def test_a_rounded_quotient_has_no_gradient():
    with tf.Graph().as_default():
        x = tf.constant([7.5, -7.5])
        assert tf.gradients(tf.truncatediv(x, tf.constant(2.0)), [x]) == [None]

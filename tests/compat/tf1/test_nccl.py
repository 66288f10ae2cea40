"""`tf.contrib.nccl` on several devices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf

GIVEN = [np.array([1.0, -2.0], np.float32), np.array([3.0, 5.0], np.float32)]


@pytest.fixture
def tensors():
    with tf.Graph().as_default():
        made = []
        for number, one in enumerate(GIVEN):
            with tf.device(f"/cpu:{number}"):
                made.append(tf.identity(tf.constant(one)))
        yield made


@pytest.mark.parametrize(
    ("name", "function"),
    [("sum", np.sum), ("prod", np.prod), ("min", np.min), ("max", np.max)],
)
def test_all_devices_get_the_result(tensors, name, function):
    found = getattr(tf.contrib.nccl, f"all_{name}")(tensors)
    assert [one.device for one in found] == ["/device:CPU:0", "/device:CPU:1"]
    with tf.Session() as session:
        for one in session.run(found):
            np.testing.assert_array_equal(one, function(GIVEN, axis=0))
        np.testing.assert_array_equal(session.run(found[1]), function(GIVEN, axis=0))


def test_the_gradient_of_all_sum_is_a_sum(tensors):
    first, second = tf.contrib.nccl.all_sum(tensors)
    slopes = tf.gradients([first * 2.0, second * 3.0], tensors)
    with tf.Session() as session:
        assert [one.tolist() for one in session.run(slopes)] == [[5, 5], [5, 5]]


def test_one_sum_and_a_tensor_for_all(tensors):
    with tf.Session() as session:
        assert session.run(tf.contrib.nccl.reduce_sum(tensors)).tolist() == [4, 3]
        assert session.run(tf.contrib.nccl.broadcast(tensors[1])).tolist() == [3, 5]


def test_what_cannot_be_summed_is_refused(tensors):
    with pytest.raises(ValueError, match="Must pass >0 tensors"):
        tf.contrib.nccl.all_max([])
    with pytest.raises(ValueError):
        tf.contrib.nccl.all_sum([tensors[0], tf.constant([1.0, 2.0, 3.0])])

"""Tensors with unknown sizes in other shapes: TensorFlow 2.21's shapes, and NumPy's values."""

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf

#: (the shape of a placeholder, the shape it is given, what TensorFlow 2.21 knows of the result).
KNOWN = [
    ([None, 4], [1, 15, 4], [1, 15, 4]),
    ([None, 3], [7, -1, 3], [7, None, 3]),
    ([None, 3], [7, -1, 5], [7, None, 5]),
    ([None, None], [2, 3], [2, 3]),
    ([None, 4], [-1], [None]),
    ([None, 6], [-1, 4], [None, 4]),
    (None, [2, -1], [2, None]),
    ([2, None], [2, -1], [2, None]),
    ([None, 4], [0, 4], [0, 4]),
]


@pytest.mark.parametrize(("given", "sizes", "wanted"), KNOWN)
def test_shapes_that_are_known_when_the_graph_is_built(given, sizes, wanted):
    with tf.Graph().as_default():
        made = tf.reshape(tf.placeholder(tf.float32, given), sizes)
        assert made.shape.as_list() == wanted


@pytest.mark.parametrize(("given", "sizes"), [([None, 4], [1, 15, 5]), ([None, 0], [3, 2])])
def test_sizes_that_no_input_fits(given, sizes):
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Reshape: cannot give"):
        tf.reshape(tf.placeholder(tf.float32, given), sizes)


def test_scores_of_a_recurrent_network_get_their_steps_back_with_gradients():
    rows = np.random.default_rng(0).normal(size=(2, 15, 4)).astype("float32")
    weights = np.random.default_rng(1).normal(size=(4, 3)).astype("float32")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 15, 4])
        y = tf.reshape(tf.matmul(tf.reshape(x, [-1, 4]), tf.constant(weights)), [2, 15, 3])
        z = tf.reshape(y, [5, -1, 3])
        (slope,) = tf.gradients(tf.reduce_sum(tf.square(z)), [x])
        got, slopes = session.run([z, slope], {x: rows})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {x: rows[:1]})
    np.testing.assert_allclose(got, (rows @ weights).reshape(5, 6, 3), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slopes, 2 * rows @ weights @ weights.T, rtol=1e-4, atol=1e-5)

"""Samples of `tf.distributions`; what they say of themselves is compared with TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf

_COUNT = 4000


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def _drawn(one, feeds=None):
    with tf.Session() as session:
        return session.run(one.sample(_COUNT), feeds)


def test_samples_have_the_mean_and_spread_of_their_distribution():
    of = tf.distributions
    loc = tf.placeholder(tf.float32, [None, 1])
    values = np.array([[-1.0], [3.0]], "float32")
    for one in (
        of.Normal(loc, [0.5, 2.0]),
        of.Uniform(loc, loc + [2.0, 5.0]),
        of.Bernoulli(probs=tf.sigmoid(loc) * [1.0, 0.5]),
    ):
        feeds = {loc: values}
        found = _drawn(one, feeds)
        with tf.Session() as session:
            mean, spread = session.run([one.mean(), one.stddev()], feeds)
        assert found.shape == (_COUNT, 2, 2) and found.dtype == one.dtype.as_numpy_dtype
        error = 5 * spread / np.sqrt(_COUNT)  # of the mean, by five standard errors
        assert (np.abs(found.mean(0) - mean) < error).all()
        np.testing.assert_allclose(found.std(0), spread, rtol=0.1)


def test_classes_are_as_often_as_their_probabilities_say():
    probs = np.array([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]], "float32")
    found = _drawn(tf.distributions.Categorical(probs=probs))
    assert found.shape == (_COUNT, 2) and found.dtype == np.int32
    often = np.stack([(found == one).mean(0) for one in range(3)], 1)
    np.testing.assert_allclose(often, probs, atol=5 * np.sqrt(0.25 / _COUNT))


def test_the_step_of_a_policy_moves_towards_what_was_good():
    """As scripts of reinforcement learning have it: -log_prob(action) times the advantage."""
    logits = tf.Variable([[0.0, 0.0, 0.0]])
    policy = tf.contrib.distributions.Categorical(logits=logits)
    loss = -tf.reduce_mean(policy.log_prob([2]) * 1.5) - 0.01 * tf.reduce_mean(policy.entropy())
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(logits), [[-0.5, -0.5, 1.0]], rtol=1e-5)


def test_what_a_sample_must_know():
    one = tf.distributions.Categorical(logits=[0.0, 1.0])
    with pytest.raises(ValueError, match="sample_shape must be known"):
        one.sample(tf.placeholder(tf.int32, []))
    with pytest.raises(NotImplementedError, match="mean is not implemented"):
        one.mean()
    with pytest.raises(NotImplementedError, match="registered for Categorical and Normal"):
        one.kl_divergence(tf.distributions.Normal(0.0, 1.0))

"""Classes that are drawn for losses: how often each comes, and what is said of that."""

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf

TRUE = [[0], [3], [10]]


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def draws(fetched, count):
    with tf.Session() as sess:
        return [sess.run(fetched) for _ in range(count)]


def test_different_classes_by_zipfs_law_and_how_often_they_are_expected():
    # TensorFlow 2.21 says, for class 0 and 4 of 20: 0.7252 after five tries, and 4 p without one
    # that came again, 0.9107.
    made = tf.nn.log_uniform_candidate_sampler(tf.constant(TRUE, tf.int64), 1, 4, True, 20, seed=3)
    assert made.sampled_candidates.shape.as_list() == [4]
    chance = np.log1p(1 / (np.arange(20) + 1)) / np.log(21)
    came, said = np.zeros(20), []
    for ids, true, of_drawn in draws(made, 300):
        assert len(set(ids.tolist())) == 4 and true.shape == (3, 1) and of_drawn.shape == (4,)
        came[ids] += 1
        said.append(true[:, 0])
        with np.errstate(divide="ignore", invalid="ignore"):
            tries = np.log1p(-true[:, 0]) / np.log1p(-chance[[0, 3, 10]])
        again = np.allclose(tries, np.round(tries[0]), atol=1e-3)
        assert again or np.allclose(true[:, 0], 4 * chance[[0, 3, 10]])
    values = {round(float(one[0]), 4) for one in said}
    assert {0.7252, 0.9107} <= values
    assert abs(came[0] / 300 - 0.7) < 0.1 and came[0] > came[3] > came[19]


def test_others_may_come_again_and_follow_their_weights():
    true = tf.constant([[0], [1]], tf.int64)
    weights = [1.0, 2.0, 0.0, 1.0]
    fixed = tf.nn.fixed_unigram_candidate_sampler(
        true, 1, 400, False, 5, num_reserved_ids=1, unigrams=weights, seed=1
    )
    even = tf.nn.uniform_candidate_sampler(true, 1, 400, False, 5, seed=1)
    ((ids, expected, _), (uniform, _, of_uniform)) = draws([fixed, even], 1)[0]
    counts = np.bincount(ids, minlength=5)
    np.testing.assert_allclose(expected[:, 0], [0, 100])
    assert counts[0] == counts[3] == 0 and abs(counts[2] - 200) < 50
    assert np.ptp(np.bincount(uniform, minlength=5)) < 60 and np.allclose(of_uniform, 80)
    everything = draws(tf.nn.all_candidate_sampler(true, 1, 3, True), 1)[0]
    assert everything.sampled_candidates.tolist() == [0, 1, 2]
    # As TensorFlow 2.21 says.
    assert everything.true_expected_count.tolist() == [[1], [1]]
    assert everything.sampled_expected_count.tolist() == [1, 1, 1]


def test_labels_may_be_of_32_bits():
    table, x = tf.constant(np.eye(5, 3, dtype=np.float32)), tf.ones([2, 3])
    made = tf.nn.sampled_softmax_loss(
        table, tf.zeros([5]), tf.constant([[1], [2]], tf.int32), x, 3, 5, seed=2
    )
    with tf.Session() as session:
        assert session.run(made).shape == (2,)


def test_a_seed_repeats_the_draws():
    true = tf.constant(TRUE, tf.int64)
    one, two = (
        tf.nn.log_uniform_candidate_sampler(true, 1, 5, True, 1000, seed=4) for _ in range(2)
    )
    (found,) = draws([one.sampled_candidates, two.sampled_candidates], 1)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: tf.nn.uniform_candidate_sampler(t, 1, 6, True, 5), "6 different classes"),
        (lambda t: tf.nn.fixed_unigram_candidate_sampler(t, 1, 2, True, 5), "exactly one of"),
        (
            lambda t: tf.nn.fixed_unigram_candidate_sampler(t, 1, 2, True, 5, unigrams=[1.0]),
            "range_max is 5 but there are 1",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call(tf.constant(TRUE, tf.int64))

"""`tf.contrib`'s blocks of arguments, normalization, training steps and settings, against NumPy.

TensorFlow 2 has them no more, so what they give is compared with their formulas, and with
`tf.layers` and `tf.losses`, which are compared with TensorFlow.
"""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def _rows(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def _run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_a_block_of_arguments_gives_keywords():
    slim = tf.contrib.slim

    @slim.add_arg_scope
    def one(a, b=1, c=2):
        return a, b, c

    @tf.contrib.framework.add_arg_scope
    def other(a, b=1):
        return a, b

    with slim.arg_scope([one, other], b=10) as held:
        assert one(0) == (0, 10, 2) and other(0) == (0, 10) and one(0, b=5) == (0, 5, 2)
        with slim.arg_scope([one], c=20):
            assert one(0) == (0, 10, 20)
        assert one(0) == (0, 10, 2)
    assert one(0) == (0, 1, 2)
    with slim.arg_scope(held):
        assert other(0) == (0, 10)
        with tf.Graph().as_default():
            assert other(0) == (0, 1)  # a block is of its graph
    with pytest.raises(ValueError, match="not decorated"), slim.arg_scope([len], b=1):
        pass
    with pytest.raises(ValueError, match="kwargs must be empty"), slim.arg_scope(held, b=1):
        pass
    assert slim.has_arg_scope(slim.conv2d) and not slim.has_arg_scope(len)


@pytest.mark.parametrize("how", ["updates", "in place"])
def test_normalization_by_the_batch(how):
    x = tf.placeholder(tf.float32, [None, 3])
    training = tf.placeholder(tf.bool, [])
    collections = tf.GraphKeys.UPDATE_OPS if how == "updates" else None
    y = tf.contrib.layers.batch_norm(
        x, decay=0.9, is_training=training, updates_collections=collections, scope="bn"
    )
    assert [one.name for one in tf.global_variables()] == [
        "bn/beta:0", "bn/moving_mean:0", "bn/moving_variance:0",
    ]  # fmt: skip
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == (2 if how == "updates" else 0)
    rows = _rows(8, 3)
    mean, variance = rows.mean(0), rows.var(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, *_ = session.run([y, *updates], {x: rows, training: True})
        np.testing.assert_allclose(got, (rows - mean) / np.sqrt(variance + 1e-3), rtol=1e-4)
        moved = session.run(tf.global_variables()[1:])
        np.testing.assert_allclose(moved[0], 0.1 * mean, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(moved[1], 0.9 + 0.1 * variance, rtol=1e-4)
        got = session.run(y, {x: rows, training: False})
        want = (rows - moved[0]) / np.sqrt(moved[1] + 1e-3)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_network_of_slim_with_normalization():
    slim = tf.contrib.slim
    x = tf.placeholder(tf.float32, [None, 8, 8, 2])
    with (
        slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm, padding="VALID"),
        slim.arg_scope([slim.batch_norm], is_training=False, scale=True),
    ):
        y = slim.repeat(x, 2, slim.conv2d, 4, 3, scope="conv1")
    y = slim.stack(slim.flatten(y), slim.fully_connected, [5, 3], scope="fc")
    assert [one.op.name for one in slim.get_variables("conv1/conv1_2")] == [
        f"conv1/conv1_2/{name}" for name in (
            "weights", "BatchNorm/gamma", "BatchNorm/beta", "BatchNorm/moving_mean",
            "BatchNorm/moving_variance",
        )
    ]  # fmt: skip
    assert [one.op.name for one in slim.get_variables(suffix="biases")] == [
        "fc/fc_1/biases", "fc/fc_2/biases",
    ]  # fmt: skip
    left = tf.contrib.framework.get_variables_to_restore(exclude=["conv1", "fc/fc_1"])
    assert [one.op.name for one in left] == ["fc/fc_2/weights", "fc/fc_2/biases"]
    assert _run(y, {x: _rows(2, 8, 8, 2)}).shape == (2, 3)


def test_normalization_of_each_example():
    rows = _rows(4, 3, 5)
    y = tf.contrib.layers.layer_norm(tf.constant(rows), scope="ln")
    assert [f"{v.op.name} {v.shape}" for v in tf.global_variables()] == [
        "ln/beta (5,)", "ln/gamma (5,)",
    ]  # fmt: skip
    mean, variance = rows.mean((1, 2), keepdims=True), rows.var((1, 2), keepdims=True)
    np.testing.assert_allclose(_run(y), (rows - mean) / np.sqrt(variance), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_transposed_convolution_is_that_of_layers(padding):
    x = tf.constant(_rows(2, 4, 5, 3))
    y = tf.contrib.layers.conv2d_transpose(x, 2, [3, 2], 2, padding, activation_fn=None, scope="a")
    z = tf.layers.conv2d_transpose(x, 2, [3, 2], 2, padding, name="b")
    w, _, v, _ = tf.global_variables()
    assert w.shape == v.shape and y.shape == z.shape
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(v.assign(w))
        np.testing.assert_allclose(*session.run([y, z]), rtol=1e-5)


def test_dropout_only_in_training():
    x = tf.ones([100, 10])
    kept = _run(tf.contrib.layers.dropout(x, 0.8, is_training=False))
    dropped = _run(tf.contrib.layers.dropout(x, 0.8))
    np.testing.assert_array_equal(kept, 1.0)
    np.testing.assert_allclose(np.unique(dropped), [0.0, 1.25])
    assert 0.7 < (dropped > 0).mean() < 0.9


def test_a_training_step_in_one_call():
    start = _rows(4)
    v = tf.Variable(start)
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(v**2.0)
    train = tf.contrib.layers.optimize_loss(
        loss, step, 0.5, "SGD", clip_gradients=1.0, gradient_multipliers={v: 0.5},
        learning_rate_decay_fn=lambda rate, n: rate / tf.cast(n + 1, tf.float32),
    )  # fmt: skip
    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES)
    assert [one.op.name for one in summaries] == ["OptimizeLoss/learning_rate", "OptimizeLoss/loss"]
    want = start.astype(float)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for n in range(3):
            np.testing.assert_allclose(session.run(train), (want**2).sum(), rtol=1e-5)
            slope = want.copy()  # half of 2 v
            want -= 0.5 / (n + 1) * slope / max(1.0, np.linalg.norm(slope))
            np.testing.assert_allclose(session.run(v), want, rtol=1e-5)
        assert session.run(step) == 3
    with pytest.raises(ValueError, match="Optimizer name should be one of"):
        tf.contrib.layers.optimize_loss(loss, step, 0.1, "none")
    with pytest.raises(ValueError, match="Learning rate is None"):
        tf.contrib.layers.optimize_loss(loss, step, None, "Adam")
    with pytest.raises(ValueError, match="Summaries should be one of"):
        tf.contrib.layers.optimize_loss(loss, step, 0.1, "Adam", summaries=["all"])


def test_losses_take_predictions_first():
    guesses, labels = (
        tf.constant(_rows(4, 3)),
        tf.constant(np.eye(3, dtype="float32")[[0, 2, 1, 1]]),
    )
    of, old = tf.losses, tf.contrib.losses
    pairs = [
        (old.mean_squared_error(guesses, labels), of.mean_squared_error(labels, guesses)),
        (old.absolute_difference(guesses, labels), of.absolute_difference(labels, guesses)),
        (old.hinge_loss(guesses, labels), of.hinge_loss(labels, guesses)),
        (old.softmax_cross_entropy(guesses, labels), of.softmax_cross_entropy(labels, guesses)),
        (old.sigmoid_cross_entropy(guesses, labels), of.sigmoid_cross_entropy(labels, guesses)),
        (old.cosine_distance(guesses, labels, dim=1), of.cosine_distance(labels, guesses, axis=1)),
    ]  # fmt: skip
    for one, other in _run(pairs):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert len(old.get_losses()) == 2 * len(pairs)


def test_settings_of_a_run():
    made = tf.contrib.training.HParams(rate=0.1, sizes=[3, 4], name="a", deep=True, steps=5)
    assert made.rate == 0.1 and "name" in made and "other" not in made and made.get("x", 7) == 7
    made.parse("rate=1,sizes=[5,6,7],name=b c,deep=false,sizes[1]=9")
    assert made.values() == {
        "rate": 1.0, "sizes": [5, 9, 7], "name": "b c", "deep": False, "steps": 5,
    }  # fmt: skip
    made.set_hparam("steps", 6)
    made.parse_json('{"rate": 2}')
    made.add_hparam("more", 1)
    assert made.to_json(sort_keys=True) == (
        '{"deep": false, "more": 1, "name": "b c", "rate": 2.0, "sizes": [5, 9, 7], "steps": 6}'
    )
    made.del_hparam("more")
    assert "more" not in made
    for wrong in ("none=1", "steps=x", "deep=maybe", "=3"):
        with pytest.raises(ValueError):
            made.parse(wrong)
    with pytest.raises(ValueError, match="reserved"):
        made.add_hparam("values", 1)
    with pytest.raises(ValueError, match="Could not cast hparam steps"):
        made.set_hparam("steps", 1.5)


def test_a_decoder_of_steps_and_its_loss():
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    steps = [tf.constant(_rows(2, 3, seed=n)) for n in range(3)]
    first = cell.zero_state(2, tf.float32)
    outputs, last = tf.contrib.legacy_seq2seq.rnn_decoder(steps, first, cell)
    same, state = tf.nn.static_rnn(cell, steps, initial_state=first)
    targets = [np.array([1, 3]), np.array([0, 2]), np.array([3, 3])]
    weights = [np.float32([1, 1]), np.float32([1, 0]), np.float32([0.5, 0])]
    of = tf.contrib.legacy_seq2seq
    each = of.sequence_loss_by_example(outputs, targets, weights)
    plain = of.sequence_loss_by_example(outputs, targets, weights, average_across_timesteps=False)
    mean = of.sequence_loss(outputs, targets, weights)
    names = [one.op.name for one in tf.global_variables()]
    assert names == ["rnn_decoder/basic_lstm_cell/kernel", "rnn_decoder/basic_lstm_cell/bias"]
    got, wanted, *losses = _run([[outputs, last], [same, state], each, plain, mean])
    for one, other in zip(tf.nest.flatten(got), tf.nest.flatten(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    sums = np.zeros(2)
    for scores, labels, factors in zip(got[0], targets, weights, strict=True):
        logs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
        sums -= logs[np.arange(2), labels] * factors
    total = np.sum(weights, axis=0)
    np.testing.assert_allclose(losses[0], sums / total, rtol=1e-5)
    np.testing.assert_allclose(losses[1], sums, rtol=1e-5)
    np.testing.assert_allclose(losses[2], (sums / total).mean(), rtol=1e-5)
    with pytest.raises(ValueError, match="must be the same 3, 3, 2"):
        of.sequence_loss_by_example(outputs, targets[:2], weights)


def test_what_a_decoder_gave_goes_in_again():
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    steps = [tf.ones([2, 3])] * 3
    called = []

    def again(output, number):
        called.append(number)
        return output * 2.0

    outputs, _ = tf.contrib.legacy_seq2seq.rnn_decoder(
        steps, cell.zero_state(2, tf.float32), cell, again
    )
    assert called == [1, 2]
    state, x, wanted = cell.zero_state(2, tf.float32), tf.ones([2, 3]), []
    for _ in steps:
        output, state = cell(x, state)
        wanted.append(output)
        x = output * 2.0
    np.testing.assert_allclose(*_run([outputs, wanted]), rtol=1e-5)


def test_layers_in_a_scope_that_cuts_variables_give_what_whole_ones_give():
    x, cut = _rows(6, 4), tf.fixed_size_partitioner(2)
    # `tf.layers` of TensorFlow 2 needs a package that is not there; so the formulas are NumPy's.
    with tf.variable_scope("net", partitioner=cut, initializer=tf.ones_initializer()):
        layer = tf.layers.Dense(3, activation=tf.nn.relu)
        y = layer(x)
        z = tf.layers.batch_normalization(y, training=True)
        w = tf.contrib.layers.fully_connected(
            z, 2, None, weights_initializer=tf.ones_initializer(), variables_collections=["mine"]
        )
    moved = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    names = [one.op.name for one in tf.global_variables()]
    assert names[:3] == [
        "net/dense/kernel/part_0",
        "net/dense/kernel/part_1",
        "net/dense/bias/part_0",
    ]
    assert "net/batch_normalization/moving_mean" in names
    assert [one.shape.as_list() for one in layer.trainable_weights] == [[2, 3], [2, 3], [2], [1]]
    mine = [one.op.name for one in tf.get_collection("mine")]
    assert mine == [
        f"net/fully_connected/{of}/part_{part}" for of in ("weights", "biases") for part in (0, 1)
    ]
    got = _run([y, z, w, *moved])
    want = np.maximum(x.sum(1, keepdims=True).repeat(3, 1), 0)
    normal = (want - want.mean(0)) / np.sqrt(want.var(0) + 1e-3)
    np.testing.assert_allclose(got[0], want, rtol=1e-5)
    np.testing.assert_allclose(got[1], normal, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        got[2], normal.sum(1, keepdims=True).repeat(2, 1), rtol=1e-4, atol=1e-5
    )


def test_initial_values_of_parts_are_scaled_as_those_of_the_whole():
    cut = tf.fixed_size_partitioner(50)
    names = "glorot_uniform", "lecun_uniform", "uniform_unit_scaling"
    made = [
        tf.get_variable(
            one, [400, 100], partitioner=cut, initializer=getattr(tf.initializers, one)()
        )
        for one in names
    ]
    limits = np.sqrt(6 / 500), np.sqrt(3 / 400), np.sqrt(3 / 400)
    for found, limit in zip(_run([one.as_tensor() for one in made]), limits, strict=True):
        assert 0.98 * limit < np.abs(found).max() <= limit

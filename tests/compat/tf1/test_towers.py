"""A tower on each device, gradients averaged on the CPU: the step of the whole batch on one."""

import numpy as np

import hybridnet.compat.tf1 as tf


def losses(x, y, devices):
    """The losses of shares of a batch, one on each device; the variables are the first CPU's."""
    for number, (rows, wanted, device) in enumerate(
        zip(tf.split(x, len(devices)), tf.split(y, len(devices)), devices, strict=True)
    ):
        with (
            tf.device(device),
            tf.name_scope(f"tower_{number}"),
            tf.variable_scope("model", reuse=tf.AUTO_REUSE),
        ):
            with tf.device("/cpu:0"):
                w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
            yield w, tf.reduce_mean(tf.square(tf.tanh(tf.matmul(rows, w)) - wanted))


def trained(devices, rows, wanted):
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        x, y = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.float32, [4, 2])
        opt, grads = tf.train.MomentumOptimizer(0.3, 0.9), []
        for _, loss in losses(x, y, devices):
            grads.append(opt.compute_gradients(loss))
        mean = [
            (tf.reduce_mean(tf.stack([grad for grad, _ in pairs]), 0), pairs[0][1])
            for pairs in zip(*grads, strict=True)
        ]
        train = opt.apply_gradients(mean)
        (w,) = tf.trainable_variables()
        assert w.device == "/device:CPU:0"
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(train, {x: rows, y: wanted})
            made = sess.run(w)
            sess.run(train, {x: rows, y: wanted}, options, metadata)
        return made, [one.device[-5:] for one in metadata.step_stats.dev_stats]


def test_two_towers_make_the_step_of_one():
    draw = np.random.default_rng(0)
    rows, wanted = draw.normal(size=(4, 3)), draw.normal(size=(4, 2))
    alone, _ = trained(["/cpu:0"], rows, wanted)
    towers, devices = trained(["/cpu:0", "/cpu:1"], rows, wanted)
    np.testing.assert_allclose(towers, alone, rtol=1e-5)
    assert sorted(devices) == ["cpu:0", "cpu:1"]

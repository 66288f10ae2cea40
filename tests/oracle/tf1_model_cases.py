"""Small models as tutorials for TensorFlow 1.x build them; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, numbers


@case
def linear_regression(tf: Any) -> Any:
    X, Y = tf.placeholder("float"), tf.placeholder("float")
    W, b = tf.Variable(0.3, name="weight"), tf.Variable(-0.1, name="bias")
    pred = tf.add(tf.multiply(X, W), b)
    cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * 10)
    optimizer = tf.train.GradientDescentOptimizer(0.01).minimize(cost)
    xs, ys = numbers(10, low=1, high=9), numbers(10, low=1, high=4)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            for x, y in zip(xs, ys, strict=True):
                sess.run(optimizer, feed_dict={X: x, Y: y})
        return [sess.run(cost, feed_dict={X: xs, Y: ys}), sess.run(W), sess.run(b), cost.name]


@case
def batch_normalization_with_moving_averages(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 3])
    training = tf.placeholder(tf.bool)
    with tf.variable_scope("bn"):
        beta = tf.get_variable("beta", [3], initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", [3], initializer=tf.ones_initializer())
        mean, variance = tf.nn.moments(x, [0], name="moments")
        average = tf.train.ExponentialMovingAverage(decay=0.5)

        def updated() -> Any:
            with tf.control_dependencies([average.apply([mean, variance])]):
                return tf.identity(mean), tf.identity(variance)

        used = tf.cond(
            training, updated, lambda: (average.average(mean), average.average(variance))
        )
        y = tf.nn.batch_normalization(x, *used, beta, gamma, 1e-3)
    data = numbers(6, 3, low=-2, high=3)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for train in (True, True, False):
            found.append(sess.run(y, {x: data, training: train}))
    return [found, [one.name for one in tf.global_variables()]]


@case
def two_networks_against_each_other(tf: Any) -> Any:
    def generator(z: Any) -> Any:
        with tf.variable_scope("generator"):
            w = tf.get_variable("w", initializer=tf.constant(numbers(2, 3)))
            b = tf.get_variable("b", initializer=tf.zeros([3]))
            return tf.nn.tanh(tf.matmul(z, w) + b)

    def discriminator(x: Any, reuse: bool | None = None) -> Any:
        with tf.variable_scope("discriminator", reuse=reuse):
            w = tf.get_variable("w", initializer=tf.constant(numbers(3, 1)))
            return tf.matmul(x, w)

    x, z = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 2])
    fake = generator(z)
    real_logit, fake_logit = discriminator(x), discriminator(fake, reuse=True)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits
    d_loss = tf.reduce_mean(entropy(logits=real_logit, labels=tf.ones_like(real_logit)))
    d_loss += tf.reduce_mean(entropy(logits=fake_logit, labels=tf.zeros_like(fake_logit)))
    g_loss = tf.reduce_mean(entropy(logits=fake_logit, labels=tf.ones_like(fake_logit)))
    d_vars = [one for one in tf.trainable_variables() if one.name.startswith("disc")]
    g_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="generator")
    d_step = tf.train.AdamOptimizer(0.1, beta1=0.5).minimize(d_loss, var_list=d_vars)
    g_step = tf.train.AdamOptimizer(0.1, beta1=0.5).minimize(g_loss, var_list=g_vars)
    feeds = {x: numbers(4, 3), z: numbers(4, 2)}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = []
        for _ in range(3):
            found += [sess.run([d_step, d_loss], feeds)[1], sess.run([g_step, g_loss], feeds)[1]]
        return [found, sess.run(fake, feeds), [one.name for one in tf.global_variables()]]


@case
def an_autoencoder_that_draws(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 4])
    w = tf.Variable(numbers(4, 4))
    hidden = tf.matmul(x, w)
    mean, log_variance = tf.split(hidden, 2, axis=1)
    noise = tf.random_normal(tf.shape(mean), name="noise")
    code = mean + tf.exp(log_variance / 2.0) * noise
    decoded = tf.sigmoid(tf.matmul(code, tf.Variable(numbers(2, 4))))
    entropy = -tf.reduce_sum(
        x * tf.log(1e-8 + decoded) + (1 - x) * tf.log(1e-8 + 1 - decoded), axis=1
    )
    divergence = -0.5 * tf.reduce_sum(
        1 + log_variance - tf.square(mean) - tf.exp(log_variance), axis=1
    )
    loss = tf.reduce_mean(entropy + divergence)
    step = tf.train.RMSPropOptimizer(0.01).minimize(loss)
    feeds = {x: numbers(5, 4, low=0, high=1), noise: numbers(5, 2)}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = [sess.run([step, loss], feeds)[1] for _ in range(3)]
        drawn = sess.run(code, {x: feeds[x]}).shape
    return [found, list(drawn), [code.name, loss.name, noise.name]]


@case
def a_recurrent_network_by_hand(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 5, 2])
    labels = tf.placeholder(tf.int32, [None])
    with tf.variable_scope("lstm"):
        kernel = tf.get_variable("kernel", initializer=tf.constant(numbers(5, 12)))
        bias = tf.get_variable("bias", initializer=tf.zeros([12]))
    h = c = tf.zeros([tf.shape(x)[0], 3])
    for one in tf.unstack(x, 5, 1):
        gates = tf.matmul(tf.concat([one, h], 1), kernel) + bias
        i, j, f, o = tf.split(gates, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    logits = tf.matmul(h, tf.Variable(numbers(3, 4), name="out"))
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels)
    )
    optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
    grads, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, norm = tf.clip_by_global_norm(grads, 0.2)
    step = optimizer.apply_gradients(zip(grads, variables, strict=True))
    correct = tf.nn.in_top_k(logits, labels, 1)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    feeds = {x: numbers(6, 5, 2), labels: [0, 1, 2, 3, 0, 1]}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = [sess.run([step, loss, norm, accuracy], feeds)[1:] for _ in range(4)]
    return [found, [h.name, loss.name, accuracy.name, step.name]]


@case
def images_made_by_transposed_convolution(tf: Any) -> Any:
    z = tf.placeholder(tf.float32, [None, 4])
    batch = tf.shape(z)[0]
    h = tf.reshape(tf.matmul(z, tf.Variable(numbers(4, 16))), [-1, 2, 2, 4])
    h = tf.nn.leaky_relu(h, 0.2)
    w = tf.Variable(numbers(3, 3, 1, 4))
    image = tf.nn.conv2d_transpose(h, w, tf.stack([batch, 4, 4, 1]), [1, 2, 2, 1])
    image = tf.tanh(tf.nn.bias_add(image, tf.Variable(tf.zeros([1]))))
    loss = tf.losses.mean_squared_error(tf.zeros_like(image), image)
    step = tf.train.AdagradOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = [sess.run([step, loss], {z: numbers(3, 4)})[1] for _ in range(3)]
        made = sess.run(image, {z: numbers(2, 4)})
    return [found, made, image.name]


@case
def nearest_neighbors_and_clusters(tf: Any) -> Any:
    points = tf.constant(numbers(8, 2))
    centroids = tf.Variable(numbers(8, 2)[:3])
    expanded, wide = tf.expand_dims(points, 0), tf.expand_dims(centroids, 1)
    distances = tf.reduce_sum(tf.square(tf.subtract(expanded, wide)), 2)
    nearest = tf.argmin(distances, 0)
    totals = tf.unsorted_segment_sum(points, nearest, 3)
    counts = tf.unsorted_segment_sum(tf.ones_like(points), nearest, 3)
    update = centroids.assign(totals / counts)
    near = tf.argmin(tf.reduce_sum(tf.abs(tf.add(points, tf.negative([0.1, 0.2]))), axis=1), 0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = [sess.run(update) for _ in range(3)]
        return [found, sess.run(nearest), sess.run(near), np.asarray(sess.run(counts)[:, 0])]

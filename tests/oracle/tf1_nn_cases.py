"""Networks' functions of TensorFlow's 1.x API; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

from oracle.tf1_case import case, error_of, feeding, numbers, static


def _with_gradients(tf: Any, output: Any, inputs: list[Any]) -> list[Any]:
    found = tf.gradients(tf.square(output), inputs)
    return [output, *(tf.identity(one, name="g") for one in found)]


@case
def activations(tf: Any) -> Any:
    x = tf.constant(numbers(2, 5, low=-3, high=7))
    functions = [
        tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign,
        tf.nn.sigmoid, tf.nn.tanh, tf.nn.leaky_relu, tf.nn.softmax, tf.nn.log_softmax,
        tf.nn.crelu, tf.nn.swish, tf.nn.l2_loss,
    ]  # fmt: skip
    found = [*(function(x) for function in functions), tf.nn.softmax(x, axis=0)]
    found += [tf.nn.softmax(x, dim=0), tf.nn.leaky_relu(x, alpha=0.1), tf.nn.l2_normalize(x, 1)]
    found += [tf.nn.l2_normalize(x, dim=0), tf.nn.zero_fraction(tf.nn.relu(x))]
    gradients = [tf.gradients(tf.square(function(x)), x)[0] for function in functions]
    return found + [tf.identity(one, name="g") for one in gradients]


@case
def biases(tf: Any) -> Any:
    x, c = tf.constant(numbers(2, 3, 3, 2)), tf.constant(numbers(2, 2, 3, 3))
    b = tf.constant([0.5, -1.0])
    return [
        *_with_gradients(tf, tf.nn.bias_add(x, b), [x, b]),
        *_with_gradients(tf, tf.nn.bias_add(c, b, data_format="NCHW"), [c, b]),
        tf.nn.bias_add(x[0, 0], b),
        tf.nn.xw_plus_b(x[0, 0], tf.constant(numbers(2, 4)), [1.0, 2.0, 3.0, 4.0]),
        tf.nn.relu_layer(x[0, 0], tf.constant(numbers(2, 4)), [1.0, 2.0, 3.0, 4.0]),
    ]


@case
def convolutions(tf: Any) -> Any:
    x, w = tf.constant(numbers(2, 6, 5, 2)), tf.constant(numbers(3, 2, 2, 3))
    c = tf.transpose(x, [0, 3, 1, 2])
    found = []
    for strides, padding in (
        ([1, 1, 1, 1], "SAME"), ([1, 1, 1, 1], "VALID"), ([1, 2, 2, 1], "SAME"),
        ([1, 3, 2, 1], "VALID"),
    ):  # fmt: skip
        found += [tf.nn.conv2d(x, w, strides, padding)]
    found += _with_gradients(tf, tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME"), [x, w])
    found += [tf.nn.conv2d(x, w, 1, "SAME", dilations=[1, 2, 2, 1])]
    found += [tf.nn.conv2d(input=x, filter=w, strides=2, padding=[[0, 0], [1, 0], [2, 1], [0, 0]])]
    found += [tf.nn.conv2d(x, w, strides=[1, 1], padding="VALID", name="named")]
    return [*found, static(c)]


@case
def convolutions_with_channels_first(tf: Any) -> Any:
    c, w = tf.placeholder(tf.float32, [2, 2, 6, 5]), tf.constant(numbers(3, 2, 2, 3))
    return [
        static(tf.nn.conv2d(c, w, [1, 1, 2, 2], "SAME", data_format="NCHW")),
        static(tf.nn.max_pool(c, [1, 1, 2, 2], [1, 1, 2, 2], "SAME", data_format="NCHW")),
        static(tf.nn.avg_pool(c, [1, 1, 3, 2], [1, 1, 2, 2], "VALID", data_format="NCHW")),
    ]


@case
def more_convolutions(tf: Any) -> Any:
    x, w = tf.constant(numbers(1, 5, 5, 2)), tf.constant(numbers(3, 3, 2, 2))
    t = tf.constant(numbers(2, 2, 3, 2))
    p = tf.constant(numbers(1, 1, 4, 3))
    s = tf.constant(numbers(1, 7, 2))
    v = tf.constant(numbers(1, 3, 4, 3, 1))
    found = []
    found += _with_gradients(tf, tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"), [x, w])
    found += [tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "VALID")]
    found += [tf.nn.separable_conv2d(x, w, p, [1, 1, 1, 1], "SAME")]
    deep = tf.nn.conv2d_transpose(x, t, [1, 10, 10, 3], [1, 2, 2, 1], "SAME")
    found += _with_gradients(tf, deep, [x, t])
    found += [tf.nn.conv2d_transpose(x, t, [1, 6, 6, 3], 1, "VALID")]
    found += [tf.nn.conv2d_transpose(x, t, [tf.shape(x)[0], 9, 9, 3], [1, 2, 2, 1], "SAME")]
    found += [tf.nn.conv1d(s, tf.constant(numbers(3, 2, 2)), 2, "SAME")]
    found += [tf.nn.conv3d(v, tf.constant(numbers(2, 2, 2, 1, 2)), [1, 1, 1, 1, 1], "SAME")]
    found += [tf.nn.convolution(x, w, "SAME"), tf.nn.convolution(x, w, "VALID", strides=[2, 2])]
    found += [tf.nn.atrous_conv2d(x, w, 2, "SAME"), tf.nn.convolution(s, numbers(3, 2, 2), "VALID")]
    return found


@case
def pools(tf: Any) -> Any:
    x = tf.constant(numbers(2, 5, 6, 2))
    found = []
    for pool in (tf.nn.max_pool, tf.nn.avg_pool):
        for size, strides, padding in (
            ([1, 2, 2, 1], [1, 2, 2, 1], "SAME"), ([1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
            ([1, 3, 3, 1], [1, 2, 2, 1], "SAME"), ([1, 3, 2, 1], [1, 1, 1, 1], "SAME"),
        ):  # fmt: skip
            found += _with_gradients(tf, pool(x, size, strides, padding), [x])
    found += [tf.nn.max_pool(x, ksize=2, strides=2, padding="VALID")]
    found += [tf.nn.avg_pool(value=x, ksize=[1, 5, 6, 1], strides=[1, 1, 1, 1], padding="VALID")]
    found += [
        tf.nn.max_pool2d(x, 2, 2, "SAME"),
        tf.nn.pool(x, [2, 2], "MAX", "VALID", strides=[2, 2]),
    ]
    return found


@case
def pools_of_sizes_not_known_yet(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, None, None, 2])
    w = tf.constant(numbers(3, 2, 2, 3))
    y = tf.nn.max_pool(tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME"), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    nest = [y, *tf.gradients(y, w), tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")]
    return feeding(nest, {x: numbers(2, 6, 5, 2)})


@case
def normalizations(tf: Any) -> Any:
    x = tf.constant(numbers(3, 2, 4, 3))
    mean, variance = tf.nn.moments(x, [0, 1, 2])
    scale, offset = tf.constant([1.0, 2.0, 0.5]), tf.constant([0.5, -1.0, 0.0])
    normal = tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)
    fused, fused_mean, fused_variance = tf.nn.fused_batch_norm(x, scale, offset)
    still, _, _ = tf.nn.fused_batch_norm(
        x, scale, offset, mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0], is_training=False
    )
    return [
        mean, variance, *tf.nn.moments(x, axes=[1], keep_dims=True),
        *_with_gradients(tf, normal, [x, scale, offset]),
        tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3),
        *_with_gradients(tf, fused, [x, scale, offset]), fused_mean, fused_variance,
        *_with_gradients(tf, still, [x]),
        *_with_gradients(tf, tf.nn.lrn(x, 1, 2.0, 0.5, 0.75), [x]),
        tf.nn.local_response_normalization(x, depth_radius=2, bias=1.0, alpha=1e-1, beta=0.5),
    ]  # fmt: skip


@case
def cross_entropies(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4, low=-2, high=2))
    soft = tf.nn.softmax(tf.constant(numbers(3, 4)))
    hard = tf.constant([1, 0, 3])
    functions = {
        "softmax": lambda: tf.nn.softmax_cross_entropy_with_logits(labels=soft, logits=x),
        "softmax v2": lambda: tf.nn.softmax_cross_entropy_with_logits_v2(labels=soft, logits=x),
        "sparse": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=hard, logits=x),
        "sigmoid": lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=soft, logits=x),
        "weighted": lambda: tf.nn.weighted_cross_entropy_with_logits(soft, x, 2.0),
    }
    found = {}
    for name, function in functions.items():
        found[name] = _with_gradients(tf, function(), [x])
    return {
        key: [static(one[0]), *(tf.identity(each) for each in one)] for key, one in found.items()
    }


@case
def losses(tf: Any) -> Any:
    x = tf.constant(numbers(3, 4, low=-2, high=2))
    y = tf.constant(numbers(3, 4, low=0, high=1))
    hot = tf.one_hot([1, 0, 3], 4)
    found = [
        tf.losses.mean_squared_error(y, x), tf.losses.absolute_difference(y, x),
        tf.losses.softmax_cross_entropy(hot, x), tf.losses.sigmoid_cross_entropy(hot, x),
        tf.losses.sparse_softmax_cross_entropy([1, 0, 3], x), tf.losses.log_loss(y, y * 0.5 + 0.1),
        tf.losses.hinge_loss(hot, x), tf.losses.huber_loss(y, x),
        tf.losses.cosine_distance(y, x, axis=1),
        tf.losses.mean_squared_error(y, x, weights=[[1.0], [0.0], [2.0]]),
        tf.losses.softmax_cross_entropy(hot, x, label_smoothing=0.1),
        tf.losses.compute_weighted_loss(tf.reduce_sum(y, 1), reduction=tf.losses.Reduction.SUM),
    ]  # fmt: skip
    listed = [one.name for one in tf.losses.get_losses()]
    total = tf.losses.get_total_loss()
    return [*(tf.identity(one) for one in found), tf.identity(total), len(listed)]


@case
def dropped(tf: Any) -> Any:
    x = tf.ones([4, 6])
    kept = tf.nn.dropout(x, keep_prob=0.5)
    values = tf.reduce_all((tf.equal(kept, 0.0)) | tf.equal(kept, 2.0))
    return [
        static(kept), values, static(tf.nn.dropout(x, rate=0.3)), tf.nn.dropout(x, keep_prob=1.0),
        static(tf.nn.dropout(x, 0.5, noise_shape=[4, 1])),
        static(tf.nn.dropout(x, tf.constant(0.5))),
    ]  # fmt: skip


@case
def refused(tf: Any) -> Any:
    x, w = tf.constant(numbers(2, 6, 5, 2)), tf.constant(numbers(3, 2, 2, 3))
    y = tf.constant(numbers(3, 4))
    return {
        "channels": error_of(lambda: tf.nn.conv2d(x, w[:, :, :1], [1, 1, 1, 1], "SAME")),
        "padding": error_of(lambda: tf.nn.conv2d(x, w, [1, 1, 1, 1], "HALF")),
        "rank": error_of(lambda: tf.nn.conv2d(x[0, 0], w, [1, 1, 1, 1], "SAME")),
        "too small": error_of(lambda: tf.nn.conv2d(x[:, :2], w, [1, 1, 1, 1], "VALID")),
        "strides": error_of(lambda: tf.nn.conv2d(x, w, [1, 1, 1], "SAME")),
        "positional labels": error_of(lambda: tf.nn.softmax_cross_entropy_with_logits(y, y)),
        "labels of floats": error_of(
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=y)
        ),
        "sigmoid shapes": error_of(
            lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=y[0], logits=y)
        ),
        "keep_prob": error_of(lambda: tf.nn.dropout(y, keep_prob=1.5)),
        "bias": error_of(lambda: tf.nn.bias_add(y, [1.0, 2.0])),
        "relu of bool": error_of(lambda: tf.nn.relu(y > 0)),
    }


@case
def few_of_many_classes(tf: Any) -> Any:
    w, b, x = (tf.constant(numbers(*shape)) for shape in [(12, 3), (12,), (4, 3)])
    labels = tf.constant([[1, 5], [2, 2], [7, 0], [11, 3]], tf.int64)
    drawn = (
        tf.constant([5, 7, 0, 4, 9], tf.int64),
        tf.constant(numbers(4, 2, low=0.1, high=1)),
        tf.constant(numbers(5, low=0.1, high=1)),
    )
    found = {}
    for name in ("nce_loss", "sampled_softmax_loss"):
        for hits in (False, True):
            loss = getattr(tf.nn, name)(w, b, labels, x, 5, 12, 2, drawn, hits)
            grads = [tf.convert_to_tensor(one) for one in tf.gradients(loss, [w, b, x])]
            found[f"{name} {hits}"] = [tf.identity(one) for one in (loss, *grads)]
    return found

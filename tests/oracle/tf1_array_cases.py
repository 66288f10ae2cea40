"""Making, cutting and joining arrays in TensorFlow's 1.x API; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, feeding, numbers, static


@case
def constants(tf: Any) -> Any:
    return [
        tf.constant(1), tf.constant(1.5), tf.constant([1, 2]), tf.constant(3, tf.float32),
        tf.constant(2.0, shape=[2, 2]), tf.constant([[1, 2, 3]], shape=[3, 1]), tf.constant(True),
        tf.constant(np.arange(3)), tf.constant(np.ones(2)), tf.constant([1, 2], name="named"),
        tf.zeros([2, 3]), tf.ones([2], tf.int32), tf.zeros([]), tf.fill([2, 2], 7),
        tf.fill([2], 1.5), tf.range(5), tf.range(2, 6), tf.range(1, 9, 3), tf.range(0.0, 1.0, 0.25),
        tf.range(6, 0, -2), tf.linspace(0.0, 1.0, 5), tf.lin_space(1.0, 2.0, 3), tf.zeros([0, 3]),
        tf.range(3, dtype=tf.float32), tf.convert_to_tensor([1.0, 2.0]),
        tf.convert_to_tensor(np.float64(2)),
    ]  # fmt: skip


@case
def shapes_of(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, 4))
    return [
        tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x)[1], tf.shape(x, out_type=tf.int64),
        tf.zeros_like(x), tf.ones_like(x, dtype=tf.int32), tf.fill(tf.shape(x)[:1], 2.0),
        tf.zeros(tf.shape(x)[1:]), str(x.shape), str(x.get_shape()), x.shape.as_list(),
        x.get_shape().ndims, int(x.shape[1]), tf.shape_n([x, x])[0],
        tf.broadcast_dynamic_shape([2, 1], [3]), tf.reduce_prod(tf.shape(x)),
        str(tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([1, 3]))),
    ]  # fmt: skip


@case
def reshaped(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, 4))
    y = tf.constant(numbers(1, 3, 1, 2))
    return [
        tf.reshape(x, [6, 4]), tf.reshape(x, [-1]), tf.reshape(x, (2, -1)),
        tf.reshape(x, [tf.shape(x)[0], -1]), tf.reshape(3.0, []), tf.reshape(x, tf.shape(x)),
        tf.expand_dims(x, 0), tf.expand_dims(x, -1), tf.expand_dims(x, axis=1),
        tf.expand_dims(x, dim=2), tf.squeeze(y), tf.squeeze(y, [0]), tf.squeeze(y, axis=-2),
        tf.squeeze(y, squeeze_dims=[0, 2]), tf.transpose(x), tf.transpose(x, [1, 0, 2]),
        tf.transpose(x, perm=(2, 0, 1)), tf.broadcast_to([1.0, 2.0], [3, 2]),
        tf.reshape(x, [-1, 12]),
        tf.ensure_shape(x, [2, None, 4]),
    ]  # fmt: skip


@case
def cut(tf: Any) -> Any:
    x = tf.constant(numbers(4, 5, 2))
    i = tf.constant(1)
    return [
        x[0], x[-1], x[1:3], x[:, 1], x[..., 0], x[:, ::2], x[::-1], x[1, 2, 0], x[tf.newaxis, 0],
        x[0, :, None], x[i], x[i:], x[:, -2:], x[2:2], x[..., tf.newaxis], x[:, i, ::-1],
        tf.slice(x, [1, 0, 0], [2, -1, 1]), tf.slice(x, [i, 0, 0], [2, 2, 2]),
        tf.strided_slice(x, [0, 1, 0], [4, 4, 2], [2, 2, 1]), x[3:0:-1, 0],
    ]  # fmt: skip


@case
def cut_gradients(tf: Any) -> Any:
    x = tf.constant(numbers(4, 5))
    i = tf.constant(1)
    found = []
    for part in (x[0], x[1:3], x[:, ::2], x[::-1], x[i], x[i:], x[..., None], x[-1, -1]):
        found += tf.gradients(tf.square(part), x)
    found += tf.gradients(tf.square(tf.slice(x, [1, 0], [2, -1])), x)
    return [tf.identity(one, name="g") for one in found]


@case
def joined(tf: Any) -> Any:
    x, y = tf.constant(numbers(2, 3)), tf.constant(numbers(2, 3, low=0))
    return [
        tf.concat([x, y], 0), tf.concat([x, y], axis=1), tf.concat([x], 0), tf.concat([x, y], -1),
        tf.stack([x, y]), tf.stack([x, y], axis=1), tf.stack([x, y], -1), tf.stack([1, 2, 3]),
        *tf.unstack(x), *tf.unstack(x, axis=1), *tf.split(x, 3, axis=1), *tf.split(y, [1, 2], 1),
        *tf.split(value=x, num_or_size_splits=2, axis=0), *tf.unstack(x, num=2),
        tf.tile(x, [2, 1]), tf.tile([1, 2], [3]), tf.pad(x, [[1, 0], [0, 2]]),
        tf.pad(x, [[1, 1], [0, 0]], constant_values=9.0), tf.pad(x, [[0, 0], [2, 2]], "REFLECT"),
        tf.pad(x, [[1, 1], [1, 1]], mode="SYMMETRIC"), tf.reverse(x, [1]), tf.reverse(x, [-1, 0]),
        tf.meshgrid([1, 2], [3, 4, 5])[0],
        tf.meshgrid([1, 2], [3, 4, 5], indexing="ij")[1], tf.roll(x, 1, 1), tf.repeat(x, 2, axis=0),
        tf.concat([x, [[1.0, 2.0, 3.0]]], 0),
    ]  # fmt: skip


@case
def joined_gradients(tf: Any) -> Any:
    x, y = tf.constant(numbers(2, 3)), tf.constant(numbers(2, 3, low=0))
    found = []
    for value in (
        tf.concat([x, y], 1), tf.stack([x, y], -1), tf.unstack(x)[1], tf.split(x, 3, 1)[2],
        tf.tile(x, [2, 1]), tf.pad(x, [[1, 0], [0, 2]]), tf.pad(x, [[0, 0], [2, 2]], "REFLECT"),
        tf.transpose(x), tf.reshape(x, [-1]), tf.reverse(x, [1]),
    ):  # fmt: skip
        found += tf.gradients(tf.square(value), x)
    return [tf.identity(one, name="g") for one in found]


@case
def one_hot_of_a_late_depth(tf: Any) -> Any:
    depth = tf.placeholder(tf.int32, [])
    wide = tf.placeholder(tf.int32, None)
    x = tf.placeholder(tf.float32, [None, 2])
    ids = tf.placeholder(tf.int32, [None])
    rows = tf.one_hot(ids, tf.shape(x)[0], axis=0)
    picked = tf.matmul(rows, tf.ones([2, 1]))
    (grad,) = tf.gradients(tf.reduce_sum(tf.matmul(rows, x[:2], transpose_a=True)), x)
    made = [
        tf.one_hot([0, 2, 1], depth), tf.one_hot(ids, depth + 1, on_value=5.0, off_value=-1.0),
        tf.one_hot([[1, 0], [2, 5]], depth, axis=1, name="inner"), rows, picked, grad,
        tf.one_hot([1, 0], depth, dtype=tf.int32), tf.one_hot([1], wide, True, False, axis=0),
        tf.one_hot(ids, tf.size(tf.zeros([2, 2]))), tf.one_hot(1, depth),
        tf.one_hot([1, 3], tf.reduce_max(ids) + 1),
        tf.one_hot(tf.zeros([3], tf.int64), depth, axis=0),
    ]  # fmt: skip
    return feeding(made, {depth: 3, wide: 4, ids: [1, 0], x: numbers(2, 2)})


@case
def looked_up(tf: Any) -> Any:
    x = tf.constant(numbers(4, 3))
    t = tf.constant(numbers(2, 3, 2))
    ids = tf.constant([[0, 2], [3, 3]])
    return [
        tf.gather(x, [1, 0, 3]), tf.gather(x, ids), tf.gather(x, 2), tf.gather(x, [0, 2], axis=1),
        tf.gather_nd(x, [[0, 1], [3, 2]]), tf.gather_nd(x, [[1], [2]]),
        tf.gather_nd(t, [[[0, 1]], [[1, 2]]]), tf.nn.embedding_lookup(x, ids),
        tf.one_hot([0, 2, 1], 3), tf.one_hot([0, 5, -1], 3, on_value=5.0, off_value=-1.0),
        tf.one_hot([1, 0], 2, axis=0), tf.one_hot([1, 0], 2, dtype=tf.int32),
        tf.scatter_nd([[1], [3], [1]], [1.0, 2.0, 3.0], [5]),
        tf.scatter_nd([[0, 1]], [4], [2, 2]), tf.where([[True, False], [False, True]]),
        tf.where(x > 0, x, -x), tf.where([True, False, True, False], x, -x),
        tf.where_v2(x > 0, x, 0.0), tf.boolean_mask(x, [True, False, True, True]),
        tf.boolean_mask([1, 2, 3], [False, True, True]), tf.sequence_mask([1, 3, 2], 4),
        tf.invert_permutation([2, 0, 1]), tf.sequence_mask([1, 2]), *tf.unique([1, 1, 4, 2, 4]),
        tf.tensor_scatter_nd_update(x, [[1]], [[7.0, 8.0, 9.0]]),
        tf.tensor_scatter_nd_add([1.0, 2.0], [[1], [1]], [1.0, 2.0]),
    ]  # fmt: skip


@case
def looked_up_gradients(tf: Any) -> Any:
    x = tf.constant(numbers(4, 3))
    found = []
    for value in (
        tf.gather_nd(x, [[0, 1], [3, 2], [0, 1]]), tf.where(x > 0, x * 2.0, -x),
        tf.boolean_mask(x, [True, False, True, True]),
        tf.scatter_nd([[1], [0], [3], [1]], x, [5, 3]), tf.gather(x * 1.0, [1, 1, 3]),
        tf.nn.embedding_lookup(x * 1.0, [[0, 2], [3, 3]]),
    ):  # fmt: skip
        found += tf.gradients(tf.square(value), x)
    return [tf.identity(tf.convert_to_tensor(one), name="g") for one in found]


@case
def image_blocks(tf: Any) -> Any:
    x = tf.constant(numbers(1, 4, 4, 2))
    return [
        tf.space_to_depth(x, 2), tf.depth_to_space(tf.space_to_depth(x, 2), 2),
    ]  # fmt: skip


@case
def placeholders(tf: Any) -> Any:
    a = tf.placeholder(tf.float32)
    b = tf.placeholder(tf.int32, [None, 2])
    c = tf.placeholder(tf.float32, shape=(3,), name="c")
    d = tf.placeholder_with_default(tf.constant([1.0, 2.0]), [None], name="d")
    e = tf.placeholder("float", [None, 784])
    return feeding(
        [a + 1.0, b[0], c * 2.0, d, static(e), tf.stop_gradient(c), tf.identity(a), tf.shape(b),
         tf.reshape(b, [-1]), tf.reshape(a, [2, -1]), b + tf.shape(b), tf.shape(b)[0] * 2,
         tf.zeros([tf.shape(b)[0], 3]), tf.tile([[1, 2]], [tf.shape(b)[0], 1]),
         tf.range(tf.shape(b)[0]), tf.zeros_like(b), tf.one_hot(b, 3), tf.unstack(b, axis=1)[0],
         tf.fill([tf.shape(b)[0]], 2.5), tf.concat([b, b], 0), tf.expand_dims(b, 1),
         tf.gather([1.0, 2.0, 3.0, 4.0], b)],
        {a: [1.0, 2.0], b: numbers(3, 2, low=0, high=4, dtype="int32"), c: [1, 2, 3]},
    )  # fmt: skip


@case
def sizes_that_are_fed(tf: Any) -> Any:
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.Variable([[2.0, 1.0]])
    tiled = tf.reshape(tf.tile(y, [n, 1]), [n, 2])
    masked = tf.boolean_mask(x, x[:, 0] > 0)
    nest = [
        tf.zeros([n, 2]), tf.reduce_sum(tf.square(tiled)), x[:n], x[n - 1 :], tf.range(n),
        tf.fill([n, 1], 3), x[n - 1], tf.ones(tf.stack([n, tf.shape(x)[0]])), masked,
        tf.broadcast_to(y, [n, 2]), tf.where(x > 0)[: n - 1],
    ]  # fmt: skip
    grads = [*tf.gradients(tf.square(tiled), y), *tf.gradients(tf.square(masked), x)]
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for size in (2, 3):
            feeds = {n: size, x: numbers(4, 3)}
            found.append(session.run([*nest, *(tf.identity(one) for one in grads)], feeds))
    return [found, [static(one) for one in nest]]


@case
def nothing_known_of_the_shape(tf: Any) -> Any:
    x = tf.placeholder(tf.float32)
    nest = [
        tf.nn.relu(x), tf.reduce_sum(x), tf.reduce_mean(x, 1), tf.matmul(x, tf.ones([3, 2])),
        tf.reshape(x, [-1]), tf.concat([x, x], 1), tf.transpose(x), x[0], x[0:1, 1],
        tf.argmax(x, 1), tf.expand_dims(x, 0), tf.squeeze(tf.expand_dims(x, 0)), tf.tile(x, [2, 1]),
        tf.shape(x), tf.size(x), tf.rank(x), tf.zeros(tf.shape(x)), tf.gather(x, [0, 1]),
        tf.where(x > 0, x, -x), tf.split(x, 3, 1)[1], tf.stack([x, x]), tf.cumsum(x),
        tf.pad(x, [[1, 1], [0, 0]]), tf.slice(x, [0, 1], [1, 2]), tf.clip_by_norm(x, 1.0),
        tf.nn.moments(x, [0])[1], tf.nn.l2_normalize(x, 1), tf.nn.softmax(x), tf.nn.top_k(x, 2)[0],
        tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x),
        *tf.gradients(tf.reduce_mean(tf.square(x)), x),
    ]  # fmt: skip
    with tf.Session() as session:
        return session.run(nest, {x: numbers(2, 3)})


@case
def random_arrays(tf: Any) -> Any:
    n = tf.placeholder_with_default(3, [])
    return [
        static(tf.random_normal([2, 3])), static(tf.random_uniform([4], 1.0, 2.0, seed=1)),
        static(tf.truncated_normal([2], stddev=0.1)),
        static(tf.random_uniform([3], 0, 9, tf.int32)), static(tf.random_uniform([])),
        static(tf.random_shuffle([1, 2, 3])), static(tf.multinomial([[0.1, 0.2]], 5)),
        static(tf.random_normal([n, 2])), static(tf.random.normal([2, 2], 1.0, 2.0)),
        static(tf.random.uniform([2])), static(tf.random_crop(tf.zeros([4, 4]), [2, 2])),
    ]  # fmt: skip


@case
def refused(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3))
    return {
        "reshape": error_of(lambda: tf.reshape(x, [4, 2])),
        "concat": error_of(lambda: tf.concat([x, [[1.0]]], 0)),
        "stack": error_of(lambda: tf.stack([x, [1.0]])),
        "squeeze": error_of(lambda: tf.squeeze(x, [0])),
        "transpose": error_of(lambda: tf.transpose(x, [0])),
        "split": error_of(lambda: tf.split(x, 2, axis=1)),
        "index": error_of(lambda: x[0, 0, 0]),
        "index beyond": error_of(lambda: x[5]),
        "index of float": error_of(lambda: x[0.5]),
        "tile": error_of(lambda: tf.tile(x, [1])),
        "pad": error_of(lambda: tf.pad(x, [[1, 1]])),
        "gather of floats": error_of(lambda: tf.gather(x, [0.5])),
        "ragged": error_of(lambda: tf.constant([[1], [1, 2]])),
        "int of float": error_of(lambda: tf.constant(1.5, tf.int32)),
        "shape": error_of(lambda: tf.constant([1, 2, 3], shape=[2, 2])),
        "unstack": error_of(lambda: tf.unstack(tf.placeholder(tf.float32, [None]))),
        "where": error_of(lambda: tf.where(x > 0, x)),
        "range of nothing": error_of(lambda: tf.range(0, 5, 0)),
        "expand": error_of(lambda: tf.expand_dims(x, 5)),
    }


@case
def refused_at_run(tf: Any) -> Any:
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        return {
            "missing feed": error_of(lambda: session.run(x + 1.0)),
            "shape of feed": error_of(lambda: session.run(y, {y: [1.0, 2.0, 3.0]})),
            "add": error_of(lambda: session.run(x + y, {x: [1.0, 2.0, 3.0], y: [1.0, 2.0]})),
            "reshape": error_of(lambda: session.run(tf.reshape(x, [2, 2]), {x: [1.0, 2.0]})),
            "matmul": error_of(lambda: session.run(tf.matmul(x, x), {x: [[1.0, 2.0]]})),
            "feed of text": error_of(lambda: session.run(y, {y: ["a", "b"]})),
            "still usable": float(session.run(x, {x: 1.0})),
        }

"""Variables in parts of TensorFlow's 1.x API, and rows looked up in several tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, numbers, static


def _parts(made: Any) -> list[Any]:
    """What a variable in parts is: names, dtype, shapes, and its parts."""
    shapes = [one.shape.as_list() for one in made]
    return [made.name, made.dtype.name, made.get_shape().as_list(), len(made), shapes, *made]


def _names(found: list[Any]) -> list[str]:
    return [one.name for one in found]


@case
def partitioners(tf: Any) -> Any:
    found = []
    for dims in ([7, 3], [100, 8], [2, 1000], [5]):
        shape = tf.TensorShape(dims)
        for kind in (tf.float32, tf.float64, tf.int32):
            made = [
                tf.fixed_size_partitioner(3), tf.fixed_size_partitioner(2, axis=len(dims) - 1),
                tf.min_max_variable_partitioner(4), tf.min_max_variable_partitioner(4, 0, 256),
                tf.min_max_variable_partitioner(50, 0, 20), tf.min_max_variable_partitioner(),
                tf.variable_axis_size_partitioner(64), tf.variable_axis_size_partitioner(1),
                tf.variable_axis_size_partitioner(400, max_shards=3),
                tf.variable_axis_size_partitioner(400, axis=len(dims) - 1),
            ]  # fmt: skip
            found += [list(one(shape=shape, dtype=kind)) for one in made]
    return found


@case
def variables_in_parts(tf: Any) -> Any:
    def counted(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        row = partition_info.var_offset[0] + sum(partition_info.full_shape)
        return tf.fill(shape, tf.cast(row, dtype))

    whole = numbers(7, 3)
    two, three = tf.fixed_size_partitioner(2), tf.fixed_size_partitioner(3)
    a = tf.get_variable("a", [7, 3], initializer=counted, partitioner=three)
    b = tf.get_variable("b", [7, 3], initializer=whole, partitioner=three)
    c = tf.get_variable("c", initializer=tf.constant(whole), partitioner=two)
    d = tf.get_variable("d", [3, 5], partitioner=tf.fixed_size_partitioner(2, 1), trainable=False,
                        initializer=tf.ones_initializer())  # fmt: skip
    e = tf.get_variable("e", [4], tf.int32, partitioner=tf.fixed_size_partitioner(1))
    f = tf.get_variable("f", [4, 4], initializer=tf.initializers.identity(2.0), partitioner=three)
    with tf.variable_scope("s", partitioner=two):
        g = tf.get_variable("g", [4], initializer=tf.zeros_initializer())
        h = tf.get_variable("h", [], initializer=tf.zeros_initializer())
        with tf.variable_scope("t"):
            i = tf.get_variable("i", [3, 2], initializer=tf.zeros_initializer())
    tf.get_variable_scope().set_partitioner(three)
    j = tf.get_variable("j", [3], initializer=tf.zeros_initializer())
    made = [a, b, c, d, e, f, g, i, j]
    drawn = tf.get_variable("drawn", [6, 2])
    return [
        *(_parts(one) for one in made), h, *(one.as_tensor() for one in made),
        [static(one.as_tensor()) for one in (drawn, drawn)],
        _names(tf.trainable_variables()), _names(tf.global_variables()),
        [[one.initial_value.name for one in part] for part in (a, b, c)],
    ]  # fmt: skip


@case
def parts_that_are_shared(tf: Any) -> Any:
    two = tf.fixed_size_partitioner(2)
    sums = lambda v: tf.reduce_sum(v, name="sum")  # noqa: E731
    with tf.variable_scope("s", regularizer=sums):
        first = tf.get_variable("w", [4, 2], initializer=tf.ones_initializer(), partitioner=two)
        plain = tf.get_variable("plain", [4], initializer=tf.ones_initializer())
    with tf.variable_scope("s", reuse=True):
        found = [tf.get_variable("w"), tf.get_variable("w", [4, 2], partitioner=two)]

    def again(reuse: Any, name: str = "w", *args: Any, **keywords: Any) -> str:
        with tf.variable_scope("s", reuse=reuse):
            return error_of(lambda: tf.get_variable(name, *args, **keywords))

    wrong: Any = tf.fixed_size_partitioner
    return [
        [one is first for one in found], plain.name,
        [tf.identity(one, name="loss") for one in tf.get_collection("regularization_losses")],
        again(False, "w", [4, 2], partitioner=two), again(tf.AUTO_REUSE, "w", [4, 2]),
        again(tf.AUTO_REUSE, "w", [4, 2], partitioner=two),
        again(True, "w", [4, 2], partitioner=wrong(3)), again(True, "w", [3, 2]),
        again(True, "w", [4, 2], tf.float64), again(True, "plain", [4], partitioner=two),
        again(True, "none", [4], partitioner=two), again(False, "x", None, partitioner=two),
        again(False, "x", [2, 2], partitioner=5), again(False, "x", [2, 2], partitioner=wrong(0)),
        again(False, "x", [2, 2], partitioner=lambda shape, dtype: [2, 2]),
        again(False, "x", [2, 2], partitioner=lambda shape, dtype: [2]),
        again(False, "x", [2, 2], partitioner=lambda shape, dtype: 2),
        again(False, "x", [2], partitioner=tf.min_max_variable_partitioner(2, axis=1)),
        error_of(lambda: tf.variable_axis_size_partitioner(0)),
        error_of(lambda: tf.variable_axis_size_partitioner(1, max_shards=-1)),
        error_of(lambda: tf.convert_to_tensor(first, tf.int32)),
        _names(tf.trainable_variables()),
    ]  # fmt: skip


@case
def parts_as_tensors(tf: Any) -> Any:
    w = tf.get_variable("w", [4, 3], initializer=numbers(4, 3),
                        partitioner=tf.fixed_size_partitioner(3))  # fmt: skip
    across = tf.get_variable("across", [3, 4], initializer=numbers(3, 4),
                             partitioner=tf.fixed_size_partitioner(2, axis=1))  # fmt: skip
    x = tf.constant(numbers(2, 4))
    y = tf.matmul(tf.matmul(x, w), across)
    grads = tf.gradients(tf.square(y), [*w, *across, x])
    return [y, tf.reduce_sum(w, 0), tf.add(1.0, w), *(tf.identity(one, name="g") for one in grads)]


@case
def parts_that_change(tf: Any) -> Any:
    w = tf.get_variable("w", [5, 2], initializer=numbers(5, 2),
                        partitioner=tf.fixed_size_partitioner(2))  # fmt: skip
    v = tf.get_variable("v", [5, 2], initializer=numbers(5, 2),
                        partitioner=tf.fixed_size_partitioner(2))  # fmt: skip
    n = tf.get_variable("n", [5, 2], initializer=numbers(5, 2),
                        partitioner=tf.fixed_size_partitioner(2))  # fmt: skip
    new = numbers(5, 2, low=2, high=3)
    found = [*w.assign_add(new), *v.assign_sub(new), *n.assign(new)]
    return [tf.identity(one, name="now") for one in found]


@case
def slots_of_parts(tf: Any) -> Any:
    w = tf.get_variable("w", [5, 2], initializer=numbers(5, 2),
                        partitioner=tf.fixed_size_partitioner(2))  # fmt: skip
    loss = tf.reduce_sum(tf.square(w))
    for one in (tf.train.AdamOptimizer(0.1), tf.train.MomentumOptimizer(0.1, 0.9)):
        one.minimize(loss)
    infos = [one._save_slice_info for one in tf.global_variables()]
    return [
        _names(tf.global_variables()),
        [None if one is None else [one.full_name, list(one.full_shape), list(one.var_offset),
                                   list(one.var_shape)] for one in infos],
    ]  # fmt: skip


def _tables(tf: Any, strategy: str, sizes: list[int], *rest: int) -> tuple[np.ndarray, list[Any]]:
    """A table, and the same in several."""
    whole = numbers(sum(sizes), *rest)
    if strategy == "mod":
        parts = [whole[i :: len(sizes)] for i in range(len(sizes))]
    else:
        parts = np.split(whole, np.cumsum(sizes)[:-1])
    assert [len(one) for one in parts] == sizes
    return whole, [tf.constant(one) for one in parts]


@case
def rows_of_several_tables(tf: Any) -> Any:
    found = {}
    for strategy in ("mod", "div"):
        for sizes in ([3, 3], [4, 4, 3], [1, 1, 1, 1], [5]):
            for rest in ((), (2,), (2, 3)):
                whole, tables = _tables(tf, strategy, sizes, *rest)
                for kind in ("int32", "int64"):
                    ids = np.random.RandomState(3).randint(0, len(whole), (3, 4)).astype(kind)
                    rows = tf.nn.embedding_lookup(tables, tf.constant(ids), strategy)
                    grads = tf.gradients(tf.square(rows), tables)
                    found[f"{strategy} {sizes} {rest} {kind}"] = [
                        rows, *(tf.identity(tf.convert_to_tensor(g), name="g") for g in grads)
                    ]  # fmt: skip
    return found


@case
def rows_of_a_variable_in_parts(tf: Any) -> Any:
    w = tf.get_variable("w", [7, 2], initializer=numbers(7, 2),
                        partitioner=tf.fixed_size_partitioner(3))  # fmt: skip
    ids = tf.constant([6, 0, 3, 3, 2])
    div = tf.nn.embedding_lookup(w, ids, "div", name="div")
    short = tf.nn.embedding_lookup(w, ids, partition_strategy="div", max_norm=0.5)
    grads = tf.gradients([div, short], list(w))
    return [
        tf.nn.embedding_lookup(w, ids[:1]), div, tf.identity(short, name="short"),
        tf.nn.embedding_lookup(list(w), [[0, 6], [5, 4]], "div"),
        *(tf.identity(tf.convert_to_tensor(one), name="g") for one in grads),
    ]  # fmt: skip


@case
def errors_of_several_tables(tf: Any) -> Any:
    a, b, c = (tf.constant(numbers(*shape)) for shape in [(3, 2), (3, 4), (3, 2)])
    look = tf.nn.embedding_lookup
    return [
        error_of(lambda: look([a, b], [0])), error_of(lambda: look([a, c], [0], "other")),
        error_of(lambda: look([], [0])), error_of(lambda: look(None, [0])),
        error_of(lambda: look([a, tf.constant([[1, 2]])], [0])),
        error_of(lambda: look([a, c], [0.5])),
    ]  # fmt: skip


@case
def sparse_ids_in_several_tables(tf: Any) -> Any:
    found = []
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 1]], tf.constant([1, 6, 3, 0], tf.int64),
                          [3, 2])  # fmt: skip
    weights = tf.SparseTensor(ids.indices, tf.constant([0.5, 2.0, 1.0, 3.0]), [3, 2])
    for strategy, sizes in (("mod", [4, 3]), ("div", [3, 2, 2])):
        _, tables = _tables(tf, strategy, sizes, 2)
        for how in ("sum", "mean", "sqrtn"):
            for each in (None, weights):
                look = tf.nn.embedding_lookup_sparse
                rows = tf.reshape(look(tables, ids, each, strategy, combiner=how), [3, 2])
                grads = tf.gradients(tf.square(rows), tables)
                listed = [rows, *(tf.convert_to_tensor(one) for one in grads)]
                found += [tf.identity(one, name="g") for one in listed]
    return found


@case
def losses_over_tables(tf: Any) -> Any:
    x = tf.constant(numbers(4, 3))
    labels = tf.constant([[1, 5], [2, 2], [7, 0], [10, 3]], tf.int64)
    drawn = (
        tf.constant([5, 7, 0, 4, 9], tf.int64),
        tf.constant(numbers(4, 2, low=0.1, high=1)),
        tf.constant(numbers(5, low=0.1, high=1)),
    )
    three = tf.fixed_size_partitioner(3)
    w = tf.get_variable("w", [11, 3], initializer=numbers(11, 3), partitioner=three)
    b = tf.get_variable("b", [11], initializer=numbers(11), partitioner=three)
    found = {}
    for name in ("nce_loss", "sampled_softmax_loss"):
        for strategy in ("div", "mod"):
            loss = getattr(tf.nn, name)(
                w, b, labels, x, 5, 11, 2, drawn, partition_strategy=strategy
            )
            grads = tf.gradients(loss, [*w, *b, x])
            listed = [loss, *(tf.convert_to_tensor(one) for one in grads)]
            found[f"{name} {strategy}"] = [tf.identity(one) for one in listed]
    return found

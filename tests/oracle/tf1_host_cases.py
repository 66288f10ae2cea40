"""Sparse tensors, queues and Python functions of TensorFlow's 1.x API; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, numbers


@case
def sparse(tf: Any) -> Any:
    s = tf.SparseTensor(
        indices=[[0, 1], [2, 0], [2, 3]], values=[1.0, 2.0, 3.0], dense_shape=[3, 4]
    )
    d, e = tf.constant(numbers(4, 2)), tf.constant(numbers(3, 2))
    product = tf.sparse_tensor_dense_matmul(s, d)
    summed = tf.sparse_add(s, s)
    reordered = tf.sparse_reorder(tf.SparseTensor([[2, 0], [0, 1]], [5.0, 6.0], [3, 2]))
    found = tf.sparse.from_dense([[0, 2], [3, 0]])
    reshaped = tf.sparse_reshape(s, [2, 6])
    return [
        s.indices, s.values, s.dense_shape, str(s.get_shape()), s.dtype.name,
        tf.sparse_tensor_to_dense(s), tf.sparse.to_dense(s, default_value=-1.0), product,
        tf.sparse_tensor_dense_matmul(s, e, adjoint_a=True),
        *tf.gradients(tf.square(product), [d, s.values]),
        tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [4, 5]),
        tf.sparse_to_dense([1, 3], [5], 1.0, default_value=0.5),
        tf.sparse_tensor_to_dense(summed), reordered.indices, reordered.values,
        tf.sparse_reduce_sum(s, axis=1), tf.sparse_reduce_sum(s), found.indices, found.values,
        reshaped.indices, reshaped.dense_shape, tf.sparse.sparse_dense_matmul(s, d),
    ]  # fmt: skip


@case
def sparse_fed_and_fetched(tf: Any) -> Any:
    p = tf.sparse_placeholder(tf.float32, name="p")
    q = tf.sparse_placeholder(tf.float32, shape=[2, 2])
    value = tf.SparseTensorValue([[0, 0], [1, 1]], [1.0, 2.0], [2, 2])
    with tf.Session() as session:
        dense = session.run(tf.sparse_tensor_to_dense(p), {p: value})
        other = session.run(
            tf.sparse_tensor_to_dense(q),
            {q: (np.array([[0, 1]]), np.array([3.0], "float32"), [2, 2])},
        )
        back = session.run(p, {p: value})
        total = session.run(
            tf.reduce_sum(p.values), {p.values: [1.0, 2.0], p.indices: [[0, 0], [1, 1]]}
        )
    return [
        dense, other, type(back).__name__, back.indices, back.values, back.dense_shape,
        p.indices.name, p.values.name, p.dense_shape.name, total, str(q.get_shape()),
    ]  # fmt: skip


@case
def sparse_lookups(tf: Any) -> Any:
    table = tf.constant(numbers(6, 2))
    ids = tf.SparseTensor(
        [[0, 0], [0, 1], [1, 0], [3, 1]], tf.constant([1, 3, 0, 5], tf.int64), [4, 2]
    )
    weights = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [3, 1]], [1.0, 2.0, 0.5, 1.0], [4, 2])
    found = [
        tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum"),
        tf.nn.embedding_lookup_sparse(table, ids, weights, combiner="mean"),
        tf.nn.embedding_lookup_sparse(table, ids, weights, combiner="sqrtn"),
    ]
    with tf.Session() as session:
        return session.run(found)


@case
def indexed_slices(tf: Any) -> Any:
    parts = tf.constant(numbers(3, 2)), tf.constant([1, 3, 1])
    rows = tf.IndexedSlices(*parts, dense_shape=tf.constant([4, 2]))
    w = tf.Variable(tf.zeros([4, 2]))
    train = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(rows, w)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        dense = session.run(tf.convert_to_tensor(rows) * 1.0)
        value = session.run(rows)
        session.run(train)
        return [dense, value.values, value.indices, rows.dtype.name, session.run(w)]


@case
def a_queue(tf: Any) -> Any:
    queue = tf.FIFOQueue(4, [tf.float32, tf.int32], shapes=[[2], []])
    put = queue.enqueue(([1.0, 2.0], 7))
    many = queue.enqueue_many((numbers(3, 2), [1, 2, 3]))
    x, n = queue.dequeue()
    several = queue.dequeue_many(2)
    size = queue.size()
    found: list[Any] = []
    with tf.Session() as session:
        session.run([put])
        found.append(session.run(size))
        session.run(many)
        found += [session.run(size), *session.run([x, n])]
        found += session.run(list(several))
        found += [session.run(n * 2), session.run(size)]
        session.run(queue.close())
        found.append(session.run(queue.is_closed()))
        found.append(error_of(lambda: session.run(x)))
        found.append(error_of(lambda: session.run(put)))
    return [found, queue.name, put.name, put.type, repr(x), repr(several[0]), repr(size)]


@case
def a_queue_of_one_component(tf: Any) -> Any:
    queue = tf.FIFOQueue(10, tf.int64, shapes=())
    fill = queue.enqueue_many([np.arange(5)])
    x = queue.dequeue()
    with tf.Session() as session:
        session.run(fill)
        session.run(queue.close())
        rest = queue.dequeue_up_to(10)
        return [
            session.run([x])[0],
            session.run(x),
            session.run(rest),
            error_of(lambda: session.run(x)),
        ]


@case
def python_functions(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3))

    def both(a: Any, b: Any) -> Any:
        return (a + b).astype("float32"), np.int64(len(a))

    one = tf.py_func(lambda a: np.sinh(a), [x], tf.float32)
    total, length = tf.py_func(both, [x, tf.constant(2.0)], [tf.float32, tf.int64], name="mine")
    nothing = tf.numpy_function(lambda a: a * 2, [x], tf.float32)
    return [one, total, length, nothing, one + 1.0, total * x, tf.gradients(one, x)[0]]


@case
def functions_with_effects(tf: Any) -> Any:
    seen: list[float] = []

    def note(value: Any) -> Any:
        seen.append(float(value))
        return np.float32(value + 1)

    x = tf.placeholder(tf.float32, [])
    noted = tf.py_func(note, [x], tf.float32)
    with tf.control_dependencies([noted]):
        after = x * 2.0
    with tf.Session() as session:
        first = session.run(after, {x: 1.0})
        second = session.run([noted, after], {x: 5.0})
        session.run(x * 3.0, {x: 9.0})
    return [first, second, seen]


@case
def a_function_that_fails(tf: Any) -> Any:
    def fail(value: Any) -> Any:
        raise ValueError("on purpose")

    y = tf.py_func(fail, [tf.constant(1.0)], tf.float32)
    wrong = tf.py_func(lambda a: a.astype("int32"), [tf.constant(1.0)], tf.float32)
    with tf.Session() as session:
        return [error_of(lambda: session.run(y)), error_of(lambda: session.run(wrong))]


@case
def checks(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None])
    positive = tf.Assert(tf.reduce_all(x > 0), [x])
    with tf.control_dependencies([positive]):
        y = tf.identity(x)
    equal = tf.assert_equal(tf.shape(x)[0], 2)
    with tf.control_dependencies([equal, tf.assert_less(x, 9.0), tf.assert_positive(x)]):
        z = x * 2.0
    with tf.Session() as session:
        return [
            session.run(y, {x: [1.0, 2.0]}), error_of(lambda: session.run(y, {x: [-1.0]})),
            session.run(z, {x: [1.0, 2.0]}), error_of(lambda: session.run(z, {x: [1.0]})),
            error_of(lambda: tf.assert_equal(1, 2)),
            error_of(lambda: session.run(tf.check_numerics(x / 0.0, "bad"), {x: [1.0]})),
            session.run(tf.check_numerics(x, "fine"), {x: [1.0]}),
        ]  # fmt: skip


@case
def checks_in_branches_and_loops(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None])
    p = tf.placeholder(tf.bool, [])

    def checked() -> Any:
        with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0), [x])]):
            return tf.identity(x)

    chosen = tf.cond(p, checked, lambda: x * 2.0)
    _, last = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.Print(s, [i], "turn ") + 1.0),
        [tf.constant(0), tf.zeros([2])],
    )
    with tf.Session() as session:
        return [
            session.run(chosen, {x: [1.0], p: True}), session.run(chosen, {x: [-1.0], p: False}),
            error_of(lambda: session.run(chosen, {x: [-1.0], p: True})), session.run(last),
        ]  # fmt: skip


@case
def printed(tf: Any) -> Any:
    x = tf.constant([1.0, 2.0])
    shown = tf.Print(x, [x, tf.shape(x)], "values: ")
    operation = tf.print("more", x)
    with tf.control_dependencies([operation]):
        after = tf.identity(x)
    with tf.Session() as session:
        return [session.run(shown), session.run(after), shown.name, session.run(operation)]


@case
def batches_by_queue_runners(tf: Any) -> Any:
    images, labels = numbers(5, 2), np.arange(5, dtype=np.int32)
    image, label = tf.train.slice_input_producer([images, labels], num_epochs=2, shuffle=False)
    x, y = tf.train.batch([image * 2.0, label], batch_size=4, allow_smaller_final_batch=True)
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        try:
            while not coord.should_stop():
                found.append(session.run([x, y]))
        except tf.errors.OutOfRangeError:
            found.append("the end")
        finally:
            coord.request_stop()
        coord.join(threads)
    shuffled = tf.train.shuffle_batch(
        {"label": label, "image": image}, batch_size=2, capacity=20, min_after_dequeue=3
    )
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    return [
        found, len(runners), x.name, y.name, str(x.shape), shuffled["label"].name,
        str(shuffled["image"].shape),
    ]  # fmt: skip


@case
def parts_of_sparse_tensors(tf: Any) -> Any:
    s = tf.SparseTensor([[0, 1], [2, 0], [2, 3]], [1.0, 2.0, 3.0], [4, 4])
    other = tf.SparseTensor([[1, 0], [2, 1]], [5.0, 6.0], [4, 2])
    filled, empty = tf.sparse_fill_empty_rows(s, 9.0)
    made = [
        tf.sparse_concat(1, [s, other, s]), tf.sparse_concat(0, [s, s]),
        tf.sparse_retain(s, [True, False, True]), tf.sparse_slice(s, [1, 0], [2, 3]), filled,
    ]  # fmt: skip
    with tf.Session() as session:
        found = [session.run([one.indices, one.values, one.dense_shape]) for one in made]
        return [found, session.run(empty), session.run(tf.sparse_tensor_to_dense(made[0]))]


@case
def segments_of_rows(tf: Any) -> Any:
    x, ids = tf.constant(numbers(5, 2)), tf.constant([0, 0, 2, 2, 3])
    fed = tf.placeholder(tf.int32, [None])
    known = [
        tf.segment_sum(x, ids), tf.segment_mean(x, ids), tf.segment_max(x[:2], ids[:2]),
        tf.sparse_segment_sum(x, [4, 0, 1], [0, 0, 1]),
        tf.sparse_segment_mean(x, [4, 0, 1], [0, 0, 1]),
    ]  # fmt: skip
    late = tf.segment_sum(x, fed)
    (grad,) = tf.gradients(tf.square(late), x)
    with tf.Session() as session:
        found = [session.run(one) for one in known]
        for values in ([0, 1, 1, 2, 2], [0, 0, 0, 0, 5]):
            found += session.run([late, grad], {fed: values})
    return [found, late.name, str(late.shape)]

"""`tf.TensorArray` by itself, in loops, in branches, and with gradients; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, feeding, numbers


def _error_of_run(tf: Any, make: Any) -> str:
    """The name of the error that making a tensor, or a run of it, raises."""
    return error_of(lambda: tf.Session().run(make()))


@case
def written_and_read(tf: Any) -> Any:
    start = tf.TensorArray(tf.float32, 3, name="hello", clear_after_read=False)
    before = str(start.element_shape)
    one = start.write(0, [1.0, 2.0]).write(2, tf.constant([3.0, 4.0]))
    whole = tf.TensorArray(tf.int32, size=2).write(1, 5).write(0, np.int32(7))
    truth = tf.TensorArray(tf.bool, 2).write(0, True).write(1, False)
    return [
        before, str(one.element_shape), one.dtype.name, one.dynamic_size, one.read(2),
        one.read(tf.constant(0), name="named"), one.stack(), one.gather([2, 0]), one.concat(),
        tf.identity(one.size(), name="size"), whole.stack(), truth.stack(),
        one.identity().stack(name="again"),
    ]  # fmt: skip


@case
def filled_at_once(tf: Any) -> Any:
    rows = numbers(3, 2)
    unstacked = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(rows)
    longer = tf.TensorArray(tf.float32, 5, element_shape=[2]).unstack(tf.constant(rows))
    scattered = tf.TensorArray(tf.float32, 4).scatter([3, 0, 1], rows)
    parts = tf.TensorArray(tf.float32, 2, clear_after_read=False).split(numbers(6, 2), [3, 3])
    return [
        unstacked.read(1), unstacked.stack(), unstacked.gather([2, 2]), longer.stack(),
        scattered.stack(), parts.read(1), parts.stack(), parts.concat(),
    ]  # fmt: skip


@case
def sizes_that_grow(tf: Any) -> Any:
    written = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False).write(3, 1.0)
    more = written.write(1, 2.0)
    unstacked = tf.TensorArray(tf.float32, 0, True).unstack(numbers(4))
    scattered = tf.TensorArray(tf.float32, 1, True).scatter([4, 0], numbers(2, 3))
    n = tf.placeholder(tf.int32, [])
    late = tf.TensorArray(tf.float32, n, element_shape=[], clear_after_read=False).write(1, 3.0)
    values = [
        written.size(), more.stack(), unstacked.stack(), unstacked.size(), scattered.stack(),
        late.stack(), late.size(),
    ]  # fmt: skip
    return feeding(values, {n: 3})


@case
def shapes_not_inferred(tf: Any) -> Any:
    one = tf.TensorArray(tf.float32, 2, infer_shape=False, clear_after_read=False)
    one = one.unstack(numbers(2, 3))
    partly = tf.TensorArray(tf.float32, 2, element_shape=[None, 2], clear_after_read=False)
    x = tf.placeholder(tf.float32, [None, 2])
    partly = partly.write(0, x).write(1, x * 2.0)
    values = [
        str(one.element_shape), one.read(0), one.stack(), one.concat(), one.gather([1]),
        str(partly.element_shape), partly.read(1), partly.stack(), partly.concat(),
    ]  # fmt: skip
    return feeding(values, {x: numbers(3, 2)})


@case
def what_is_refused(tf: Any) -> Any:
    def made(size: int = 2, **given: Any) -> Any:
        return tf.TensorArray(tf.float32, size, **given)

    one = made().write(0, [1.0, 2.0])
    return [
        error_of(lambda: tf.TensorArray(tf.float32)), error_of(lambda: one.write(1, [1.0])),
        error_of(lambda: made(element_shape=[2]).write(0, [1.0, 2.0, 3.0])),
        error_of(lambda: one.write(1, np.array([1, 2])).stack()),
        error_of(lambda: made().unstack(1.0)), error_of(lambda: one.write(1, numbers(2, 2))),
        _error_of_run(tf, lambda: made().write(2, 1.0).stack()),
        _error_of_run(tf, lambda: made().write(-1, 1.0).stack()),
        _error_of_run(tf, lambda: made().unstack([1.0, 2.0]).read(5)),
        _error_of_run(tf, lambda: made().unstack([1.0, 2.0]).read(-1)),
        _error_of_run(tf, lambda: made().unstack([1.0, 2.0]).gather([0, 2])),
        _error_of_run(tf, lambda: made().unstack([1.0, 2.0, 3.0]).stack()),
        _error_of_run(tf, lambda: made().scatter([0, 2], [1.0, 2.0]).stack()),
        _error_of_run(tf, lambda: made().read(1)), _error_of_run(tf, lambda: made().stack()),
    ]  # fmt: skip


@case
def in_a_loop(tf: Any) -> Any:
    x = tf.constant(numbers(3))
    keep = {"clear_after_read": False}
    given = tf.TensorArray(tf.float32, 4, element_shape=[3], **keep)
    last, made, same = tf.while_loop(
        lambda i, *_: i < 4,
        lambda i, a, b: (i + 1, a.write(i, x * tf.cast(i, tf.float32)), b.write(3 - i, x)),
        [0, tf.TensorArray(tf.float32, 4, **keep), given],
    )
    loss = tf.reduce_sum(made.stack() ** 2.0) + tf.reduce_sum(same.stack())
    return [last, str(made.element_shape), made.stack(), same.stack(), made.read(2), made.size(),
            *tf.gradients(loss, x)]  # fmt: skip


@case
def a_recurrent_network(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, None, 2])  # time, batch, inputs
    w, u = tf.constant(numbers(2, 4)), tf.constant(numbers(4, 4))
    steps, batch = tf.shape(x)[0], tf.shape(x)[1]
    inputs = tf.TensorArray(tf.float32, steps).unstack(x)
    outputs = tf.TensorArray(tf.float32, steps)

    def body(time: Any, state: Any, outputs: Any) -> Any:
        state = tf.tanh(tf.matmul(inputs.read(time), w) + tf.matmul(state, u))
        return time + 1, state, outputs.write(time, state)

    _, last, outputs = tf.while_loop(
        lambda time, *_: time < steps, body, (tf.constant(0), tf.zeros([batch, 4]), outputs)
    )
    stacked = outputs.stack()
    slopes = tf.gradients(tf.reduce_sum(stacked * stacked), [x, w, u])
    return feeding([str(outputs.element_shape), stacked, last, *slopes], {x: numbers(5, 3, 2)})


@case
def read_what_was_written(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3))
    first = tf.TensorArray(tf.float32, 5, clear_after_read=False).write(0, x)
    body = lambda i, a: (i + 1, a.write(i, tf.sin(a.read(i - 1)) * x))  # noqa: E731
    _, made = tf.while_loop(lambda i, a: i < 5, body, [tf.constant(1), first], back_prop=True)
    return [made.stack(), *tf.gradients(made.read(4), x)]


@case
def a_loop_that_lets_it_grow(tf: Any) -> Any:
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [None, 2])
    some = tf.TensorArray(tf.float32, 2, True, clear_after_read=False).write(0, x)

    def body(i: Any, total: Any, made: Any, more: Any, whole: Any) -> Any:
        total = tf.tanh(total + x)
        return (
            i + 1, total, made.write(i, total), more.write(i + 1, total * 2.0), whole.write(i, i)
        )  # fmt: skip

    _, _, made, more, whole = tf.while_loop(
        lambda i, total, *_: tf.logical_and(i < n, tf.reduce_sum(total) < 100.0), body,
        [0, tf.zeros_like(x), tf.TensorArray(tf.float32, 0, True, clear_after_read=False), some,
         tf.TensorArray(tf.int32, 0, dynamic_size=True, element_shape=[])],
        shape_invariants=[
            tf.TensorShape([]), tf.TensorShape([None, 2]), *[tf.TensorShape(None)] * 3,
        ],
    )  # fmt: skip
    loss = tf.reduce_sum(made.stack()) + tf.reduce_sum(more.stack() ** 2.0)
    values = [made.stack(), made.size(), more.stack(), more.size(), whole.stack(),
              *tf.gradients(loss, x)]  # fmt: skip
    return feeding(values, {n: 3, x: numbers(3, 2)})


@case
def loops_in_loops(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None])

    def outer(i: Any, made: Any) -> Any:
        def within(j: Any, made: Any) -> Any:
            return j + 1, made.write(2 * i + j, x * tf.cast(i + j, tf.float32))

        _, made = tf.while_loop(lambda j, _: j < 2, within, [0, made])
        return i + 1, made

    _, made = tf.while_loop(lambda i, _: i < 3, outer, [0, tf.TensorArray(tf.float32, 6)])
    stacked = made.stack()
    return feeding([stacked, *tf.gradients(stacked, x)], {x: numbers(4)})


@case
def an_array_of_each_turn(tf: Any) -> Any:
    x = tf.constant(numbers(4, 3))

    def outer(i: Any, total: Any) -> Any:
        rows = tf.TensorArray(tf.float32, 3, clear_after_read=False)
        _, rows = tf.while_loop(
            lambda j, _: j < 3, lambda j, rows: (j + 1, rows.write(j, x[i] * x[j])), [0, rows]
        )
        return i + 1, total + tf.reduce_sum(rows.stack(), 0)

    _, total = tf.while_loop(lambda i, _: i < 4, outer, [0, tf.zeros([3])])
    return [total, *tf.gradients(total, x)]


@case
def in_branches(tf: Any) -> Any:
    x, p = tf.constant(numbers(3)), tf.placeholder(tf.bool, [])
    empty = tf.TensorArray(tf.float32, 2, clear_after_read=False)
    keep = {"clear_after_read": False}
    one = tf.cond(p, lambda: empty.write(0, x), lambda: empty.write(1, x * 2.0))
    known = tf.TensorArray(tf.float32, 2, element_shape=[3], clear_after_read=False)
    two = tf.cond(p, lambda: known, lambda: known.write(1, x * 3.0))

    def body(i: Any, made: Any) -> Any:
        value = x * tf.cast(i, tf.float32)
        made = tf.cond(tf.equal(i % 2, 0), lambda: made.write(i, value), lambda: made)
        return i + 1, made

    _, three = tf.while_loop(
        lambda i, _: i < 4,
        body,
        [0, tf.TensorArray(tf.float32, 4, element_shape=[3], **keep)],
    )
    loss = tf.reduce_sum(one.read(1)) + tf.reduce_sum(three.stack() ** 2.0)
    return feeding([one.stack(), two.stack(), three.stack(), *tf.gradients(loss, x)], {p: False})


@case
def in_nests(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3))
    start = {"rows": (tf.TensorArray(tf.float32, 2), tf.TensorArray(tf.float32, 2)), "total": x}

    def body(i: Any, now: Any) -> Any:
        first, second = now["rows"]
        total = now["total"] * 2.0
        return i + 1, {"rows": (first.write(i, total[0]), second.write(i, total)), "total": total}

    i, last = tf.while_loop(lambda i, _: i < 2, body, (tf.constant(0), start))
    return [i, last["total"], *(one.stack() for one in last["rows"])]


@case
def written_never(tf: Any) -> Any:
    arrays = [tf.TensorArray(tf.float32, 2), tf.TensorArray(tf.float32, 2, element_shape=[2])]
    body = lambda i, a, b: (i + 1, a, b)  # noqa: E731
    i, one, two = tf.while_loop(lambda i, *_: i < 3, body, [0, *arrays])
    return [i, one.size(), two.size(), one.write(0, 1.0).write(1, 2.0).stack(),
            two.write(0, [1.0, 2.0]).write(1, [2.0, 3.0]).stack()]  # fmt: skip


@case
def what_a_loop_refuses(tf: Any) -> Any:
    def loop(body: Any, cond: Any = lambda i, _: i < 2) -> Any:
        return tf.while_loop(cond, body, [tf.constant(0), tf.TensorArray(tf.float32, 2)])

    return [
        error_of(lambda: loop(lambda i, a: (i + 1, a.write(i, [1.0]).write(i, [1.0, 2.0])))),
        error_of(lambda: loop(lambda i, a: (i + 1,))),
    ]  # fmt: skip


@case
def generated_by_sampling(tf: Any) -> Any:
    """The way of SeqGAN: inputs as far as they are given, then what the network makes."""
    table, w = tf.constant(numbers(5, 4)), tf.constant(numbers(4, 5))
    given = tf.placeholder(tf.int32, [2, 6])
    tokens = tf.TensorArray(tf.int32, 6, dynamic_size=False, infer_shape=True)
    tokens = tokens.unstack(tf.transpose(given))
    scores = tf.TensorArray(tf.float32, 6, dynamic_size=False, infer_shape=True)
    made = tf.TensorArray(tf.int32, 6, dynamic_size=False, infer_shape=True)

    def step(i: Any, x: Any, h: Any, made: Any, follow: Any) -> tuple[Any, Any, Any, Any]:
        h = tf.tanh(h + x)
        logits = tf.matmul(h, w)
        token = tokens.read(i) if follow else tf.cast(tf.argmax(logits, 1), tf.int32)
        return h, logits, tf.nn.embedding_lookup(table, token), made.write(i, token)

    def first(i: Any, x: Any, h: Any, made: Any, scores: Any) -> Any:
        h, logits, x, made = step(i, x, h, made, True)
        return i + 1, x, h, made, scores.write(i, tf.nn.softmax(logits))

    def second(i: Any, x: Any, h: Any, made: Any, scores: Any) -> Any:
        h, logits, x, made = step(i, x, h, made, False)
        return i + 1, x, h, made, scores.write(i, tf.nn.softmax(logits))

    start = (tf.constant(0), tf.zeros([2, 4]), tf.zeros([2, 4]), made, scores)
    now = tf.while_loop(lambda i, *_: i < 3, first, start)
    *_, made, scores = tf.while_loop(lambda i, *_: i < 6, second, now)
    made, scores = tf.transpose(made.stack()), tf.transpose(scores.stack(), [1, 0, 2])
    loss = -tf.reduce_sum(tf.one_hot(made, 5) * tf.log(scores))
    tokens_given = np.array([[0, 1, 2, 3, 4, 0], [4, 3, 2, 1, 0, 4]], "int32")
    slopes = [tf.reshape(one, [20]) for one in tf.gradients(loss, [table, w])]
    return feeding([made, scores, *slopes], {given: tokens_given})


@case
def a_growing_array_that_is_read(tf: Any) -> Any:
    """The way of decoders: the last word goes in again, until there is a word that ends it."""
    table, w = tf.constant(numbers(6, 4)), tf.constant(numbers(4, 6))
    words = tf.TensorArray(tf.int32, 0, dynamic_size=True, clear_after_read=False).write(0, 1)
    start = (tf.ones([1, 4]), words, 0)

    def goes_on(state: Any, words: Any, step: Any) -> Any:
        return tf.reduce_all(tf.logical_and(tf.not_equal(words.read(step), 2), step < 9))

    def body(state: Any, words: Any, step: Any) -> Any:
        state = tf.tanh(state + tf.nn.embedding_lookup(table, [words.read(step)]))
        word = tf.argmax(tf.matmul(state, w), axis=1, output_type=tf.int32)
        return state, words.write(step + 1, word[0]), step + 1

    state, words, step = tf.while_loop(goes_on, body, start)
    x = tf.constant(numbers(3))
    sums = tf.TensorArray(tf.float32, 1, dynamic_size=True, clear_after_read=False).write(0, x)
    _, sums = tf.while_loop(
        lambda i, _: i < 5, lambda i, a: (i + 1, a.write(i, tf.sin(a.read(i - 1)) * x)), [1, sums]
    )
    return [words.stack(), words.size(), step, state, sums.stack(),
            *tf.gradients(sums.read(4), x)]  # fmt: skip


@case
def a_growing_array_in_an_inner_loop(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None])

    def outer(i: Any, made: Any, some: Any) -> Any:
        _, made = tf.while_loop(
            lambda j, _: j < i,
            lambda j, a: (j + 1, a.write(i * i + j, x * 2.0)),
            [tf.constant(0), made],
        )
        return i + 1, made, tf.cond(i > 1, lambda: some.write(i, i), lambda: some)

    arrays = [tf.TensorArray(tf.float32, 0, True), tf.TensorArray(tf.int32, 1, True).write(0, 7)]
    _, made, some = tf.while_loop(lambda i, *_: i < 4, outer, [tf.constant(1), *arrays])
    stacked = made.stack()
    return feeding([stacked, some.stack(), *tf.gradients(stacked, x)], {x: numbers(2)})


@case
def of_wide_numbers(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3).astype("float64"))
    body = lambda i, a: (i + 1, a.write(i, tf.sin(x * tf.cast(i, tf.float64))))  # noqa: E731
    _, made = tf.while_loop(lambda i, a: i < 3, body, [0, tf.TensorArray(tf.float64, 3)])
    stacked = made.stack()
    return [stacked, *tf.gradients(stacked, x)]

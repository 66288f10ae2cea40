"""What a `TensorArray` does here and not in TensorFlow; what both do is in `oracle`."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import hybridnet.compat.tf1 as tf
from hybridnet.base.errors import DTypeError
from hybridnet.ops.core.registry import get


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def _growing(body, *more):
    """Runs a loop of three turns in which an array grows; returns its elements."""
    start = [tf.constant(0), tf.TensorArray(tf.float32, 0, dynamic_size=True), *more]
    return tf.while_loop(lambda i, *_: i < 3, body, start)[1].stack()


def test_a_number_out_of_range_that_only_a_run_tells():
    place = tf.placeholder(tf.int32, [])
    start = tf.TensorArray(tf.float32, 3).unstack([1.0, 2.0, 3.0])
    written, read = start.write(place, 9.0).stack(), start.read(place)
    with tf.Session() as session:
        for number, nearest in ((3, 3.0), (-1, 1.0)):
            made = session.run([written, read], {place: number})
            np.testing.assert_array_equal(made[0], [1.0, 2.0, 3.0])
            assert made[1] == nearest


def test_the_last_value_written_counts():
    made = tf.TensorArray(tf.float32, 2).write(0, 1.0).write(0, 2.0)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(made.stack()), [2.0, 0.0])


def test_an_example_of_an_element_is_not_computed(capfd):
    x = tf.placeholder(tf.float32, [None])

    def body(i, made):
        return i + 1, made.write(i, tf.Print(x, [i], "turn ") * 2.0)

    _, made = tf.while_loop(lambda i, _: i < 2, body, [0, tf.TensorArray(tf.float32, 2)])
    with tf.Session() as session:
        session.run(made.stack(), {x: np.ones(3)})
    printed = capfd.readouterr().err
    assert [printed.count(f"turn [{number}]") for number in range(2)] == [1, 1], printed


def test_a_drawn_element_is_drawn_once_in_each_turn():
    x = tf.placeholder(tf.float32, [None])

    def body(i, made):
        return i + 1, made.write(i, tf.random_normal(tf.shape(x)))

    _, made = tf.while_loop(lambda i, _: i < 4, body, [0, tf.TensorArray(tf.float32, 4)])
    with tf.Session() as session:
        drawn = session.run(made.stack(), {x: np.zeros(50)})
    assert drawn.shape == (4, 50)
    assert np.abs(np.corrcoef(drawn) - np.eye(4)).max() < 0.7


def test_where_an_array_cannot_grow():
    v = tf.Variable(0.0)
    for change in (lambda: tf.random_uniform([]), lambda: tf.assign_add(v, 1.0)):
        with pytest.raises(ValueError, match=r"must not depend on random.*give it a size"):
            tf.while_loop(
                lambda i, made, total: total < 3.0,
                lambda i, made, total: (i + 1, made.write(i, 1.0), total + change()),  # noqa: B023
                [0, tf.TensorArray(tf.float32, 0, dynamic_size=True), 0.0],
            )
    with pytest.raises(ValueError, match=r"grows in this loop.*\(stack\)"):
        _growing(lambda i, made: (i + 1, made.write(i, tf.reduce_sum(made.write(i, 1.0).stack()))))

    def outer(j, total):
        return j + 1, total + _growing(lambda i, made: (i + 1, made.write(i, 1.0)))

    with pytest.raises(ValueError, match="in a branch or in another loop"):
        tf.while_loop(lambda j, _: j < 2, outer, [tf.constant(0), tf.zeros([3])])


def test_what_is_drawn_where_an_array_grows_is_drawn_once():
    v = tf.Variable(0.0)
    made = _growing(lambda i, made: (i + 1, made.write(i, tf.random_normal([50]))))
    changed = _growing(lambda i, made: (i + 1, made.write(i, tf.assign_add(v, 1.0))))
    with tf.Session() as session:
        session.run(v.initializer)
        drawn, sums = session.run([made, changed])
        assert session.run(v) == 3.0
    np.testing.assert_array_equal(sums, [1.0, 2.0, 3.0])
    assert np.abs(np.corrcoef(drawn) - np.eye(3)).max() < 0.7


def test_how_long_an_array_may_become_that_is_read_where_it_grows():
    count = tf.placeholder(tf.int32, [])
    start = tf.TensorArray(tf.int32, 0, dynamic_size=True, clear_after_read=False).write(0, 0)
    _, made = tf.while_loop(
        lambda i, a: a.read(i - 1) < count - 1,
        lambda i, a: (i + 1, a.write(i, a.read(i - 1) + 1)),
        [1, start],
    )
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(made.stack(), {count: 1000}), np.arange(1000))
        with pytest.raises(tf.errors.ResourceExhaustedError, match="1000 elements at most"):
            session.run(made.stack(), {count: 1001})


def test_what_is_not_an_array_of_ours():
    with pytest.raises(DTypeError, match="strings"):
        tf.TensorArray(tf.string, 2)
    with pytest.raises(ValueError, match="handle and flow must be None"):
        tf.TensorArray(tf.float32, 2, flow=tf.constant(0.0))
    with pytest.raises(ValueError, match=r"lengths must be known.*\[2, 4\]"):
        tf.TensorArray(tf.float32, 2).split(np.ones(6), [2, 4])
    with pytest.raises(ValueError, match="all elements must be of one shape"):
        tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0])
    with pytest.raises(TypeError, match="elements must be float32, got int32"):
        tf.TensorArray(tf.float32, 2).write(0, tf.constant(1))


def test_arrays_stay_arrays():
    array = tf.TensorArray(tf.float32, 2)
    with pytest.raises(TypeError, match="must both return a TensorArray"):
        tf.cond(tf.constant(True), lambda: array, lambda: tf.constant(1.0))
    with pytest.raises(TypeError, match="loop variable 1 must stay what it is"):
        tf.while_loop(lambda i, _: i < 2, lambda i, _: (i + 1, 1.0), [tf.constant(0), array])
    with pytest.raises(ValueError, match="cond must not write"):
        tf.while_loop(
            lambda i, a: a.write(0, 1.0).read(0) > 0.0, lambda *a: a, [tf.constant(0), array]
        )


def test_a_new_array_of_the_body():
    def body(i, made):
        value = tf.cast(i, tf.float32)
        return i + 1, tf.TensorArray(tf.float32, 2).write(0, value).write(1, value + 1.0)

    _, made = tf.while_loop(lambda i, _: i < 3, body, [0, tf.TensorArray(tf.float32, 2)])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(made.stack()), [2.0, 3.0])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_row_is_written_in_a_program_with_wide_numbers(dtype):
    call, _ = get("_write_row").bind({})
    data, row = np.zeros((3, 2, 4)), np.ones((2, 4))
    with jax.enable_x64(True):
        (made,) = jax.jit(lambda *given: call.lower("cpu", given, ()))(
            data, np.array(1, dtype), row
        )
    data[1] = row
    np.testing.assert_array_equal(made, data)

"""Python in the midst of a run: what it sees is what the rest sees, once, and queues wait."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import hybridnet.compat.tf1 as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _doubled(x):
    return x * np.float32(2)


def test_a_random_number_is_the_same_before_and_after():
    drawn = tf.random_normal([3])
    seen = tf.py_func(_doubled, [drawn], tf.float32)
    with tf.Session() as session:
        for _ in range(2):
            first, second, third = session.run([drawn, seen, drawn + seen])
            np.testing.assert_allclose(second, 2 * first, rtol=1e-6)
            np.testing.assert_allclose(third, 3 * first, rtol=1e-6)


def test_what_stands_before_it_runs_once():
    count = tf.Variable(0)
    added = tf.assign_add(count, 1)
    with tf.control_dependencies([added]):
        seen = tf.py_func(lambda: np.float32(1), [], tf.float32)
    with tf.control_dependencies([seen]):
        after = tf.assign_add(count, 10)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([after, seen]) == [11, 1]
        assert session.run(count) == 11


def test_functions_of_functions_and_side_by_side():
    order = []

    def noted(name):
        def function(*values):
            order.append(name)
            return np.float32(sum(values) + 1)

        return function

    x = tf.placeholder(tf.float32, [])
    one = tf.py_func(noted("one"), [x], tf.float32)
    other = tf.py_func(noted("other"), [x * 10.0], tf.float32)
    both = tf.py_func(noted("both"), [one + 0.5, other], tf.float32)
    with tf.Session() as session:
        assert session.run([both * 2.0, one], {x: 1.0}) == [2 * (2.5 + 11 + 1), 2.0]
        assert sorted(order[:2]) == ["one", "other"]
        assert order[2:] == ["both"]


def test_what_is_fed_does_not_run():
    def fail(x):
        raise AssertionError("must not run")

    seen = tf.py_func(fail, [tf.constant(1.0)], tf.float32)
    with tf.Session() as session:
        assert session.run(seen * 2.0, {seen: 4.0}) == 8.0


def test_a_gradient_goes_round_it():
    x = tf.placeholder(tf.float32, [None])
    factor = tf.py_func(_doubled, [x], tf.float32)
    factor.set_shape([None])
    (grad,) = tf.gradients(x * factor, x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(grad, {x: [1.0, 3.0]}), [2, 6])


def test_a_failure_names_the_node_and_leaves_the_session_usable():
    def fail(x):
        raise KeyError("lost")

    x = tf.placeholder(tf.float32, [])
    bad = tf.py_func(fail, [x], tf.float32, name="bad")
    with tf.Session() as session:
        with pytest.raises(tf.errors.UnknownError, match="KeyError: 'lost'"):
            session.run(bad, {x: 1.0})
        assert session.run(x + 1.0, {x: 1.0}) == 2.0


def test_what_a_function_returns_must_be_of_its_dtype():
    wrong = tf.py_func(lambda: np.int8(1), [], tf.float32)
    fewer = tf.py_func(lambda: [np.float32(1)], [], [tf.float32, tf.float32])[0]
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="float32.*int8"):
            session.run(wrong)
        with pytest.raises(tf.errors.InvalidArgumentError, match="1 values, and Tout has 2"):
            session.run(fewer)


def test_numbers_of_64_bits_in_a_loop_stay_what_they_are():
    """Three turns of ``x // 3``, from a number that 32 bits do not hold, and of ``x / 3``."""

    def turn(function, dtype):
        def body(count, x):
            made = tf.py_func(function, [x], dtype)
            made.set_shape([])
            return count + 1, made

        return body

    def after_three(function, first, dtype):
        first = [tf.constant(0), tf.constant(first, dtype)]
        return tf.while_loop(lambda count, x: count < 3, turn(function, dtype), first)[1]

    whole = after_three(lambda x: x // np.int64(3), 2**53, tf.int64)
    part = after_three(lambda x: x / np.float64(3), 1.0, tf.float64)
    with tf.Session() as session:
        found = session.run([whole, part])
    assert [one.dtype for one in found] == [np.int64, np.float64]
    assert found == [2**53 // 27, 1.0 / 3 / 3 / 3]


def test_no_shape_of_a_function_in_a_branch():
    x = tf.placeholder(tf.float32, [2])
    chosen = tf.cond(x[0] > 0, lambda: tf.py_func(_doubled, [x], tf.float32), lambda: x)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="take it out of there"),
    ):
        session.run(chosen, {x: [1.0, 2.0]})


def _in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()), daemon=True)
    thread.start()
    return lambda: (thread.join(60), found)[1]


def test_taking_waits_for_putting_and_putting_for_room():
    queue = tf.FIFOQueue(1, tf.float32, shapes=())
    x = tf.placeholder(tf.float32, [])
    put, take = queue.enqueue(x), queue.dequeue()
    with tf.Session() as session:
        taken = _in_thread(lambda: [session.run(take) * 1.0 for _ in range(3)])
        for value in (1.0, 2.0, 3.0):
            session.run(put, {x: value})
        assert taken() == [[1.0, 2.0, 3.0]]
        assert session.run(queue.size()) == 0


def test_closing_ends_what_waits():
    queue = tf.FIFOQueue(2, tf.float32, shapes=())
    take, close = queue.dequeue_many(2), queue.close()

    def taken():
        with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
            session.run(take)
        return "ended"

    with tf.Session() as session:
        session.run(queue.enqueue(1.0))
        wait = _in_thread(taken)
        session.run(close)
        assert wait() == ["ended"]
        assert session.run(queue.dequeue_up_to(5)).tolist() == [1.0]


def test_a_shuffled_queue_gives_all_and_keeps_enough():
    queue = tf.RandomShuffleQueue(20, 5, tf.int32, shapes=(), seed=3)
    take, size = queue.dequeue(), queue.size()
    with tf.Session() as session:
        session.run(queue.enqueue_many([np.arange(12)]))
        found = [int(session.run(take)) for _ in range(7)]
        assert session.run(size) == 5
        session.run(queue.close())
        found += [int(session.run(take)) for _ in range(5)]
    assert sorted(found) == list(range(12))
    assert found != list(range(12))


def test_elements_of_different_sizes_are_padded():
    queue = tf.PaddingFIFOQueue(4, [tf.float32], shapes=[[None]], names=["row"])
    x = tf.placeholder(tf.float32, [None])
    put, take = queue.enqueue({"row": x}), queue.dequeue_many(2)
    with tf.Session() as session:
        session.run(put, {x: [1.0]})
        session.run(put, {x: [2.0, 3.0]})
        np.testing.assert_array_equal(session.run(take)["row"], [[1, 0], [2, 3]])


def test_printing(capsys: pytest.CaptureFixture[str]):
    x = tf.constant(np.arange(8, dtype=np.float32))
    shown = tf.Print(x, [x, tf.shape(x)], "x: ", first_n=2)
    more = tf.print("rows", tf.reshape(x, [2, 4]), tf.constant(True), sep="|")
    with tf.Session() as session:
        for _ in range(3):
            session.run(shown * 2.0)
        session.run(more)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["x: [0 1 2...][8]"] * 2
    assert lines[2:] == ["rows|[[0 1 2 3]", " [4 5 6 7]]|1"]

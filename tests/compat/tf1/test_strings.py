"""Strings stay on the host: what becomes of them, and where they cannot go."""

from __future__ import annotations

import concurrent.futures
import threading

import numpy as np
import pytest
from helpers import is_in

import hybridnet.compat.tf1 as tf
from hybridnet.base.errors import DTypeError


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_strings_go_from_python_to_python_past_a_program():
    name, x = tf.placeholder(tf.string, []), tf.placeholder(tf.float32, [2])
    tagged = tf.string_join([name, tf.as_string(tf.reduce_sum(x * 2.0), precision=1)], "=")
    size = tf.cast(tf.strings.length(tagged), tf.float32)
    with tf.Session() as session:
        found = session.run([tagged, size + x, name], {name: "sum", x: [1.0, 2.0]})
    assert found[0] == b"sum=6.0"
    np.testing.assert_array_equal(found[1], [8, 9])
    assert found[2] == b"sum"


def test_what_computes_with_strings_is_refused_at_its_line():
    with pytest.raises(DTypeError, match="Mul 'mul': strings are on the host.*string_to_number"):
        tf.constant(["a"]) * tf.constant(["b"])


def test_a_loop_cannot_hold_strings():
    text = tf.constant("a")
    with pytest.raises(DTypeError, match="strings are on the host"):
        tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s), [0, tf.string_join([text])])


def test_a_feed_of_numbers_is_refused():
    p = tf.placeholder(tf.string, [])
    with tf.Session() as session, pytest.raises(TypeError, match="must be fed text, got 3"):
        session.run(tf.string_join([p, "x"]), {p: 3})


def test_a_reader_that_waits_ends_when_its_session_does(tmp_path):
    path = tmp_path / "lines"
    path.write_text("one\n")
    queue = tf.FIFOQueue(2, [tf.string], [[]])
    _, value = tf.TextLineReader().read(queue)
    session = tf.Session()
    session.run(queue.enqueue([str(path)]))
    assert session.run(value) == b"one"
    failed = []

    def wait():
        try:
            session.run(value)
        except tf.errors.CancelledError as error:
            failed.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not is_in(waiting.ident, concurrent.futures.wait):
        assert waiting.is_alive()
    session.close()
    waiting.join(60)
    assert not waiting.is_alive()
    assert len(failed) == 1


def test_two_readers_share_the_names_of_a_queue(tmp_path):
    for n in range(4):
        (tmp_path / f"{n}").write_text(f"{n}\n")
    names = [str(tmp_path / f"{n}") for n in range(4)]
    queue = tf.train.string_input_producer(names, num_epochs=1)
    both = [tf.TextLineReader().read(queue)[1] for _ in range(2)]
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [session.run(both) for _ in range(2)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(both)
        coordinator.request_stop()
        coordinator.join(threads)
    assert sorted(np.ravel(found)) == [b"0", b"1", b"2", b"3"]

"""Datasets that are made of datasets of files; what those of numbers give is in `oracle`."""

from __future__ import annotations

import pytest

import hybridnet.compat.tf1 as tf


def _elements(dataset):
    element, found = dataset.make_one_shot_iterator().get_next(), []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


def test_lines_of_several_files(tmp_path):
    names = []
    for number in range(3):
        names.append(str(tmp_path / f"{number}.csv"))
        (tmp_path / f"{number}.csv").write_text(f"head\n{number},1\n{number},2\n")
    of = tf.contrib.data
    with tf.Graph().as_default():
        files = of.Dataset.from_tensor_slices(names)
        lines = files.flat_map(lambda name: of.TextLineDataset(name).skip(1))
        numbers = lines.map(lambda line: tf.decode_csv(line, [[0], [0]]))
        assert _elements(numbers) == [(n, m) for n in range(3) for m in (1, 2)]
    with tf.Graph().as_default():
        files = tf.data.Dataset.from_tensor_slices(names)
        lines = files.interleave(lambda name: tf.data.TextLineDataset(name).skip(1), 2, 1)
        assert _elements(lines) == [b"0,1", b"1,1", b"0,2", b"1,2", b"2,1", b"2,2"]


def test_a_function_must_make_a_dataset():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="must return a `Dataset`"):
        tf.data.Dataset.range(3).flat_map(lambda number: number)


def test_a_run_says_by_a_handle_which_iterator_it_reads():
    """Each iterator goes on where it was; a handle that is none, or of other dtypes, is named."""
    with tf.Graph().as_default(), tf.Session() as session:
        handle = tf.placeholder(tf.string, shape=[])
        train = tf.data.Dataset.range(3).map(lambda x: x * 10)
        check = tf.data.Dataset.range(100, 103)
        types, shapes = tf.data.get_output_types(train), tf.data.get_output_shapes(train)
        value = tf.data.Iterator.from_string_handle(handle, types, shapes).get_next()
        one, two = train.make_one_shot_iterator(), check.make_initializable_iterator()
        other = tf.data.Dataset.from_tensor_slices([0.5]).make_one_shot_iterator()
        a, b, c = session.run([it.string_handle() for it in (one, two, other)])
        assert isinstance(a, bytes)
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(value, {handle: b})
        session.run(two.initializer)
        assert [session.run(value, {handle: h}) for h in (a, b, a, b)] == [0, 100, 10, 101]
        assert session.run(one.get_next()) == 20
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(value, {handle: a})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have elements of"):
            session.run(value, {handle: c})
        with pytest.raises(tf.errors.InvalidArgumentError, match="value of its string_handle"):
            session.run(value, {handle: "none"})

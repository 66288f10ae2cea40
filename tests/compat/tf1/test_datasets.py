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

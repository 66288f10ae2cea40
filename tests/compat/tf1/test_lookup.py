"""Tables that a session meets otherwise: in datasets, watched sessions, several buckets."""

from __future__ import annotations

import pytest

import hybridnet.compat.tf1 as tf
from hybridnet.compat.tf1.python.ops import lookup_ops


def test_words_of_several_buckets_are_where_tensorflow_has_them():
    pytest.importorskip("farmhash")
    with tf.Graph().as_default(), tf.Session() as session:
        words = tf.contrib.lookup.index_table_from_tensor(
            mapping=["a", "b", "c"], num_oov_buckets=3
        )
        numbers = lookup_ops.index_table_from_tensor([10, 20], 4, dtype=tf.int32)
        only = tf.contrib.lookup.IdTableWithHashBuckets(None, 5)
        session.run(tf.tables_initializer())
        # What TensorFlow 2.21 answers.
        assert session.run(words.lookup(tf.constant(["a", "z", "q"]))).tolist() == [0, 4, 5]
        assert session.run(numbers.lookup(tf.constant([10, 30, 31, 32]))).tolist() == [0, 4, 2, 2]
        assert session.run(only.lookup(tf.constant(["hello", "", "a"]))).tolist() == [1, 3, 4]
        assert session.run([words.size(), only.size()]) == [6, 5]


def test_a_dataset_looks_words_up():
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
        lines = tf.data.Dataset.from_tensor_slices(["a b", "b ? a"])
        rows = lines.map(lambda line: table.lookup(tf.string_split([line]).values))
        following = rows.make_one_shot_iterator().get_next()
        session.run(tf.tables_initializer())
        assert [session.run(following).tolist() for _ in range(2)] == [[0, 1], [1, -1, 0]]


def test_a_watched_session_fills_the_tables():
    with tf.Graph().as_default():
        initializer = tf.contrib.lookup.KeyValueTensorInitializer(["a"], ["one"])
        table = tf.contrib.lookup.HashTable(initializer, "none", shared_name="words")
        found = table.lookup(tf.constant(["a", "b"]))
        tf.train.get_or_create_global_step()
        with tf.train.MonitoredTrainingSession() as session:
            assert session.run(found).tolist() == [b"one", b"none"]


def test_what_a_table_cannot_be_is_said():
    with tf.Graph().as_default():
        initializer = tf.lookup.KeyValueTensorInitializer(["a"], [1])
        with pytest.raises(ValueError, match="default_value must be one value that is known"):
            tf.lookup.StaticHashTable(initializer, tf.placeholder(tf.int32, []))
        spec = tf.contrib.lookup.HasherSpec("stronghash", [1, 2])
        with pytest.raises(ValueError, match="FastHashSpec, got 'stronghash'"):
            tf.contrib.lookup.index_table_from_tensor(["a"], 2, hasher_spec=spec)
        with pytest.raises(ValueError, match="oov_buckets"):
            tf.contrib.lookup.IdTableWithHashBuckets(None, 0)

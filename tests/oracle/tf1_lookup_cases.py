"""Tables of TensorFlow's 1.x API; see `tf1_case.py`."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import Any

from oracle.tf1_case import case, error_of, static


def _lookup(tf: Any) -> Any:
    """Returns what was ``tf.contrib.lookup``, which TensorFlow has taken out of sight since."""
    if hasattr(tf, "contrib"):
        return tf.contrib.lookup
    return importlib.import_module("tensorflow.python.ops.lookup_ops")


def _run(tf: Any, nest: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(nest)


@case
def words_of_a_vector(tf: Any) -> Any:
    lookup = _lookup(tf)
    words = tf.constant([["b", "a", "?"], ["c", "", "b"]])
    known = lookup.index_table_from_tensor(["a", "b", "c"], default_value=7)
    bucket = lookup.index_table_from_tensor(tf.constant(["a", "b"]), num_oov_buckets=1, name="one")
    # A word whose number is the default one is taken for unknown.
    hidden = lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1, default_value=0)
    numbers = lookup.index_table_from_tensor([30, 10], dtype=tf.int32, num_oov_buckets=1)
    back = lookup.index_to_string_table_from_tensor(["a", "b"], default_value="none")
    sparse = tf.SparseTensor([[0, 1], [2, 0]], ["b", "?"], [3, 2])
    found = known.lookup(sparse)
    made = [
        known.lookup(words), known.size(), bucket.lookup(words), bucket.size(),
        hidden.lookup(words[0]), numbers.lookup(tf.constant([10, 20, 30])),
        back.lookup(tf.constant([[1], [5]], tf.int64)), found.indices, found.values,
        found.dense_shape, known.lookup(words[:, 0]),
    ]  # fmt: skip
    facts = [static(one) for one in made if "SparseTensor" not in one.name]
    return [
        facts, _run(tf, made), known.name, bucket.name, known.initializer.name,
        known.initializer.type, str(known.key_dtype), str(back.value_dtype),
        tf.tables_initializer().name,
        len(tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS)), static(known.default_value),
    ]  # fmt: skip


@case
def tables_of_other_kinds(tf: Any) -> Any:
    pairs = tf.lookup.KeyValueTensorInitializer(["x", "y"], [0.5, 2.0])
    floats = tf.lookup.StaticHashTable(pairs, -1.0)
    numbers = tf.lookup.KeyValueTensorInitializer([7, 8, 8], [1, 2, 2], tf.int64, tf.int64)
    named = tf.lookup.StaticHashTable(numbers, 0, name="named")
    scaled = tf.Variable(2.0) * floats.lookup(tf.constant(["y", "?"]))
    made = [
        floats.lookup(tf.constant("x")), named.lookup(tf.constant([8, 9], tf.int64)), scaled,
        floats.size(),
    ]  # fmt: skip
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        found = session.run(made)
    early = tf.lookup.StaticHashTable(pairs, -1.0)
    twice = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["x", "x"], [3, 4]), -1)
    with tf.Session() as session:
        wrong = [
            error_of(lambda: session.run(early.lookup(tf.constant(["x"])))),
            error_of(lambda: session.run(early.size())),
            error_of(lambda: session.run(twice.initializer)),
            error_of(lambda: floats.lookup(tf.constant([1]))),
        ]
    return [[static(one) for one in made], found, named.name, wrong]


@case
def words_of_files(tf: Any) -> Any:
    lookup = _lookup(tf)
    words = tf.constant(["b", "a", "?", "a\tb", "4"])
    numbers = tf.constant([1, 0, 3, 4], tf.int64)
    with tempfile.TemporaryDirectory() as folder:

        def file(name: str, text: str) -> str:
            path = Path(folder) / name
            path.write_bytes(text.encode())
            return str(path)

        def filled(table: Any, keys: Any = words) -> Any:
            with tf.Session() as session:
                session.run(table.initializer)
                return session.run([table.size(), table.lookup(keys)])

        def of(name: str, text: str, **options: Any) -> Any:
            return filled(lookup.index_table_from_file(file(name, text), **options))

        columns = {"key_column_index": 0, "value_column_index": 1}
        back = lookup.index_to_string_table_from_file(file("back", "a\nb\n"), vocab_size=1)
        other = lookup.index_to_string_table_from_file(
            file("other", "4 a\n3 b\n"), delimiter=" ", **columns
        )
        name = tf.constant(file("tensor", "b\r\na"))
        return [
            of("lines", "a\nb\n"), of("one", "a\nb", num_oov_buckets=1), of("tab", "a\tb\nb\n"),
            of("few", "a\nb\n?\n", vocab_size=2), of("columns", "a\t3\nb\t4\n", **columns),
            filled(lookup.index_table_from_file(name)), filled(back, numbers),
            filled(other, numbers),
            filled(
                lookup.index_table_from_file(file("numbers", "5\n7\n"), 1, key_dtype=tf.int32),
                tf.constant([7, 8]),
            ),
            error_of(lambda: of("empty", "a\n\nb\n")), error_of(lambda: of("twice", "a\nb\na\n")),
            error_of(lambda: of("short", "a\n", vocab_size=2)),
            error_of(lambda: of("narrow", "a\t3\nb\n", **columns)),
            error_of(lambda: of("letters", "a\tx\n", **columns)),
            error_of(lambda: filled(lookup.index_table_from_file(folder + "/none"))),
            error_of(lambda: lookup.index_table_from_file("")),
            error_of(lambda: lookup.index_table_from_tensor(["a"], -1)),
            error_of(lambda: lookup.index_table_from_tensor([1, 2])),
            error_of(lambda: lookup.index_table_from_tensor(None)),
            error_of(
                lambda: tf.lookup.TextFileInitializer(
                    "f", tf.float32, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, 1
                )
            ),
        ]  # fmt: skip

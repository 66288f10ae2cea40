"""Strings, readers of files and Examples of TensorFlow's 1.x API; see `tf1_case.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, feeding, numbers


@case
def moved(tf: Any) -> Any:
    p = tf.placeholder(tf.string, [None])
    c = tf.constant(["b", "a", "c"])
    joined = tf.concat([p, c], 0)
    different, places = tf.unique(joined)
    rows, chosen = tf.stack([c, c]), [True, False, True]
    return feeding(
        [
            c, joined, tf.reshape(p, [-1, 1]), tf.stack([p, p]), tf.gather(c, [2, 0]), c[1],
            c[1:], rows[1, ::2], tf.identity(c), tf.expand_dims(c, 0), tf.tile(c, [2]),
            tf.transpose(rows), tf.unstack(c), tf.split(c, 3), tf.boolean_mask(c, chosen),
            tf.reverse(c, [0]), tf.slice(c, [0], [2]), tf.where(chosen, c, ["1", "2", "3"]),
            different, places, tf.equal(p, "a"), tf.not_equal(c, "a"), tf.shape(p), tf.size(p),
            tf.fill([2], "z"), c + "x", tf.add("<", p), tf.constant("one"),
            tf.unstack(tf.constant([1.0, 2.0])),
        ],
        {p: ["a", "yy"]},
    )  # fmt: skip


@case
def made_of_strings(tf: Any) -> Any:
    words = tf.constant(["  One", "tWo two ", "3"])
    split = tf.string_split(["a b  c", "", "d,e"], " ")
    marks = tf.string_split(["a,b;c", ";d"], ",;", skip_empty=False)
    letters = tf.string_split(["ab", "c"], "")
    table = tf.constant([["a", "b"], ["c", "d"]])
    return [
        tf.string_join([words, "-", words]), tf.string_join(["a", words], separator="/"),
        split.indices, split.values, split.dense_shape, marks.values, marks.dense_shape,
        letters.values, letters.indices, tf.substr(words, 1, 2),
        tf.substr("hello", [0, -3], [1, 9]),
        tf.strings.length(words), tf.strings.lower(words), tf.strings.upper(words),
        tf.string_strip(words), tf.regex_replace(words, "[wo]+", "<\\0>"),
        tf.regex_replace(words, "o", "0", replace_global=False),
        tf.strings.regex_full_match(words, "\\d"), tf.reduce_join(table, 0),
        tf.reduce_join(table, axis=1, separator=", ", keep_dims=True), tf.reduce_join(table),
        tf.reduce_join(table, [0, 1]),
    ]  # fmt: skip


@case
def numbers_and_strings(tf: Any) -> Any:
    floats, wholes = tf.constant([1.5, -2.25, 1e10]), tf.constant([1, -20])
    raw = tf.constant([b"\x01\x02\x03\x04", b"\xff\x00\x00\x80"])
    table = tf.decode_csv(
        ['1,2.5,"a,b"', ",,x", '-3,1e3,"say ""no"""'], [[7], [0.5], [""]], name="columns"
    )
    return [
        tf.as_string(floats), tf.as_string(floats, precision=2),
        tf.as_string(wholes, width=4, fill="0"),
        tf.as_string(floats, scientific=True, precision=3), tf.as_string([True, False]),
        tf.as_string(floats, shortest=True), tf.string_to_number(["1.5", " -2e3"]),
        tf.string_to_number("12", tf.int64), tf.decode_raw(raw, tf.uint8),
        tf.decode_raw(raw, tf.int32),
        tf.decode_raw(raw, tf.int32, little_endian=False), tf.decode_raw(raw[0], tf.float32),
        *table,
        tf.decode_csv("a;b;c", [[""], [""]], field_delim=";", select_cols=[0, 2]),
    ]  # fmt: skip


@case
def python_of_strings(tf: Any) -> Any:
    p = tf.placeholder(tf.string, [])
    made = tf.py_func(lambda one: b"<" + one + b">", [p], tf.string)
    counted = tf.py_func(lambda one: np.int64(len(one)), [p], tf.int64)
    counted.set_shape([])
    return feeding([made, counted, tf.cast(counted, tf.float32) * 2.0], {p: "four"})


def _example(tf: Any, number: int) -> Any:
    image = np.arange(number, number + 4, dtype=np.uint8)
    lists = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        "box": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, number])),
        "words": tf.train.Feature(
            bytes_list=tf.train.BytesList(value=[b"w%d" % n for n in range(number)])
        ),
    }
    return tf.train.Example(features=tf.train.Features(feature=lists))


@case
def messages(tf: Any) -> Any:
    found = tf.train.Example.FromString(_example(tf, 2).SerializeToString())
    again = tf.train.Example()
    again.features.feature["n"].int64_list.value.append(3)
    return [
        list(found.features.feature["label"].int64_list.value),
        list(found.features.feature["words"].bytes_list.value),
        sorted(found.features.feature), again.SerializeToString(), str(again),
    ]  # fmt: skip


@case
def examples(tf: Any) -> Any:
    several = tf.constant([_example(tf, n).SerializeToString() for n in (1, 3)])
    features = {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
        "box": tf.FixedLenFeature([2], tf.float32),
        "gone": tf.FixedLenFeature([2], tf.float32, default_value=[1.0, 2.0]),
        "words": tf.VarLenFeature(tf.string),
    }
    one = tf.parse_single_example(several[1], features)
    all_ = tf.parse_example(several, features)
    rows = tf.parse_example(
        several, {"words": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True)}
    )
    image = tf.reshape(tf.cast(tf.decode_raw(one["image"], tf.uint8), tf.float32) / 255.0, [2, 2])
    with tf.Session() as session:
        lost = error_of(
            lambda: session.run(
                tf.parse_single_example(several[0], {"no": tf.FixedLenFeature([1], tf.int64)})
            )
        )
        wrong = error_of(
            lambda: session.run(
                tf.parse_single_example(several[0], {"box": tf.FixedLenFeature([2], tf.int64)})
            )
        )
        kept = session.run([one, all_["label"], all_["words"], rows["words"], image])
    return [
        {key: value for key, value in kept[0].items() if key != "words"}, list(kept[0]["words"]),
        kept[1], list(kept[2]), kept[3], kept[4], str(one["box"].shape), str(all_["box"].shape),
        str(one["words"].values.shape), lost, wrong,
    ]  # fmt: skip


def _all(tf: Any, tensors: Any) -> list[Any]:
    """Returns what a pipeline gives until its end."""
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while True:
                found.append(session.run(tensors))
        except tf.errors.OutOfRangeError:
            found.append("end")
        coordinator.request_stop()
        coordinator.join(threads)
    return found


@case
def lines(tf: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder) / name) for name in ("one.csv", "two.csv")]
        Path(names[0]).write_text("x,y\n1,2\n3,4\n", encoding="utf-8")
        Path(names[1]).write_text("x,y\r\n5,6", encoding="utf-8")
        queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
        reader = tf.TextLineReader(skip_header_lines=1)
        key, value = reader.read(queue)
        x, y = tf.decode_csv(value, [[0], [0.0]])
        given = _all(tf, [key, value, x, y])
        found = tf.train.match_filenames_once(str(Path(folder) / "*.csv"))
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            matched = [Path(one.decode()).name for one in session.run(found)]
        static = [str(key.shape), str(value.dtype), str(x.shape)]
        read = [[Path(one[0].decode()).name, *one[1:]] for one in given[:-1]]
    return [read, given[-1], sorted(matched), static]


@case
def lines_in_batches(tf: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "one.csv"
        name.write_text("".join(f"{n},{n * 2.5}\n" for n in range(5)))
        queue = tf.train.string_input_producer([str(name)], num_epochs=1, shuffle=False)
        _, value = tf.TextLineReader().read(queue)
        x, y = tf.decode_csv(value, [[0], [0.0]])
        return _all(tf, tf.train.batch([x, y], 2, allow_smaller_final_batch=True))


@case
def records(tf: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for kind in ("NONE", "GZIP", "ZLIB"):
            options = tf.python_io.TFRecordOptions(
                getattr(tf.python_io.TFRecordCompressionType, kind)
            )
            path = str(Path(folder) / kind)
            with tf.python_io.TFRecordWriter(path, options) as writer:
                for n in (1, 2, 3):
                    writer.write(_example(tf, n).SerializeToString())
            found.append([len(one) for one in tf.python_io.tf_record_iterator(path, options)])
            with tf.Graph().as_default():
                queue = tf.train.string_input_producer([path], num_epochs=2, shuffle=False)
                reader = tf.TFRecordReader(options=options)
                _, value = reader.read(queue)
                parsed = tf.parse_single_example(
                    value,
                    {
                        "image": tf.FixedLenFeature([], tf.string),
                        "label": tf.FixedLenFeature([], tf.int64),
                    },
                )
                image = tf.decode_raw(parsed["image"], tf.uint8)
                image.set_shape([4])
                batch = tf.train.batch([image, parsed["label"]], 4, allow_smaller_final_batch=True)
                found.append(_all(tf, batch))
        Path(folder, "bad").write_bytes(Path(folder, "NONE").read_bytes()[:-3])
        bad = error_of(lambda: list(tf.python_io.tf_record_iterator(str(Path(folder, "bad")))))
        gone = error_of(lambda: list(tf.python_io.tf_record_iterator(str(Path(folder, "gone")))))
    return [*found, bad, gone]


@case
def other_readers(tf: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "bytes")
        Path(path).write_bytes(b"HEAD" + bytes(range(9)) + b"F")
        found = []
        for reader in (
            tf.FixedLengthRecordReader(3, header_bytes=4, footer_bytes=1),
            tf.WholeFileReader(),
            tf.IdentityReader(),
        ):
            queue = tf.train.string_input_producer([path], num_epochs=1, shuffle=False)
            _, value = reader.read(queue)
            value = tf.regex_replace(value, ".*/", "")
            found.append(_all(tf, [tf.strings.length(value), reader.num_records_produced()])[-1])
            with tf.Session() as session:
                found.append(session.run(reader.num_work_units_completed()))
        with tf.Session() as session:
            whole = session.run(tf.decode_raw(tf.read_file(path), tf.uint8))
            session.run(tf.write_file(str(Path(folder) / "new" / "file"), "text"))
            gone = error_of(lambda: session.run(tf.read_file(path + "?")))
        written = Path(folder, "new", "file").read_text(encoding="utf-8")
    return [whole, written, gone]


@case
def datasets_of_files(tf: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        text, packed, parts = (str(Path(folder) / name) for name in ("text", "packed", "parts"))
        Path(text).write_text("a 1\nb 2\nc 3\n", encoding="utf-8")
        Path(parts).write_bytes(bytes(range(9)))
        with tf.python_io.TFRecordWriter(packed) as writer:
            for n in (1, 2, 3):
                writer.write(_example(tf, n).SerializeToString())

        def parsed(record: Any) -> Any:
            box = tf.FixedLenFeature([2], tf.float32)
            features = {"label": tf.FixedLenFeature([], tf.int64), "box": box}
            return tf.parse_single_example(record, features)

        names = tf.placeholder(tf.string, [None])
        sets = [
            tf.data.TextLineDataset([text]).skip(1).map(lambda one: tf.string_join([one, "!"])),
            tf.data.TFRecordDataset(names).map(parsed).batch(2),
            tf.data.FixedLengthRecordDataset(parts, 3).map(
                lambda one: tf.decode_raw(one, tf.uint8)
            ),
            tf.data.Dataset.from_tensor_slices((["x", "y"], [1, 2])).batch(2),
        ]
        found = []
        for one in sets:
            iterator = tf.data.make_initializable_iterator(one)
            element = iterator.get_next()
            with tf.Session() as session:
                session.run(iterator.initializer, {names: [packed]})
                rows = []
                try:
                    while True:
                        rows.append(session.run(element))
                except tf.errors.OutOfRangeError:
                    found.append(rows)
            found.append([str(one.output_types), str(one.output_shapes)])
    found[2] = [[one[key] for key in sorted(one)] for one in found[2]]
    return found


@case
def refused(tf: Any) -> Any:
    text = tf.constant(["a"])
    return [
        error_of(lambda: tf.exp(text)), error_of(lambda: tf.string_join([numbers(2)])),
        error_of(lambda: tf.train.string_input_producer([])),
        error_of(lambda: tf.parse_single_example("", {})),
    ]  # fmt: skip

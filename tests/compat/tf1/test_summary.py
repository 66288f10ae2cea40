"""Event files of `tf.summary`: the bytes that TensorFlow writes, and what damaged ones give."""

import pytest

import hybridnet.compat.tf1 as tf
from hybridnet.base.errors import FormatError
from hybridnet.compat.tf1.summaries.events import Event, Summary, Value, record

#: What TensorFlow 2.21 writes for `EVENT`.
WRITTEN = bytes.fromhex(
    "1a00000000000000129bd82d09000000000000f83f10ac022a0c0a0a0a03612f6215000010c0d8bfb49f"
)
EVENT = Event(1.5, 300, summary=Summary([Value("a/b", -2.25)]))


def test_events_are_written_as_tensorflow_writes_them(tmp_path):
    assert record(EVENT.SerializeToString()) == WRITTEN
    (tmp_path / "file").write_bytes(WRITTEN)
    assert list(tf.train.summary_iterator(tmp_path / "file")) == [EVENT]


def test_a_writer_writes_what_sessions_fetch(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        loss = tf.summary.scalar("loss", x * 2.0)
        with tf.summary.FileWriter(tmp_path / "logs", graph) as writer:
            for step in range(3):
                writer.add_summary(session.run(loss, {x: step}), step)
    with pytest.raises(ValueError, match="closed"):
        writer.add_summary(b"")
    (path,) = (tmp_path / "logs").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    version, drawn, *events = tf.train.summary_iterator(path)
    assert version.file_version == "brain.Event:2"
    assert b"loss" in drawn.graph_def
    found = [
        (one.step, one.summary.value[0].tag, one.summary.value[0].simple_value) for one in events
    ]
    assert found == [(0, "loss", 0.0), (1, "loss", 2.0), (2, "loss", 4.0)]


def test_a_file_that_is_cut_off_ends_and_a_damaged_one_is_refused(tmp_path):
    path = tmp_path / "file"
    for size in range(len(WRITTEN)):
        path.write_bytes(WRITTEN + WRITTEN[:size])
        assert list(tf.train.summary_iterator(path)) == [EVENT]
    for place in range(len(WRITTEN)):
        damaged = bytearray(WRITTEN)
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        with pytest.raises(FormatError):
            list(tf.train.summary_iterator(path))


@pytest.mark.parametrize(
    "message", [b"\x0a\x05a", b"\x09\x00", b"\x0b", b"\x08" + b"\xff" * 11, b"\x0a"]
)
def test_messages_are_read_with_bounds(message):
    with pytest.raises(FormatError):
        Summary.FromString(message)


@pytest.mark.parametrize(
    "message", [b"", b"\x08\x01", b"\x0a\x02\x08\x05", b"\x0d\x00\x00\x00\x00"]
)
def test_fields_of_another_kind_are_passed_over(message):
    assert all(value == Value() for value in Summary.FromString(message).value)

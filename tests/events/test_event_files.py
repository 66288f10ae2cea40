"""Event files: the bytes that TensorFlow writes, and what damaged ones give."""

import pytest

from hybridnet.base.errors import FormatError
from hybridnet.events.messages import Event, Summary, Value, summary_iterator
from hybridnet.events.records import record
from hybridnet.events.writer import EventWriter

#: What TensorFlow 2.21 writes for `EVENT`.
WRITTEN = bytes.fromhex(
    "1a00000000000000129bd82d09000000000000f83f10ac022a0c0a0a0a03612f6215000010c0d8bfb49f"
)
EVENT = Event(1.5, 300, summary=Summary([Value("a/b", -2.25)]))


def test_events_are_written_as_tensorflow_writes_them(tmp_path):
    assert record(EVENT.SerializeToString()) == WRITTEN
    (tmp_path / "file").write_bytes(WRITTEN)
    assert list(summary_iterator(tmp_path / "file")) == [EVENT]


def test_a_file_that_is_cut_off_ends_and_a_damaged_one_is_refused(tmp_path):
    path = tmp_path / "file"
    for size in range(len(WRITTEN)):
        path.write_bytes(WRITTEN + WRITTEN[:size])
        assert list(summary_iterator(path)) == [EVENT]
    for place in range(len(WRITTEN)):
        damaged = bytearray(WRITTEN)
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        with pytest.raises(FormatError):
            list(summary_iterator(path))


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


def test_a_writer_writes_its_version_first_and_can_be_reopened(tmp_path):
    with EventWriter(tmp_path, filename_suffix=".end") as writer:
        writer.add_summary(Summary([Value("a", 0.5)]), 2)
    with pytest.raises(ValueError, match="EventWriter: it is closed; reopen"):
        writer.add_event(EVENT)
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.") and path.suffix == ".end"
    version, event = summary_iterator(path)
    assert version.file_version == "brain.Event:2"
    assert (event.step, event.summary) == (2, Summary([Value("a", 0.5)]))
    assert writer.get_logdir() == str(tmp_path)
    writer.reopen()
    writer.close()

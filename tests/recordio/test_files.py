"""Record files: MXNet's bytes, every way to read them, forks, pickles and what fails."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import run_script
from oracle.record_cases import MAGIC, headers, records
from places import ROOT

import hybridnet as mx
from hybridnet.recordio import MXIndexedRecordIO, MXRecordIO, pack, unpack

FILES = ROOT / "tests" / "oracle" / "files"


def write(path: Path, rows: list[bytes]) -> Path:
    with MXRecordIO(path, "w") as writer:
        for row in rows:
            writer.write(row)
    return path


def write_indexed(folder: Path, rows: list[bytes]) -> tuple[Path, Path]:
    paths = folder / "a.idx", folder / "a.rec"
    with MXIndexedRecordIO(*paths, "w") as writer:
        for index, row in enumerate(rows):
            writer.write_idx(3 * index, row)
    return paths


def read(path: Path, **options: Any) -> list[bytes]:
    with MXRecordIO(path, "r", **options) as reader:
        return list(reader)


# -- MXNet's bytes ---------------------------------------------------------------------------


def test_files_are_mxnets_byte_for_byte(tmp_path: Path) -> None:
    index, data = write_indexed(tmp_path, records())
    assert data.read_bytes() == (FILES / "records.rec").read_bytes()
    assert index.read_bytes() == (FILES / "records.idx").read_bytes()
    assert read(FILES / "records.rec") == records()


def test_headers_are_mxnets_byte_for_byte() -> None:
    rows = read(FILES / "headers.rec")
    assert [pack(header, b"image") for header in headers()] == rows
    for row, (_, label, number, number2) in zip(rows, headers(), strict=True):
        header, image = unpack(row)
        # An empty vector is stored as the label 0, as MXNet has it.
        expected = 0 if np.size(label) == 0 else np.float32(label)
        np.testing.assert_array_equal(header.label, expected)
        assert (header.id, header.id2, image) == (number, number2, b"image")
    assert repr(unpack(rows[0])[0]) == "HEADER(flag=0, label=3.0, id=7, id2=0)"


@pytest.mark.parametrize("row", [b"", b"x" * 23, pack((0, [1.0, 2.0], 0, 0), b"")[:-1]])
def test_a_record_too_short_for_its_header(row: bytes) -> None:
    with pytest.raises(mx.MXNetError, match="bytes"):
        unpack(row)


@pytest.mark.parametrize(
    "header", [(0, 1, -1, 0), (0, 1, 2**64, 0), (0, "a", 1, 0), (0, 1, 1), 5, (0, 1.0, 0.5, 0)]
)
def test_a_header_that_does_not_fit(header: Any) -> None:
    with pytest.raises(mx.MXNetError, match=r"recordio\.pack: header must be"):
        pack(header, b"")


def test_images_are_packed_and_unpacked() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 3), np.uint8)
    header, image = mx.recordio.unpack_img(mx.recordio.pack_img((0, 4, 1, 0), pixels, 9, ".png"))
    np.testing.assert_array_equal(image, pixels)
    assert header.label == 4
    smooth = np.full((16, 16, 3), 90, np.uint8)
    grey = mx.recordio.unpack_img(mx.recordio.pack_img((0, 4, 1, 0), smooth), iscolor=0)[1]
    assert grey.shape == (16, 16) and abs(int(grey[0, 0]) - 90) <= 1
    # As OpenCV has it: no image, no error.
    assert mx.recordio.unpack_img(pack((0, 4, 1, 0), b"no image"))[1] is None
    with pytest.raises(mx.MXNetError, match="must hold an image"):
        mx.recordio.unpack_img(pack((0, 4, 1, 0), b""))
    with pytest.raises(mx.MXNetError, match="that can be written as '.jpg', got float64 of shape"):
        mx.recordio.pack_img((0, 4, 1, 0), np.zeros((0, 3)))


# -- reading and writing ---------------------------------------------------------------------


def test_records_are_read_in_any_order_and_from_the_beginning_again(tmp_path: Path) -> None:
    rows = records()
    with MXIndexedRecordIO(*write_indexed(tmp_path, rows), "r") as reader:
        assert reader.keys == [3 * index for index in range(len(rows))]
        for key in reversed(reader.keys):
            assert reader.read_idx(key) == rows[key // 3]
        reader.seek(6)
        assert reader.tell() == reader.idx[6]
        assert [reader.read(), reader.read()] == rows[2:4]
        reader.reset()
        assert reader.read() == rows[0]
        with pytest.raises(KeyError, match="no record with the key 4; it has 22 keys"):
            reader.read_idx(4)


def test_keys_may_be_text(tmp_path: Path) -> None:
    with MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "w", key_type=str) as writer:
        assert writer.tell() == 0
        writer.write_idx("grün", b"12345")
        assert writer.tell() == 16
    with MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "r", key_type=str) as reader:
        assert reader.read_idx("grün") == b"12345"


def test_a_reader_reads_what_is_written_meanwhile(tmp_path: Path) -> None:
    writer = MXRecordIO(tmp_path / "a.rec", "w")
    reader = MXRecordIO(tmp_path / "a.rec", "r")
    assert reader.read() is None
    writer.write(bytearray(b"first"))
    assert reader.read() == b"first"
    writer.write(memoryview(b"second"))
    assert reader.read() == b"second"
    writer.reset()  # empties it
    assert (tmp_path / "a.rec").read_bytes() == b""
    writer.close()
    writer.close()


def test_threads_share_a_reader(tmp_path: Path) -> None:
    rows = [bytes([index]) * (1 + 997 * index) for index in range(40)]
    reader = MXIndexedRecordIO(*write_indexed(tmp_path, rows), "r")
    wrong = []

    def work(seed: int) -> None:
        for index in np.random.default_rng(seed).integers(0, 40, 200):
            if reader.read_idx(3 * int(index)) != rows[index]:
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda path: MXRecordIO(path, "r").write(b""), "must be open for writing, got flag 'r'"),
        (lambda path: MXRecordIO(path, "w").read(), "must be open for reading, got flag 'w'"),
        (lambda path: MXRecordIO(path, "w").write("text"), "a record must be bytes, got str"),
        (lambda path: MXRecordIO(path, "w").write(5), "a record must be bytes, got int"),
        (lambda path: pickle.dumps(MXRecordIO(path, "w")), "only readers can be pickled"),
    ],
)
def test_misuse(tmp_path: Path, use: Any, match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        use(write(tmp_path / "a.rec", [b"a"]))


def test_a_wrong_flag_a_missing_file_and_a_closed_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="flag must be 'r' or 'w', got 'a'"):
        MXRecordIO(tmp_path / "a.rec", "a")
    with pytest.raises(FileNotFoundError):
        MXRecordIO(tmp_path / "a.rec", "r")
    reader = MXRecordIO(write(tmp_path / "a.rec", [b"a"]), "r")
    reader.close()
    with pytest.raises(mx.MXNetError, match="must be open, got a closed one"):
        reader.read()
    with pytest.raises(FileNotFoundError):
        MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")


# -- processes -------------------------------------------------------------------------------


def _read_in_child(reader: Any, keys: list[int], queue: Any) -> None:
    queue.put([reader.read_idx(key) for key in keys] + [reader.read()])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_readers_go_to_other_processes(tmp_path: Path, method: str) -> None:
    rows = records()
    reader = MXIndexedRecordIO(*write_indexed(tmp_path, rows), "r")
    reader.read_idx(3)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_read_in_child, args=(reader, [30, 0, 15], queue))
    child.start()
    assert queue.get(timeout=60) == [rows[10], rows[0], rows[5], rows[6]]
    assert reader.read() == rows[2]  # the child has moved its own position only
    child.join()


def test_a_forked_process_goes_on_from_the_place_and_does_not_write(tmp_path: Path) -> None:
    rows = records()
    writer = MXRecordIO(tmp_path / "w.rec", "w")
    writer.write(b"before")
    reader = MXRecordIO(write(tmp_path / "a.rec", rows), "r")
    reader.read()
    pid = os.fork()
    if pid == 0:
        try:
            good = reader.read() == rows[1]
            writer.write(b"child")
        except mx.MXNetError as error:
            good = good and "is written by the process that opened it" in str(error)
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert reader.read() == rows[1]
    writer.write(b"after")
    assert read(tmp_path / "w.rec") == [b"before", b"after"]


def test_pickled_readers_open_their_file_again(tmp_path: Path) -> None:
    reader = MXIndexedRecordIO(*write_indexed(tmp_path, [b"a", b"b"]), "r")
    reader.read()
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.keys == [0, 3] and copy.read() == b"a" and reader.read() == b"b"
    reader.close()
    assert not pickle.loads(pickle.dumps(reader)).is_open


def test_importing_it_loads_neither_jax_nor_numpy() -> None:
    code = "import sys, hybridnet.recordio; print({'jax', 'numpy', 'cv2'} & {*sys.modules})"
    assert run_script(code).strip().endswith("set()")


# -- damage ----------------------------------------------------------------------------------


def test_every_truncation_is_an_error_with_its_place(tmp_path: Path) -> None:
    rows = [b"first one", b"ab" + MAGIC + b"cd" + MAGIC + b"!", b"last"]
    whole = write(tmp_path / "a.rec", rows).read_bytes()
    ends = np.cumsum([0] + [len(write(tmp_path / "b.rec", [row]).read_bytes()) for row in rows])
    for size in range(len(whole)):
        (tmp_path / "a.rec").write_bytes(whole[:size])
        count = int(np.searchsorted(ends, size, "right")) - 1
        reader = MXRecordIO(tmp_path / "a.rec", "r")
        assert [reader.read() for _ in range(count)] == rows[:count]
        if size == ends[count]:
            assert reader.read() is None
        else:
            with pytest.raises(mx.MXNetError, match=f"record at byte {ends[count]}[:,].*needed"):
                reader.read()
        assert read(tmp_path / "a.rec", skip_damaged=True) == rows[:count]


@pytest.mark.parametrize("lost", [0, 1, 3, 4])
@pytest.mark.parametrize("place", [0, 5, 9])
def test_damage_costs_one_record(tmp_path: Path, place: int, lost: int) -> None:
    """Bytes of the third record are overwritten, and some are lost, so that the rest moves."""
    rows = [bytes([65 + index]) * 20 for index in range(6)]
    write(tmp_path / "a.rec", rows)
    data = bytearray((tmp_path / "a.rec").read_bytes())
    start = 2 * 28
    data[start + place : start + place + 4] = b"\xff" * (4 - lost)
    (tmp_path / "a.rec").write_bytes(data)
    damaged_head = place < 8
    reader = MXRecordIO(tmp_path / "a.rec", "r", skip_damaged=True)
    got = list(reader)
    assert got[:2] == rows[:2] and got[-2:] == rows[-2:]
    assert len(reader.damages) == (1 if damaged_head or lost else 0)
    assert all(f"byte {start}" in one or "byte 8" in one for one in reader.damages)
    reader = MXRecordIO(tmp_path / "a.rec", "r")
    if damaged_head:
        assert [reader.read(), reader.read()] == rows[:2]
        with pytest.raises(mx.MXNetError, match=f"record at byte {start}: .*skip_damaged=True"):
            reader.read()
        assert reader.read() == rows[3]  # and on it goes


def test_a_record_that_lost_bytes_does_not_swallow_the_next(tmp_path: Path) -> None:
    """Its length reaches into the record behind it, which is found nevertheless."""
    rows = [bytes([65 + index]) * 40 for index in range(6)]
    write(tmp_path / "a.rec", rows)
    data = (tmp_path / "a.rec").read_bytes()
    for lost in (1, 4, 10, 30):
        (tmp_path / "a.rec").write_bytes(data[:108] + data[108 + lost :])  # of the third
        reader = MXRecordIO(tmp_path / "a.rec", "r", skip_damaged=True)
        assert list(reader) == rows[:2] + rows[3:]
        assert "record at byte 96: a frame or the end of the file must" in reader.damages[0]
        (tmp_path / "a.rec").write_bytes(data[:144] + b"zzzz" + data[148:])  # a head, of the fourth
        assert read(tmp_path / "a.rec", skip_damaged=True) == rows[:3] + rows[4:]


def test_a_header_that_promises_half_a_gigabyte_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "a.rec").write_bytes(MAGIC + (2**29 - 1).to_bytes(4, "little") + b"x")
    with pytest.raises(mx.MXNetError, match="536870911 bytes of data are needed, got 1"):
        MXRecordIO(tmp_path / "a.rec", "r").read()


@pytest.mark.parametrize("text", ["1", "1\tx", "x\t0", "1\t-4"])
def test_a_damaged_index_is_an_error_with_its_line(tmp_path: Path, text: str) -> None:
    index, data = write_indexed(tmp_path, [b"a"])
    index.write_text(f"0\t0\n\n{text}\n")
    with pytest.raises(mx.MXNetError, match=r"a\.idx: line 3 must be a key, a tab and a place"):
        MXIndexedRecordIO(index, data, "r")


def test_an_index_of_another_file_is_an_error(tmp_path: Path) -> None:
    index, data = write_indexed(tmp_path, [b"a" * 50])
    index.write_text("0\t8\n1\t4000\n")
    reader = MXIndexedRecordIO(index, data, "r", skip_damaged=True)
    with pytest.raises(mx.MXNetError, match="record at byte 8: a frame must begin with 0xced7230a"):
        reader.read_idx(0)
    assert reader.read_idx(1) is None


# -- drills ----------------------------------------------------------------------------------


def test_a_full_disk_leaves_whole_records(tmp_path: Path, monkeypatch: Any) -> None:
    writer = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    writer.write_idx(1, b"fits")

    class Full:
        def __init__(self, file: Any, room: int) -> None:
            self.file, self.room = file, room

        def write(self, data: Any) -> int:
            if not self.room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            data = bytes(data)[: self.room]
            self.room -= len(data)
            return int(self.file.write(data))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    for name in ("_file", "fidx"):
        file = getattr(writer, name)
        setattr(writer, name, Full(file, 3))
        with pytest.raises(OSError, match="No space left") as caught:
            writer.write_idx(2, b"does not fit")
        assert str(caught.value.filename).startswith(str(tmp_path / "a."))
        setattr(writer, name, file)
    writer.write_idx(3, b"fits again")
    writer.close()
    assert read(tmp_path / "a.rec") == [b"fits", b"fits again"]
    with MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r") as reader:
        assert reader.keys == [1, 3]
        assert reader.read_idx(3) == b"fits again"


def test_a_killed_writer_leaves_what_it_had_written(tmp_path: Path) -> None:
    code = f"""
        import hybridnet as mx
        writer = mx.recordio.MXIndexedRecordIO({str(tmp_path / "a.idx")!r},
                                               {str(tmp_path / "a.rec")!r}, "w")
        for index in range(100):
            writer.write_idx(index, b"x" * index)
        print("written", flush=True)
        input()
    """
    child = subprocess.Popen(
        [sys.executable, "-c", "\n".join(line[8:] for line in code.splitlines())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None and child.stdout.readline() == b"written\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    with MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r") as reader:
        assert [reader.read_idx(key) for key in reader.keys] == [b"x" * n for n in range(100)]

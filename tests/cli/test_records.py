"""`hybridnet rec` and `hybridnet im2rec`: their files, their errors in one line, what fails."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import hybridnet as mx
from hybridnet.cli.main import main
from hybridnet.recordio import MXIndexedRecordIO, unpack, unpack_img


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Two folders with images in them, one of which is broken, and a text."""
    root = tmp_path / "images"
    generator = np.random.default_rng(0)
    for number, name in enumerate(["b/3.png", "a/1.jpg", "a/2.JPG", "0.png", "a/in/9.jpeg"]):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.full((20 + number, 30, 3), generator.integers(0, 255, 3), np.uint8)
        ending = ".png" if path.suffix == ".png" else ".jpg"
        path.write_bytes(cv2.imencode(ending, pixels)[1].tobytes())
    (root / "a" / "text.txt").write_text("no image")
    return root


def run(*arguments: Any) -> int:
    return main([str(one) for one in arguments])


def rows(path: Path) -> list[tuple[float, int, Any]]:
    """Label, id and content of each record, by the index."""
    with MXIndexedRecordIO(path.with_suffix(".idx"), path, "r") as reader:
        found = [unpack(reader.read_idx(key)) for key in reader.keys]
    return [(header.label, header.id, data) for header, data in found]


def test_a_list_has_a_label_for_each_folder(images: Path, tmp_path: Path, capsys: Any) -> None:
    stem = tmp_path / "all"
    assert run("im2rec", stem, images, "--list", "--recursive", "--no-shuffle") == 0
    assert (tmp_path / "all.lst").read_text().splitlines() == [
        "0\t0.000000\t0.png",
        "1\t1.000000\ta/1.jpg",
        "2\t1.000000\ta/2.JPG",
        "3\t2.000000\ta/in/9.jpeg",
        "4\t3.000000\tb/3.png",
    ]
    assert capsys.readouterr().out == ". 0\na 1\na/in 2\nb 3\n"
    # MXNet's im2rec.py puts five images in this order.
    assert run("im2rec", stem, images, "--list", "--recursive") == 0
    order = [int(line.split("\t")[0]) for line in (tmp_path / "all.lst").read_text().splitlines()]
    assert sorted(order) == [0, 1, 2, 3, 4] != order
    assert run("im2rec", stem, images / "a", "--list", "--exts", ".jpg", "--no-shuffle") == 0
    text = (tmp_path / "all.lst").read_text()
    assert text == "0\t0.000000\t1.jpg\n1\t0.000000\t2.JPG\n"


def test_lists_in_parts(images: Path, tmp_path: Path) -> None:
    options = ["--list", "--recursive", "--train-ratio", 0.5, "--test-ratio", 0.25, "--chunks", 1]
    assert run("im2rec", tmp_path / "x", images, *options) == 0
    sizes = {
        path.name: len(path.read_text().splitlines()) for path in sorted(tmp_path.glob("x*.lst"))
    }
    assert sizes == {"x_test.lst": 1, "x_train.lst": 2, "x_val.lst": 2}
    assert run("im2rec", tmp_path / "y", images, "--list", "--recursive", "--chunks", 2) == 0
    both = [(tmp_path / f"y_{number}.lst").read_text().splitlines() for number in (0, 1)]
    assert [len(one) for one in both] == [3, 2]


def test_a_list_of_nothing_is_an_error(images: Path, tmp_path: Path, capsys: Any) -> None:
    """A mistyped folder, or one whose images are deeper, must not end in an empty record file."""
    for root, said in [(tmp_path / "not_there", "got none"), (images.parent, "got one without")]:
        assert run("im2rec", tmp_path / "x", root, "--list") == 2
        error = capsys.readouterr().err
        assert f"{root}: must be a folder with images" in error and said in error
        assert "--recursive looks into its folders" in error
    assert not list(tmp_path.glob("x*"))
    (tmp_path / "x.lst").write_text("\n")
    assert run("im2rec", tmp_path / "x", images) == 2
    assert "x.lst: must list images, got an empty list" in capsys.readouterr().err
    assert not (tmp_path / "x.rec").exists()


@pytest.mark.parametrize("threads", [1, 3])
def test_files_are_packed_as_they_are(images: Path, tmp_path: Path, threads: int) -> None:
    stem = tmp_path / "p"
    run("im2rec", stem, images, "--list", "--recursive")
    assert run("im2rec", stem, images, "--pass-through", "--num-thread", threads) == 0
    listed = [line.split("\t") for line in (tmp_path / "p.lst").read_text().splitlines()]
    expected = [(float(b), int(a), (images / c).read_bytes()) for a, b, c in listed]
    assert rows(tmp_path / "p.rec") == expected
    assert sorted(path.name for path in tmp_path.glob("p*")) == ["p.idx", "p.lst", "p.rec"]


def test_images_are_made_smaller(images: Path, tmp_path: Path, capsys: Any) -> None:
    lines = ["7\t1\t2\t0.png", "3\t4\t5\tb/3.png", "9\t1\t1\tmissing.png", "8\t1\t1\ta/text.txt"]
    (tmp_path / "q.lst").write_text("\n".join(lines) + "\n\n")
    options = ["--resize", 10, "--encoding", ".png", "--quality", 3, "--pack-label"]
    assert run("im2rec", tmp_path / "q", images, *options, "--color", 0) == 0
    err = capsys.readouterr().err
    assert "text.txt: must be an image that can be decoded, got 8 bytes" in err
    assert "missing.png" in err and "2 of 4 images were left out" in err
    found = rows(tmp_path / "q.rec")
    assert [(label.tolist(), number) for label, number, _ in found] == [([1, 2], 7), ([4, 5], 3)]
    shapes = [cv2.imdecode(np.frombuffer(data, np.uint8), -1).shape for *_, data in found]
    assert shapes == [(10, 13), (10, 15)]
    assert run("im2rec", tmp_path / "q", images, "--center-crop", "--resize", 8) == 0
    with MXIndexedRecordIO(tmp_path / "q.idx", tmp_path / "q.rec", "r") as reader:
        header, image = unpack_img(reader.read_idx(7))
    assert image.shape == (8, 8, 3) and header.label == 1 and header.flag == 0


@pytest.mark.parametrize("line", ["1\tx", "x\t1\ta.png", "1\tone\ta.png"])
def test_a_damaged_list_is_an_error_with_its_line(tmp_path: Path, line: str, capsys: Any) -> None:
    (tmp_path / "q.lst").write_text(f"0\t0\ta.png\n{line}\n")
    assert run("im2rec", tmp_path / "q", tmp_path) == 2
    assert "q.lst: line 2 must be a number, labels and a path" in capsys.readouterr().err
    assert run("im2rec", tmp_path / "z", tmp_path) == 2
    assert "there must be a list" in capsys.readouterr().err


# -- rec -------------------------------------------------------------------------------------


@pytest.fixture
def packed(images: Path, tmp_path: Path) -> Path:
    sources = [images / "0.png", images / "a" / "1.jpg", images / "a" / "text.txt"]
    assert run("rec", "pack", tmp_path / "r.rec", *sources, "--label", 2.5) == 0
    return tmp_path / "r.rec"


def test_records_are_packed_and_listed(packed: Path, images: Path, capsys: Any) -> None:
    assert [row[:2] for row in rows(packed)] == [(2.5, 0), (2.5, 1), (2.5, 2)]
    capsys.readouterr()
    assert run("rec", "list", packed) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["offset", "bytes", "id", "labels", "kind"]
    assert [line[2:] for line in lines[1:]] == [
        ["0", "2.5", "PNG"],
        ["1", "2.5", "JPEG"],
        ["2", "2.5", "-"],
    ]
    assert int(lines[1][1]) == 24 + (images / "0.png").stat().st_size
    run("rec", "pack", packed, images / "0.png", "--raw")
    capsys.readouterr()
    run("rec", "list", packed, "--limit", 5)
    assert capsys.readouterr().out.splitlines()[1].split("\t")[2:] == ["-", "-", "PNG"]


def test_checks(packed: Path, capsys: Any) -> None:
    assert run("rec", "check", packed) == 0
    assert "3 records, all whole" in capsys.readouterr().out
    assert run("rec", "check", packed, "--images") == 2  # the text is none
    out, err = capsys.readouterr()
    assert "OpenCV does not know the image" in out and "faults: 1, whole records: 3" in err
    index = packed.with_suffix(".idx")
    lines = index.read_text().splitlines()
    index.write_text(f"{lines[0]}\n9\t4\n")
    assert run("rec", "check", packed) == 2
    out, err = capsys.readouterr()
    assert "the place of 9, 4, is no record" in out and "2 records of" in out
    data = bytearray(packed.read_bytes())
    place = int(lines[1].split("\t")[1])
    data[place : place + 4] = b"\0\0\0\0"
    packed.write_bytes(data)
    index.unlink()
    assert run("rec", "check", packed) == 2
    out, err = capsys.readouterr()
    assert f"record at byte {place}: a frame must begin with" in out
    assert "faults: 1, whole records: 2" in err


def test_an_index_is_made(packed: Path, capsys: Any) -> None:
    index = packed.with_suffix(".idx")
    before = index.read_text()
    assert run("rec", "index", packed) == 2
    assert "is there already" in capsys.readouterr().err
    index.unlink()
    assert run("rec", "index", packed) == 0
    assert index.read_text() == before
    assert run("rec", "list", packed.parent / "none.rec") == 2
    assert "none.rec: No such file" in capsys.readouterr().err


# -- drills ----------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file(
    packed: Path, images: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    before = packed.read_bytes()
    calls = []

    def full(self: Any, buf: bytes) -> None:
        calls.append(buf)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.uri)
        write(self, buf)

    write = mx.recordio.MXRecordIO.write
    monkeypatch.setattr(mx.recordio.MXRecordIO, "write", full)
    assert run("rec", "pack", packed, images / "0.png", images / "0.png") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert packed.read_bytes() == before
    assert sorted(path.name for path in packed.parent.glob("r*")) == ["r.idx", "r.rec"]


def test_a_killed_run_leaves_no_file_that_looks_whole(packed: Path, images: Path) -> None:
    """It waits for a pipe in the middle of its work, and is killed there."""
    before = packed.read_bytes()
    pipe = packed.parent / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "hybridnet", "rec", "pack", packed, images / "0.png", pipe]
    child = subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL)
    with open(pipe, "wb"):  # opened once the other side has it open
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert packed.read_bytes() == before
    assert run("rec", "pack", packed, images / "0.png") == 0
    assert len(rows(packed)) == 1
    assert sorted(path.name for path in packed.parent.glob("r*")) == ["r.idx", "r.rec"]

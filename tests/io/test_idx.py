"""IDX files and the MNIST set: what is read, and what hostile files get."""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridnet.base.errors import FormatError
from hybridnet.io import read_idx
from hybridnet.io.mnist import load_images_and_labels, load_mnist

CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def idx_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """The file of an array, written value by value after the format's description."""
    kind = array.dtype.str[1:]
    head = bytes([0, 0, CODES[kind], array.ndim])
    sizes = b"".join(struct.pack(">I", one) for one in array.shape)
    letter = {"u1": "B", "i1": "b", "i2": "h", "i4": "i", "f4": "f", "f8": "d"}[kind]
    values = b"".join(struct.pack(">" + letter, one) for one in array.reshape(-1).tolist())
    return head + sizes + values


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


# -- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (0, 7), (1, 1, 1, 1)])
def test_every_dtype(path: Path, kind: str, shape: tuple[int, ...], packed: bool):
    numbers = np.random.default_rng(0).integers(-100, 100, shape)
    array = numbers.astype(kind)
    data = idx_bytes(array)
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    got = read_idx(path)
    assert got.dtype == array.dtype and got.dtype.isnative and got.flags.writeable
    np.testing.assert_array_equal(got, array)
    got[...] = 1
    np.testing.assert_array_equal(read_idx(str(path)), array)


# -- damaged files ---------------------------------------------------------------------------------

GOOD = idx_bytes(np.arange(6, dtype=np.int32).reshape(2, 3))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the header: 4 bytes are needed, got 0"),
        (GOOD[:3], "the header: 4 bytes are needed, got 3"),
        (b"\1" + GOOD[1:], "the first two bytes must be 0, got 01 00"),
        (GOOD[:2] + b"\x0a" + GOOD[3:], r"dtype code must be one of 0x08 \(uint8\), .*got 0x0a"),
        (GOOD[:3] + b"\0" + GOOD[4:], "number of dimensions must be 1 to 32, got 0"),
        (GOOD[:3] + b"\xff" + GOOD[4:], "number of dimensions must be 1 to 32, got 255"),
        (GOOD[:3] + b"\x09" + GOOD[4:], "the sizes of 9 dimensions: 36 bytes are needed, got 32"),
        (GOOD[:-1], r"int32 values of shape \(2, 3\) need 24 bytes, got a file with .* most 23"),
        (GOOD + b"x", r"the file must end after the int32 values of shape \(2, 3\), got more"),
        (GOOD[:4] + b"\xff" * 8 + GOOD[12:], r"the sizes must be possible, got shape"),
        (b"\0\0\x08\x03" + b"\xff" * 4 + b"\0" * 4 + b"\xff" * 4, "the sizes must be possible"),
        (GOOD[:4] + b"\0\xff\xff\xff" + GOOD[8:], "need 201326580 bytes"),
        (gzip.compress(GOOD, mtime=0)[:-9], "the gzip data must be whole"),
        (gzip.compress(GOOD, mtime=0)[:-8] + b"\0" * 8, "the gzip data must be whole, got CRC"),
        (
            gzip.compress(GOOD, mtime=0) + b"x",
            "the gzip data must be whole, got Not a gzipped file",
        ),
        (
            gzip.compress(GOOD[:-1], mtime=0),
            r"int32 values of shape \(2, 3\): 24 bytes are needed, got 23",
        ),
        (gzip.compress(GOOD + b"x", mtime=0), "the file must end after"),
        (b"\x1f\x8b", "the gzip data must be whole"),
    ],
)
def test_damaged_files_are_refused(path: Path, data: bytes, message: str):
    path.write_bytes(data)
    with pytest.raises(FormatError, match=message) as caught:
        read_idx(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "damaged or is not an IDX file" in str(caught.value)


def test_a_header_that_promises_more_than_there_is_takes_no_memory(path: Path):
    """1 GB promised by 2 MB of gzip data (which could hold it), and by a plain file."""
    head = b"\0\0\x08\x01" + struct.pack(">I", 1 << 30)
    noise = np.random.default_rng(0).bytes(2 << 20)
    for data in (gzip.compress(head + noise, 1, mtime=0), head + noise):
        path.write_bytes(data)
        tracemalloc.start()
        with pytest.raises(FormatError):
            read_idx(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 16 << 20


@settings(max_examples=300)
@given(
    packed=st.booleans(),
    cut=st.one_of(st.none(), st.integers(0, 60)),
    flips=st.lists(st.tuples(st.integers(0, 200), st.integers(1, 255)), max_size=4),
    tail=st.binary(max_size=4),
)
def test_fuzzed_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    packed: bool,
    cut: int | None,
    flips: list[tuple[int, int]],
    tail: bytes,
):
    data = bytearray(gzip.compress(GOOD, mtime=0) if packed else GOOD)
    for place, mask in flips:
        data[place % len(data)] ^= mask
    damaged = bytes(data[:cut]) + tail
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(damaged)
    try:
        array = read_idx(path)
    except FormatError as error:
        assert str(error).startswith(str(path))
        return
    assert array.size <= 1032 * len(damaged)
    if not packed:  # what was read says all that is in the file
        assert idx_bytes(array)[4:] == damaged[4:] or array.dtype.kind == "f"


# -- the MNIST set ---------------------------------------------------------------------------------


def test_the_bundled_digits():
    train_images, train_labels, test_images, test_labels = load_mnist()
    assert train_images.shape == (4000, 28, 28) and test_images.shape == (1000, 28, 28)
    assert train_labels.shape == (4000,) and test_labels.shape == (1000,)
    assert train_images.dtype == train_labels.dtype == np.uint8
    assert set(train_labels) == set(test_labels) == set(range(10))
    assert train_images.min() == 0 and train_images.max() == 255


def write_set(folder: Path, names: list[str], counts: tuple[int, ...] = (3, 3, 2, 2)) -> None:
    for name, count in zip(names, counts, strict=True):
        shape = (count, 2, 2) if "images" in name else (count,)
        data = idx_bytes(np.arange(np.prod(shape)).reshape(shape).astype("u1"))
        (folder / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)


@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_spelling_of_the_files(tmp_path: Path, dot: str, suffix: str):
    stems = ("train-images", "idx3"), ("train-labels", "idx1")
    stems += ("t10k-images", "idx3"), ("t10k-labels", "idx1")
    write_set(tmp_path, [f"{stem}{dot}{kind}-ubyte{suffix}" for stem, kind in stems])
    shapes = [one.shape for one in load_mnist(tmp_path)]
    assert shapes == [(3, 2, 2), (3,), (2, 2, 2), (2,)]


NAMES = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
]


def test_what_is_missing_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"train-images-idx3-ubyte.*got .*nowhere.*no fold"):
        load_mnist(tmp_path / "nowhere")
    write_set(tmp_path, NAMES)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(
        FileNotFoundError,
        match=r"t10k-labels-idx1-ubyte, t10k-labels-idx1-ubyte\.gz, t10k-labels\.idx1-ubyte, ",
    ):
        load_mnist(tmp_path)


def test_sets_that_do_not_fit_together_are_refused(tmp_path: Path):
    write_set(tmp_path, NAMES, (3, 2, 2, 2))
    with pytest.raises(FormatError, match=r"labels.*a label for each of the 3 images .*, got 2"):
        load_mnist(tmp_path)
    images, labels = tmp_path / NAMES[0], tmp_path / NAMES[1]
    with pytest.raises(FormatError, match=r"must hold images, .*got uint8 of shape \(2,\)"):
        load_images_and_labels(labels, labels)
    labels.write_bytes(idx_bytes(np.arange(3, dtype=np.int32)))
    with pytest.raises(FormatError, match=r"must hold labels, .*got int32 of shape \(3,\)"):
        load_images_and_labels(images, labels)


def test_a_damaged_set_is_refused(tmp_path: Path):
    write_set(tmp_path, NAMES)
    shutil.copy(tmp_path / NAMES[0], tmp_path / "copy")
    (tmp_path / NAMES[0]).write_bytes((tmp_path / "copy").read_bytes()[:-1])
    with pytest.raises(FormatError, match="train-images-idx3-ubyte: uint8 values"):
        load_mnist(tmp_path)


def test_reading_files_loads_no_jax():
    script = (
        "import sys\n"
        "from hybridnet.io.mnist import load_mnist\n"
        "import hybridnet.io\n"
        "assert hybridnet.io.read_idx and load_mnist()[0].shape == (4000, 28, 28)\n"
        "assert not {'jax', 'jaxlib', 'hybridnet.ndarray'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

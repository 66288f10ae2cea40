"""The .params format, against files that MXNet 1.9.1 wrote and against damage."""

from __future__ import annotations

import contextlib
import os
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from places import ORACLE

from hybridnet.base.dtype import BFLOAT16, CODE_OF
from hybridnet.base.errors import DTypeError, FormatError
from hybridnet.base.files import atomic_write
from hybridnet.base.params_file import load_params, save_params
from hybridnet.util import np_shape

FILES = ORACLE / "files"

Array = np.ndarray[Any, Any]


def equal(a: Array, b: Array) -> bool:
    """Same dtype, shape and bytes: NaNs count as themselves."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


arrays = st.sampled_from(sorted(CODE_OF, key=lambda dtype: dtype.name)).flatmap(
    lambda dtype: hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4).flatmap(
        lambda shape: hnp.arrays(np.dtype(f"u{dtype.itemsize}"), shape).map(
            lambda raw: raw % 2 != 0 if dtype == np.bool_ else raw.view(dtype).reshape(shape)
        )
    )
)


@pytest.mark.slow
@given(st.lists(arrays, max_size=4) | st.dictionaries(st.text(max_size=8), arrays, max_size=4))
def test_what_is_saved_is_loaded(tmp_path_factory: pytest.TempPathFactory, saved: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.params"
    save_params(path, saved)
    loaded = load_params(path)
    if isinstance(saved, dict) and saved:
        assert isinstance(loaded, dict)
        assert list(loaded) == list(saved)
        assert all(equal(loaded[name], saved[name]) for name in saved)
    else:
        assert isinstance(loaded, list)
        assert len(loaded) == len(saved)
        assert all(equal(a, b) for a, b in zip(loaded, saved, strict=True))


def test_every_dtype_from_mxnet() -> None:
    loaded = load_params(FILES / "dtypes.params")
    assert isinstance(loaded, dict)
    numbers = np.array([[0, 1, 2], [3, 100, 127]])
    for name in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8"):
        assert equal(loaded[name], numbers.astype(name))
    assert equal(loaded["bool"], numbers != 0)
    assert loaded["bfloat16"].dtype == BFLOAT16
    assert loaded["bfloat16"].astype(np.float32).tolist() == [[0.5, 1.5, 2.5], [3.5, 100.5, 127.5]]


def test_lists_and_odd_shapes_from_mxnet() -> None:
    def read(name: str) -> list[tuple[str, list[Any]]]:
        loaded = load_params(FILES / f"{name}.params")
        assert isinstance(loaded, list)
        return [(array.dtype.name, array.tolist()) for array in loaded]

    assert read("list") == [("float32", [1.0, 2.0]), ("float64", [[3.5]])]
    assert read("single") == [("float32", [0.0, 1.0, 2.0, 3.0])]
    assert read("empty") == []
    assert read("zero_size") == [("float32", []), ("float32", [[], []])]
    assert read("v3") == [("float32", 3.5), ("float32", []), ("float32", [1.0, 2.0])]
    (_, empty, _) = load_params(FILES / "v3.params")
    assert isinstance(empty, np.ndarray)
    assert empty.shape == (0, 4)


@pytest.mark.parametrize("version", ["v0", "v1"])
def test_old_versions(version: str) -> None:
    loaded = load_params(FILES / f"{version}.params")
    assert isinstance(loaded, dict)
    numbers = np.array([[0, 1, 2], [3, 100, 127]])
    kinds = {
        "arg:a": "float32",
        "arg:b": "float64",
        "aux:c": "float16",
        "d": "uint8",
        "e": "int32",
    }
    assert list(loaded) == list(kinds)
    assert all(equal(loaded[name], numbers.astype(kind)) for name, kind in kinds.items())


@pytest.mark.parametrize("name", ["lenet-0000", "gluon-blocks", "v1", "v3", "dtypes"])
def test_content_and_path_read_alike(name: str) -> None:
    path = FILES / f"{name}.params"
    content = path.read_bytes()
    from_path, *others = (
        load_params(one) for one in (path, str(path), content, bytearray(content))
    )
    for other in others:
        assert type(other) is type(from_path)
        assert str(other) == str(from_path)


@pytest.mark.parametrize(
    "name",
    ["lenet-0000", "mlp-0000", "dtypes", "list", "v3", "zero_size", "row_sparse", "csr"],
)
def test_what_mxnet_wrote_is_written_byte_for_byte(name: str, tmp_path: Path) -> None:
    original = FILES / f"{name}.params"
    save_params(tmp_path / "again", load_params(original))
    assert (tmp_path / "again").read_bytes() == original.read_bytes()


def test_numpy_mode_is_written_as_mxnet_writes_it(tmp_path: Path) -> None:
    original = FILES / "numpy_mode.params"
    arrays, path = load_params(original), tmp_path / "again"
    with np_shape():
        save_params(path, arrays)
        assert path.read_bytes() == original.read_bytes()  # MXNet reads no other in that mode
        rows = load_params(FILES / "row_sparse.params")
        save_params(path, rows)
        assert path.read_bytes() == (FILES / "row_sparse.params").read_bytes()
    save_params(path, arrays)
    assert path.read_bytes() != original.read_bytes()
    assert all(equal(load_params(path)[name], array) for name, array in arrays.items())


def test_sparse_arrays_are_their_parts() -> None:
    (rows,) = load_params(FILES / "row_sparse.params")
    assert (rows.stype, rows.shape, rows.data.tolist()) == ("row_sparse", (3, 2), [[1, 1]])
    assert [one.tolist() for one in rows.aux] == [[1]]
    matrix = load_params(FILES / "csr.params")["m"]
    assert (matrix.stype, matrix.shape, matrix.data.tolist()) == ("csr", (2, 2), [1, 1])
    assert [one.tolist() for one in matrix.aux] == [[0, 1, 2], [0, 1]]


@pytest.mark.parametrize(
    ("storage", "position", "value", "message"),
    [
        ("row_sparse", 116, 3, "rows that ascend from 0 to at most 2"),
        ("row_sparse", 56, 2**62, "its sizes must be possible"),
        ("csr", 156, 5, "columns from 0 to 1"),
        ("csr", 132, 2**40, "row ends that begin with 0"),
        ("csr", 124, -1, "row ends that begin with 0"),
    ],
)
def test_positions_of_sparse_arrays_are_checked(
    storage: str, position: int, value: int, message: str
) -> None:
    content = bytearray((FILES / f"{storage}.params").read_bytes())
    struct.pack_into("<q", content, position, value)
    with pytest.raises(FormatError, match=message):
        load_params(content)


def damaged(position: int, layout: str, value: int) -> bytes:
    """A file of one float32 array of shape (2, 3) named w, with one number replaced."""
    array = struct.pack("<Iii2qiii", 0xF993FAC9, 0, 2, 2, 3, 1, 0, 0) + bytes(24)
    data = bytearray(struct.pack("<QQQ", 0x112, 0, 1) + array + struct.pack("<QQ", 1, 1) + b"w")
    struct.pack_into("<" + layout, data, position, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("position", "layout", "value", "message"),
    [
        (0, "Q", 0x113, r"at byte 0: the first 8 bytes must be 0x112, got 0x113"),
        (16, "Q", 2**63, r"at byte 16: the number of arrays must fit the 81 bytes left"),
        (16, "Q", 0, r"at byte 24: the number of names must"),
        (24, "I", 77, r"at byte 24: array 0 of 1: must have at most 32 dimensions, got 77"),
        (28, "i", 3, r"at byte 28: array 0 of 1: its storage type must be 0, 1 or 2, got 3"),
        (32, "i", -5, r"at byte 32: .*at most 32 dimensions, got -5"),
        (32, "i", 0, r"at byte 32: .*must have a value"),
        (36, "q", -1, r"at byte 36: .*sizes must be possible, got shape \(-1, 3\)"),
        (36, "q", 2**62, r"at byte 36: .*sizes must be possible"),
        (36, "q", 2**40, r"float32\[1099511627776, 3\] needs 13194139533312 bytes, got 41 left"),
        (60, "i", 13, r"at byte 52: .*dtype code must be one of 0 \(float32\), .*got 13"),
        (88, "Q", 2, r"at byte 88: the number of names must be 0 or 1, got 2"),
        (88, "Q", 0, r"at byte 96: the file must end here, got 9 bytes more"),
        (96, "Q", 2**64 - 1, r"at byte 104: a name needs 18446744073709551615 bytes"),
        (104, "B", 0xFF, r"at byte 104: a name must be UTF-8"),
    ],
)
def test_damage_is_named(position: int, layout: str, value: int, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_params(damaged(position, layout, value))


def test_a_name_may_not_occur_twice() -> None:
    (array,) = (load_params(FILES / "single.params")[0],)  # type: ignore[index]
    body = struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 4, 1, 0, 0) + array.tobytes()
    names = struct.pack("<Q", 2) + 2 * (struct.pack("<Q", 1) + b"w")
    with pytest.raises(FormatError, match="every name must occur once, got 'w' twice"):
        load_params(struct.pack("<QQQ", 0x112, 0, 2) + 2 * body + names)


def fuzzed(content: bytes, rng: random.Random) -> bytes:
    """The file with some of its bytes changed, cut, or repeated."""
    data = bytearray(content)
    for _ in range(rng.randint(0, 4)):
        position = rng.randrange(len(data))
        data[position] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    kind = rng.randrange(4)
    if kind == 0:
        del data[rng.randrange(len(data)) :]
    elif kind == 1:
        data += data[rng.randrange(len(data)) :]
    return bytes(data)


@pytest.mark.parametrize("name", ["gluon-0000", "dtypes", "v0", "v1", "v3", "zero_size", "csr"])
def test_damaged_files_give_a_format_error_or_arrays(name: str) -> None:
    content = (FILES / f"{name}.params").read_bytes()
    rng = random.Random(name)
    for _ in range(1500):
        data = fuzzed(content, rng)
        try:
            loaded = load_params(data)
        except FormatError:
            continue
        values = loaded.values() if isinstance(loaded, dict) else loaded
        # What was allocated is never more than what the file holds.
        assert sum(value.nbytes for value in values) <= len(data)


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_any_bytes_after_a_good_start(tail: bytes) -> None:
    with contextlib.suppress(FormatError):
        load_params(struct.pack("<QQQ", 0x112, 0, 1) + tail)


@pytest.mark.parametrize("cut", [0, 7, 24, 50, 300, -1])
def test_cut_files_say_where(cut: int, tmp_path: Path) -> None:
    content = (FILES / "gluon-0000.params").read_bytes()
    path = tmp_path / "cut.params"
    path.write_bytes(content[:cut])
    with pytest.raises(FormatError, match=r"cut\.params, at byte \d+: .*needs|must fit"):
        load_params(path)


def test_bools_other_than_0_and_1_become_true() -> None:
    data = bytearray((FILES / "dtypes.params").read_bytes())
    loaded = load_params(FILES / "dtypes.params")
    assert isinstance(loaded, dict)
    start = data.index(loaded["bool"].tobytes())
    data[start : start + 6] = bytes([0, 2, 255, 1, 0, 128])
    changed = load_params(data)
    assert isinstance(changed, dict)
    assert changed["bool"].view(np.uint8).tolist() == [[0, 1, 1], [1, 0, 1]]


def test_unusual_arrays_are_saved_by_value(tmp_path: Path) -> None:
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    cases = [base[::-1, ::2], base.T, base.astype(">f4"), np.broadcast_to(base[0], (2, 4))]
    save_params(tmp_path / "odd", cases)
    loaded = load_params(tmp_path / "odd")
    for got, want in zip(loaded, cases, strict=True):
        assert isinstance(got, np.ndarray)
        assert got.dtype == np.float32
        assert got.flags.c_contiguous
        assert got.flags.writeable
        assert np.array_equal(got, want)
    save_params(tmp_path / "one", base)
    (one,) = load_params(tmp_path / "one")
    assert isinstance(one, np.ndarray)
    assert equal(one, base)


def test_a_dtype_that_mxnet_lacks_is_refused_before_writing(tmp_path: Path) -> None:
    path = tmp_path / "a.params"
    with pytest.raises(DTypeError, match=r"array 'x' must have one of .*got complex64; .*astype"):
        save_params(path, {"x": np.zeros(2, np.complex64)})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.params"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_keeps_links_and_obeys_the_umask(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    previous = os.umask(0o027)
    try:
        with atomic_write(link) as file:
            file.write(b"new")
            assert not real.exists()
    finally:
        os.umask(previous)
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640
    with pytest.raises(OSError, match=r"nowhere/a'"), atomic_write(tmp_path / "nowhere" / "a"):
        pass


# Archives, which MXNet 2 writes -------------------------------------------------------------------


def test_archives_of_numpy_are_read(tmp_path: Path) -> None:
    arrays = {"arg:w": np.arange(6, dtype="float32").reshape(2, 3).T, "aux:n": np.array(3)}
    np.savez(tmp_path / "named.npz", **arrays)  # type: ignore[arg-type]  # of its stubs
    loaded = load_params(tmp_path / "named.npz")
    assert isinstance(loaded, dict) and list(loaded) == list(arrays)
    for name, one in loaded.items():
        np.testing.assert_array_equal(one, arrays[name])
        assert one.flags.c_contiguous and one.flags.writeable and one.dtype == arrays[name].dtype
    np.savez(tmp_path / "listed.npz", np.ones(2), np.zeros((0, 3), "int8"))
    first, second = load_params((tmp_path / "listed.npz").read_bytes())
    assert first.tolist() == [1, 1] and second.shape == (0, 3)
    for bad in (np.array(["a"]), np.array([{}], dtype=object)):
        np.savez(tmp_path / "bad.npz", x=bad)
        with pytest.raises(FormatError, match=r"bad\.npz: "):
            load_params(tmp_path / "bad.npz")


def test_damaged_archives_give_a_format_error_or_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(40.0), y=np.ones((3, 2), "float32"))
    whole, draw = (tmp_path / "a.npz").read_bytes(), random.Random(3)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(4, len(damaged))] = draw.randrange(256)
        with contextlib.suppress(FormatError):
            load_params(bytes(damaged[: draw.choice([len(damaged), draw.randrange(len(damaged))])]))

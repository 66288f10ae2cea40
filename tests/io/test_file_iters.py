"""`CSVIter`, `LibSVMIter` and what iterators over files share: passes, reading ahead, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybridnet as mx
from hybridnet.base.errors import FormatError
from hybridnet.io import CSVIter, LibSVMIter, MXDataIter
from hybridnet.io.mersenne import MersenneTwister


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def four(tmp_path: Path) -> str:
    return write(tmp_path / "a.csv", "1,2,3\n2,3,4\n3,4,5\n4,5,6\n")


def passes(it: MXDataIter, count: int) -> list[list[tuple[list[float], int, list[int]]]]:
    """First columns, pads and row numbers of the batches of some passes."""
    made = []
    for _ in range(count):
        rows = [(one.data[0].asnumpy(), one.pad, one.index) for one in it]
        made.append([(one[:, 0].tolist(), pad, index.tolist()) for one, pad, index in rows])
        it.reset()
    return made


def test_the_last_batch_is_filled_with_rows_of_the_next_pass(four: str) -> None:
    """MXNet 1.9.1 gives exactly these."""
    it = CSVIter(data_csv=four, data_shape=(3,), batch_size=3)
    assert passes(it, 3) == [
        [([1, 2, 3], 0, [0, 1, 2]), ([4, 1, 2], 2, [3, 0, 1])],
        [([3, 4, 1], 1, [2, 3, 0])],
        [([2, 3, 4], 0, [1, 2, 3])],
    ]
    it = CSVIter(data_csv=four, data_shape=(3,), batch_size=3, round_batch=False)
    one = [([1, 2, 3], 0, [0, 1, 2]), ([4, 2, 3], 2, [3, 1, 2])]
    assert passes(it, 2) == [one, one]


def test_a_pass_may_be_broken_off(four: str) -> None:
    for ahead in (1, 4):
        it = CSVIter(data_csv=four, data_shape=(3,), batch_size=3, prefetch_buffer=ahead)
        first = it.next().data[0].asnumpy()
        it.reset()
        np.testing.assert_array_equal(it.next().data[0].asnumpy(), first)
        assert it.next().pad == 2
        it.reset()
        assert it.next().pad == 1  # behind the two rows that had filled up the last batch


def test_rows_have_the_shape_and_labels_that_are_asked_for(four: str, tmp_path: Path) -> None:
    label = write(tmp_path / "l.csv", "1,9\n2,8\n\n3,7\n4,6\n")
    it = CSVIter(
        data_csv=four,
        data_shape=(3, 1),
        label_csv=label,
        label_shape=(2,),
        batch_size=2,
        dtype="int64",
        data_name="x",
        label_name="y",
        something_else=3,
    )
    assert it.provide_data == [("x", (2, 3, 1))] and it.provide_label == [("y", (2, 2))]
    it.iter_next()
    assert it.getdata().dtype == it.getlabel().dtype == np.int64
    np.testing.assert_array_equal(it.getdata().asnumpy()[:, :, 0], [[1, 2, 3], [2, 3, 4]])
    np.testing.assert_array_equal(it.getlabel().asnumpy(), [[1, 9], [2, 8]])
    assert it.getpad() == 0 and it.getindex().tolist() == [0, 1]
    plain = CSVIter(data_csv=four, data_shape=3, batch_size=2)
    assert plain.next().label[0].shape == (2,) and plain.provide_label[0].shape == (2,)
    with mx.np_array():
        assert type(plain.next().data[0]) is mx.np.ndarray


def test_integers_are_not_read_as_floats(tmp_path: Path) -> None:
    big = [2**31, 2**53 + 1, -5]
    path = write(tmp_path / "a.csv", ",".join(map(str, big)))
    it = CSVIter(data_csv=path, data_shape=(3,), batch_size=1, dtype="int64")
    assert it.next().data[0].asnumpy().tolist() == [big]


def test_a_folder_is_read_file_by_file_and_large_files_in_blocks(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    count = 120_000  # two blocks and more
    write(folder / "a", "".join(f"{number},{number + 0.5}\n" for number in range(count)))
    write(folder / "b", f"{count},{count + 0.5}")  # without an end of line
    it = CSVIter(data_csv=folder, data_shape=(2,), batch_size=1000, round_batch=False)
    rows = np.concatenate([one.data[0].asnumpy()[: 1000 - one.pad] for one in it])
    np.testing.assert_array_equal(rows[:, 0], np.arange(count + 1))
    np.testing.assert_array_equal(rows[:, 1], np.arange(count + 1) + 0.5)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1,2,3\n1,2\n", r"a\.csv: line 2 must have 3 numbers of float32.*got '1,2'"),
        ("1,2,3\n1,2,x\n", r"a\.csv: line 2 must have 3 numbers"),
        ("1,2,3,4\n", r"a\.csv: line 1 must have 3 numbers"),
        ("1,2,3\n", "round_batch needs a batch of 3 rows in two passes, got 1 in one"),
    ],
)
def test_damaged_rows_are_named(tmp_path: Path, text: str, match: str) -> None:
    it = CSVIter(data_csv=write(tmp_path / "a.csv", text), data_shape=(3,), batch_size=3)
    with pytest.raises(mx.MXNetError, match=match):
        it.next()


@pytest.mark.parametrize("place", ["", "memory://nowhere/"])
def test_a_file_that_is_not_there_is_an_error_at_once(
    four: str, tmp_path: Path, place: str
) -> None:
    """As in MXNet: at the line that names it, and not when a batch is asked for."""
    none = f"{place}none" if place else str(tmp_path / "none")
    for make in (
        lambda: CSVIter(data_csv=none, data_shape=(3,), batch_size=2),
        lambda: CSVIter(data_csv=four, data_shape=(3,), label_csv=none, batch_size=2),
        lambda: LibSVMIter(data_libsvm=none, data_shape=(3,), batch_size=2),
        lambda: mx.io.ImageRecordIter(path_imgrec=none, data_shape=(3, 8, 8), batch_size=2),
    ):
        with pytest.raises(FileNotFoundError, match="none"):
            make()


def test_other_faults_of_csv(four: str, tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match="dtype must be one of"):
        CSVIter(data_csv=four, data_shape=(3,), batch_size=2, dtype="float64")
    label = write(tmp_path / "l.csv", "1\n2\n3\n")
    it = CSVIter(data_csv=four, data_shape=(3,), batch_size=2, label_csv=label)
    it.next()
    with pytest.raises(FormatError, match=r"l\.csv: must have a row for each row of .*, got 3"):
        it.next()
    with pytest.raises(mx.MXNetError, match="there is no current batch"):
        CSVIter(data_csv=four, data_shape=(3,), batch_size=2).getdata()


def test_the_first_batch_again_and_again(four: str) -> None:
    it = CSVIter(data_csv=four, data_shape=(3,), batch_size=2)
    it.debug_skip_load()
    first = it.next()
    assert [it.next().index.tolist() for _ in range(5)] == [first.index.tolist()] * 5


def test_an_interrupt_costs_no_batch(four: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a batch is waited for, and while `reset` waits: both can be called again."""
    it = CSVIter(data_csv=four, data_shape=(3,), batch_size=1)
    wait = mx.engine.wait_for_var

    def interrupted(var: Any) -> None:
        monkeypatch.setattr(mx.engine, "wait_for_var", wait)
        raise KeyboardInterrupt

    assert it.next().index.tolist() == [0]
    monkeypatch.setattr(mx.engine, "wait_for_var", interrupted)
    with pytest.raises(KeyboardInterrupt):
        it.next()
    assert it.next().index.tolist() == [1]
    monkeypatch.setattr(mx.engine, "wait_for_var", interrupted)
    with pytest.raises(KeyboardInterrupt):
        it.reset()
    it.reset()
    assert [one.index.tolist() for one in it] == [[0], [1], [2], [3]]


# -- LibSVM ----------------------------------------------------------------------------------

ROWS = "1.0 0:0.5 2:1.2\n-2.0\n-3.0:0.5 qid:3 0:0.6 1:2.4 2:1.2 # a comment\n4 2:-1.2\n"
DENSE = [[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2], [0, 0, -1.2]]


def test_sparse_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.t", ROWS)
    it = LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=3)
    first, second = it
    for batch, order in ((first, [0, 1, 2]), (second, [3, 0, 1])):
        data = batch.data[0]
        data.check_format(True)
        assert data.stype == "csr"
        np.testing.assert_allclose(data.asnumpy(), np.array(DENSE)[order], rtol=1e-6)
        assert batch.label[0].asnumpy().tolist() == [[1, -2, -3, 4][one] for one in order]
    assert second.pad == 2


def test_sparse_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "a.t", ROWS)
    label = write(tmp_path / "l.t", "1.0\n-2.0 0:0.125\n-3.0 2:1.2\n4 1:1.0 2:-1.2\n")
    it = LibSVMIter(
        data_libsvm=path, data_shape=(3,), label_libsvm=label, label_shape=(4,), batch_size=4
    )
    assert it.provide_label[0].shape == (4, 4)
    found = it.next().label[0]
    assert found.stype == "csr"
    expected = [[0, 0, 0, 0], [0.125, 0, 0, 0], [0, 0, 1.2, 0], [0, 1, -1.2, 0]]
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


def test_every_row_is_in_one_part(tmp_path: Path) -> None:
    """Lines of many lengths, in up to 7 parts."""
    generator = np.random.default_rng(0)
    lines = [f"{number} 0:{'1' * int(generator.integers(1, 30))}\n" for number in range(50)]
    path = write(tmp_path / "a.t", "".join(lines))
    for parts in (1, 2, 3, 7):
        found: list[int] = []
        for part in range(parts):
            it = LibSVMIter(
                data_libsvm=path, data_shape=(1,), batch_size=1, num_parts=parts, part_index=part
            )
            found += [int(one.label[0].asscalar()) for one in it]
        assert found == list(range(50))


@pytest.mark.parametrize(
    "row", ["1 -1:0.6", "1 3:1", "1 1:1 0:1", "1 0:1 0:2", "x 0:1", "1 0:x", "1 x:1"]
)
def test_damaged_sparse_rows_are_named(tmp_path: Path, row: str) -> None:
    path = write(tmp_path / "a.t", f"1 0:1\n{row}\n")
    it = LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=2)
    with pytest.raises(mx.MXNetError, match=r"a\.t: line 2 of the part must be a label and column"):
        it.next()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"data_shape": (3, 2)}, "data_shape must be one positive number"),
        ({"label_shape": (3,)}, "label_shape must be larger than"),
        ({"label_libsvm": "l.t"}, "label_shape must be larger than"),
        ({"round_batch": False}, "round_batch must be true"),
        ({"dtype": "float64"}, "dtype must be float32"),
        ({"num_parts": 2, "part_index": 2}, "part_index must be from 0"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
    ],
)
def test_misused_libsvm(options: dict[str, Any], match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        LibSVMIter(**{"data_libsvm": "a.t", "data_shape": (3,), "batch_size": 2, **options})


# -- sparse matrices in memory -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ours", "scipy"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_of_sparse_matrices_are_dense(kind: str, shuffle: bool) -> None:
    """As MXNet 1.9.1's, which takes their slices by an operator of dense arrays."""
    scipy_sparse = pytest.importorskip("scipy.sparse")
    dense = np.random.default_rng(0).random((7, 5)).astype(np.float32)
    dense[dense < 0.6] = 0
    dense[3] = 0
    matrix = scipy_sparse.csr_matrix(dense)
    given = mx.nd.sparse.csr_matrix(matrix) if kind == "ours" else matrix
    it = mx.io.NDArrayIter(given, np.arange(7), 2, shuffle, last_batch_handle="discard")
    assert it.provide_data == [("data", (2, 5))]
    places = []
    for batch in it:
        data = batch.data[0]
        assert data.stype == "default" and data.dtype == np.float32
        rows = batch.label[0].asnumpy().astype(int)
        np.testing.assert_array_equal(data.asnumpy(), dense[rows])
        places += rows.tolist()
    assert len(places) == 6 and (places == list(range(6))) is not shuffle
    with pytest.raises(NotImplementedError, match="need last_batch_handle='discard', got 'pad'"):
        mx.io.NDArrayIter({"a": given}, None, 2)


# -- random numbers --------------------------------------------------------------------------


def test_numbers_are_those_of_cpp() -> None:
    """The standard says the 10,000th number of the default seed; orders are MXNet's MNISTIter's."""
    numbers = MersenneTwister(5489)
    assert [numbers.raw() for _ in range(10_000)][-1] == 4123659995
    assert MersenneTwister(7).shuffled(9) == [2, 4, 5, 3, 8, 7, 6, 1, 0]
    assert MersenneTwister(0).shuffled(8) == [0, 2, 3, 5, 7, 1, 6, 4]
    numbers = MersenneTwister(1)
    drawn = [numbers.real(-2, 6) for _ in range(2000)]
    assert -2 <= min(drawn) < -1.9 and 5.9 < max(drawn) < 6
    assert 900 < sum(numbers.coin() for _ in range(2000)) < 1100
    normal = np.array([one for _ in range(700) for one in numbers.normals(3, 2.0)])
    assert abs(normal.mean()) < 0.2 and abs(normal.std() - 2) < 0.1

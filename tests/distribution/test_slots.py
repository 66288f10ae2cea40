"""What a server keeps: whole or not at all, however its process ends."""

import numpy as np
import pytest

from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.mapped_file import MappedFile
from hybridnet.kvstore.own_folder import make_folder
from hybridnet.kvstore.protocol.words import KeySpec, Part, PartRecord
from hybridnet.kvstore.storage.slots import Slots, TornFileError
from hybridnet.kvstore.storage.stored_parts import PartStore, open_parts
from hybridnet.kvstore.storage.updates import Assign, Sgd, Sum, Updates

FLOAT = np.dtype(np.float32)
SPEC = KeySpec(10, 0, 4, "float32", (2, 5))
TABLE = KeySpec(20, 10, 4, "float32", (10, 2))
MOMENTUM = Sgd({"learning_rate": 0.1, "momentum": 0.9})


def record(turn, *pushes):
    return PartRecord(turn, pushes or (turn, turn))


def dense(folder, updates=Sum, optimizer="sum"):
    value = np.arange(6, dtype=np.float32)
    made = updates({}) if isinstance(updates, type) else updates
    part = Part(3, 1, 0, 4, 10)
    return PartStore.create(folder, part, "w", SPEC, record(0), optimizer, made, value)


def table(folder, updates=MOMENTUM):
    value = np.arange(8, dtype=np.float32).reshape(4, 2)
    part = Part(5, 0, 0, 2, 6)
    return PartStore.create(folder, part, "t", TABLE, record(0), "sgd", updates, value)


def reopened(folder):
    (store,) = open_parts(folder)
    return store


# -- slots -----------------------------------------------------------------------------------------


def test_a_commit_is_there_afterwards(tmp_path):
    path = tmp_path / "a"
    layout = [((3,), FLOAT), ((2, 2), np.dtype(np.float64))]
    slots = Slots.create(path, {"x": 1}, layout, record(0), lambda arrays: arrays[0].fill(7))
    assert slots.current[0].tolist() == [7, 7, 7]
    for turn in range(1, 4):
        for array in slots.begin():
            array.fill(turn)
        slots.commit(PartRecord(turn, (turn, 2**63), 5))
        other = Slots.open(path)
        assert other.record == PartRecord(turn, (turn, 2**63), 5)
        assert other.description == {"x": 1}
        assert [array.tolist() for array in other.current] == [[turn] * 3, [[turn] * 2] * 2]
        assert all(array.ctypes.data % 64 == 0 for array in other.current)


def test_a_torn_record_leaves_the_one_before(tmp_path):
    """Whichever byte of the newer record is wrong, the older counts, with its values."""
    path = tmp_path / "a"
    slots = Slots.create(path, {}, [((3,), FLOAT)], record(0), lambda arrays: None)
    slots.begin()[0].fill(1)
    slots.commit(record(1))
    before = path.read_bytes()
    slots.begin()[0].fill(2)
    slots.commit(record(2))
    after = path.read_bytes()
    changed = [
        i for i, (a, b) in enumerate(zip(before[:4096], after[:4096], strict=True)) if a != b
    ]
    assert changed
    for place in changed:
        torn = bytearray(after)
        torn[place] ^= 0xFF
        (tmp_path / "torn").write_bytes(torn)
        found = Slots.open(tmp_path / "torn")
        assert (found.record, found.current[0].tolist()) == (record(1), [1, 1, 1])


def test_a_file_that_is_not_whole_is_refused(tmp_path):
    path = tmp_path / "a"
    Slots.create(path, {}, [((3,), FLOAT)], record(0), lambda arrays: None)
    whole = path.read_bytes()
    for name, data in {
        "short": whole[:20],
        "cut": whole[:-4096],
        "other": b"x" * len(whole),
        "no record": whole[:100] + bytes(3000) + whole[3100:],
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(TornFileError):
            Slots.open(tmp_path / name)


def test_files_are_the_users_own(tmp_path):
    path = tmp_path / "a"
    MappedFile.create(path, 100)
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError):
        MappedFile.open(tmp_path / "link")
    with pytest.raises(KVStoreError, match="have 101 bytes at least, got"):
        MappedFile.open(path, least=101)
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(KVStoreError, match=r"a folder of this user's that nobody else may enter"):
        make_folder(tmp_path / "open")


# -- parts -----------------------------------------------------------------------------------------


def test_a_dense_part_is_there_after_its_process(tmp_path):
    store = dense(tmp_path)
    for turn in (1, 2):
        store.fold(np.full(6, turn, np.float32), None, first=True)
        store.fold(np.full(6, 10, np.float32), None, first=False)
        store.commit(record(turn), Sum({}), (1, 1))
    again = reopened(tmp_path)
    assert again.stored == store.stored
    assert again.value.tolist() == [23, 24, 25, 26, 27, 28]
    assert again.record == record(2)


def test_an_update_that_raises_changes_nothing(tmp_path):
    class Broken(Updates):
        def states(self, part):
            return ()

        def update(self, part, number, gradient, old, new, rows=None):
            new[0].fill(9)
            raise ValueError("no")

    store = dense(tmp_path)
    store.fold(np.ones(6, np.float32), None, first=True)
    with pytest.raises(ValueError, match="no"):
        store.commit(record(1), Broken(), (1, 1))
    assert store.value.tolist() == reopened(tmp_path).value.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_sum_of_fewer_workers_is_scaled(tmp_path):
    store = dense(tmp_path, Assign, "")
    store.fold(np.full(6, 4, np.float32), None, first=True)
    store.commit(record(1), Assign({}), (3, 2))
    assert store.value.tolist() == [6] * 6


def test_another_optimizer_gets_new_states(tmp_path):
    store = dense(tmp_path)
    store.adopt("sgd", MOMENTUM)
    store.fold(np.ones(6, np.float32), None, first=True)
    store.commit(record(1), MOMENTUM, (1, 1))
    store.adopt("sgd", MOMENTUM)  # the same one: its momentum stays
    again = reopened(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    np.testing.assert_allclose(again.all_arrays[1], -0.1)
    np.testing.assert_allclose(again.value, np.arange(6) - 0.1, rtol=1e-6)
    again.adopt("sum", Sum({}))
    assert len(again.all_arrays) == 1


def test_a_table_is_updated_by_rows(tmp_path):
    store = table(tmp_path)
    one, two = np.array([2, 4]), np.array([4, 5])
    for turn in (1, 2):
        store.fold(np.ones((2, 2), np.float32), one, first=True)
        store.fold(np.full((2, 2), 2, np.float32), two, first=False)
        store.commit(record(turn), MOMENTUM, (1, 1))
    again = reopened(tmp_path)
    start = np.arange(8, dtype=np.float32).reshape(4, 2)
    sums = np.array([1, 0, 3, 2], np.float32)[:, None]
    np.testing.assert_allclose(again.value, start - (0.1 + 0.19) * sums, rtol=1e-5)
    assert again.record == record(2)


def test_a_table_whose_process_died_while_writing_is_finished(tmp_path):
    """The journal is whole and the table half written: whoever opens it writes the rest."""
    store = table(tmp_path, Sum({}))
    rows, values = np.array([2, 5]), np.full((2, 2), 100, np.float32)
    torn = {}
    real = store._slots.commit

    def die(found):
        # The process ends here: rows are in the table, its record is the old one.
        torn.update({path.name: path.read_bytes() for path in tmp_path.iterdir()})
        real(found)

    store._slots.commit = die
    store.fold(values, rows, first=True)
    store.commit(record(1), Sum({}), (1, 1))
    expected = store.value.copy()
    for spoiled in (False, True):
        folder = tmp_path / str(spoiled)
        folder.mkdir(mode=0o700)
        for name, data in torn.items():
            if spoiled and name.endswith(".slots"):
                # Not all of the rows had been written.
                data = data[:-4096] + data[-4096:].replace(np.float32(107).tobytes(), b"\0" * 4)
            (folder / name).write_bytes(data)
        again = reopened(folder)
        assert again.record == record(1)
        np.testing.assert_array_equal(again.value, expected)


def test_a_journal_that_is_not_whole_is_nothing(tmp_path):
    store = table(tmp_path, Sum({}))
    store.fold(np.ones((1, 2), np.float32), np.array([2]), first=True)
    store.commit(record(1), Sum({}), (1, 1))
    (journal,) = tmp_path.glob("*.journal")
    data = bytearray(journal.read_bytes())
    data[4] ^= 1  # of its checksum
    journal.write_bytes(data)
    assert reopened(tmp_path).record == record(1)


def test_files_that_were_being_made_are_left_out(tmp_path):
    store = dense(tmp_path)
    (tmp_path / "9-0.1.slots.new").write_bytes(b"half")
    older = store.path
    newer = tmp_path / "3-1.2.slots"
    newer.write_bytes(older.read_bytes())
    again = reopened(tmp_path)
    assert again.path == newer
    assert [path.name for path in tmp_path.iterdir()] == [newer.name]


def test_without_a_folder_all_is_in_memory():
    store = dense(None, MOMENTUM, "sgd")
    for turn in (1, 2):
        store.fold(np.ones(6, np.float32), None, first=True)
        store.commit(record(turn), MOMENTUM, (1, 1))
    np.testing.assert_allclose(store.value, np.arange(6) - 0.29, rtol=1e-5)
    assert store.path is None


# -- what a part was a round before ----------------------------------------------------------------


def test_what_a_dense_part_was_before_is_there_until_the_next_commit_begins(tmp_path):
    path = tmp_path / "a"
    slots = Slots.create(path, {}, [((3,), FLOAT)], record(0), lambda arrays: arrays[0].fill(7))
    assert not slots.has_previous
    slots.begin()[0].fill(1)
    assert not Slots.open(path).has_previous  # what was there is being overwritten
    slots.commit(record(1))
    for found in (slots, Slots.open(path)):
        assert found.has_previous
        assert [found.current[0].tolist(), found.previous[0].tolist()] == [[1] * 3, [7] * 3]
        assert bytes(found.previous_bytes) == np.full(3, 7, np.float32).tobytes()
    slots.begin()[0].fill(2)
    assert Slots.open(path).record == record(1)
    assert not Slots.open(path).has_previous


@pytest.mark.parametrize("make", [dense, table])
@pytest.mark.parametrize("in_files", [True, False])
def test_a_part_knows_what_it_was_a_round_before(tmp_path, make, in_files):
    folder = tmp_path if in_files else None
    updates = Sum({}) if make is dense else MOMENTUM
    store, rows = make(folder), None if make is dense else np.array([3, 5])
    assert not store.has_previous
    seen = [[one.copy() for one in store.all_arrays]]
    for turn in range(1, 4):
        shape = store.value.shape if rows is None else (2, 2)
        store.fold(np.full(shape, turn, np.float32), rows, first=True)
        store.commit(record(turn), updates, (1, 1))
        seen.append([one.copy() for one in store.all_arrays])
        for found in (store, reopened(folder)) if in_files else (store,):
            assert found.has_previous and found.stored.has_previous
            for mine, before in zip(found.previous, seen[turn - 1], strict=True):
                np.testing.assert_array_equal(mine, before)
            for mine, now in zip(found.all_arrays, seen[turn], strict=True):
                np.testing.assert_array_equal(mine, now)


@pytest.mark.parametrize("make", [dense, table])
def test_a_full_copy_may_bring_the_round_before(tmp_path, make):
    (tmp_path / "a").mkdir(mode=0o700)
    (tmp_path / "b").mkdir(mode=0o700)
    store, rows = make(tmp_path / "a"), None if make is dense else np.array([2])
    updates = Sum({}) if make is dense else MOMENTUM
    shape = store.value.shape if rows is None else (1, 2)
    store.fold(np.ones(shape, np.float32), rows, first=True)
    store.commit(record(1), updates, (1, 1))
    stored, name = store.stored, "sum" if make is dense else "sgd"
    copy = PartStore.create(
        tmp_path / "b", stored.part, stored.name, stored.spec, stored.record, name, updates,
        lambda layout: store.all_arrays, previous=lambda layout: store.previous,
    )  # fmt: skip
    for found in (copy, reopened(tmp_path / "b")):
        assert found.record == record(1) and found.has_previous
        for mine, other in zip(found.all_arrays, store.all_arrays, strict=True):
            np.testing.assert_array_equal(mine, other)
        for mine, other in zip(found.previous, store.previous, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_another_optimizer_keeps_the_value_of_before(tmp_path):
    store = dense(tmp_path)
    store.fold(np.ones(6, np.float32), None, first=True)
    store.commit(record(1), Sum({}), (1, 1))
    before, value = store.previous[0].copy(), store.value.copy()
    store.adopt("sgd", MOMENTUM)
    for found in (store, reopened(tmp_path)):
        assert found.has_previous
        assert [found.value.tolist(), found.previous[0].tolist()] == [
            value.tolist(), before.tolist()
        ]  # fmt: skip

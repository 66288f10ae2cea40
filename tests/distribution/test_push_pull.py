"""Push and pull between real processes: what workers read is what they and the others pushed."""

import threading

import numpy as np
import pytest
from dist_run import started

from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.drivers.completion import Completion


def each(stores, act):
    """Has all workers do something, then waits for all of it; returns what they made."""
    waits, made = [], []
    for store in stores:
        waits.append(Completion())
        made.append(act(store, waits[-1]))
    for one in waits:
        one.wait(200)
    return made


def initialized(stores, key, value, **how):
    each(stores, lambda store, done: store.init(key, value.copy(), done=done, **how))


def pulled(stores, key, like):
    outs = [np.full_like(like, -1) for _ in stores]
    each(stores, lambda store, done: store.pull(key, outs[store.rank], done=done))
    return outs


@pytest.fixture(scope="module", params=["messages", "mapped"])
def run(request, tmp_path_factory):
    """Two workers and two servers; parts go by messages, or through mapped files."""
    with started(2, 2, token=True, big_array=5000, part_bytes=1 << 16) as run:
        # Who keeps files in another folder has no memory in common with the servers.
        other = {} if request.param == "mapped" else {"folder": tmp_path_factory.mktemp("other")}
        run.both = run.workers(**other)
        yield run


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((8,), "float32"),
        ((100, 3), "float64"),
        ((70_001,), "float32"),
        ((), "int32"),
        ((0,), "int8"),
    ],
)
def test_without_an_optimizer_the_sum_becomes_the_value(run, shape, dtype):
    generator = np.random.default_rng(3)
    key = f"{shape} {dtype}"
    values = [(9 * generator.standard_normal(shape)).astype(dtype) for _ in range(3)]
    values = [np.asarray(one) for one in values]
    initialized(run.both, key, values[0])
    assert all((one == values[0]).all() for one in pulled(run.both, key, values[0]))
    for _ in range(3):
        for store in run.both:
            store.push(key, values[1 + store.rank])
        for out in pulled(run.both, key, values[0]):
            np.testing.assert_array_equal(out, values[1] + values[2])


def test_a_push_brings_the_value_back(run):
    value = np.arange(40_000, dtype=np.float32)
    initialized(run.both, "both", value)
    outs = [np.empty_like(value) for _ in run.both]
    for turn in range(1, 4):
        grads = [value * turn, value + turn]
        each(
            run.both,
            lambda store, done, grads=grads: store.push_pull(
                "both", grads[store.rank], outs[store.rank], done=done
            ),
        )
        for out in outs:
            np.testing.assert_array_equal(out, grads[0] + grads[1])


def test_rows_are_pushed_and_pulled(run):
    generator = np.random.default_rng(5)
    table = generator.standard_normal((20_000, 4)).astype(np.float32)
    initialized(run.both, "table", table, is_rows=True)
    wanted = np.array([0, 3, 9_999, 10_000, 19_999])
    for _ in range(2):
        dense = np.zeros_like(table)
        for store in run.both:
            rows = np.sort(generator.choice(20_000, 300 * store.rank, replace=False))
            values = generator.standard_normal((len(rows), 4)).astype(np.float32)
            dense[rows] += values
            store.push_rows("table", rows, values)
        table = np.where(dense.any(1, keepdims=True), dense, table)
        out = np.empty((5, 4), np.float32)
        for store in run.both:
            store.row_sparse_pull("table", wanted, out)
            np.testing.assert_array_equal(out, table[wanted])
        for out in pulled(run.both, "table", table):
            np.testing.assert_array_equal(out, table)


def test_barriers_wait_for_all(run):
    first, second = run.both
    done, named = Completion(), Completion()
    first.barrier(done=done)
    second.barrier("other", done=named)
    with pytest.raises(TimeoutError):
        done.wait(0.1)
    second.barrier()
    done.wait(200)
    first.barrier("other")
    named.wait(200)


def test_what_does_not_fit_is_refused_at_the_call(run):
    store = run.both[0]
    flat = np.zeros(3, np.float32)
    with pytest.raises(KVStoreError, match="push requires an initialized key, got 'nobody'"):
        store.push("nobody", flat)
    initialized(run.both, "three", flat)
    with pytest.raises(KVStoreError, match=r"init requires a new key, got 'three'"):
        store.init("three", flat)
    with pytest.raises(KVStoreError, match=r"shape \(3,\) and float32 for key 'three', got \(4,\)"):
        store.push("three", np.zeros(4, np.float32))
    with pytest.raises(KVStoreError, match="and float32 for key 'three', got .* float64"):
        store.pull("three", np.zeros(3))
    with pytest.raises(KVStoreError, match="and float32 for key 'three', got .* >f4"):
        store.push("three", np.zeros(3, ">f4"))  # its bytes would be other numbers
    with pytest.raises(KVStoreError, match="requires a table of rows, but key 'three'"):
        store.push_rows("three", np.array([0]), flat)
    with pytest.raises(KVStoreError, match="must be of type '2bit'"):
        store.configure("assign", {}, compression={"type": "1bit"})
    with pytest.raises(KVStoreError, match=r"a server knows the commands snapshot, keys, got '7'"):
        store.command(7, "")


def test_statistics_count(run):
    initialized(run.both, "counted", np.zeros(3, np.float32))
    each(run.both, lambda store, done: store.push("counted", np.ones(3, np.float32), done=done))
    found = run.both[0].statistics()
    assert found["parts_pushed"] > 0
    assert found["refused"] == 0
    assert run.both[0].dead_nodes() == []


def test_servers_update_with_an_optimizer(tmp_path):
    with started(2, 1, snapshots=tmp_path) as run:
        both = run.workers()
        settings = {"learning_rate": 0.5, "momentum": 0.9}
        each(both, lambda store, done: store.configure("numpy_sgd", settings, done=done))
        weight, momentum = np.ones(1000, np.float32), np.zeros(1000, np.float32)
        initialized(both, 7, weight)
        for _ in range(3):
            for store in both:
                store.push(7, np.full(1000, store.rank + 1, np.float32))
            momentum = np.float32(0.9) * momentum + np.float32(-0.5) * np.float32(3)
            weight = weight + momentum
            for out in pulled(both, 7, weight):
                np.testing.assert_array_equal(out, weight)
        both[0].snapshot(str(tmp_path / "saved"))
        with np.load(tmp_path / "saved.server-0.npz") as saved:
            np.testing.assert_array_equal(saved["0/0/0"], weight)
            np.testing.assert_array_equal(saved["0/0/1"], momentum)
        each(both, lambda store, done: store.configure("nobody's", {}, done=done))
        failed = Completion()
        both[0].push(7, weight, done=failed)
        both[1].push(7, weight)
        with pytest.raises(
            KVStoreError, match=r"must be one of .*numpy_sgd, sum, got \"nobody's\""
        ):
            failed.wait(200)


def test_asynchronous_pushes_count_one_by_one():
    with started(2, 1) as run:
        both = run.workers()
        each(
            both, lambda store, done: store.configure("assign", {}, consistency="async", done=done)
        )
        initialized(both, "a", np.zeros(5, np.float32))
        failed = Completion()
        both[0].push("a", np.ones(5, np.float32), done=failed)
        with pytest.raises(KVStoreError, match="requires an optimizer on the servers"):
            failed.wait(200)
        each(both, lambda store, done: store.configure("sum", {}, consistency="async", done=done))
        for store, count in zip(both, (3, 10), strict=True):
            for turn in range(count):
                store.push("a", np.full(5, turn + 1, np.float32))
            # Its own pushes are in what a worker reads.
            out = np.empty(5, np.float32)
            store.pull("a", out)
            assert out[0] >= sum(range(1, count + 1))
        assert pulled(both, "a", np.zeros(5, np.float32))[0].tolist() == [6 + 55] * 5


def test_settings_and_keys_belong_to_a_store():
    """Three in one run: rounds with an optimizer, none with another, and 2 bits."""
    with started(2, 2) as run:
        both = run.workers()
        how = {"type": "2bit", "threshold": 0.5}
        for number, arguments, more in (
            (0, ("numpy_sgd", {"learning_rate": 0.5}), {}),
            (1, ("sum", {}), {"consistency": "async"}),
            (2, ("sum", {}), {"compression": how}),
        ):
            each(
                both,
                lambda store, done, number=number, arguments=arguments, more=more: store.configure(
                    *arguments, **more, store=number, done=done
                ),
            )
            each(
                both,
                lambda store, done, number=number: store.init(
                    number, np.zeros(9, np.float32), store=number, done=done
                ),
            )
        assert [both[0].optimizer(n)[0] for n in range(4)] == ["numpy_sgd", "sum", "sum", "assign"]
        out, gradient = np.empty(9, np.float32), np.full(9, 0.75, np.float32)
        both[0].push_pull(1, gradient, out)  # waits for nobody
        assert out.tolist() == [0.75] * 9
        run.kill("server", 0)
        run.kill("server", 1)
        for turn in range(1, 4):
            for store in both:
                for key in (0, 2):
                    store.push(key, gradient)
            for key, want in ((0, -0.75 * turn), (2, 1.0 * turn)):
                for got in pulled(both, key, out):
                    assert got.tolist() == [want] * 9, (key, turn)
        each(both, lambda store, done: store.push(1, gradient, done=done))
        for got in pulled(both, 1, out):
            assert got.tolist() == [3 * 0.75] * 9


def test_more_settings_than_a_run_may_have_are_refused():
    with started(1, 1) as run:
        (store,) = run.workers()
        many = {"table": "x" * 60_000}
        for number in range(8):
            store.configure("sum", many, store=number)
        with pytest.raises(KVStoreError, match="of all stores of a run to have 524288 characters"):
            store.configure("sum", many, store=8)
        store.configure("sum", many, store=3)  # in the place of what it had
        store.configure("sum", {}, store=8)
        value = np.ones(3, np.float32)
        store.init("a", value, store=8)
        store.push_pull("a", value, out := np.empty_like(value))
        assert out.tolist() == [2, 2, 2]


def test_compressed_pushes_arrive_as_their_bytes_say():
    with started(2, 2, big_array=1000, part_bytes=1 << 12) as run:
        both = run.workers()
        how = {"type": "2bit", "threshold": 0.5}
        each(both, lambda store, done: store.configure("assign", {}, compression=how, done=done))
        generator = np.random.default_rng(2)
        residuals = np.zeros((2, 5001), np.float32)
        initialized(both, 0, residuals[0])
        for _ in range(3):
            total = np.zeros(5001, np.float32)
            for store in both:
                gradient = generator.standard_normal(5001).astype(np.float32)
                left = residuals[store.rank]
                left += gradient
                sent = np.where(left >= 0.5, 0.5, np.where(left <= -0.5, -0.5, 0)).astype("f4")
                left -= sent
                total += sent
                store.push(0, gradient)
            for out in pulled(both, 0, total):
                np.testing.assert_array_equal(out, total)


def test_when_all_workers_have_left_the_others_end():
    with started(2, 2, token=True) as run:
        both = run.workers()
        initialized(both, "a", np.zeros(5, np.float32))
        last = Completion()
        both[1].push("a", np.ones(5, np.float32), done=last)  # is sent before it leaves
        both[0].push("a", np.ones(5, np.float32))
        threads = [threading.Thread(target=one.close) for one in both]
        for one in threads:
            one.start()
        for one in threads:
            one.join(200)
        last.wait(0)
        assert [one.process.wait(200) for one in run.live.values()] == [0, 0, 0]
        assert not run.cluster.state_folder.exists()  # on this machine as on others
        with pytest.raises(KVStoreError, match="the store does nothing any more: "):
            both[0].push("a", np.ones(5, np.float32))

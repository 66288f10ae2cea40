"""Key-value stores of arrays: MXNet 1.9.1's answers, several devices, and one program a step."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import settle
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import autograd, engine, kv, nd, optimizer
from hybridnet.base.errors import MXNetError, OpError, ParameterError, ShapeError
from hybridnet.engine import ManualPool, ThreadedEngine
from hybridnet.kv.handover import Acknowledgement, ends_task
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import recorder

KINDS = ("local", "device")
CPUS = (hn.cpu(0), hn.cpu(1))
asynchronous = pytest.mark.skipif(
    recorder.is_naive(), reason="NaiveEngine: nothing is ever pending"
)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> kv.KVStore:
    return kv.create(request.param)


@pytest.fixture
def pool() -> Iterator[ManualPool]:
    """A process-wide engine that runs its tasks when the test says so."""
    made = ManualPool(seed=None)
    nd.waitall()
    before = engine.set_engine(ThreadedEngine(made))
    yield made
    engine.set_engine(before or ThreadedEngine())


def full(number: float, ctx: hn.Context | None = None, dtype: Any = None) -> nd.NDArray:
    return nd.array(np.full(2, number, np.float32), ctx=ctx, dtype=dtype)


def pulled(store: kv.KVStore, key: Any) -> list[float]:
    out = nd.zeros(2)
    store.pull(key, out=out)
    return out.asnumpy().tolist()


# -- what MXNet 1.9.1 answers (its own answers, written down) --------------------------------------


def test_a_push_replaces_by_the_sum(store: kv.KVStore):
    store.init(3, full(2))
    assert pulled(store, 3) == [2, 2]
    store.push(3, full(8))
    assert pulled(store, 3) == [8, 8]
    store.push(3, [full(1), full(4)])
    assert pulled(store, 3) == [5, 5]
    store.push(3, full(1))
    store.push(3, full(5))
    assert pulled(store, 3) == [5, 5]
    outs = [nd.zeros(2), nd.zeros(2)]
    store.pull(3, out=outs)
    assert [one.asnumpy().tolist() for one in outs] == [[5, 5], [5, 5]]


def test_lists_of_keys(store: kv.KVStore):
    store.init(["a", "b"], [full(1), full(2)])
    outs = [full(0), full(0)]
    store.pull(["a", "b"], out=outs)
    assert [one.asnumpy().tolist() for one in outs] == [[1, 1], [2, 2]]
    store.push(("a", "b"), [[full(1), full(1)], (full(1), full(3))])
    nested = [[full(0), full(0)], full(0)]
    store.pull(["a", "b"], out=nested)
    assert [one.asnumpy().tolist() for one in [*nested[0], nested[1]]] == [[2, 2], [2, 2], [4, 4]]
    store.push(["a", "a"], [full(1), full(3)])  # a key named twice is pushed once, with both
    assert pulled(store, "a") == [4, 4]


def test_pushpull_and_broadcast(store: kv.KVStore):
    out, value = full(0), full(9)
    store.broadcast(11, full(3), out=out)
    assert out.asnumpy().tolist() == [3, 3]
    store.pushpull(11, full(7), out=out)
    assert out.asnumpy().tolist() == [7, 7] == pulled(store, 11)
    store.pushpull(11, value)
    assert value.asnumpy().tolist() == [9, 9] == pulled(store, 11)
    both = [full(1), full(2)]
    store.pushpull(11, both, out=both)
    assert [one.asnumpy().tolist() for one in both] == [[3, 3], [3, 3]]


@pytest.mark.parametrize("key", [5, "fc1_weight"])
def test_an_updater_gets_key_sum_and_value(store: kv.KVStore, key: Any):
    calls = []

    def update(index: Any, merged: nd.NDArray, stored: nd.NDArray) -> None:
        calls.append((index, merged.asnumpy().tolist(), stored.asnumpy().tolist()))
        stored += merged * 2

    store.init(key, full(1))
    store.set_updater(update)
    store.push(key, full(1))
    store.push(key, [full(1), full(1)])
    assert pulled(store, key) == [7, 7]
    assert calls == [(key, [1, 1], [1, 1]), (key, [2, 2], [3, 3])]
    out = full(0)
    store.pushpull(key, full(1), out=out)
    assert out.asnumpy().tolist() == [9, 9]
    assert store.updater is update
    store.set_updater(None)
    assert store.updater is None
    store.push(key, full(1))
    assert pulled(store, key) == [1, 1]


def test_set_optimizer(store: kv.KVStore):
    store.init(0, full(1))
    store.set_optimizer(optimizer.SGD(learning_rate=0.1, momentum=0.9))
    store.push(0, full(1))
    store.push(0, full(1))
    np.testing.assert_allclose(pulled(store, 0), [0.71, 0.71], rtol=1e-6)


def test_a_key_keeps_its_dtype_and_a_pull_casts(store: kv.KVStore):
    store.init(0, full(1))
    store.push(0, full(7, dtype="float16"))
    out = full(0, dtype="float16")
    store.pull(0, out=out)
    assert out.dtype == np.float16 and out.asnumpy().tolist() == [7, 7]
    assert pulled(store, 0) == [7, 7]


def test_what_it_is():
    store = kv.create()
    assert (store.type, store.rank, store.num_workers) == ("local", 0, 1)
    assert kv.create("Device").type == "device"
    assert store.is_capable("optimizer")
    assert isinstance(hn.kvstore.create("local"), kv.KVStore)


# -- values are values -----------------------------------------------------------------------------


def test_arrays_written_later_do_not_change_the_store(store: kv.KVStore):
    """MXNet keeps a reference to an array that is pushed alone; here a push takes its value."""
    first, pushed, out = full(1), full(2), full(0)
    store.init(0, first)
    first[:] = 50
    assert pulled(store, 0) == [1, 1]
    store.push(0, pushed)
    pushed[:] = 77
    store.pull(0, out=out)
    out[:] = 5
    assert pulled(store, 0) == [2, 2]


def test_an_updater_may_change_the_merged_value(store: kv.KVStore):
    def update(key: Any, merged: nd.NDArray, stored: nd.NDArray) -> None:
        merged *= 3
        stored += merged

    store.init(0, full(1))
    store.set_updater(update)
    gradient = full(1)
    store.push(0, gradient)
    assert gradient.asnumpy().tolist() == [1, 1]
    assert pulled(store, 0) == [4, 4]


def test_views_are_pushed_and_pulled(store: kv.KVStore):
    source, target = nd.array(np.arange(6.0).reshape(3, 2)), nd.zeros((3, 2))
    store.init(0, full(0))
    store.push(0, [source[1], source[2]])
    store.pull(0, out=target[2])
    assert target.asnumpy().tolist() == [[0, 0], [0, 0], [6, 8]]


# -- refusals --------------------------------------------------------------------------------------


def test_refused_keys(store: kv.KVStore):
    store.init(3, full(1))
    for call in (lambda: store.push(9, full(1)), lambda: store.pull(9, out=full(1))):
        with pytest.raises(MXNetError, match="requires an initialized key, got 9, which was never"):
            call()
    with pytest.raises(MXNetError, match="init requires a new key, got 3"):
        store.init(3, full(1))
    with pytest.raises(MXNetError, match="init requires keys of one type"):
        store.init("3", full(1))
    for key in (1.5, None, b"w"):
        with pytest.raises(ParameterError, match="a key must be an integer or a string, got"):
            store.init(key, full(1))
    store.init(np.int64(4), full(1))
    assert pulled(store, 4) == [1, 1]


def test_refused_values(store: kv.KVStore):
    store.init([0, 1], [full(1), full(1)])
    with pytest.raises(ShapeError, match=r"push: .* key 0 must have its shape \(2,\), got \(5,\)"):
        store.push([1, 0], [full(3), nd.zeros(5)])
    assert pulled(store, 1) == [1, 1]  # nothing was done
    with pytest.raises(ShapeError, match=r"pull: .* key 0 must have its shape"):
        store.pull(0, out=[nd.zeros(2), nd.zeros((2, 1))])
    with pytest.raises(ParameterError, match="a list of 2 keys needs a list of as many values"):
        store.push([0, 1], [full(1)])
    with pytest.raises(ParameterError, match="got NDArray"):
        store.push([0, 1], full(1))
    for value in (3, np.ones(2), None):
        with pytest.raises(ParameterError, match="the values of key 0 must be NDArrays, got"):
            store.push(0, value)
    with pytest.raises(ParameterError, match="pull: needs out="):
        store.pull(0)
    with pytest.raises(ParameterError, match="init: key 2 needs one array, got 2"):
        store.init(2, [full(1), full(1)])
    with pytest.raises(MXNetError, match="at least one value"):
        store.push(0, [])


def test_refused_features(store: kv.KVStore):
    with pytest.raises(MXNetError, match=r"type must be one of local, device.*got 'nccl'"):
        kv.create("nccl")
    with pytest.raises(MXNetError, match="a distributed store requires a scheduler, servers and"):
        kv.create("dist_sync")
    with pytest.raises(TypeError, match="name must be a string, got int"):
        kv.create(1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="row_sparse_pull: needs out=, row-sparse arrays"):
        store.row_sparse_pull(0, out=full(1))
    with pytest.raises(MXNetError, match="set_gradient_compression: a store of type"):
        store.set_gradient_compression({"type": "2bit"})
    with pytest.raises(ParameterError, match="is_capable: must be one of optimizer, got 'foo'"):
        store.is_capable("foo")
    with pytest.raises(ParameterError, match="set_updater: needs a function"):
        store.set_updater(3)  # type: ignore[arg-type]


def test_what_an_updater_raises_the_push_raises(store: kv.KVStore):
    def update(key: Any, merged: nd.NDArray, stored: nd.NDArray) -> None:
        raise ZeroDivisionError("no such rate")

    store.init(0, full(1))
    store.set_updater(update)
    with pytest.raises(ZeroDivisionError, match="no such rate"):
        store.push(0, full(1))
    assert pulled(store, 0) == [1, 1]


# -- optimizer states ------------------------------------------------------------------------------


def test_optimizer_states_are_saved_and_loaded(store: kv.KVStore, tmp_path: Path):
    def make(weight: float) -> kv.KVStore:
        made = kv.create(store.type)
        made.init(0, full(weight))
        made.set_optimizer(optimizer.SGD(learning_rate=0.1, momentum=0.9))
        return made

    first = make(1)
    first.push(0, full(1))
    first.save_optimizer_states(tmp_path / "states")
    second = make(pulled(first, 0)[0])
    second.load_optimizer_states(tmp_path / "states")
    for one in (first, second):
        one.push(0, full(1))
    np.testing.assert_allclose(pulled(first, 0), [0.71, 0.71], rtol=1e-6)
    assert pulled(second, 0) == pulled(first, 0)
    with pytest.raises(OSError, match="missing"):
        first.save_optimizer_states(tmp_path / "missing" / "states")
    assert [one.name for one in tmp_path.iterdir()] == ["states"]


def test_optimizer_states_need_an_optimizer(store: kv.KVStore, tmp_path: Path):
    store.set_updater(lambda key, merged, stored: None)
    with pytest.raises(MXNetError, match="save_optimizer_states: the store has no optimizer"):
        store.save_optimizer_states(tmp_path / "states")
    with pytest.raises(MXNetError, match="load_optimizer_states: the store has no optimizer"):
        store.load_optimizer_states(tmp_path / "states")


# -- one device: everything is recorded ------------------------------------------------------------


def test_a_pull_on_one_device_is_the_same_value(store: kv.KVStore):
    store.init(0, full(1))
    store.push(0, full(2))
    outs = [full(0), full(0)]
    store.pull(0, out=outs)
    assert outs[0].read() is outs[1].read()


@asynchronous
def test_a_training_step_on_one_device_is_one_program(store: kv.KVStore):
    weights = [nd.ones((4, 4)) * 0.5 for _ in range(3)]
    x = nd.ones((2, 4))
    for key, weight in enumerate(weights):
        weight.attach_grad()
        store.init(key, weight)
    store.set_optimizer(optimizer.SGD(learning_rate=0.001, momentum=0.9))

    def step() -> nd.NDArray:
        with autograd.record():
            y = x
            for weight in weights:
                y = nd.dot(y, weight)
            loss = (y * y).sum()
        loss.backward()
        for key, weight in enumerate(weights):
            store.push(key, weight.grad, priority=-key)
            store.pull(key, out=weight, priority=-key)
        return loss

    losses = []
    for _ in range(6):
        losses.append(step().asscalar())
        settle()
    before = cache.statistics()
    losses.append(step().asscalar())
    after = cache.statistics()
    assert (after.hot - before.hot, after.cold - before.cold) == (1, 0)

    expected = np.full((3, 4, 4), 0.5)
    momentum = np.zeros_like(expected)
    for loss in losses:
        a = np.ones((2, 4)) @ expected[0]
        b = a @ expected[1]
        y = b @ expected[2]
        np.testing.assert_allclose(loss, (y * y).sum(), rtol=1e-4)
        grads = [
            np.ones((4, 2)) @ (2 * y @ expected[2].T @ expected[1].T),
            a.T @ (2 * y @ expected[2].T),
            b.T @ (2 * y),
        ]
        momentum = 0.9 * momentum - 0.001 * np.array(grads)
        expected = expected + momentum


def test_a_traced_step_takes_the_store_along(store: kv.KVStore):
    function = pytest.importorskip("hybridnet.tracing").function
    store.init(0, full(1))
    store.set_updater(lambda key, merged, stored: stored.assign(stored - merged * 0.5))
    weight = full(1)

    @function
    def step(x: nd.NDArray) -> nd.NDArray:
        store.push(0, weight * x)
        store.pull(0, out=weight)
        return weight * 1

    assert [step(full(1)).asnumpy().tolist() for _ in range(3)] == [
        [0.5] * 2,
        [0.25] * 2,
        [0.125] * 2,
    ]
    assert pulled(store, 0) == [0.125, 0.125]


# -- several devices -------------------------------------------------------------------------------


@pytest.mark.parametrize("updating", [False, True])
def test_values_on_two_devices(store: kv.KVStore, updating: bool):
    store.init(0, full(1))
    if updating:
        store.set_optimizer(optimizer.SGD(learning_rate=0.5))
    outs = [full(0, ctx) for ctx in CPUS]
    for _ in range(2):
        store.push(0, [full(4, CPUS[1]), full(2, CPUS[0])])
        store.pull(0, out=outs)
    expected = [1 - 2 * 0.5 * 6] * 2 if updating else [6, 6]
    assert [one.asnumpy().tolist() for one in outs] == [expected, expected]
    assert [one.context for one in outs] == list(CPUS)


def test_where_values_from_two_devices_meet():
    homes = []

    def update(key: Any, merged: nd.NDArray, stored: nd.NDArray) -> None:
        assert merged.context is stored.context
        homes.append(stored.context)

    for kind in KINDS:
        store = kv.create(kind)
        store.init([0, 1, 2], [full(1)] * 3)
        store.set_updater(update)
        store.push(0, [full(1, CPUS[1]), full(1, CPUS[0])])  # cpu for 'local', else the first
        store.push(1, full(1, CPUS[1]))  # one device: there
        store.push(1, full(1, CPUS[0]))  # and there it stays
    assert homes == [CPUS[0], CPUS[1], CPUS[1], CPUS[1], CPUS[1], CPUS[1]]


@asynchronous
def test_between_devices_the_highest_priority_goes_first(pool: ManualPool):
    """Layers 2, 1, 0 push in this order; all that is layer 0's runs first. Nobody has waited."""
    store = kv.create("device")
    weights = [[full(0, ctx) for ctx in CPUS] for _ in range(3)]
    for layer in range(3):
        store.init(layer, full(layer))
    store.set_optimizer(optimizer.SGD(learning_rate=1.0))
    for layer in (2, 1, 0):
        store.push(layer, [full(1, ctx) for ctx in CPUS], priority=-layer)
    assert pool.ready == ["kv push 0", "kv push 1", "kv push 2"]
    for layer in (2, 1, 0):
        store.pull(layer, out=weights[layer], priority=-layer)
    names = [one for one in pool.run_all() if one.startswith("kv")]
    assert names == [f"kv {step} {layer}" for layer in range(3) for step in ("push", "pull")]
    for layer in range(3):
        for one in weights[layer]:
            assert one.asnumpy().tolist() == [layer - 2] * 2


@asynchronous
def test_a_push_overlaps_what_the_user_does_next(pool: ManualPool):
    """The copy of layer 1's gradient is pending while layer 0's is computed and read."""
    store = kv.create("device")
    store.init([0, 1], [full(0), full(0)])
    store.push(1, [full(3, CPUS[0]), full(4, CPUS[1])], priority=-1)
    gradient = full(5, CPUS[0]) * 2
    assert gradient.asnumpy().tolist() == [10, 10]
    assert pool.ready == ["kv push 1"]
    store.push(0, [gradient, full(1, CPUS[1])], priority=0)
    assert pool.ready == ["kv push 0", "kv push 1"]
    assert pulled(store, 0) == [11, 11]
    assert pulled(store, 1) == [7, 7]


@asynchronous
def test_a_failed_copy_surfaces_where_the_value_is_read(monkeypatch: pytest.MonkeyPatch):
    from hybridnet.kv import crossing

    store = kv.create("device")
    store.init(0, full(0))
    monkeypatch.setattr(crossing, "push_task", _failing(crossing.push_task))
    store.push(0, [full(1, CPUS[0]), full(1, CPUS[1])])
    monkeypatch.undo()
    out = full(0)
    store.pull(0, out=out)
    for _ in range(2):
        with pytest.raises(OpError, match="cable unplugged"):
            out.asnumpy()
    store.push(0, full(2))
    assert pulled(store, 0) == [2, 2]


def _failing(push_task: Any) -> Any:
    def push(fn: Any, *rest: Any, **options: Any) -> Any:
        def fail(*arrays: Any) -> Any:
            raise OSError("cable unplugged")

        return push_task(fail, *rest, **options)

    return push


def test_a_context_that_does_not_exist_is_refused_at_once():
    store = kv.create()
    store.init(0, full(1))
    with pytest.raises(MXNetError, match="tpu"):
        store.pull(0, out=[full(0, hn.Context("tpu", 99))])


def test_sparse_arrays_are_pulled_when_that_is_asked_for(store: kv.KVStore) -> None:
    store.init(0, full(1).tostype("row_sparse"))
    sparse, dense = full(5).tostype("row_sparse"), full(5)
    store.pull(0, out=[sparse, dense])
    store.pull(0, out=sparse)
    assert sparse.asnumpy().max() == 5 and dense.asnumpy().max() == 1  # as in MXNet 1.9.1
    store.pull(0, out=sparse, ignore_sparse=False)
    assert sparse.asnumpy().max() == 1
    with pytest.raises(MXNetError, match="1"):
        store.pull(1, out=sparse)


_CTX = st.integers(0, 1)
_STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("push"),
            st.integers(0, 1),
            st.lists(st.tuples(_CTX, st.integers(-9, 9)), min_size=1, max_size=3),
        ),
        st.tuples(st.just("pull"), st.integers(0, 1), st.lists(_CTX, min_size=1, max_size=2)),
    ),
    max_size=12,
)


@pytest.mark.parametrize("updating", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(steps=_STEPS)
def test_random_sequences_equal_a_dict(kind: str, updating: bool, steps: list[Any]):
    store = kv.create(kind)
    values = {0: 0.0, 1: 0.0}
    store.init([0, 1], [full(0), full(0)])
    if updating:
        store.set_updater(lambda key, merged, stored: stored.assign(stored + merged * 0.5))
    outs, expected = [], []
    for name, key, places in steps:
        if name == "push":
            store.push(key, [full(number, CPUS[at]) for at, number in places], priority=-key)
            total = sum(number for _, number in places)
            values[key] = values[key] + total * 0.5 if updating else float(total)
        else:
            made = [full(99, CPUS[at]) for at in places]
            store.pull(key, out=made, priority=-key)
            outs += made
            expected += [[values[key]] * 2] * len(made)
    assert [one.asnumpy().tolist() for one in outs] == expected


def test_mxnets_names_are_in_kvstore_whatever_was_loaded_before():
    code = "import hybridnet.kvstore as k; print(k.create('local').type, hasattr(k, 'nothing'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["local", "False"]


def test_what_is_pulled_behind_a_push_that_failed_fails_with_it():
    """The servers give the value without the push; nobody may take it for the value with it."""
    ended = []
    push = Acknowledgement()
    pull = ends_task(ended.append, lambda: ["the value of before"], after=push)
    push(KVStoreError("worker 0 has ended"))
    pull(None)
    assert isinstance(ended[0], MXNetError) and "worker 0 has ended" in str(ended[0])
    push = Acknowledgement()
    push(None)
    ends_task(ended.append, lambda: ["the value"], after=push)(None)
    assert ended[1] == ["the value"]

"""The parameter server on plain NumPy values: decisions, order, priorities, errors."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridnet.engine import Engine, ManualPool, NaiveEngine, TaskError, ThreadedEngine
from hybridnet.kvstore import (
    Cell,
    CellActions,
    Init,
    Keep,
    Kind,
    KVStoreError,
    Merge,
    Pull,
    Push,
    Replace,
    Send,
    SetUpdater,
    Store,
    StoreState,
    Update,
    find_kind,
    known_kinds,
    register_kind,
)

ENGINES: dict[str, Callable[[], Engine]] = {
    "naive": NaiveEngine,
    "threaded": ThreadedEngine,
    "manual": lambda: ThreadedEngine(ManualPool(seed=7)),
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = ENGINES[request.param]()
    yield made
    made.close()


def add_half(key: Any, merged: Any, stored: Any) -> Any:
    stored += merged / 2
    return stored


def make_store(engine: Engine, update: Callable[[Any, Any, Any], Any] | None = None) -> Store[Cell]:
    actions = CellActions(reduce=sum, copy=copy.copy, update=update, engine=engine)
    store = Store(find_kind("local"), actions)
    store.set_updater(update is not None)
    return store


def cell(*numbers: float) -> Cell:
    return Cell(np.array(numbers, float))


def pulled(store: Store[Cell], key: Any, engine: Engine) -> list[float]:
    out = Cell()
    store.pull(key, [out])
    return out.get(engine).tolist()


# -- decisions -------------------------------------------------------------------------------------


def test_pushes_replace_until_there_is_an_updater():
    """1. A new key keeps the first value.  2. One pushed value needs no merge; it replaces.
    3. Several are merged first.  4. With an updater, the merged value updates.  5. Pulls send."""
    state = StoreState()
    assert state.handle(Init("w")) == [Keep("w")]
    assert state.handle(Push("w", parts=1)) == [Replace("w")]
    assert state.handle(Push("w", parts=2, priority=-3)) == [Merge("w", -3), Replace("w", -3)]
    assert state.handle(SetUpdater(True)) == []
    assert state.handle(Push("w", parts=2)) == [Merge("w"), Update("w")]
    assert state.handle(Push("w", parts=1, priority=4)) == [Update("w", 4)]
    assert state.handle(SetUpdater(False)) == []
    assert state.handle(Push("w", parts=1)) == [Replace("w")]
    assert state.handle(Pull("w", targets=3, priority=2)) == [Send("w", 2)]


def test_refused_messages_change_nothing():
    state = StoreState()
    for message in (Push("w", 1), Pull("w", 1)):
        with pytest.raises(KVStoreError, match="requires an initialized key, got 'w', which was n"):
            state.handle(message)
    assert state.handle(Init("w")) == [Keep("w")]
    state.handle(Push("w", 1))
    with pytest.raises(KVStoreError, match=r"init requires a new key, got 'w', .* had 1 pushes"):
        state.handle(Init("w"))
    with pytest.raises(KVStoreError, match=r"init requires keys of one type.*got 3 after 'w'"):
        state.handle(Init(3))
    for message in (Push("w", 0), Pull("w", 0)):
        with pytest.raises(KVStoreError, match="at least one value for key 'w', got none"):
            state.handle(message)
    with pytest.raises(KVStoreError, match="got 3, which was never"):
        state.handle(Push(3, 1))
    assert state.handle(Push("w", 1)) == [Replace("w")]


def test_kinds_are_found_by_name():
    assert find_kind("local") == Kind("local", merges_on="cpu")
    assert find_kind("Device").merges_on == "device"
    with pytest.raises(KVStoreError, match=r"one of local, device, .*, got 'nccl'"):
        find_kind("nccl")
    with pytest.raises(KVStoreError, match="requires a new name, got 'local'"):
        register_kind(Kind("local", merges_on="device"))
    assert known_kinds()[:2] == ["local", "device"]


# -- values ----------------------------------------------------------------------------------------


def test_push_and_pull(engine: Engine):
    store = make_store(engine)
    first = cell(1, 2)
    store.init("w", first)
    store.pull("w", [first])
    assert pulled(store, "w", engine) == [1, 2]
    store.push("w", [cell(8, 8)])
    assert pulled(store, "w", engine) == [8, 8]
    store.push("w", [cell(1, 1), cell(4, 0)])
    outs = [Cell(), Cell()]
    store.pull("w", outs)
    assert [one.get(engine).tolist() for one in outs] == [[5, 1], [5, 1]]
    assert store.get("v") is None


def test_two_pushes_then_a_pull(engine: Engine):
    store = make_store(engine, add_half)
    store.init(0, cell(0))
    store.push(0, [cell(2)])
    between = Cell()
    store.pull(0, [between])
    store.push(0, [cell(4), cell(6)])
    assert pulled(store, 0, engine) == [6]
    assert between.get(engine).tolist() == [1]  # the updater works in place: this is a copy


def test_what_was_given_stays_as_it_was(engine: Engine):
    store = make_store(engine)
    given_first, given_next = cell(1), cell(2)
    store.init("w", given_first)
    store.push("w", [given_next])
    out = Cell()
    store.pull("w", [out])
    out.get(engine)[:] = 7
    given_first.get(engine)[:] = 7
    given_next.get(engine)[:] = 7
    assert pulled(store, "w", engine) == [2]


def test_a_failing_updater_surfaces_at_the_wait_of_the_pull(engine: Engine):
    def update(key: Any, merged: Any, stored: Any) -> Any:
        if key == "bad":
            raise ZeroDivisionError("no such rate")
        return stored + merged

    store = make_store(engine, update)
    for key in ("bad", "good"):
        store.init(key, cell(1))
        store.push(key, [cell(1)])
    outs = {key: Cell() for key in ("bad", "good")}
    for key, out in outs.items():
        store.pull(key, [out])
    with pytest.raises(TaskError, match=r"'update bad', pushed at .*test_store.py:\d+, failed: Z"):
        outs["bad"].get(engine)
    assert outs["good"].get(engine).tolist() == [2]
    store.push("bad", [cell(1)])  # updates a value that is not there
    with pytest.raises(TaskError, match="no such rate"):
        pulled(store, "bad", engine)
    store.set_updater(False)
    store.push("bad", [cell(3)])  # a new value heals the key
    assert pulled(store, "bad", engine) == [3]


def test_a_store_with_an_updater_needs_one():
    store = make_store(NaiveEngine())
    store.set_updater(True)
    store.init("w", cell(1))
    with pytest.raises(KVStoreError, match="requires CellActions"):
        store.push("w", [cell(1)])


# -- order and priorities --------------------------------------------------------------------------


def test_the_highest_priority_goes_first():
    """Layers 0, 1, 2 push in the order of the backward pass, 2 first; 0 is wanted first."""
    pool = ManualPool(seed=None)
    engine = ThreadedEngine(pool)
    store = make_store(engine, add_half)
    for layer in range(3):
        store.init(layer, cell(0))
    pool.run_all()
    outs = [Cell() for _ in range(3)]
    for layer in (2, 1, 0):
        store.push(layer, [cell(1), cell(1)], priority=-layer)
        store.pull(layer, [outs[layer]], priority=-layer)
    assert pool.ready == ["merge 0", "merge 1", "merge 2"]
    assert pool.run_all() == [
        f"{step} {layer}" for layer in range(3) for step in ("merge", "update", "pull")
    ]
    assert [one.get(engine).tolist() for one in outs] == [[1], [1], [1]]


def test_priorities_do_not_change_the_order_of_one_key():
    pool = ManualPool(seed=None)
    engine = ThreadedEngine(pool)
    store = make_store(engine)
    store.init("w", cell(0))
    store.push("w", [cell(1)], priority=0)
    store.push("w", [cell(2)], priority=100)
    out = Cell()
    store.pull("w", [out], priority=1000)
    store.push("w", [cell(3)], priority=10_000)
    assert pool.run_all() == ["init w", "replace w", "replace w", "pull w", "replace w"]
    assert out.value.tolist() == [2]
    assert pulled(store, "w", engine) == [3]


def test_a_push_overlaps_the_rest_of_the_backward_pass():
    """backward 2 -> backward 1 -> backward 0;  each gradient is pushed when it is there.

    The barrier opens only if the update of layer 2 and the backward of layer 1 run together.
    """
    engine = ThreadedEngine(workers={"compute": 1})
    together = threading.Barrier(2)

    def update(key: int, merged: Any, stored: Any) -> Any:
        if key == 2:
            together.wait(60)
        return stored + merged

    store = make_store(engine, update)
    grads = [Cell() for _ in range(3)]
    signal = engine.new_variable("the gradient that flows back")
    for layer in range(3):
        store.init(layer, cell(0))

    def backward(layer: int) -> None:
        if layer == 1:
            together.wait(60)
        grads[layer].value = np.array([float(layer)])

    for layer in (2, 1, 0):
        engine.push(
            lambda layer=layer: backward(layer), reads=[signal], writes=[signal, grads[layer].var]
        )
        store.push(layer, [grads[layer]], priority=-layer)
    assert [pulled(store, layer, engine) for layer in range(3)] == [[0], [1], [2]]
    engine.close()


# -- random sequences ------------------------------------------------------------------------------

_STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("push"),
            st.integers(0, 2),
            st.lists(st.integers(-9, 9), min_size=1, max_size=3),
            st.integers(-2, 2),
        ),
        st.tuples(st.just("pull"), st.integers(0, 2), st.integers(1, 2), st.integers(-2, 2)),
        st.tuples(st.just("updater"), st.booleans()),
    ),
    max_size=40,
)


def run_serially(steps: list[Any]) -> list[list[float]]:
    """What the pulls must give: a dict, one step after the other."""
    values = dict.fromkeys(range(3), 0.0)
    updating, seen = False, []
    for name, *rest in steps:
        if name == "updater":
            (updating,) = rest
        elif name == "push":
            key, parts, _ = rest
            values[key] = values[key] + sum(parts) / 2 if updating else float(sum(parts))
        else:
            key, targets, _ = rest
            seen += [[values[key]]] * targets
    return seen


@pytest.mark.parametrize("kind", ENGINES)
@settings(max_examples=60)
@given(steps=_STEPS)
def test_random_sequences_equal_a_dict(kind: str, steps: list[Any]):
    engine = ENGINES[kind]()
    store = make_store(engine, add_half)
    store.set_updater(False)
    for key in range(3):
        store.init(key, cell(0))
    outs: list[Cell] = []
    for name, *rest in steps:
        if name == "updater":
            store.set_updater(rest[0])
        elif name == "push":
            key, parts, priority = rest
            store.push(key, [cell(one) for one in parts], priority=priority)
        else:
            key, targets, priority = rest
            made = [Cell() for _ in range(targets)]
            store.pull(key, made, priority=priority)
            outs += made
    assert [one.get(engine).tolist() for one in outs] == run_serially(steps)
    engine.wait_for_all()
    engine.close()

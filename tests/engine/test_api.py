"""What a user of the engine sees: order, errors at the wait, lanes, deletion, misuse."""

from __future__ import annotations

import inspect
import itertools
import threading

import numpy as np
import pytest

from hybridnet import engine as hn_engine
from hybridnet.engine import (
    CompletionError,
    DeadlockError,
    Engine,
    EngineError,
    ManualPool,
    NaiveEngine,
    TaskError,
    ThreadedEngine,
    VarError,
    raised_origin,
    resolve_origin,
)

KINDS = {
    "naive": NaiveEngine,
    "threaded": ThreadedEngine,
    "manual": lambda: ThreadedEngine(pool=ManualPool(seed=7)),
}


@pytest.fixture(params=sorted(KINDS))
def engine(request):
    made = KINDS[request.param]()
    yield made
    made.close()


@pytest.fixture
def threaded():
    made = ThreadedEngine()
    yield made
    made.close()


def line_of_next_call() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno + 1


def fail(message="boom"):
    def task():
        raise ValueError(message)

    return task


def test_writes_of_one_var_happen_in_push_order(engine: Engine):
    var, seen = engine.new_variable(), []
    for i in range(100):
        engine.push(lambda i=i: seen.append(i), writes=[var], priority=i % 7)
    engine.wait_for_var(var)
    assert seen == list(range(100))


def test_reads_between_two_writes_run_together(threaded: Engine):
    var, both = threaded.new_variable(), threading.Barrier(2)
    threaded.push(lambda: None, writes=[var])
    for _ in range(2):
        threaded.push(lambda: both.wait(60), reads=[var])  # each needs the other to run
    threaded.push(lambda: None, writes=[var])
    threaded.wait_for_all()


def test_lanes_do_not_block_each_other(threaded: Engine):
    done = {lane: threading.Event() for lane in hn_engine.LANES}
    lanes = list(done)
    for lane, following in itertools.pairwise(lanes):
        threaded.push(
            lambda lane=lane, following=following: (done[following].wait(60), done[lane].set()),
            lane=lane,
        )
    threaded.push(done[lanes[-1]].set, lane=lanes[-1])
    threaded.wait_for_all()
    assert all(event.is_set() for event in done.values())


def test_an_error_surfaces_at_the_wait_with_the_pushing_line(engine: Engine):
    var = engine.new_variable()
    line = line_of_next_call()
    engine.push(fail(), writes=[var], name="load")
    with pytest.raises(TaskError, match=r"task 'load', pushed at .*: ValueError: boom") as caught:
        engine.wait_for_var(var)
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.task == "load"
    assert caught.value.origin is not None
    file, at = caught.value.origin
    assert file.endswith("test_api.py") and at == line


def test_the_origin_may_be_given(engine: Engine):
    var = engine.new_variable()
    engine.push(fail(), writes=[var], name="dot", origin=("train.py", 41))
    with pytest.raises(TaskError, match=r"'dot', pushed at train\.py:41, failed: ValueError"):
        engine.wait_for_var(var)


def test_poison_spreads_through_reads_and_no_further(engine: Engine):
    """a fails -> b = f(a) -> c = g(b) fail with it;  d = h(e) does not; a write of a heals a."""
    a, b, c, d, e = (engine.new_variable(name) for name in "abcde")
    ran = []
    engine.push(fail(), writes=[a], name="first")
    engine.push(lambda: ran.append("b"), reads=[a], writes=[b])
    engine.push(lambda: ran.append("c"), reads=[b], writes=[c])
    engine.push(lambda: ran.append("d"), reads=[e], writes=[d])
    for var in (a, b, c, c):  # each wait raises it, the second on c as well
        with pytest.raises(TaskError, match="'first'"):
            engine.wait_for_var(var)
    engine.wait_for_var(d)
    engine.push(lambda: ran.append("update"), reads=[a], writes=[a])
    with pytest.raises(TaskError, match="'first'"):
        engine.wait_for_var(a)
    engine.push(lambda: ran.append("heal"), writes=[a])
    engine.wait_for_var(a)
    engine.push(lambda: ran.append("b"), reads=[a], writes=[b])
    engine.wait_for_all()  # the failure was reported above
    assert sorted(ran) == ["b", "d", "heal"]
    assert engine.statistics().failed == 1
    assert engine.statistics().skipped == 3


def test_wait_for_all_raises_once_and_lists_the_others(engine: Engine):
    for message in ("one", "two", "three"):
        engine.push(fail(message), name=message)
    with pytest.raises(TaskError) as caught:
        engine.wait_for_all()
    messages = [str(caught.value), *caught.value.__notes__]
    assert len(messages) == 3
    assert all(any(f"ValueError: {m}" in text for text in messages) for m in ("one", "two"))
    engine.wait_for_all()
    var, ran = engine.new_variable(), []
    engine.push(lambda: ran.append(1), writes=[var])
    engine.wait_for_all()
    assert ran == [1]


def test_many_failures_are_counted_not_kept(engine: Engine):
    for _ in range(200):
        engine.push(fail())
    with pytest.raises(TaskError) as caught:
        engine.wait_for_all()
    assert len(caught.value.__notes__) == 11
    assert caught.value.__notes__[-1] == "and 189 more tasks failed"
    engine.wait_for_all()


def test_a_task_pushes_tasks(engine: Engine):
    var, other, seen = engine.new_variable(), engine.new_variable(), []

    def parent():
        engine.push(lambda: seen.append("same var"), writes=[var])  # after its parent
        engine.push(lambda: seen.append("other var"), writes=[other])
        engine.wait_for_var(other)
        seen.append("parent")

    engine.push(parent, writes=[var])
    engine.wait_for_all()
    assert seen == ["other var", "parent", "same var"]


def test_what_is_in_the_background_is_waited_for_on_request(threaded: Engine):
    order: list[str] = []
    go, begun = threading.Event(), threading.Event()

    def behind() -> None:
        begun.set()
        go.wait(60)
        order.append("behind")

    threaded.push(behind, lane="background")
    begun.wait(60)
    threaded.push(lambda: order.append("io"), lane="io")
    threaded.push(lambda: order.append("compute"))
    threaded.wait_for_all(background=False)
    assert sorted(order) == ["compute", "io"]
    threaded.push(go.set)
    threaded.wait_for_all()
    assert order[-1] == "behind"


def test_a_failure_in_the_background_is_told(engine: Engine):
    engine.push(lambda: 1 // 0, lane="background")
    with pytest.raises(TaskError, match="division"):
        engine.wait_for_all()


def test_tasks_that_wait_for_tasks_do_not_exhaust_their_lane():
    engine = ThreadedEngine(workers={"compute": 1})
    depth, seen = 20, []

    def nest(level):
        var = engine.new_variable()
        if level:
            engine.push(lambda: nest(level - 1), writes=[var])
            engine.wait_for_var(var)
        seen.append(level)

    engine.push(lambda: nest(depth))
    engine.wait_for_all()
    assert seen == list(range(depth + 1))
    engine.close()


def test_a_task_that_waits_for_its_own_var_gets_an_error(engine: Engine):
    var, read, caught = engine.new_variable("w"), engine.new_variable("r"), []

    def task():
        engine.wait_for_var(read)  # fine: it has been granted
        for wait in (lambda: engine.wait_for_var(var), engine.wait_for_all, engine.close):
            try:
                wait()
            except DeadlockError as error:
                caught.append(str(error))

    engine.push(task, reads=[read], writes=[var], name="selfish")
    engine.wait_for_all()
    assert len(caught) == 3
    assert "<Var w" in caught[0] and "'selfish'" in caught[0]
    assert caught[1].startswith("wait_for_all requires")
    assert caught[2].startswith("close requires")


def test_duplicate_vars_are_merged(engine: Engine):
    a, b, ran = engine.new_variable(), engine.new_variable(), []
    engine.push(lambda: ran.append(1), reads=[a, b, a], writes=[b, b])
    engine.push(lambda: ran.append(2), reads=[a, a], writes=[])
    engine.push(lambda: ran.append(3), writes=[a, a])
    engine.wait_for_all()
    assert sorted(ran) == [1, 2, 3]


def test_push_async_ends_when_another_thread_says_so(engine: Engine):
    var, callbacks, seen = engine.new_variable(), [], []
    started = threading.Event()

    def begin(on_complete):
        callbacks.append(on_complete)
        started.set()

    def end():
        started.wait(60)
        seen.append("end")
        callbacks.pop()()

    engine.push_async(begin, writes=[var])
    engine.push(lambda: seen.append("after"), reads=[var])
    thread = threading.Thread(target=end)
    thread.start()
    engine.wait_for_all()
    thread.join()
    assert seen == ["end", "after"]


def test_push_async_fails_by_its_callback(engine: Engine):
    var = engine.new_variable()
    engine.push_async(lambda done: done(OSError("disk")), writes=[var], name="read")
    with pytest.raises(TaskError, match=r"'read'.*OSError: disk"):
        engine.wait_for_var(var)


def test_push_async_fails_by_raising(engine: Engine):
    var, kept = engine.new_variable(), []

    def begin(on_complete):
        kept.append(on_complete)
        raise OSError("disk")

    engine.push_async(begin, writes=[var])
    with pytest.raises(TaskError, match="OSError: disk"):
        engine.wait_for_var(var)
    with pytest.raises(CompletionError, match="one call per task, got a second"):
        kept[0]()


def test_an_error_after_completion_is_not_lost(engine: Engine):
    var = engine.new_variable()

    def begin(on_complete):
        on_complete()
        raise OSError("late")

    engine.push_async(begin, writes=[var], name="hasty")
    with pytest.raises(TaskError, match=r"'hasty'.*OSError: late"):
        engine.wait_for_all()
    engine.wait_for_var(var)


def test_a_second_completion_is_refused(engine: Engine):
    caught = []

    def begin(on_complete):
        on_complete()
        try:
            on_complete()
        except CompletionError as error:
            caught.append(str(error))

    engine.push_async(begin, name="twice")
    engine.wait_for_all()
    assert "'twice'" in caught[0]


def test_a_completion_refuses_what_is_no_error(engine: Engine):
    engine.push_async(lambda done: done("text"), name="text")  # type: ignore[arg-type]
    with pytest.raises(TaskError, match="TypeError: on_complete requires an exception or None"):
        engine.wait_for_all()


def test_a_dropped_completion_fails_its_task(engine: Engine):
    var = engine.new_variable()
    engine.push_async(lambda done: None, writes=[var])
    with pytest.raises(TaskError, match="dropped without a call"):
        engine.wait_for_var(var)


def test_deletion_waits_for_the_pending_tasks(engine: Engine):
    var, seen, gate = engine.new_variable("x"), [], threading.Event()
    callbacks = []
    engine.push_async(lambda done: (callbacks.append(done), gate.set()), writes=[var])
    engine.push(lambda: seen.append("task"), reads=[var])
    engine.delete_variable(var)
    for use in (
        lambda: engine.push(lambda: None, reads=[var]),
        lambda: engine.push(lambda: None, writes=[var]),
        lambda: engine.wait_for_var(var),
        lambda: engine.delete_variable(var),
    ):
        with pytest.raises(VarError, match=r"requires a live Var, got <Var x \w+>: it was deleted"):
            use()
    assert var.state != "deleted" and seen == []
    threading.Thread(target=lambda: (gate.wait(60), callbacks.pop()())).start()
    engine.wait_for_all()
    assert seen == ["task"]
    assert var.state == "deleted"


def test_vars_move_between_idle_engines_only():
    one, two = ThreadedEngine(pool=ManualPool()), NaiveEngine()
    var = one.new_variable()
    one.push(lambda: None, writes=[var])
    with pytest.raises(VarError, match="no other engine works on"):
        two.push(lambda: None, writes=[var])
    one.wait_for_all()
    two.push(lambda: None, writes=[var])
    two.wait_for_var(var)


def test_misuse_is_explained(engine: Engine):
    var = engine.new_variable()
    with pytest.raises(
        EngineError, match="lane of compute, copy, io, priority, background, got 'gpu'"
    ):
        engine.push(lambda: None, lane="gpu")
    with pytest.raises(TypeError, match="push requires iterables of Vars"):
        engine.push(lambda: None, reads=var)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="push requires Vars, got 'x'"):
        engine.push(lambda: None, writes=["x"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="push requires a callable, got 3"):
        engine.push(3)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match=r"a pool or workers, got both"):
        ThreadedEngine(pool=ManualPool(), workers={"io": 1})
    with pytest.raises(EngineError, match=r"requires lanes of compute.*got 'disk'"):
        ThreadedEngine(workers={"disk": 1})
    with pytest.raises(EngineError, match="at least 1 thread per lane, got io=0"):
        ThreadedEngine(workers={"io": 0})


def test_statistics_count_tasks_not_waits(engine: Engine):
    var = engine.new_variable()
    for _ in range(5):
        engine.push(lambda: None, writes=[var])
    engine.wait_for_var(var)
    engine.wait_for_all()
    counts = engine.statistics()
    assert (counts.pushed, counts.completed, counts.failed, counts.pending) == (5, 5, 0, 0)


def test_the_observer_sees_each_task_that_ran(engine: Engine):
    events = []
    engine.set_observer(lambda *event: events.append(event))
    var = engine.new_variable()
    engine.push(lambda: None, writes=[var], name="good", lane="io")
    engine.push_async(lambda done: done(), writes=[var], name="async")
    engine.push(fail(), writes=[var], name="bad")
    engine.push(lambda: None, reads=[var], name="skipped")
    with pytest.raises(TaskError):
        engine.wait_for_all()
    engine.set_observer(None)
    engine.push(lambda: None, writes=[var], name="unseen")
    engine.wait_for_all()
    assert [event[:3] for event in events] == [
        ("task", "good", "io"),
        ("task", "async", "compute"),
        ("failed", "bad", "compute"),
    ]
    assert all(start <= end for *_, start, end, _ in events)
    for event in events:
        file, line = resolve_origin(event[-1])
        assert file.endswith("test_api.py") and line > 0


def test_an_observer_that_raises_does_not_hurt_the_task(engine: Engine):
    var = engine.new_variable()
    engine.set_observer(lambda *event: 1 / 0)
    engine.push(lambda: None, writes=[var])
    engine.wait_for_var(var)
    engine.set_observer(None)
    with pytest.raises(TaskError, match="ZeroDivisionError"):
        engine.wait_for_all()


def test_two_threads_push(engine: Engine):
    """Per Var, each thread's writes stay in its order, whatever the other does."""
    own, shared = [engine.new_variable() for _ in range(2)], engine.new_variable()
    seen: list[list[int]] = [[], []]
    counter = [0]

    def bump():
        counter[0] += 1  # safe only because writes of `shared` exclude each other

    def work(me):
        for i in range(500):
            engine.push(lambda i=i: seen[me].append(i), reads=[own[1 - me]], writes=[own[me]])
            engine.push(bump, writes=[shared])
            if i % 50 == 0:
                engine.wait_for_var(own[me])

    threads = [threading.Thread(target=work, args=(me,)) for me in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.wait_for_all()
    assert seen == [list(range(500))] * 2
    assert counter == [1000]


def test_after_close_tasks_run_at_once(engine: Engine):
    assert engine.close()
    var, seen = engine.new_variable(), []
    engine.push(lambda: seen.append(threading.current_thread()), writes=[var])
    assert seen == [threading.current_thread()]
    engine.wait_for_all()
    assert engine.statistics().threads == 0


def test_close_drops_what_does_not_end_in_time(engine: Engine):
    var, kept = engine.new_variable(), []
    engine.push_async(kept.append, writes=[var], name="stuck")
    assert not engine.close(timeout=0.01)
    with pytest.raises(TaskError, match=r"'stuck'.*it was dropped: the engine was closed"):
        engine.wait_for_var(var)
    kept.pop()()  # too late, and harmless
    engine.push(lambda: None, writes=[var])
    engine.wait_for_var(var)


def test_a_finalizer_may_push_and_delete(engine: Engine):
    class Owner:
        def __init__(self):
            self.var = engine.new_variable()

        def __del__(self):
            engine.push(lambda: seen.append(1), writes=[self.var])
            engine.delete_variable(self.var)

    seen: list[int] = []
    for _ in range(50):
        owner = Owner()
        # The task is the last to hold the owner: it dies where the engine lets go of the task.
        engine.push(lambda owner=owner: None, writes=[owner.var])
        del owner
    engine.wait_for_all()
    engine.wait_for_all()
    assert len(seen) == 50


def test_the_default_engine(monkeypatch):
    made = NaiveEngine()
    previous = hn_engine.set_engine(made)
    try:
        assert hn_engine.get() is made
        var, seen = hn_engine.new_variable("v"), []
        hn_engine.push(lambda: seen.append(1), writes=[var])
        hn_engine.push_async(lambda done: (seen.append(2), done()), writes=[var])
        hn_engine.wait_for_var(var)
        hn_engine.wait_for_all()
        hn_engine.delete_variable(var)
        assert seen == [1, 2]
        assert hn_engine.statistics().pushed == 2
    finally:
        hn_engine.set_engine(previous or ThreadedEngine())


def test_where_an_error_came_from_is_the_innermost_line_of_the_users():
    def convert():
        np.asarray([1, "two"]).astype(float)

    with pytest.raises(ValueError, match="two") as caught:
        convert()
    file, line = resolve_origin(raised_origin(caught.value))
    assert file.endswith("test_api.py") and line == convert.__code__.co_firstlineno + 1
    assert raised_origin(ValueError("never raised")) is None

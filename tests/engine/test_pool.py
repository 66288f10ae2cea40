"""Which of the ready tasks runs next: priorities, lanes, and the pool that lets a test choose."""

from __future__ import annotations

import threading

import pytest

from hybridnet.engine import EngineError, ManualPool, NaiveEngine, ThreadedEngine


def push_named(engine, ran, name, **options):
    engine.push(lambda: ran.append(name), name=name, **options)


def test_higher_priority_first_and_first_come_among_equals():
    pool = ManualPool(seed=None)
    engine, ran = ThreadedEngine(pool=pool), []
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", -1), ("e", 5)):
        push_named(engine, ran, name, priority=priority)
    assert pool.ready == ["b", "e", "a", "c", "d"]
    engine.wait_for_all()
    assert ran == ["b", "e", "a", "c", "d"]


def test_a_worker_takes_the_highest_priority_first():
    engine, ran = ThreadedEngine(workers={"io": 1}), []
    started, gate = threading.Event(), threading.Event()
    engine.push(lambda: (started.set(), gate.wait(60)), lane="io")
    started.wait(60)  # the only worker is busy: what follows queues up
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", -1), ("e", 5)):
        push_named(engine, ran, name, priority=priority, lane="io")
    engine.statistics()
    gate.set()
    engine.wait_for_all()
    assert ran == ["b", "e", "a", "c", "d"]
    engine.close()


def test_priority_does_not_break_the_order_on_a_var():
    engine, ran = ThreadedEngine(pool=ManualPool(seed=None)), []
    var = engine.new_variable()
    push_named(engine, ran, "low", priority=-9, writes=[var])
    push_named(engine, ran, "high", priority=9, writes=[var])
    engine.wait_for_all()
    assert ran == ["low", "high"]


def test_the_test_chooses_what_runs_next():
    """
    x: W(a) -> R(b)
            -> R(c) -> W(d)
    """
    pool = ManualPool()
    engine, ran = ThreadedEngine(pool=pool), []
    x = engine.new_variable("x")
    push_named(engine, ran, "a", writes=[x])
    push_named(engine, ran, "b", reads=[x])
    push_named(engine, ran, "c", reads=[x])
    push_named(engine, ran, "d", writes=[x])
    assert pool.ready == ["a"]
    assert pool.run_next() == "a"
    assert pool.ready == ["b", "c"]
    assert pool.run_next("c") == "c"
    with pytest.raises(EngineError, match=r"a ready task named 'd', ready are \['b'\]"):
        pool.run_next("d")
    assert pool.run_all() == ["b", "d"]
    with pytest.raises(EngineError, match="run_next requires a ready task"):
        pool.run_next()
    assert ran == ["a", "c", "b", "d"]


def order_under(seed):
    engine, ran = ThreadedEngine(pool=ManualPool(seed=seed)), []
    for i in range(8):
        push_named(engine, ran, i)
    engine.wait_for_all()
    return ran


def test_a_seed_repeats_and_seeds_differ():
    assert order_under(3) == order_under(3)
    assert len({tuple(order_under(seed)) for seed in range(10)}) > 5


def test_a_wait_runs_no_more_than_it_needs_of_a_chain():
    pool = ManualPool(seed=None)
    engine, ran = ThreadedEngine(pool=pool), []
    var = engine.new_variable()
    push_named(engine, ran, "first", writes=[var])
    engine.wait_for_var(var)
    push_named(engine, ran, "second", writes=[var])
    assert ran == ["first"]


def test_naive_runs_before_push_returns():
    engine, ran = NaiveEngine(), []
    var = engine.new_variable()
    for i in range(3):
        push_named(engine, ran, i, writes=[var])
        assert ran == list(range(i + 1))


def test_naive_frees_a_long_queue_without_nesting():
    engine, ran, kept = NaiveEngine(), [], []
    var = engine.new_variable()
    engine.push_async(kept.append, writes=[var])
    for i in range(5000):
        push_named(engine, ran, i, writes=[var])
    kept.pop()()
    assert ran == list(range(5000))


def test_threads_start_when_needed_and_no_more_than_the_lane_has():
    engine = ThreadedEngine(workers={"io": 2, "compute": 1})
    assert engine.statistics().threads == 0
    engine.push(lambda: None)
    engine.wait_for_all()
    assert engine.statistics().threads == 1
    for _ in range(100):
        engine.push(lambda: None, lane="io")
    engine.wait_for_all()
    assert 2 <= engine.statistics().threads <= 3
    engine.close()
    assert engine.statistics().threads == 0


def test_a_pool_that_closes_while_a_thread_of_it_starts(monkeypatch):
    engine, ran = ThreadedEngine(workers={"io": 1}), []
    starting, go_on, start = threading.Event(), threading.Event(), threading.Thread.start

    def slow_start(thread):
        if thread.name == "hybridnet-io":
            starting.set()
            go_on.wait(60)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", slow_start)
    pushing = threading.Thread(
        target=lambda: engine.push(lambda: ran.append("task"), lane="io"), name="pushing"
    )
    pushing.start()
    starting.wait(60)
    assert not engine.close(0.01)  # raised "cannot join thread before it is started"
    go_on.set()
    pushing.join(60)
    assert not ran
    assert not pushing.is_alive()


def test_tasks_that_wait_do_not_take_a_thread_each():
    engine = ThreadedEngine(workers={"compute": 1})
    threads = []

    def outer():
        var = engine.new_variable()
        engine.push(lambda: threads.append(engine.statistics().threads), writes=[var])
        engine.wait_for_var(var)

    for _ in range(300):
        engine.push(outer)
    engine.wait_for_all()
    assert len(threads) == 300
    assert max(threads) < 30
    for _ in range(300):  # a worker that retires must not take somebody's wake-up with it
        engine.push(outer)
        engine.wait_for_all()
        engine.push(lambda: None)
        engine.wait_for_all()
    assert engine.close()
    assert engine.statistics().threads == 0


def test_tasks_pushed_by_a_task_go_before_others_of_their_priority():
    pool = ManualPool(seed=None)
    engine, ran = ThreadedEngine(pool=pool), []
    engine.push(lambda: push_named(engine, ran, "child"), name="parent")
    push_named(engine, ran, "other")
    push_named(engine, ran, "urgent", priority=1)
    engine.wait_for_all()
    assert ran == ["urgent", "child", "other"]

"""Processes are killed, stopped and lost; what is computed is what it would have been.

The short forms of the drills; with HYBRIDNET_TEST_NIGHTLY the long ones.
"""

import json
import os
import random
import shutil
import signal
import threading
import time

import dist_workers
import numpy as np
import pytest
from dist_run import started
from helpers import thorough

from hybridnet.kvstore.drivers.completion import Completion
from hybridnet.kvstore.errors import DeadNodeError

#: The larger key is on both servers, in several parts.
PARTS = {"big_array": 50_000, "part_bytes": 1 << 17}
KILLED_TOGETHER = {0.0: ("server", 0), 0.5: ("worker", 1)}


class Watched:
    """The lines that a worker's process prints; calls `at(turn)` for each round."""

    def __init__(self, one, at=None):
        self.last, self.result, self._at = 0, None, at
        self._process = one.process
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        with self._process.stdout as lines:
            for line in lines:
                if line.startswith("{"):
                    self.result = json.loads(line)
                else:
                    self.last = int(line)
                    if self._at is not None:
                        self._at(self.last)

    def ended(self, seconds=60):
        """Waits for the end; returns the exit status."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"stands at {self.last}"
        return self._process.wait(200)


def train(run, rounds, kills, what="sync"):
    """Runs two workers, and kills processes when worker 0 has come to some rounds.

    Args:
        run: a run of two workers.
        rounds: how many.
        kills: by round, (role, rank).
        what: what the workers do.

    Returns:
        What the last process of each worker said at its end.
    """
    waiting, change = dict(kills), threading.Condition()

    def at(turn):
        with change:
            for due in [one for one in waiting if one <= turn]:
                dead.append(waiting.pop(due))
            change.notify()

    dead, seen = [], {}
    # In "sync" they meet at barriers, too, which who is started again has not been at; else
    # worker 0 stops at these rounds, as nobody would wait for whom is killed.
    asked = [what, rounds, 3] if what == "sync" else [what, rounds, *kills]
    for rank in (0, 1):
        one = run.start("worker", rank, arguments=asked)
        seen[rank] = Watched(one, at if rank == 0 else None)
    while any(one._thread.is_alive() for one in seen.values()):
        with change:
            change.wait(0.05)
            due = dead.copy()
            dead.clear()
        for role, rank in due:
            first = run.live["worker", 0].process.pid
            if what == "count":
                os.waitid(os.P_PID, first, os.WSTOPPED)
            run.kill(role, rank, arguments=asked)
            if what == "count":
                os.kill(first, signal.SIGCONT)
            if role == "worker":
                seen[rank] = Watched(run.live[role, rank], at if rank == 0 else None)
    assert [one.ended() for one in seen.values()] == [0, 0]
    assert not waiting
    return [one.result for one in seen.values()]


def spread(rounds, kills, whom):
    """Returns rounds at which somebody is killed, in an order that is the same every time."""
    turns = random.Random(4).sample(range(2, rounds - 2), kills)
    return {turn: random.Random(turn).choice(whom) for turn in turns}


@pytest.mark.slow
def test_killed_servers_lose_nothing():
    rounds, kills = thorough(4000, 30), thorough(20, 2)
    with started(2, 2, token=True, **PARTS) as run:
        found = train(run, rounds, spread(rounds, kills, [("server", 0), ("server", 1)]))
    wanted = dist_workers.expected(2, rounds)
    for one in found:
        assert {key: one[key] for key in wanted} == wanted
        assert one["longest"] < 3


@pytest.mark.slow
def test_killed_workers_count_once():
    rounds, kills = thorough(1000, 30), thorough(10, 2)
    with started(2, 1) as run:
        found = train(run, rounds, spread(rounds, kills, [("worker", 0), ("worker", 1)]))
    wanted = dist_workers.expected(2, rounds)
    for one in found:
        assert {key: one[key] for key in wanted} == wanted


@pytest.mark.slow
def test_killed_workers_and_servers_count_once_without_rounds():
    rounds, kills = thorough(2000, 60), thorough(20, 2)
    with started(2, 1) as run:
        whom = [("worker", 1), ("server", 0)]
        found = train(run, rounds, spread(rounds, kills, whom), "count")
    assert found[0] == {"least": 2 * rounds, "most": 2 * rounds}


@pytest.mark.slow
def test_a_server_and_a_worker_that_are_killed_together_lose_nothing():
    rounds, kills = thorough(1000, 30), thorough(10, 1)
    turns = random.Random(7).sample(range(5, rounds - 2), kills)
    # (Half a round earlier is the same time: worker 0 tells of whole ones.)
    both = {turn - half: whom for turn in turns for half, whom in KILLED_TOGETHER.items()}
    with started(2, 1) as run:
        found = train(run, rounds, both)
    wanted = dist_workers.expected(2, rounds)
    for one in found:
        assert {key: one[key] for key in wanted} == wanted


def test_a_barrier_that_the_scheduler_died_in_is_passed_when_it_is_back():
    with started(2, 1) as run:
        first, second = run.workers()
        waits = [Completion(), Completion()]
        first.barrier(done=waits[0])
        run.kill("scheduler", 0)
        with pytest.raises(TimeoutError):
            waits[0].wait(0.1)
        second.barrier(done=waits[1])
        for one in waits:
            one.wait(200)


@pytest.mark.slow
def test_training_goes_on_without_the_scheduler():
    rounds = 20
    with started(2, 1) as run:
        found = train(run, rounds, {5: ("scheduler", 0)})
    assert found[0]["large"] == dist_workers.expected(2, rounds)["large"]


def test_a_worker_that_does_not_come_back_is_named():
    with started(2, 1, deadline=2.0) as run:
        one = run.start("worker", 1, arguments=["sync", 100_000])
        started_one = Watched(one)
        store = run.worker(0)
        store.configure("numpy_sgd", dist_workers.SETTINGS)
        for key, size in dist_workers.SIZES.items():
            store.init(key, dist_workers.first(size))
        out = dist_workers.first(8)
        for turn in range(1, 4):
            for key, size in dist_workers.SIZES.items():
                store.push(key, dist_workers.gradient(0, turn, size))
            store.pull("small", out)
        run.kill("worker", 1, again=False)
        begun = time.monotonic()
        with pytest.raises(DeadNodeError, match=r"worker 1 .*killed by signal 9"):
            for turn in range(4, 100):
                store.push("small", dist_workers.gradient(0, turn, 8))
                store.pull("small", out)
        assert time.monotonic() - begun < 10
        started_one.ended()


def test_a_server_that_does_not_come_back_is_named():
    with started(1, 1, deadline=2.0) as run:
        (store,) = run.workers()
        value = np.zeros(8, np.float32)
        store.init("a", value)
        run.kill("server", 0, again=False)
        with pytest.raises(DeadNodeError, match=r"server 0 .*killed by signal 9"):
            store.push_pull("a", value, np.empty_like(value))


def stopped(process, seconds):
    """Stops a process for some time."""
    os.kill(process.pid, signal.SIGSTOP)
    threading.Event().wait(seconds)
    os.kill(process.pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_process_that_stands_for_a_while_loses_nothing():
    with started(2, 1) as run:
        watched = [Watched(run.start("worker", rank, arguments=["sync", 30])) for rank in (0, 1)]
        while watched[0].last < 10:
            threading.Event().wait(0.01)
        stopped(run.live["worker", 1].process, 3.5)
        assert [one.ended() for one in watched] == [0, 0]
    assert watched[0].result["large"] == dist_workers.expected(2, 30)["large"]


@pytest.mark.slow
def test_a_process_that_was_declared_dead_changes_nothing_any_more():
    with started(2, 1, deadline=1.5) as run:
        one = run.start("worker", 1, arguments=["sync", 100_000])
        watched, store = Watched(one), run.worker(0)
        store.configure("numpy_sgd", dist_workers.SETTINGS)
        outs = {key: dist_workers.first(size) for key, size in dist_workers.SIZES.items()}
        for key in outs:
            store.init(key, outs[key])
        os.kill(one.process.pid, signal.SIGSTOP)
        with pytest.raises(DeadNodeError, match="worker 1 .*is gone"):
            for turn in range(1, 100):
                for key, out in outs.items():
                    store.push_pull(key, dist_workers.gradient(0, turn, out.size), out)
        os.kill(one.process.pid, signal.SIGCONT)
        assert watched.ended(20) == 1
        assert watched.result["error"] in ("KVStoreError", "DeadNodeError")


def test_thousands_of_rounds_leave_nothing_behind():
    with started(1, 1) as run:
        (store,) = run.workers()
        # The small one goes by messages, the large one through mapped files.
        values = {"small": np.zeros(8, np.float32), "large": np.zeros(8192, np.float32)}
        for key, value in values.items():
            store.init(key, value)
        folder, sizes, held = run.cluster.state_folder, [], []
        for _ in range(2):
            for _ in range(thorough(5000, 500)):
                for key, value in values.items():
                    done = Completion()
                    store.push_pull(key, value, np.empty_like(value), done=done)
                    done.wait()
            processes = [os.getpid(), run.live["server", 0].process.pid]
            sizes.append([resident(one) for one in processes])
            held.append([len(os.listdir(f"/proc/{one}/fd")) for one in processes])
            held[-1].append(len(list(folder.rglob("*"))))
        assert all(b - a < 5e6 for a, b in zip(*sizes, strict=True)), sizes
        assert all(b <= a for a, b in zip(*held, strict=True)), held
        assert store.statistics()["outstanding"] == 0
        assert list(folder.glob("lane-*"))
        before = threading.active_count()
        store.close()
        assert threading.active_count() == before - 1
        assert not list(folder.glob("lane-*"))


def resident(process):
    with open(f"/proc/{process}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_a_standby_goes_on_where_a_lost_server_was(again):
    """The server's files are lost with it; with `again` an empty one comes back in its place."""
    rounds = 20
    with started(2, 2, standby=True, deadline=5.0, **PARTS) as run:
        folder = run.cluster.state_folder / "server-0"

        def lose():
            run.kill("server", 0, again=False)
            shutil.rmtree(folder)
            if again:
                run.start("server", 0, 1)

        watched = [
            Watched(run.start("worker", rank, arguments=["sync", rounds])) for rank in (0, 1)
        ]
        while watched[0].last < 5:
            threading.Event().wait(0.01)
        lose()
        assert [one.ended() for one in watched] == [0, 0]
    wanted = dist_workers.expected(2, rounds)
    for one in watched:
        assert {key: one.result[key] for key in wanted} == wanted
        assert one.result["longest"] < 10


def test_a_killed_server_has_its_table_of_rows():
    with started(1, 1) as run:
        (store,) = run.workers()
        store.configure("sum", {})
        table = np.zeros((5000, 8), np.float32)
        store.init("table", table, is_rows=True)
        generator = np.random.default_rng(0)
        for turn in range(40):
            rows = np.sort(generator.choice(5000, 50, replace=False))
            values = generator.standard_normal((50, 8), dtype=np.float32)
            table[rows] += values
            store.push_rows("table", rows, values)
            if turn in (10, 25):
                run.kill("server", 0)  # while pushes are on their way
        out = np.empty_like(table)
        store.pull("table", out)
        assert out.tobytes() == table.tobytes()

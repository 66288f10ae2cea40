"""Times a push, the start of a task, and whether two cores work at once.

    python benchmarks/engine.py

The engines are compared with the plainest way to do the same: a direct call, one thread and a
`queue.SimpleQueue`, `concurrent.futures`. Each figure is the best of several rounds, since what
disturbs a round only ever adds to it.
"""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hybridnet.engine import Engine, NaiveEngine, ThreadedEngine

PUSHES = 100_000
HANDOFFS = 3_000
ROUNDS = 5


def nothing() -> None:
    pass


def best(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(ROUNDS))


def push_seconds(engine: Engine, reads: int, writes: int) -> float:
    """Seconds per push of a trivial task, until the last one has ended."""
    variables = [engine.new_variable() for _ in range(reads + writes)]
    read, written = tuple(variables[:reads]), tuple(variables[reads:])
    start = time.perf_counter()
    for _ in range(PUSHES):
        engine.push(nothing, read, written)
    engine.wait_for_all()
    return (time.perf_counter() - start) / PUSHES


def executor_seconds() -> float:
    with ThreadPoolExecutor(2) as executor:
        start = time.perf_counter()
        futures = [executor.submit(nothing) for _ in range(PUSHES)]
        futures[-1].result()
        return (time.perf_counter() - start) / PUSHES


def handoff_seconds(engine: Engine) -> float:
    """Seconds from a push to the first line of its task, the engine being idle before."""
    var, started = engine.new_variable(), [0.0]

    def task() -> None:
        started[0] = time.perf_counter()

    total = 0.0
    for _ in range(HANDOFFS):
        start = time.perf_counter()
        engine.push(task, (), (var,))
        engine.wait_for_var(var)
        total += started[0] - start
    return total / HANDOFFS


def queue_handoff_seconds() -> float:
    """The same through the plainest queue between two threads."""
    requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
    answers: queue.SimpleQueue[float] = queue.SimpleQueue()

    def serve() -> None:
        while requests.get():
            answers.put(time.perf_counter())

    thread = threading.Thread(target=serve)
    thread.start()
    total = 0.0
    for _ in range(HANDOFFS):
        start = time.perf_counter()
        requests.put(True)
        total += answers.get() - start
    requests.put(False)
    thread.join()
    return total / HANDOFFS


DATA = bytes(range(256)) * 400_000


def compress() -> None:
    """About a quarter of a second of work that releases the GIL."""
    zlib.compress(DATA, 9)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def on_bare_threads() -> None:
    threads = [threading.Thread(target=compress) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def on_engine(engine: Engine) -> None:
    for _ in range(2):
        engine.push(compress, writes=(engine.new_variable(),))
    engine.wait_for_all()


def main() -> None:
    naive, threaded = NaiveEngine(), ThreadedEngine()
    call = best(executor_seconds)
    print(f"{'push of a trivial task, to its end':38}{'µs':>8}{'per s':>10}{'executor/ours':>15}")
    print(f"{'concurrent.futures, 2 threads':38}{call * 1e6:8.2f}{1 / call:10,.0f}{1:15.2f}")
    for engine in (naive, threaded):
        for reads, writes in ((0, 0), (0, 1), (2, 1)):
            cost = best(lambda e=engine, r=reads, w=writes: push_seconds(e, r, w))  # type: ignore[misc]
            label = f"{engine.kind}, {reads} reads, {writes} writes"
            print(f"{label:38}{cost * 1e6:8.2f}{1 / cost:10,.0f}{call / cost:15.2f}")

    plain = best(queue_handoff_seconds)
    print(f"\n{'hand-off, from push to task':38}{'µs':>8}{'':10}{'queue/ours':>15}")
    print(f"{'queue.SimpleQueue, one thread':38}{plain * 1e6:8.2f}{'':10}{1:15.2f}")
    for engine in (naive, threaded):
        cost = best(lambda e=engine: handoff_seconds(e))  # type: ignore[misc]
        print(f"{engine.kind:38}{cost * 1e6:8.2f}{'':10}{plain / cost:15.2f}")

    serial = 2 * best(lambda: seconds(compress))
    print(f"\n{'two tasks without the GIL':38}{'ms':>8}{'':10}{'serial/ours':>15}")
    bare = best(lambda: seconds(on_bare_threads))  # what this machine has to give just now
    print(f"{'two bare threads':38}{bare * 1e3:8.0f}{'':10}{serial / bare:15.2f}")
    for engine in (naive, threaded):
        cost = best(lambda e=engine: seconds(lambda: on_engine(e)))  # type: ignore[misc]
        print(f"{engine.kind:38}{cost * 1e3:8.0f}{'':10}{serial / cost:15.2f}")


if __name__ == "__main__":
    main()

"""Worker processes of tests: `python dist_workers.py WHAT [ARGUMENTS]`, settings in the environ.

They print a line for each of their rounds, and a line of JSON at the end.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time

import numpy as np

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.completion import Completion
from hybridnet.kvstore.drivers.remote_store import RemoteStore
from hybridnet.kvstore.storage.dtypes import Array
from hybridnet.kvstore.storage.updates import PartOf, Sgd

#: Two keys: one small, one of several parts.
SIZES = {"small": 8, "large": 120_000}
SETTINGS = {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}


def gradient(rank: int, turn: int, size: int) -> Array:
    """What a rank pushes in a round: the same however often it is asked."""
    generator = np.random.default_rng((rank, turn, size))
    return generator.standard_normal(size, dtype=np.float32)


def first(size: int) -> Array:
    """The value at the start."""
    return np.linspace(-1, 1, size, dtype=np.float32)


def expected(workers: int, rounds: int) -> dict[str, str]:
    """What `sync` must end with, worked out in one process."""
    found, update = {}, Sgd(SETTINGS)
    for key, size in SIZES.items():
        part = PartOf(key, (size,), np.dtype(np.float32), 0, size)
        arrays = [first(size), np.zeros(size, np.float32)]
        for turn in range(1, rounds + 1):
            total = gradient(0, turn, size)
            for rank in range(1, workers):
                total += gradient(rank, turn, size)
            new = [np.empty_like(one) for one in arrays]
            update.update(part, turn, total, arrays, new)
            arrays = new
        found[key] = digest(arrays[0])
    return found


def digest(value: Array) -> str:
    return hashlib.sha256(value.tobytes()).hexdigest()


def sync(store: RemoteStore, rounds: int, meets: int = 0) -> dict[str, object]:
    """Trains for some rounds; a worker that was started again goes on where it was.

    Args:
        store: of this worker.
        rounds: how many.
        meets: after so many rounds, again and again, and before the first, workers wait for each
            other; 0: never.
    """
    store.configure("numpy_sgd", SETTINGS)
    outs = {key: first(size) for key, size in SIZES.items()}
    for key in SIZES:
        store.init(key, outs[key].copy())
    if meets:
        store.barrier()
    longest = 0.0
    for turn in range(store.resumes + 1, rounds + 1):
        begun = time.perf_counter()
        waits = []
        for key, size in SIZES.items():
            waits.append(Completion())
            store.push(key, gradient(store.rank, turn, size))
            store.pull(key, outs[key], done=waits[-1])
        for one in waits:
            one.wait()
        if meets and turn % meets == 0:  # who is started again behind it has not been there
            store.barrier()
        longest = max(longest, time.perf_counter() - begun)
        print(turn, flush=True)
    for key in SIZES:  # of a worker that was started again after its last push
        store.pull(key, outs[key])
    return {"longest": longest, **{key: digest(out) for key, out in outs.items()}}


def count(store: RemoteStore, rounds: int, *stops: int) -> dict[str, object]:
    """Pushes ones, asynchronously: the value is how many pushes counted.

    Worker 0 stops after some rounds, until it is told to go on (SIGCONT).
    """
    store.configure("sum", {}, consistency="async")
    value = np.zeros(20_000, np.float32)
    store.init("count", value.copy())
    for turn in range(store.resumes + 1, rounds + 1):
        done = Completion()
        store.push("count", np.ones_like(value), done=done)
        done.wait()
        print(turn, flush=True)
        if store.rank == 0 and turn in stops:
            os.kill(os.getpid(), signal.SIGSTOP)
    store.barrier()
    store.pull("count", value)
    return {"least": float(value.min()), "most": float(value.max())}


def main() -> int:
    what, *rest = sys.argv[1:]
    store = None
    try:
        store = RemoteStore(Cluster.from_environment())
        found = {"sync": sync, "count": count}[what](store, *map(int, rest))
    except Exception as error:
        print(json.dumps({"error": type(error).__name__, "sentence": str(error)}), flush=True)
        if store is not None:
            store.close(barrier=False, timeout=1.0)
        return 1
    store.close()
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Push and pull of two workers and one server: hybridnet's dist_sync against MXNet 1.9.1's.

Host arrays: what is timed is the parameter server. Each round pushes new values and pulls the sum;
the contestants run one after another in the same minute, in turns, and the median of all rounds of
both workers counts. Everything is on one machine and loopback: it says nothing of real networks.

    python benchmarks/push_pull.py --mxnet-python PYTHON [--turns 3] [--only NAME ...] [--rounds N]

hybridnet has two ways on one host: through mapped files (the default) and by messages only, as
between machines, where these are encrypted (`HYBRIDNET_DIST_ENCRYPT=1` does so here) unless a
closed network is to do without. MXNet encrypts nothing. `benchmarks/distribution.py` is this, too.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.run_token import TOKEN, RunToken

#: name -> (keys, floats in each, rounds)
WORK = {
    "100 MB": (1, 25_000_000, 7),
    "8 floats": (1, 8, 500),
    "100 x 10 KB": (100, 2_500, 40),
}
#: What each has to be of MXNet's time, but for those that encrypt.
MARKS = {"100 MB": 0.5, "8 floats": 0.7, "100 x 10 KB": 0.5}
WORKERS = 2
ENCRYPT = "HYBRIDNET_DIST_ENCRYPT"


# workers ------------------------------------------------------------------------------------------


def spent(server):
    """Processor seconds and context switches of this process so far; of the server's, too."""
    import glob
    import os

    seconds = switches = 0
    for pid in [os.getpid(), *([server] if server else [])]:
        for task in glob.glob(f"/proc/{pid}/task/*"):
            with open(f"{task}/schedstat", encoding="utf-8") as file:
                seconds += int(file.read().split()[0]) / 1e9
            with open(f"{task}/status", encoding="utf-8") as file:
                found = [line.split()[1] for line in file if "voluntary_ctxt" in line]
            switches += sum(map(int, found))
    return seconds, switches


def work_ours() -> None:
    import numpy as np

    from hybridnet.kvstore.drivers.completion import Completion
    from hybridnet.kvstore.drivers.remote_store import RemoteStore

    store = RemoteStore(Cluster.from_environment())
    store.configure("assign", {})
    server = int(os.environ["PUSH_PULL_SERVER"]) if store.rank == 0 else 0
    found: dict[str, dict[str, list[float]]] = {}
    for name, (keys, floats, rounds) in WORK.items():
        grads = [np.full(floats, store.rank + 1, np.float32) for _ in range(keys)]
        outs = [np.zeros(floats, np.float32) for _ in range(keys)]
        for key in range(keys):
            store.init(f"{name} {key}", outs[key])
        times = []
        for turn in range(rounds + 3):
            if turn == 3:
                before = spent(server)
            begun = time.perf_counter()
            waits = [Completion() for _ in range(keys)]
            for key in range(keys):
                store.push(f"{name} {key}", grads[key])
                store.pull(f"{name} {key}", outs[key], done=waits[key])
            for one in waits:
                one.wait()
            if turn >= 3:
                times.append(time.perf_counter() - begun)
        assert all((out == 3).all() for out in outs)
        used = [(b - a) / rounds for a, b in zip(before, spent(server), strict=True)]
        found[name] = {"times": times, "used": used}
        store.barrier()
    print(json.dumps(found), flush=True)
    store.close()


MXNET = f"""
import json, os, time
{inspect.getsource(spent)}
"""
MXNET += """
import mxnet as mx
kv = mx.kv.create("dist_sync")
WORK = json.loads(os.environ["PUSH_PULL_WORK"])
found, number = {}, 0
server = int(os.environ["PUSH_PULL_SERVER"]) if kv.rank == 0 else 0
for name, (keys, floats, rounds) in WORK.items():
    outs = [mx.nd.zeros(floats) for _ in range(keys)]
    names = list(range(number, number + keys))
    number += keys
    for key, out in zip(names, outs):
        kv.init(key, out)
    times = []
    for turn in range(rounds + 3):
        # A pull overwrites the array that was pushed, so each round pushes new ones.
        grads = [mx.nd.full((floats,), kv.rank + 1) for _ in range(keys)]
        mx.nd.waitall()
        if turn == 3:
            before = spent(server)
        begun = time.perf_counter()
        for key, grad, out in zip(names, grads, outs):
            kv.push(key, grad)
            kv.pull(key, out)
        mx.nd.waitall()
        if turn >= 3:
            times.append(time.perf_counter() - begun)
    assert all((out.asnumpy() == 3).all() for out in outs)
    used = [(b - a) / rounds for a, b in zip(before, spent(server))]
    found[name] = {"times": times, "used": used}
    kv._barrier()
print(json.dumps(found), flush=True)
"""


# runs ---------------------------------------------------------------------------------------------


def environment(role: str, rank: int, port: int) -> dict[str, str]:
    given = {
        "DMLC_ROLE": role,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": str(WORKERS),
        "DMLC_NUM_SERVER": "1",
        "DMLC_NODE_HOST": "127.0.0.1",
        f"DMLC_{role.upper()}_ID": str(rank),
        "PUSH_PULL_WORK": json.dumps(WORK),
    }
    return {**os.environ, **given}


@contextlib.contextmanager
def processes(
    port: int, command: list[str], serve: list[str], more: dict[str, str]
) -> Iterator[list[subprocess.Popen[str]]]:
    """Starts the processes of a run; yields the workers, and ends everything afterwards."""
    helpers = [("scheduler", 0), ("server", 0)]
    others, workers = [], []
    try:
        for role, rank in helpers:
            env = {**environment(role, rank, port), **more}
            others.append(subprocess.Popen(serve, env=env))
        for rank in range(WORKERS):
            env = {**environment("worker", rank, port), **more}
            env["PUSH_PULL_SERVER"] = str(others[-1].pid)
            if more.get("OWN_FOLDER"):
                env["HYBRIDNET_DIST_STATE_DIR"] = f"{more['OWN_FOLDER']}/{rank}"
            workers.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
        yield workers
    finally:
        for one in (*workers, *others):
            one.kill()
            one.wait()
        # What a supervisor would have removed.
        token = RunToken.from_environment(more)
        shutil.rmtree(Cluster(port=port, token=token).state_folder, ignore_errors=True)


def outputs(workers: Sequence[subprocess.Popen[str]], seconds: float) -> list[str]:
    """Returns what each of the processes prints, read from all of them at once.

    The times of thousands of rounds are more than a pipe holds, and workers wait for each other
    at their end: one that nobody reads would keep the others from ending.
    """
    with ThreadPoolExecutor(len(workers)) as pool:
        return list(pool.map(lambda one: one.communicate(timeout=seconds)[0], workers))


Found = dict[str, dict[str, list[float]]]


def run(command: list[str], serve: list[str], more: dict[str, str]) -> Found:
    """Returns of each work the times of all rounds of all workers, in seconds; and what a round
    takes of all processes: processor seconds and context switches."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    found: Found = {name: {"times": [], "used": [0.0, 0.0]} for name in WORK}
    with processes(port, command, serve, more) as workers:
        for out in outputs(workers, 300):
            for name, one_found in json.loads(out.splitlines()[-1]).items():
                found[name]["times"] += one_found["times"]
                pairs = zip(found[name]["used"], one_found["used"], strict=True)
                found[name]["used"] = [a + b for a, b in pairs]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet-python", help="an interpreter that has MXNet 1.9.1")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", nargs="*", metavar="NAME", help=f"any of {', '.join(WORK)}")
    parser.add_argument("--rounds", type=int, help="how many of each work; by default its own")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    for name in set(WORK) - set(given.only or WORK):
        del WORK[name]
    for name, (keys, floats, rounds) in list(WORK.items()):
        WORK[name] = (keys, floats, given.rounds or rounds)
    if given.worker:
        WORK.clear()
        WORK.update(json.loads(os.environ["PUSH_PULL_WORK"]))
        work_ours()
        return 0
    serve = [sys.executable, "-m", "hybridnet.kvstore.serve"]
    ours = [sys.executable, str(Path(__file__).resolve()), "--worker"]
    times: dict[str, dict[str, list[float]]] = {}
    used: dict[tuple[str, str], list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        token = {TOKEN: secrets.token_hex(32)}  # as hybridnet launch makes one for every run
        alone = {**token, "OWN_FOLDER": folder}
        contestants = {
            "hybridnet, mapped": (ours, serve, token),
            "hybridnet, messages": (ours, serve, {**alone, ENCRYPT: "0"}),
            "hybridnet, encrypted": (ours, serve, {**alone, ENCRYPT: "1"}),
        }
        if given.mxnet_python:
            python = [given.mxnet_python, "-c"]
            contestants["MXNet"] = ([*python, MXNET], [*python, "import mxnet"], {})
        for turn in range(given.turns):
            for name in (
                list(contestants)[turn % len(contestants) :]
                + list(contestants)[: turn % len(contestants)]
            ):
                for work, found in run(*contestants[name]).items():
                    times.setdefault(work, {}).setdefault(name, []).extend(found["times"])
                    used.setdefault((work, name), []).append(found["used"])
    passed = True
    for work, found in times.items():
        print(f"{work}:")
        mark = statistics.median(found["MXNet"]) if "MXNet" in found else None
        for name, each in found.items():
            median = statistics.median(each)
            ratio = "" if mark is None else f", {median / mark:.2f} of MXNet's"
            cpu, switches = map(min, zip(*used[work, name], strict=True))
            print(
                f"  {name}: {1e3 * median:.3g} ms (best {1e3 * min(each):.3g}){ratio}; of all "
                f"processes {1e3 * cpu:.3g} ms of processor, {switches:.0f} switches"
            )
            if mark is not None and name in ("hybridnet, mapped", "hybridnet, messages"):
                passed = passed and median <= MARKS[work] * mark
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())

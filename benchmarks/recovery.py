"""What a killed process costs: two workers and a server in rounds of 4 MB, kill -9 again and again.

Two workers push 4 MB each and pull the sum, which an optimizer with momentum applies on the server.
The server (or with ``--whom worker`` worker 1) is killed at random times and started again at once,
as a supervisor does. Reported are the longest round, the median round, and whether the weights are
bit for bit those of a run without kills.

    python benchmarks/recovery.py [--kills 20] [--rounds 4000] [--whom server]

MXNet 1.9.1 has nothing to compare with: its server comes back empty.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.completion import Completion
from hybridnet.kvstore.drivers.remote_store import RemoteStore
from hybridnet.kvstore.drivers.scheduler_driver import Reporter
from hybridnet.kvstore.storage.updates import PartOf, Sgd

FLOATS, WORKERS = 1_000_000, 2
SETTINGS = {"learning_rate": 0.01, "momentum": 0.9}


def gradient(rank: int, turn: int) -> np.ndarray:
    return np.full(FLOATS, (rank + 1) / (turn % 7 + 3), np.float32)


def digest(value: np.ndarray) -> str:
    return hashlib.sha256(value.tobytes()).hexdigest()


def expected(rounds: int) -> str:
    """The weights of a run without kills, worked out here."""
    part, update = PartOf("w", (FLOATS,), np.dtype(np.float32), 0, FLOATS), Sgd(SETTINGS)
    old = [np.zeros(FLOATS, np.float32), np.zeros(FLOATS, np.float32)]
    new = [one.copy() for one in old]
    for turn in range(1, rounds + 1):
        update.update(part, turn, gradient(0, turn) + gradient(1, turn), old, new)
        old, new = new, old
    return digest(old[0])


def work(rounds: int) -> None:
    store = RemoteStore(Cluster.from_environment())
    store.configure("numpy_sgd", SETTINGS)
    value, times = np.zeros(FLOATS, np.float32), []
    store.init("w", value.copy())
    for turn in range(store.resumes + 1, rounds + 1):
        given, done = gradient(store.rank, turn), Completion()
        begun = time.perf_counter()
        store.push("w", given)
        store.pull("w", value, done=done)
        done.wait()
        times.append(time.perf_counter() - begun)
        if turn % 10 == 0:
            print(turn, flush=True)
    store.pull("w", value)
    store.close()
    print(json.dumps({"times": times, "digest": digest(value)}), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--whom", choices=["server", "worker"], default="server")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.rounds)
        return 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = Cluster(port=port, workers=WORKERS, servers=1)
    shutil.rmtree(run.state_folder, ignore_errors=True)
    attempts: dict[tuple[str, int], int] = {}
    results: dict[int, dict] = {}

    def start(role: str, rank: int) -> subprocess.Popen[str]:
        attempt = attempts[role, rank] = attempts.get((role, rank), -1) + 1
        environ = {**os.environ, **run.environment(), "DMLC_ROLE": role}
        environ |= {"DMLC_NUM_ATTEMPT": str(attempt), f"DMLC_{role.upper()}_ID": str(rank)}
        command = [sys.executable, "-m", "hybridnet.kvstore.serve"]
        if role == "worker":
            command = [sys.executable, str(Path(__file__).resolve()), "--worker"]
            command += ["--rounds", str(given.rounds)]
        pipe = subprocess.PIPE if role == "worker" else None
        process = subprocess.Popen(command, env=environ, stdout=pipe, text=True)
        if role == "worker":
            threading.Thread(target=read, args=(rank, process)).start()
        return process

    progress = dict.fromkeys(range(WORKERS), 0)

    def read(rank: int, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            if line.startswith("{"):
                results[rank] = json.loads(line)
            else:
                progress[rank] = int(line)

    live = {("scheduler", 0): start("scheduler", 0), ("server", 0): start("server", 0)}
    live |= {("worker", rank): start("worker", rank) for rank in range(WORKERS)}
    reporter = Reporter(run)
    victim = (given.whom, 0 if given.whom == "server" else 1)
    generator = random.Random(1)
    due = sorted(generator.sample(range(20, given.rounds - 20), given.kills))
    began = time.perf_counter()
    while len(results) < WORKERS:
        if due and progress[0] >= due[0]:
            due.pop(0)
            live[victim].send_signal(signal.SIGKILL)
            live[victim].wait()
            reporter.gone(victim[0], victim[1], attempts[victim], "killed by signal 9")
            live[victim] = start(*victim)
        time.sleep(0.002)
    wall = time.perf_counter() - began
    for one in live.values():
        one.kill()
        one.wait()
    reporter.close()
    shutil.rmtree(run.state_folder, ignore_errors=True)
    exact = {one["digest"] for one in results.values()} == {expected(given.rounds)}
    times = [time for one in results.values() for time in one["times"]]
    print(
        f"{given.kills} kills of a {given.whom} in {given.rounds} rounds of 4 MB, {wall:.1f} s: "
        f"longest round {max(times):.2f} s, median {1e3 * statistics.median(times):.1f} ms, "
        f"weights {'bit for bit' if exact else 'NOT'} those without kills"
    )
    return 0 if exact and max(times) <= 3 else 1


if __name__ == "__main__":
    sys.exit(main())

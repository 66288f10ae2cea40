"""A distributed run of real processes for tests, and what a supervisor does for one.

The scheduler and the servers are processes; workers are stores in this process (`Run.worker`), or
processes that run a function of `dist_workers` (`Run.start_worker`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from places import ROOT

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.remote_store import RemoteStore
from hybridnet.kvstore.drivers.scheduler_driver import Reporter
from hybridnet.kvstore.run_token import RunToken

__all__ = ["Run", "free_port", "started"]

WORKER = Path(__file__).with_name("dist_workers.py")


def free_port() -> int:
    """Returns a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(eq=False)
class Started:
    """A process of a run.

    Attributes:
        cluster: its settings.
        process: it.
    """

    cluster: Cluster
    process: subprocess.Popen[str]


@dataclass(eq=False)
class Run:
    """The processes of a run.

    Attributes:
        cluster: what they have in common.
        environ: variables that they all get.
        live: by (role, rank), the processes that are to run.
        stores: the workers in this process.
    """

    cluster: Cluster
    environ: dict[str, str] = field(default_factory=dict)
    live: dict[tuple[str, int], Started] = field(default_factory=dict)
    stores: list[RemoteStore] = field(default_factory=list)
    reporter: Reporter | None = None

    def start(self, role: str, rank: int, generation: int = 0, arguments: Any = ()) -> Started:
        """Starts a process."""
        given: Any = role
        cluster = replace(self.cluster, role=given, rank=rank, generation=generation)
        command = ["-m", "hybridnet.kvstore.serve"]
        if role == "worker":
            command = [str(WORKER), *map(str, arguments)]
        environ = {**os.environ, **cluster.environment(), **self.environ}
        if cluster.token is not None:
            environ["HYBRIDNET_DIST_TOKEN"] = cluster.token.text
        process = subprocess.Popen(
            [sys.executable, *command], env=environ, cwd=ROOT, text=True,
            stdout=subprocess.PIPE if role == "worker" else None,
        )  # fmt: skip
        one = self.live[role, rank] = Started(cluster, process)
        return one

    def kill(self, role: str, rank: int, *, again: bool = True, arguments: Any = ()) -> Started:
        """Kills a process as a supervisor sees it, and starts it again.

        Returns:
            The process that was killed.
        """
        old = self.live.pop((role, rank))
        old.process.kill()
        old.process.wait()
        if role != "scheduler":
            self.report(old, "killed by signal 9", again)
        if again:
            self.start(role, rank, old.cluster.generation + 1, arguments)
        return old

    def report(self, one: Started, reason: str, returns: bool) -> None:
        """Tells the scheduler that a process has ended."""
        if self.reporter is None:
            self.reporter = Reporter(self.cluster)
        cluster = one.cluster
        assert cluster.rank is not None
        self.reporter.gone(cluster.role, cluster.rank, cluster.generation, reason, returns=returns)

    def workers(self, **settings: Any) -> list[RemoteStore]:
        """Returns all workers, as stores in this process."""
        found: dict[int, RemoteStore | BaseException] = {}

        def make(rank: int) -> None:
            try:
                found[rank] = self.worker(rank, **settings)
            except BaseException as error:
                found[rank] = error

        threads = [
            threading.Thread(target=make, args=(rank,)) for rank in range(self.cluster.workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in found.values():
            if isinstance(one, BaseException):
                raise one
        return [one for _, one in sorted(found.items()) if isinstance(one, RemoteStore)]

    def worker(self, rank: int, **settings: Any) -> RemoteStore:
        """Returns one worker, when all are there."""
        store = RemoteStore(replace(self.cluster, role="worker", rank=rank, **settings))
        self.stores.append(store)
        return store

    def end(self) -> None:
        """Ends what is left of the run."""
        for store in self.stores:
            store.close(barrier=False)
        if self.reporter is not None:
            self.reporter.close()
        for one in self.live.values():
            one.process.send_signal(signal.SIGCONT)
            one.process.kill()
        for one in self.live.values():
            one.process.wait()
        shutil.rmtree(self.cluster.state_folder, ignore_errors=True)


@contextlib.contextmanager
def started(
    workers: int = 2, servers: int = 1, *, token: bool = False, processes: bool = True,
    **settings: Any,
) -> Iterator[Run]:  # fmt: skip
    """Starts the scheduler and the servers of a run, and ends everything afterwards."""
    cluster = Cluster(
        role="worker", port=free_port(), workers=workers, servers=servers,
        token=RunToken.new() if token else None, connect=30.0, **settings,
    )  # fmt: skip
    run = Run(cluster)
    try:
        if processes:
            run.start("scheduler", 0)
            for rank in range(servers):
                run.start("server", rank)
        yield run
    finally:
        run.end()

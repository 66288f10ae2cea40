"""A server or the scheduler: `python -P -m hybridnet.kvstore.serve [--import MODULE ...]`.

Which of them, and everything else, is in the environment (`hybridnet.kvstore.cluster`): DMLC_ROLE,
DMLC_PS_ROOT_URI and so on. The process ends when the scheduler says Stop, with 0; by SIGTERM, with
0; when it must not go on, with 3, and when it cannot begin, with 4, and a sentence on stderr.

`--import MODULE` (and HYBRIDNET_DIST_IMPORT, names with commas between them) imports modules that
register optimizers with `hybridnet.kvstore.storage.updates.register_updates`. They are imported
when the first optimizer is asked for that is not known, so that a server without one loads no JAX.
They may lie in the folder that the process is started in, which for these comes last on the search
path: nothing there stands before a module of Python's or an installed one. Started with `-P`, as
`hybridnet launch` does, the process imports nothing else from there.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final

from hybridnet.kvstore.cluster import CANNOT_SERVE, Cluster
from hybridnet.kvstore.drivers.driver import Driver
from hybridnet.kvstore.drivers.plans import key_of, processes_of
from hybridnet.kvstore.drivers.scheduler_driver import SchedulerDriver
from hybridnet.kvstore.drivers.server_driver import server_driver
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.protocol.words import SCHEDULER
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport

#: Exit status of a process that must not go on.
FAILED: Final = 3
_OWN: Final = "hybridnet"  # what is imported from where this is installed
_LINGER: Final = 1.0  # seconds that the last messages may take to leave


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the process that the environment describes; returns its exit status.

    Args:
        arguments: by default the command line's.
    """
    parser = argparse.ArgumentParser(
        prog="python -m hybridnet.kvstore.serve",
        description="A server or the scheduler of a distributed run, as DMLC_ROLE says.",
    )
    parser.add_argument(
        "--import", dest="imports", metavar="MODULE", action="append", default=[],
        help="a module that registers optimizers; may be given several times",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    try:
        return serve(Cluster.from_environment(), given.imports)
    except (KVStoreError, ImportError) as error:
        print(f"hybridnet: {error}", file=sys.stderr, flush=True)
        return CANNOT_SERVE


def serve(
    cluster: Cluster, imports: Sequence[str] = (), ready: Callable[[str], None] | None = None
) -> int:
    """Serves until it is told to stop; returns the exit status.

    Args:
        cluster: what the process is, and where the others are.
        imports: modules that register optimizers, beside those of `cluster`.
        ready: is called with the address ("tcp://host:port") once the process listens.

    Raises:
        KVStoreError: it cannot listen, or its files are damaged.
        ImportError: pyzmq is missing.
    """
    imports = (*cluster.imports, *imports)
    _find_users_modules(imports)
    driver, transport = _driver(cluster, imports)
    stopped = _stop_by_signal(transport)
    if ready is not None:
        ready(transport.address)
    try:
        driver.start()
        while driver.finished is None and not stopped:
            driver.turn()
    finally:
        driver.close(_LINGER)
    finish = driver.finished
    if finish is None or not finish.code:
        return 0
    rank = "" if cluster.rank is None else f" {cluster.rank}"
    print(f"hybridnet: {cluster.role}{rank}: {finish.sentence}", file=sys.stderr, flush=True)
    return FAILED


def _find_users_modules(imports: Sequence[str]) -> None:
    """Lets modules of the users' be found in the present folder, after all others."""
    here = os.getcwd()
    if any(name.partition(".")[0] != _OWN for name in imports) and here not in sys.path:
        sys.path.append(here)


def _driver(cluster: Cluster, imports: Sequence[str]) -> tuple[Driver, ZmqTransport]:
    me, admits = key_of(cluster), processes_of(cluster)
    if cluster.role == "scheduler":
        transport = ZmqTransport(
            host=cluster.host, port=cluster.port, token=cluster.token, encrypt=True,
            me=me, admits=admits,
        )  # fmt: skip
        return SchedulerDriver(cluster, transport), transport
    if cluster.role != "server":
        raise KVStoreError(f"DMLC_ROLE must be server or scheduler here, got {cluster.role!r}")
    transport = ZmqTransport(
        host=cluster.host, token=cluster.token, encrypt=cluster.encrypt, me=me, admits=admits
    )
    transport.connect(SCHEDULER, f"tcp://{cluster.root}:{cluster.port}")
    return server_driver(cluster, transport, imports), transport


def _stop_by_signal(transport: ZmqTransport) -> list[int]:
    """Makes SIGTERM end the process in order; returns a list that it is put into."""
    stopped: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        transport.wake()

    signal.signal(signal.SIGTERM, stop)
    # Ctrl-C is for the workers, whose users decide; servers end when these do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return stopped


if __name__ == "__main__":
    sys.exit(main())

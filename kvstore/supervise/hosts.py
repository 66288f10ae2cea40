"""Host files, and which process of a job goes to which host."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.job import ProcessPlan


@final
@dataclass(frozen=True, slots=True)
class Host:
    """A machine.

    Attributes:
        name: as ssh takes it: ``host`` or ``user@host``.
        port: of its ssh server.
    """

    name: str
    port: int = 22


def read_hosts(path: str | os.PathLike[str]) -> list[Host]:
    """Reads a host file: a host a line, ``host``, ``host:port`` or ``user@host``.

    What follows the host (as MPI's ``slots=4``) is skipped, and so are empty lines and those that
    begin with ``#``.

    Raises:
        KVStoreError: it cannot be read, or names no host.
    """
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.split("#")[0].split() for line in file]
    except OSError as error:
        raise KVStoreError(f"--hostfile {os.fspath(path)}: {error.strerror}") from error
    hosts = [_host(words[0], path) for words in lines if words]
    if not hosts:
        raise KVStoreError(f"--hostfile {os.fspath(path)} must name a host a line, got none")
    return hosts


def _host(word: str, path: str | os.PathLike[str]) -> Host:
    name, colon, port = word.partition(":")
    # ssh would take a name that begins with a dash for one of its options.
    if not name or name.startswith("-") or (colon and not port.isdecimal()):
        raise KVStoreError(
            f"--hostfile {os.fspath(path)}: a line must be host, host:port or user@host, "
            f"got {word!r}"
        )
    return Host(name, int(port) if colon else 22)


def place(plans: Sequence[ProcessPlan], hosts: Sequence[Host]) -> list[ProcessPlan]:
    """Returns plans with hosts: servers and workers in turn over all, each role from the first on.

    So servers stand beside workers, which shares the network's cards best. The scheduler stays.
    """
    return [
        plan if plan.role == "scheduler" else replace(plan, host=hosts[plan.rank % len(hosts)].name)
        for plan in plans
    ]


def own_address() -> str:
    """Returns an address of this machine that others reach it by.

    Raises:
        KVStoreError: it has none but loopback.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation; nothing is sent
            address = str(probe.getsockname()[0])
        except OSError:
            address = "127.0.0.1"
    if address.startswith("127."):
        raise KVStoreError(
            "this machine has no address that others reach; set DMLC_PS_ROOT_URI to where the "
            "scheduler, which runs here, is found"
        )
    return address

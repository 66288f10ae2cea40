"""From the settings of a process to what its machine is told."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import Final

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.protocol.words import Patience, Peer, ProcessIdentity, Role, RunPlan

#: Who tells the scheduler what becomes of processes.
SUPERVISOR: Final = Peer("supervisor", 0)
#: Separates where a process listens from which memory it has in its address.
_BAR: Final = "|"


def plan_of(cluster: Cluster) -> RunPlan:
    """Returns what all processes of the run have in common."""
    usual = Patience()
    scale = cluster.deadline / usual.deadline
    patience = Patience(
        promote=usual.promote * scale,
        dead=usual.dead * scale,
        deadline=cluster.deadline,
        restart=usual.restart * scale,
        ask=min(usual.ask, scale),
    )
    return RunPlan(
        run=int.from_bytes(cluster.run[:8], "little"),
        workers=cluster.workers,
        shards=cluster.servers,
        standby=cluster.standby,
        on_loss="shrink" if cluster.on_loss == "shrink" else "fail",
        window=cluster.window if cluster.p3 else 0,
        big=cluster.big_array,
        part_bytes=cluster.part_bytes,
        part_items=cluster.slice_elements if cluster.p3 else 0,
        patience=patience,
    )


def key_of(cluster: Cluster) -> Peer:
    """Returns by whose key a process is known; with rank -1 where the scheduler chooses it."""
    rank = cluster.rank if cluster.role != "scheduler" else 0
    return Peer(cluster.role, -1 if rank is None else rank)


def processes_of(cluster: Cluster) -> list[Peer]:
    """Returns who may connect to a process of the run."""
    counts: list[tuple[Role, int]] = [("worker", cluster.workers), ("server", cluster.serving)]
    found = [Peer(role, rank) for role, count in counts for rank in range(-1, count)]
    return [SUPERVISOR, *found]


def identity_of(cluster: Cluster, listens: str = "") -> ProcessIdentity:
    """Returns who this process is.

    Args:
        cluster: its settings.
        listens: the address that its transport listens on, if it does.
    """
    return ProcessIdentity(
        name=f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}",
        peer=key_of(cluster),
        generation=cluster.generation + 1,
        address=f"{listens}{_BAR}{memory_id(cluster.state_folder)}",
        host=socket.gethostname(),
    )


def memory_id(folder: Path) -> str:
    """Returns what two processes have in common that see the same files in memory.

    Containers of one machine may have the same kernel and different file systems; processes may
    have different folders for temporary files, where the values are if there is no /dev/shm.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        boot = socket.gethostname()
    there = folder
    while not there.exists():
        there = there.parent
    return f"{boot}:{there.stat().st_dev}:{os.geteuid()}:{folder.absolute()}"


def split_address(address: str) -> tuple[str, str]:
    """Returns where a process listens ("" if it does not), and which memory it has."""
    listens, _, memory = address.partition(_BAR)
    return listens, memory

"""A cluster of SLURM's on this machine, for tests: munged, slurmctld and slurmd of their own."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gangs import free_port

__all__ = ["slurm_cluster", "why_no_slurm"]

_CONF = """
ClusterName=hybridnet
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_no_slurm() -> str:
    """Returns what is missing here; empty where nothing is."""
    tools = ("munged", "slurmctld", "slurmd", "srun", "salloc", "squeue", "sinfo")
    missing = [tool for tool in tools if shutil.which(tool, path=_path()) is None]
    if missing:
        return f"needs SLURM: apt-get install slurm-wlm munge ({', '.join(missing)} missing)"
    return "" if os.geteuid() == 0 else "needs root, as slurmd does"


@contextlib.contextmanager
def slurm_cluster(folder: Path, cpus: int) -> Iterator[dict[str, str]]:
    """A block with a cluster of one node.

    Args:
        folder: for its files; only root may write to it and those above.
        cpus: how many it says that it has.

    Yields:
        The variables by which SLURM's commands find it.
    """
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    conf = folder / "slurm.conf"
    ports = {"controller": free_port(), "node": free_port()}
    host = socket.gethostname().partition(".")[0]
    conf.write_text(_CONF.format(host=host, folder=folder, cpus=cpus, **ports))
    environ = {"SLURM_CONF": str(conf), "PATH": _path()}
    files = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
    daemons = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files],
        ["slurmctld", "-D", "-f", str(conf)],
        ["slurmd", "-D", "-f", str(conf)],
    ]
    running = []
    try:
        with open(folder / "log", "w", encoding="utf-8") as log:
            for command in daemons:
                running.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        env={**os.environ, **environ},
                    )
                )
                if command[0] == "munged":
                    _until((folder / "munge.socket").exists)
        told = {"env": {**os.environ, **environ}, "capture_output": True, "text": True}
        _until(lambda: "idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], **told).stdout)
        yield environ
    finally:
        for one in reversed(running):
            one.terminate()
            one.wait(30)


def _until(true) -> None:
    """Looks until something is there; a test's time ends it."""
    while not true():
        pass


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

"""The processes of a job started by mpirun: one call for the servers, one for the workers.

MPI only starts them; nothing is sent through it. It ends all that one call has started when one of
these dies, so nothing is started again one by one.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from typing import Final, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.local import start_process
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor

__all__ = ["RANK_FROM_MPI", "MpiSupervisor", "grouped", "mpi_command", "ranked"]

#: Where Open MPI, MPICH and their like tell a process its number.
RANK_FROM_MPI: Final = "${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK}}}"


def ranked(command: Sequence[str], source: str) -> list[str]:
    """Returns a command that first takes its rank from a variable of what has started it."""
    return ["sh", "-c", f'HYBRIDNET_DIST_RANK="{source}" exec "$0" "$@"', *command]


def grouped(job: Job) -> list[ProcessPlan]:
    """Returns the plans of a launcher that starts all processes of a role by one command."""
    cluster = job.cluster
    return [
        job.plan("scheduler", 0),
        job.plan("server", 0, cluster.serving),
        job.plan("worker", 0, cluster.workers),
    ]


def mpi_command(plan: ProcessPlan, hostfile: str | None, open_mpi: bool) -> list[str]:
    """Returns the command that starts the processes of a role.

    Variables go by their names; their values are in mpirun's own environment.

    Args:
        plan: of one role.
        hostfile: as mpirun reads it.
        open_mpi: whether it is Open MPI's mpirun, and not one of MPICH's kind.
    """
    command = ["mpirun", "-n", str(plan.count)]
    if hostfile is not None:
        command += ["--hostfile" if open_mpi else "-f", hostfile]
    names = sorted(plan.environment)
    if open_mpi:
        command += [word for name in names for word in ("-x", name)]
    else:
        command += ["-envlist", ",".join(names)]
    return [*command, *ranked(plan.command, RANK_FROM_MPI)]


@final
class MpiSupervisor(Supervisor):
    """Starts servers and workers by mpirun, and the scheduler here.

    Args:
        hostfile: as mpirun reads it; None for what it does by itself.
    """

    def __init__(self, hostfile: str | None = None) -> None:
        self._hostfile = hostfile
        self._open_mpi = True

    def plans(self, job: Job) -> list[ProcessPlan]:
        """See `Supervisor.plans`."""
        require("mpi", ["mpirun"])
        told = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False)
        self._open_mpi = "open mpi" in told.stdout.lower() or "open-mpi" in told.stdout.lower()
        return grouped(job)

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        command: Sequence[str] = plan.command
        if plan.role != "scheduler":
            command = mpi_command(plan, self._hostfile, self._open_mpi)
        return start_process(plan.title, command, plan.environment)


def require(launcher: str, tools: Iterable[str]) -> None:
    """Refuses a launcher whose commands are not installed.

    Raises:
        KVStoreError: one is not.
    """
    for tool in tools:
        if shutil.which(tool) is None:
            raise KVStoreError(
                f"--launcher {launcher} requires the command {tool}, which is not installed here"
            )

"""The processes of a job started by mpirun: one call for the servers, one for the workers.

MPI only starts them; nothing is sent through it. It ends all that one call has started when one of
these dies, so nothing is started again one by one.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.local import start_process
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor
from hybridnet.kvstore.supervise.tether import untranslated

#: mpirun, when it is asked to end, may do so before what it has started: the kernel ends that.
_TIED: Final = "setpriv --pdeathsig KILL"
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
        replace(job.plan("server", 0, cluster.serving), returns=False),
        replace(job.plan("worker", 0, cluster.workers), returns=False),
    ]


def mpi_command(plan: ProcessPlan, hostfile: str | None, open_mpi: bool) -> list[str]:
    """Returns the command that starts the processes of a role.

    Variables go by their names; their values are in mpirun's own environment.

    Args:
        plan: of one role.
        hostfile: as mpirun reads it.
        open_mpi: whether it is Open MPI's mpirun, and not one of MPICH's kind.
    """
    command = _mpirun(plan.count, hostfile, open_mpi)
    names = sorted(plan.environment)
    if open_mpi:
        command += [word for name in names for word in ("-x", name)]
    else:
        command += ["-envlist", ",".join(names)]
    tied = f'{_TIED} true 2>/dev/null && exec {_TIED} "$0" "$@"; exec "$0" "$@"'
    return [*command, *ranked(["sh", "-c", tied, *plan.command], RANK_FROM_MPI)]


def _mpirun(count: int, hostfile: str | None, open_mpi: bool) -> list[str]:
    hosts = [] if hostfile is None else ["--hostfile" if open_mpi else "-f", hostfile]
    return ["mpirun", "-n", str(count), *hosts]


@final
class MpiSupervisor(Supervisor):
    """Starts servers and workers by mpirun, and the scheduler here.

    Args:
        hostfile: as mpirun reads it; None for what it does by itself.
    """

    def __init__(self, hostfile: str | None = None) -> None:
        self._hostfile = hostfile
        self._open_mpi = True

    def plans(self, job: Job, tell: Callable[[str], None]) -> list[ProcessPlan]:
        """See `Supervisor.plans`; starts so many processes that do nothing.

        What mpirun says where it cannot is a page long, and would come from both of its calls.
        """
        require("mpi", ["mpirun"])
        told = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False)
        self._open_mpi = "open mpi" in told.stdout.lower() or "open-mpi" in told.stdout.lower()
        plans = grouped(job)
        count, limit = max(plan.count for plan in plans), job.cluster.connect
        try:
            tried = subprocess.run(
                [*_mpirun(count, self._hostfile, self._open_mpi), "true"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise KVStoreError(
                f"--launcher mpi: mpirun has not started {count} processes within {limit:g} s "
                "(HYBRIDNET_DIST_CONNECT)"
            ) from None
        if tried.returncode:
            raise KVStoreError(f"--launcher mpi: {_explained(tried.stdout, count, told.stdout)}")
        return plans

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        command: Sequence[str] = plan.command
        if plan.role != "scheduler":
            command = mpi_command(plan, self._hostfile, self._open_mpi)
        return start_process(
            plan.title,
            command,
            plan.environment,
            translate=untranslated,
            farewell=signal.SIGKILL if plan.role == "scheduler" else signal.SIGTERM,
        )


def _explained(said: str, count: int, version: str) -> str:
    """Returns in one line why mpirun cannot start processes, and what to do.

    Args:
        said: what it printed.
        count: how many were asked for.
        version: what ``mpirun --version`` prints.
    """
    text = " ".join(said.split())
    if "as root" in text:
        return (
            "mpirun refuses to run as root; launch as another user, or where root is meant, as in "
            "a container, set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
        )
    if "not enough slots" in text:
        number = re.search(r"\d+", version)
        more = "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"
        if number is not None and int(number[0]) < 5:
            more = "OMPI_MCA_rmaps_base_oversubscribe=1"
        return (
            f"mpirun has fewer than the {count} slots that are asked for; start fewer processes, "
            f"give machines more in the host file (HOST slots={count}), or set {more} to run more "
            "of them than there are processor cores"
        )
    words = text.strip("- ")
    return f"mpirun cannot start {count} processes: {words[:300]}"


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

"""The processes of a job started by srun, inside an allocation (salloc, sbatch) or for one.

The scheduler runs here. `docs/distribution.md` has a batch script that needs the environment only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.local import start_process
from hybridnet.kvstore.supervise.mpi import grouped, ranked, require
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor

__all__ = ["RANK_FROM_SLURM", "SlurmSupervisor", "slurm_command"]

#: Where SLURM tells a task its number in its step.
RANK_FROM_SLURM: Final = "${SLURM_PROCID}"


def slurm_command(plan: ProcessPlan, hosts: Sequence[str] = ()) -> list[str]:
    """Returns the command that starts the processes of a role as one step.

    Several steps share an allocation (``--overlap``); the environment is srun's own.
    """
    command = ["srun", f"--ntasks={plan.count}", "--export=ALL", "--overlap", "--unbuffered"]
    command += [f"--job-name=hybridnet-{plan.role}"]
    if hosts:
        command += [f"--nodelist={','.join(hosts)}"]
    return [*command, *ranked(plan.command, RANK_FROM_SLURM)]


@final
class SlurmSupervisor(Supervisor):
    """Starts servers and workers by srun, and the scheduler here.

    Args:
        hosts: which nodes to take; by default SLURM chooses.
    """

    def __init__(self, hosts: Sequence[str] = ()) -> None:
        self._hosts = tuple(hosts)

    def plans(self, job: Job) -> list[ProcessPlan]:
        """See `Supervisor.plans`."""
        require("slurm", ["srun"])
        return grouped(job)

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        command: Sequence[str] = plan.command
        if plan.role != "scheduler":
            command = slurm_command(plan, self._hosts)
        return start_process(plan.title, command, plan.environment)

"""Starts and watches the processes of a distributed run.

    job = Job(("python", "train.py"), cluster)
    status = run_job(job, LocalSupervisor())

A `Supervisor` knows how processes are started: on this machine, by ssh, mpirun, srun, qsub, or by
Ray (in `ray`, which needs an extra). `Policy` decides what is done when one ends.
"""

from .hosts import Host, own_address, read_hosts
from .job import Job, ProcessPlan, serving_command
from .local import LocalSupervisor
from .mpi import MpiSupervisor
from .policy import Policy
from .ray import RaySupervisor
from .runner import run_job
from .sge import SgeSupervisor
from .slurm import SlurmSupervisor
from .ssh import SshSupervisor
from .supervisor import Handle, Supervisor

__all__ = [
    "Handle",
    "Host",
    "Job",
    "LocalSupervisor",
    "MpiSupervisor",
    "Policy",
    "ProcessPlan",
    "RaySupervisor",
    "SgeSupervisor",
    "SlurmSupervisor",
    "SshSupervisor",
    "Supervisor",
    "own_address",
    "read_hosts",
    "run_job",
    "serving_command",
]

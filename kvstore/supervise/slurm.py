"""The processes of a job started by srun, in an allocation (salloc, sbatch) or in one of their own.

The scheduler runs here. Outside an allocation one job is asked for that has room for all: roles
that asked one by one would wait for each other where there is room for some of them only.
`docs/distribution.md` has a batch script that needs the environment only.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import IO, Final, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.deadlines import GRACE
from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.local import ProcessHandle, start_process
from hybridnet.kvstore.supervise.mpi import grouped, ranked, require
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor
from hybridnet.kvstore.supervise.tether import untranslated

#: Where SLURM tells a task its number in its step.
RANK_FROM_SLURM: Final = "${SLURM_PROCID}"
#: Says that the job is there, and holds it while its standard input lasts.
_HOLD: Final = ("sh", "-c", 'echo "$SLURM_JOB_ID"; exec cat')
_PATIENCE: Final = 2.0  # seconds until a line says what is waited for


def slurm_command(plan: ProcessPlan, hosts: Sequence[str] = (), limit: float = 120.0) -> list[str]:
    """Returns the command that starts the processes of a role as one step.

    Several steps share an allocation (``--overlap``); the environment is srun's own.

    Args:
        plan: of the role.
        hosts: which nodes to take; by default SLURM chooses.
        limit: seconds until it gives up.
    """
    command = ["srun", f"--ntasks={plan.count}", "--export=ALL", "--overlap", "--unbuffered"]
    command += [f"--job-name=hybridnet-{plan.role}", f"--immediate={max(1, round(limit))}"]
    return [*command, *_nodes(hosts), *ranked(plan.command, RANK_FROM_SLURM)]


def _nodes(hosts: Sequence[str]) -> list[str]:
    return [f"--nodelist={','.join(hosts)}"] if hosts else []


@final
class SlurmSupervisor(Supervisor):
    """Starts servers and workers by srun, and the scheduler here.

    Args:
        hosts: which nodes to take; by default SLURM chooses.
    """

    def __init__(self, hosts: Sequence[str] = ()) -> None:
        self._hosts = tuple(hosts)
        self._limit = 0.0
        self._allocation: _Allocation | None = None

    def plans(self, job: Job, tell: Callable[[str], None]) -> list[ProcessPlan]:
        """See `Supervisor.plans`; outside an allocation, waits for one."""
        require("slurm", ["srun"])
        cluster = job.cluster
        self._limit = cluster.connect
        if "SLURM_JOB_ID" not in os.environ:
            require("slurm", ["salloc", "squeue"])
            self._allocation = _Allocation(cluster.workers + cluster.serving, self._hosts)
            what = f"{self._allocation.tasks} tasks ({', '.join(cluster.counted())})"
            self._allocation.wait(what, cluster.connect, tell)
        return grouped(job)

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        if plan.role == "scheduler":
            return start_process(plan.title, plan.command, plan.environment)
        job = {} if self._allocation is None else {"SLURM_JOB_ID": self._allocation.job}
        return start_process(
            plan.title,
            slurm_command(plan, self._hosts, self._limit),
            {**plan.environment, **job},
            translate=untranslated,
            farewell=signal.SIGTERM,
        )

    def close(self) -> None:
        """See `Supervisor.close`; gives the allocation back."""
        if self._allocation is not None:
            self._allocation.close()
            self._allocation = None


@final
class _Allocation:
    """A job of SLURM's that lasts as long as this, or as this process.

    Args:
        tasks: for how many it has room.
        hosts: the nodes that it is to have.

    Attributes:
        job: its number, once it is there.
    """

    def __init__(self, tasks: int, hosts: Sequence[str]) -> None:
        self.tasks = tasks
        self.job = ""
        # A file: salloc speaks at its end, too, and does not give the job back where nobody reads.
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._granted, end = os.pipe()
        command = ["salloc", f"--ntasks={tasks}", "--job-name=hybridnet", *_nodes(hosts), *_HOLD]
        self._holder: ProcessHandle = start_process(
            "SLURM's job",
            command,
            {},
            text="",
            output=(end, self._said.fileno()),
            # On this salloc gives its job back, or takes back that it asked for one. (At SIGTERM it
            # asks again and again for the status of its command, once that has ended.)
            farewell=signal.SIGHUP,
        )
        os.close(end)

    def wait(self, what: str, limit: float, tell: Callable[[str], None]) -> None:
        """Waits until the job is there.

        Raises:
            KVStoreError: SLURM refuses it, or does not give it in time.
        """
        end = time.monotonic() + limit
        if not self._is_there(min(limit, _PATIENCE)):
            tell(f"waits up to {limit:g} s for SLURM to give {what}{self._state()}")
            if not self._is_there(end - time.monotonic()):
                raise KVStoreError(
                    f"--launcher slurm: SLURM has not given {what} within {limit:g} s "
                    f"(HYBRIDNET_DIST_CONNECT){self._state()}; ask for fewer, wait longer, or "
                    "launch in a job that is there: sbatch, or salloc -n "
                    f"{self.tasks} hybridnet launch ..."
                )
        self.job = os.read(self._granted, 64).decode().strip()
        if not self.job:
            raise KVStoreError(f"--launcher slurm: salloc gives no job: {self._words()[:300]}")

    def close(self) -> None:
        """Gives the job back, or takes back that it was asked for."""
        self._holder.signal(signal.SIGHUP)
        end = time.monotonic() + GRACE
        while self._holder.poll() is None:
            left = end - time.monotonic()
            if left <= 0:
                self._holder.signal(signal.SIGKILL)
            select.select([], [], [], 0.02)
        os.close(self._granted)
        self._said.close()

    def _is_there(self, seconds: float) -> bool:
        return bool(select.select([self._granted], [], [], max(0.0, seconds))[0])

    def _words(self) -> str:
        # By position: the file's offset is shared with who writes.
        return " ".join(os.pread(self._said.fileno(), 1 << 16, 0).decode(errors="replace").split())

    def _state(self) -> str:
        """Returns what SLURM says of the job, to be put behind a sentence."""
        number = re.search(r"job allocation (\d+)", self._words())
        if number is None:
            return f": {said[:300]}" if (said := self._words()) else ""
        command = ["squeue", "--noheader", f"--jobs={number[1]}", "--format=%T: %r"]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        return f": job {number[1]} is {told}" if told else ""

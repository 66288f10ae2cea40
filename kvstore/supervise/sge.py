"""The processes of a job as an array job of the Sun Grid Engine; the scheduler runs here.

A batch system shows the variables of its jobs to everybody, so the run's secret goes to the job by
a file of mode 0600 in the present folder, which must be one that the nodes share.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.run_token import TOKEN, TOKEN_FILE, RunToken
from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.local import start_process
from hybridnet.kvstore.supervise.mpi import grouped, require
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor

_TASK: Final = "HYBRIDNET_DIST_RANK=$((SGE_TASK_ID - 1))"


def sge_script(plan: ProcessPlan, token: Path) -> str:
    """Returns the script of a role's array job.

    Args:
        plan: of the role.
        token: the file with the run's secret.
    """
    environment = {**plan.environment, TOKEN_FILE: str(token)}
    environment.pop(TOKEN, None)
    lines = [
        "#!/bin/sh",
        f"#$ -S /bin/sh -cwd -sync y -t 1-{plan.count} -N hybridnet_{plan.role}",
        *(f"export {name}={shlex.quote(text)}" for name, text in sorted(environment.items())),
        f"export {_TASK}",
        f"exec {shlex.join(plan.command)}",
    ]
    return "\n".join(lines) + "\n"


def sge_command(script: Path) -> list[str]:
    """Returns the command that submits a script, and lasts as long as its job."""
    return ["qsub", "-sync", "y", str(script)]


@final
class SgeSupervisor(Supervisor):
    """Submits servers and workers as array jobs, and starts the scheduler here."""

    def __init__(self) -> None:
        self._files: list[Path] = []

    def plans(self, job: Job, tell: Callable[[str], None]) -> list[ProcessPlan]:
        """See `Supervisor.plans`; writes the file with the run's secret."""
        require("sge", ["qsub"])
        token = job.cluster.token
        if token is None:
            raise KVStoreError("--launcher sge requires a token")
        self._token = Path.cwd() / f".hybridnet-{job.cluster.run.hex()}.token"
        self._write_token(token)
        return grouped(job)

    def _write_token(self, token: RunToken) -> None:
        try:
            token.write(self._token)
        except OSError as error:
            raise KVStoreError(f"{self._token}: {error.strerror}") from error
        self._files.append(self._token)

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        if plan.role == "scheduler":
            return start_process(plan.title, plan.command, plan.environment)
        script = self._token.with_suffix(f".{plan.role}.sh")
        script.write_text(sge_script(plan, self._token), encoding="utf-8")
        self._files.append(script)
        return start_process(plan.title, sge_command(script), {}, farewell=signal.SIGTERM)

    def close(self) -> None:
        """See `Supervisor.close`; removes the files."""
        for path in self._files:
            path.unlink(missing_ok=True)
        self._files.clear()

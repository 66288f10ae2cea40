"""The processes of a job on machines that ssh reaches, as MXNet's ssh launcher has them.

The scheduler runs here. A process there hangs on its connection: see `tether`, which must be
importable there, as hybridnet must be for what the job does.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Final, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.hosts import Host, place
from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.local import start_process
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor
from hybridnet.kvstore.supervise.tether import MODULE, line, untranslated

#: Fails rather than asks for a password, and notices a dead machine within 15 s.
_OPTIONS: Final = (
    "-o",
    "BatchMode=yes",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
)


def ssh_command(host: Host, python: str) -> list[str]:
    """Returns the command that starts a tether on a host; what it runs follows on its input."""
    return ["ssh", *_OPTIONS, "-p", str(host.port), host.name,
            f"{shlex.quote(python)} -P -m {MODULE}"]  # fmt: skip


def copy_command(host: Host, source: str, target: str) -> list[str]:
    """Returns the command that copies what the folder `source` holds into `target` on a host."""
    shell = shlex.join(["ssh", *_OPTIONS, "-p", str(host.port)])
    content = source.rstrip("/") + "/"
    return ["rsync", "-az", f"--rsh={shell}", content, f"{host.name}:{target}"]


@final
class SshSupervisor(Supervisor):
    """Starts servers and workers on hosts in turn, and the scheduler here.

    Args:
        hosts: the machines.
        folder: the folder on them that this one is copied to before, and in which commands run
            then; by default nothing is copied, and they run in the folder of this one's name.
        python: the interpreter on the hosts; by default ``python3`` of their path.
    """

    def __init__(
        self, hosts: Sequence[Host], folder: str | None = None, python: str = "python3"
    ) -> None:
        self._hosts = {host.name: host for host in hosts}
        self._folder = folder
        self._python = python

    def plans(self, job: Job, tell: Callable[[str], None]) -> list[ProcessPlan]:
        """See `Supervisor.plans`; copies the folder, if that is asked for."""
        for tool in ("ssh", *(["rsync"] if self._folder is not None else [])):
            if shutil.which(tool) is None:
                raise KVStoreError(f"--launcher ssh requires {tool}, which is not installed here")
        if self._folder is not None:
            for host in self._hosts.values():
                _run(copy_command(host, os.getcwd(), self._folder))
        return place(job.plans(), list(self._hosts.values()))

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        if plan.host is None:
            return start_process(plan.title, plan.command, plan.environment)
        return start_process(
            f"{plan.title} on {plan.host}",
            ssh_command(self._hosts[plan.host], self._python),
            {},
            text=line(plan.command, plan.environment, self._folder or os.getcwd()),
            translate=untranslated,
        )


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise KVStoreError(f"{shlex.join(command)} failed with status {done.returncode}")

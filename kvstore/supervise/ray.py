"""The processes of a job on the machines of a Ray cluster (extra `ray`).

An actor stands for each process: Ray chooses its machine, knows it by name
(``hybridnet-RUN-worker-0``), and finds another machine when that one is lost. The actor starts the
process as a child of its own, and says when it has ended; no value of a store goes through Ray.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.local import ProcessHandle, start_process
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor

__all__ = ["RaySupervisor", "Tenant"]

_LOOK: Final = 0.05  # seconds between an actor's looks at its process
#: What an actor's machine was lost with: as a process that was killed.
_LOST: Final = -9
_MISSING: Final = (
    "--launcher ray requires Ray: pip install 'hybridnet[ray]', here and on every machine of its "
    "cluster"
)


@final
class Tenant:
    """What an actor holds: a process on its machine."""

    def __init__(self) -> None:
        self._handle: ProcessHandle | None = None

    def run(
        self, title: str, command: Sequence[str], environment: Mapping[str, str], folder: str
    ) -> int:
        """Runs a command to its end; returns its exit status (the negative number of a signal)."""
        if os.path.isdir(folder):
            os.chdir(folder)
        handle = self._handle = start_process(title, command, environment)
        while True:
            code = handle.poll()
            if code is not None:
                return code
            time.sleep(_LOOK)

    def signal(self, number: int) -> None:
        """Sends a signal to the process."""
        if self._handle is not None:
            self._handle.signal(number)


@final
class RaySupervisor(Supervisor):
    """Starts servers and workers as the children of Ray's actors, and the scheduler here.

    Args:
        address: of the Ray cluster; by default RAY_ADDRESS, or a cluster on this machine that lives
            as long as the job.
        load: what imports Ray; tests give another.
    """

    def __init__(self, address: str | None = None, load: Callable[[], Any] | None = None) -> None:
        self._address = address
        self._load = load or _import
        self._ray: Any = None
        self._own = False
        self._run = ""

    def plans(self, job: Job) -> list[ProcessPlan]:
        """See `Supervisor.plans`; connects to Ray."""
        self._ray = self._load()
        self._run = job.cluster.run.hex()[:8]
        if not self._ray.is_initialized():
            self._ray.init(address=self._address, include_dashboard=False, log_to_driver=True)
            self._own = True
        return job.plans()

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        if plan.role == "scheduler":
            return start_process(plan.title, plan.command, plan.environment)
        options = {
            "name": f"hybridnet-{self._run}-{plan.role}-{plan.rank}-{plan.generation}",
            "max_concurrency": 2,  # it runs a process, and takes signals meanwhile
            "max_restarts": 0,  # the policy starts the next generation, which knows its number
            "num_cpus": 1 if plan.role == "worker" else 0,
        }
        actor = self._ray.remote(Tenant).options(**options).remote()
        ended = actor.run.remote(plan.title, plan.command, dict(plan.environment), os.getcwd())
        return _ActorHandle(self._ray, actor, ended)

    def close(self) -> None:
        """See `Supervisor.close`."""
        if self._own:
            self._ray.shutdown()
            self._own = False


@final
class _ActorHandle(Handle):
    """A process that an actor has started."""

    def __init__(self, ray: Any, actor: Any, ended: Any) -> None:
        self._ray = ray
        self._actor = actor
        self._ended = ended
        self._code: int | None = None

    def poll(self) -> int | None:
        """See `Handle.poll`."""
        if self._code is None and self._ray.wait([self._ended], timeout=0)[0]:
            try:
                self._code = int(self._ray.get(self._ended))
            except self._ray.exceptions.RayActorError:
                self._code = _LOST
            self._ray.kill(self._actor)
        return self._code

    def signal(self, number: int) -> None:
        """See `Handle.signal`."""
        if self._code is None:
            self._actor.signal.remote(number)


def _import() -> Any:
    try:
        import ray
    except ImportError as error:
        raise KVStoreError(_MISSING) from error
    return ray

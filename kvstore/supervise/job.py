"""A job: which processes a distributed run is made of, and what each is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

from hybridnet.kvstore.cluster import Cluster, Role
from hybridnet.kvstore.run_token import TOKEN

#: The module that servers import for hybridnet's optimizers; see `kvstore/storage/updates.py`.
FRONT_END: Final = "hybridnet.kv.server_updates"
_SERVE: Final = "hybridnet.kvstore.serve"
#: What serving processes are told: they compute little, and leave the accelerators to workers.
_SERVING: Final = {"JAX_PLATFORMS": "cpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def serving_command(imports: Sequence[str] = (), python: str = "") -> list[str]:
    """Returns the command of a server or the scheduler.

    It imports nothing from the folder that it is started in (-P): who may write there would have it
    run a ``json.py`` of theirs. `serve` has that folder last, where it looks for users' modules.

    Args:
        imports: the users' modules that register optimizers.
        python: the interpreter; by default this one.
    """
    command = [python or sys.executable, "-P", "-m", _SERVE]
    for name in (*imports, FRONT_END):
        command += ["--import", name]
    return command


def become_server() -> None:
    """Makes this process the server or scheduler that its environment describes, for good.

    It does not return: a fresh interpreter takes the place of this one, as whatever was about to be
    imported here need not be fit to serve. Where this is such a process already, nothing happens.
    """
    if _SERVE in sys.orig_argv:
        return
    for name, value in _SERVING.items():
        os.environ.setdefault(name, value)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os.execv(sys.executable, serving_command())


@final
@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """One process to start, or several of a role that are started together.

    Attributes:
        role: what it is.
        rank: its number among those of its role; of several, the first one's.
        command: what is run.
        environment: variables over those that it has anyway. They may hold the run's secret, so
            they never become part of a command line.
        generation: how often it was started before.
        count: how many processes the command starts.
        host: the machine that it is to run on; None for whichever.
        returns: whether it can be started again by itself; not where one command starts all of a
            role.
    """

    role: Role
    rank: int
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    generation: int = 0
    count: int = 1
    host: str | None = None
    returns: bool = True

    @property
    def title(self) -> str:
        """Its name in messages."""
        if self.role == "scheduler":
            return "the scheduler"
        if self.count > 1:
            return f"{self.role}s {self.rank} to {self.rank + self.count - 1}"
        return f"{self.role} {self.rank}"

    def again(self) -> ProcessPlan:
        """Returns the plan of the next attempt."""
        generation = self.generation + 1
        environment = {**self.environment, "DMLC_NUM_ATTEMPT": str(generation)}
        return replace(self, generation=generation, environment=environment)


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A distributed run.

    Attributes:
        command: what each worker runs.
        cluster: the settings that all processes share; its token must be there.
        env: variables of all processes.
        env_worker: variables of workers, over these.
        env_server: variables of servers and of the scheduler, over these.
        python: the interpreter of servers and scheduler.
    """

    command: tuple[str, ...]
    cluster: Cluster
    env: Mapping[str, str] = field(default_factory=dict)
    env_worker: Mapping[str, str] = field(default_factory=dict)
    env_server: Mapping[str, str] = field(default_factory=dict)
    python: str = sys.executable

    def plans(self) -> list[ProcessPlan]:
        """Returns all processes: the scheduler, the servers, the workers.

        Without servers there is no scheduler either: the workers are a gang.
        """
        cluster = self.cluster
        return [
            *([self.plan("scheduler", 0)] if cluster.servers else []),
            *(self.plan("server", rank) for rank in range(cluster.serving)),
            *(self.plan("worker", rank) for rank in range(cluster.workers)),
        ]

    def plan(self, role: Role, rank: int, count: int = 1) -> ProcessPlan:
        """Returns one process, or `count` of a role; these learn their ranks by themselves."""
        command = self.command
        if role != "worker":
            command = tuple(serving_command(self.cluster.imports, self.python))
        return ProcessPlan(role, rank, command, self._environment(role, rank, count), count=count)

    def _environment(self, role: Role, rank: int, count: int) -> dict[str, str]:
        # Each process finds by itself which of its addresses leads to the scheduler.
        own = replace(
            self.cluster, role=role, rank=rank if count == 1 else None, host=Cluster().host
        )
        environment = dict(self.env)
        environment.update(self.env_worker if role == "worker" else {**_SERVING, **self.env_server})
        environment.update(own.environment())
        if self.cluster.token is not None:
            environment[TOKEN] = self.cluster.token.text
        return environment

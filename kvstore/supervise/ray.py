"""The processes of a job on the machines of a Ray cluster (extra `ray`).

An actor stands for each process: Ray chooses its machine, knows it by name
(``hybridnet-RUN-worker-0``), and finds another machine when that one is lost. The actor starts the
process as a child of its own, says when it has ended, and hands on what it prints; no value of a
store goes through Ray.

Room for all workers is taken at once, by a placement group, before anything is started. A gang has
its root where Ray has put its first process; the others begin when that is known.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from hybridnet.kvstore.cluster import CANNOT_SERVE
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.job import Job, ProcessPlan
from hybridnet.kvstore.supervise.local import start_process
from hybridnet.kvstore.supervise.printing import Lines
from hybridnet.kvstore.supervise.supervisor import Handle, Supervisor
from hybridnet.kvstore.supervise.tenant import THREADS, Tenant

#: What an actor's machine was lost with: as a process that was killed.
_LOST: Final = -9
_PATIENCE: Final = 2.0  # seconds until a line says what is waited for
_SLOW: Final = 8.0  # the same of a process's place: Ray takes seconds to start an actor
_KNOCKS: Final = 10.0  # the same of a cluster; Ray takes some to connect
_OWN: Final = 3.0  # seconds in which a cluster of the job's own has given what it ever will
_LOCAL: Final = "local"
_ROOT: Final = ("DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT")
_MISSING: Final = (
    "--launcher ray requires Ray: pip install 'hybridnet[ray]', here and on every machine of its "
    "cluster"
)
#: Connects to a cluster and says what came of it. A process of its own: where nobody answers, or
#: somebody else does, Ray tries for ever, and cannot be interrupted.
_KNOCK: Final = """
import json, sys
import ray
try:
    ray.init(sys.argv[1], log_to_driver=False, logging_level="CRITICAL")
    found = ""
except Exception as error:
    found = f"{type(error).__name__}: {error}"
print(json.dumps(found), flush=True)
"""
_NONE_FOUND: Final = "ConnectionError: Could not find any running Ray instance"
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


@final
@dataclass(slots=True)
class _Rays:
    """A cluster of Ray's, and what a job wants of it.

    Attributes:
        ray: the module.
        asks: what a worker asks for, by Ray's names.
        limit: seconds that something may be waited for.
        tell: is called with a line where that takes a while.
        gang: whether the processes are one.
        own: whether the cluster is the job's own: this machine, and never more.
        room: for all workers, a placement group.
        roots: of a gang, where each generation has its root, once that is known.
    """

    ray: Any
    asks: dict[str, int]
    limit: float
    tell: Callable[[str], None]
    gang: bool
    own: bool = False
    room: Any = None
    roots: dict[int, tuple[str, int]] = field(default_factory=dict)

    def free(self) -> str:
        """Says what a worker asks for, and what there is."""
        there, free = self.ray.cluster_resources(), self.ray.available_resources()
        asks = ", ".join(f"{count} {kind}" for kind, count in self.asks.items())
        left = ", ".join(
            f"{free.get(kind, 0):g} of {there.get(kind, 0):g} {kind}" for kind in self.asks
        )
        machines = sum(bool(node["Alive"]) for node in self.ray.nodes())
        where = "1 machine" if machines == 1 else f"{machines} machines"
        return f"a worker asks for {asks}; free: {left}, on {where}"

    def take_room(self, workers: int) -> None:
        """Takes room for all workers.

        Raises:
            KVStoreError: there is none in time.
        """
        self.room = self.ray.util.placement_group([self.asks] * workers)
        what = "1 worker" if workers == 1 else f"{workers} workers"
        limit = min(self.limit, _OWN) if self.own else self.limit
        if self.room.wait(min(limit, _PATIENCE)):
            return
        self.tell(f"waits up to {limit:g} s for room for {what} in Ray: {self.free()}")
        if self.room.wait(max(0.0, limit - _PATIENCE)):
            return
        known = "" if self.own else " (HYBRIDNET_DIST_CONNECT)"
        raise KVStoreError(
            f"--launcher ray: no room for {what} in Ray within {limit:g} s{known}: {self.free()}; "
            "ask for less (-n, --cpus, --gpus), wait longer, or add machines"
        )

    def close(self) -> None:
        """Gives the room back, and parts from Ray."""
        with contextlib.suppress(self.ray.exceptions.RayError):
            if self.room is not None:
                self.ray.util.remove_placement_group(self.room)
        self.ray.shutdown()


@final
class RaySupervisor(Supervisor):
    """Starts servers and workers as the children of Ray's actors, and the scheduler here.

    The cluster is that of RAY_ADDRESS, or the one that runs on this machine, or one of the job's
    own, which lives as long as the job.

    Args:
        cpus: what each worker asks Ray for, and so many threads it has; by default it asks for 1,
            and has as many threads as without Ray.
        gpus: what each worker asks for; it sees these and no others.
    """

    def __init__(self, cpus: int | None = None, gpus: int = 0) -> None:
        self._asks = {"CPU": cpus or 1, **({"GPU": gpus} if gpus else {})}
        self._threads = {} if cpus is None else {THREADS: str(cpus)}
        self._rays: _Rays | None = None
        self._run = ""

    def plans(self, job: Job, tell: Callable[[str], None]) -> list[ProcessPlan]:
        """See `Supervisor.plans`; connects to Ray, and takes room for the workers."""
        cluster = job.cluster
        rays = _Rays(_import(), self._asks, cluster.connect, tell, not cluster.servers)
        _connect(rays)
        self._rays, self._run = rays, cluster.run.hex()[:8]
        rays.take_room(cluster.workers)
        plans = job.plans()
        if not rays.gang:
            return plans
        return [replace(plan, environment=_without_root(plan.environment)) for plan in plans]

    def start(self, plan: ProcessPlan) -> Handle:
        """See `Supervisor.start`."""
        if plan.role == "scheduler":
            return start_process(plan.title, plan.command, plan.environment)
        assert self._rays is not None
        ray = self._rays.ray
        options: dict[str, Any] = {
            "name": f"hybridnet-{self._run}-{plan.role}-{plan.rank}-{plan.generation}",
            "max_concurrency": 4,  # it runs a process, hands on its output, and takes signals
            "max_restarts": 0,  # the policy starts the next generation, which knows its number
            "num_cpus": 0,
            "scheduling_strategy": "SPREAD",
        }
        if plan.role == "worker":
            options["num_cpus"] = self._asks["CPU"]
            options["num_gpus"] = self._asks.get("GPU", 0)
            options["scheduling_strategy"] = _place(self._rays.room, plan.rank)
            plan = replace(plan, environment={**self._threads, **plan.environment})
        return _ActorHandle(self._rays, plan, ray.remote(Tenant).options(**options).remote())

    def close(self) -> None:
        """See `Supervisor.close`."""
        if self._rays is not None:
            self._rays.close()
            self._rays = None


@final
class _ActorHandle(Handle):
    """A process that an actor has started, or will when it is on a machine.

    Args:
        rays: where.
        plan: what it runs.
        actor: a `Tenant`.
    """

    def __init__(self, rays: _Rays, plan: ProcessPlan, actor: Any) -> None:
        self._rays = rays
        self._plan = plan
        self._actor = actor
        self._code: int | None = None
        self._began = time.monotonic()
        self._told = False
        self._place: Any = actor.look.remote()
        # Once it runs: how it ends, and what it prints next.
        self._end: Any = None
        self._printed: Any = None
        self._lines = {number: Lines(number) for number in (1, 2)}

    def poll(self) -> int | None:
        """See `Handle.poll`."""
        if self._code is None:
            try:
                self._code = self._step()
            except self._rays.ray.exceptions.RayActorError as error:
                self._code = self._cannot(_cause(error)) if error.actor_init_failed else _LOST
            except self._rays.ray.exceptions.RayError as error:
                self._code = self._cannot(_cause(error))
            if self._code is not None:
                self._rays.ray.kill(self._actor)
        return self._code

    def signal(self, number: int) -> None:
        """See `Handle.signal`."""
        if self._end is not None:
            self._actor.signal.remote(number)
        elif self._code is None:  # nothing runs yet
            self._code = -number
            self._rays.ray.kill(self._actor)

    def _step(self) -> int | None:
        """Does what is due; returns the exit status if it has ended."""
        if self._end is None:
            return self._begin()
        self._hand_on()
        if not self._ready(self._end):
            return None
        found = self._rays.ray.get(self._end)
        # All that it has printed is there by now.
        while self._hand_on(wait=True):
            pass
        with contextlib.suppress(BrokenPipeError):
            for lines in self._lines.values():
                lines.end()
        return self._cannot(found) if isinstance(found, str) else int(found)

    def _begin(self) -> int | None:
        """Starts the process if it is known where it, and the root of its gang, will be."""
        rays, plan = self._rays, self._plan
        if self._place is not None:
            if not self._ready(self._place):
                return self._wait()
            place, self._place = self._rays.ray.get(self._place), None
            if rays.gang and plan.rank == 0:
                rays.roots[plan.generation] = place
        environment = dict(plan.environment)
        if rays.gang:
            if plan.generation not in rays.roots:
                return None
            environment |= zip(_ROOT, map(str, rays.roots[plan.generation]), strict=True)
        self._end = self._actor.run.remote(plan.title, plan.command, environment, os.getcwd())
        self._printed = self._actor.printed.remote()
        return None

    def _wait(self) -> int | None:
        """Says after a while that there is no place yet, and gives up at the limit."""
        rays, waited = self._rays, time.monotonic() - self._began
        if waited > _SLOW and not self._told:
            self._told = True
            rays.tell(f"{self._plan.title} waits for its place in Ray: {rays.free()}")
        if waited < rays.limit:
            return None
        return self._cannot(
            f"Ray has had no place for it within {rays.limit:g} s (HYBRIDNET_DIST_CONNECT): "
            f"{rays.free()}"
        )

    def _hand_on(self, wait: bool = False) -> bool:
        """Prints what the process has printed since; returns whether that was anything."""
        if not wait and not self._ready(self._printed):
            return False
        pieces = self._rays.ray.get(self._printed)
        self._printed = self._actor.printed.remote()
        for number, data in pieces:
            with contextlib.suppress(BrokenPipeError):
                self._lines[number].write(data)
        return bool(pieces)

    def _cannot(self, why: str) -> int:
        self.why = f"{self._plan.title} cannot be started: {why}"
        if self._plan.title in why:
            self.why = why
        return _LOST if self._plan.generation else CANNOT_SERVE

    def _ready(self, reference: Any) -> bool:
        return bool(self._rays.ray.wait([reference], timeout=0)[0])


def _cause(error: Exception) -> str:
    """Returns what an error of Ray's says, in a line: it has tracebacks of both ends."""
    text = _COLOURS.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    if re.search(r"No module named '?hybridnet", last):
        found = re.search(r"\bip=([^,)\s]+)", text)
        where = "a machine of Ray's cluster" if found is None else f"Ray's machine {found[1]}"
        return f"hybridnet is not installed on {where}: pip install 'hybridnet[ray]' there"
    return last[:300]


def _connect(rays: _Rays) -> None:
    """Connects to the cluster; starts one where there is none, and none is asked for.

    Raises:
        KVStoreError: it does not answer in time.
    """
    address = os.environ.get("RAY_ADDRESS", "").strip()
    if address != _LOCAL:
        where = address or "auto"
        said = _knock(where, rays.limit, rays.tell)
        if said.startswith(_NONE_FOUND) and not address:
            address = _LOCAL
        elif said:
            raise KVStoreError(
                f"--launcher ray: no cluster at {address or 'the address that Ray has found'}: "
                f"{said}; set RAY_ADDRESS to one for which `ray status` answers on this machine, "
                "or to local for a cluster of this machine alone"
            )
    rays.own = address == _LOCAL
    # Lines go by `Tenant.printed`: Ray folds those that are alike, and may lose the last ones.
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if rays.own:
        options["include_dashboard"] = False
    rays.ray.init(address or "auto", **options)


def _knock(address: str, limit: float, tell: Callable[[str], None]) -> str:
    """Connects to a cluster in another process; returns why that failed, empty where it did not."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _KNOCK, address],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        try:
            out = process.communicate(timeout=min(limit, _KNOCKS))[0]
        except subprocess.TimeoutExpired:
            if limit <= _KNOCKS:
                raise
            tell(f"waits up to {limit:g} s for Ray at {address}")
            out = process.communicate(timeout=limit - _KNOCKS)[0]
    except subprocess.TimeoutExpired:
        return f"it has not answered within {limit:g} s (HYBRIDNET_DIST_CONNECT)"
    finally:
        process.kill()
        process.communicate()
    lines = out.splitlines()
    if not lines:
        return f"Ray has ended with status {process.returncode}"
    return " ".join(str(json.loads(lines[-1])).split())[:300]


def _place(room: Any, rank: int) -> Any:
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    return PlacementGroupSchedulingStrategy(room, placement_group_bundle_index=rank)


def _without_root(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in environment.items() if name not in _ROOT}


def _import() -> Any:
    try:
        import ray
        import ray.util
    except ImportError as error:
        raise KVStoreError(_MISSING) from error
    return ray

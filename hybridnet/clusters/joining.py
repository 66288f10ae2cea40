"""`cluster`: tasks of several processes, one of which may be this one, and sessions over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import final

from hybridnet.base import config
from hybridnet.base.errors import ParameterError
from hybridnet.session import Session

from .addresses import read_addresses
from .errors import EndedError
from .master import ClusterRunner
from .task import ClusterTask


@final
class Cluster:
    """Tasks of several processes; made by `cluster`.

    Attributes:
        target: the address of the task that sessions begin at: this process's own, if it has one.
    """

    def __init__(self, target: str, task: ClusterTask | None) -> None:
        self.target = target
        self._task = task

    def session(
        self,
        *,
        seed: int | None = None,
        soft_placement: bool | None = None,
        timeout: float | None = None,
    ) -> Session:
        """Returns a session whose graphs run on all tasks that their nodes name.

        Nodes and variables are on the device that an ``hn.device`` block says, and on that of the
        task that the session begins at where it says none. Variables are the tasks', by name: other
        sessions see them, and they stay when this one is closed.

        Args:
            seed: where its random numbers begin; None: anywhere.
            soft_placement: whether nodes that cannot be on the device that they name are put on
                another, with a line in the log; default ``MXNET_SOFT_PLACEMENT``.
            timeout: seconds that a run may take; None: any.

        Raises:
            UnavailableError: the task that it begins at does not answer.
        """
        soft = config.soft_placement() if soft_placement is None else soft_placement
        return Session.over(
            partial(ClusterRunner, self.target, {}, seed=seed, soft=soft, timeout=timeout)
        )

    def join(self) -> None:
        """Serves until the task of this process is closed, or for Ctrl-C.

        Raises:
            EndedError: this process is none of the tasks.
        """
        if self._task is None:
            raise EndedError(
                "Cluster.join: this process is none of the tasks; name its job: "
                "hn.cluster(tasks, job='ps', task=0)"
            )
        self._task.join()

    def close(self) -> None:
        """Ends the task of this process, if it has one: its variables are gone."""
        if self._task is not None:
            self._task.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def cluster(
    tasks: str | Mapping[str, Sequence[str] | Mapping[int, str]],
    job: str | None = None,
    task: int = 0,
) -> Cluster:
    """Returns a cluster: this process becomes one of its tasks, or is a client of them.

        with hn.cluster({"ps": ["localhost:2222"], "worker": ["localhost:2223"]}, "worker") as all:
            with hn.device("/job:ps/task:0"):
                w = hn.sym.var("w")
            session = all.session()

    The process of the other task says ``hn.cluster(..., "ps").join()``. A task keeps the variables
    that are on its devices, and runs the nodes that are.

    Args:
        tasks: the addresses (``host:port``) of all tasks by job; a client needs only one of them.
        job: the job of the task that this process becomes; None: it becomes none.
        task: its number in the job.

    Raises:
        ParameterError: `tasks` is not of that form, or has no such task.
        MXNetError: the address is taken, or other machines could reach it and there is no token
            (``HYBRIDNET_DIST_TOKEN``).
    """
    if isinstance(tasks, str):
        if job is not None:
            raise ParameterError(
                f"hn.cluster: a task must know all addresses, got only {tasks!r}; give them by job"
            )
        return Cluster(tasks, None)
    jobs = read_addresses(tasks)
    if job is None:
        found = [where for group in jobs.values() for where in group.values()]
        if not found:
            raise ParameterError("hn.cluster: needs the address of a task at least, got none")
        return Cluster(found[0], None)
    if task not in jobs.get(job, {}):
        raise ParameterError(
            f"hn.cluster: there is no task {task} of job {job!r} among "
            + (", ".join(f"{one!r}: {sorted(group)}" for one, group in jobs.items()) or "no jobs")
        )
    own = ClusterTask(jobs, job, task)
    return Cluster(own.address, own)

"""`ClusterSpec`: which tasks a cluster has; `replica_device_setter`: what goes to which of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet.clusters.addresses import read_addresses

from ..graph.device_spec import DeviceSpec
from ..graph.tensor import Operation

__all__ = ["ClusterSpec", "replica_device_setter"]

#: Types of Operations that hold values of variables.
_PS_OPS: Final = ("VariableV2", "Variable", "VarHandleOp")


@final
class ClusterSpec:
    """The tasks of a cluster: jobs by name, and in each the addresses of its tasks.

        tf.train.ClusterSpec({"ps": ["ps0:2222"], "worker": ["worker0:2222", "worker1:2222"]})

    Args:
        cluster: job -> addresses, or job -> {number of a task: its address}; or a `ClusterSpec`.

    Raises:
        TypeError: it is nothing of that.
        ValueError: the number of a task is negative.
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._jobs
        self._jobs: dict[str, dict[int, str]] = read_addresses(cluster)

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Returns job -> addresses; where numbers are left out, job -> {number: address}."""
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def num_tasks(self, job_name: str) -> int:
        """Returns how many tasks a job has.

        Raises:
            ValueError: there is no such job.
        """
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the numbers of a job's tasks.

        Raises:
            ValueError: there is no such job.
        """
        return list(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task.

        Raises:
            ValueError: there is no such job, or no such task in it.
        """
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns a job's addresses by number, with None for those that are left out.

        Raises:
            ValueError: there is no such job.
        """
        tasks = self._tasks(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def _tasks(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise ValueError(f"No such job in cluster: {job!r}")
        return self._jobs[job]


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], str] | None:
    """Returns a function for `tf.device`: variables go to parameter servers, the rest to a worker.

        with tf.device(tf.train.replica_device_setter(cluster=cluster)):
            v = tf.Variable(...)      # /job:ps/task:0
            w = tf.Variable(...)      # /job:ps/task:1
            y = tf.matmul(v, w)       # /job:worker

    Args:
        ps_tasks: how many tasks the job of the servers has; `cluster` says it, too.
        ps_device: where variables go; its task is chosen in turn.
        worker_device: where everything else goes.
        merge_devices: whether what an Operation's own device says is kept beside that; else an
            Operation that names a device stays there.
        cluster: a `ClusterSpec`, or what one is made of.
        ps_ops: types of Operations that go to the servers; default those of variables.
        ps_strategy: chooses a task for each of them; default each one in turn.

    Returns:
        None where there are no servers: then everything stays where it is.

    Raises:
        TypeError: `ps_strategy` is no function.
    """
    if cluster is not None:
        job = DeviceSpec.from_string(ps_device).job
        tasks = ClusterSpec(cluster).as_dict().get(job or "")
        if tasks is None:
            return None
        ps_tasks = len(tasks)
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        ps_strategy = _InTurn(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    chooser = _Chooser(
        DeviceSpec.from_string(ps_device or ""),
        DeviceSpec.from_string(worker_device or ""),
        merge_devices,
        tuple(_PS_OPS if ps_ops is None else ps_ops),
        ps_strategy,
    )
    return chooser.device


@final
class _InTurn:
    """Chooses the tasks one after the other."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._next = 0

    def __call__(self, op: Operation) -> int:
        task, self._next = self._next, (self._next + 1) % self._count
        return task


@final
class _Chooser:
    """Chooses the device of each Operation; see `replica_device_setter`."""

    def __init__(
        self,
        servers: DeviceSpec,
        worker: DeviceSpec,
        merge: bool,
        ops: tuple[str, ...],
        strategy: Callable[[Operation], int],
    ) -> None:
        self._servers = servers
        self._worker = worker
        self._merge = merge
        self._ops = ops
        self._strategy = strategy

    def device(self, op: Operation) -> str:
        """Returns the device of an Operation."""
        own = DeviceSpec.from_string(op.device or "")
        if not self._merge and op.device:
            return str(op.device)
        if op.type not in self._ops:
            return self._worker.make_merged_spec(own).to_string()
        servers = self._servers
        if servers.job and own.job in (None, servers.job):
            servers = servers.replace(task=self._strategy(op))
        return servers.make_merged_spec(own).to_string()

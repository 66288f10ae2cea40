"""`ClusterSpec`: which tasks a cluster has; `replica_device_setter`: what goes to which of them.

And `Server`: one of them, in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any, Final, final

from hybridnet.base import MXNetError
from hybridnet.clusters import ClusterTask, read_addresses

from ..errors import InvalidArgumentError, UnknownError
from ..graph import DeviceSpec, Operation

__all__ = ["ClusterSpec", "Server", "replica_device_setter"]

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
        ValueError: the number of a task is negative; or, later, a job or a task is not there.
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
        """Returns how many tasks a job has."""
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the numbers of a job's tasks."""
        return list(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task."""
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns a job's addresses by number, with None for those that are left out."""
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
        turns = cycle(range(ps_tasks))
        ps_strategy = lambda op: next(turns)  # noqa: E731
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    servers, worker = (DeviceSpec.from_string(one or "") for one in (ps_device, worker_device))
    ops = _PS_OPS if ps_ops is None else ps_ops
    return _chooser(servers, worker, merge_devices, ops, ps_strategy)


def _chooser(
    servers: DeviceSpec,
    worker: DeviceSpec,
    merge: bool,
    ops: Sequence[str],
    strategy: Callable[[Operation], int],
) -> Callable[[Operation], str]:
    """Returns what chooses the device of each Operation; see `replica_device_setter`."""

    def chosen(op: Operation) -> str:
        own = DeviceSpec.from_string(op.device or "")
        if not merge and op.device:
            return str(op.device)
        if op.type not in ops:
            return worker.make_merged_spec(own).to_string()
        at = servers
        if at.job and own.job in (None, at.job):
            at = at.replace(task=strategy(op))
        return at.make_merged_spec(own).to_string()

    return chosen


@final
class Server:
    """A task of a cluster: it keeps variables, and runs its part of what sessions run.

        server = tf.train.Server(cluster, job_name="ps", task_index=0)
        server.join()                                # a parameter server has no more to do
        with tf.Session(server.target): ...          # a worker has

    Args:
        server_or_cluster_def: a `ClusterSpec`, or what one is made of.
        job_name: the job of this task; needed where there are several.
        task_index: its number in it; needed where there are several.
        protocol: without meaning here: 'grpc' is taken for the one that there is.
        config: without meaning here.
        start: whether it begins at once.

    Attributes:
        server_def: the cluster that it is part of.

    Raises:
        tf.errors.InvalidArgumentError: there is no such task in the cluster.
        tf.errors.UnknownError: its address is taken, or other machines could reach it and there is
            no token (``HYBRIDNET_DIST_TOKEN``).
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        spec = ClusterSpec(server_or_cluster_def)
        if job_name is None:
            if len(spec.jobs) != 1:
                raise ValueError(f"job_name must say which of the jobs {spec.jobs} this task has")
            job_name = spec.jobs[0]
        if task_index is None:
            numbers = spec.task_indices(job_name)
            if len(numbers) != 1:
                raise ValueError(f"task_index must say which of the tasks {numbers} this is")
            task_index = numbers[0]
        if job_name not in spec.jobs or task_index not in spec.task_indices(job_name):
            raise InvalidArgumentError(
                f"Task {task_index} was not defined in job {job_name!r} of {spec}"
            )
        self.server_def, self._job, self._index = spec, job_name, task_index
        self._task: ClusterTask | None = None
        if start:
            self.start()

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """Returns the one task of a cluster of its own: ``tf.Session(server.target)``."""
        spec = {"local": ["localhost:0"]}
        return Server(spec, protocol="grpc", config=config, start=start)

    def start(self) -> None:
        """Begins, unless it has."""
        if self._task is not None:
            return
        spec = self.server_def
        jobs = {
            job: {n: spec.task_address(job, n) for n in spec.task_indices(job)} for job in spec.jobs
        }
        try:
            self._task = ClusterTask(jobs, self._job, self._index)
        except MXNetError as error:
            raise UnknownError(str(error)) from error

    def join(self) -> None:
        """Serves until the process ends."""
        self.start()
        assert self._task is not None
        self._task.join()

    @property
    def target(self) -> str:
        """The target of sessions that connect to this server, from this process or another."""
        if self._task is None:
            raise ValueError("Server.target: the server is not started")
        return f"grpc://{self._task.address}"

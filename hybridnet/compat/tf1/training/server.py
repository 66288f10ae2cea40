"""`Server`: a task of a cluster, in this process."""

from __future__ import annotations

from typing import Any, final

from hybridnet.base.errors import MXNetError
from hybridnet.clusters import ClusterTask

from ..errors import InvalidArgumentError, UnknownError
from .cluster import ClusterSpec

__all__ = ["Server"]


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
                None, None, f"Task {task_index} was not defined in job {job_name!r} of {spec}"
            )
        self._spec, self._job, self._index = spec, job_name, task_index
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
        jobs = {
            job: {n: self._spec.task_address(job, n) for n in self._spec.task_indices(job)}
            for job in self._spec.jobs
        }
        try:
            self._task = ClusterTask(jobs, self._job, self._index)
        except MXNetError as error:
            raise UnknownError(None, None, str(error)) from error

    def join(self) -> None:
        """Serves until the process ends."""
        self.start()
        assert self._task is not None
        self._task.join()

    @property
    def server_def(self) -> Any:
        """The cluster that it is part of."""
        return self._spec

    @property
    def target(self) -> str:
        """What a session in this process, or another, is given to run here."""
        if self._task is None:
            raise ValueError("Server.target: the server is not started")
        return f"grpc://{self._task.address}"

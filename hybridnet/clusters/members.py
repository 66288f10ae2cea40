"""The tasks that a client speaks to: their devices, their generations, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any, Final, NamedTuple, final

from hybridnet.base.device_name import DeviceName
from hybridnet.base.errors import FormatError, GraphError
from hybridnet.engine import RLock
from hybridnet.graph import Node
from hybridnet.kvstore.cluster import is_loopback
from hybridnet.passes import DeviceSite
from hybridnet.runtime.between_tasks import TravellingTensor

from .channel import split_address
from .endpoint import Endpoint
from .errors import LateError, UnavailableError
from .packets import Packet
from .task import task_at, task_name

#: Seconds that a task may take to answer first: it may still be about to start.
_PATIENCE: Final = 60.0
#: The target's name until it has told it.
_TARGET: Final = "(the session's target)"


class Member(NamedTuple):
    """A task.

    Attributes:
        name: in full.
        generation: of the process.
        sites: its devices; GPUs first.
    """

    name: str
    generation: int
    sites: tuple[DeviceSite, ...]


@final
class Members:
    """The tasks of a cluster, as one client knows them.

    Args:
        target: the address of a task, whose process may be this one.
        timeout: seconds that a task may take to answer; None: a minute, when it is asked first.

    Attributes:
        home: the name of that task.
        own: likewise, if it is in this process; else None.
    """

    def __init__(self, target: str, timeout: float | None = None) -> None:
        self._timeout = timeout
        local = task_at(target)
        self.own = None if local is None else local.name
        address = target.removeprefix("grpc://")
        self.endpoint = local.endpoint if local else Endpoint(None, None, {_TARGET: address})
        self._found: dict[str, Member] = {}
        self._over: dict[str, list[int]] = {}
        self._lock = RLock()
        try:
            words = self._ask(local.name if local else _TARGET, address)
            self.home = str(words["task"])
            self._note(self.home, words)
        except BaseException:
            if local is None:
                self.endpoint.close()
            raise
        self.addresses = _addresses(words)
        if self.own is None:
            self.endpoint.addresses.update(self.addresses)
        self.endpoint.ticks.append(self._tell_over)

    def close(self) -> None:
        """Ends what is the client's alone; once."""
        if self._tell_over not in self.endpoint.ticks:
            return
        self.endpoint.ticks.remove(self._tell_over)
        self._tell_over()
        if self.own is None:
            self.endpoint.close()

    def member(self, name: str) -> Member:
        """Returns a task, which is asked when it is needed first.

        Raises:
            UnavailableError: it does not answer.
        """
        if name not in self._found:
            words = self._ask(name, self.addresses[name])
            self._compare(name, words)
            self._note(name, words)
        return self._found[name]

    def taking_part(self, wishes: Mapping[DeviceName, Node]) -> list[Member]:
        """Returns the tasks with devices of some names; that of the target is always one.

        Args:
            wishes: the names, and for each a node that asks for it.

        Raises:
            GraphError: there is no such task.
            UnavailableError: one does not answer.
        """
        names = [self.home]
        for wish, node in wishes.items():
            wanted = wish.process
            able = [one for one in self.addresses if wanted.covers(DeviceName.parse(one))]
            if not able:
                raise GraphError(
                    f"node {node.title} asks for the unknown device {wish}; the tasks of the "
                    f"cluster are {', '.join(self.addresses)}"
                )
            if self.home not in able:
                names += able[:1]
        return [self.member(name) for name in dict.fromkeys(names)]

    def request(
        self, task: str, words: Mapping[str, Any], tensors: Sequence[TravellingTensor] = ()
    ) -> Future[Packet]:
        """Asks a task, which must be the process that it was."""
        generation = self.member(task).generation
        packet = Packet({**words, "generation": generation}, tensors)
        return self.endpoint.request(task, packet)

    def tell(self, task: str, words: Mapping[str, Any]) -> None:
        """Tells a task something."""
        self.endpoint.tell(task, Packet(words))

    def end(self, task: str, step: int, why: str | None) -> None:
        """Tells a task that a step has ended.

        Args:
            task: which.
            step: the number of the step.
            why: it failed; None: it did not, and the task hears of it with the next one, or within
                a second.
        """
        if why is None:
            with self._lock:
                self._over.setdefault(task, []).append(step)
        else:
            self.tell(task, {"kind": "end", "steps": [step], "why": why})

    def over(self, task: str) -> list[int]:
        """Returns the steps that have ended, which a task is told now."""
        with self._lock:
            return self._over.pop(task, [])

    def _tell_over(self) -> None:
        for task in list(self._over):
            steps = self.over(task)
            if steps:
                self.tell(task, {"kind": "end", "steps": steps, "why": None})

    def _ask(self, name: str, address: str) -> Mapping[str, Any]:
        asked = self.endpoint.request(name, Packet({"kind": "devices"}), patient=True)
        is_short = self._timeout is not None and self._timeout < _PATIENCE
        try:
            return waited(asked, self._timeout if is_short else _PATIENCE).words
        except LateError:
            if is_short:
                raise LateError(
                    f"task {name} at {address} has not answered for {self._timeout:g} s"
                ) from None
            raise UnavailableError(
                f"task {name} at {address} is not available: it has not answered for "
                f"{_PATIENCE:g} s; is it started, with the same cluster and token?"
            ) from None

    def _note(self, name: str, words: Mapping[str, Any]) -> None:
        if words.get("task") != name or type(words.get("generation")) is not int:
            raise UnavailableError(f"at the address of {name} there is {words.get('task')}")
        base = DeviceName.parse(name)
        sites = [
            DeviceSite(DeviceName(base.job, base.replica, base.task, str(kind), int(index)))
            for kind, index in words["devices"]
        ]
        if not sites:
            raise FormatError(f"task {name} has no devices")
        sites.sort(key=lambda site: site.name.type == "cpu")
        self._found[name] = Member(name, words["generation"], tuple(sites))

    def _compare(self, name: str, words: Mapping[str, Any]) -> None:
        """Finds tasks that would wait for each other at addresses where they are not.

        A host may have several names, and its ports others for other hosts; not for itself.

        Raises:
            FormatError: the task was started with another cluster.
        """
        for task, other in _addresses(words).items():
            ours, theirs = split_address(self.addresses.get(task, other)), split_address(other)
            if ours[1] != theirs[1] and is_loopback(ours[0]) and is_loopback(theirs[0]):
                raise FormatError(
                    f"{task} is at {self.addresses[task]} for {self.home}, and at {other} for "
                    f"{name}: start all tasks with the same cluster"
                )


def _addresses(words: Mapping[str, Any]) -> dict[str, str]:
    """Returns the addresses of the tasks that one of them has told."""
    return {
        task_name(str(job), int(number)): str(where)
        for job, tasks in words["cluster"].items()
        for number, where in tasks
    }


def waited(future: Future[Packet], timeout: float | None) -> Packet:
    """Returns an answer; a Ctrl-C comes through while it waits.

    Raises:
        LateError: it did not come in time.
        MXNetError: it is an error.
    """
    try:
        return future.result(timeout)
    except NotYet:
        raise LateError("there was no answer in time") from None

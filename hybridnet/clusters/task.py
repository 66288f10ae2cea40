"""`ClusterTask`: a process of a cluster: it keeps variables, and runs its part of graphs."""

from __future__ import annotations

import itertools
import logging
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.base.host_array import HostArray
from hybridnet.base.locks import if_free
from hybridnet.base.processor import set_batch_policy, share_processors
from hybridnet.engine import Flag, RLock
from hybridnet.kvstore.cluster import is_loopback
from hybridnet.runtime.between_tasks import (
    DeviceProgram,
    GraphRun,
    Rendezvous,
    StepExchange,
    TravellingTensor,
)
from hybridnet.runtime.contexts import has_begun
from hybridnet.runtime.placing import find_device, list_devices

from .channel import split_address
from .containers import is_in
from .endpoint import Endpoint, refusal
from .errors import AbortedError, ClusterError, StaleError
from .optimistic import NotingRendezvous, RepeatedRendezvous
from .packets import Packet
from .registered import Registered, read_registered
from .shared_service import SharedService
from .step_trace import StepTrace

_log: Final = logging.getLogger("hybridnet.cluster")
#: Threads that run parts; those of more steps wait.
_THREADS: Final = 16
#: Parts of graphs that are remembered at most; the oldest give way.
_GRAPHS: Final = 4096

#: What the job of parameter servers is called, by custom.
_SERVERS: Final = "ps"

#: The tasks of this process, by their address; those of its parent are none, if it was forked.
_here: Final[dict[str, ClusterTask]] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_here.clear)


def task_name(job: str, number: int) -> str:
    """Returns the name of a task."""
    return f"/job:{job}/replica:0/task:{number}"


def task_at(target: str) -> ClusterTask | None:
    """Returns the task of this process that an address is of; None if there is none."""
    return _here.get(target.removeprefix("grpc://"))


@dataclass(eq=False, slots=True)
class _Step:
    """A step that is under way on this task.

    Attributes:
        held: the variables' values that it reads and changes.
        is_late: whether they are those of the moment when what came from other tasks was there.
        trace: what notes when what ran; None where the client has not asked for it.
        is_given_up: whether nobody waits for it any more: then it changes no variable.
    """

    number: int
    client: str
    asked: Packet
    graph: Registered
    held: Mapping[str, Any]
    feeds: dict[int, Any]
    rendezvous: Rendezvous
    is_late: bool = False
    trace: StepTrace | None = None
    is_given_up: bool = False


@final
class ClusterTask:
    """A process of a cluster.

    Args:
        jobs: the addresses of all tasks, by job and number.
        job: its job.
        number: its number there.

    Attributes:
        name: ``/job:ps/replica:0/task:0``.
        address: ``host:port``.
        generation: tells it from a process that had its place before.

    Raises:
        MXNetError: it is not one of the cluster, or its address is taken.
    """

    def __init__(self, jobs: Mapping[str, Mapping[int, str]], job: str, number: int) -> None:
        if number not in jobs.get(job, {}):
            raise MXNetError(f"cluster: there is no task {number} of job {job!r} in {dict(jobs)}")
        self.name = task_name(job, number)
        self.generation = secrets.randbits(60) + 1
        self.jobs = {one: dict(tasks) for one, tasks in jobs.items()}
        for where in (one for tasks in jobs.values() for one in tasks.values()):
            split_address(where)  # a wrong one would be met in the midst of a step
        given = jobs[job][number]
        _share_machine(jobs, job, split_address(given)[0])
        addresses = {
            task_name(one, n): where for one, tasks in jobs.items() for n, where in tasks.items()
        }
        self.endpoint = Endpoint(self.name, given, addresses)
        self.address = f"{split_address(given)[0]}:{self.endpoint.port}"
        self.jobs[job][number] = self.endpoint.addresses[self.name] = self.address
        self._held: Mapping[str, Any] = {}
        self._graphs: dict[int, Registered] = {}
        self._steps: dict[int, _Step] = {}
        self._numbers = itertools.count(1)
        self._lock = RLock()
        self._late_lock = RLock()
        self._pool = ThreadPoolExecutor(_THREADS, "hybridnet-task")
        self._ended = Flag()
        self._exchange = StepExchange(self.endpoint)
        self._older: frozenset[int] = frozenset()
        self.endpoint.ticks.append(self._ask_again)
        self.endpoint.lost.append(self._lose)
        self.endpoint.handlers.update(
            devices=self._tell_devices, types=self._tell_types, register=self._register,
            run=self._run, end=self._end, fetch=self._fetch, assign=self._assign, reset=self._reset,
        )  # fmt: skip
        self._shared = SharedService(self.endpoint, self._check)
        _here[self.address] = self

    def join(self) -> None:
        """Waits until the task is closed, or for Ctrl-C."""
        while not self._ended.wait(3600):
            pass

    def close(self) -> None:
        """Ends it: nobody reaches it any more, and its variables are gone."""
        _here.pop(self.address, None)
        share_processors(1)
        self._ended.set()
        self.endpoint.close()
        self._pool.shutdown(wait=False)
        self._held = {}

    def _later(self, work: Callable[..., None], *args: Any) -> None:
        """Runs a function in a thread of the pool; a task that is closed does nothing any more."""
        try:
            self._pool.submit(work, *args)
        except RuntimeError:
            if not self._ended.is_set:
                raise

    # -- what it tells -----------------------------------------------------------------------

    def _tell_devices(self, sender: str, asked: Packet) -> None:
        devices = [[one.context.device_type, one.context.device_id] for one in list_devices()]
        words = {
            "task": self.name, "generation": self.generation, "devices": devices,
            "cluster": {job: list(tasks.items()) for job, tasks in self.jobs.items()},
        }  # fmt: skip
        self.endpoint.answer(sender, asked, words)

    def _tell_types(self, sender: str, asked: Packet) -> None:
        self._check(asked)
        held = self._held
        found = {}
        for name in asked.words.get("names", ()):
            value = held.get(name)
            if value is not None:
                found[name] = [list(value.shape), np.dtype(value.dtype).name]
        self.endpoint.answer(sender, asked, {"types": found})

    def _fetch(self, sender: str, asked: Packet) -> None:
        self._check(asked)
        held = self._held
        names = [name for name in asked.words.get("names", ()) if name in held]
        tensors = [TravellingTensor.of(_host(held[name])) for name in names]
        self.endpoint.answer(sender, asked, {"names": names}, tensors)

    def _assign(self, sender: str, asked: Packet) -> None:
        self._later(self._answering, sender, asked, self._assigned)

    def _assigned(self, asked: Packet) -> dict[str, Any]:
        self._check(asked)
        device = find_device("")
        names = asked.words.get("names", ())
        pairs = zip(names, asked.tensors, strict=True)
        new = {str(name): device.receive(one.array()) for name, one in pairs}
        with self._lock:
            self._held = {**self._held, **new}
        return {}

    def _reset(self, sender: str, asked: Packet) -> None:
        """Forgets what is in some containers."""
        self._check(asked)
        given = asked.words.get("containers")
        if given is not None and not (
            isinstance(given, list) and all(isinstance(one, str) for one in given)
        ):
            raise FormatError("containers must be a list of names")
        with self._lock:
            self._held = {key: one for key, one in self._held.items() if not is_in(key, given)}
        self._shared.forget(given)
        self.endpoint.answer(sender, asked, {})

    def _register(self, sender: str, asked: Packet) -> None:
        self._later(self._answering, sender, asked, self._registered)

    def _registered(self, asked: Packet) -> dict[str, Any]:
        self._check(asked)
        made = read_registered(asked.words, self.name)
        with self._lock:
            number = next(self._numbers)
            self._graphs[number] = made
            if len(self._graphs) > _GRAPHS:
                del self._graphs[next(iter(self._graphs))]
        return {"graph": number}

    def _answering(
        self, sender: str, asked: Packet, work: Callable[[Packet], dict[str, Any]]
    ) -> None:
        try:
            words = work(asked)
        except Exception as error:
            words = dict(refusal(error))
        self.endpoint.answer(sender, asked, words)

    def _check(self, asked: Packet) -> None:
        expected = asked.words.get("generation")
        if expected is not None and expected != self.generation:
            raise AbortedError(
                f"task {self.name} was started anew; the variables of {self.name} are gone: "
                "restore a checkpoint, or initialize them, in a new session"
            )

    # -- steps -------------------------------------------------------------------------------

    def _run(self, sender: str, asked: Packet) -> None:
        self._check(asked)
        words = asked.words
        for over in words.get("over", ()):
            self._end_step(over, None)
        number, graph = words.get("step"), self._graphs.get(words.get("graph", 0))
        if graph is None:
            raise StaleError(f"task {self.name} has no such graph")
        if type(number) is not int or number in self._steps:
            raise FormatError("a step has a number of its own")
        if self._exchange.has_ended(number):  # short messages may overtake long ones
            raise ClusterError("the client has given the step up")
        held = self._held
        feeds = dict(zip(words.get("feeds", ()), (one.array() for one in asked.tensors)))  # noqa: B905
        if not self._fits(graph, held):
            names = ", ".join(sorted(graph.reads.values()))
            raise StaleError(f"a variable of task {self.name} is not as it was: one of {names}")
        trace = StepTrace(graph) if words.get("trace") is True else None
        watch = None if trace is None else trace.take_transfer
        meeting: Rendezvous = self._exchange.begin(number, graph.owners, graph.is_short, watch)
        if graph.writes:
            meeting = NotingRendezvous(meeting, graph.devices)
        step = _Step(number, sender, asked, graph, held, feeds, meeting, trace=trace)
        self._steps[number] = step
        self._start(step)  # what takes long in it are tasks of the engine

    def _start(self, step: _Step) -> None:
        try:
            run = self._begun(step, step.rendezvous)
        except Exception as error:
            self._fail(step, error)
            return
        if step.trace is not None:
            run.when_ended(lambda: self._later(self._finish, step, run))
            return
        run.when_ended(lambda: self._take_end(step, run))

    def _begun(self, step: _Step, meeting: Rendezvous) -> GraphRun:
        """Starts the run of a step's parts, with the variables that it holds."""
        graph = step.graph
        given: list[Any] = [None] * (max(graph.places, default=-1) + 1)
        for number, plan in graph.places.items():
            if number in graph.reads:
                given[number] = step.held[graph.reads[number]]
            elif number in step.feeds:
                given[number] = plan.device.receive(step.feeds[number])
            else:
                raise FormatError(f"input {number} was not given")
        refresh = self._refresh(step) if graph.late else None
        count, is_short = graph.num_outputs, graph.is_short
        run = GraphRun(graph.plans, meeting, {}, count, None, refresh, is_short)
        run.start(given)
        return run

    def _refresh(self, step: _Step) -> Callable[[DeviceProgram, list[Any]], None]:
        """Returns what has variables changed from their values of now.

        What comes from other tasks comes late, and by then other steps have changed the variables,
        so that nearly every step would be repeated (see `optimistic`).
        """
        late = step.graph.late

        def refresh(program: DeviceProgram, values: list[Any]) -> None:
            if program not in late:
                return
            with self._late_lock:  # not the other, which is held while a repeated run goes on
                if not step.is_late:
                    held = self._held
                    if self._fits(step.graph, held):
                        step.held = held
                    step.is_late = True
            for place, name in late[program]:
                values[place] = step.held[name]

        return refresh

    def _fits(self, graph: Registered, held: Mapping[str, Any]) -> bool:
        """Whether variables have the types that a part was cut for."""
        for place, name in graph.reads.items():
            value, kind = held.get(name), graph.input_types[place]
            if value is None or tuple(value.shape) != kind.shape or value.dtype != kind.dtype:
                return False
        return True

    def _take_end(self, step: _Step, run: GraphRun) -> None:
        """Answers at once where there is little to wait for; else a thread of the pool does.

        It is called by the thread that did the run's last work, whose queue stands still meanwhile:
        the repeat of a run would wait for that very thread.
        """
        if run.error is not None or not (step.graph.is_short or _is_computed(run)):
            self._later(self._finish, step, run)
            return
        try:
            _made(run, step.graph)
        except Exception as error:
            self._fail(step, error)
            return
        written: list[bool] = []
        if_free(self._lock, lambda: written.append(self._write(step, run.outputs)))
        if any(written):
            self._answer(step, run.outputs)
        else:
            self._later(self._finish, step, run)

    def _finish(self, step: _Step, run: GraphRun) -> None:
        """Waits for a run's results, and repeats it where it has to be."""
        try:
            outputs = _made(run, step.graph)
            with self._lock:
                if not self._write(step, outputs):
                    outputs = self._repeated(step)
        except Exception as error:
            self._fail(step, error)
            return
        self._answer(step, outputs)

    def _answer(self, step: _Step, outputs: Sequence[Any]) -> None:
        try:
            heads = [number for number in step.graph.heads if outputs[number] is not None]
            tensors = [TravellingTensor.of(_host(outputs[number])) for number in heads]
        except Exception as error:
            self._fail(step, error)
            return
        words: dict[str, Any] = {"heads": heads}
        if step.trace is not None:
            step.trace.end()
            words["trace"] = step.trace.rows
        self.endpoint.answer(step.client, step.asked, words, tensors)

    def _write(self, step: _Step, outputs: Sequence[Any]) -> bool:
        """Gives variables their new values, unless another step has changed them meanwhile.

        The lock is held.
        """
        if step.is_given_up:
            return True
        graph = step.graph
        if any(self._held.get(name) is not step.held[name] for name in graph.updates):
            return False
        if graph.writes:
            new = {name: outputs[number] for number, name in graph.writes.items()}
            self._held = {**self._held, **new}
        return True

    def _repeated(self, step: _Step) -> Sequence[Any]:
        """Runs a step once more on the variables' values of now; see `optimistic`.

        The lock is held, so that nobody changes them again.
        """
        assert isinstance(step.rendezvous, NotingRendezvous)
        step.held, step.is_late = self._held, True
        ended = Flag()
        again = RepeatedRendezvous(step.rendezvous.came, step.graph.devices)
        run = self._begun(step, again)
        run.when_ended(ended.set)
        ended.wait()
        outputs = _made(run, step.graph)
        self._write(step, outputs)
        return outputs

    def _fail(self, step: _Step, error: BaseException) -> None:
        if step.trace is not None:
            step.trace.end()
        step.rendezvous.abort(error)
        self._refuse(step, error)

    def _refuse(self, step: _Step, error: BaseException) -> None:
        self.endpoint.answer(step.client, step.asked, refusal(error))

    def _end(self, sender: str, asked: Packet) -> None:
        for number in asked.words.get("steps", ()):
            self._end_step(number, asked.words.get("why"))

    def _end_step(self, number: Any, why: Any) -> None:
        if type(number) is not int:
            raise FormatError("a step has a number")
        step = self._steps.pop(number, None)
        if step is not None and why is not None:
            step.is_given_up = True
            step.rendezvous.abort(ClusterError(str(why)))
        self._exchange.end(number)

    def _ask_again(self) -> None:
        """Makes the steps that were under way a tick ago ask for what has not come.

        What a younger one waits for is on its way, and would be sent twice.
        """
        older, self._older = self._older, frozenset(self._steps.copy())
        self._exchange.resend(older)

    def _lose(self, name: str) -> None:
        """Ends the steps of a client that is gone."""
        for step in [one for one in self._steps.values() if one.client == name]:
            _log.info("step %d ends: its client %s is gone", step.number, name)
            step.is_given_up = True
            step.rendezvous.abort(ClusterError(f"the client {name} is gone"))
            self._steps.pop(step.number, None)
            self._exchange.end(step.number)


def _share_machine(jobs: Mapping[str, Mapping[int, str]], job: str, host: str) -> None:
    """Leaves tasks of the same machine what they need of it.

    The tasks of a job do the same at the same time, each with its part of the processors. And they
    do not interrupt a parameter server, which all wait for.
    """
    if not has_begun():  # XLA's threads are as many as they are
        share_processors(_count_at(host, jobs[job].values()))
    if job != _SERVERS and _count_at(host, jobs.get(_SERVERS, {}).values()):
        set_batch_policy()


def _count_at(host: str, addresses: Iterable[str]) -> int:
    """Counts the addresses that are of a host."""
    hosts = [split_address(one)[0] for one in addresses]
    return sum(one == host or (is_loopback(one) and is_loopback(host)) for one in hosts)


def _made(run: GraphRun, graph: Registered) -> Sequence[Any]:
    """Returns the outputs of a run that has ended, computed.

    Raises:
        MXNetError: it failed.
    """
    if run.error is not None:
        raise run.error
    for number in graph.writes:
        value = run.outputs[number]
        if hasattr(value, "block_until_ready"):
            value.block_until_ready()
    return run.outputs


def _is_computed(run: GraphRun) -> bool:
    """Whether nothing is left of it that XLA still computes."""
    return all(value.is_ready() for value in run.outputs if hasattr(value, "is_ready"))


def _host(value: Any) -> NumpyArray:
    return value.numpy if type(value) is HostArray else np.asarray(value)

"""`ClusterRunner`: runs a session's requests on the tasks of a cluster.

What `hybridnet.session.Runner` is in one process.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context, cpu
from hybridnet.base.device_name import DeviceName
from hybridnet.base.errors import MXNetError
from hybridnet.base.host_array import HostArray
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.engine import RLock
from hybridnet.graph import Node
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.copies import aligned
from hybridnet.ops.random import initial_state
from hybridnet.runtime.between_tasks import TravellingTensor
from hybridnet.runtime.recording import Value
from hybridnet.session import RunStep, Trace
from hybridnet.session.step import Ready, TypeOf, made_for_types, make_ready, make_step

from .cut import TaskPart, cut, wishes_in
from .errors import LateError, StaleError
from .members import Members, waited
from .packets import Packet
from .shared_client import SharedClient
from .variables import ClusterVariables

#: Requests and their programs that are remembered; the least recently used give way.
_LIMIT: Final = 256
#: How often a step is cut anew where variables changed their types meanwhile.
_AGAIN: Final = 3


class _Program:
    """A request that was cut, for some types of its inputs."""

    def __init__(self, ready: Ready, parts: Mapping[str, TaskPart]) -> None:
        self.ready = ready
        self.parts = parts
        self.graphs: dict[str, int] = {}


@final
class _Answers:
    """Answers that are waited for, all of them or the first that is an error.

    `concurrent.futures.wait` does so, too, and takes 20 us, of which a step has few.
    """

    __slots__ = ("_count", "_ended")

    def __init__(self, wanted: Collection[Future[Packet]]) -> None:
        self._count = itertools.count(1 - len(wanted))
        self._ended: SimpleQueue[None] = SimpleQueue()
        if not wanted:
            self._ended.put(None)
        for one in wanted:
            one.add_done_callback(self._note)

    def _note(self, one: Future[Packet]) -> None:
        if next(self._count) == 0 or one.exception() is not None:
            self._ended.put(None)

    def wait(self, timeout: float | None) -> None:
        """Waits, at most some seconds."""
        with contextlib.suppress(Empty):
            self._ended.get(timeout=timeout)


@final
class ClusterRunner:
    """Runs requests on the tasks of a cluster.

    Args:
        target: the address of a task, ``host:port``; nodes that name no device run there.
        constants: values of nodes that stand for large constants.
        expected: the type that a node's value would have, where that is known.
        missing: the error for a node that has no value.
        seed: where its random numbers begin; None: anywhere.
        soft: whether nodes that cannot be on their device are put on another.
        timeout: seconds that a step may take; None: any.

    Attributes:
        variables: of the tasks, as far as this client knows of them.
        shared: asks queues and accumulators of the tasks.
        step: returns the step of a `Request`, which is made once.

    Raises:
        UnavailableError: the target does not answer.
    """

    def __init__(
        self,
        target: str,
        constants: Mapping[Node, NumpyArray],
        expected: Callable[[Node], TensorType | None],
        missing: Callable[[Node], MXNetError],
        seed: int | None,
        soft: bool,
        timeout: float | None = None,
    ) -> None:
        self.ctx: Context = cpu(0)
        self._constants = constants
        self._expected = expected
        self._missing = missing
        self._soft = soft
        self.timeout = timeout
        self._members = Members(target, timeout)
        weakref.finalize(self, self._members.close).atexit = False  # for who does not close it
        number = secrets.randbits(31) if seed is None else seed
        self._state: NumpyArray = np.array(initial_state(number))
        self.variables: Final = ClusterVariables(self._members, self.ctx, timeout, soft)
        self.shared: Final = SharedClient(self._members, self.variables.home_of)
        self.step: Final = lru_cache(_LIMIT)(make_step)
        self._programs: OrderedDict[Any, _Program] = OrderedDict()
        self._first_step = secrets.randbits(31) << 31
        self._lock = RLock()

    def set(self, values: Mapping[Node, NDArray]) -> None:
        """Gives variables values."""
        self.variables.set(values)

    def clear(self) -> None:
        """Leaves the cluster; the variables stay."""
        self._programs.clear()
        self.step.cache_clear()
        self._members.close()

    def reset(self, containers: Sequence[str] | None = None) -> None:
        """Makes all tasks forget the variables, queues and accumulators of some containers.

        Args:
            containers: by name, '' for the default one; None: all.
        """
        given = None if containers is None else list(containers)
        words = {"kind": "reset", "containers": given}
        asked = [self._members.request(task, words) for task in self._members.addresses]
        for one in asked:
            waited(one, self.timeout)

    def devices(self) -> list[DeviceName]:
        """Returns the devices of all tasks, which must be there."""
        names = self._members.addresses
        return [site.name for one in names for site in self._members.member(one).sites]

    def run_step(
        self, step: RunStep, feeds: Sequence[Any], trace: Trace | None = None
    ) -> list[NDArray]:
        """Runs a request on the tasks that it needs; see `Runner.run`.

        Raises:
            UnavailableError: a task died.
            AbortedError: a task came back, and its variables are gone.
            LateError: it took too long.
            MXNetError: a value is missing, or a node fails.
        """
        arrays = [one.asnumpy() if isinstance(one, NDArray) else np.asarray(one) for one in feeds]
        for turn in range(_AGAIN):
            values = self._given(step, arrays)
            program = self._program(step, values)
            try:
                return self._ran(program, values, trace)
            except StaleError:
                self.variables.forget(step.graph.inputs)
                program.graphs.clear()
                if turn == _AGAIN - 1:
                    raise
        raise AssertionError

    def _given(self, step: RunStep, feeds: Sequence[Any]) -> dict[Node, Any]:
        """Returns what the client gives to a step, and learns the types of variables."""
        inputs = step.graph.inputs
        count = len(inputs) - len(feeds)
        found = dict(zip(inputs[count:], feeds, strict=True))
        unknown = []
        for node in inputs[:count]:
            constant = self._constants.get(node)
            if constant is not None:
                found[node] = constant
            elif node not in self.variables.types:
                unknown.append(node)
        self.variables.learn(unknown)
        return found

    def _program(self, step: RunStep, given: Mapping[Node, Any]) -> _Program:
        inputs = step.graph.inputs
        types = {
            node: tensor_type(given[node].shape, given[node].dtype)
            if node in given
            else self.variables.types.get(node)
            for node in inputs
        }
        hosts = {}
        for number in step.values:
            node = inputs[number]
            value = given.get(node)
            if value is None and node in self.variables.types:
                fetched = self.variables.get(node)
                value = None if fetched is None else fetched.asnumpy()
            if value is not None:
                hosts[node] = value
        key = (step, *types.values(), *(value.tobytes() for value in hosts.values()))
        with self._lock:
            found = self._programs.get(key)
            if found is not None:
                self._programs.move_to_end(key)
                return found
        made = self._made(step, types, hosts, given)
        with self._lock:
            found = self._programs.setdefault(key, made)
            if len(self._programs) > _LIMIT:
                self._programs.popitem(last=False)
        return found

    def _made(
        self,
        step: RunStep,
        types: Mapping[Node, TensorType | None],
        hosts: Mapping[Node, Any],
        given: Mapping[Node, Any],
    ) -> _Program:
        def make(type_of: TypeOf, expected: TypeOf) -> Ready:
            is_held = self.variables.types.__contains__
            return make_ready(step, type_of, expected, hosts, is_held)

        ready = made_for_types(step, types, self._expected, self._missing, make)
        inputs = ready.graph.inputs[: len(ready.reads)]
        held = [node for node in inputs if node not in given]
        variables = {node: self.variables.home_of(node) for node in (*held, *ready.writes)}
        wishes = wishes_in(ready.graph)
        wishes.update((DeviceName.parse(home), node) for node, home in variables.items())
        sites = [site for one in self._members.taking_part(wishes) for site in one.sites]
        parts = cut(ready, sites, str(sites[0].name), variables, self._soft, self._members.own)
        return _Program(ready, parts)

    def _ran(
        self, program: _Program, given: Mapping[Node, Any], trace: Trace | None
    ) -> list[NDArray]:
        seconds = self.timeout if trace is None or trace.timeout is None else trace.timeout
        self._register(program, seconds)
        ready, parts = program.ready, program.parts
        inputs = ready.graph.inputs
        with self._lock:
            self._first_step += 1
            number, state = self._first_step, self._state
        asked: dict[str, Future[Packet]] = {}
        why: str | None = "the client has given it up"
        try:
            for task, part in parts.items():
                fed = [n for n in part.inputs if n >= len(ready.reads) or inputs[n] in given]
                arrays = [state if n >= len(ready.reads) else given[inputs[n]] for n in fed]
                words = {
                    "kind": "run", "step": number, "graph": program.graphs[task], "feeds": fed,
                    "over": self._members.over(task),
                }  # fmt: skip
                if trace is not None and trace.is_timed:
                    words["trace"] = True
                if task == self._members.own:  # which takes them as they are
                    arrays = [_copied(one) for one in arrays]
                tensors = [TravellingTensor.of(one) for one in arrays]
                asked[task] = self._members.request(task, words, tensors)
            answers = self._answers(asked, seconds)
            why = None
        except MXNetError as error:
            why = str(error)
            raise
        finally:
            for task in asked:
                self._members.end(task, number, why)
        if trace is not None:
            graphs = {name: one for part in parts.values() for name, one in part.graphs.items()}
            trace.take([row for one in answers for row in one.words.get("trace", ())], graphs)
        return self._results(ready, answers)

    def _answers(self, asked: Mapping[str, Future[Packet]], seconds: float | None) -> list[Packet]:
        """Waits for all; the first error ends it."""
        _Answers(asked.values()).wait(seconds)
        late = [task for task, one in asked.items() if not one.done()]
        answers = [one.result() for task, one in asked.items() if task not in late]
        if late:
            raise LateError(f"{', '.join(late)} did not end the step in {seconds:g} s")
        return answers

    def _results(self, ready: Ready, answers: Sequence[Packet]) -> list[NDArray]:
        found: dict[int, Any] = {}
        for one in answers:
            found.update(zip(one.words["heads"], one.tensors, strict=True))
        if ready.draws:
            self._state = found[len(ready.graph.outputs) - 1].array()
        return [self._result(found[number].array()) for number in range(ready.num_heads)]

    def _result(self, host: NumpyArray) -> NDArray:
        """Returns a copy of a tensor, which may be a variable of this process."""
        kind = tensor_type(host.shape, host.dtype)
        return NDArray.from_value(Value(kind, HostArray(np.array(host), self.ctx)), self.ctx)

    def _register(self, program: _Program, seconds: float | None) -> None:
        """Tells each task its part, once."""
        left = {task: part for task, part in program.parts.items() if task not in program.graphs}
        asked = {task: self._members.request(task, part.words) for task, part in left.items()}
        for task, one in asked.items():
            program.graphs[task] = waited(one, seconds).words["graph"]


def _copied(array: NumpyArray) -> NumpyArray:
    """Returns a copy that a device takes over."""
    made = aligned(array.shape, array.dtype)
    np.copyto(made, array)
    return made

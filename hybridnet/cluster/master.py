"""`ClusterRunner`: runs a session's requests on the tasks of a cluster.

What `hybridnet.session.runner.Runner` is in one process. The variables are the tasks', by name: all
clients see the same ones, and they stay when a client goes.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Final, final

import numpy as np

from hybridnet.base.context import Context, cpu
from hybridnet.base.device_name import DeviceName
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph.node import Node
from hybridnet.ndarray import NDArray, array
from hybridnet.ops.random.state import initial_state
from hybridnet.passes.place import wish_of
from hybridnet.runtime.executor.task_messages import TravellingTensor
from hybridnet.session.step import Ready, Request, RunStep, make_ready, make_step, unwritten

from .cut import TaskPart, cut, task_of, wishes_in
from .errors import LateError, StaleError
from .members import Members, waited
from .packets import Packet

__all__ = ["ClusterRunner"]

#: Requests that are remembered; the least recently used give way.
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

    Raises:
        UnavailableError: the target does not answer.
    """

    def __init__(
        self,
        target: str,
        constants: Mapping[Node, np.ndarray[Any, Any]],
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
        self._members = Members(target)
        number = secrets.randbits(31) if seed is None else seed
        self._state: np.ndarray[Any, Any] = np.array(initial_state(number))
        self._known: dict[Node, TensorType] = {}
        self._homes: dict[Node, str] = {}
        self._steps: OrderedDict[Request, RunStep] = OrderedDict()
        self._programs: dict[Any, _Program] = {}
        self._first_step = secrets.randbits(31) << 31
        self._lock = threading.RLock()

    # -- variables ---------------------------------------------------------------------------

    @property
    def variables(self) -> Mapping[Node, NDArray]:
        """The values of the variables that this client knows of, which are fetched one by one."""
        return _Variables(self, self._known)

    def value_of(self, node: Node) -> NDArray | None:
        """Returns the value of a variable, or None."""
        task = task_of(self._home_of(node))
        found = waited(
            self._members.request(task, {"kind": "fetch", "names": [node.name]}), self.timeout
        )
        if not found.tensors:
            return None
        host = found.tensors[0].array()
        return array(host, self.ctx, host.dtype)

    def set(self, values: Mapping[Node, NDArray]) -> None:
        """Gives variables values."""
        for node, value in values.items():
            words = {"kind": "assign", "names": [node.name]}
            tensor = TravellingTensor.of(value.asnumpy())
            task = task_of(self._home_of(node))
            waited(self._members.request(task, words, [tensor]), self.timeout)
            self._known[node] = tensor_type(value.shape, np.dtype(value.dtype))

    def clear(self) -> None:
        """Leaves the cluster; the variables stay."""
        self._programs.clear()
        self._steps.clear()
        self._members.close()

    def devices(self) -> list[DeviceName]:
        """Returns the devices of all tasks, which must be there."""
        names = self._members.addresses
        return [site.name for one in names for site in self._members.member(one).sites]

    # -- runs --------------------------------------------------------------------------------

    def step(self, request: Request) -> RunStep:
        """See `Runner.step`."""
        with self._lock:
            found = self._steps.get(request)
            if found is None:
                found = self._steps[request] = make_step(request)
                while len(self._steps) > _LIMIT:
                    self._steps.popitem(last=False)
            self._steps.move_to_end(request)
            return found

    def run_step(self, step: RunStep, feeds: Sequence[Any], trace: Any = None) -> list[NDArray]:
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
                return self._ran(program, step, values)
            except StaleError:
                for node in step.graph.inputs:
                    self._known.pop(node, None)
                program.graphs.clear()
                if turn == _AGAIN - 1:
                    raise
        raise AssertionError

    def _given(self, step: RunStep, feeds: Sequence[Any]) -> dict[Node, Any]:
        """Returns what the client gives to a step, and learns the types of variables."""
        inputs = step.graph.inputs
        count = len(inputs) - len(feeds)
        found = dict(zip(inputs[count:], feeds, strict=True))
        unknown: dict[str, list[Node]] = {}
        for node in inputs[:count]:
            constant = self._constants.get(node)
            if constant is not None:
                found[node] = constant
            elif node not in self._known:
                unknown.setdefault(task_of(self._home_of(node)), []).append(node)
        for task, nodes in unknown.items():
            words = {"kind": "types", "names": [node.name for node in nodes]}
            types = waited(self._members.request(task, words), self.timeout).words["types"]
            for node in nodes:
                if node.name in types:
                    shape, dtype = types[node.name]
                    self._known[node] = tensor_type(tuple(shape), as_dtype(dtype))
        return found

    def _home_of(self, node: Node) -> str:
        """Returns the device of a variable."""
        if node not in self._homes:
            wish = wish_of(node, {})
            sites = [one for m in self._members.taking_part([wish]) for one in m.sites]
            covered = [str(site.name) for site in sites if wish.covers(site.name)]
            self._homes[node] = covered[0] if covered else str(sites[0].name)
        return self._homes[node]

    def _program(self, step: RunStep, given: Mapping[Node, Any]) -> _Program:
        inputs = step.graph.inputs
        types = {
            node: tensor_type(given[node].shape, given[node].dtype)
            if node in given
            else self._known.get(node)
            for node in inputs
        }
        hosts = {}
        for number in step.values:
            node = inputs[number]
            value = given.get(node)
            if value is None and node in self._known:
                fetched = self.value_of(node)
                value = None if fetched is None else fetched.asnumpy()
            if value is not None:
                hosts[node] = value
        key = (step, *types.values(), *(value.tobytes() for value in hosts.values()))
        found = self._programs.get(key)
        if found is None:
            found = self._programs[key] = self._made(step, types, hosts, given)
            while len(self._programs) > _LIMIT:
                del self._programs[next(iter(self._programs))]
        return found

    def _made(
        self,
        step: RunStep,
        types: Mapping[Node, TensorType | None],
        hosts: Mapping[Node, Any],
        given: Mapping[Node, Any],
    ) -> _Program:
        def type_of(node: Node) -> TensorType:
            kind = types[node]
            if kind is None:
                raise self._missing(node)
            return kind

        def expected(node: Node) -> TensorType:
            return types[node] or self._expected(node) or tensor_type((), np.dtype("float32"))

        try:
            ready = make_ready(step, type_of, expected, hosts, self._known.__contains__)
        except MXNetError:
            for node in unwritten(step):
                type_of(node)
            raise
        inputs = ready.graph.inputs[: len(ready.reads)]
        held = [node for node in inputs if node not in given]
        variables = {node: self._home_of(node) for node in (*held, *ready.writes)}
        wishes = [*wishes_in(ready.graph), *map(DeviceName.parse, variables.values())]
        sites = [site for one in self._members.taking_part(wishes) for site in one.sites]
        parts = cut(ready, sites, str(sites[0].name), variables, self._soft, self._members.own)
        return _Program(ready, parts)

    def _ran(self, program: _Program, step: RunStep, given: Mapping[Node, Any]) -> list[NDArray]:
        self._register(program)
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
                words = {"kind": "run", "step": number, "graph": program.graphs[task], "feeds": fed}
                tensors = [TravellingTensor.of(one) for one in arrays]
                asked[task] = self._members.request(task, words, tensors)
            answers = self._answers(asked)
            why = None
        except MXNetError as error:
            why = str(error)
            raise
        finally:
            for task in asked:
                self._members.tell(task, {"kind": "end", "step": number, "why": why})
        return self._results(ready, answers)

    def _answers(self, asked: Mapping[str, Future[Packet]]) -> list[Packet]:
        """Waits for all; the first error ends it."""
        waiting = set(asked.values())
        end = None if self.timeout is None else time.monotonic() + self.timeout
        while waiting:
            left = 3600.0 if end is None else max(0.0, end - time.monotonic())
            done, waiting = wait(waiting, left, "FIRST_COMPLETED")
            for one in done:
                one.result()
            if not done and end is not None:
                late = [task for task, one in asked.items() if not one.done()]
                raise LateError(f"{', '.join(late)} did not end the step in {self.timeout:g} s")
        return [one.result() for one in asked.values()]

    def _results(self, ready: Ready, answers: Sequence[Packet]) -> list[NDArray]:
        found: dict[int, Any] = {}
        for one in answers:
            found.update(zip(one.words["heads"], one.tensors, strict=True))
        if ready.draws:
            self._state = found[len(ready.graph.outputs) - 1].array()
        hosts = [found[number].array() for number in range(ready.num_heads)]
        return [array(host, self.ctx, host.dtype) for host in hosts]

    def _register(self, program: _Program) -> None:
        """Tells each task its part, once."""
        left = {task: part for task, part in program.parts.items() if task not in program.graphs}
        asked = {task: self._members.request(task, part.words) for task, part in left.items()}
        for task, one in asked.items():
            program.graphs[task] = waited(one, self.timeout).words["graph"]


@final
class _Variables(Mapping[Node, NDArray]):
    """The values of a client's variables."""

    def __init__(self, runner: ClusterRunner, known: Mapping[Node, TensorType]) -> None:
        self._runner = runner
        self._known = known

    def __getitem__(self, node: Node) -> NDArray:
        found = self._runner.value_of(node)
        if found is None:
            raise KeyError(node)
        return found

    def __iter__(self) -> Iterator[Node]:
        return iter(tuple(self._known))

    def __len__(self) -> int:
        return len(self._known)

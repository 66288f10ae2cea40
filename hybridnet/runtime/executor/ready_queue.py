"""Another order of a device's programs than the executor's own: who decides it, and what checks it.

    class First(hn.runtime.ReadyQueue):
        ...

    hn.runtime.set_ready_queue(First)   # for all runs that begin from now on
    hn.runtime.set_ready_queue(None)    # the executor decides by itself again

In its own order the executor starts each program as soon as all its tensors are there. A queue
decides for a device that runs one program at a time: whenever nothing is under way there, it is
asked what is next (Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous
Distributed Systems", 2015, section 3.1).

`Dataflow` still keeps the account of what is there, and each answer is held against that: the first
that is wrong ends the run with an error, so that no program runs too early and none waits for ever.
(One that never returns cannot be helped.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.interrupts import is_from_signal

from .dataflow import Dataflow, Iteration, Todo
from .device_plan import DevicePlan, DeviceProgram, Step
from .rendezvous import Received


@final
@dataclass(frozen=True, eq=False, slots=True)
class ReadyProgram:
    """A program of a device, as a `ReadyQueue` sees it. It can be a key of dicts.

    Attributes:
        number: its place among the programs of its device, from 0.
        title: the device and some of its nodes, for people.
        reads: the slots of the tensors that it waits for, each once; () where it waits for none.
        urgency: the least time, in microseconds by the cost model, from its start to the end of the
            run: the larger, the more urgent.
    """

    number: int
    title: str
    reads: tuple[int, ...]
    urgency: int

    def __repr__(self) -> str:
        return f"<program {self.number}: {self.title}>"


class ReadyQueue(ABC):
    """Decides what one device runs next, in one run; see `hybridnet.runtime.set_ready_queue`.

    It is called by one thread at a time, under a lock: it must not wait.
    """

    @abstractmethod
    def put(self, slots: Sequence[int]) -> None:
        """Takes note that tensors have come: fed, received, or made by a program that has ended.

        Args:
            slots: theirs. No slot comes twice in a run; some are read by no program, others by
                several.
        """

    @abstractmethod
    def next(self) -> ReadyProgram | None:
        """Returns the program to run now, of those whose tensors have all come, each once.

        None means that there is no such program.
        """


class ReadyQueueError(MXNetError):
    """A wrong answer of a `ReadyQueue`'s; its message says which, and why it is wrong."""


@final
class QueuedFlow:
    """The counterpart of `Dataflow` for a device without control flow, whose order a queue decides.

    Args:
        plan: what the device does.
        make: makes the queue, of the device's programs.
    """

    def __init__(
        self, plan: DevicePlan, make: Callable[[Sequence[ReadyProgram]], ReadyQueue]
    ) -> None:
        self._plan: Final = plan
        self._flow: Final = Dataflow(plan)
        self._shown: Final = tuple(
            ReadyProgram(one.number, one.title, (*one.reads, *one.after), one.urgency)
            for one in plan.programs
        )
        self._queue: Final = make(self._shown)
        if not isinstance(self._queue, ReadyQueue):
            raise ParameterError(
                f"set_ready_queue: needs what makes a ReadyQueue, but it made {self._queue!r}"
            )
        #: the programs that may run and have not begun, by number; and those that have.
        self._ready: dict[int, tuple[Iteration, DeviceProgram]] = {}
        self._begun: set[int] = set()
        self._came: set[int] = set()
        self._running: DeviceProgram | None = None

    def start(self, feeds: Iterable[tuple[int, Received]]) -> Todo:
        """See `Dataflow.start`."""
        given = list(feeds)
        return self._asked(self._flow.start(given), [slot for slot, _ in given])

    def put(
        self, iteration: Iteration, tensors: Iterable[tuple[int, Received]], ended: int = 0
    ) -> Todo:
        """See `Dataflow.put`."""
        given = list(tensors)
        slots = [slot for slot, _ in given]
        running = self._running
        # What is received comes in slots of its own, and is never nothing.
        if running is not None and (not slots or slots[0] in (*running.makes, *running.ends)):
            self._running = None
        return self._asked(self._flow.put(iteration, given, ended), slots)

    def decided(self, iteration: Iteration, slot: int, tensor: Received, truth: bool) -> Todo:
        """See `Dataflow.decided`; never called where there is no control flow."""
        return self._flow.decided(iteration, slot, tensor, truth)

    def take(self, iteration: Iteration, step: Step) -> list[Received]:
        """See `Dataflow.take`."""
        return self._flow.take(iteration, step)

    def _asked(self, todo: Todo, slots: Sequence[int]) -> Todo:
        """Tells the queue what came; asks it for a program, if none is under way."""
        self._ready.update((program.number, (at, program)) for at, program in todo.ready)
        todo.ready = []
        self._came.update(slots)
        name = type(self._queue).__name__
        try:
            if slots:
                self._queue.put(slots)
            answer = self._queue.next() if self._running is None else None
        except Exception as error:
            if is_from_signal(error):
                raise
            what = f"the ready queue {name} raised {type(error).__name__}: {error}"
            raise ReadyQueueError(what) from error
        if answer is not None:
            todo.ready = [self._checked(answer, name)]
        elif self._running is None and self._ready:
            _, waiting = next(iter(self._ready.values()))
            raise ReadyQueueError(
                f"the ready queue {name} has no next program, though all that "
                f"{self._shown[waiting.number]!r} reads has come"
            )
        return todo

    def _checked(self, answer: ReadyProgram, name: str) -> tuple[Iteration, DeviceProgram]:
        """Returns the program that is to run.

        Raises:
            ReadyQueueError: it may not run.
        """
        if not any(answer is one for one in self._shown):
            raise ReadyQueueError(
                f"next of the ready queue {name} must return one of the programs that the queue "
                f"was made of, or None, got {answer!r}"
            )
        if answer.number in self._begun:
            raise ReadyQueueError(f"the ready queue {name} returned {answer!r} a second time")
        if answer.number not in self._ready:
            missing = [slot for slot in answer.reads if slot not in self._came]
            raise ReadyQueueError(
                f"the ready queue {name} returned {answer!r} too early: nothing has come yet in "
                f"{_slots(missing)}"
            )
        found = self._ready.pop(answer.number)
        self._begun.add(answer.number)
        self._running = found[1]
        return found


def _slots(numbers: Sequence[int]) -> str:
    return f"slot{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


@final
class _Accounts:
    """The factory of a device's dataflow in a run: nothing is asked where no one has set a queue.

    Attributes:
        make: makes it, of the device's plan.
    """

    __slots__ = ("make",)

    def __init__(self) -> None:
        self.make: Callable[[DevicePlan], Dataflow | QueuedFlow] = Dataflow


accounts: Final = _Accounts()


def set_ready_queue(make: Callable[[Sequence[ReadyProgram]], ReadyQueue] | None) -> None:
    """Lets another decide in what order the programs of a device run, in runs that begin now.

    It decides for graphs on several devices, a queue for each device of each run. A device with
    branches, loops or Python code in its part keeps the executor's own order.

    Args:
        make: called with the programs of a device, before a run begins; returns a `ReadyQueue`.
            None lets the executor decide by itself again.

    Raises:
        ParameterError: it cannot be called.
    """
    if make is None:
        accounts.make = Dataflow
        return
    if not callable(make):
        raise ParameterError(f"set_ready_queue: needs a ReadyQueue class or None, got {make!r}")

    def flow(plan: DevicePlan) -> Dataflow | QueuedFlow:
        if plan.steps or any(program.call.on_host for program in plan.programs):
            return Dataflow(plan)
        return QueuedFlow(plan, make)

    accounts.make = flow

"""The parameter server over simulated network cards: its own state machines, one heap of events.

Worker, server and scheduler are those that real processes run (`kvstore/protocol/`). What is not
real is what they run on:

- a **host** has a card: a queue of bytes out, and one in, each with a bandwidth; a message takes
  both at the same time, and arrives a latency later. Processes of one host do not use it;
- a **process** is one thread: it takes one event after the other, and each costs it seconds, by the
  message and by the byte;
- a **worker's program** computes steps: forwards through the layers, backwards, where one gradient
  after the other becomes ready and is pushed, and the new values come back.

Nothing is random. `scaling.py` compares it with real processes; the test of the priorities of small
parts (`tests/distribution/test_simulated_cards.py`) runs on it, too.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from hybridnet.kvstore.protocol import SchedulerMachine, ServerMachine, WorkerMachine
from hybridnet.kvstore.protocol.machine import Machine
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Applied,
    Arrived,
    CallBarrier,
    CallConfigure,
    CallInit,
    CallPush,
    Commit,
    Deliver,
    Done,
    Fold,
    Gone,
    Incoming,
    InitPart,
    Install,
    KeySpec,
    Part,
    PartId,
    PartValue,
    Peer,
    PeerLost,
    PeerUp,
    Post,
    ProcessIdentity,
    PushPart,
    Raise,
    Remember,
    RunPlan,
    ServerMemory,
    StoredPart,
    StoreSettings,
    Tick,
    Wake,
)

__all__ = ["GIGABIT", "Card", "Costs", "Layer", "Simulation", "Worker"]

#: Bytes a second of a card of 1 Gb/s, less what Ethernet, IP and TCP add.
GIGABIT: Final = 1e9 / 8 * 0.94
_HEADER: Final = 64  # bytes of a message without a payload
_ITEM: Final = 4  # bytes of a float32
_LOCAL: Final = 2e-5  # seconds between two processes of a host


@dataclass(frozen=True)
class Card:
    """A network card.

    Attributes:
        rate: bytes a second, in each direction.
        latency: seconds from one card to another.
    """

    rate: float = 10 * GIGABIT
    latency: float = 5e-5


@dataclass(frozen=True)
class Costs:
    """What processes spend: seconds of their one thread. `scaling.py` measures them.

    Attributes:
        worker: of a worker by the message that it sends or hears.
        server: of a server.
        push: of a worker by the byte that it sends.
        deliver: of a worker by the byte that comes to it.
        fold: of a server by the byte that it hears and adds up.
        update: of a server by the byte that it updates and sends.
    """

    worker: float = 3e-5
    server: float = 3e-5
    push: float = 2e-10
    deliver: float = 4e-10
    fold: float = 4e-10
    update: float = 4e-10


@dataclass(frozen=True)
class Layer:
    """A key of a network, and what computing with it takes.

    Attributes:
        size: floats.
        forward: seconds of the forward pass.
        backward: seconds of the backward pass, at whose end the gradient is ready.
    """

    size: int
    forward: float = 0.0
    backward: float = 0.0


@dataclass
class Host:
    """A machine; when the two directions of its card have nothing more to do."""

    card: Card
    out: float = 0.0
    into: float = 0.0


@dataclass
class Process:
    """A process: a machine, what has happened to it, and until when it is busy."""

    peer: Peer
    host: Host
    machine: Machine
    generation: int = 1
    alive: bool = True
    wake: float = inf
    busy: float = 0.0
    waits: deque[Incoming] = field(default_factory=deque)


@dataclass
class Worker:
    """The program of a worker.

    Attributes:
        layers: of the network.
        steps: how many it makes.
        slow: times as long as others it computes.
        begun: when each step began: its forward pass, if the values are there.
        ended: when all its new values were there.
        fresh: of each step, by key, when its new value was there.
        waits: the layer that waits for its value.
    """

    layers: Sequence[Layer]
    steps: int
    slow: float = 1.0
    begun: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    fresh: list[list[float]] = field(default_factory=list)
    waits: int | None = None


@dataclass
class Disk:
    """What outlives a server."""

    memory: ServerMemory | None = None
    parts: dict[PartId, StoredPart] = field(default_factory=dict)


class Simulation:
    """A run from its start to its last step.

    Args:
        plan: the run's.
        layers: of the network; the first has the highest priority, as `Trainer` gives it.
        steps: how many every worker makes.
        card: of every host.
        costs: of every process.
        beside: whether server n is on the host of worker n; else on one of its own.
        slow: of each worker that is slower than the others, by how much.
        whole: whether the forward pass is one program, which begins when all values are there; else
            a layer begins when its own are.

    Attributes:
        workers: their programs, with what they saw and when.
        events: how many things happened.
    """

    def __init__(
        self, plan: RunPlan, layers: Sequence[Layer], *, steps: int = 3, card: Card = Card(),
        costs: Costs = Costs(), beside: bool = False, slow: dict[int, float] | None = None,
        whole: bool = False,
    ) -> None:  # fmt: skip
        self.plan, self.card, self.costs = plan, card, costs
        self.now = 0.0
        self.events = 0
        self._whole = whole
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = self._calls = 0
        self._done: dict[tuple[int, int], Callable[[], None]] = {}
        self._parts: dict[PartId, Part] = {}
        self._disks = [Disk() for _ in range(plan.servers)]
        slow = slow or {}
        self.workers = [Worker(layers, steps, slow.get(r, 1.0)) for r in range(plan.workers)]
        homes = [Host(card) for _ in range(plan.workers)]
        own = homes if beside else []
        self._hosts = {Peer("worker", rank): home for rank, home in enumerate(homes)}
        for rank in range(plan.servers):
            self._hosts[Peer("server", rank)] = own[rank] if rank < len(own) else Host(card)
        self._hosts[SCHEDULER] = Host(card)
        self._processes: dict[Peer, Process] = {}

    # -- the heap ------------------------------------------------------------------------------

    def at(self, time: float, act: Callable[..., None], *args: Any) -> None:
        """Something happens later."""
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, act, args))

    def run(self) -> None:
        """Lets everything happen until all workers have made their steps.

        Raises:
            RuntimeError: a worker's call failed, or nothing happens any more.
        """
        for peer in (SCHEDULER, *self._hosts):
            if peer not in self._processes:
                self._start(peer)
        for rank in range(self.plan.workers):
            self._set_up(rank)
        while any(len(one.ended) < one.steps for one in self.workers):
            if not self._heap:
                raise RuntimeError(f"nothing happens after {self.now:.3f} s, and steps are missing")
            self.now, _, act, args = heapq.heappop(self._heap)
            self.events += 1
            act(*args)

    # -- processes -----------------------------------------------------------------------------

    def _start(self, peer: Peer, generation: int = 1) -> None:
        host = self._hosts[peer]
        name = f"{peer.role}{peer.rank}.{generation}"
        me = ProcessIdentity(name, peer, generation, name, name)
        machine: Machine
        if peer.role == "worker":
            machine = WorkerMachine(self.plan, me)
        elif peer.role == "server":
            disk = self._disks[peer.rank]
            machine = ServerMachine(self.plan, me, disk.memory, list(disk.parts.values()))
        else:
            machine = SchedulerMachine(self.plan, me)
        process = self._processes[peer] = Process(peer, host, machine, generation, busy=self.now)
        self._carry_out(process, machine.start(self.now))
        if generation > 1:
            self._tell_all(peer, PeerUp(peer))

    def kill(self, peer: Peer, at: float, back: float) -> None:
        """A process is killed, and started again.

        Args:
            peer: which.
            at: when.
            back: seconds until it is there again.
        """
        self.at(at, self._kill, peer, back)

    def _kill(self, peer: Peer, back: float) -> None:
        process = self._processes[peer]
        process.alive = False
        reason = "killed by signal 9"
        gone = Gone(peer, process.generation, reason)
        supervisor = Peer("supervisor", 0)
        self._hand(self._processes[SCHEDULER], Arrived(supervisor, 0, self.plan.run, gone))
        self._tell_all(peer, PeerLost(peer, reason, process.generation))
        self.at(self.now + back, self._start, peer, process.generation + 1)

    def _tell_all(self, peer: Peer, event: PeerLost | PeerUp) -> None:
        for other, process in self._processes.items():
            if {other.role, peer.role} == {"worker", "server"}:
                self.at(self.now + self.card.latency, self._hand, process, event)

    def _hand(self, process: Process, event: Incoming) -> None:
        """Something has come to a process, which takes it when it has time."""
        process.waits.append(event)
        if len(process.waits) == 1:
            self.at(max(self.now, process.busy), self._take, process)

    def _take(self, process: Process) -> None:
        if not process.alive:
            return
        event = process.waits[0]
        process.busy = self.now + self._cost_of(process, event)
        self._carry_out(process, process.machine.handle(event, self.now))
        process.waits.popleft()
        if process.waits:
            self.at(process.busy, self._take, process)

    def _cost_of(self, process: Process, event: Incoming) -> float:
        """What hearing of something costs; what follows from it costs more."""
        if isinstance(event, Arrived) and process.peer.role != "scheduler":
            costs = self.costs
            return costs.worker if process.peer.role == "worker" else costs.server
        return 0.0

    def _carry_out(self, process: Process, actions: Sequence[Any]) -> None:
        costs = self.costs
        for action in actions:
            match action:
                case Post(to, message):
                    self._post(process, to, message)
                case Wake(at):
                    if at < process.wake:
                        process.wake = at
                        self.at(max(self.now, at), self._tick, process, at)
                case Fold(part):
                    process.busy += costs.fold * self._bytes(part)
                case Commit(part, record):
                    process.busy += costs.update * self._bytes(part)
                    parts = self._disks[process.peer.rank].parts
                    old = parts[part]
                    parts[part] = StoredPart(old.part, old.name, old.spec, record)
                case Install(part, name, spec, record):
                    stored = StoredPart(part, name, spec, record)
                    self._disks[process.peer.rank].parts[part.id] = stored
                case Remember(memory):
                    self._disks[process.peer.rank].memory = memory
                case Deliver(_, part) if part is not None:
                    process.busy += costs.deliver * self._bytes(part)
                case Done(call):
                    then = self._done.pop((process.peer.rank, call))
                    self.at(max(self.now, process.busy), then)
                case Raise(_, _, sentence):
                    raise RuntimeError(f"{process.peer}: {sentence}")

    def _tick(self, process: Process, at: float) -> None:
        if process.alive and process.wake == at:
            process.wake = inf
            self._hand(process, Tick())

    # -- messages ------------------------------------------------------------------------------

    def _bytes(self, part: PartId) -> int:
        known = self._parts[part]
        return (known.last - known.first) * _ITEM

    def _post(self, process: Process, to: Peer, message: Any) -> None:
        """Sends a message: it leaves when its process has time, and then its card."""
        size, role = _HEADER, process.peer.role
        if isinstance(message, InitPart):
            self._parts[message.part.id] = message.part
        if isinstance(message, PushPart):
            size += self._bytes(message.part)
            process.busy += self.costs.worker + self.costs.push * size
        elif isinstance(message, (Applied, PartValue)) and message.payload is not None:
            size += self._bytes(message.part)
        if role == "server":
            process.busy += self.costs.server
        source = process.machine.me.peer
        arrived = Arrived(source, process.generation, self.plan.run, message)
        self.at(max(self.now, process.busy), self._leave, process.host, to, size, arrived)

    def _leave(self, host: Host, to: Peer, size: int, arrived: Arrived) -> None:
        other = self._hosts[to]
        if other is host:
            self.at(self.now + _LOCAL, self._arrive, to, arrived)
            return
        begin = max(self.now, host.out)
        host.out = begin + size / host.card.rate
        self.at(begin + host.card.latency, self._enter, other, to, size, arrived)

    def _enter(self, host: Host, to: Peer, size: int, arrived: Arrived) -> None:
        host.into = max(self.now, host.into) + size / host.card.rate
        self.at(host.into, self._arrive, to, arrived)

    def _arrive(self, to: Peer, arrived: Arrived) -> None:
        process = self._processes.get(to)
        if process is not None and process.alive:
            self._hand(process, arrived)

    # -- what workers do -----------------------------------------------------------------------

    def _call(self, rank: int, make: Callable[[int], Incoming], then: Callable[[], None]) -> None:
        self._calls += 1
        self._done[rank, self._calls] = then
        self._hand(self._processes[Peer("worker", rank)], make(self._calls))

    def _set_up(self, rank: int) -> None:
        """Makes the keys, waits for the others, and begins."""
        settings = StoreSettings(0, optimizer="any")
        self._call(rank, lambda call: CallConfigure(call, settings), lambda: None)
        for name, layer in enumerate(self.workers[rank].layers):
            spec = KeySpec(layer.size)
            self._call(
                rank,
                lambda call, name=name, spec=spec: CallInit(call, name, spec, 0),
                lambda: None,
            )
        self._call(rank, lambda call: CallBarrier(call), lambda: self._begin(rank))

    def _begin(self, rank: int) -> None:
        worker = self.workers[rank]
        if len(worker.begun) < worker.steps:
            worker.begun.append(self.now)
            worker.fresh.append([inf] * len(worker.layers))
            self._forward(rank, 0)

    def _forward(self, rank: int, number: int) -> None:
        """Goes forward through a layer, when its value of the step before is there."""
        worker = self.workers[rank]
        if number == len(worker.layers):
            self._back(rank, number - 1)
            return
        if len(worker.begun) > 1:
            before = worker.fresh[len(worker.begun) - 2]
            if before[number] == inf or (self._whole and max(before) == inf):
                worker.waits = number
                return
        time = worker.layers[number].forward * worker.slow
        self.at(self.now + time, self._forward, rank, number + 1)

    def _back(self, rank: int, number: int) -> None:
        """Goes backward through a layer; then its gradient is pushed, and the next one's turn."""
        worker = self.workers[rank]
        time = worker.layers[number].backward * worker.slow
        self.at(self.now + time, self._push, rank, number)

    def _push(self, rank: int, number: int) -> None:
        step = len(self.workers[rank].begun) - 1
        self._call(
            rank,
            lambda call: CallPush(call, number, 0, None, -number, True),
            lambda: self._fresh(rank, step, number),
        )
        if number:
            self._back(rank, number - 1)
        else:
            self._begin(rank)

    def _fresh(self, rank: int, step: int, number: int) -> None:
        worker = self.workers[rank]
        fresh = worker.fresh[step]
        fresh[number] = self.now
        if max(fresh) < inf:
            worker.ended.append(self.now)
        waits = worker.waits
        if waits is not None and step == len(worker.begun) - 2:
            worker.waits = None
            self._forward(rank, waits)

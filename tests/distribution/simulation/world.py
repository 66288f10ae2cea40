"""Processes, a network, disks and a supervisor, none of them real: one heap of events.

What a schedule draws is all that happens, so that a seed repeats exactly. The machines are the
ones that real processes run.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from distribution.simulation.data import STALE
from distribution.simulation.drawn import (
    REPLACED_AFTER,
    RUN,
    BreakCommit,
    Cut,
    Freeze,
    Kill,
    KillInCommit,
    Schedule,
)
from distribution.simulation.script import Script
from distribution.simulation.server_disk import Disk, ServerDriver, Wrong

from hybridnet.kvstore.drivers.driver import ANSWERS, FIRST
from hybridnet.kvstore.protocol import SchedulerMachine, ServerMachine, WorkerMachine
from hybridnet.kvstore.protocol.machine import Machine
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Adopt,
    Arrived,
    Broke,
    Commit,
    Content,
    Execute,
    Executed,
    Finish,
    Fold,
    Gone,
    Install,
    Join,
    Peer,
    PeerLost,
    PeerUp,
    Post,
    ProcessIdentity,
    PushPart,
    PutStates,
    Refused,
    Remember,
    Tick,
    Wake,
)

LIMIT = 400.0
#: More than any schedule has that ends.
MOST_EVENTS = 20_000
#: Seconds until heartbeats that do not come are noticed.
NOTICED = 2.3


class Process:
    """One process: a machine, and what its driver knows.

    Attributes:
        clock: what its clock is ahead of the world's.
    """

    __slots__ = (
        "alive",
        "clock",
        "driver",
        "finished",
        "frozen",
        "generation",
        "machine",
        "missed",
        "peer",
        "script",
        "wake",
    )

    def __init__(self, peer: Peer, generation: int, machine: Machine, clock: float) -> None:
        self.peer, self.generation, self.machine, self.clock = peer, generation, machine, clock
        self.alive, self.frozen, self.finished = True, False, False
        self.missed: list[Any] = []
        self.wake = float("inf")
        self.driver: ServerDriver | None = None
        self.script: Script | None = None

    @property
    def is_leaving(self) -> bool:
        """A worker that has said so: what is started in its place would find the run over."""
        return self.script is not None and self.script.leaves


class World:
    """Runs one schedule.

    Args:
        schedule: what happens.
        machines: the classes of worker, server and scheduler; tests plant bugs in them.
        trace: takes what happens, a line each.
    """

    def __init__(
        self,
        schedule: Schedule,
        machines: dict[str, Any] | None = None,
        trace: list[str] | None = None,
    ) -> None:
        self.schedule = schedule
        self.plan = schedule.plan
        self.now = 0.0
        self.events = 0
        self.trace = trace
        self._machines = machines or MACHINES
        self._random = random.Random(schedule.seed ^ 0x5EED).random
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self.disks = [Disk() for _ in range(self.plan.servers)]
        #: the newest process of each peer
        self.processes: dict[Peer, Process] = {}
        self._by_name: dict[str, Process] = {}
        self._generations: dict[Peer, int] = {}
        self._cuts: list[tuple[Peer, Peer]] = []
        self._durable = [0] * self.plan.servers
        self._in_commit = {
            (one.rank, one.count): one for one in schedule.faults if isinstance(one, KillInCommit)
        }
        self._breaks = {
            (one.rank, one.count) for one in schedule.faults if isinstance(one, BreakCommit)
        }
        self._commits = [0] * self.plan.servers
        self.reads: dict[Any, Any] = {}
        self.killed_for_good: Peer | None = None
        self.died_at = 0.0
        self.raised: list[tuple[Peer, float, str, str]] = []
        self.broken: set[Any] = set()
        self._newest: dict[tuple[Peer, Peer], int] = {}
        self._open = self.plan.workers
        self._left: set[int] = set()
        peers = [Peer("worker", rank) for rank in range(self.plan.workers)]
        peers += [Peer("server", rank) for rank in range(self.plan.servers)]
        self.peers = [*peers, SCHEDULER]

    @property
    def is_gone(self) -> bool:
        """Whether what was killed for good was not started again."""
        peer = self.killed_for_good
        return peer is not None and not self.processes[peer].alive

    @property
    def is_over(self) -> bool:
        """Whether all workers have left, and the scheduler says so to whoever asks."""
        scheduler: Any = self.processes.get(SCHEDULER)
        return scheduler is not None and (scheduler.finished or scheduler.machine._ends < inf)

    # -- the heap ------------------------------------------------------------------------------

    def at(self, time: float, function: Callable[..., None], *args: Any) -> None:
        """Something happens later."""
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, function, args))

    def run(self) -> None:
        """Lets everything happen until all workers have ended.

        Raises:
            Wrong: something happened that must not, or nothing happens any more.
        """
        for peer in self.peers:
            self.at(self._random() * 0.2, self._start, peer, None)
        for fault in self.schedule.faults:
            if isinstance(fault, Kill):
                self.at(fault.at, self._kill, fault.peer, fault.back, fault.empty, fault.told)
            elif isinstance(fault, Freeze):
                self.at(fault.at, self._freeze, fault)
            elif isinstance(fault, Cut):
                self.at(fault.at, self._cut, fault)
        heap = self._heap
        while heap and self._open:
            self.now, _, function, args = heapq.heappop(heap)
            if self.now > LIMIT:
                break
            self.events += 1
            if self.events > MOST_EVENTS:
                raise Wrong(f"{MOST_EVENTS} things happen in {self.now:.0f} s, and no end is near")
            function(*args)
        scheduler: Any = self.processes[SCHEDULER].machine
        if self._open and self.killed_for_good is not None and not scheduler._complete:
            return  # somebody never came: the drivers give up
        if self._open:
            raise Wrong(f"{self._open} workers have not ended, {LIMIT:.0f} s later")

    def say(self, text: str) -> None:
        """Adds a line to the trace."""
        if self.trace is not None:
            self.trace.append(f"{self.now:8.3f}  {text}")

    # -- processes -----------------------------------------------------------------------------

    def _start(self, peer: Peer, clock: float | None) -> None:
        generation = self._generations[peer] = self._generations.get(peer, 0) + 1
        if peer.role == "worker" and self.is_over:
            self._end_worker(peer.rank)
            return
        schedule = self.schedule
        ranked = schedule.ranked or peer.role == "scheduler"
        name = f"{peer.role}{peer.rank}.{generation}"
        me = ProcessIdentity(
            name, peer if ranked else Peer(peer.role, -1), generation, name, "host"
        )
        cls = self._machines[peer.role]
        driver = None
        if peer.role == "server":
            disk = self.disks[peer.rank]
            in_order = self.plan.on_loss == "fail"
            driver = ServerDriver(disk, in_order)
            machine = cls(self.plan, me, disk.memory, disk.stored())
        else:
            machine = cls(self.plan, me)
        process = Process(peer, generation, machine, schedule.skew[self.peers.index(peer)])
        process.driver = driver
        self._by_name[name] = process
        if ranked:
            self.processes[peer] = process
        self.say(f"{name} starts")
        self._carry_out(process, machine.start(self.now + process.clock))
        if peer.role == "worker":
            process.script = Script(schedule, self.reads)
            for call in process.script.start():
                self._hand(process, call)
        self._tell_connections(peer, PeerUp(peer), 0.01)

    def _tell_connections(self, peer: Peer, event: Any, delay: float) -> None:
        """Transports notice that a peer is there, or is not."""
        for other, process in self.processes.items():
            if other == peer or not process.alive:
                continue
            if SCHEDULER in (peer, other) or {peer.role, other.role} == {"worker", "server"}:
                self.at(self.now + delay + self._random() * 0.05, self._event, process, event)

    def _event(self, process: Process, event: Any) -> None:
        if process.alive and not process.finished:
            self._hand(process, event)

    def _kill(self, peer: Peer, back: float | None, empty: bool = False, told: bool = True) -> None:
        process = self.processes.get(peer)
        if process is None or not process.alive or process.finished:
            return
        if peer == SCHEDULER and self.is_over:
            return  # nobody needs it any more
        waits = process.is_leaving
        if waits and not (told and back is not None and self._is_kept_by_others(process)):
            return
        process.alive = False
        self.say(f"{peer.role} {peer.rank} is killed" + (", its disk is lost" if empty else ""))
        if empty:
            self.disks[peer.rank] = Disk()
        patience = self.plan.patience
        if back is None or back > (patience.restart if told else patience.dead):
            self.killed_for_good, self.died_at = peer, self.now
            if peer.role == "worker" and back is None:
                self._end_worker(peer.rank)
        generation = process.generation
        reason = "killed by signal 9"
        gone = Gone(peer, generation, reason, back is not None)
        if peer != SCHEDULER and told:
            # At once where the others may come to their ends meanwhile: the run would be over.
            self.at(self.now + (0.0 if waits else self._random() * 0.1), self._report, gone)
        self._tell_connections(peer, PeerLost(peer, reason, generation), 0.02)
        if back is not None:
            self.at(self.now + back, self._start_again, peer, process)

    def _is_kept_by_others(self, process: Process) -> bool:
        """Whether a worker at its end stays there, as another one has not come to its own."""
        scheduler = self.processes.get(SCHEDULER)
        if (
            scheduler is None
            or not scheduler.alive
            or not (process.script and process.script.waits)
        ):
            return False
        scripts = [one.script for one in self.processes.values() if one.alive]
        return any(one is not None and not one.leaves for one in scripts)

    def _report(self, gone: Gone) -> None:
        """A supervisor tells the scheduler, as soon as there is one."""
        scheduler = self.processes.get(SCHEDULER)
        if scheduler is None or not scheduler.alive:
            self.at(self.now + 0.2, self._report, gone)
        elif not scheduler.finished:
            self._hand(scheduler, Arrived(Peer("supervisor", 0), 0, RUN, gone))

    def _start_again(self, peer: Peer, old: Process) -> None:
        if self.processes.get(peer) is old:
            self._start(peer, None)

    def _freeze(self, fault: Freeze) -> None:
        process = self.processes.get(fault.peer)
        if process is None or not process.alive or process.finished or process.is_leaving:
            return
        self.say(f"{fault.peer.role} {fault.peer.rank} is stopped")
        process.frozen = True
        event = PeerLost(fault.peer, "not heard of", process.generation)
        self.at(self.now + NOTICED, self._notice, process, event)
        if fault.replaced:
            self.at(self.now + REPLACED_AFTER, self._start_again, fault.peer, process)
        self.at(fault.until, self._thaw, process)

    def _notice(self, process: Process, event: PeerLost) -> None:
        if process.frozen and self.processes.get(process.peer) is process:
            self._tell_connections(process.peer, event, 0.0)

    def _thaw(self, process: Process) -> None:
        process.frozen = False
        self.say(f"{process.peer.role} {process.peer.rank}.{process.generation} goes on")
        if self.processes.get(process.peer) is process:
            self._tell_connections(process.peer, PeerUp(process.peer), 0.01)
        missed, process.missed = process.missed, []
        for event in missed:
            if process.alive and not process.finished:
                self._hand(process, event)
        if self.processes.get(process.peer) is not process:
            self._connect_again(process)

    def _connect_again(self, old: Process) -> None:
        """A process that was replaced finds those who were started again while it stood."""
        for other, process in self.processes.items():
            meet = other == SCHEDULER or {old.peer.role, other.role} == {"worker", "server"}
            if meet and process.alive and not process.finished and not process.frozen:
                self.at(self.now + 0.02, self._event, old, PeerUp(other))

    def _cut(self, fault: Cut) -> None:
        pair = (fault.one, fault.other)
        self.say(f"{pair} cannot hear each other")
        self._cuts.append(pair)
        for peer, other in (pair, pair[::-1]):
            process, far = self.processes.get(peer), self.processes.get(other)
            if process is not None and far is not None:
                event = PeerLost(other, "not heard of", far.generation)
                self.at(self.now + NOTICED, self._notice_cut, pair, process, event)
        self.at(fault.until, self._heal, pair)

    def _notice_cut(self, pair: tuple[Peer, Peer], process: Process, event: PeerLost) -> None:
        if pair in self._cuts:
            self._event(process, event)

    def _heal(self, pair: tuple[Peer, Peer]) -> None:
        self._cuts.remove(pair)
        self.say(f"{pair} can hear each other again")
        for peer, other in (pair, pair[::-1]):
            process, far = self.processes.get(peer), self.processes.get(other)
            if process is None or far is None or far.frozen or far.finished:
                continue
            if far.alive:
                self.at(self.now + 0.02, self._event, process, PeerUp(other))

    # -- events and actions --------------------------------------------------------------------

    def _hand(self, process: Process, event: Any) -> None:
        """Hands an event to a machine, and carries out what it decides."""
        if process.frozen:
            process.missed.append(event)
            return
        self._carry_out(process, process.machine.handle(event, self.now + process.clock))

    def _tick(self, process: Process, time: float) -> None:
        if process.alive and not process.finished and process.wake == time:
            process.wake = float("inf")
            self._hand(process, _TICK)

    def _wake_at(self, process: Process, action: Wake) -> None:
        time = max(self.now, action.at - process.clock) + 1e-6  # clocks round
        if time < process.wake:
            process.wake = time
            self.at(time, self._tick, process, time)

    def _carry_out(self, process: Process, actions: list[Any]) -> None:
        calls: list[Any] = []
        for action in actions:
            kind = type(action)
            driver = process.driver
            if driver is not None and driver.broken and kind not in FIRST:
                self._refuse(process, action)
            elif kind is Post:
                self._send(process, action)
            elif kind is Wake:
                self._wake_at(process, action)
            elif kind is Finish:
                self._finish(process, action)
            elif process.script is not None:
                replaced = self.processes.get(process.peer) is not process
                if kind.__name__ == "Raise" and not (replaced and self.is_over):
                    self.raised.append((process.peer, self.now, action.code, action.sentence))
                    self.say(f"{process.peer} raises {action.code}: {action.sentence}")
                calls += process.script.handle(action, process.machine)  # type: ignore[arg-type]
            elif driver is not None:
                self._serve(process, driver, action, kind)
                if not process.alive:
                    return
        if process.driver is not None and process.driver.broken:
            self._tell_broken(process, process.driver)
        if process.script is not None:
            for call in calls:
                self._hand(process, call)
            if process.script.raised and not process.finished:
                process.finished = True
                gone = Gone(process.peer, process.generation, "exited with status 1", False)
                self.at(self.now + 0.1, self._report, gone)
                self._end_worker(process.peer.rank, process)

    def _finish(self, process: Process, action: Finish) -> None:
        process.finished = True
        if process.peer == SCHEDULER:
            self._tell_connections(
                SCHEDULER, PeerLost(SCHEDULER, "has ended", process.generation), 0.02
            )
        if process.peer.role == "worker":
            script = process.script
            silent = script is not None and not script.finished and not script.raised
            if silent and self.processes.get(process.peer) is process:
                self.raised.append((process.peer, self.now, action.code, action.sentence))
            self._end_worker(process.peer.rank, process)

    def _end_worker(self, rank: int, process: Process | None = None) -> None:
        replaced = process is not None and self.processes.get(process.peer) is not process
        if replaced and self.schedule.ranked:
            return
        if rank not in self._left:
            self._left.add(rank)
            self._open -= 1

    def _refuse(self, process: Process, action: Any) -> None:
        """What was to be said after a commit that failed is not: it is refused."""
        if type(action) is Wake:
            self._wake_at(process, action)
        elif type(action) is Post and isinstance(action.message, ANSWERS):
            refusal = Refused(action.message.ticket, "broke", "the optimizer raises")
            self._send(process, Post(action.to, refusal))

    def _tell_broken(self, process: Process, driver: ServerDriver) -> None:
        part, driver.broken = driver.broken, None
        assert part is not None
        self.say(f"a commit of part {part} fails")
        self.broken.add(part)
        record = driver.disk.parts[part].now().record
        self._hand(process, Broke(part, record, "the optimizer raises"))

    def _serve(self, process: Process, driver: ServerDriver, action: Any, kind: type) -> None:
        if kind is Fold:
            driver.fold(action)
            return
        if kind is Adopt:
            driver.adopt(action.settings)
            return
        if kind is Execute:
            driver.execute(action)
            done = f"server {process.machine.me.peer.rank} did it"
            self._hand(process, Executed(action.worker, action.ticket, done))
            return
        fault = None
        rank = process.machine.me.peer.rank
        if kind is Commit and rank >= 0:
            self._commits[rank] += 1
            if (rank, self._commits[rank]) in self._breaks:
                driver.broken = action.part
                return
        if kind in (Commit, Install, Remember) and rank >= 0:
            self._durable[rank] += 1
            fault = self._in_commit.get((rank, self._durable[rank]))
        if kind is Commit:
            driver.commit(action, fault is not None and fault.torn)
        elif fault is not None and fault.torn:
            pass  # it was not there yet
        elif kind is Install:
            driver.install(action)
        elif kind is Remember:
            driver.disk.memory = action.memory
        if fault is not None:
            self.say(f"server {rank} dies in its durable action {fault.count}: {action}")
            self._kill(process.peer, fault.back)

    # -- the network ---------------------------------------------------------------------------

    def _send(self, process: Process, action: Post) -> None:
        message: Any = action.message
        payload = getattr(message, "payload", None)
        if isinstance(payload, Content):
            assert process.driver is not None
            message = replace(message, payload=process.driver.content(action))
        elif isinstance(message, PutStates):
            message = replace(message, payload=payload[message.part[1]])
        peer = process.machine.me.peer
        to = action.to
        target: Process | None = None
        if to.rank < 0 or (not self.schedule.ranked and to not in self.processes):
            target = self._by_name.get(getattr(message, "name", ""))
            if target is None:
                return
            if to.rank < 0 and to.role == target.peer.role and not self.schedule.ranked:
                # From now on the process is found by the rank that it was given.
                self.processes[message.peer] = target
                if target.driver is not None:
                    self.disks[message.peer.rank] = target.driver.disk
                target.peer = message.peer
        elif action.generation:
            target = self._by_name.get(f"{to.role}{to.rank}.{action.generation}")
        if isinstance(message, PushPart) and self.plan.window:
            sent = process.machine.pushes_on_the_way  # type: ignore[attr-defined]
            if sent > self.plan.window:
                raise Wrong(f"{sent} pushes are on their way, of {self.plan.window}")
        arrived = Arrived(peer, process.generation, RUN, message)
        self._transmit(peer, to, arrived, target)
        net = self.schedule.net
        if net.foreign and self._random() < net.foreign:
            if isinstance(message, PushPart):
                message = replace(message, payload=message.payload * 3)
            other = Arrived(peer, process.generation, RUN + 1, message)
            self.at(self.now + self._random() * 2, self._deliver, to, other, None)

    def _transmit(self, source: Peer, to: Peer, arrived: Arrived, target: Process | None) -> None:
        net, rand = self.schedule.net, self._random
        if self._cuts and ((source, to) in self._cuts or (to, source) in self._cuts):
            return
        if net.drop and rand() < net.drop:
            return
        slow = 6.0 if net.very_slow and rand() < net.very_slow else net.slow
        self.at(self.now + 0.001 + rand() * slow, self._deliver, to, arrived, target)
        if net.twice and rand() < net.twice:
            self.at(self.now + 0.001 + rand() * slow * 3, self._deliver, to, arrived, target)

    def _deliver(self, to: Peer, arrived: Arrived, target: Process | None) -> None:
        process = target or self.processes.get(to)
        if process is None or not process.alive or process.finished:
            return
        if self.trace is not None:
            source = arrived.source
            text = f"{source.role} {source.rank}.{arrived.generation} -> {to.role} {to.rank}"
            self.say(f"{text}: {arrived.message}"[:240])
        if process.peer.role == "server" and arrived.source.role == "worker":
            arrived = self._marked(process, arrived)
        self._hand(process, arrived)

    def _marked(self, server: Process, arrived: Arrived) -> Arrived:
        """Pushes of a worker after its successor's Join carry what no value may have."""
        key = (server.peer, arrived.source)
        message = arrived.message
        if isinstance(message, Join):
            self.at(self.now, self._joined, server, key, arrived.generation)
        elif isinstance(message, PushPart) and arrived.generation < self._newest.get(key, 0):
            return replace(arrived, message=replace(message, payload=message.payload + STALE))
        return arrived

    def _joined(self, server: Process, key: tuple[Peer, Peer], generation: int) -> None:
        if server.alive and self.disks[server.peer.rank].memory is not None:
            self._newest[key] = max(generation, self._newest.get(key, 0))


_TICK = Tick()
MACHINES: dict[str, Any] = {
    "worker": WorkerMachine,
    "server": ServerMachine,
    "scheduler": SchedulerMachine,
}

"""What a schedule consists of: a run, what its workers do, and what goes wrong. All from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal

from hybridnet.kvstore.protocol.words import KeySpec, Patience, Peer, RunPlan

RUN = 7
#: Seconds until a frozen process is replaced.
REPLACED_AFTER = 2.0
#: Seconds that all faults together may keep somebody away, where all is to end well.
MOST_ABSENCE = 6.0
#: Seconds that starting a process again takes on a loaded machine: more than who waits for one that
#: nobody starts, and less than who waits for one that somebody does.
SLOWLY = 25.0
MORE = 4


@dataclass(frozen=True)
class Kill:
    """A process is killed, and another generation started some time later (None: never)."""

    peer: Peer
    at: float
    back: float | None
    empty: bool = False  # a server: its disk is gone, too
    told: bool = True  # its supervisor tells the scheduler


@dataclass(frozen=True)
class KillInCommit:
    """A server is killed in its n-th durable action: in the middle of it, or just after it."""

    rank: int
    count: int
    torn: bool
    back: float


@dataclass(frozen=True)
class Freeze:
    """A process is stopped and goes on later; `replaced`: meanwhile another generation starts."""

    peer: Peer
    at: float
    until: float
    replaced: bool


@dataclass(frozen=True)
class Cut:
    """Two peers cannot hear each other for some time."""

    one: Peer
    other: Peer
    at: float
    until: float


@dataclass(frozen=True)
class BreakCommit:
    """An optimizer raises in a server's n-th commit: the part is as it was."""

    rank: int
    count: int


Fault = Kill | KillInCommit | Freeze | Cut | BreakCommit


@dataclass(frozen=True)
class Net:
    """The network: how many messages are lost and come twice, and how many seconds they take."""

    drop: float = 0.0
    twice: float = 0.0
    slow: float = 0.01
    very_slow: float = 0.0  # this share takes up to 6 s
    foreign: float = 0.0  # this share comes once more, changed, from another run


@dataclass(frozen=True)
class Store:
    """What servers do with the pushes of a store's keys."""

    kind: Literal["sync", "async"]
    adds: bool  # the servers have an optimizer: values grow; else a round's sum is the value
    staleness: int | None
    times: int = 1  # so often a push is in the value
    changes: tuple[int, ...] = ()  # after these steps it is there `MORE` times more often
    late: bool = False  # all of this is set when the process has pushed to another store

    def worth(self, step: int) -> set[int]:
        """How often a push of a step may be in the value."""
        if self.kind == "async":  # others push while it is changed
            return {self.times + MORE * count for count in range(len(self.changes) + 1)}
        return {self.times + MORE * sum(after < step for after in self.changes)}


@dataclass(frozen=True)
class Schedule:
    """All that decides what happens."""

    seed: int
    plan: RunPlan
    stores: tuple[Store, ...]
    keys: tuple[KeySpec, ...]
    steps: int
    style: Literal["push+pull", "pushpull", "late pull"]
    barriers: bool
    ranked: bool  # supervisors give ranks
    skew: tuple[float, ...]
    net: Net
    faults: tuple[Fault, ...]
    restores: int = 0  # after this step worker 0 puts states back as they are; 0: never
    commands: bool = False  # workers ask the servers to do something at their end
    unnamed: bool = False  # barriers between steps have no names, and are skipped by who resumes

    @property
    def learns(self) -> bool:
        """Whether pushes follow from values that were read, so that nothing may be torn."""
        return all(one.kind == "sync" for one in self.stores) and self.plan.on_loss == "fail"

    def store_of(self, key: int) -> Store:
        """The store of a key."""
        return self.stores[self.keys[key].store]


def draw(seed: int) -> Schedule:
    """Draws the schedule of a seed."""
    rnd = random.Random(seed)
    pick, rand = rnd.choice, rnd.random
    workers, shards = pick((2, 2, 2, 3)), pick((1, 1, 2))
    kind = pick(("sync", "async"))
    standby = rand() < 0.4
    shrink = kind == "sync" and rand() < 0.15
    plan = RunPlan(
        run=RUN,
        workers=workers,
        shards=shards,
        standby=standby,
        on_loss="shrink" if shrink else "fail",
        window=pick((0, 0, 1, 2)),
        big=4,
        part_bytes=16,
        part_items=pick((0, 0, 2)),
        patience=Patience(),
    )
    # One small key; sometimes one in two parts or more; sometimes one of rows.
    keys = [KeySpec(1)]
    if rand() < 0.4:
        keys.append(KeySpec(4))
    if rand() < 0.25:
        keys.append(KeySpec(8, rows=4))
    steps = pick((2, 3))
    quiet = rand() < 0.3
    net = Net()
    if not quiet:
        net = Net(
            drop=pick((0, 0, 0.05, 0.15)),
            twice=pick((0, 0.05, 0.2)),
            slow=pick((0.01, 0.1, 1.0)),
            very_slow=pick((0, 0, 0.03)),
            foreign=pick((0, 0, 0.05)),
        )
    if net.drop or net.very_slow:  # what is said may have to be said several times
        plan = replace(plan, patience=Patience(dead=40.0, deadline=50.0))
    ranked = rand() < 0.9
    drawn = _Faults(rnd, plan, kind)
    # From streams of their own, so that all else is as it was drawn before there were these.
    restores = random.Random(seed ^ 0x57A7E).choice((0,) * 8 + (1, 2))
    later = random.Random(seed ^ 0xC0DE)
    told = random.Random(seed ^ 0x7E11)
    commands, breaks = later.random() < 0.1, later.random() < 0.05
    unnamed = kind == "sync" and random.Random(seed ^ 0xBA44).random() < 0.5
    schedule = Schedule(
        seed,
        plan,
        (
            Store(
                kind,
                adds=kind == "async" or rand() < 0.8,
                staleness=pick((None, 0, 1)) if kind == "async" else None,
            ),
        ),
        keys=tuple(keys),
        steps=steps,
        style=pick(("push+pull", "pushpull", "late pull")),
        barriers=rand() < 0.4,
        ranked=ranked,
        skew=tuple(pick((0.0, 1000.0, -3.0)) for _ in range(workers + plan.servers + 1)),
        net=net,
        faults=_starting(drawn.some(), plan, net, told) if ranked else (),
        # No round closes between taking and putting back where it waits for everybody.
        restores=restores if kind == "sync" and not shrink else 0,
        unnamed=unnamed,
    )
    crowd = random.Random(seed ^ 0xDEAD)
    if ranked and crowd.random() < 0.3:
        schedule = replace(
            schedule, steps=crowd.choice((3, 4, 5)), faults=_crowd(crowd, drawn, plan, net)
        )
    schedule = _several(random.Random(seed ^ 0x5702C), schedule)
    if breaks and not standby and not shrink:
        # Alone: whoever is told ends, and what others see of that is a loss already.
        fault = BreakCommit(later.randrange(plan.servers), later.randrange(1, 6))
        # Other settings would have the part be taken for whole again.
        stores = tuple(replace(one, changes=()) for one in schedule.stores)
        return replace(schedule, faults=(fault,), restores=0, stores=stores)
    # A server that is gone for good cannot do what it was asked to.
    final = any(map(is_final, schedule.faults))
    return replace(schedule, commands=commands and not final)


def _several(rnd: random.Random, schedule: Schedule) -> Schedule:
    """Makes a second store, sometimes, with a key of its own; and has settings be changed.

    Not where a scheduler dies beside workers that meet at barriers: nobody knows then who has been
    there, and whether all ends well is a matter of moments, which this would move.
    """
    dead = {one.peer.role for one in schedule.faults if isinstance(one, Kill)}
    if schedule.barriers and {"worker", "scheduler"} <= dead:
        return schedule
    shrink = schedule.plan.on_loss == "shrink"
    stores, keys = list(schedule.stores), list(schedule.keys)
    if rnd.random() < 0.35:
        kind: Literal["sync", "async"] = "sync" if shrink else rnd.choice(("sync", "async"))
        stores.append(
            Store(
                kind,
                adds=kind == "async" or rnd.random() < 0.8,
                staleness=rnd.choice((None, 0, 1)) if kind == "async" else None,
                times=2,
                late=rnd.random() < 0.4,
            )
        )
        sizes = (KeySpec(1, store=1), KeySpec(4, store=1), KeySpec(8, rows=4, store=1))
        keys.insert(rnd.choice((0, len(keys))), rnd.choice(sizes))
    for number, one in enumerate(stores):
        if not shrink and rnd.random() < 0.3:
            after = rnd.randrange(1, schedule.steps)
            twice = one.kind == "sync" and rnd.random() < 0.5
            stores[number] = replace(one, changes=(after, after + 1) if twice else (after,))
    return replace(schedule, stores=tuple(stores), keys=tuple(keys))


class _Faults:
    """Draws faults that a run must survive, or must end for in the way that was asked for."""

    def __init__(self, rnd: random.Random, plan: RunPlan, kind: str) -> None:
        self.rnd, self.plan, self.kind = rnd, plan, kind
        self.workers = [Peer("worker", rank) for rank in range(plan.workers)]
        self.servers = [Peer("server", rank) for rank in range(plan.servers)]

    def time(self) -> float:
        return self.rnd.random() ** 2 * 8

    def some(self) -> tuple[Fault, ...]:
        rnd = self.rnd
        faults: list[Fault] = []
        for _ in range(rnd.choice((0, 1, 1, 2, 3))):
            faults.append(
                rnd.choice(
                    (self.kill, self.kill, self.commit, self.commit, self.freeze, self.cut)
                )()
            )
        # Of what is gone for good there is one at most: two are a different promise.
        final = [one for one in faults if is_final(one)]
        if final:
            faults = [one for one in faults if not is_final(one) and is_short(one)]
            return (*faults, final[0])
        # Nobody may be away for so long that he is declared dead, whatever comes together.
        while sum(map(absence, faults)) > MOST_ABSENCE:
            faults.pop()
        return tuple(faults)

    def kill(self) -> Fault:
        rnd, plan = self.rnd, self.plan
        peer = rnd.choice((*self.workers, *self.servers, *self.servers, Peer("scheduler", 0)))
        back: float | None = rnd.choice((0.3, 0.3, 1.0, 4.0))
        if peer.role == "worker" and rnd.random() < 0.3:
            back = rnd.choice((None, 12.0)) if plan.on_loss == "shrink" else None
        if peer.role == "server" and plan.standby and rnd.random() < 0.5:
            return Kill(peer, self.time(), rnd.choice((0.3, 4.0, None)), empty=True)
        return Kill(peer, self.time(), back)

    def commit(self) -> Fault:
        rnd = self.rnd
        rank = rnd.randrange(self.plan.servers)
        count = rnd.randrange(1, 25)
        return KillInCommit(rank, count, rnd.random() < 0.3, rnd.choice((0.3, 1.0, 4.0)))

    def freeze(self) -> Fault:
        rnd = self.rnd
        at = self.time()
        if rnd.random() < 0.5:
            return Freeze(rnd.choice(self.workers), at, at + rnd.choice((4.0, 9.0)), True)
        peer = rnd.choice((*self.workers, *self.servers))
        return Freeze(peer, at, at + 4.0, False)

    def cut(self) -> Fault:
        rnd = self.rnd
        if self.plan.standby and rnd.random() < 0.5:
            # Long enough for its standby to take over while it goes on, and does not know.
            at = self.time()
            return Cut(rnd.choice(self.servers), Peer("scheduler", 0), at, at + MOST_ABSENCE)
        one, other = rnd.sample((*self.workers, *self.servers, Peer("scheduler", 0)), 2)
        at = self.time()
        return Cut(one, other, at, at + rnd.choice((1.0, 3.0, 5.0)))


def _crowd(rnd: random.Random, drawn: _Faults, plan: RunPlan, net: Net) -> tuple[Fault, ...]:
    """Two to six processes die, at once or a moment apart, as when a machine does; all come back.

    The disk of one server may be lost where it has a standby. Where the scheduler dies with servers
    that have not been welcomed yet, the next one takes it that their disks are lost; so it does not
    where that takes long.
    """
    everybody = [*drawn.workers, *drawn.servers, *drawn.servers]
    if net.slow <= 0.1 and not (net.drop or net.very_slow):
        everybody.append(Peer("scheduler", 0))
    at, apart = drawn.rnd.random() * 4 + 1.0, rnd.choice((0.0, 0.05, 0.3, 1.0, 3.0))
    faults: list[Fault] = []
    for _ in range(rnd.choice((2, 2, 2, 3, 4, 6))):
        faults.append(Kill(rnd.choice(everybody), at, rnd.choice((0.3, 0.3, 1.0, 2.0))))
        at += apart * rnd.choice((0.5, 1.0, 1.5))
    if plan.standby and rnd.random() < 0.4:
        lost = Kill(rnd.choice(drawn.servers), at, 0.3, empty=True)
        others = [one for one in faults if one.peer.role != "server"]  # type: ignore[union-attr]
        faults = [*others, lost]
    return tuple(faults)


def _starting(
    faults: tuple[Fault, ...], plan: RunPlan, net: Net, rnd: random.Random
) -> tuple[Fault, ...]:
    """Makes some starts slow; and some supervisors are not there to tell of what has ended.

    Without one, nothing may arrive from a process after its connection is gone, and others must
    have had one.
    """
    if len(faults) == 1:
        (only,) = faults
        counts = isinstance(only, Kill) and not is_final(only) and only.peer.role != "scheduler"
        if isinstance(only, Kill) and counts and rnd.random() < 0.2:
            return (replace(only, back=SLOWLY),)
    late = bool(net.slow > 0.01 or net.twice or net.very_slow)
    return tuple(_told(one, plan, late, rnd) for one in faults)


def _told(fault: Fault, plan: RunPlan, late: bool, rnd: random.Random) -> Fault:
    """Decides whether a supervisor tells of a process that does not come back in time."""
    if not isinstance(fault, Kill) or (fault.back or 1e9) <= plan.patience.dead:
        return fault
    told = fault.back is None and (late or fault.at < 1 or rnd.random() < 0.5)
    return replace(fault, told=told)


def is_final(fault: Fault) -> bool:
    """Whether something is lost for good."""
    if not isinstance(fault, Kill):
        return False
    return fault.back is None or fault.empty or (fault.back > 8 and fault.back != SLOWLY)


def is_short(fault: Fault) -> bool:
    """Whether it may come together with a final loss: nothing else is away for long then."""
    return isinstance(fault, KillInCommit) and fault.back < 1


def absence(fault: Fault) -> float:
    """For how many seconds somebody is not there."""
    match fault:
        case BreakCommit():
            return 0.0
        case Kill(back=back) | KillInCommit(back=back):
            return back or 0.0
        case Freeze(at=at, until=until, replaced=replaced):
            return REPLACED_AFTER if replaced else until - at
        case Cut(at=at, until=until):
            return until - at


def smaller(schedule: Schedule) -> list[Schedule]:
    """Schedules with one thing less that goes wrong."""
    found = [
        replace(schedule, faults=schedule.faults[:i] + schedule.faults[i + 1 :])
        for i in range(len(schedule.faults))
    ]
    calm = {"drop": 0.0, "twice": 0.0, "very_slow": 0.0, "foreign": 0.0, "slow": 0.01}
    for name, value in calm.items():
        if getattr(schedule.net, name) > value:
            found.append(replace(schedule, net=replace(schedule.net, **{name: value})))
    if schedule.steps > 1:
        found.append(replace(schedule, steps=schedule.steps - 1))
    if len(schedule.keys) > 1:
        found.append(replace(schedule, keys=schedule.keys[:-1]))
    if any(schedule.skew):
        found.append(replace(schedule, skew=(0.0,) * len(schedule.skew)))
    if schedule.barriers:
        found.append(replace(schedule, barriers=False))
    if any(one.changes or one.late for one in schedule.stores):
        calmer = tuple(replace(one, changes=(), late=False) for one in schedule.stores)
        found.append(replace(schedule, stores=calmer))
    return found

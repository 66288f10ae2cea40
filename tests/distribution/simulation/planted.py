"""Bugs of the kinds that such protocols have had, each as small as it can be. All must be found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from distribution.simulation import server_disk

from hybridnet.kvstore.protocol import (
    barriers,
    liveness,
    parts,
    passed_barriers,
    places,
    rounds,
    scheduler,
    server,
    slices,
    standby,
    worker,
)
from hybridnet.kvstore.protocol.machine import Machine
from hybridnet.kvstore.protocol.words import Applied, Arrived, Copied, Execute, PartRecord

Planted = Callable[[], Any]
BUGS: dict[str, Planted] = {}


def bug(name: str) -> Callable[[Callable[[], Iterator[None]]], Planted]:
    """Adds a bug: a context in which the code has it."""

    def add(function: Callable[[], Iterator[None]]) -> Planted:
        BUGS[name] = contextmanager(function)
        return BUGS[name]

    return add


def _patched(owner: Any, name: str, value: Any) -> Any:
    return mock.patch.object(owner, name, value)


@bug("a push that comes again counts again")
def _() -> Iterator[None]:
    right = rounds.Rounds.push

    def push(self: Any, held: Any, rank: int, message: Any) -> None:
        top = self.number(held, rank)
        right(self, held, rank, replace(message, number=max(message.number, top + 1)))

    with _patched(rounds.Rounds, "push", push):
        yield


@bug("what replaced processes say counts")
def _() -> Iterator[None]:
    with _patched(server.ServerMachine, "_admit", lambda *_: True):
        yield


@bug("acknowledged before the commit")
def _() -> Iterator[None]:
    right = rounds.Rounds.push

    def push(self: Any, held: Any, rank: int, message: Any) -> None:
        self._say(rank, Applied(message.ticket, message.part, message.number, None))
        right(self, held, rank, message)

    with _patched(rounds.Rounds, "push", push):
        yield


@bug("a restarted worker begins at push 1")
def _() -> Iterator[None]:
    right = slices.Slices.initialized

    def initialized(self: Any, message: Any) -> None:
        right(self, replace(message, number=0))

    with _patched(slices.Slices, "initialized", initialized):
        yield


@bug("a restarted worker skips what its predecessor had begun")
def _() -> Iterator[None]:
    def resume_at(heights: Any) -> tuple[int, int]:
        high = max(height for height, _ in heights)
        return high, high

    with _patched(worker, "resume_at", resume_at):
        yield


@bug("nothing is said twice")
def _() -> Iterator[None]:
    with _patched(liveness.Repeats, "add", lambda self, key, now: None):
        yield


@bug("a pull is answered whatever is in the value")
def _() -> Iterator[None]:
    with _patched(rounds.Rounds, "_may_see", lambda self, held, rank, least: held.settled):
        yield


@bug("a standby follows a primary that was replaced")
def _() -> Iterator[None]:
    def follows(self: Any, shard: int, since: int) -> bool:
        return 0 <= shard < self.plan.shards

    with _patched(server.ServerMachine, "_follows", follows):
        yield


@bug("a primary that does not hear of its standby answers all the same")
def _() -> Iterator[None]:
    def tick(self: Any, find: Any, now: float) -> None:
        for part in self._repeats.due(now):
            found = find(part)
            self._repeats.drop(part)
            if found is not None and not found[0].settled:
                self._settle(found[0])

    with _patched(standby.Leader, "tick", tick):
        yield


@bug("answered before the standby has it")
def _() -> Iterator[None]:
    right = standby.Leader.copy

    def copy(self: Any, held: Any, *args: Any) -> None:
        right(self, held, *args)
        self._settle(held)

    with _patched(standby.Leader, "copy", copy):
        yield


@bug("a standby is ready before it has everything")
def _() -> Iterator[None]:
    right = places.Places.pair

    def pair(self: Any, number: int, is_up: Any) -> None:
        before = list(self._places)
        right(self, number, is_up)
        for shard, place in enumerate(self._places):
            if place != before[shard]:
                self._places[shard] = replace(place, ready=True)

    with _patched(places.Places, "pair", pair):
        yield


@bug("what a standby had as a primary counts")
def _() -> Iterator[None]:
    def tell(held: Any, part: Any, since: int) -> Copied:
        return Copied(part, since, -1 if held is None else held.record.round)

    with _patched(server, "tell", tell):
        yield


@bug("the window counts pushes until they are applied")
def _() -> Iterator[None]:
    with _patched(slices.Slices, "kept", lambda *_: None):
        yield


@bug("a push overtakes the pulls before it")
def _() -> Iterator[None]:
    right = slices.Slices._begin_pull

    def begin_pull(self: Any, one: Any, *args: Any) -> None:
        right(self, one, *args)
        one.pulling = 0

    with _patched(slices.Slices, "_begin_pull", begin_pull):
        yield


@bug("a restarted worker counts the barriers anew")
def _() -> Iterator[None]:
    def plain(self: Any, name: str) -> tuple[str, int]:
        return name, self.counts.get(name, 0) + 1

    with _patched(passed_barriers.PassedBarriers, "following", plain):
        yield


@bug("a restarted worker does not say that it has passed barriers")
def _() -> Iterator[None]:
    def pushed(self: Any, times: int) -> None:
        self._pushes = max(self._pushes, times)

    with _patched(passed_barriers.PassedBarriers, "pushed", pushed):
        yield


@bug("barriers count messages")
def _() -> Iterator[None]:
    def arrive(self: Any, name: str, rank: int, count: int) -> None:
        counts = self._arrived.setdefault(name, {})
        counts[rank] = counts.get(rank, 0) + 1

    with _patched(barriers.Barriers, "arrive", arrive):
        yield


@bug("other runs are heard")
def _() -> Iterator[None]:
    right = Machine.handle

    def handle(self: Any, event: Any, now: float) -> Any:
        if type(event) is Arrived:
            event = replace(event, run=self.plan.run)
        return right(self, event, now)

    with _patched(Machine, "handle", handle):
        yield


@bug("sums are in the order of arrival")
def _() -> Iterator[None]:
    def in_order(self: Any, held: Any) -> bool:
        for rank, push in held.kept.items():
            if rank not in held.folded:
                self._fold(held, rank, push)
        return self.members <= held.folded

    with _patched(rounds.Rounds, "_fold_in_order", in_order):
        yield


@bug("a successor's push counts beside its predecessor's")
def _() -> Iterator[None]:
    right = rounds.Rounds.push

    def push(self: Any, held: Any, rank: int, message: Any) -> None:
        if rank in held.kept and held.kept[rank].ticket != message.ticket:
            held.folded.discard(rank)
            held.turn = 0
            held.kept[rank].payload = message.payload
        right(self, held, rank, message)

    with _patched(rounds.Rounds, "push", push):
        yield


@bug("a round without a worker is not scaled")
def _() -> Iterator[None]:
    right = server_disk.ServerDriver.commit

    def commit(self: Any, action: Any, torn: bool = False) -> None:
        right(self, replace(action, scale=(1, 1)), torn)

    with _patched(server_disk.ServerDriver, "commit", commit):
        yield


@bug("staleness is not bounded")
def _() -> Iterator[None]:
    def may_see(self: Any, held: Any, rank: int, least: int) -> bool:
        return held.settled and self.number(held, rank) >= least

    with _patched(rounds.Rounds, "_may_see", may_see):
        yield


@bug("a torn record counts")
def _() -> Iterator[None]:
    with _patched(server_disk.PartFile, "now", lambda self: self.slots[-1]):
        yield


@bug("an old copy undoes a newer one")
def _() -> Iterator[None]:
    right = standby.follow

    def follow(held: Any, message: Any, out: Any) -> Any:
        if held is not None and message.full and held.record.since == message.since:
            record = PartRecord(-1, held.record.pushes, message.since)
            held = replace(held, record=record)
        return right(held, message, out)

    with _patched(server, "follow", follow):
        yield


@bug("a command is carried out whenever it is asked for")
def _() -> Iterator[None]:
    def command(self: Any, source: Any, generation: int, message: Any) -> None:
        self._out.append(Execute(source, message.ticket, message.name, message.body))

    with _patched(server.ServerMachine, "_command", command):
        yield


@bug("what a commit that failed was to be stays")
def _() -> Iterator[None]:
    right = server.ServerMachine._broke

    def broke(self: Any, event: Any) -> None:
        right(self, replace(event, record=self._parts[event.part].record))
        self._parts[event.part].broken = ""

    with _patched(server.ServerMachine, "_broke", broke):
        yield


@bug("nobody hears of a commit that failed")
def _() -> Iterator[None]:
    with _patched(server.ServerMachine, "_broke", lambda self, event: None):
        yield


@bug("urgent pushes are sent without a window")
def _() -> Iterator[None]:
    right = parts.PushQueue.__init__

    def init(self: Any, window: int) -> None:
        right(self, 0)

    with _patched(parts.PushQueue, "__init__", init):
        yield


@bug("who is being started again is dead as soon as others")
def _() -> Iterator[None]:
    with _patched(liveness, "_time_of", lambda loss, after, restart: loss.since + after):
        yield


@bug("workers do not hear that a server is being started again")
def _() -> Iterator[None]:
    right = worker.WorkerMachine._see

    def see(self: Any, view: Any) -> None:
        states = tuple(
            replace(one, state="up") if one.state == "lost" else one for one in view.peers
        )
        right(self, replace(view, peers=states))

    with _patched(worker.WorkerMachine, "_see", see):
        yield


@bug("states that come again are put once more")
def _() -> Iterator[None]:
    right = rounds.Rounds.put

    def put(self: Any, held: Any, rank: int, message: Any) -> None:
        held.record = replace(held.record, restored=0)
        right(self, held, rank, message)

    with _patched(rounds.Rounds, "put", put):
        yield


@bug("nobody waits for who is killed at its end")
def _() -> Iterator[None]:
    right = scheduler.SchedulerMachine._left

    def left(self: Any, *what: Any) -> None:
        right(self, *what)
        self._waiting.clear()

    with _patched(scheduler.SchedulerMachine, "_left", left):
        yield


@bug("who repeats a step is given what others have come to")
def _() -> Iterator[None]:
    right = rounds.Rounds._give

    def give(self: Any, held: Any, rank: int, message: Any) -> None:
        right(self, held, rank, replace(message, least=held.record.round))

    with _patched(rounds.Rounds, "_give", give):
        yield


@bug("a full copy leaves out the round before")
def _() -> Iterator[None]:
    right = standby.Leader._send

    def send(self: Any, held: Any, *args: Any) -> None:
        held.has_previous = False
        right(self, held, *args)

    with _patched(standby.Leader, "_send", send):
        yield


@bug("what one store is told is done with the pushes of all")
def _() -> Iterator[None]:
    right = server_disk.ServerDriver.adopt

    def adopt(self: Any, settings: Any) -> None:
        for store in (0, 1):
            right(self, replace(settings, store=store))

    with _patched(server_disk.ServerDriver, "adopt", adopt):
        yield


@bug("a store's rounds are those of the store that was set last")
def _() -> Iterator[None]:
    right = rounds.Rounds.adopt

    def adopt(self: Any, settings: Any, held: Any) -> None:
        for store in (0, 1):
            right(self, replace(settings, store=store), held)

    with _patched(rounds.Rounds, "adopt", adopt):
        yield


@bug("settings of all stores are counted together")
def _() -> Iterator[None]:
    right = scheduler.SchedulerMachine._configure

    def configure(self: Any, source: Any, generation: int, message: Any) -> None:
        known = [one.number for one in self._settings.values()]
        if message.settings is None or message.number >= max(known, default=0):
            right(self, source, generation, message)

    with _patched(scheduler.SchedulerMachine, "_configure", configure):
        yield


@bug("a restarted worker has begun all stores when it pushes to one")
def _() -> Iterator[None]:
    right = worker.WorkerMachine._call_push

    def call_push(self: Any, event: Any) -> None:
        right(self, event)
        self._pushed.update((0, 1))

    with _patched(worker.WorkerMachine, "_call_push", call_push):
        yield


@bug("a standby makes a commit by newer settings")
def _() -> Iterator[None]:
    right = rounds.Rounds.adopt

    def adopt(self: Any, settings: Any, held: Any) -> None:
        merged = [(one, one.merged) for one in held]
        right(self, settings, held)
        for one, before in merged:
            one.merged = before

    with _patched(rounds.Rounds, "adopt", adopt):
        yield


@bug("a standby makes a commit by older settings")
def _() -> Iterator[None]:
    right = server.ServerMachine._copy

    def copy(self: Any, source: Any, generation: int, message: Any) -> None:
        mine = self._rounds.settings[message.spec.store].number
        right(self, source, generation, replace(message, settings=mine))

    with _patched(server.ServerMachine, "_copy", copy):
        yield


@bug("settings are in force before all servers have put them down")
def _() -> Iterator[None]:
    right = scheduler.SchedulerMachine._answer_configured

    def answer(self: Any) -> None:
        self._set_in = dict.fromkeys(self._settings, 0)
        right(self)

    with _patched(scheduler.SchedulerMachine, "_answer_configured", answer):
        yield


@bug("a worker goes on before it knows the settings that it asked for")
def _() -> Iterator[None]:
    right = worker.WorkerMachine._configured_now

    def configured(self: Any, source: Any, generation: int, message: Any) -> None:
        seen = self._requests.view
        settings = [one for one in seen.settings if one.store != message.store]
        newest = replace(seen.settings_of(message.store), number=message.number)
        self._requests.view = replace(seen, settings=(*settings, newest))
        right(self, source, generation, message)
        self._requests.view = seen

    with _patched(worker.WorkerMachine, "_configured_now", configured):
        yield


@bug("who begins again waits for those whom its predecessor was ahead of")
def _() -> Iterator[None]:
    right = rounds.Rounds._may_see

    def may_see(self: Any, held: Any, rank: int, least: int) -> bool:
        top = self.number(held, rank)
        return top >= least and right(self, held, rank, max(top, least))

    with _patched(rounds.Rounds, "_may_see", may_see):
        yield


@bug("who begins again with other settings is waited for at barriers before them")
def _() -> Iterator[None]:
    right = worker.WorkerMachine._call_configure

    def call_configure(self: Any, event: Any) -> None:
        with _patched(self._barriers, "goes_on", lambda: None):
            right(self, event)

    with _patched(worker.WorkerMachine, "_call_configure", call_configure):
        yield


@bug("a restarted worker counts on from the settings that it finds")
def _() -> Iterator[None]:
    def next_number(self: Any, store: int) -> int:
        found = self._requests.view.settings_of(store).number if self._slices.resumes else 0
        return self._configured.get(store, found) + 1

    with _patched(worker.WorkerMachine, "_next_number", next_number):
        yield

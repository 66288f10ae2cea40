"""The chain of two: a primary has its standby make every commit, too, before anybody hears of it.

After van Renesse and Schneider, "Chain replication for supporting high throughput and availability"
(OSDI 2004), and Li et al., "Scaling distributed machine learning with the parameter server" (OSDI
2014): what is copied is the sum of a round, so that it costs one worker's traffic, not all's.

Two servers come together by a `ShardPlace` of the scheduler's, whose `since` is in every commit of
the standby. What it has under an older one may be something that was never acknowledged, so it is
overwritten by a full copy. A message of an older one is dropped: a primary that was replaced and
does not know it gets no `Copied` any more, and so answers nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import final

from hybridnet.kvstore.protocol.liveness import Repeats
from hybridnet.kvstore.protocol.rounds import HeldPart
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Action,
    AskCopy,
    Commit,
    Content,
    Copied,
    Copy,
    Fold,
    Install,
    PartId,
    PartRecord,
    Patience,
    Peer,
    Post,
    ShardPlace,
    StandbyReady,
    StoreSettings,
)


@final
class Leader:
    """A primary's side: has the standby follow.

    Args:
        patience: how long it waits for an answer.
        out: takes the actions.
        settle: called when a part's last commit is at the standby.
        settings: by store, those that commits are made by now.
    """

    def __init__(
        self,
        patience: Patience,
        out: list[Action],
        settle: Callable[[HeldPart], None],
        settings: Mapping[int, StoreSettings],
    ) -> None:
        self._settings = settings
        self._out = out
        self._settle = settle
        self._repeats: Repeats[PartId] = Repeats(patience)
        self._reports: Repeats[int] = Repeats(patience)
        self._behind: dict[int, set[PartId]] = {}

    @property
    def next(self) -> float:
        """When something is to be said again."""
        return min(self._repeats.next, self._reports.next)

    def begin(self, shard: int, place: ShardPlace, parts: list[HeldPart], now: float) -> None:
        """Goes by a new place, or by the same one after a start: asks what the standby has."""
        self._reports.drop(shard)
        self._behind[shard] = {held.part.id for held in parts}
        for held in parts:
            held.settled = False
            held.followed = 0
            self._ask(held.part.id, place, now)
        self._report(shard, place, now)

    def end(self, shard: int, parts: list[HeldPart]) -> None:
        """Nobody follows this shard any more."""
        self._reports.drop(shard)
        self._behind.pop(shard, None)
        for held in parts:
            self._repeats.drop(held.part.id)

    def copy(self, held: HeldPart, place: ShardPlace, now: float) -> None:
        """Makes the standby take the last commit, by its sum if that is all that is missing."""
        full = held.followed != place.since or not held.merged
        self._send(held, place, full, now)

    def copied(self, held: HeldPart, place: ShardPlace, message: Copied, now: float) -> None:
        """Takes the standby's answer."""
        if message.since != place.since or held.settled:
            return
        same = message.restored == held.record.restored
        if same and message.round == held.record.round:
            held.followed = place.since
            self._repeats.drop(held.part.id)
            self._behind.get(held.part.shard, set()).discard(held.part.id)
            self._report(held.part.shard, place, now)
            self._settle(held)
        else:
            full = not same or message.round != held.record.round - 1 or not held.merged
            self._send(held, place, full, now)

    def again(self, parts: list[HeldPart], place: ShardPlace, now: float) -> None:
        """The standby was started again: asks about all that it has not confirmed."""
        for held in parts:
            if not held.settled:
                self._ask(held.part.id, place, now)

    def tick(
        self, find: Callable[[PartId], tuple[HeldPart, ShardPlace] | None], now: float
    ) -> None:
        """Says again what was not answered."""
        for part in self._repeats.due(now):
            found = find(part)
            if found is None or found[0].settled:
                self._repeats.drop(part)
            else:
                self._post(found[1], AskCopy(part, found[1].since))

    def tick_reports(self, places: tuple[ShardPlace, ...], now: float) -> None:
        """Says again which shards have a standby that has everything."""
        for shard in self._reports.due(now):
            if places[shard].ready:
                self._reports.drop(shard)
            else:
                self._out.append(Post(SCHEDULER, StandbyReady(shard, places[shard].since)))

    def _report(self, shard: int, place: ShardPlace, now: float) -> None:
        if not place.ready and not self._behind.get(shard):
            self._reports.add(shard, now)
            self._out.append(Post(SCHEDULER, StandbyReady(shard, place.since)))

    def _ask(self, part: PartId, place: ShardPlace, now: float) -> None:
        self._repeats.add(part, now)
        self._post(place, AskCopy(part, place.since))

    def _send(self, held: HeldPart, place: ShardPlace, full: bool, now: float) -> None:
        content = Content.STORED if full else Content.MERGED
        rows = content if held.spec.rows and not full else None
        copy = Copy(
            held.part,
            held.name,
            held.spec,
            place.since,
            replace(held.record, since=place.since),
            full,
            content,
            rows,
            held.scale,
            self._settings[held.spec.store].number,
            full and held.has_previous,
        )
        self._repeats.add(held.part.id, now)
        self._post(place, copy)

    def _post(self, place: ShardPlace, message: Copy | AskCopy) -> None:
        assert place.standby is not None
        self._out.append(Post(Peer("server", place.standby), message))


def follow(held: HeldPart | None, message: Copy, out: list[Action]) -> HeldPart | None:
    """A standby's side: makes the commit, if it is the next one.

    Args:
        held: what it has of the part, of any place.
        message: of the primary of the place that holds.
        out: takes the actions.

    Returns:
        What it has now.
    """
    record = message.record
    mine = PartRecord(-1, (), -1) if held is None else held.record
    same = mine.since == message.since
    older = (mine.restored, mine.round) < (record.restored, record.round)
    if message.full and (not same or older):
        if held is None:
            held = HeldPart(message.part, message.name, message.spec, record)
        part, name, spec = message.part, message.name, message.spec
        out.append(Install(part, name, spec, record, message.payload, True, message.previous))
        held.record = record
        held.has_previous = message.previous
    elif (
        held is not None
        and not message.full
        and same
        and (mine.restored, mine.round) == (record.restored, record.round - 1)
    ):
        out.append(Fold(message.part.id, -1, message.payload, message.rows, True))
        out.append(Commit(message.part.id, record, message.scale))
        held.record = record
        held.has_previous = True
    return held


def tell(held: HeldPart | None, part: PartId, since: int) -> Copied:
    """A standby's side: what it has of a part under this place."""
    if held is None or held.record.since != since:
        return Copied(part, since, -1)
    return Copied(part, since, held.record.round, held.record.restored)

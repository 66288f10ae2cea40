"""The places of the shards: the server that answers for each, and the one that follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import final

from hybridnet.kvstore.protocol.words import RunPlan, ShardPlace


@final
class Places:
    """The servers of each shard, that of its standby copy included, as the scheduler decides.

    Args:
        plan: the numbers of servers and shards, and whether there are standbys.
    """

    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self._places: list[ShardPlace] = []

    @property
    def now(self) -> tuple[ShardPlace, ...]:
        """The place of each shard, by its number."""
        return tuple(self._places)

    def begin(self, known: tuple[ShardPlace, ...], number: int) -> None:
        """Takes over the places of an earlier view, or gives each shard the server of its number.

        In a new run every standby counts as complete, since nothing has been acknowledged yet.

        Args:
            known: the places of the earlier view; empty in a new run.
            number: the number of the view.
        """
        if known:
            self._places = list(known)
            return
        servers = self._plan.servers
        for shard in range(self._plan.shards):
            standby = (shard + 1) % servers if self._plan.standby else None
            self._places.append(ShardPlace(shard, standby, standby is not None, number))

    def lose(
        self, rank: int, number: int, is_up: Callable[[int], bool], disk: bool = False
    ) -> bool:
        """Takes a server out of its places, as far as others can do without it.

        Args:
            rank: the server.
            number: of the view to come.
            is_up: whether a server can take a place.
            disk: what it had is lost, too, or it will not come back: whoever follows it is waited
                for, if it is away.

        Returns:
            Whether something changed.
        """
        before = list(self._places)
        for shard, place in enumerate(before):
            if place.standby == rank:
                self._places[shard] = ShardPlace(place.primary, since=number)
            elif place.primary == rank and self._has_heir(place, is_up, disk):
                self._places[shard] = ShardPlace(place.standby or 0, since=number)
            elif place.primary == rank and disk and self._plan.standby:
                self._places[shard] = replace(place, lost=True)
        return self._places != before

    def _has_heir(self, place: ShardPlace, is_up: Callable[[int], bool], disk: bool) -> bool:
        return place.standby is not None and place.ready and (disk or is_up(place.standby))

    def pair(self, number: int, is_up: Callable[[int], bool]) -> None:
        """Gives every shard that nobody follows a server that can."""
        if not self._plan.standby:
            return
        servers = self._plan.servers
        for shard, place in enumerate(self._places):
            if place.standby is not None:
                continue
            for step in range(1, servers):
                other = (place.primary + step) % servers
                if is_up(other):
                    self._places[shard] = ShardPlace(place.primary, other, False, number)
                    break

    def ready(self, shard: int, since: int) -> bool:
        """A standby has everything; whether that is news."""
        if not 0 <= shard < len(self._places):
            return False
        place = self._places[shard]
        if place.since != since or place.standby is None or place.ready:
            return False
        self._places[shard] = replace(place, ready=True)
        return True

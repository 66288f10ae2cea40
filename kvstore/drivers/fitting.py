"""Checks that a word fits this run: whose it is, which processes, shards and parts it names.

That a word has a form, and numbers in the range of their kind, is known when it is read; whether
they are numbers of this run only who knows its plan can say. Machines take it for granted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hybridnet.kvstore.protocol.words import (
    Arrived,
    Copy,
    Gone,
    Hello,
    InitPart,
    Join,
    Part,
    Peer,
    Peers,
    RunPlan,
    StandbyReady,
    View,
    Welcome,
)
from hybridnet.kvstore.transport.wire import WireError

_LAST_NUMBER: Final = 1 << 61


def check_fits(plan: RunPlan, event: Arrived) -> None:
    """Refuses a word that names what the run does not have.

    Raises:
        WireError: it does.
    """
    _check_peer(plan, event.source)
    check = _CHECKS.get(type(event.message))
    if check is not None:
        check(plan, event.message)


def _check_peer(plan: RunPlan, peer: Peer) -> None:
    role, rank = peer
    count = plan.workers if role == "worker" else plan.servers if role == "server" else 1
    if not -1 <= rank < count:
        raise WireError(f"this run has {count} processes of the role {role}, got number {rank}")


def _check_shard(plan: RunPlan, shard: int) -> None:
    if not 0 <= shard < plan.shards:
        raise WireError(f"this run has {plan.shards} shards, got number {shard}")


def _check_part(plan: RunPlan, part: Part) -> None:
    _check_shard(plan, part.shard)
    if not part.first <= part.last:
        raise WireError(f"a part is from its first to its last, got {part.first} to {part.last}")


def _check_view(plan: RunPlan, view: View | None) -> None:
    if view is None:
        return
    if view.number >= _LAST_NUMBER:
        raise WireError(
            f"a view's number is below {_LAST_NUMBER}, as others follow, got {view.number}"
        )
    if len(view.places) not in (0, plan.shards):
        raise WireError(f"this run has {plan.shards} shards, got a view of {len(view.places)}")
    for state in view.peers:
        if state.peer.role not in ("worker", "server") or state.peer.rank < 0:
            raise WireError(f"a view is of workers and servers, got {state.peer}")
        _check_peer(plan, state.peer)
    for place in view.places:
        for rank in (place.primary, place.standby):
            if rank is not None and not 0 <= rank < plan.servers:
                raise WireError(f"this run has {plan.servers} servers, got number {rank}")


def _check_hello(plan: RunPlan, message: Hello | Welcome) -> None:
    _check_peer(plan, message.peer)
    _check_view(plan, message.view)


#: By the kind of a message, what it may not say.
_CHECKS: Final[Mapping[type, Callable[[RunPlan, Any], None]]] = {
    Hello: _check_hello,
    Welcome: _check_hello,
    Peers: lambda plan, message: _check_view(plan, message.view),
    Gone: lambda plan, message: _check_peer(plan, message.peer),
    StandbyReady: lambda plan, message: _check_shard(plan, message.shard),
    Join: lambda plan, message: _check_shard(plan, message.shard),
    InitPart: lambda plan, message: _check_part(plan, message.part),
    Copy: lambda plan, message: _check_part(plan, message.part),
}

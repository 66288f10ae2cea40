"""The scheduler: who is there, who answers for which shard, barriers, settings.

It is in nobody's way: workers and servers go on without it, and wait for it only with Hello,
barriers and settings. It keeps nothing on a disk; one that is started again learns all from the
others' Hello, and numbers its views above those of its predecessor.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Final, Literal, final

from hybridnet.kvstore.protocol.barriers import Barriers
from hybridnet.kvstore.protocol.liveness import LossWatch, Repeats
from hybridnet.kvstore.protocol.machine import Machine
from hybridnet.kvstore.protocol.places import Places
from hybridnet.kvstore.protocol.words import (
    Barrier,
    BarrierDone,
    Configure,
    Configured,
    Finish,
    Gone,
    Hello,
    Left,
    Message,
    Peer,
    PeerLost,
    Peers,
    PeerState,
    PeerUp,
    Post,
    ProcessIdentity,
    Refused,
    RunPlan,
    Seen,
    StandbyReady,
    Stop,
    StoreSettings,
    View,
    Welcome,
    WhoAreYou,
)

#: Views of a later scheduler have higher numbers than all of an earlier one.
_GENERATION: Final = 1 << 32


@final
class SchedulerMachine(Machine):
    """The decisions of the scheduler's process.

    Args:
        plan: the run's.
        me: this process.
    """

    def __init__(self, plan: RunPlan, me: ProcessIdentity) -> None:
        super().__init__(plan, me)
        self._everybody = [Peer("worker", rank) for rank in range(plan.workers)]
        self._everybody += [Peer("server", rank) for rank in range(plan.servers)]
        self._number = me.generation * _GENERATION
        self._states: dict[Peer, PeerState] = {}
        self._names: dict[Peer, str] = {}
        self._ranked_here: set[Peer] = set()  # who did not say which rank it has
        self._places = Places(plan)
        #: by store, and in the view of which number they came.
        self._settings: dict[int, StoreSettings] = {}
        self._set_in: dict[int, int] = {}
        self._seen: dict[Peer, int] = {}
        #: by rank and store, the number of those that a worker waits for.
        self._configuring: dict[tuple[int, int], int] = {}
        self._barriers = Barriers()
        self._watch = LossWatch()
        self._repeats: Repeats[Peer] = Repeats(plan.patience)
        self._complete = False
        self._best = View(0)
        self._fresh: dict[Peer, int] = {}
        self._ended: dict[Peer, Gone] = {}
        self._waiting: set[Peer] = set()  # who has finished, and waits until all have
        self._give_up = inf
        self._ends = inf
        self._over = Stop()
        self._on = {PeerLost: self._lost, PeerUp: self._up}
        self._told = {
            Hello: self._hello,
            Gone: self._gone,
            Stop: self._stop,
            Seen: self._seen_now,
            StandbyReady: self._standby_ready,
            Configure: self._configure,
            Barrier: self._barrier,
            Left: self._left,
        }

    # -- who speaks --------------------------------------------------------------------------

    def _begin(self) -> None:
        """There is nothing to do before the first Hello."""

    def _receive(self, source: Peer, generation: int, message: Message) -> None:
        if isinstance(message, (Hello, Gone, Stop)):
            super()._receive(source, generation, message)
            return
        state = self._states.get(source)
        if state is None or source not in self._names or generation > state.generation:
            self._out.append(Post(source, WhoAreYou(), generation))
        elif generation < state.generation or state.state == "gone":
            self._refuse_stale(source, generation)
        else:
            if self._watch.hear(source):
                self._review()
            super()._receive(source, generation, message)

    def _refuse_stale(self, source: Peer, generation: int) -> None:
        what = f"{source.role} {source.rank} of generation {generation} was replaced"
        state = self._states.get(source)
        if state is not None and state.generation == generation:
            what = f"{source.role} {source.rank} was declared dead ({state.reason})"
        self._out.append(Post(source, Refused(0, "stale", what), generation))

    def _hello(self, source: Peer, generation: int, message: Hello) -> None:
        peer = self._rank(message)
        known = None if peer is None else self._states.get(peer)
        # When the run is over, too: a process that was replaced has no part in how it ended.
        if known is not None and message.generation < known.generation + (known.state == "gone"):
            self._refuse_stale(known.peer, message.generation)
            return
        if self._ends < inf:
            self._out.append(Post(message.peer, self._over, message.generation))
            if peer in self._ended and message.generation > self._ended[peer].generation:
                del self._ended[peer]
                self._ends = max(self._ends, self._now + self.plan.patience.ask)
            return
        if peer is None:
            what = f"all {message.peer.role}s of the run are there already"
            self._out.append(Post(message.peer, Refused(0, "wrong", what), message.generation))
            return
        name = self._names.get(peer)
        newer = known is None or message.generation > known.generation
        if known is not None and not newer and name is not None and name != message.name:
            what = f"there are two processes that want to be {peer.role} {peer.rank}"
            self._out.append(Post(source, Refused(0, "wrong", what), message.generation))
            return
        changed = newer or name is None
        self._names[peer] = message.name
        ended = self._ended.get(peer)
        if ended is not None and ended.generation < message.generation:
            ended = None
        how: Literal["up", "lost", "left"] = "lost" if ended and ended.returns else "up"
        if known is not None and not newer and known.state == "left":
            how = "left"
        why = ended.reason if ended else ""
        self._states[peer] = PeerState(
            peer, message.generation, message.address, message.host, how, why
        )
        if ended is not None:
            self._watch.lose(peer, self._now, why, ended=True, returns=ended.returns)
        else:
            self._watch.forget(peer)
        if newer:
            self._waiting.discard(peer)
            seen = self._seen.pop(peer, 0)
            if message.fresh:
                self._fresh[peer] = seen
        self._learn(peer, message)
        if message.peer.rank < 0:
            self._ranked_here.add(peer)
        else:
            self._ranked_here.discard(peer)
        if not self._complete:
            self._try_to_complete()
            return
        if changed:
            self._lose_disks()
            self._change()
        self._welcome(peer)

    def _welcome(self, peer: Peer) -> None:
        """Says to a process who it is, and what there is."""
        to = Peer(peer.role, -1) if peer in self._ranked_here else peer
        self._post(to, Welcome(self._names[peer], peer, self._view(), self._barriers.most("")))
        self._repeats.add(peer, self._now)

    def _rank(self, message: Hello) -> Peer | None:
        """The peer that a process is: the one it says, or the first that nobody is."""
        if message.peer.rank >= 0:
            return message.peer if message.peer in self._everybody else None
        role = message.peer.role
        mine = (peer for peer, name in self._names.items() if name == message.name)
        free = (peer for peer in self._everybody if peer.role == role and peer not in self._names)
        return next(mine, None) or next(free, None)

    # -- the beginning ------------------------------------------------------------------------

    def _learn(self, peer: Peer, message: Hello) -> None:
        """Takes from a Hello what a scheduler before this one knew."""
        view = message.view
        if view is not None and view.number > self._best.number and not self._complete:
            self._best = view
            if self._give_up == inf:
                self._give_up = self._now + self.plan.patience.dead
        if peer.role == "worker":
            for name, count in message.barriers:
                self._barriers.arrive(name, peer.rank, count)
            for name, count in message.passed:  # those who came to it may have died since
                for rank in range(self.plan.workers):
                    self._barriers.arrive(name, rank, count)

    def _try_to_complete(self) -> None:
        """All are there, or will not come any more: the first view."""
        known = {state.peer: state for state in self._best.peers}
        for peer in self._everybody:
            if peer in self._names:
                continue
            state = known.get(peer)
            absent = state is not None and state.state in ("left", "gone")
            if not absent and self._now < self._give_up:
                return
        for peer, state in known.items():
            mine = self._states.get(peer)
            if mine is None:
                self._states[peer] = state
                if state.state in ("up", "lost"):
                    since = self._now - self.plan.patience.dead
                    returns = state.state == "lost"
                    self._watch.lose(peer, since, "said no Hello", returns=returns)
            elif mine.generation == state.generation and state.state in ("left", "gone"):
                self._states[peer] = state
        self._complete = True
        self._give_up = inf
        self._number += 1
        self._settings = {one.store: one for one in self._best.settings}
        self._set_in = dict.fromkeys(self._settings, self._number)
        self._places.begin(self._best.places, self._number)
        self._lose_disks()
        # All at once: who came early would else wait until its next Hello.
        for peer in self._names:
            self._welcome(peer)
        self._follow_up()

    def _lose_disks(self) -> None:
        """Servers that were started with an empty disk have nothing of what they answered for."""
        for peer, seen in self._fresh.items():
            if self._best.number or seen:
                self._places.lose(peer.rank, self._number + 1, self._is_up, disk=True)
        self._fresh.clear()
        self._places.pair(self._number + 1, self._is_up)

    # -- views -------------------------------------------------------------------------------

    def _view(self) -> View:
        peers = tuple(self._states[peer] for peer in self._everybody if peer in self._states)
        return View(self._number, peers, self._places.now, tuple(self._settings.values()))

    def _change(self) -> None:
        self._places.pair(self._number + 1, self._is_up)
        self._number += 1
        self._broadcast()

    def _broadcast(self) -> None:
        message = Peers(self._view())
        for peer, state in self._states.items():
            if state.state in ("up", "lost") and peer in self._names:
                self._repeats.add(peer, self._now)
                self._post(peer, message)
        self._follow_up()

    def _follow_up(self) -> None:
        """Does what a new view may have made due."""
        self._answer_barriers()
        self._answer_configured()
        if self._ends == inf and self._have_all_left():
            for peer in self._waiting:
                self._post(peer, Left())
            if "left" in self._ends_of_workers():
                self._end(Stop("all workers have finished"))
            else:
                self._end(Stop("all workers are dead", "dead"))

    def _ends_of_workers(self) -> set[str]:
        return {one.state for one in self._states.values() if one.peer.role == "worker"}

    def _have_all_left(self) -> bool:
        return self._complete and self._ends_of_workers() <= {"left", "gone"}

    def _seen_now(self, source: Peer, generation: int, message: Seen) -> None:
        if message.number >= self._number:
            self._repeats.drop(source)
        self._seen[source] = max(message.number, self._seen.get(source, 0))
        self._answer_configured()

    def _is_up(self, rank: int) -> bool:
        peer = Peer("server", rank)
        state = self._states.get(peer)
        return state is not None and state.state == "up" and self._watch.find(peer) is None

    # -- losses ------------------------------------------------------------------------------

    def _lost(self, event: PeerLost) -> None:
        state = self._states.get(event.peer)
        if state is None or state.state not in ("up", "lost"):
            return
        if event.generation and event.generation < state.generation:
            return
        self._watch.lose(event.peer, self._now, event.reason)
        self._repeats.add(event.peer, self._now)
        self._post(event.peer, WhoAreYou())

    def _up(self, event: PeerUp) -> None:
        if self._watch.hear(event.peer):
            self._review()

    def _gone(self, source: Peer, generation: int, message: Gone) -> None:
        state = self._states.get(message.peer)
        if state is not None and message.generation < state.generation:
            return
        self._ended[message.peer] = message  # its Hello may still be on its way
        if state is None or state.state == "gone":
            return
        waited = message.returns and message.peer in self._waiting and self._ends == inf
        if state.state == "left" and not waited:
            return  # it had nothing left to do
        if message.generation > state.generation and message.returns:
            return  # it ended before it said Hello, and is still being started
        reason = message.reason
        self._watch.lose(message.peer, self._now, reason, ended=True, returns=message.returns)
        if message.returns:
            self._states[message.peer] = replace(state, state="lost", reason=reason)
            if self._complete:
                self._change()
        elif self._complete:
            self._fail_over(message.peer, disk=True)
            self._declare(message.peer)

    def _review(self) -> None:
        """Does what is due for those who are lost."""
        if not self._complete:
            return
        patience = self.plan.patience
        for peer in self._watch.due(patience.promote, self._now):
            self._fail_over(peer)
        for peer in self._watch.due(patience.dead, self._now, patience.restart):
            self._declare(peer)
        before = self._places.now
        self._places.pair(self._number + 1, self._is_up)
        if self._places.now != before:
            self._change()

    def _fail_over(self, peer: Peer, disk: bool = False) -> None:
        """A server does not come back at once, or (`disk`) ever: others take its places."""
        number = self._number + 1
        if peer.role == "server" and self._places.lose(peer.rank, number, self._is_up, disk):
            self._change()

    def _declare(self, peer: Peer) -> None:
        """A peer is dead, and may not come back as the same process."""
        loss, state = self._watch.find(peer), self._states[peer]
        if loss is None or state.state not in ("up", "lost"):
            return
        reason = f"since {self._now - loss.since:.1f} s: {loss.reason}"
        self._states[peer] = replace(state, state="gone", reason=reason)
        self._watch.forget(peer)
        self._repeats.drop(peer)
        self._change()

    def _standby_ready(self, source: Peer, generation: int, message: StandbyReady) -> None:
        if self._complete and self._places.ready(message.shard, message.since):
            self._change()

    # -- settings and barriers ---------------------------------------------------------------

    def _configure(self, source: Peer, generation: int, message: Configure) -> None:
        store, number, given = message.store, message.number, message.settings
        self._configuring[source.rank, store] = number
        known = self._settings.get(store)
        newer = known is None or number > known.number
        if self._complete and given is not None and newer:
            self._settings[store] = replace(given, number=number, store=store)
            self._set_in[store] = self._number + 1
            self._change()
        else:
            self._answer_configured()

    def _answer_configured(self) -> None:
        """Says which settings are in force: those that all servers have put down."""
        if not self._configuring or not self._complete:
            return
        seen = min(
            (
                self._seen.get(peer, 0)
                for peer, state in self._states.items()
                if peer.role == "server" and state.state != "gone"
            ),
            default=self._number,
        )
        for (rank, store), number in list(self._configuring.items()):
            known = self._settings.get(store)
            if known is not None and number <= known.number and self._set_in[store] <= seen:
                del self._configuring[rank, store]
                self._post(Peer("worker", rank), Configured(store, number))

    def _barrier(self, source: Peer, generation: int, message: Barrier) -> None:
        self._barriers.wait(message.name, source.rank, message.count)
        self._answer_barriers()

    def _answer_barriers(self) -> None:
        if not self._complete:
            return
        waits = {"up", "lost", "gone"} if self.plan.on_loss == "fail" else {"up", "lost"}
        waited_for = [
            peer.rank
            for peer, state in self._states.items()
            if peer.role == "worker" and state.state in waits
        ]
        for rank, name, count in self._barriers.done(waited_for):
            self._post(Peer("worker", rank), BarrierDone(name, count))

    # -- the end -----------------------------------------------------------------------------

    def _left(self, source: Peer, generation: int, message: Left) -> None:
        state = self._states[source]
        if message.waits:
            self._waiting.add(source)
        if not message.waits or self._ends < inf:
            self._post(source, Left())
        if state.state == "left":
            return
        self._states[source] = replace(state, state="left")
        self._watch.forget(source)
        self._repeats.drop(source)
        if self._complete:
            self._change()

    def _stop(self, source: Peer, generation: int, message: Stop) -> None:
        self._end(Stop(message.reason or "the run was stopped"))

    def _end(self, stop: Stop) -> None:
        """Makes all others end, and stays a moment for those who have not heard it."""
        self._over = stop
        for peer, state in self._states.items():
            if state.state in ("up", "lost"):
                self._repeats.add(peer, self._now)
                self._post(peer, stop)
        self._ends = self._now + 2 * self.plan.patience.ask

    @property
    def _closes(self) -> float:
        """When it ends: not while one that was killed at its end is being started again.

        That one would wait for a scheduler, where it is to hear that the run is over.
        """
        for peer, gone in self._ended.items():
            state = self._states.get(peer)
            if gone.returns and state is not None and state.generation <= gone.generation:
                return self._ends + self.plan.patience.restart
        return self._ends

    # -- time --------------------------------------------------------------------------------

    def _tick(self) -> None:
        if self._now >= self._closes:
            self._closed = True
            self._out.append(Finish(self._over.code, self._over.reason))
            return
        if not self._complete and self._now >= self._give_up:
            self._try_to_complete()
        self._review()
        message: Message
        for peer in self._repeats.due(self._now):
            lost = self._watch.find(peer) is not None
            if self._ends < inf:
                message = self._over
            elif lost:
                message = WhoAreYou()
            elif self._complete and self._seen.get(peer, 0) < self._number:
                message = Peers(self._view())
            else:
                self._repeats.drop(peer)
                continue
            self._post(peer, message)

    def _deadline(self) -> float:
        patience = self.plan.patience
        time = min(self._repeats.next, self._give_up, self._closes)
        if self._watch and self._complete:
            time = min(
                time,
                self._watch.next(patience.promote, self._now),
                self._watch.next(patience.dead, self._now, patience.restart),
            )
        return time

"""The parts of a worker's keys: which calls wait for which, and what is asked for each of them."""

from __future__ import annotations

from typing import Any, Final, final

from hybridnet.kvstore.protocol.calls import Calls, Slice, SliceCall, SlicedKey
from hybridnet.kvstore.protocol.parts import PushQueue, parts_of
from hybridnet.kvstore.protocol.requests import Request, Requests
from hybridnet.kvstore.protocol.words import (
    Action,
    Applied,
    CallInit,
    CallPull,
    CallPush,
    CallRestore,
    CallStates,
    Deliver,
    Initialized,
    InitPart,
    Kept,
    Missing,
    Name,
    Part,
    PartId,
    Peer,
    PullPart,
    PullStates,
    PushPart,
    PutStates,
    RunPlan,
    StatesPut,
)

#: How far a predecessor may have been ahead of what its servers said of it.
_AGAIN: Final = 2


@final
class Slices:
    """Inits, pushes and pulls of the parts of all keys.

    Args:
        plan: the run's.
        out: takes the actions.
        requests: what waits for an answer.
        calls: what waits for them.

    Attributes:
        keys: by name.
        high: the highest number of a push of a predecessor.
        resumes: how many pushes of each key count already.
    """

    def __init__(self, plan: RunPlan, out: list[Action], requests: Requests, calls: Calls) -> None:
        self.keys: dict[Name, SlicedKey] = {}
        self.high = self.resumes = 0
        self._plan = plan
        self._out = out
        self._requests = requests
        self._calls = calls
        self._parts: dict[PartId, Part] = {}
        self._loads = [0] * plan.shards  # bytes of values; every worker counts the same
        self._queue = PushQueue(plan.window)

    def part(self, part: PartId) -> Part:
        """The whole part of an id."""
        return self._parts[part]

    @property
    def on_the_way(self) -> int:
        """The number of pushes of parts that no server has received yet."""
        return self._queue.on_the_way

    def pushes_of(self, name: Name) -> int:
        """The number of pushes of a key, with those that have not begun.

        Of a process that was started again those count that it need not make once more.
        """
        one = self.keys[name].slices[0]
        before = one.number if one.ready else self.resumes
        return before + sum(isinstance(event, CallPush) for event in one.waiting)

    def pushes_to(self, store: int) -> int:
        """The number of pushes of that key of a store which is pushed most."""
        names = (name for name, key in self.keys.items() if key.spec.store == store)
        return max(map(self.pushes_of, names), default=0)

    def divide(self, event: CallInit) -> tuple[Part, ...]:
        """The parts that a key is to have."""
        return parts_of(len(self.keys), event.name, event.spec, self._plan, self._loads)

    def make(self, event: CallInit, parts: tuple[Part, ...], payload: Any) -> None:
        """Makes the parts of a key on the servers.

        Args:
            event: names the key.
            parts: of it.
            payload: its value; None: another worker gives it.
        """
        for part in parts:
            share = (part.last - part.first) / max(1, event.spec.rows or event.spec.size)
            self._loads[part.shard] += round(share * event.spec.size * event.spec.item)
        slices = tuple(Slice(part, part.id) for part in parts)
        self.keys[event.name] = SlicedKey(len(self.keys), event.spec, slices)
        for part, one in zip(parts, slices, strict=True):
            self._parts[part.id] = part
            ticket = self._requests.new_ticket()
            message = InitPart(ticket, part, event.name, event.spec, payload)
            self._requests.ask_shard(part.shard, ticket, message, event.call, one)

    def begin(self, key: SlicedKey, event: SliceCall) -> None:
        """Carries out a call, part by part, as soon as those before it allow it."""
        for one in key.slices:
            one.waiting.append(event)
            self._advance(one)
        self.send_pushes()

    def drop(self, call: int) -> None:
        """Forgets a call that fails: what waits for an answer, and what has not begun."""
        for request in self._requests.every():
            if request.call == call:
                self._requests.answered(request.key)
                self.undo(request)
        for state in self.keys.values():
            for one in state.slices:
                kept = [event for event in one.waiting if event.call != call]
                if len(kept) < len(one.waiting):
                    one.waiting.clear()
                    one.waiting.extend(kept)
                self._advance(one)

    def undo(self, request: Request) -> None:
        """The slice of a request that failed is free again."""
        one, message = request.slice, request.message
        if isinstance(message, PushPart):
            self._queue.arrived(message.ticket)
            if one is not None and one.pushing:
                one.pushing = False
                one.number -= 1
        elif isinstance(message, (PullPart, PullStates)) and one is not None:
            one.pulling -= 1
        elif isinstance(message, PutStates) and one is not None:
            one.pushing = False

    def _advance(self, one: Slice) -> None:
        """Begins what may begin."""
        while one.ready and one.waiting:
            event = one.waiting[0]
            if isinstance(event, CallPull):
                self._begin_pull(one, event.call, event.rows, event.priority)
            elif isinstance(event, CallStates):
                self._begin_states(one, event)
            elif one.pushing or one.pulling:
                return
            elif isinstance(event, CallRestore):
                self._begin_restore(one, event)
            else:
                self._begin_push(one, event)
            one.waiting.popleft()

    def _begin_push(self, one: Slice, event: CallPush) -> None:
        one.number += 1
        one.pushing = True
        ticket = self._requests.new_ticket()
        message = PushPart(
            ticket,
            one.id,
            one.number,
            event.payload,
            event.rows,
            event.wants_value,
            self._plan.window > 0,
            event.priority,
        )
        request = Request(ticket, message, event.call, one.part.shard, slice=one)
        if self._plan.window:
            request.sent = False
            self._requests.hold(request)
            self._queue.add(ticket, event.priority)
        else:
            self._requests.ask(request)

    def _begin_pull(self, one: Slice, call: int, rows: Any, priority: int) -> None:
        one.pulling += 1
        ticket = self._requests.new_ticket()
        message = PullPart(ticket, one.id, one.number, rows, priority)
        self._requests.ask_shard(one.part.shard, ticket, message, call, one)

    def _begin_states(self, one: Slice, event: CallStates) -> None:
        one.pulling += 1
        ticket = self._requests.new_ticket()
        message = PullStates(ticket, one.id, one.number)
        self._requests.ask_shard(one.part.shard, ticket, message, event.call, one)

    def _begin_restore(self, one: Slice, event: CallRestore) -> None:
        """Puts states in their place; the next push waits for that, as for a push."""
        one.pushing = True
        ticket = self._requests.new_ticket()
        message = PutStates(ticket, one.id, event.number, event.updates, event.payload)
        self._requests.ask_shard(one.part.shard, ticket, message, event.call, one)

    def send_pushes(self) -> None:
        """Sends the pushes whose turn has come."""
        if not self._plan.window:
            return  # nothing waits for its turn
        for ticket in self._queue.take():
            request = self._requests.find(ticket)
            assert request is not None
            request.sent = True
            self._requests.say(request)

    def _push_again(self, request: Request) -> None:
        """A push must be sent whole once more, in its turn."""
        request.kept = False
        assert isinstance(request.message, PushPart)
        if self._plan.window:
            request.sent = False
            self._requests.wait_again(request)
            self._queue.add(request.message.ticket, request.message.priority)
        else:
            self._requests.say(request)

    def send_again(self, peers: set[Peer]) -> None:
        """Says once more what peers were told that may not know it any longer."""
        for request in self._requests.every():
            if request.sent and self._requests.target(request) in peers:
                if isinstance(request.message, PushPart):
                    self._push_again(request)
                else:
                    self._requests.say(request)
        self.send_pushes()

    def is_unsure(self, number: int) -> bool:
        """Whether so many pushes of a key, fewer than of others, may or may not be done again."""
        return 0 < number < self.high - 1

    def initialized(self, message: Initialized) -> None:
        """A part is there."""
        request = self._requests.answered(message.ticket)
        if request is None or request.slice is None:
            return
        one, base = request.slice, message.number
        # What a predecessor pushed of the step that is made again does not count twice.
        again = self.high - 1 <= base <= self.high + _AGAIN
        one.number = min(base, self.resumes) if again else base
        one.ready = True
        self._calls.answered(request.call)
        self._advance(one)
        self.send_pushes()

    def applied(self, message: Applied) -> None:
        """A push counts, and its answer may bring the value."""
        request = self._requests.answered(message.ticket)
        if request is None or request.slice is None:
            return
        one, push = request.slice, request.message
        assert isinstance(push, PushPart)
        if self._plan.window:
            self._queue.arrived(message.ticket)
        one.pushing = False
        if one.number > self.high + _AGAIN:
            # Rounds closed without this worker. Before that it does again what counts already.
            one.number = max(one.number, message.number)
        if push.wants_value and message.payload is None:
            self._begin_pull(one, request.call or 0, push.rows, push.priority)
        else:
            if push.wants_value and request.call in self._calls:
                deliver = Deliver(request.call or 0, one.id, message.payload)
                self._out.append(deliver)
            self._calls.answered(request.call)
        if one.waiting:
            self._advance(one)
        self.send_pushes()

    def kept(self, message: Kept) -> None:
        """A server has a push, and its round is still open."""
        request = self._requests.find(message.ticket)
        if request is not None and request.sent:
            request.kept = True
            self._requests.received(message.ticket)
            self._queue.arrived(message.ticket)
            self.send_pushes()

    def missing(self, message: Missing) -> None:
        """A server has not got a push, or has it no longer."""
        request = self._requests.find(message.ticket)
        if request is not None and request.sent:
            self._push_again(request)
            self.send_pushes()

    def pulled(self, ticket: int, part: PartId, payload: Any, rows: Any, number: int) -> None:
        """Delivers what a server was asked for, which has come."""
        request = self._requests.answered(ticket)
        if request is None or request.slice is None:
            return
        request.slice.pulling -= 1
        if request.call in self._calls:
            self._out.append(Deliver(request.call or 0, part, payload, rows, number))
        self._calls.answered(request.call)
        self._advance(request.slice)
        self.send_pushes()

    def states_put(self, message: StatesPut) -> None:
        """States are in their place."""
        request = self._requests.answered(message.ticket)
        if request is None or request.slice is None:
            return
        request.slice.pushing = False
        self._calls.answered(request.call)
        self._advance(request.slice)
        self.send_pushes()

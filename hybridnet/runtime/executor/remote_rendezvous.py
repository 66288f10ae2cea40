"""The meeting point of the Sends and Recvs of one step that runs on several tasks.

What is sent to a device of another task is kept where it was made, until that task asks for it: so
a producer never waits, and nothing is sent to who has no room for it yet. Messages may be lost,
doubled and out of order, so a request has a number: it is repeated until its answer is there, the
answer is kept until it is known to have come, and a number is answered once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError

from .rendezvous import Callback, Key, LocalRendezvous, Received, Rendezvous
from .task_messages import Answer, Ask, Cancel, Got, Message, TaskTransport, TravellingTensor

__all__ = ["RemoteRendezvous", "StepExchange"]

#: Messages of steps that have not begun here, which are kept; more are sent again by who sent them.
_EARLY: Final = 1 << 12
#: Steps that have ended and are remembered, so that late messages are known for what they are.
_REMEMBERED: Final = 1 << 10


@final
class _Numbers:
    """A set of numbers that grow, with few gaps at a time."""

    __slots__ = ("_below", "_beyond")

    def __init__(self) -> None:
        self._below = 0
        self._beyond: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return number < self._below or number in self._beyond

    def add(self, number: int) -> None:
        """Adds a number."""
        self._beyond.add(number)
        while self._below in self._beyond:
            self._beyond.remove(self._below)
            self._below += 1


@final
class _Peer:
    """What passes between this task and another in one step.

    Attributes:
        asked: requests of this task's that are not answered, by number.
        next: the number of the next one.
        answers: those that this task gave, by number, until they have come; None where one is in
            the making.
        got: the numbers of answers that have come.
    """

    def __init__(self) -> None:
        self.asked: dict[int, tuple[Key, Callback]] = {}
        self.next = 0
        self.answers: dict[int, Answer | None] = {}
        self.got = _Numbers()


@final
class RemoteRendezvous(Rendezvous):
    """Joins the parts of a step on this task with each other and with those on others.

    Args:
        step: the number of the step.
        owners: for each device of the step the task that has it.
        transport: to the other tasks.
    """

    def __init__(self, step: int, owners: Mapping[str, str], transport: TaskTransport) -> None:
        self._step = step
        self._owners = owners
        self._transport = transport
        self._here = LocalRendezvous()
        # What was made for others and not asked for.
        self._kept = LocalRendezvous()
        others = set(owners.values()) - {transport.task}
        self._peers: dict[str, _Peer] = {name: _Peer() for name in sorted(others)}
        self._lock = threading.RLock()
        self._error: BaseException | None = None

    def send(self, key: Key, value: Any, dead: bool = False) -> None:
        """See `Rendezvous.send`."""
        to = self._owners[key.destination]
        (self._here if to == self._transport.task else self._kept).send(key, value, dead)

    def receive_async(self, key: Key, callback: Callback) -> None:
        """See `Rendezvous.receive_async`; what comes from another task is a NumPy array."""
        owner = self._owners[key.source]
        if owner == self._transport.task:
            self._here.receive_async(key, callback)
            return
        with self._lock:
            error = self._error
            if error is None:
                peer = self._peers[owner]
                ask = Ask(self._step, peer.next, key)
                peer.asked[peer.next] = (key, callback)
                peer.next += 1
        if error is None:
            self._transport.send(owner, ask)
        else:
            callback(Received(error=error))

    def abort(self, error: BaseException) -> None:
        """See `Rendezvous.abort`; the other tasks are told."""
        self._end(error, tell=True)

    def resend(self) -> None:
        """Asks again for all that has not come; to be called now and then."""
        with self._lock:
            asks = [
                (name, Ask(self._step, number, key))
                for name, peer in self._peers.items()
                for number, (key, _) in peer.asked.items()
            ]
        for name, ask in asks:
            self._transport.send(name, ask)

    @property
    def pending(self) -> tuple[int, int]:
        """Counts tensors that were made and have not come to whom they are for, and open requests.

        An answer that is on its way counts on both sides.
        """
        with self._lock:
            given = sum(len(peer.answers) for peer in self._peers.values())
            asked = sum(len(peer.asked) for peer in self._peers.values())
        (here, waiting), (kept, _) = self._here.pending, self._kept.pending
        return here + kept + given, waiting + asked

    # -- what others say ---------------------------------------------------------------------

    def hear(self, sender: str, message: Message) -> None:
        """Takes a message of another task of this step; of others nothing is taken."""
        peer = self._peers.get(sender)
        if peer is None:
            return
        match message:
            case Ask():
                self._answer(sender, peer, message)
            case Answer():
                self._take(sender, peer, message)
            case Got():
                with self._lock:
                    if peer.answers.pop(message.number, None) is not None:
                        peer.got.add(message.number)
            case Cancel():
                self._end(OpError(f"{sender} ended the step: {message.why}"), tell=False)

    def _answer(self, sender: str, peer: _Peer, ask: Ask) -> None:
        here = self._transport.task
        ends = (self._owners.get(ask.key.source), self._owners.get(ask.key.destination))
        if ends != (here, sender):
            self._transport.send(
                sender, Cancel(self._step, f"{here} does not send {ask.key} there")
            )
            return
        with self._lock:
            error = self._error
            is_new = error is None and ask.number not in peer.answers and ask.number not in peer.got
            if is_new:
                peer.answers[ask.number] = None
            answer = peer.answers.get(ask.number)
        if error is not None:  # it may not have heard of that
            self._transport.send(sender, Cancel(self._step, str(error)))
        elif is_new:
            self._kept.receive_async(ask.key, lambda made: self._give(sender, ask, made))
        elif answer is not None:
            self._transport.send(sender, answer)

    def _give(self, sender: str, ask: Ask, made: Received) -> None:
        """Answers with what was made: at once, or in a task that waits until it is computed."""
        if made.error is not None:
            return

        def give() -> None:
            try:
                tensor = None if made.value is None else TravellingTensor.of(made.value)
            except Exception as error:
                self.abort(OpError(f"send: {ask.key} cannot be sent: {error}"))
                return
            answer = Answer(self._step, ask.number, made.dead, tensor)
            with self._lock:
                if self._error is not None:
                    return
                self._peers[sender].answers[ask.number] = answer
            self._transport.send(sender, answer)

        if made.value is None or made.value.is_ready():
            give()
        else:
            engine.push(give, lane="copy", name=f"send {ask.key}")

    def _take(self, sender: str, peer: _Peer, answer: Answer) -> None:
        with self._lock:
            found = peer.asked.pop(answer.number, None)
        self._transport.send(sender, Got(self._step, answer.number))
        if found is None:
            return
        key, callback = found
        try:
            value = None if answer.tensor is None else answer.tensor.array()
        except MXNetError as error:
            callback(Received(error=OpError(f"receive: {key}: {sender} sent {error}")))
            return
        callback(Received(value, answer.dead))

    def _end(self, error: BaseException, tell: bool) -> None:
        with self._lock:
            if self._error is not None:
                return
            self._error = error
            waiting = [one for peer in self._peers.values() for one in peer.asked.values()]
            for peer in self._peers.values():
                peer.asked.clear()
                peer.answers.clear()
        if tell:
            for name in self._peers:
                self._transport.send(name, Cancel(self._step, str(error)))
        self._here.abort(error)
        self._kept.abort(error)
        for _, callback in waiting:
            callback(Received(error=error))


@final
class StepExchange:
    """The steps that are under way on this task; takes what is heard to where it belongs.

    Args:
        transport: to the other tasks.
    """

    def __init__(self, transport: TaskTransport) -> None:
        self._transport = transport
        self._lock = threading.RLock()
        self._steps: dict[int, RemoteRendezvous] = {}
        self._early: deque[tuple[str, Message]] = deque(maxlen=_EARLY)
        self._ended: deque[int] = deque(maxlen=_REMEMBERED)
        transport.listen(self._hear)

    def begin(self, step: int, owners: Mapping[str, str]) -> RemoteRendezvous:
        """Begins a step on this task.

        Args:
            step: its number, which no other step of the cluster has.
            owners: for each device of the step the task that has it.
        """
        made = RemoteRendezvous(step, owners, self._transport)
        with self._lock:
            self._steps[step] = made
            heard = [one for one in self._early if one[1].step == step]
            rest = [one for one in self._early if one[1].step != step]
            self._early.clear()
            self._early.extend(rest)
        for sender, message in heard:
            made.hear(sender, message)
        return made

    def end(self, step: int) -> None:
        """Forgets a step, which has ended on all tasks."""
        with self._lock:
            self._steps.pop(step, None)
            self._ended.append(step)

    def resend(self) -> None:
        """Repeats what has not been answered; to be called about once a second."""
        with self._lock:
            steps = list(self._steps.values())
        for one in steps:
            one.resend()

    def _hear(self, sender: str, message: Message) -> None:
        with self._lock:
            step = self._steps.get(message.step)
            if step is None and message.step not in self._ended:
                self._early.append((sender, message))
        if step is not None:
            step.hear(sender, message)

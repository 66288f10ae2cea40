"""The meeting point of the Sends and Recvs of one step that runs on several tasks.

What is made for devices of another task is sent there at once and unasked, all that was made
together in one message; a producer never waits. Messages may be lost, doubled and out of order, so
they are numbered and kept until it is known that they have come. Who is short of something says
what it has, now and then, and gets the rest again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from time import perf_counter_ns
from typing import Final, final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.engine import RLock

from ..observe import events
from .rendezvous import Key, LocalRendezvous, Rendezvous, Sent, Take
from .task_messages import Cancel, Have, Made, Message, TaskTransport, Tensors, TravellingTensor

#: Messages, and bytes, of steps that have not begun here, which are kept; who sent more sends them
#: again.
_MAX_EARLY_MESSAGES: Final = 1 << 12
_MAX_EARLY_BYTES: Final = 1 << 28
#: Steps that have ended and are remembered, so that late messages are known for what they are.
_REMEMBERED_STEPS: Final = 1 << 10
#: What comes is acknowledged after so many messages, or bytes: until then its producer keeps it.
_MESSAGES_PER_ACK: Final = 1 << 6
_BYTES_PER_ACK: Final = 1 << 22
#: Is told the device that a tensor has come for, what it is, and from when on until when it was
#: waited for, in nanoseconds of `perf_counter_ns`.
Watch = Callable[[str, str, int, int], None]
#: Calls of `resend` between two that do something, at most.
_MAX_PATIENCE_CALLS: Final = 1 << 6


@final
class _Numbers:
    """A set of numbers that grow, with few gaps at a time.

    Attributes:
        below: all lower ones are in it.
        beyond: and these.
    """

    __slots__ = ("below", "beyond")

    def __init__(self) -> None:
        self.below = 0
        self.beyond: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return number < self.below or number in self.beyond

    def add(self, number: int) -> None:
        """Adds a number."""
        self.beyond.add(number)
        while self.below in self.beyond:
            self.beyond.remove(self.below)
            self.below += 1


@final
class _Peer:
    """The messages between this task and another in one step.

    Attributes:
        sent: messages that are not known to have come, by number.
        next: the number of the next one.
        came: the numbers of those that have come from there.
        unsaid: how many came since that was said last, and their bytes.
        patience: calls of `resend` before it is said again, doubled each time that nothing came.
        left: of these.
    """

    def __init__(self) -> None:
        self.sent: dict[int, Tensors] = {}
        self.next = 0
        self.came = _Numbers()
        self.unsaid = (0, 0)
        self.patience = self.left = 1


@final
class RemoteRendezvous(Rendezvous):
    """Joins the parts of a step on this task with each other and with those on others.

    Args:
        step: the number of the step.
        owners: for each device of the step the task that has it.
        transport: to the other tasks.
        waits: whether who sends waits until that is computed, since it takes no longer than to have
            another thread do so.
        watch: is told of each tensor that comes from another task.
    """

    def __init__(
        self,
        step: int,
        owners: Mapping[str, str],
        transport: TaskTransport,
        waits: bool = False,
        watch: Watch | None = None,
    ) -> None:
        self._step = step
        self._watch = watch
        self._begun = perf_counter_ns()
        self._waits = waits
        self._owners = owners
        self._transport = transport
        self._task = transport.task
        self._here = LocalRendezvous()
        others = dict.fromkeys(owners.values())
        self._peers = {name: _Peer() for name in others if name != self._task}
        self._lock = RLock()
        self._error: BaseException | None = None
        self._closed = False

    def send(self, key: Key, value: object, dead: bool = False) -> None:
        """See `Rendezvous.send`."""
        self.send_all([Sent(key, value, dead)])

    def send_all(self, tensors: Sequence[Sent]) -> None:
        """See `Rendezvous.send_all`; those for one task go in one message."""
        found: dict[str, list[Sent]] = {}
        for one in tensors:
            found.setdefault(self._owners[one.key.destination], []).append(one)
        for to, some in found.items():
            if to == self._task:
                self._here.send_all(some)
            else:
                self._post(to, some)

    def receive_all(self, wanted: Sequence[tuple[Key, Hashable]], take: Take) -> None:
        """See `Rendezvous.receive_all`; what comes from another task is a NumPy array."""
        self._here.receive_all(wanted, take)

    def abort(self, error: BaseException) -> None:
        """See `Rendezvous.abort`; the other tasks are told."""
        self._end(error, tell=True)

    def resend(self) -> None:
        """Asks again for what has not come; to be called now and then."""
        with self._lock:
            due = self._due() if self._error is None else []
        for name, have in due:
            self._transport.send(name, have)

    def _due(self) -> list[tuple[str, Have]]:
        """Returns what is to be asked of whom, as its time has come."""
        due = []
        for name, peer in self._peers.items():
            peer.left -= 1
            if peer.left <= 0:
                peer.patience = min(2 * peer.patience, _MAX_PATIENCE_CALLS)
                peer.left = peer.patience
                due.append((name, self._have(peer, again=True)))
        return due

    @property
    def pending(self) -> tuple[int, int]:
        """Counts tensors that are not known to have come to whom they are for, and open receives.

        What is on its way counts on both sides.
        """
        with self._lock:
            kept = sum(len(one.made) for peer in self._peers.values() for one in peer.sent.values())
        here, waiting = self._here.pending
        return here + kept, waiting

    def _post(self, to: str, tensors: Sequence[Sent]) -> None:
        """Sends tensors to a task: at once, or in a task that waits until they are computed."""

        def give() -> None:
            try:
                made = tuple(map(_made, tensors))
            except MXNetError as error:
                self.abort(error)
                return
            with self._lock:
                if self._error is not None or self._closed:
                    return
                peer = self._peers[to]
                message = peer.sent[peer.next] = Tensors(self._step, peer.next, made)
                peer.next += 1
            self._transport.send(to, message)
            if message.number not in peer.sent:  # the step has ended meanwhile
                self._transport.forget(to, message)

        if self._waits or all(
            one.dead or one.value is None or one.value.is_ready() for one in tensors
        ):
            give()
        else:
            engine.push(give, lane="copy", name=f"send {tensors[0].key}")

    # -- what others say ---------------------------------------------------------------------

    def hear(self, sender: str, message: Message) -> None:
        """Takes a message of another task of this step; of others nothing is taken."""
        peer = self._peers.get(sender)
        if peer is None:
            return
        if isinstance(message, Cancel):
            self._end(OpError(f"{sender} ended the step: {message.why}"), tell=False)
            return
        error = self._error
        if error is not None:  # it may not have heard of that
            self._transport.send(sender, Cancel(self._step, str(error)))
        elif isinstance(message, Tensors):
            self._take(sender, peer, message)
        else:
            self._forget(sender, peer, message)

    def _take(self, sender: str, peer: _Peer, message: Tensors) -> None:
        have = None
        with self._lock:
            if message.number in peer.came:
                return
            peer.came.add(message.number)
            peer.patience = peer.left = 1
            size = _nbytes(message)
            count, nbytes = peer.unsaid
            peer.unsaid = (count + 1, nbytes + size)
            if count + 1 >= _MESSAGES_PER_ACK or nbytes + size >= _BYTES_PER_ACK:
                have = self._have(peer, again=False)
        if have is not None:
            self._transport.send(sender, have)
        found = []
        owner = self._owners.get
        for key, dead, tensor in message.made:
            if owner(key.source) != sender or owner(key.destination) != self._task:
                self.abort(OpError(f"receive: {sender} does not send {key} to {self._task}"))
                return
            try:
                value = None if tensor is None else tensor.array()
            except MXNetError as error:
                self.abort(OpError(f"receive: {key}: {sender} sent {error}"))
                return
            if tensor is not None and (self._watch is not None or events.observer is not None):
                self._tell(key, tensor.nbytes)
            found.append(Sent(key, value, dead))
        self._here.send_all(found)

    def _tell(self, key: Key, nbytes: int) -> None:
        """Tells who listens that a tensor has come, for which this task waited from the start."""
        label, now = f"[{_size(nbytes)}] {key}", perf_counter_ns()
        if self._watch is not None:
            self._watch(key.destination, label, self._begun, now)
        if events.observer is not None:
            events.observer("transfer", label, self._begun, now)

    def _forget(self, sender: str, peer: _Peer, have: Have) -> None:
        """Lets go of what has come there, and sends the rest again if that is asked for."""
        with self._lock:
            came = [n for n in peer.sent if n < have.below or n in have.beyond]
            over = [peer.sent.pop(number) for number in came]
            rest = list(peer.sent.values()) if have.again else ()
        for message in over:
            self._transport.forget(sender, message)
        for message in rest:
            self._transport.send_again(sender, message)

    def _have(self, peer: _Peer, again: bool) -> Have:
        """Returns what is said of what has come; the lock is held."""
        peer.unsaid = (0, 0)
        return Have(self._step, peer.came.below, tuple(sorted(peer.came.beyond)), again)

    def close(self) -> None:
        """Forgets what was sent: the step has ended."""
        with self._lock:
            self._closed = True
            sent = [(name, one) for name, peer in self._peers.items() for one in peer.sent.values()]
            for peer in self._peers.values():
                peer.sent.clear()
        for name, message in sent:
            self._transport.forget(name, message)

    def _end(self, error: BaseException, tell: bool) -> None:
        with self._lock:
            if self._error is not None:
                return
            self._error = error
        self.close()
        if tell:
            for name in self._peers:
                self._transport.send(name, Cancel(self._step, str(error)))
        self._here.abort(error)


def _size(nbytes: int) -> str:
    """Writes a number of bytes: 12 B, 3.1 KB, 100.0 MB."""
    if nbytes < 1000:
        return f"{nbytes} B"
    return f"{nbytes / 1e3:.1f} KB" if nbytes < 1e6 else f"{nbytes / 1e6:.1f} MB"


def _made(sent: Sent) -> Made:
    """Returns a tensor as it travels.

    Raises:
        OpError: it cannot.
    """
    if sent.dead or sent.value is None:
        return Made(sent.key, sent.dead, None)
    try:
        return Made(sent.key, False, TravellingTensor.of(sent.value))
    except Exception as error:
        raise OpError(f"send: {sent.key} cannot be sent: {error}") from error


@final
class _Early:
    """Messages of steps that have not begun here; where they are too many, the oldest steps' go."""

    def __init__(self) -> None:
        self._steps: dict[int, list[tuple[str, Message]]] = {}
        self._count = self._nbytes = 0

    def add(self, sender: str, message: Message) -> None:
        """Keeps a message."""
        self._steps.setdefault(message.step, []).append((sender, message))
        self._count += 1
        self._nbytes += _nbytes(message)
        while self._count > _MAX_EARLY_MESSAGES or self._nbytes > _MAX_EARLY_BYTES:
            self.take(next(iter(self._steps)))

    def take(self, step: int) -> list[tuple[str, Message]]:
        """Returns what there is of a step, which is not kept any more."""
        found = self._steps.pop(step, [])
        self._count -= len(found)
        self._nbytes -= sum(_nbytes(message) for _, message in found)
        return found


def _nbytes(message: Message) -> int:
    made = message.made if isinstance(message, Tensors) else ()
    return sum([len(tensor.payload) for _, _, tensor in made if tensor is not None])


@final
class StepExchange:
    """The steps that are under way on this task; takes what is heard to where it belongs.

    Args:
        transport: to the other tasks.
    """

    def __init__(self, transport: TaskTransport) -> None:
        self._transport = transport
        self._lock = RLock()
        self._steps: dict[int, RemoteRendezvous] = {}
        self._early = _Early()
        self._ended: dict[int, None] = {}
        transport.listen(self._hear)

    def begin(
        self, step: int, owners: Mapping[str, str], waits: bool = False, watch: Watch | None = None
    ) -> RemoteRendezvous:
        """Begins a step on this task.

        Args:
            step: its number, which no other step of the cluster has.
            owners: for each device of the step the task that has it.
            waits, watch: see `RemoteRendezvous`.
        """
        made = RemoteRendezvous(step, owners, self._transport, waits, watch)
        with self._lock:
            self._steps[step] = made
            heard = self._early.take(step)
        for sender, message in heard:
            made.hear(sender, message)
        return made

    def end(self, step: int) -> None:
        """Forgets a step, which has ended on all tasks."""
        with self._lock:
            ended = self._steps.pop(step, None)
            self._early.take(step)
            self._ended[step] = None
            if len(self._ended) > _REMEMBERED_STEPS:
                del self._ended[next(iter(self._ended))]
        if ended is not None:
            ended.close()

    def has_ended(self, step: int) -> bool:
        """Whether a step has ended, as far as that is remembered."""
        return step in self._ended

    def resend(self, which: Container[int] | None = None) -> None:
        """Asks again for what has not come; to be called about once a second.

        Args:
            which: the steps that ask; None: all.
        """
        with self._lock:
            steps = [one for n, one in self._steps.items() if which is None or n in which]
        for one in steps:
            one.resend()

    def _hear(self, sender: str, message: Message) -> None:
        with self._lock:
            step = self._steps.get(message.step)
            if step is None and message.step not in self._ended:
                self._early.add(sender, message)
        if step is not None:
            step.hear(sender, message)

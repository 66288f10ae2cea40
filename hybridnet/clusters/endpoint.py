"""A process's end: requests and their answers, and who takes what kind of message."""

from __future__ import annotations

import itertools
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, final

from hybridnet.base.errors import MXNetError
from hybridnet.engine import RLock
from hybridnet.kvstore.own_folder import is_own_folder
from hybridnet.kvstore.transport.local_sockets import SOCKET
from hybridnet.kvstore.transport.wire import Buffer
from hybridnet.runtime.between_tasks import Message, TaskTransport, Tensors, TravellingTensor

from .channel import Channel, near_folder
from .errors import (
    AbortedError,
    EndedError,
    GivenUpError,
    StaleError,
    UnavailableError,
    WrongError,
)
from .lanes import LEAST, GoneError, InLanes, Lent, OutLanes
from .packets import Packet, pack, read_message, unpack, write_message

_log: Final = logging.getLogger("hybridnet.cluster")
#: What errors are called in messages.
_ERRORS: Final[Mapping[str, type[MXNetError]]] = {
    "aborted": AbortedError,
    "unavailable": UnavailableError,
    "stale": StaleError,
    "ended": EndedError,
    "given_up": GivenUpError,
    "wrong": WrongError,
}
#: Takes a message: the sender and what it says.
Handler = Callable[[str, Packet], None]


@final
class Endpoint(TaskTransport):
    """Speaks for a process, by its name.

    Args:
        name: of its task; of a client that is none, None.
        address: where it listens; None: nowhere.
        addresses: of the tasks, by name.
    """

    def __init__(self, name: str | None, address: str | None, addresses: Mapping[str, str]) -> None:
        self._name = name or f"/client:{secrets.token_hex(8)}"
        self.addresses = dict(addresses)
        self.handlers: dict[str, Handler] = {}
        self.lost: list[Callable[[str], None]] = []
        self.ticks: list[Callable[[], None]] = []
        self._down: dict[str, str] = {}
        self._pending: dict[int, tuple[str, Future[Packet]]] = {}
        self._numbers = itertools.count(1)
        self._lock = RLock()
        # What processes of this host read, and what was lent for which message.
        self._out, self._in = OutLanes(), InLanes()
        self._lent: dict[tuple[str, int, int], list[Lent]] = {}
        self._near: dict[str, bool] = {}
        self._told: Callable[[str, Message], None] | None = None
        self._channel = Channel(address, self._hear, self._changed, self._tick)
        self.port = self._channel.port

    @property
    def task(self) -> str:
        """The name of the process."""
        return self._name

    def close(self) -> None:
        """Ends it; who waits for an answer gets an error."""
        self._channel.close()
        self._fail(None, "this process has closed its end")

    def tell(self, to: str, packet: Packet) -> None:
        """Sends a message that has no answer."""
        words, tensors, places = packet
        packet = Packet({**words, "from": self._name}, tensors, places)
        if to == self._name:
            self._take(to, packet)
            return
        if to in self.addresses:
            self._channel.link(to, self.addresses[to])
        self._channel.send(to, pack(packet))

    def request(self, to: str, packet: Packet, patient: bool = False) -> Future[Packet]:
        """Sends a message, and returns what its answer will be.

        Args:
            to: a task.
            packet: the message.
            patient: whether to wait for a task that is not there.

        Raises:
            UnavailableError: this process was forked since.
        """
        if self._channel.is_forked:
            raise UnavailableError(
                "this process was forked, and the session is its parent's: make one of its own"
            )
        made: Future[Packet] = Future()
        with self._lock:
            why = None if patient else self._down.get(to)
            number = next(self._numbers)
            if why is None:
                self._pending[number] = (to, made)
        if why is not None:
            made.set_exception(UnavailableError(self._gone(to, why)))
        else:
            self.tell(to, Packet({**packet.words, "request": number}, packet.tensors))
        return made

    def answer(
        self, to: str, asked: Packet, words: Mapping[str, Any],
        tensors: Sequence[TravellingTensor] = (),
    ) -> None:  # fmt: skip
        """Answers a request."""
        number = asked.words.get("request")
        self.tell(to, Packet({**words, "kind": "reply", "reply": number}, tensors))

    def send(self, task: str, message: Message) -> None:
        """See `TaskTransport.send`; to a task of this host goes only the place of large tensors."""
        packet = write_message(message)
        if isinstance(message, Tensors) and self._is_near(task):
            packet = self._lend(task, message, packet)
        self.tell(task, packet)

    def send_again(self, task: str, message: Tensors) -> None:
        """See `TaskTransport.send_again`; this time all goes: maybe it cannot read our memory."""
        self.tell(task, write_message(message))

    def forget(self, task: str, message: Tensors) -> None:
        """See `TaskTransport.forget`."""
        for lent in self._lent.pop((task, message.step, message.number), ()):
            self._out.take_back(lent)

    def _is_near(self, task: str) -> bool:
        """Whether a task is of this host, as far as can be seen."""
        found = self._near.get(task)
        if found is None:
            folder = near_folder(self.addresses.get(task, ":0"))
            found = self._near[task] = self._listens_in(folder)
        return found

    @staticmethod
    def _listens_in(folder: Path | None) -> bool:
        return folder is not None and is_own_folder(folder) and (folder / SOCKET).exists()

    def _lend(self, task: str, message: Tensors, packet: Packet) -> Packet:
        lent, places = [], {}
        try:
            for number, tensor in enumerate(packet.tensors):
                if tensor.nbytes >= LEAST:
                    one, places[number] = self._out.lend(tensor.payload)
                    lent.append(one)
        except OSError as error:
            _log.info("tensors of this host go through the network: %s", error)
        if lent:
            self._lent[task, message.step, message.number] = lent
        return Packet(packet.words, packet.tensors, places)

    def listen(self, hear: Callable[[str, Message], None]) -> None:
        """See `TaskTransport.listen`."""
        self._told = hear

    def _hear(self, frames: Sequence[Buffer], named: Callable[[str], None]) -> None:
        try:
            packets = unpack(frames)
        except MXNetError as error:
            _log.warning("messages were dropped: %s", error)
            return
        for packet in packets:
            self._hear_one(packet, named)

    def _hear_one(self, packet: Packet, named: Callable[[str], None]) -> None:
        try:
            sender = packet.words.get("from")
            if not isinstance(sender, str):
                return
            named(sender)
            if packet.places:
                packet = self._fetched(packet)
            self._take(sender, packet)
        except GoneError as error:  # who still needs it asks for it again
            _log.info("a message came too late: %s", error)
        except MXNetError as error:
            _log.warning("a message was dropped: %s", error)
        except Exception:  # the thread must go on for the others
            _log.exception("a message could not be taken")

    def _fetched(self, packet: Packet) -> Packet:
        """Returns a message with the tensors that are in their sender's memory."""
        tensors = list(packet.tensors)
        for number, place in packet.places.items():
            tensors[number] = tensors[number]._replace(payload=self._in.read(place))
        return Packet(packet.words, tensors)

    def _take(self, sender: str, packet: Packet) -> None:
        message = read_message(packet)
        if message is not None:
            if self._told is not None:
                self._told(sender, message)
            return
        kind = packet.words.get("kind")
        if kind == "reply":
            self._reply(packet)
            return
        handler = self.handlers.get(str(kind))
        if handler is None:
            self.answer(sender, packet, {"error": f"{self._name} knows no {str(kind)[:40]!r}"})
            return
        try:
            handler(sender, packet)
        except Exception as error:
            self.answer(sender, packet, refusal(error))

    def _reply(self, packet: Packet) -> None:
        with self._lock:
            found = self._pending.pop(packet.words.get("reply", 0), None)
        if found is None:
            return
        text = packet.words.get("error")
        if text is None:
            found[1].set_result(packet)
        else:
            kind = _ERRORS.get(str(packet.words.get("code")), MXNetError)
            found[1].set_exception(kind(str(text)))

    def _changed(self, name: str, why: str | None) -> None:
        if why is None:
            with self._lock:
                self._down.pop(name, None)
            return
        with self._lock:
            self._down[name] = why
        self._near.pop(name, None)
        self._fail(name, why)
        for one in self.lost:
            one(name)

    def _fail(self, name: str | None, why: str) -> None:
        with self._lock:
            numbers = [n for n, (to, _) in self._pending.items() if name in (None, to)]
            failed = [self._pending.pop(number) for number in numbers]
        for to, future in failed:
            future.set_exception(UnavailableError(self._gone(to, why)))

    def _gone(self, task: str, why: str) -> str:
        where = self.addresses.get(task, "")
        return f"task {task}{f' at {where}' if where else ''} is not available: {why}"

    def _tick(self) -> None:
        for one in self.ticks:
            one()


def refusal(error: BaseException) -> dict[str, str]:
    """Returns an error as the answer to a request."""
    code = next((code for code, kind in _ERRORS.items() if isinstance(error, kind)), "failed")
    return {"error": str(error) or repr(error), "code": code}

"""`SharedService`: the queues and accumulators of a task, for its clients."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, final

from hybridnet.engine import RLock
from hybridnet.runtime.between_tasks import TravellingTensor

from .containers import is_in
from .endpoint import Endpoint, refusal
from .errors import WrongError
from .packets import Packet
from .shared import Asked, SharedStore


@final
class SharedService:
    """Answers what clients ask of queues and accumulators.

    Args:
        endpoint: of the task.
        check: raises an error for what is asked of a process that was here before.
    """

    def __init__(self, endpoint: Endpoint, check: Callable[[Packet], None]) -> None:
        self._endpoint = endpoint
        self._check = check
        self._store = SharedStore()
        self._waiting: dict[tuple[str, Any], Callable[[], None]] = {}
        self._lock = RLock()
        endpoint.handlers.update(shared=self._ask, unshared=self._give_up)
        endpoint.lost.append(self._lose)

    def _ask(self, sender: str, packet: Packet) -> None:
        self._check(packet)
        words, arrays = packet.words, [one.array() for one in packet.tensors]
        name, about, how = words.get("name"), words.get("about"), words.get("words")
        if not (isinstance(name, str) and isinstance(about, dict) and isinstance(how, dict)):
            raise WrongError("a queue or an accumulator has a name, and is asked something")
        key = sender, words.get("number")
        asked = Asked(str(words.get("method")), how, arrays)

        def answer(_: Any) -> None:
            with self._lock:
                self._waiting.pop(key, None)
            error = asked.answer.exception()
            if error is not None:
                self._endpoint.answer(sender, packet, refusal(error))
                return
            tensors = [TravellingTensor.of(one) for one in asked.answer.result()]
            self._endpoint.answer(sender, packet, {}, tensors)

        thing = self._store.find(name, about)
        with self._lock:
            self._waiting[key] = lambda: thing.give_up(asked)
        asked.answer.add_done_callback(answer)
        thing.ask(asked)

    def _give_up(self, sender: str, packet: Packet) -> None:
        with self._lock:
            found = self._waiting.get((sender, packet.words.get("number")))
        if found is not None:
            found()

    def forget(self, containers: Collection[str] | None) -> None:
        """Forgets what is in some containers; what waits for it is given up. None: in all."""
        self._store.forget(lambda name: is_in(name, containers))

    def _lose(self, name: str) -> None:
        """Gives up what a client that is gone has asked: it must not take what others wait for."""
        with self._lock:
            left = [give_up for (sender, _), give_up in self._waiting.items() if sender == name]
        for one in left:
            one()

"""The traffic of a store: who sent what to whom, told message by message to an observer.

Nobody watches as a rule, so whoever sends asks first:

    if traffic.observer is not None:
        traffic.observer(traffic.Exchange("push", "w", "worker 0", "server 1", ...))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, final

from hybridnet.kvstore.messages import Key

#: "push", a value went to where it is summed; "pull", one came from there; "push and pull", both in
#: one message and its answer; "init", a key was made; "states", an optimizer's were read or set.
What = Literal["push", "pull", "push and pull", "init", "states"]


@final
@dataclass(frozen=True, slots=True)
class Exchange:
    """A message and its answer, or a copy from one device to another, which has none.

    Attributes:
        what: it was for.
        key: whose value it is about.
        source: who sent it, like "worker 0" or "cpu(1)".
        to: whom.
        sent: bytes of values, and numbers of rows, in the message.
        received: the same in the answer.
        start: when it was sent, in nanoseconds of `time.perf_counter_ns`.
        end: when the answer was there. A push to a synchronous store is answered when those of all
            workers are in the value: this is the time until then.
        round: the how-manieth push of the key it was, or how many are in the value that came.
        part: which part of the key, where its value is divided.
        shared: whether the bytes went through memory that both processes see.
    """

    what: What
    key: Key
    source: str
    to: str
    sent: int
    received: int
    start: int
    end: int
    round: int
    part: int = 0
    shared: bool = False


#: Called in the thread where an answer has come, or a copy was made; it must be quick.
Observer = Callable[[Exchange], None]

#: Who is told; None where nobody watches. Read by those who send.
observer: Observer | None = None
_watching: Final[list[Observer]] = []


def watch(told: Observer) -> None:
    """Registers an observer of every exchange; once, however often this is called."""
    if told not in _watching:
        _watching.append(told)
        _update()


def unwatch(told: Observer) -> None:
    """Ends a `watch`."""
    if told in _watching:
        _watching.remove(told)
        _update()


def _update() -> None:
    global observer
    observer = _tell_all if _watching else None


def _tell_all(exchange: Exchange) -> None:
    for told in _watching.copy():
        told(exchange)

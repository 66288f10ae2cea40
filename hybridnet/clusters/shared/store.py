"""`SharedStore`: things by name, made when they are first asked something."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from hybridnet.base.array_types import NumpyArray
from hybridnet.engine import RLock
from hybridnet.graph import Node

from ..errors import WrongError
from .accumulators import DenseAccumulator, RowsAccumulator
from .queues import FirstInQueue, PaddingQueue, PriorityOrder, ShufflingQueue
from .thing import Asked, SharedThing

#: Things in one store, and axes of a shape at most.
_MAX_ITEMS: Final = 1 << 16
_AXES: Final = 32


@final
@dataclass(frozen=True, eq=False, slots=True)
class SharedUse:
    """The use that a node of a graph makes of a thing.

    Attributes:
        home: the node whose device the thing is on.
        name: of the thing.
        about: what is made if there is none, as JSON: its kind, and what that needs.
        method: what it is asked.
        words: how, as JSON.
        numbers: words that are known in a run only, by the input that they are.
    """

    home: Node
    name: str
    about: Mapping[str, Any]
    method: str
    words: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[int, str] = field(default_factory=dict)

    def asked(self, arrays: Sequence[NumpyArray]) -> Asked:
        """Returns what it is asked with the values of the node's inputs."""
        known = {name: int(arrays[number]) for number, name in self.numbers.items()}
        rest = [one for number, one in enumerate(arrays) if number not in self.numbers]
        return Asked(self.method, {**self.words, **known}, rest)


@final
class SharedStore:
    """Things that several know by name."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Mapping[str, Any], SharedThing]] = {}
        self._lock = RLock()

    def ask(self, use: SharedUse, asked: Asked) -> Callable[[], None]:
        """Asks a thing; see `find`. Returns what takes the question back."""
        thing = self.find(use.name, use.about)
        thing.ask(asked)
        return lambda: thing.give_up(asked)

    def find(self, name: str, about: Mapping[str, Any]) -> SharedThing:
        """Returns a thing, which is made if there is none.

        Raises:
            WrongError: there is another one of that name, or nothing can be made of what is said.
        """
        with self._lock:
            found = self._held.get(name)
            if found is None:
                if len(self._held) >= _MAX_ITEMS:
                    raise WrongError(f"there are {_MAX_ITEMS} queues and accumulators already")
                found = self._held[name] = (about, _made(name, about))
        if found[0] != about:
            differ = [one for one in about if found[0].get(one) != about[one]]
            had, got = ([of.get(one) for one in differ] for of in (found[0], about))
            raise WrongError(f"Shared '{name}' has {differ} {had} but {got} was asked for")
        return found[1]

    def clear(self) -> None:
        """Forgets all."""
        with self._lock:
            self._held = {}

    def forget(self, chosen: Callable[[str], bool]) -> None:
        """Forgets things whose names are chosen; what waits for them is given up."""
        with self._lock:
            gone = {name: thing for name, (_, thing) in self._held.items() if chosen(name)}
            self._held = {name: one for name, one in self._held.items() if name not in gone}
        for thing in gone.values():
            thing.end()


def _made(name: str, about: Mapping[str, Any]) -> SharedThing:
    kind = about.get("kind")
    if kind in ("dense", "rows"):
        of = DenseAccumulator if kind == "dense" else RowsAccumulator
        return of(name, _shape(about.get("shape")), about.get("mean") is True)
    capacity, shapes = about.get("capacity"), about.get("shapes")
    if type(capacity) is not int or not isinstance(shapes, list):
        raise WrongError(f"'{name[:80]}': a queue has a capacity and shapes")
    sizes = [_shape(one) for one in shapes]
    match kind:
        case "first":
            return FirstInQueue(name, capacity, sizes)
        case "padding":
            return PaddingQueue(name, capacity, sizes)
        case "priority":
            return PriorityOrder(name, capacity, sizes)
        case "shuffling":
            least, seed = about.get("least"), about.get("seed")
            if type(least) is int and (seed is None or type(seed) is int):
                return ShufflingQueue(name, capacity, sizes, least, seed)
    raise WrongError(f"'{name[:80]}': nothing can be made of {str(about)[:200]}")


def _shape(given: Any) -> Sequence[int | None] | None:
    if given is None:
        return None
    known = isinstance(given, list) and len(given) <= _AXES
    if not known or not all(one is None or type(one) is int for one in given):
        raise WrongError(f"a shape is a list of sizes, got {str(given)[:80]}")
    found: list[int | None] = given
    return found

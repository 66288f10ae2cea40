"""`SharedThing`: answers requests, some of them later, without blocking a thread meanwhile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, final

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError
from hybridnet.engine import RLock

from ..errors import GivenUpError, WrongError


@final
@dataclass(eq=False, slots=True)
class Asked:
    """A request.

    Attributes:
        method: the name of what is to be done.
        words: its parameters, by name.
        arrays: the arrays that it is done with.
        answer: the future that gets the answer.
        progress: what the thing keeps while the request is not answered yet.
    """

    method: str
    words: Mapping[str, Any]
    arrays: Sequence[NumpyArray] = ()
    answer: Future[Sequence[NumpyArray]] = field(default_factory=Future)
    progress: Any = None

    def number(self, name: str) -> int:
        """Returns the parameter of this name, which must be a whole number.

        Raises:
            WrongError: it is missing or something else.
        """
        found = self.words.get(name)
        if type(found) is not int:
            raise WrongError(f"{self.method}: {name} must be a number, got {str(found)[:40]}")
        return found


class SharedThing(ABC):
    """Something that is asked, in turn; see `SharedStore` for what kinds there are.

    Args:
        name: by which it is known.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._waiting: list[Asked] = []
        self._moves = 0
        self._lock = RLock()

    def ask(self, asked: Asked) -> None:
        """Asks something; ``asked.answer`` is set when it can be answered."""
        with self._lock:
            try:
                self._admit(asked)
                self._waiting.append(asked)
                ended = self._answered()
            except MXNetError as error:
                ended = [(asked, error)]
        _tell(ended)

    def give_up(self, asked: Asked) -> None:
        """Takes a question back that has not been answered."""
        with self._lock:
            if asked not in self._waiting:
                return
            self._waiting.remove(asked)
            self._undo(asked)
            ended = self._answered()
        _tell([(asked, GivenUpError(f"{self.name}: {asked.method} was given up")), *ended])

    def end(self) -> None:
        """Gives up all that waits: nobody knows the thing any more."""
        with self._lock:
            left = list(self._waiting)
        for one in left:
            self.give_up(one)

    def _answered(self) -> list[tuple[Asked, Sequence[NumpyArray] | MXNetError]]:
        """Answers what can be; of each lane in the order in which it was asked."""
        ended: list[tuple[Asked, Sequence[NumpyArray] | MXNetError]] = []
        before = -1
        while before != self._moves:
            before = self._moves
            stuck: set[str] = set()
            for one in list(self._waiting):
                if one.method in stuck:
                    continue
                try:
                    found: Sequence[NumpyArray] | MXNetError | None = self._try(one)
                except MXNetError as error:
                    found = error
                except Exception as error:  # or it would be asked again, and stop all others
                    found = WrongError(f"{self.name}: {one.method[:40]} failed: {error}")
                if found is None:
                    stuck.add(one.method)
                else:
                    self._waiting.remove(one)
                    self._moves += 1
                    ended.append((one, found))
        return ended

    def _admit(self, asked: Asked) -> None:  # noqa: B027  # most may be asked anything
        """Raises an error for what need not wait for its turn."""

    @abstractmethod
    def _try(self, asked: Asked) -> Sequence[NumpyArray] | None:
        """Returns the answer; None: not yet. What changes the state counts in ``_moves``.

        Raises:
            MXNetError: it cannot be answered.
        """

    def _undo(self, asked: Asked) -> None:  # noqa: B027  # most have nothing to take back
        """Takes back what was done for a question that is given up."""


def _tell(ended: Sequence[tuple[Asked, Sequence[NumpyArray] | MXNetError]]) -> None:
    for asked, found in ended:
        if isinstance(found, MXNetError):
            asked.answer.set_exception(found)
        else:
            asked.answer.set_result(found)

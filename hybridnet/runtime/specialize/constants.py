"""Inputs that are the same arrays launch after launch: what follows from them alone is made once.

A network that only infers is given the same weights at each call. XLA cannot know, and so turns and
scales them every time. Here it is known: an array never changes (what is changed in place becomes
another), so the identity of a program's inputs is the version of the weights.

A program that was launched with the same arrays for a while is split in the background
(`splitting`): its prologue computes what follows from these arrays, its main part all the rest. The
prologue runs once for each version. `Specialized` then stands where the executable was: it
compares identities, and hands the main part what was made for them; what it does not know runs as
before. The two are timed against each other first, and where nothing is gained nothing changes.

Arrays are referred to weakly, so that weights die, and are donated, as if nobody looked; what was
made of them goes with them. Whether two identities mean the same array is certain, since whoever
dies takes its entry along before its identity can be another's.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, final

from hybridnet.base import config

from ..programs.executable import ExecutableWrapper
from .splitting import Split

__all__ = ["LEAST_BYTES", "Narrow", "Specialized", "Version", "memory"]

#: Inputs that stay the same count from this size on, together.
LEAST_BYTES: Final = 1 << 16

# Launches with the same arrays, one after the other, after which something is made for them.
_SAME: Final = 4
# Launches left alone after one with other arrays: doubled each time, up to the greatest.
_GAP: Final = 2
_GREATEST_GAP: Final = 1024
# A version that served fewer launches did not pay.
_PAYS: Final = 16
# Versions of one program: networks of one structure share it.
_VERSIONS: Final = 4

#: Is told which inputs stay the same, and the arguments of a launch.
Narrow = Callable[[Sequence[int], Sequence[Any]], None]
_Picker = Callable[[Sequence[Any]], tuple[Any, ...]]


@final
class Version:
    """The results of the prologue for one version of the inputs.

    Attributes:
        kept: what the prologue made.
        nbytes: of it.
        uses: launches that it served.
        seen: their number when room was last looked for.
        refs: to the arrays that it was made of.
        drop: forgets it.
    """

    __slots__ = ("__weakref__", "drop", "kept", "nbytes", "refs", "seen", "uses")

    def __init__(self, kept: tuple[Any, ...]) -> None:
        self.kept = kept
        self.nbytes = sum(array.nbytes for array in kept)
        self.uses = 0
        self.seen = -1
        self.refs: tuple[Any, ...] = ()
        self.drop: Callable[[], None] = lambda: None


class _VersionMemory:
    """All versions that there are, within HYBRIDNET_CONSTANTS_SIZE."""

    def __init__(self) -> None:
        # Held while the set is gone through or added to, neither of which is one step. Re-entrant,
        # like every lock here: a finalizer may compute with arrays.
        self._lock = threading.RLock()
        self._versions: weakref.WeakSet[Version] = weakref.WeakSet()

    def nbytes(self) -> int:
        """Returns what all versions take."""
        return sum(version.nbytes for version in self._all())

    def has_room(self, nbytes: int) -> bool:
        """Whether there is room for so many bytes; drops what was not used since it was asked."""
        limit = config.constants_size()
        with self._lock:
            if self.nbytes() + nbytes > limit:
                for version in self._all():
                    if version.uses == version.seen:
                        version.drop()
                    version.seen = version.uses
            return self.nbytes() + nbytes <= limit

    def add(self, version: Version) -> None:
        """Counts a version for as long as it lives."""
        with self._lock:
            self._versions.add(version)

    def clear(self) -> None:
        """Gives everything back; it is made again where it is needed."""
        for version in self._all():
            version.drop()

    def _all(self) -> list[Version]:
        with self._lock:
            return list(self._versions)

    def reset_after_fork(self) -> None:
        """In a forked child."""
        self._lock = threading.RLock()
        self._versions = weakref.WeakSet()


memory: Final = _VersionMemory()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=memory.reset_after_fork)


@final
class Specialized(ExecutableWrapper):
    """An executable that makes what follows from some of its inputs once for each version of them.

    Safe from many threads.

    Args:
        whole: the program as it is.
        prologue: the executable of the prologue.
        main: that of the main part.
        constant: the inputs, by number, that stay the same.
        parts: what each of the two takes.
        narrow: is told, once, where only some of the constant inputs turn out to be that: which,
            and the arguments of a launch.
    """

    __slots__ = (
        "__weakref__",
        "_candidate",
        "_constant",
        "_gap",
        "_lock",
        "_main",
        "_misses",
        "_narrow",
        "_nbytes",
        "_next",
        "_prologue",
        "_reads",
        "_same",
        "_slots",
        "_stable",
        "_takes",
        "_versions",
    )

    def __init__(
        self,
        whole: Any,
        prologue: Any,
        main: Any,
        constant: Sequence[int],
        parts: Split,
        narrow: Narrow,
    ) -> None:
        super().__init__(whole)
        self._narrow = narrow
        self._prologue = prologue
        # What JAX's own object hands on to, once it has been called, is called without it.
        self._main = getattr(main, "_call", None) or main
        self._slots = tuple(constant)
        self._constant = _picker(constant)
        self._reads = _picker(parts.reads)
        self._takes = _picker(parts.takes)
        self._nbytes = parts.nbytes
        # By the identities of the constant inputs, in order.
        self._versions: dict[tuple[int, ...], Version] = {}
        self._lock = threading.RLock()
        # Launches with inputs that nothing was made for, and the one at which these are looked at.
        self._misses = 0
        self._next = 1
        self._gap = _GAP
        # References to inputs, which of them have stayed the same since, and for how many launches.
        self._candidate: list[Any] = []
        self._stable: list[bool] = []
        self._same = 0

    def __call__(self, *arguments: Any) -> Sequence[Any]:
        """Starts the program; arguments and outputs are those of `whole`."""
        version = self._versions.get(tuple(map(id, self._constant(arguments))))
        if version is None:
            return self._other(arguments)
        version.uses += 1
        outputs: Sequence[Any] = self._main(*self._takes(arguments), *version.kept)
        return outputs

    @property
    def versions(self) -> int:
        """For how many versions of the inputs something is kept."""
        return len(self._versions)

    def prepare(self, inputs: Sequence[Any]) -> bool:
        """Runs the prologue on the inputs of a launch, which are expected to come again.

        False where there is no room for what it makes.
        """
        with self._lock:
            if not memory.has_room(self._nbytes):
                return False
            while len(self._versions) >= _VERSIONS:
                self._drop(next(iter(self._versions)), None)
            arrays = self._constant(inputs)
            version = Version(tuple(self._prologue(*self._reads(inputs))))
            key = tuple(map(id, arrays))
            forget = _forgetting(weakref.ref(self), key, weakref.ref(version))
            version.refs = tuple([weakref.ref(array, forget) for array in arrays])
            version.drop = forget
            self._versions[key] = version
            memory.add(version)
            return True

    def _other(self, arguments: tuple[Any, ...]) -> Sequence[Any]:
        """Runs the whole program, for inputs that nothing was made for."""
        self._misses += 1
        if self._misses >= self._next and self._lock.acquire(blocking=False):
            try:
                self._look(arguments)
            finally:
                self._lock.release()
        outputs: Sequence[Any] = self.whole(*arguments)
        return outputs

    def _look(self, arguments: tuple[Any, ...]) -> None:
        """Looks which inputs are those of the last launches, and have been for long enough."""
        arrays = self._constant(arguments)
        if not self._same:
            self._candidate = [weakref.ref(array) for array in arrays]
            self._stable = [True] * len(arrays)
        self._stable = [
            ref() is array and before
            for ref, array, before in zip(self._candidate, arrays, self._stable, strict=True)
        ]
        self._same += 1
        if self._same <= _SAME:
            return
        self._same = 0
        if all(self._stable):
            if not self.prepare(arguments[:-1]):
                self._wait()
            return
        self._wait()  # some change: that may be so for long
        some = [
            slot for slot, is_stable in zip(self._slots, self._stable, strict=True) if is_stable
        ]
        if sum(arguments[slot].nbytes for slot in some) >= LEAST_BYTES:
            self._next = sys.maxsize
            self._narrow(some, arguments)

    def _wait(self) -> None:
        self._next = self._misses + self._gap
        self._gap = min(2 * self._gap, _GREATEST_GAP)

    def _drop(self, key: tuple[int, ...], version: Version | None) -> None:
        """Forgets what was made for some inputs; no lock: a finalizer may be what calls this."""
        if version is not None and self._versions.get(key) is not version:
            return
        gone = self._versions.pop(key, None)
        if gone is not None:
            paid = gone.uses >= _PAYS
            self._gap = _GAP if paid else min(4 * self._gap, _GREATEST_GAP)
            self._next = self._misses + (1 if paid else self._gap)


def _forgetting(
    owner: Callable[[], Specialized | None],
    key: tuple[int, ...],
    version: Callable[[], Version | None],
) -> Callable[..., None]:
    """Returns what forgets a version; it refers to nothing that lives by it."""

    def forget(_: Any = None) -> None:
        specialized, made = owner(), version()
        if specialized is not None and made is not None:
            specialized._drop(key, made)

    return forget


def _picker(numbers: Sequence[int]) -> _Picker:
    """Returns what picks elements of a sequence, as a tuple."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    if not numbers:
        return lambda _: ()
    (number,) = numbers
    return lambda all_: (all_[number],)

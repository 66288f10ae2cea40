"""Programs whose weights stay the same: what depends on the weights alone is computed only once.

A network that only infers gets the same weights at each call. XLA does not know that, so it
transposes and scales them each time. Here it can be known: a JAX array never changes (to change an
NDArray in place makes a new one), so if the inputs of a program are the same objects as before,
they hold the same values.

If a program was launched with the same arrays for a while, it is split in the background
(`splitting`). Its *prologue* computes everything that depends on these arrays alone, and its *main
part* the rest. The prologue runs once for each *version* of the weights. A `Specialized` object
takes the place of the executable. At each launch it compares the identities of the inputs: for a
version that it knows it runs the main part, and for any other the whole program, as before. Both
ways are timed first, and if the new one is not faster nothing is changed.

This module holds weak references to the weights, so that they can be freed and donated as usual;
what the prologue made of them is freed with them. An identity (`id`) always means the same array,
since the entry of an array that dies is removed before another object can get its `id`.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, final

from hybridnet.base import config
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.locks import if_free
from hybridnet.engine import RLock

from ..programs.executable import Executable, ExecutableWrapper, start
from .splitting import Split

#: Inputs that stay the same are worth a prologue if they have this many bytes together.
LEAST_BYTES: Final = 1 << 16

# After this many launches in a row with the same arrays the prologue is run for them.
_SAME_LAUNCHES: Final = 4
# How many launches pass unobserved after one with other arrays; it doubles up to a greatest number.
_FIRST_GAP: Final = 2
_GREATEST_GAP: Final = 1024
# A version that was used for fewer launches than this was not worth its prologue.
_MIN_USES: Final = 16
# The most versions of one program. (Several networks of one structure share a program.)
_MAX_VERSIONS: Final = 4

#: Called with the numbers of the inputs that stay the same, and the arguments of a launch.
Narrow = Callable[[Sequence[int], Sequence[Any]], None]
_Picker = Callable[[Sequence[Any]], tuple[Any, ...]]


@final
class Version:
    """The results of the prologue for one version of the weights.

    Attributes:
        kept: the results.
        nbytes: the bytes of them.
        uses: how many launches have used them.
        seen: the value of `uses` when memory was last short.
        refs: weak references to the weights.
        drop: a function that removes this version.
    """

    __slots__ = ("__weakref__", "drop", "kept", "nbytes", "refs", "seen", "uses")

    def __init__(self, kept: tuple[Any, ...]) -> None:
        self.kept = kept
        self.nbytes = sum(array.nbytes for array in kept)
        self.uses = 0
        self.seen = -1
        self.refs: tuple[object, ...] = ()
        self.drop: Callable[[], None] = lambda: None


class _VersionMemory:
    """All versions of all programs; together they take at most HYBRIDNET_CONSTANTS_SIZE."""

    def __init__(self) -> None:
        # Held while the set is gone through or added to, neither of which is one step. Re-entrant,
        # like every lock here: a finalizer may compute with arrays.
        self._lock = RLock()
        self._versions: weakref.WeakSet[Version] = weakref.WeakSet()

    def nbytes(self) -> int:
        """Returns how many bytes all versions take."""
        return sum(version.nbytes for version in self._all())

    def has_room(self, nbytes: int) -> bool:
        """Whether `nbytes` more may be taken; if not, drops versions unused since last asked."""
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
        """Drops all versions; those that are needed are made again."""
        for version in self._all():
            version.drop()

    def _all(self) -> list[Version]:
        with self._lock:
            return list(self._versions)

    def reset_after_fork(self) -> None:
        """In a forked child."""
        self._lock = RLock()
        self._versions = weakref.WeakSet()


memory: Final = _VersionMemory()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=memory.reset_after_fork)


@final
class Specialized(ExecutableWrapper):
    """An executable that runs its prologue once for each version of the weights.

    Threads may call it at the same time.

    Args:
        whole: the executable of the whole program.
        prologue: the executable of the prologue.
        main: the executable of the main part.
        constant: the numbers of the inputs that stay the same.
        parts: which inputs the prologue and the main part take.
        narrow: called once if only some of the constant inputs turn out to stay the same, with
            their numbers and the arguments of a launch.
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
        whole: Executable,
        prologue: Executable,
        main: Executable,
        constant: Sequence[int],
        parts: Split,
        narrow: Narrow,
    ) -> None:
        super().__init__(whole)
        self._narrow = narrow
        self._prologue = prologue
        self._main = main
        self._slots = tuple(constant)
        self._constant = _picker(constant)
        self._reads = _picker(parts.reads)
        self._takes = _picker(parts.takes)
        self._nbytes = parts.nbytes
        # The versions by the identities of the constant inputs, in their order.
        self._versions: dict[tuple[int, ...], Version] = {}
        self._lock = RLock()
        # Launches with inputs that nothing was made for, and the one at which these are looked at.
        self._misses = 0
        self._next = 1
        self._gap = _FIRST_GAP
        # References to inputs, which of them have stayed the same since, and for how many launches.
        self._candidate: list[Any] = []
        self._stable: list[bool] = []
        self._same = 0

    def start(self, arguments: Sequence[DeviceArray], made: list[Sequence[DeviceArray]]) -> None:
        """Starts the program; arguments and outputs are those of `whole`."""
        version = self._versions.get(tuple(map(id, self._constant(arguments))))
        if version is None:
            self._note_other(arguments)
            start(self.whole, arguments, made)
            return
        version.uses += 1
        start(self._main, (*self._takes(arguments), *version.kept), made)

    @property
    def versions(self) -> int:
        """The number of versions that are kept."""
        return len(self._versions)

    def prepare(self, inputs: Sequence[DeviceArray]) -> bool:
        """Runs the prologue on the inputs of a launch, whose weights are expected to come again.

        Returns:
            False if there is no room for the results.
        """
        with self._lock:
            if not memory.has_room(self._nbytes):
                return False
            if len(self._versions) >= _MAX_VERSIONS:
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

    def _note_other(self, arguments: Sequence[DeviceArray]) -> None:
        """Counts a launch with inputs of no version that is kept."""
        self._misses += 1
        if self._misses >= self._next:
            if_free(self._lock, lambda: self._look(arguments))

    def _look(self, arguments: Sequence[DeviceArray]) -> None:
        """Notes which inputs are the same as in the last launches; makes a version in the end."""
        arrays = self._constant(arguments)
        if not self._same:
            self._candidate = [weakref.ref(array) for array in arrays]
            self._stable = [True] * len(arrays)
        self._stable = [
            ref() is array and before
            for ref, array, before in zip(self._candidate, arrays, self._stable, strict=True)
        ]
        self._same += 1
        if self._same <= _SAME_LAUNCHES:
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
        """Removes a version. It takes no lock, as a finalizer may call it."""
        if version is not None and self._versions.get(key) is not version:
            return
        gone = self._versions.pop(key, None)
        if gone is not None:
            paid = gone.uses >= _MIN_USES
            self._gap = _FIRST_GAP if paid else min(4 * self._gap, _GREATEST_GAP)
            self._next = self._misses + (1 if paid else self._gap)


def _forgetting(
    owner: Callable[[], Specialized | None],
    key: tuple[int, ...],
    version: Callable[[], Version | None],
) -> Callable[..., None]:
    """Returns a function that removes a version, and keeps neither it nor its program alive."""

    def forget(_: Any = None) -> None:
        specialized, made = owner(), version()
        if specialized is not None and made is not None:
            specialized._drop(key, made)

    return forget


def _picker(numbers: Sequence[int]) -> _Picker:
    """Returns a function from a sequence to the tuple of its elements with these numbers."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    if not numbers:
        return lambda _: ()
    (number,) = numbers
    return lambda all_: (all_[number],)

"""Advice for who computes the same again and again on arrays of ever new shapes."""

from __future__ import annotations

from typing import Final, final

from ..observe import program_log
from ..segments.code import Code

# Shapes for which the same operators are compiled, after which the user is told. A network has a
# few tens of layers of different shapes at most that are built of the same operators.
_MANY_SHAPES: Final = 32
# Structures that are counted; then it begins anew.
_MAX_STRUCTURES: Final = 4096

_ADVICE: Final = (
    "%s: compiled for %d different shapes. Each new shape takes a compilation: pad what varies to "
    "a few sizes, with hn.function(buckets=hn.Buckets(...)), net.hybridize(buckets=...), or "
    "hn.Buckets(...).stack(sequences) where batches are made"
)


@final
class ShapeAdvice:
    """Counts the shapes for which the same operators were compiled; speaks once."""

    def __init__(self) -> None:
        # By the hash of what is computed, so that nothing is kept alive. Two threads may lose a
        # count to each other, which only makes the advice come later.
        self._counts: dict[int, int] = {}
        self._told = False

    def note(self, code: Code) -> None:
        """Takes notice of a structure of several operators that was compiled."""
        if self._told:
            return
        if len(self._counts) >= _MAX_STRUCTURES:
            self._counts.clear()
        key = hash(tuple((call.alike, operands) for call, operands in code.instructions))
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count >= _MANY_SHAPES:
            self._told = True
            program_log.log.warning(_ADVICE, program_log.describe(code), count)

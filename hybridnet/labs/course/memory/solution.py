"""Lab 3: what may lie in one place is one piece of memory; large pieces are placed first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from hybridnet.passes import MemoryStep


@dataclass
class _Piece:
    """Memory that is used from one step to another, at the end and at the beginning too.

    Attributes:
        results: those that lie in it, one after the other in time.
        size: its bytes.
        first, last: the numbers of the steps.
    """

    results: list[Hashable]
    size: int
    first: int
    last: int


def plan(steps: Sequence[MemoryStep]) -> Mapping[Hashable, int]:
    """Plans where results lie.

    Args:
        steps: in the order in which they run.

    Returns:
        The byte where each result begins.
    """
    placed: list[tuple[int, _Piece]] = []
    for piece in sorted(_pieces(steps), key=lambda piece: (-piece.size, piece.first)):
        at = 0
        # The lowest gap that is wide enough, among those that are used at the same time.
        for begin, other in sorted(placed, key=lambda item: item[0]):
            if other.first <= piece.last and piece.first <= other.last:
                if begin - at >= piece.size:
                    break
                at = max(at, begin + other.size)
        placed.append((at, piece))
    return {result: at for at, piece in placed for result in piece.results}


def _pieces(steps: Sequence[MemoryStep]) -> list[_Piece]:
    """Returns the pieces of memory that are needed; results that may lie in one do."""
    last = {result: at for at, step in enumerate(steps) for result in (*step.makes, *step.reads)}
    found: list[_Piece] = []
    piece_of: dict[Hashable, _Piece] = {}
    for at, step in enumerate(steps):
        taken: set[Hashable] = set()
        for old, new in step.over:
            if last[old] == at and old not in taken and new not in piece_of:
                taken.add(old)
                piece_of[new] = piece_of[old]
                piece_of[new].results.append(new)
                piece_of[new].last = last[new]
        for result, size in step.makes.items():
            if result not in piece_of:
                piece_of[result] = _Piece([result], size, at, last[result])
                found.append(piece_of[result])
    return found

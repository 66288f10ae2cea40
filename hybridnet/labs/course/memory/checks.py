"""Lab 3: what is to hold of a plan of memory, tried on a few steps, and on whole networks."""

from __future__ import annotations

import string
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from hybridnet.passes import MemoryStep

from ...checking import Check, Wrong
from .networks import NAMES, training_step

#: How many times the bytes of our plan a plan may take, of a whole network.
RATIO: Final = 1.25


@dataclass(frozen=True)
class _Steps:
    """Steps whose results are letters."""

    steps: Sequence[MemoryStep]

    def __str__(self) -> str:
        lines = []
        for number, step in enumerate(self.steps):
            makes = ", ".join(
                f"{name} ({size} byte{'s' * (size > 1)})" for name, size in step.makes.items()
            )
            words = [f"reads {', '.join(map(str, step.reads))}"] if step.reads else []
            words += [f"makes {makes}"] if makes else []
            words += [f"({new} may lie over {old})" for old, new in step.over]
            lines.append(f"step {number}: {'; '.join(words)}".replace("; (", " ("))
        return "\n".join(lines)


def _steps(*, sizes: Sequence[int] = (1, 2, 3), over: bool = True) -> st.SearchStrategy[_Steps]:
    """Makes steps; each reads some earlier results, and makes one or two."""
    made = st.lists(st.sampled_from(sizes), min_size=1, max_size=1 if len(sizes) == 1 else 2)
    # What is read is told from the last result back, so that earlier steps can be left out.
    reads = st.lists(st.integers(0, 4), max_size=3, unique=True)
    allowed = st.booleans() if over else st.just(False)
    return st.lists(st.tuples(reads, made, allowed), min_size=1, max_size=7).map(_built)


def _built(described: Sequence[tuple[list[int], list[int], bool]]) -> _Steps:
    names = iter(string.ascii_lowercase)
    made: dict[Hashable, int] = {}
    steps = []
    for numbers, sizes, allowed in described:
        latest = [*made][::-1]
        reads = tuple(latest[number] for number in numbers if number < len(latest))
        makes: dict[Hashable, int] = {next(names): size for size in sizes}
        pairs = ((old, new) for old in reads for new in makes if made[old] == makes[new])
        steps.append(MemoryStep(reads, makes, tuple(pairs) if allowed else ()))
        made |= makes
    return _Steps(steps)


@st.composite
def _holes(draw: Any) -> _Steps:
    """Draws steps that free a stretch of memory in parts, and need it again in other parts."""
    parts = st.lists(st.integers(1, 4), min_size=1, max_size=4)
    before = dict(zip("abcd", draw(parts), strict=False))
    total = sum(before.values())
    ends = sorted({*draw(st.lists(st.integers(1, total), max_size=3)), total})
    sizes = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    after = dict(zip("pqrstu", sizes, strict=False))
    steps = [MemoryStep((), {name: size}) for name, size in before.items()]
    steps.append(MemoryStep(tuple(before), {"k": 1}))
    steps += [MemoryStep(("k",), {name: size}) for name, size in after.items()]
    steps.append(MemoryStep(("k", *after), {}))
    return _Steps(steps)


def _planned(part: Any, steps: Sequence[MemoryStep]) -> tuple[Mapping[Hashable, int], int]:
    """Returns the part's plan, which has a place for each result, and how many bytes it takes."""
    place = part.plan(steps)
    if not isinstance(place, Mapping):
        raise Wrong("no_mapping", answer=repr(place))
    for step in steps:
        for result in step.makes:
            if result not in place:
                raise Wrong("no_place", result=_named(result))
            at = place[result]
            if not isinstance(at, int) or at < 0:
                raise Wrong("no_byte", result=_named(result), place=repr(at))
    sizes = _sizes(steps)
    return place, max((place[result] + size for result, size in sizes.items()), default=0)


def _sizes(steps: Sequence[MemoryStep]) -> dict[Hashable, int]:
    return {result: size for step in steps for result, size in step.makes.items()}


def _named(result: Any) -> str:
    """Returns the letter of a result, or the name of the node that makes it."""
    return result if isinstance(result, str) else f"{result.node.name} ({result.index})"


def _last_uses(steps: Sequence[MemoryStep]) -> dict[Hashable, int]:
    return {result: at for at, step in enumerate(steps) for result in (*step.makes, *step.reads)}


def _has_places(part: Any, example: _Steps) -> None:
    _planned(part, example.steps)


def _lie_apart(part: Any, example: _Steps) -> None:
    _hold_apart(example.steps, _planned(part, example.steps)[0])


def _hold_apart(steps: Sequence[MemoryStep], place: Mapping[Hashable, int]) -> None:
    """Goes through the steps and holds what is made against all that is still needed."""
    last, sizes = _last_uses(steps), _sizes(steps)
    alive: list[Hashable] = []
    for number, step in enumerate(steps):
        for new in step.makes:
            for old in alive:
                begin, end = place[old], place[old] + sizes[old]
                if place[new] >= end or place[new] + sizes[new] <= begin:
                    continue
                dies = last[old] == number and old not in step.makes
                if dies and (old, new) in step.over and place[new] == begin:
                    continue
                raise Wrong(
                    _why(step, old, new, last[old] == number),
                    new=_named(new), begin=place[new], end=place[new] + sizes[new] - 1,
                    old=_named(old), old_begin=begin, old_end=end - 1,
                    step=number, last=last[old],
                )  # fmt: skip
            alive.append(new)
        alive = [result for result in alive if last[result] > number]


def _why(step: MemoryStep, old: Hashable, new: Hashable, dies: bool) -> str:
    """Returns the key of the sentence that says why two results must lie apart."""
    if old in step.makes:
        return "both_made"
    if not dies:
        return "needed"
    return "shifted" if (old, new) in step.over else "not_over"


def _shares(part: Any, example: _Steps) -> None:
    """Results of one size need no more memory than are alive at once."""
    steps = example.steps
    place, size = _planned(part, steps)
    _hold_apart(steps, place)
    last, sizes = _last_uses(steps), _sizes(steps)
    alive: set[Hashable] = set()
    most, when = 0, 0
    for number, step in enumerate(steps):
        alive |= {*step.makes}
        spared = max((sizes[old] for old, _ in step.over if last[old] == number), default=0)
        needed = sum(sizes[result] for result in alive) - spared
        if needed > most:
            most, when = needed, number
        alive = {result for result in alive if last[result] > number}
    if size > most:
        raise Wrong("too_much", size=size, most=most, step=when)


def _fills_holes(part: Any, example: _Steps) -> None:
    place, size = _planned(part, example.steps)
    _hold_apart(example.steps, place)
    first = next(at for at, step in enumerate(example.steps) if step.reads)
    most = sum(_sizes(example.steps[: first + 1]).values())
    if size > most:
        raise Wrong("holes", size=size, most=most)


def _suits_networks(part: Any) -> None:
    for name in NAMES:
        steps, ours = training_step(name)
        place, size = _planned(part, steps)
        _hold_apart(steps, place)
        if size > RATIO * ours:
            raise Wrong("large", network=name, size=f"{size:,}", ours=f"{ours:,}", ratio=RATIO)


CHECKS: Final = (
    Check("places", _has_places, _steps()),
    Check("apart", _lie_apart, _steps(), tries=500),
    Check("share", _shares, _steps(sizes=(4,), over=False)),
    Check("over", _shares, _steps(sizes=(4,))),
    Check("holes", _fills_holes, _holes()),
    Check("networks", _suits_networks),
)

"""Lab 8: the wiring of a loop, primitive by primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hybridnet.passes import LoopValue, LoopWiring

Values: TypeAlias = Sequence[LoopValue]


def wire_loop(loop: LoopWiring, variables: Values, constants: Values) -> list[LoopValue]:
    """Wires a loop; returns what leaves it, for each variable."""
    # Before the condition: a variable is what entered, or what the last iteration made of it.
    # A constant is the same in every iteration, and needs no Merge.
    merged = [loop.merge(loop.enter(value)) for value in variables]
    entered = [loop.enter(value, constant=True) for value in constants]
    holds = loop.condition(merged, entered)

    # After it: where it does not hold a variable leaves the loop, else it goes into the body.
    leaving: list[LoopValue] = []
    inside: list[LoopValue] = []
    for value in merged:
        after, goes_on = loop.switch(value, holds)
        leaving.append(after)
        inside.append(goes_on)

    # What is made of constants alone must be dead, too, when the condition does not hold: else it
    # would begin another iteration, and another.
    known = [loop.switch(value, holds)[1] for value in entered]
    for made, merge in zip(loop.body(inside, known), merged, strict=True):
        loop.next_iteration(made, merge)
    return [loop.exit(value) for value in leaving]

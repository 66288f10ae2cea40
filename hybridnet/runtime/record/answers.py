"""The answers to what launches are asked (`checks.asked`): kept until somebody reads a value.

To look at an answer at once would be to wait for the program. So a launch puts its answers here,
with what is needed to run it again, and they are looked at where its thread next waits for a value,
at the end of the scope that asks, or when two more launches have come. An answer that something is
wrong is raised as an error there; the error names the line that did it.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.errors import OpError
from hybridnet.base.locks import free_in_children
from hybridnet.base.references import ALONE, counts
from hybridnet.engine import RLock

from ..checks.checked import Checked, checked
from ..checks.culprit import Blame, blames
from ..checks.rerun import in_host_memory
from ..programs.program import Program
from ..programs.steps import Failed
from ..segments.segment import Value

__all__ = ["forget", "look_at_answers", "note_answers", "unanswered"]

# Launches whose inputs are kept, to be run again.
_KEPT: Final = 2
# Arrays that are not finite and whose makers are known, though nobody was told so far.
_MOST_KNOWN: Final = 64


@final
@dataclass(slots=True)
class Noted:
    """A launch and its answers.

    Attributes:
        owner: the thread that recorded it.
        checked: what was asked.
        inputs: what it was given.
        scalars: the numbers that it was given.
        lines: where its instructions were recorded.
        values: the Values of its outputs.
        shared: for each of them whether more than one object held it at the launch: then the tape
            may be one of them.
        outputs: their arrays.
        answers: arrays, the last outputs of the program.
        error: what they say, once somebody has looked at them; it waits to be raised.
    """

    owner: int
    checked: Checked
    inputs: Sequence[Any]
    scalars: Sequence[float]
    lines: Mapping[int, engine.Origin | None]
    values: Sequence[Value]
    shared: Sequence[bool]
    outputs: Sequence[Any]
    answers: Sequence[Any]
    error: OpError | None = None


#: Launches whose answers nobody has looked at, or raised; nearly always empty, which is all that
#: waits look at.
unanswered: Final[list[Noted]] = []
_lock: Final = free_in_children(RLock())
# By the `id` of an array that is not finite: the array, and who made it.
_known: Final[dict[int, tuple[Any, Blame]]] = {}


def checked_of(program: Program, mode: int) -> Checked:
    """Returns what is launched in the place of a program, as long as questions are asked."""
    found: Checked | None = program.checked
    if found is None or found.mode != mode:
        found = program.checked = checked(program.code, mode)
    return found


def note_answers(
    checked: Checked,
    owner: int,
    inputs: Sequence[Any],
    scalars: Sequence[float],
    lines: Mapping[int, engine.Origin | None],
    values: Sequence[Value],
    outputs: Sequence[Any],
    *,
    lists: int,
) -> None:
    """Notes a launch that was asked something.

    Args:
        checked: what.
        owner: the thread that recorded it.
        inputs: what it was given.
        scalars: the numbers that it was given.
        lines: where its instructions were recorded.
        values: the Values of its outputs, in order.
        outputs: its outputs, and after them the answers.
        lists: how many lists hold the Values while this is called.
    """
    count = len(checked.plain.outputs)
    answers = outputs[count:]
    if not answers or Failed in map(type, answers):  # an error says more
        return
    shared = [held > ALONE + lists for held in counts(values)]
    made = outputs[:count]
    noted = Noted(owner, checked, inputs, scalars, lines, [*values], shared, made, answers)
    with _lock:
        mine = [one for one in unanswered if one.owner == owner]
        if mine and mine[0].error is not None:
            return  # what comes after it may be its fault
        unanswered.append(noted)
    if len(mine) >= _KEPT:
        _look_at(mine[0])  # this is a launch, which is not the place to raise


def look_at_answers(*, everything: bool = False, wait: bool = False) -> None:
    """Looks at the answers of this thread's launches.

    Args:
        everything: at those of other threads' launches, too.
        wait: also at those of programs that still run.

    Raises:
        NonFiniteError: an operator has made NaN or an infinity.
    """
    me = threading.get_ident()
    for noted in list(unanswered):
        if everything or noted.owner == me:
            if not (wait or all(answer.is_ready() for answer in noted.answers)):
                break
            _look_at(noted)
            if noted.error is not None:
                with _lock:
                    unanswered[:] = [one for one in unanswered if one.owner != noted.owner]
                raise noted.error


def forget() -> None:
    """Drops the launches that nobody has looked at, and what is known of arrays."""
    with _lock:
        unanswered.clear()
        _known.clear()


def _look_at(noted: Noted) -> None:
    """Looks at the answers of a launch, and keeps it only if they say that something is wrong."""
    checked = noted.checked
    if checked.floats and noted.error is None:
        finite = in_host_memory(noted.answers[0])
        if not finite.all():
            bad = [place for place, fine in zip(checked.floats, finite, strict=True) if not fine]
            noted.error = _blame(noted, bad)
    if noted.error is None:
        with _lock:
            unanswered[:] = [one for one in unanswered if one is not noted]


def _blame(noted: Noted, bad: Sequence[int]) -> OpError | None:
    """Returns the error of who made outputs that are not finite; None where nobody sees these."""
    known = {key: blame for key, (_, blame) in _known.items()}
    plain = noted.checked.plain
    found = blames(plain, noted.inputs, noted.scalars, noted.lines, known)
    for place in bad:
        blame, value = found[place], noted.values[place]
        if blame is None:  # by other rounding than the program's it is finite
            continue
        _known[id(noted.outputs[place])] = noted.outputs[place], blame
        if blame.step is not None and (not noted.shared[place] or _is_shown(value)):
            return blame.error()
    while len(_known) > _MOST_KNOWN:
        del _known[next(iter(_known))]
    return None


def _is_shown(value: Value) -> bool:
    """Whether an NDArray holds a Value, and not only the tape."""
    for holder in gc.get_referrers(value):
        found = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
        if found.get("value") is value and "ctx" in found:
            return True
    return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)

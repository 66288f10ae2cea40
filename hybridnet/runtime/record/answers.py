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
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.host_array import HostArray
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

from ..checks.asked import NANS, ask, asked
from ..checks.checked import Checked, checked
from ..checks.culprit import Blame, blames
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
        outputs: their arrays.
        answers: arrays, the last outputs of the program.
    """

    owner: int
    checked: Checked
    inputs: Sequence[Any]
    scalars: Sequence[float]
    lines: Mapping[int, engine.Origin | None]
    values: Sequence[weakref.ref[Value]]
    outputs: Sequence[Any]
    answers: Sequence[Any]


#: Launches whose answers nobody has looked at; nearly always empty, which is all that waits look at.
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
    """
    count = len(checked.plain.outputs)
    answers = outputs[count:]
    if not answers or Failed in map(type, answers):  # an error says more
        return
    refs = [weakref.ref(value) for value in values]
    noted = Noted(owner, checked, inputs, scalars, lines, refs, outputs[:count], answers)
    with _lock:
        unanswered.append(noted)
        mine = [one for one in unanswered if one.owner == owner]
    if len(mine) > _KEPT and owner == threading.get_ident():
        _look_at(mine[0])


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


def forget() -> None:
    """Drops the launches that nobody has looked at, and what is known of arrays."""
    with _lock:
        unanswered.clear()
        _known.clear()


def _look_at(noted: Noted) -> None:
    with _lock:
        if noted not in unanswered:
            return
        unanswered.remove(noted)
    checked = noted.checked
    if checked.floats:
        finite = _numpy(noted.answers[0])
        if not finite.all():
            bad = [place for place, fine in zip(checked.floats, finite, strict=True) if not fine]
            _blame(noted, bad)


def _numpy(array: Any) -> Any:
    import numpy as np

    return array.numpy if type(array) is HostArray else np.asarray(array)


def _blame(noted: Noted, bad: Sequence[int]) -> None:
    """Raises the error of who made outputs that are not finite, if the user can see one of them."""
    known = {key: blame for key, (_, blame) in _known.items()}
    plain = noted.checked.plain
    found = blames(plain, noted.inputs, noted.scalars, noted.lines, known)
    for place in bad:
        blame, value = found[place], noted.values[place]()
        if blame is None:  # by other rounding than the program's it is finite
            continue
        _known[id(noted.outputs[place])] = noted.outputs[place], blame
        if blame.step is not None and value is not None and _is_shown(value):
            raise blame.error()
    while len(_known) > _MOST_KNOWN:
        del _known[next(iter(_known))]


def _is_shown(value: Value) -> bool:
    """Whether an NDArray holds a Value, and not only the tape."""
    for holder in gc.get_referrers(value):
        found = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
        if found.get("value") is value and "ctx" in found:
            return True
    return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)

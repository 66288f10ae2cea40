"""The answers to what launches are asked (`checks`): kept until somebody reads a value.

To look at an answer at once would be to wait for the program. So a launch puts its answers here,
with what is needed to run it again, and they are looked at where its thread next waits for a value
or ends a step, and at the end of the scope that asks. An answer that something is wrong is raised
as an error there; the error names the line that did it.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Literal, final

from hybridnet import engine
from hybridnet.base.errors import OpError
from hybridnet.base.locks import free_in_children
from hybridnet.base.references import ALONE, counts
from hybridnet.engine import RLock

from ..checks.checked import Checked, checked, tells_of_positions
from ..checks.culprit import Blame, blames
from ..checks.opened import Opened, opened
from ..checks.outside import outside_error
from ..checks.positions import PositionRow
from ..programs.host_program import in_host_memory
from ..programs.program import Program
from ..programs.steps import Failed
from ..segments.segment import Value

__all__ = [
    "checked_of",
    "forget",
    "forget_last_launch",
    "last_launch",
    "look_at_answers",
    "note_answers",
    "note_positions",
    "unanswered",
]

# Launches whose inputs are kept, to be run again.
_KEPT_LAUNCHES: Final = 2
# Where so many wait for somebody to read a value, or later twice as many as before, those that are
# there are looked at.
_MANY_ANSWERS: Final = 64
# Arrays that are not finite and whose makers are known, though nobody was told so far.
_MAX_KNOWN_ARRAYS: Final = 64


class _Answers:
    """Answers that nobody has looked at so far.

    Args:
        owner: the thread that asked; None where anyone may be told.

    Attributes:
        owner: the same.
        error: what they say, once somebody has looked at them; it waits to be raised.
    """

    __slots__ = ("error", "owner")

    def __init__(self, owner: int | None) -> None:
        self.owner = owner
        self.error: OpError | None = None

    def is_ready(self) -> bool:
        """Whether they have been computed."""
        raise NotImplementedError

    def look(self) -> OpError | None:
        """Looks at them; returns the error that they tell of."""
        raise NotImplementedError


@final
class _OfLaunch(_Answers):
    """The answers of a launch.

    Args:
        owner: the thread that recorded it.
        checked: what was asked.
        given: its inputs and its numbers.
        lines: where its instructions were recorded.
        values: the Values of its outputs.
        shared: for each of them whether more than one object held it at the launch: then the tape
            may be one of them.
        outputs: their arrays, and after them the answers.
    """

    __slots__ = ("_answers", "_checked", "_given", "_lines", "_outputs", "_shared", "_values")

    def __init__(
        self,
        owner: int | None,
        checked: Checked,
        given: tuple[Sequence[Any], Sequence[float]],
        lines: Mapping[int, engine.Origin | None],
        values: Sequence[Value],
        shared: Sequence[bool],
        outputs: Sequence[Any],
    ) -> None:
        super().__init__(owner)
        count = len(checked.plain.outputs)
        self._checked = checked
        self._given = given if checked.floats else ((), ())
        self._lines = lines
        self._values = [*values] if checked.floats else []
        self._shared = shared
        self._outputs = outputs[:count] if checked.floats else ()
        self._answers = outputs[count:]

    def is_ready(self) -> bool:
        """Whether the program has run."""
        return all(answer.is_ready() for answer in self._answers)

    def look(self) -> OpError | None:
        """Returns the error for a position outside, or else for what is not finite."""
        floats = self._checked.floats
        tables = self._answers[bool(floats) :]
        for table, (first, places) in zip(tables, self._checked.tables, strict=True):
            error = outside_error(in_host_memory(table), places, self._lines.get(first))
            if error is not None:
                return error
        if floats:
            finite = in_host_memory(self._answers[0])
            bad = [place for place, fine in zip(floats, finite, strict=True) if not fine]
            return self._blame(bad) if bad else None
        return None

    def launch(self) -> tuple[Opened, list[Any]]:
        """Returns its operators, and what it was given."""
        inputs, scalars = self._given
        launch = opened(self._checked.plain, scalars, self._lines)
        return launch, [*map(in_host_memory, inputs)]

    @property
    def keeps(self) -> bool:
        """Whether its inputs are kept."""
        return bool(self._checked.floats)

    def _blame(self, bad: Sequence[int]) -> OpError | None:
        """Returns the error of who made outputs that are not finite; None where nobody sees them.

        Args:
            bad: which outputs.
        """
        known = {key: blame for key, (_, blame) in _known.items()}
        found = blames(self._checked.plain, *self._given, self._lines, known)
        shown = []
        for place in bad:
            blame, value = found[place], self._values[place] if self._values else None
            if blame is None:  # by other rounding than the program's it is finite
                continue
            _known[id(self._outputs[place])] = self._outputs[place], blame
            if value is None or not self._shared[place] or _is_shown(value):
                shown.append(blame)
        while len(_known) > _MAX_KNOWN_ARRAYS:
            del _known[next(iter(_known))]
        guilty = [blame for blame in shown if blame.step is not None]
        return min(guilty, key=attrgetter("order")).error() if guilty else None


@final
class _OfCall(_Answers):
    """The answers in the output of a `BoundsCall` that was recorded beside an operator.

    Args:
        owner: the thread that recorded it.
        table: its output.
        places: what the rows of that are about.
    """

    __slots__ = ("_places", "_table")

    def __init__(self, owner: int, table: Value, places: Sequence[PositionRow]) -> None:
        super().__init__(owner)
        self._table = table
        self._places = places

    def is_ready(self) -> bool:
        """Whether it has been launched, and has run; if it has failed something else says why."""
        table = self._table
        return table.error is not None or (table.array is not None and table.array.is_ready())

    def look(self) -> OpError | None:
        """Returns the error for a position outside."""
        if self._table.array is None:
            return None
        return outside_error(in_host_memory(self._table.array), self._places, None)


#: What nobody has looked at, or raised; nearly always empty, which is all that waits look at.
unanswered: Final[list[_Answers]] = []
_lock: Final = free_in_children(RLock())
# The threads that have an error to be told of.
_failed: Final[set[int | None]] = set()
# By the `id` of an array that is not finite: the array, and who made it.
_known: Final[dict[int, tuple[Any, Blame]]] = {}


class _KeptLaunch:
    """The launch that can be saved, and how many wait.

    Attributes:
        answers: its answers.
        failed: whether an error was about it.
        many: how many answers may wait before those that are there are looked at.
    """

    answers: _OfLaunch | None = None
    failed = False
    many = _MANY_ANSWERS


_last: Final = _KeptLaunch()


def checked_of(program: Program, mode: int) -> Checked | None:
    """Returns what is launched in the place of a program; None if it is launched itself."""
    found: Checked | Literal[False] | None = program.checked
    if not found or found.mode != mode:
        asks = mode or tells_of_positions(program.code)
        found = program.checked = checked(program.code, mode) if asks else False
    return found or None


def note_answers(
    checked: Checked,
    owner: int | None,
    given: tuple[Sequence[Any], Sequence[float]],
    lines: Mapping[int, engine.Origin | None],
    values: Sequence[Value],
    outputs: Sequence[Any],
    *,
    lists: int,
) -> None:
    """Notes a launch that was asked something.

    Args:
        checked: what.
        owner: the thread that recorded it; None where that is not known.
        given: its inputs and its numbers.
        lines: where its instructions were recorded.
        values: the Values of its outputs, in order; none where it has none.
        outputs: its outputs, and after them the answers.
        lists: how many lists hold the Values while this is called.
    """
    answers = outputs[len(checked.plain.outputs) :]
    if not answers or Failed in map(type, answers):  # an error says more
        return
    shared = [held > ALONE + lists for held in counts(values)]
    _note(_OfLaunch(owner, checked, given, lines, values, shared, outputs))


def note_positions(table: Value, places: Sequence[PositionRow]) -> None:
    """Notes what a call of `BoundsCall` will say that was recorded beside an operator.

    Args:
        table: its output.
        places: what the rows of that are about.
    """
    _note(_OfCall(threading.get_ident(), table, places))


def _note(answers: _Answers) -> None:
    if answers.owner in _failed:
        return  # what comes after an error may be its fault
    unanswered.append(answers)
    # A launch is not the place to raise: what is wrong waits.
    if type(answers) is _OfLaunch and answers.keeps:
        _last.answers, _last.failed = answers, False
        kept = [one for one in list(unanswered) if type(one) is _OfLaunch and one.keeps]
        mine = [one for one in kept if one.owner == answers.owner]
        if len(mine) > _KEPT_LAUNCHES:
            _look_at(mine[0])
    elif len(unanswered) > _last.many:
        for one in list(unanswered):
            if one.is_ready():
                _look_at(one)
        _last.many = max(2 * len(unanswered), _MANY_ANSWERS)


def last_launch() -> tuple[Opened, list[Any]] | None:
    """Returns the launch that the last error was about, or else the last of which inputs are kept.

    Returns:
        Its operators, and what it was given, NumPy arrays; None where there is no such launch.
    """
    return None if _last.answers is None else _last.answers.launch()


def look_at_answers(*, everything: bool = False, wait: bool = False) -> None:
    """Looks at the answers of this thread's launches.

    Args:
        everything: at those of other threads' launches, too.
        wait: also at those of programs that still run.

    Raises:
        NonFiniteError: an operator has made NaN or an infinity.
        OutOfBoundsError: a position is outside of the array.
    """
    me = threading.get_ident()
    for answers in list(unanswered):
        if everything or answers.owner in (me, None):
            if not (wait or answers.is_ready()):
                continue
            _look_at(answers)
            error = answers.error
            if error is not None:
                if type(answers) is _OfLaunch and answers.keeps:
                    _last.answers, _last.failed = answers, True
                with _lock:
                    unanswered[:] = [one for one in unanswered if one.owner != answers.owner]
                    _failed.discard(answers.owner)
                raise error


def forget() -> None:
    """Drops what nobody has looked at, and what is known of arrays."""
    with _lock:
        unanswered.clear()
        _failed.clear()
        _known.clear()
        if not _last.failed:
            _last.answers = None


def forget_last_launch() -> None:
    """Drops the launch that the last error was about."""
    _last.answers, _last.failed = None, False


def _look_at(answers: _Answers) -> None:
    """Looks at answers, and keeps them only if they say that something is wrong."""
    if answers.error is None:
        answers.error = answers.look()
    with _lock:
        if answers.error is not None:
            _failed.add(answers.owner)
        elif answers in unanswered:
            unanswered.remove(answers)


def _is_shown(value: Value) -> bool:
    """Whether an NDArray holds a Value, and not only the tape."""
    for holder in gc.get_referrers(value):
        found = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
        if found.get("value") is value and "ctx" in found:
            return True
    return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)

"""Which operator made the first NaN or infinity of a launch.

Every operator whose output is not finite though its inputs are is to blame; so is one that makes
NaN of infinities that nobody is to blame for. The blame goes on with what is computed of such an
output, so that what a launch gives out tells who is to blame for it. What is masked on the way is
nobody's fault, nor is what the user said is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, final

import numpy as np

from hybridnet import engine
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import NonFiniteError
from hybridnet.base.origins import CallSite, noted_origin
from hybridnet.ops.core import Call, OpCall

from ..programs.host_program import in_host_memory
from ..segments.code import Code
from .rerun import Cell, RerunStep, rerun

__all__ = ["Blame", "blames", "require_finite"]

_FINITE, _INFINITE, _NAN = range(3)
_GRADIENT: Final = "_backward_"
# Numbers in an error are printed with so many digits.
_DIGITS: Final = 5


@final
@dataclass(slots=True)
class Blame:
    """Who made something that is not finite.

    Attributes:
        step: the operator, as it was run again; None where nobody is to blame: the user said that
            it is meant, or it came in with the inputs as an infinity.
        came_in: the NaN was in the inputs of the launch, and `step` is the first to read it.
        order: how many operators of the launch have run before.
    """

    step: RerunStep | None
    came_in: bool = False
    order: int = -1

    def error(self) -> NonFiniteError:
        """Returns the error that says so."""
        step = self.step
        assert step is not None
        error = NonFiniteError(_message(step, self.came_in))
        error.operator = step.call.name
        found = engine.resolve_origin(step.place.origin)
        if found is not None:
            error.file, error.line = found
        return error


_NOBODY: Final = Blame(None)
_order: Final = attrgetter("order")


def blames(
    code: Code,
    inputs: Sequence[Any],
    scalars: Sequence[float],
    lines: Mapping[int, engine.Origin | None],
    known: Mapping[int, Blame],
) -> list[Blame | None]:
    """Returns for each output of a launch who is to blame for it; None where it is finite.

    Args:
        code: the structure.
        inputs: the arrays that it was given.
        scalars: the numbers that it was given.
        lines: where its instructions were recorded.
        known: who is to blame for arrays that are not finite, by their `id`.
    """
    judge = _Judge({slot: known[id(x)] for slot, x in enumerate(inputs) if id(x) in known})
    outputs = rerun(code, inputs, scalars, lines, judge.look, judge.begin)
    return [cell.note for cell in outputs]


def require_finite(call: Call, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Checks what the user's own code has made for an operator.

    Args:
        call: the operator.
        inputs: what it was given, arrays.
        outputs: what it has made, likewise.

    Raises:
        NonFiniteError: an output is not finite though the inputs are.
    """
    judge = _Judge({})
    given = [Cell(in_host_memory(array)) for array in inputs]
    made = [Cell(in_host_memory(array)) for array in outputs]
    judge.begin(given)
    judge.look(RerunStep(call, given, made, (), CallSite(noted_origin(1))))
    for cell in made:
        if cell.note is not None and cell.note.step is not None:
            raise cell.note.error()


class _Judge:
    """Finds out who is to blame, while a launch is run again.

    Args:
        known: who is to blame for inputs of the launch, by their numbers.
    """

    def __init__(self, known: Mapping[int, Blame]) -> None:
        self._known = known
        self._count = 0

    def begin(self, inputs: Sequence[Cell]) -> None:
        """Notes which inputs are not finite."""
        for slot, cell in enumerate(inputs):
            state = _state(cell.array)
            if state == _FINITE:
                continue
            if slot in self._known:
                cell.note = self._known[slot]
            else:  # whoever reads it first is told of a NaN; infinities may be meant
                cell.note = Blame(None, came_in=True) if state == _NAN else _NOBODY

    def look(self, step: RerunStep) -> None:
        """Notes whether an operator is to blame for what it has made."""
        self._count += 1
        for cell in step.inputs:
            if cell.note is not None and cell.note.came_in and cell.note.step is None:
                cell.note.step = step
        worst = max((_state(cell.array) for cell in step.outputs), default=_FINITE)
        if worst == _FINITE:
            return
        before = max((_state(cell.array) for cell in step.inputs), default=_FINITE)
        before = max(before, _state_of_numbers(step))
        notes = [cell.note for cell in step.inputs if cell.note is not None]
        blame = min((note for note in notes if note.step is not None), key=_order, default=_NOBODY)
        if step.place.is_allowed:
            blame = _NOBODY
        elif before == _FINITE or (worst == _NAN and before == _INFINITE and blame is _NOBODY):
            blame = Blame(_innermost(step), order=self._count)
        for cell in step.outputs:
            if _state(cell.array) != _FINITE:
                cell.note = blame


def _innermost(step: RerunStep) -> RerunStep:
    """Returns the first step inside a loop or branch that is to blame, or else that itself."""
    for inner in step.inside:
        worst = max((_state(cell.array) for cell in inner.outputs), default=_FINITE)
        before = max((_state(cell.array) for cell in inner.inputs), default=_FINITE)
        before = max(before, _state_of_numbers(inner))
        if worst > before and not inner.place.is_allowed:
            return _innermost(inner)
    return step


def _state(array: Any) -> int:
    if not is_float(array.dtype) or np.isfinite(array).all():
        return _FINITE
    return _NAN if np.isnan(array).any() else _INFINITE


def _state_of_numbers(step: RerunStep) -> int:
    """Returns the state of the numbers that an operator took, its parameters included."""
    numbers = [*step.scalars]
    if isinstance(step.call, OpCall):
        numbers += _floats(step.call.attrs.values())
    return _state(np.array(numbers, np.float64))


def _floats(values: Iterable[Any]) -> list[float]:
    found: list[float] = []
    for value in values:
        if isinstance(value, float):
            found.append(value)
        elif isinstance(value, tuple):
            found += _floats(value)
    return found


def _message(step: RerunStep, came_in: bool) -> str:
    """Returns ``log at net.py:12: requires ..., got ...; how to mend it``."""
    name, is_gradient = _title(step)
    place = step.place
    what = f"the gradient of {name}" if is_gradient else name
    if came_in:
        bad = next(cell.array for cell in step.inputs if _state(cell.array) == _NAN)
        return (
            f"{what}{place}: reads an array that holds NaN already, {_described(bad)}: "
            f"{_bad(bad)}; look at where it comes from, or allow it by hn.debug.allow_nans()"
        )
    bad = next(cell.array for cell in step.outputs if _state(cell.array) != _FINITE)
    kind = "NaN" if _state(bad) == _NAN else "infinity"
    numbers = f", numbers {', '.join(map(_short, step.scalars))}" if step.scalars else ""
    given = "; ".join(_ranges(step)) or "nothing"
    finite = all(_state(cell.array) == _FINITE for cell in step.inputs)
    what += f"{place}: made {kind} of {'finite' if finite else 'infinite'} inputs"
    return (
        f"{what}, {_described(bad)}: {_bad(bad)}. "
        f"Its inputs: {given}{numbers}. Keep them away from the edge, or allow it by "
        "hn.debug.allow_nans()"
    )


def _title(step: RerunStep) -> tuple[str, bool]:
    """Returns the operator's name, and whether this is its gradient."""
    name = step.call.name
    return name.removeprefix(_GRADIENT), name.startswith(_GRADIENT)


def _described(array: Any) -> str:
    return f"{array.dtype.name} {array.shape}"


def _bad(array: Any) -> str:
    """Returns how many elements are not finite, and where the first is."""
    bad = ~np.isfinite(array)
    first = tuple(map(int, np.argwhere(bad)[0]))
    at = f" at {list(first)}" if first else ""
    return f"{int(bad.sum()):,} of {array.size:,} elements, the first{at} is {array[first]}"


def _ranges(step: RerunStep) -> list[str]:
    """Returns of each input its type, its smallest and its largest element, and where they are."""
    names: Sequence[str] = ()
    if isinstance(step.call, OpCall):
        names = step.call.input_names(len(step.inputs))
    texts = []
    for number, cell in enumerate(step.inputs):
        array = cell.array
        name = names[number] if number < len(names) else f"input {number}"
        text = f"{name} {_described(array)}"
        if array.size and array.dtype != np.bool_:
            text += f" from {_extreme(array, np.argmin)} to {_extreme(array, np.argmax)}"
        texts.append(text)
    return texts


def _extreme(array: Any, which: Any) -> str:
    """Returns the smallest or largest element, and where it is."""
    place = tuple(map(int, np.unravel_index(int(which(array)), array.shape)))
    return f"{_short(array[place])} at {list(place)}" if place else _short(array[place])


def _short(number: Any) -> str:
    return f"{float(number):.{_DIGITS}g}"

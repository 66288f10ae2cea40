"""From the shapes of a node's outputs back to those of its inputs, by its forward rule alone.

Operators say what comes out for given inputs. What must have gone in is found by trying: the rule
is asked with sizes put in for the unknown dimensions, one changed at a time, and where exactly one
size gives the output that is known, it is that one. So no operator needs a second rule. What
several sizes would give, such as a dimension that may broadcast or the input of a convolution with
strides, stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from hybridnet.base.array_types import Shape
from hybridnet.base.errors import MXNetError
from hybridnet.ops.core import UNKNOWN

#: Shapes of the inputs -> shapes of the outputs; raises an MXNetError for what does not fit.
Rule = Callable[[Sequence[Shape]], Sequence[Shape]]
#: A dimension of an input: which input, which axis.
Place = tuple[int, int]

#: Sizes put in for unknown dimensions. They have many divisors, so that splitting and reshaping
#: are possible, and an output dimension that is the same for both depends on no unknown one.
SIZES: Final = (5040, 10080)
# Past this many unknown dimensions an operator is not asked: the questions grow with their square.
_MAX_UNKNOWN: Final = 8
# Shapes that an operator on each element leaves as they are, and those that drop, merge or move
# dimensions do not.
_TRIED: Final = ((6,), (1, 6), (4, 1, 6), (1, 4, 3, 6))


def keeps_shape(rule: Rule, count: int) -> bool:
    """Returns whether the first output always has the one shape of all `count` inputs."""
    try:
        return all(rule([shape] * count)[0] == shape for shape in _TRIED)
    except MXNetError:
        return False


def infer_inputs(
    rule: Rule, inputs: Sequence[Shape], outputs: Sequence[Shape | None]
) -> Sequence[Shape]:
    """Returns the shapes of the inputs with what the outputs tell of them.

    Args:
        rule: of the operator.
        inputs: shapes, in which `UNKNOWN` stands for a dimension that is not known.
        outputs: likewise, or None.
    """
    unknown = [
        (number, axis)
        for number, shape in enumerate(inputs)
        for axis, size in enumerate(shape)
        if size == UNKNOWN
    ]
    if not 0 < len(unknown) <= _MAX_UNKNOWN:
        return inputs
    ask = _Question(rule, inputs, unknown)
    base = ask({})
    if base is None:
        return _by_elements(ask, inputs, unknown, outputs)
    groups = list(_tied(ask, unknown))
    changed = [ask(dict.fromkeys(group, SIZES[1])) for group in groups]
    found: dict[Place, int] = {}
    for number, group in enumerate(groups):
        for output, axis, wanted in _known_dimensions(outputs):
            if output >= len(base) or axis >= len(base[output]):
                continue
            before = base[output][axis]
            depend = [
                other
                for other, made in enumerate(changed)
                if made is not None and made[output][axis] != before
            ]
            made = changed[number]
            if depend != [number] or made is None:
                continue
            size = _only_size(ask, group, (output, axis), (before, made[output][axis]), wanted)
            if size is not None:
                found.update(dict.fromkeys(group, size))
                break
    return [
        tuple(found.get((number, axis), size) for axis, size in enumerate(shape))
        for number, shape in enumerate(inputs)
    ]


def _by_elements(
    ask: _Question,
    inputs: Sequence[Shape],
    unknown: Sequence[Place],
    outputs: Sequence[Shape | None],
) -> Sequence[Shape]:
    """Returns the shapes of inputs of an operator that no size will do but the right one.

    It may be one that keeps the number of elements, such as a reshape to a shape in numbers.
    """
    output = outputs[0]
    if len(inputs) > 1 or len(unknown) > 1 or output is None or UNKNOWN in output:
        return inputs
    (place,) = unknown
    others = math.prod(size for size in inputs[0] if size != UNKNOWN)
    size, rest = divmod(math.prod(output), others) if others else (0, 1)
    if rest or ask({place: size}) != [output] or ask({place: size + 1}) is not None:
        return inputs
    return [tuple(size if n == UNKNOWN else n for n in inputs[0])]


class _Question:
    """Asks a rule with sizes in the unknown dimensions; None where it refuses them."""

    def __init__(self, rule: Rule, inputs: Sequence[Shape], unknown: Sequence[Place]) -> None:
        self._rule = rule
        self._inputs = inputs
        self._unknown = unknown

    def __call__(self, sizes: dict[Place, int]) -> Sequence[Shape] | None:
        shapes = [list(shape) for shape in self._inputs]
        for place in self._unknown:
            shapes[place[0]][place[1]] = sizes.get(place, SIZES[0])
        try:
            return list(self._rule([tuple(shape) for shape in shapes]))
        except MXNetError:
            return None


def _tied(ask: _Question, unknown: Sequence[Place]) -> Iterator[tuple[Place, ...]]:
    """Yields the unknown dimensions, those that must be equal together.

    One that cannot change alone is tied to those at its axis that cannot either, unless it may
    be 1 beside them: then it broadcasts, and an output does not tell it.
    """
    bound = [place for place in unknown if ask({place: SIZES[1]}) is None]
    for place in unknown:
        if place not in bound:
            yield (place,)
    for axis in dict.fromkeys(place[1] for place in bound):
        group = tuple(place for place in bound if place[1] == axis)
        if ask(dict.fromkeys(group, SIZES[1])) is None:
            continue
        if all(ask({place: 1}) is None for place in group):
            yield group


def _known_dimensions(outputs: Sequence[Shape | None]) -> Iterator[tuple[int, int, int]]:
    for number, shape in enumerate(outputs):
        for axis, size in enumerate(shape or ()):
            if size != UNKNOWN:
                yield number, axis, size


def _only_size(
    ask: _Question, group: Sequence[Place], place: Place, seen: tuple[int, int], wanted: int
) -> int | None:
    """Returns the one size of some tied dimensions that gives an output dimension, or None.

    Args:
        ask: the question.
        group: the dimensions.
        place: of the output dimension.
        seen: what it is for the two `SIZES`.
        wanted: what it shall be.
    """
    rise, run = seen[1] - seen[0], SIZES[1] - SIZES[0]
    size, rest = divmod((wanted - seen[0]) * run, rise)
    size += SIZES[0]
    if rest or size < 0:
        return None

    def given(tried: int) -> int | None:
        made = ask(dict.fromkeys(group, tried)) if tried >= 0 else None
        return None if made is None else made[place[0]][place[1]]

    if given(size) != wanted or wanted in (given(size - 1), given(size + 1)):
        return None
    return size

"""Draws calls at points where a gradient is not the plain one, for `make_drawn.py` to ask about.

    python tests/oracle/draw_kinks.py candidates.json [OPERATOR ...]     # a Python with hybridnet
    python tests/oracle/make_drawn.py candidates.json answers_kinks.npz  # with mxnet==1.9.1

Of every operator with a gradient, valid calls (samples, and cases written by hand) get numbers
from one of `POINTS` for those among which the formula has its kinks: zeros of either sign, equal
elements, the bounds that the parameters name, infinities, no elements at all.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator

import numpy as np
from case import Case
from draw_cases import _is_common, _large, _nested, _shape, _takes_special, bases, write_calls
from drawn import renamed

from hybridnet.base.attrs import REQUIRED
from hybridnet.ops.core.registry import Operator

#: What the floating inputs are made of, by name. "bounds" are the numbers among the parameters.
POINTS: dict[str, tuple[float, ...]] = {
    "zeros": (0.0,),
    "equal": (0.5,),
    "signs": (-1.0, 0.0, 1.0),
    "negative zeros": (-0.0, 0.0),
    "halves": (-1.5, -0.5, 0.5, 1.5, 2.5),
    "bounds": (0.0,),
    "corners": (-3.0, -2.5, 0.0, 2.5, 3.0, 6.0),
    "infinite": (-np.inf, 0.0, 1.0, np.inf),
}
#: Valid calls of an operator that are changed; of one that hardly anybody calls, one.
_STARTS = 2
# Answers that MXNet reads from memory that nobody wrote.
_UNWRITTEN = ("_contrib_ROIAlign",)


def _bounds(case: Case, op: Operator) -> tuple[float, ...]:
    """Returns the numbers that a call's parameters name, and their negatives."""
    found = []
    for name, param in op.params.items():
        value = case.attrs.get(name, param.default)
        if value is not REQUIRED and isinstance(value, (int, float)) and "number" in param.kind:
            found += [float(value), -float(value)]
    return tuple(sorted({one for one in found if abs(one) < 1e6}))


def _at(case: Case, points: tuple[float, ...], alike: bool) -> Case:
    """Returns the call with its floating inputs made of some numbers, by position if alike."""
    inputs = list(case.inputs)
    for index in case.grads:
        one = inputs[index]
        shape = _shape(one)
        seed = f"{case.name} {shape}" if alike else f"{case.name} {shape} {index}"
        drawn = np.random.RandomState(zlib.crc32(seed.encode())).choice(points, shape)
        inputs[index] = dataclasses.replace(one, values=_nested(drawn.tolist()))
    return dataclasses.replace(case, inputs=tuple(inputs))


def _empty(case: Case) -> Case | None:
    """Returns the call with no elements: its first size is 0 wherever it is one."""
    if any(one.values is not None for one in case.inputs) or not all(
        one.shape for one in case.inputs
    ):
        return None
    size = case.inputs[0].shape[0]
    inputs = [
        dataclasses.replace(one, shape=(0, *one.shape[1:]) if one.shape[0] == size else one.shape)
        for one in case.inputs
    ]
    return dataclasses.replace(case, inputs=tuple(inputs))


def draw(op: Operator) -> Iterator[Case]:
    """Yields calls of an operator at such points, always the same ones."""
    starts = [case for case in bases(op) if case.grads and not _large(case)]
    if op.name in _UNWRITTEN:
        return
    for number, start in enumerate(starts[: _STARTS if _is_common(op) else 1]):
        if any(start.inputs[index].dtype[:5] != "float" for index in start.grads):
            continue
        for kind, points in POINTS.items():
            if kind == "infinite" and not _takes_special(op):
                continue
            if kind == "bounds":
                points = (*_bounds(start, op), *points)
                if len(points) < 2:
                    continue
            name = f"{op.name}-{number} {kind}"
            yield _at(renamed(start, name), points, alike=number == 0)
        empty = _empty(start)
        if empty is not None:
            yield renamed(empty, f"{op.name}-{number} empty")


if __name__ == "__main__":
    write_calls(draw)

"""Programs with loops and branches, for MXNet and for hybridnet, on arrays and on symbols.

Each is a function of a namespace (``nd`` or ``sym`` of either) and its arguments by name, and
returns a list of outputs. `make_control.py` keeps MXNet's answers in ``control.json``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

#: Name -> the program, and the shapes of its arguments.
CASES: dict[str, tuple[Callable[..., list[Any]], dict[str, tuple[int, ...]]]] = {}


def _case(**shapes: tuple[int, ...]) -> Callable[[Any], Any]:
    def add(program: Any) -> Any:
        CASES[program.__name__] = (program, shapes)
        return program

    return add


def make_inputs(name: str) -> dict[str, np.ndarray]:
    """Returns the arguments of a case, float32."""
    found = {}
    for key, shape in CASES[name][1].items():
        random = np.random.RandomState(zlib.crc32(f"{name} {key}".encode()))
        found[key] = np.round(random.uniform(-1, 1, shape), 3).astype("float32")
    return found


@_case(x=(4, 2, 3), s=(2, 3))
def running_sum(F: Any, x: Any, s: Any) -> list[Any]:
    return list(F.contrib.foreach(lambda row, state: (row + state, row + state), x, s))


@_case(x=(4,), s=(1,))
def rows_of_one_number(F: Any, x: Any, s: Any) -> list[Any]:
    return list(F.contrib.foreach(lambda row, state: (row * state, state + row * row), x, s))


@_case(x=(3, 2), y=(3, 2, 2), s=(2,), t=(2, 2))
def nested_data_and_states(F: Any, x: Any, y: Any, s: Any, t: Any) -> list[Any]:
    def body(rows: Any, states: Any) -> Any:
        a, b = rows
        (u,), v = states
        return [[F.broadcast_add(b, a), u * a], v * 2], [[u * a + 1], F.tanh(v + b)]

    ((one, two), three), ((last,), other) = F.contrib.foreach(body, [x, y], [[s], t])
    return [one, two, three, last, other]


@_case(x=(5, 2, 3), h=(2, 4), c=(2, 4), w=(16, 3), r=(16, 4), b=(16,))
def an_lstm_of_operators(F: Any, x: Any, h: Any, c: Any, w: Any, r: Any, b: Any) -> list[Any]:
    scaled = r * 0.5

    def body(row: Any, states: Any) -> Any:
        h, c = states
        gates = F.FullyConnected(row, w, b, num_hidden=16)
        gates = gates + F.FullyConnected(h, scaled, num_hidden=16, no_bias=True)
        i, f, g, o = list(F.split(gates, num_outputs=4, axis=1))
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        return h, [h, c]

    outputs, (h, c) = F.contrib.foreach(body, x, [h, c])
    return [outputs, h, c]


@_case(x=(3, 4, 2), s=(2,), w=(2,))
def a_loop_in_a_loop(F: Any, x: Any, s: Any, w: Any) -> list[Any]:
    def outer(rows: Any, state: Any) -> Any:
        inner, last = F.contrib.foreach(
            lambda row, one: (row * one, F.tanh(row + one * w)), rows, state
        )
        return F.sum(inner, axis=0) + w, last * 0.5

    return list(F.contrib.foreach(outer, x, s))


@_case(x=(4, 3), s=(3,))
def a_gradient_stopped_on_the_way(F: Any, x: Any, s: Any) -> list[Any]:
    def body(row: Any, state: Any) -> Any:
        return row * state, F.BlockGrad(state) * 0.5 + row

    return list(F.contrib.foreach(body, x, s))


@_case(s=(2,), w=(2,))
def powers(F: Any, s: Any, w: Any) -> list[Any]:
    def step(i: Any, s: Any) -> Any:
        return s * w, [i + 1, F.broadcast_add(s * w, i)]

    start = F.sum(F.zeros_like(s))
    outputs, (i, last) = F.contrib.while_loop(
        lambda i, s: i < 3, step, [start, s], max_iterations=6
    )
    # MXNet leaves the rows after the last step unwritten.
    return [F.slice_axis(outputs, axis=0, begin=0, end=3), i, last]


@_case(x=(3,))
def until_it_is_large(F: Any, x: Any) -> list[Any]:
    # A sum with a shape of its own, in symbols too.
    def total(y: Any) -> Any:
        return F.sum(y * y)

    outputs, last = F.contrib.while_loop(
        lambda y: total(y) < 50, lambda y: (F.sin(y), y * 1.7), x, max_iterations=20
    )
    return [F.slice_axis(outputs, axis=0, begin=0, end=2), last]


@_case(x=(2, 2), w=(2, 2))
def no_outputs_but_states(F: Any, x: Any, w: Any) -> list[Any]:
    _, states = F.contrib.while_loop(
        lambda a, b: F.sum(a) < 100, lambda a, b: ([], [a + 30, F.dot(a, w) + b]), [x, w],
        max_iterations=3,
    )  # fmt: skip
    return list(states)


@_case(p=(1,), x=(2, 3), y=(2, 3))
def either_way(F: Any, p: Any, x: Any, y: Any) -> list[Any]:
    def more() -> Any:
        return [x * y, x + 1]

    def less() -> Any:
        return [F.tanh(x), y * 2]

    first = F.contrib.cond(p < 5, more, less)
    second = F.contrib.cond(p > 5, more, less)
    return [*first, *second]


@_case(x=(4, 2), s=(2,))
def a_branch_in_a_loop(F: Any, x: Any, s: Any) -> list[Any]:
    def body(row: Any, state: Any) -> Any:
        chosen = F.contrib.cond(F.sum(row) > 0, lambda: state * row, lambda: state - row)
        return chosen, chosen + 0.1

    return list(F.contrib.foreach(body, x, s))

"""Random programs over matrices, run as graphs, on arrays, and with NumPy; for tests of gradients.

A program is a list of steps, each an operation on values before it. The first two values are its
inputs, of shape (2, 3); every value has that shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from hybridnet import nd
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.core.registry import get

SHAPE = (2, 3)


class Operation(NamedTuple):
    """One thing that a step can do.

    Attributes:
        arity: how many values it takes.
        build: writes it with the functions of a front end: ``build(op, *values)``, where
            ``op(name, *values, **attributes)`` applies an operator.
        numpy: the same with NumPy; what gradients do not go through is given as ``still(value)``.
    """

    arity: int
    build: Callable[..., Any]
    numpy: Callable[..., Any]


def unary(name, function, **attrs):
    return Operation(1, lambda op, x: op(name, x, **attrs), lambda still, x: function(x))


def binary(name, function):
    return Operation(2, lambda op, x, y: op(name, x, y), lambda still, x, y: function(x, y))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


OPERATIONS = {
    "sin": unary("sin", np.sin),
    "tanh": unary("tanh", np.tanh),
    "sigmoid": unary("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    "negative": unary("negative", np.negative),
    "half": unary("_mul_scalar", lambda x: 0.5 * x, scalar=0.5),
    "softmax": unary("softmax", softmax),
    "copy": unary("_copy", lambda x: x),
    "add": binary("broadcast_add", np.add),
    "sub": binary("elemwise_sub", np.subtract),
    "mul": binary("broadcast_mul", np.multiply),
    "product": Operation(
        2,
        lambda op, x, y: op("dot", op("dot", x, y, transpose_b=True), y),
        lambda still, x, y: x @ y.T @ y,
    ),
    "mean": Operation(
        1,
        lambda op, x: op("broadcast_to", op("mean", x, axis=0, keepdims=True), shape=SHAPE),
        lambda still, x: np.broadcast_to(x.mean(0, keepdims=True), SHAPE),
    ),
    "turned": Operation(
        1,
        lambda op, x: op("Concat", *reversed(op("SliceChannel", x, num_outputs=3)), dim=1),
        lambda still, x: x[:, ::-1],
    ),
    "cut": Operation(
        1,
        lambda op, x: op("slice_axis", op("Concat", x, x, dim=1), axis=1, begin=2, end=5),
        lambda still, x: np.concatenate([x, x], 1)[:, 2:5],
    ),
    "blocked": Operation(1, lambda op, x: op("BlockGrad", x), lambda still, x: still(x)),
    "larger": Operation(
        2,
        lambda op, x, y: op("broadcast_mul", op("broadcast_greater", x, y), x),
        lambda still, x, y: still((x > y).astype(float)) * x,
    ),
}
Program = list[tuple[str, tuple[int, ...]]]


@st.composite
def programs(draw: Any, most: int = 8) -> Program:
    """Draws a program."""
    program: Program = []
    for number in range(draw(st.integers(1, most))):
        name = draw(st.sampled_from(sorted(OPERATIONS)))
        sources = st.integers(0, number + 1)
        program.append((name, tuple(draw(sources) for _ in range(OPERATIONS[name].arity))))
    return program


def _interpret(program: Program, op: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    values = list(inputs)
    for name, sources in program:
        values.append(OPERATIONS[name].build(op, *(values[i] for i in sources)))
    return values


def run_arrays(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """Runs a program on arrays; returns every value."""

    def op(name, *values, **attrs):
        return nd.NDArray.apply_operator(get(name), values, attrs)

    return _interpret(program, op, inputs)


def graph_of(program: Program, outputs: Sequence[int]) -> Graph:
    """Returns a program as a graph of some of its values."""

    def op(name, *edges, **attrs):
        call, scalars = get(name).bind(attrs, True)
        node = Node(call, tuple(edges), name.lower(), scalars)
        made = [Edge(node, index) for index in range(call.num_visible)]
        return made[0] if len(made) == 1 else made

    inputs = [variable("x"), variable("y")]
    values = _interpret(program, op, [Edge(one, 0) for one in inputs])
    return Graph(tuple(inputs), tuple(values[i] for i in outputs))


def run_numpy(program: Program, inputs: Sequence[Any], stills: list[Any]) -> list[Any]:
    """Runs a program with NumPy.

    Args:
        program: the program.
        inputs: arrays.
        stills: what gradients do not go through; filled in at the first run, and taken as it is
            in later ones.
    """
    known, position = bool(stills), iter(list(stills))

    def still(value):
        if known:
            return next(position)
        stills.append(value)
        return value

    values = list(inputs)
    for name, sources in program:
        values.append(OPERATIONS[name].numpy(still, *(values[i] for i in sources)))
    return values

"""Random graphs: a bound symbol computes what the same operators compute eagerly.

A program is drawn as a list of steps on a stack of (3, 4) values, run once on symbols and once on
arrays under the tape; outputs and gradients must agree, also after a trip through JSON and text.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from same_graph import same_graph

import hybridnet as mx
from hybridnet import autograd, nd, sym
from hybridnet.graph.parse import parse
from hybridnet.graph.text import to_text

SHAPE = (3, 4)
ARGUMENTS = ("a", "b", "c")

#: name -> (how many operands, what it does with them and the front end).
STEPS = {
    "tanh": (1, lambda F, x: F.tanh(x)),
    "relu": (1, lambda F, x: F.relu(x)),
    "square": (1, lambda F, x: F.square(F.tanh(x))),
    "softmax": (1, lambda F, x: F.softmax(x, axis=1)),
    "scaled": (1, lambda F, x: 0.5 - x * 1.5),
    "halves": (1, lambda F, x: _halves(F, x)),
    "turned": (1, lambda F, x: F.transpose(F.dot(x, F.transpose(F.tanh(x))))),
    "mean": (1, lambda F, x: F.broadcast_sub(x, F.mean(x, axis=0, keepdims=True))),
    "flat": (1, lambda F, x: x.reshape((2, -1)).reshape((3, 4))),
    "sum": (2, lambda F, x, y: F.elemwise_add(x, y)),
    "product": (2, lambda F, x, y: F.elemwise_mul(x, F.tanh(y))),
    "larger": (2, lambda F, x, y: F.broadcast_maximum(x, y)),
    "joined": (2, lambda F, x, y: F.Concat(x, y, dim=0)),
    "stopped": (2, lambda F, x, y: F.elemwise_add(x, F.BlockGrad(y))),
}


def _halves(F, x):
    left, right = F.split(x, num_outputs=2, axis=1)
    return F.concat(right, F.sin(left), dim=1)


def run(F, program, values):
    """Runs a program; operands are counted from the newest value."""
    made = list(values)
    for name, operands in program:
        count, step = STEPS[name]
        out = step(F, *(made[-1 - one % len(made)] for one in operands[:count]))
        if name in ("joined", "turned"):
            out = F.slice_axis(F.Concat(out, out, dim=1), axis=1, begin=0, end=4)
            out = F.slice_axis(out, axis=0, begin=0, end=3)
        made.append(out)
    return made[-1], made[-2]


_PROGRAMS = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.tuples(st.integers(0, 5), st.integers(0, 5))),
    min_size=2,
    max_size=7,
)


_SEEDS = st.integers(0, 2**16)
_REQUESTS = st.sampled_from(["write", "add"])


@settings(max_examples=4)
@given(_PROGRAMS, _SEEDS, _REQUESTS)
def test_bound_symbols_compute_what_eager_operators_do(program, seed, grad_req):
    check(program, seed, grad_req)


@pytest.mark.slow
@settings(max_examples=thorough(200, 25))
@given(_PROGRAMS, _SEEDS, _REQUESTS)
def test_many_bound_symbols_compute_what_eager_operators_do(program, seed, grad_req):
    check(program, seed, grad_req)


def check(program, seed, grad_req):
    """Compares outputs and gradients of one program."""
    random = np.random.default_rng(seed)
    values = [nd.array(random.standard_normal(SHAPE)) for _ in ARGUMENTS]
    heads = [nd.array(random.standard_normal(SHAPE)) for _ in range(2)]
    for one in values:
        one.attach_grad()
    with autograd.record():
        wanted = run(nd, program, values)
    tracked = [one for one in zip(wanted, heads, strict=True) if one[0].edge is not None]
    autograd.backward(*(list(part) for part in zip(*tracked, strict=True)))

    symbol = sym.Group(run(sym, program, [sym.var(name) for name in ARGUMENTS]))
    for again in (symbol, sym.load_json(symbol.tojson()), sym.Symbol(_through_text(symbol))):
        names = again.list_arguments()
        args = {name: values[ARGUMENTS.index(name)].copy() for name in names}
        grads = {name: nd.ones(SHAPE) for name in names}
        executor = again.bind(mx.cpu(), args, grads, grad_req)
        got = executor.forward(is_train=True)
        executor.backward(heads)
        for ours, theirs in zip(got, wanted, strict=True):
            np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-5, atol=1e-6)
        for name in names:
            eager = values[ARGUMENTS.index(name)].grad.asnumpy() + (grad_req == "add")
            np.testing.assert_allclose(grads[name].asnumpy(), eager, rtol=1e-4, atol=1e-5)


def _through_text(symbol):
    graph = symbol.graph
    again = parse(to_text(graph))
    assert same_graph(again, graph)
    return again.outputs


@settings(max_examples=20)
@given(_PROGRAMS)
def test_inferred_shapes_are_those_that_come_out(program):
    symbol = sym.Group(run(sym, program, [sym.var(name) for name in ARGUMENTS]))
    names = symbol.list_arguments()
    inferred = symbol.get_internals().infer_shape(**dict.fromkeys(names, SHAPE))[1]
    values = symbol.get_internals().eval(**{name: nd.ones(SHAPE) for name in names})
    assert inferred == [one.shape for one in values]
    # What is inferred from unknown sizes agrees where it says something.
    partial = symbol.get_internals().infer_shape_partial(**dict.fromkeys(names, (0, 4)))[1]
    for ours, true in zip(partial, inferred, strict=True):
        assert not ours or [n and m for n, m in zip(ours, true, strict=True)] == list(ours)

"""Random graphs: optimized by all passes, they compute what the plain interpreter computes.

With exact rules to the bit, at special values too; with all rules closely, where functions are tame
and sums do not cancel.
"""

import numpy as np
import pytest
from helpers import thorough
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from passes_samples import assert_same_bits, context_of, positive, run, size, special

from hybridnet import passes, sym
from hybridnet.ops.core.registry import get

SHAPES = [(3, 4), (1, 4), (3, 1), (4,), (1, 1)]
FULL = (3, 4)
NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -4.0, 3.0, 2.5]

UNARY = ["negative", "abs", "sign", "rint", "ceil", "floor", "trunc", "round", "relu", "square"]
UNARY += ["identity", "BlockGrad"]
#: Positive numbers stay positive and moderate.
TAME = ["sqrt", "square", "identity", "reciprocal", "relu", "abs"]
TAME += ["log_exp", "exp_log", "transpose_twice"]
PAIRS = ["add", "sub", "mul", "maximum", "minimum"]


def unary(name, x):
    if name == "log_exp":
        return sym.log(sym.exp(x))
    if name == "exp_log":
        return sym.exp(sym.log(x))
    if name == "transpose_twice":
        return sym.transpose(sym.transpose(x))
    return getattr(sym, name)(x)


@st.composite
def graphs(draw, tame=False):
    """Draws a symbol of many operators, with shared parts, constants and dimensions of size 1.

    Every value has a shape that broadcasts to (3, 4); outputs are two of the last values.
    """
    shapes = {f"x{i}": draw(st.sampled_from(SHAPES)) for i in range(3)}
    values = [sym.var(name) for name in shapes]
    constants = [sym.ones(FULL), sym.reshape(sym.arange(1, 13), shape=FULL), sym.ones((1, 4)) * 2]
    if not tame:
        constants += [sym.zeros(FULL), sym.zeros((1, 4)), sym.negative(sym.zeros((3, 1)))]
    values += draw(st.lists(st.sampled_from(constants), max_size=3))

    def pick():
        return values[draw(st.integers(0, len(values) - 1))]

    for _ in range(draw(st.integers(3, 14))):
        way = draw(st.sampled_from(WAYS[tame]))
        values.append(way(draw, pick, tame))
    return sym.Group([values[-1], values[draw(st.integers(3, len(values) - 1))]]), shapes


def of_two(draw, pick, tame):
    name = draw(st.sampled_from(["add", "mul"] if tame else PAIRS))
    return getattr(sym, f"broadcast_{name}")(pick(), pick())


def of_one(draw, pick, tame):
    return unary(draw(st.sampled_from(TAME if tame else UNARY)), pick())


def with_number(draw, pick, tame):
    number = draw(st.sampled_from([0.5, 1.0, 2.0] if tame else NUMBERS))
    ways = ["mul", "div"] if tame else ["plus", "minus", "rminus", "mul", "power", "greater"]
    return beside(f"_{draw(st.sampled_from(ways))}_scalar", pick(), number)


def repeated(draw, pick, tame):
    """A sum in which terms come again, some of them scaled."""
    terms = [pick() for _ in range(draw(st.integers(1, 3)))]
    total = terms[0]
    for _ in range(draw(st.integers(1, 4))):
        term = draw(st.sampled_from(terms))
        scaled = term * 2 if draw(st.booleans()) else term
        total = sym.broadcast_add(total, scaled)
    return total


def like(draw, pick, tame):
    x = pick()
    return sym.broadcast_add(x, sym.zeros_like(x) if draw(st.booleans()) else sym.ones_like(x))


def joined(draw, pick, tame):
    x = sym.broadcast_add(pick(), pick())
    parts = draw(st.sampled_from([(x, x * 1), (sym.relu(x), sym.relu(x * 2)), (x, sym.abs(x))]))
    whole = sym.concat(*parts, dim=-1)
    if draw(st.booleans()):
        return sym.SliceChannel(whole, num_outputs=2, axis=-1)[1]
    return sym.slice_axis(whole, axis=-1, begin=0, end=1)


def moved(draw, pick, tame):
    x = pick()
    swapped = sym.SwapAxis(sym.expand_dims(x, axis=0), dim1=0, dim2=-1)
    back = sym.SwapAxis(swapped, dim1=0, dim2=-1)
    turned = sym.reverse(sym.reverse(sym.reshape(back, shape=(-1,)), axis=0), axis=0)
    return sym.reshape_like(turned, x)


def converted(draw, pick, tame):
    x = pick()
    return sym.Cast(sym.Cast(x, dtype="float64"), dtype="float64" if tame else "float32")


def chosen(draw, pick, tame):
    x = pick()
    return sym.where(sym.ones_like(x), x, x)


_COMMON = [of_two, of_two, of_two, of_one, of_one, with_number, repeated, like, moved, converted]
WAYS = {True: _COMMON, False: [*_COMMON, joined, chosen]}


def beside(name, x, number):
    return sym.Symbol.apply_operator(get(name), (x,), {"scalar": number})


def arrays_for(graph, shapes, make, dtype="float32"):
    return {
        node.name: make(shapes[node.name], dtype, seed) for seed, node in enumerate(graph.inputs)
    }


QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.slow
@settings(max_examples=thorough(2000, 25), **QUIET)
@given(graphs(), st.sampled_from(["float32", "float32", "int32"]))
def test_exact_rules_leave_every_bit_of_random_graphs(drawn, dtype):
    symbol, shapes = drawn
    graph = symbol.graph
    arrays = arrays_for(graph, shapes, special, dtype)
    context = context_of(graph, arrays, tolerance=0, keep=frozenset({graph.nodes[-1].name}))
    made, report = passes.optimize(graph, context)
    assert size(made) <= size(graph) + 2, report
    assert_same_bits(run(made, arrays), run(graph, arrays), report)


@pytest.mark.slow
@settings(max_examples=thorough(2000, 15), **QUIET)
@given(graphs(tame=True))
def test_all_rules_are_close_on_random_graphs(drawn):
    symbol, shapes = drawn
    graph = symbol.graph
    arrays = arrays_for(graph, shapes, positive, "float64")
    made, report = passes.optimize(graph, context_of(graph, arrays, unsafe=True))
    for got, wanted in zip(run(made, arrays), run(graph, arrays), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, err_msg=str(report))
    again, second = passes.optimize(made, context_of(made, arrays, unsafe=True))
    assert size(again) <= size(made), second

"""The rules that are functions: constants, sums of many terms, hoisting, duplicates."""

import numpy as np
import pytest
from passes_samples import assert_same_bits, context_of, positive, run, size, special

from hybridnet import passes, sym
from hybridnet.graph.structure import with_open_scalars
from hybridnet.graph.transform import STATE, prepare
from hybridnet.passes.constants import LIMIT

SHAPE = (3, 4)
x, y, z = sym.var("x"), sym.var("y"), sym.var("z")


def check(symbol, passes_, before, after, *, unsafe=False, dtype="float32", shapes=None, **kwargs):
    """Optimizes a symbol, counts its operators, compares its values; returns graph and report.

    Exact rules are compared at special values and to the bit, others where functions are tame.
    """
    graph = symbol.graph
    make = positive if unsafe else special
    arrays = {
        node.name: make((shapes or {}).get(node.name, SHAPE), dtype, seed)
        for seed, node in enumerate(graph.inputs)
    }
    context = context_of(graph, arrays, unsafe=unsafe, **kwargs)
    made, report = passes.optimize(graph, context, passes_.split())
    assert (size(graph), size(made)) == (before, after), made
    got, wanted = run(made, arrays), run(graph, arrays)
    if unsafe:
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-6)
    else:
        assert_same_bits(got, wanted, made)
    return made, report


def names(graph):
    return [node.call.name for node in graph.nodes if node.call is not None]


# -- constants -------------------------------------------------------------------------------


def test_shapes_are_constants():
    symbol = sym.Group([sym.shape_array(sym.exp(x)), sym.size_array(x)])
    made, report = check(symbol, "fold", 3, 2)
    assert names(made) == ["_literal", "_literal"]
    assert report.fired == {"shape": 1, "size": 1}


def test_a_subgraph_of_constants_is_one_constant():
    grid = sym.reshape(sym.arange(0, 12), shape=SHAPE) * 2 - 1
    symbol = x * sym.transpose(sym.reshape(sym.concat(grid, grid * -0.0, dim=0), shape=(8, 3)))
    made, report = check(symbol, "fold", 9, 2, shapes={"x": (3, 8)})
    assert names(made) == ["_literal", "elemwise_mul"]
    assert report.fired["constant"] == 7


def test_equal_elements_take_no_memory_however_many_they_are():
    shape = (1000, 2000)
    symbol = sym.transpose(sym.ones(shape) * 3 + sym.zeros(shape))
    context = passes.PassContext(())
    made, _ = passes.optimize(symbol.graph, context, ["fold"])
    assert names(made) == ["_literal"]
    assert made.nodes[0].call.attrs["value"] == "3.0"


def test_large_constants_stay_operators():
    symbol = sym.arange(0, LIMIT + 1) * 2
    made, _ = passes.optimize(symbol.graph, passes.PassContext(()), ["fold"])
    assert names(made) == ["_arange", "_mul_scalar"]


@pytest.mark.parametrize("tolerance", [0, 1e-5])
def test_other_functions_of_constants_are_computed_where_a_tolerance_allows(tolerance):
    symbol = sym.broadcast_add(x, sym.softmax(sym.exp(sym.arange(0, 4))))
    arrays = {"x": special(SHAPE, "float32", 0)}
    graph = symbol.graph
    context = context_of(graph, arrays, tolerance=tolerance)
    made, _ = passes.optimize(graph, context, ["fold"])
    assert (size(graph), size(made)) == (4, 4 if tolerance == 0 else 2)
    np.testing.assert_allclose(run(made, arrays)[0], run(graph, arrays)[0], rtol=1e-6)


def test_random_numbers_are_no_constants():
    graph = sym.random.uniform(0, 1, shape=(2,)).graph
    made, report = passes.optimize(graph, passes.PassContext(()))
    assert made is graph and not report.fired


def test_constants_side_by_side_are_joined_first():
    c, d = sym.arange(0, 4).reshape((1, 4)), sym.ones((2, 4))
    made, report = check(sym.concat(x, c, d, y, dim=0), "fold", 4, 2)
    assert names(made) == ["_literal", "Concat"]
    assert report.fired["join_constants"] == 1


# -- sums ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_value_added_to_itself(count, dtype):
    total = x
    for _ in range(count - 1):
        total = total + x
    made, report = check(total, "arithmetic", count - 1, 1, dtype=dtype)
    assert made.outputs[0].node.scalars == (float(count),)
    assert report.fired == {"repeated_term": 1}


def test_a_value_added_to_itself_in_any_order():
    twice = x + x
    check((x + x) + (x + x), "arithmetic", 3, 1)
    check(sym.add_n(x, x, x, x), "arithmetic", 1, 1)
    check(twice + twice, "arithmetic", 2, 1)


def test_five_terms_are_rounded_too_often_to_be_exact():
    total = x + x + x + x + x + x
    check(total, "arithmetic", 5, 5)
    check(total, "arithmetic", 5, 1, unsafe=True)
    check(total, "arithmetic", 5, 1, dtype="int32")


def test_what_one_value_is_multiplied_by_is_added():
    c = sym.reshape(sym.arange(0, 12), shape=SHAPE)
    total = x * 2 + y + c * x + x * 5 - sym.negative(x)
    _, report = check(total, "arithmetic", 10, 6, unsafe=True)
    assert report.fired["factors_of_sum_float"] == 1
    check(total, "arithmetic", 10, 9)
    c = sym.reshape(sym.arange(0, 12, dtype="int32"), shape=SHAPE)
    check(x * 2 + y + c * x + x * 5, "arithmetic", 8, 5, dtype="int32")


def test_small_terms_are_added_first():
    """(m1 + s1) + (m2 + s2): three additions of matrices become two, and one of rows."""
    s, t = sym.var("s"), sym.var("t")
    one, other = sym.broadcast_add(x, s), sym.broadcast_add(y, t)
    total = sym.broadcast_add(one, other)
    shapes = {"s": (1, 4), "t": (1, 4)}
    made, report = check(total, "arithmetic", 3, 3, unsafe=True, shapes=shapes)
    assert report.fired == {"small_terms_first_float": 1}
    sizes = [[one.shape for one in call] for call in _operand_types(made, shapes)]
    assert sizes.count([(1, 4), (1, 4)]) == 1 and len(sizes) == 3
    check(total, "arithmetic", 3, 3, shapes=shapes, dtype="int32")
    _, report = check(total, "arithmetic", 3, 3, shapes=shapes)
    assert not report.fired


def _operand_types(graph, shapes):
    context = context_of(
        graph, {n.name: positive(shapes.get(n.name, SHAPE), "float32", 0) for n in graph.inputs}
    )
    types = context.types(graph)
    return [
        [types[edge.node][edge.index] for edge in node.inputs]
        for node in graph.nodes
        if not node.is_variable
    ]


def test_a_sum_that_is_used_twice_is_not_taken_apart():
    total = x + x
    made, _ = check(sym.Group([total + y, total * y]), "arithmetic", 3, 3)
    assert "_mul_scalar" in names(made)


# -- hoisting --------------------------------------------------------------------------------


def test_a_function_of_every_part_is_one_of_the_whole():
    made, _ = check(sym.concat(sym.relu(x), sym.relu(y), sym.relu(z), dim=1), "arithmetic", 4, 2)
    assert names(made) == ["Concat", "relu"]
    check(sym.concat(x * 3, y * 3, dim=0), "arithmetic", 3, 2)
    check(sym.concat(x * 3, y * 4, dim=0), "arithmetic", 3, 3)
    check(sym.concat(sym.relu(x), sym.abs(y), dim=0), "arithmetic", 3, 3)
    shared = sym.relu(x)
    check(sym.Group([sym.concat(shared, sym.relu(y)), shared]), "arithmetic", 3, 3)


def test_a_common_factor_multiplies_the_sum():
    check(x * y + z * x, "arithmetic", 3, 2, unsafe=True)
    check(x / z + y / z, "arithmetic", 3, 2, unsafe=True)
    check(sym.negative(x) + sym.negative(y), "arithmetic", 3, 2, unsafe=True)
    check(x * y + z * x, "arithmetic", 3, 3)


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: sym.reshape(x, shape=(12,)),
        lambda x: sym.Flatten(x),
        lambda x: sym.expand_dims(x, axis=0),
        lambda x: sym.squeeze(sym.expand_dims(x, axis=1)),
    ],
)
def test_of_reshapes_the_last_is_enough(inner):
    symbol = inner(x)
    made, _ = check(sym.reshape(symbol, shape=(6, 2)), "arithmetic", size(symbol.graph) + 1, 1)
    assert names(made) == ["Reshape"]
    made, _ = check(sym.reshape(symbol, shape=SHAPE), "arithmetic", size(symbol.graph) + 1, 0)


# -- duplicates ------------------------------------------------------------------------------


def test_of_equal_subgraphs_one_is_left():
    symbol = sym.exp(x + y) * 2 + sym.exp(y + x) * 2
    _, report = check(symbol, "duplicates", 7, 4)
    assert report.fired == {"duplicate": 3}


def test_different_numbers_make_different_nodes():
    check(sym.Group([x * 0.0, x * -0.0, x * 1, x * 1]), "duplicates", 4, 3)
    nan = float("nan")
    check(sym.Group([x * nan, x * nan]), "duplicates", 2, 1)
    graph = with_open_scalars(sym.Group([x * 2, x * 2]).graph)
    made, _ = passes.optimize(graph, context_of(graph, {"x": special(SHAPE, "float32", 0)}))
    assert made is graph


def test_kept_duplicates_become_copies():
    one, other = sym.exp(x, name="one"), sym.exp(x, name="other")
    made, _ = check(one + other, "duplicates", 3, 3, keep=frozenset({"one", "other"}))
    assert [node.name for node in made.nodes][1:3] == ["one", "other"]
    assert names(made)[:2] == ["exp", "_copy"]


@pytest.mark.parametrize("train", [False, True])
def test_draws_and_moving_averages_are_never_merged(train):
    draws = sym.random.uniform(0, 1, shape=(2,)) + sym.random.uniform(0, 1, shape=(2,))
    ready = prepare(draws.graph, train)
    made, _ = passes.optimize(ready.graph, passes.PassContext((STATE,)))
    assert names(made).count(names(made)[0]) == 2
    params = [sym.var(name) for name in ("gamma", "beta", "mean", "var")]
    norms = [sym.BatchNorm(x, *params, name=name) for name in "ab"]
    ready = prepare((norms[0][0] + norms[1][0]).graph, train)
    types = [special((4,) if i else SHAPE, "float32", i) for i in range(5)]
    arrays = dict(zip([node.name for node in ready.graph.inputs], types, strict=True))
    made, _ = passes.optimize(ready.graph, context_of(ready.graph, arrays), ["duplicates"])
    assert names(made).count("BatchNorm") == (2 if train else 1)

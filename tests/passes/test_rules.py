"""Every rule that is an operator expression: it fires, it saves what it says, it changes nothing.

The graph before is made from the rule's own text, by Python and not by the rules' compiler, and
computed operator by operator, before and after.
"""

import numpy as np
import pytest
from passes_samples import (
    assert_same_bits,
    context_of,
    operators_in,
    positive,
    run,
    size,
    special,
    symbol_of,
)

from hybridnet import passes, sym
from hybridnet.passes.pattern import FAMILIES, compiled
from hybridnet.passes.rewrite import Rewriter, indexed

SHAPE = (12, 15)
RULES = {rule.name: rule for one in passes.pipeline for rule in one.rules if not rule.written}


def filled(value):
    return lambda dtype: sym.full(SHAPE, value, dtype=dtype)


def zeros(dtype):
    return sym.zeros(SHAPE, dtype=dtype)


def ones(dtype):
    return sym.ones(SHAPE, dtype=dtype)


def counted(dtype):
    return sym.reshape(sym.arange(0, SHAPE[0] * SHAPE[1], dtype=dtype), shape=SHAPE)


def each(names, **given):
    """Returns the same for several rules."""
    return dict.fromkeys(names.split(), given)


#: What names stand for where it is not any array of `SHAPE`: numbers, parameters, constants, which
#: are functions of the dtype, and shapes of variables.
GIVEN = {
    "join_of_one": {"d": 0},
    **each("cast_to_same amp_cast_to_same", t="same"),
    "make_loss_scaled": {"g": 2.0, "v": 0.5, "n": "batch"},
    "full_like": {"v": 2.5, "t": None},
    "reshape_like": {"a": None, "b": None, "c": None, "d": None, "y": (15, 12)},
    "broadcast_like": {"x": (12, 1), "a": None, "b": None},
    "slice_like": {"x": (13, 15), "a": ()},
    **each("times_ones over_ones", c=ones),
    **each("minus_zeros plus_zeros zeros_minus times_zeros", c=zeros),
    **each("plus_zeros_float zeros_minus_float times_zeros_float", c=zeros),
    **each("times_filled plus_filled minus_filled filled_minus", c=filled(3)),
    **each("over_filled filled_over", c=filled(3)),
    **each("constants_of_product constants_of_product_float", c=counted, d=filled(3)),
    **each("constants_of_sum constants_of_sum_float", c=counted, d=filled(3)),
    **each("constant_of_scaled constant_of_scaled_float", c=counted, a=3.0),
    **each("negative_of_scaled scaled_negative", a=2.7),
    **each("number_plus_negative number_minus_negative negative_of_number_minus", a=3.3),
    "scaled_twice": {"a": -4.0, "b": 2.0},
    "scaled_twice_whole": {"a": 3.0, "b": -5.0},
    "scaled_twice_float": {"a": 1.7, "b": 0.3},
    "plus_twice_whole": {"a": 3.0, "b": -5.0},
    "plus_twice_float": {"a": 1.7, "b": 0.3},
    "over_power_of_two": {"a": -8.0},
    "over_number_twice": {"a": 1.7, "b": 0.3},
    "transpose_to_same": {"p": (0, 1)},
    "transpose_of_ones": {"x": (1, 15), "p": ()},
    "transpose_twice": {"x": (4, 5, 9), "p": (2, 0, 1), "q": (0, 2, 1)},
    **each("swap_twice swap_back", a=0, b=1),
    "swap_of_same": {"a": 1},
    "reverse_twice": {"a": (0, 1)},
    "cast_twice": {"t": "float64", "u": "float16"},
    "broadcast_twice": {"x": (1, 1), "s": (12, 1), "t": SHAPE},
    "broadcast_to_same": {"s": SHAPE},
    "tile_once": {"r": (1, 1)},
    "whole_slice": {"a": 0, "b": 0, "e": None},
    "dot_of_transposed_left": {"p": (), "a": False, "b": False},
    "dot_of_transposed_right": {"p": (1, 0), "a": False, "b": False},
    "batch_dot_of_transposed_left": {
        "x": (3, 12, 15),
        "y": (3, 12, 15),
        "p": (0, 2, 1),
        "a": False,
        "b": False,
    },
    "batch_dot_of_transposed_right": {
        "x": (3, 2, 12, 15),
        "y": (3, 2, 12, 15),
        "p": (0, 1, 3, 2),
        "a": True,
        "b": True,
    },
}


def sample(rule, dtype, family=0, values=special):
    """Returns the graph of a rule's left side, arrays for it, and how many constants it has."""
    given, shapes = {}, {}
    for name, value in GIVEN.get(rule.name, {}).items():
        if isinstance(value, tuple) and name in ("x", "y"):
            shapes[name] = value
        else:
            given[name] = value(dtype) if callable(value) else dtype if value == "same" else value
    graph = symbol_of(rule.before, given, family).graph
    arrays = {
        node.name: values(shapes.get(node.name, SHAPE), dtype, seed)
        for seed, node in enumerate(graph.inputs)
    }
    return graph, arrays


def rewritten(rule, graph, arrays, **kwargs):
    context = context_of(graph, arrays, unsafe=not rule.exact, **kwargs)
    made = Rewriter(graph, context, indexed([compiled(rule)])).run()
    made.verify()
    return made, context.fired[rule.name]


def dtype_of(rule):
    return "int32" if ".integer" in rule.where or "whole(" in rule.where else "float32"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_it_fires_and_saves_what_it_says(rule):
    families = [len(FAMILIES[one]) for one in FAMILIES if f"{one}(" in rule.before]
    for family in range(max(families, default=1)):
        graph, arrays = sample(rule, dtype_of(rule), family)
        made, fired = rewritten(rule, graph, arrays)
        assert fired == 1, (family, graph)
        constants = size(graph) - operators_in(rule.before)
        assert 0 <= size(made) - operators_in(rule.after) <= constants


EXACT = [rule for rule in RULES.values() if rule.exact]


@pytest.mark.slow
@pytest.mark.parametrize("rule", EXACT, ids=[rule.name for rule in EXACT])
def test_exact_rules_leave_every_bit(rule):
    tried = 0
    for dtype in ("float32", "int32", "uint8"):
        try:
            graph, arrays = sample(rule, dtype)
            made, fired = rewritten(rule, graph, arrays)
        except Exception:
            if dtype == dtype_of(rule):
                raise
            continue  # the operators do not take it
        if fired:
            tried += 1
            assert_same_bits(run(made, arrays), run(graph, arrays), (dtype, made))
    assert tried


CLOSE = [rule for rule in RULES.values() if not rule.exact]


@pytest.mark.parametrize("rule", CLOSE, ids=[rule.name for rule in CLOSE])
def test_other_rules_are_close_where_functions_are_tame(rule):
    graph, arrays = sample(rule, "float32", values=positive)
    made, fired = rewritten(rule, graph, arrays)
    assert fired
    for got, wanted in zip(run(made, arrays), run(graph, arrays), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=2e-6)

"""The machinery of passes: rules as text, the rewriter's promises, the checks between passes."""

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import passes, sym
from hybridnet.base.errors import GraphError, InternalError, ParameterError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.node import Edge, Graph
from hybridnet.graph.transform import STATE, prepare
from hybridnet.passes.pattern import compiled
from hybridnet.passes.rewrite import Rewriter, indexed

X = tensor_type((2, 3), np.dtype("float32"))
x, y = sym.var("x"), sym.var("y")


def apply(rule, symbol, keep=(), unsafe=False, count=1):
    """Applies one rule to a symbol of variables of type X; returns the graph and the firings."""
    graph = symbol.graph
    context = passes.PassContext((X,) * len(graph.inputs), keep=frozenset(keep), unsafe=unsafe)
    made = Rewriter(graph, context, indexed([compiled(rule)])).run()
    made.verify()
    return made, context.fired[rule.name]


def ops(graph):
    return [node.call.name for node in graph.nodes if node.call is not None]


def test_an_operator_expression_is_matched_wherever_it_stands():
    rule = passes.Rule("negative_twice", "negative(negative(x))", "x")
    graph, fired = apply(rule, sym.exp(sym.negative(sym.negative(sym.negative(x)))))
    assert ops(graph) == ["negative", "exp"]
    assert fired == 1


def test_a_name_stands_for_one_value():
    rule = passes.Rule("difference", "elemwise_sub(x, x)", "zeros_like(x)")
    assert ops(apply(rule, x - x)[0]) == ["zeros_like"]
    assert ops(apply(rule, x - y)[0]) == ["elemwise_sub"]


def test_numbers_are_computed():
    rule = passes.Rule("scale", "_mul_scalar(_mul_scalar(x, a), b)", "_mul_scalar(x, a * b)")
    graph, fired = apply(rule, x * 2 * 3 * 5)
    assert [node.scalars for node in graph.nodes] == [(), (30.0,)]
    assert fired == 2


def test_literal_numbers_tell_minus_zero_from_zero():
    rule = passes.Rule("minus_zero", "_minus_scalar(x, 0.0)", "x")
    assert ops(apply(rule, x - 0.0)[0]) == []
    assert ops(apply(rule, x - -0.0)[0]) == ["_minus_scalar"]


def test_sums_are_tried_in_both_orders():
    rule = passes.Rule("less", "add(negative(x), y)", "sub(y, x)")
    for symbol in (sym.negative(x) + y, y + sym.negative(x)):
        graph, _ = apply(rule, symbol)
        assert ops(graph) == ["elemwise_sub"]
        assert [edge.node.name for edge in graph.nodes[-1].inputs] == ["y", "x"]


def test_families_choose_the_operator_by_the_shapes():
    rule = passes.Rule("less", "add(negative(x), y)", "sub(y, x)")
    symbol = sym.broadcast_add(sym.negative(x), y)
    assert ops(apply(rule, symbol)[0]) == ["elemwise_sub"]
    graph = symbol.graph
    context = passes.PassContext((X, tensor_type((1, 3), X.dtype)))
    made = Rewriter(graph, context, indexed([compiled(rule)])).run()
    assert ops(made) == ["broadcast_sub"]


def test_parameters_are_captured_and_defaults_are_required():
    rule = passes.Rule("reverse_twice", "reverse(reverse(x, axis=a), axis=a)", "x")
    once = sym.reverse(x, axis=1)
    assert ops(apply(rule, sym.reverse(once, axis=1))[0]) == []
    assert ops(apply(rule, sym.reverse(once, axis=0))[0]) == ["reverse", "reverse"]
    plain = passes.Rule("plain_sum", "sum(negative(x))", "negative(sum(x))")
    assert ops(apply(plain, sym.sum(sym.negative(x)))[0]) == ["sum", "negative"]
    assert ops(apply(plain, sym.sum(sym.negative(x), axis=1))[0]) == ["negative", "sum"]


def test_conditions_see_types():
    rule = passes.Rule("plus_zero", "_plus_scalar(x, 0.0)", "x", where="x.integer")
    assert ops(apply(rule, x + 0)[0]) == ["_plus_scalar"]


def test_a_replacement_of_another_type_is_refused():
    rule = passes.Rule("wrong", "sum(x)", "x")
    assert apply(rule, sym.sum(x))[1] == 0


def test_a_replacement_has_the_name_and_attributes_of_what_it_stands_for():
    rule = passes.Rule("scale", "_mul_scalar(_mul_scalar(x, a), b)", "_mul_scalar(x, a * b)")
    with hn.AttrScope(ctx_group="a"):
        graph, _ = apply(rule, (x * 2) * 3)
    made = graph.outputs[0].node
    assert dict(made.attrs) == {"__ctx_group__": "a"}
    assert sym.Symbol(graph.outputs).list_outputs()[0].endswith("_output")


def test_nodes_of_other_attributes_are_not_looked_through():
    rule = passes.Rule("negative_twice", "negative(negative(x))", "x")
    with hn.AttrScope(ctx_group="a"):
        inner = sym.negative(x)
    assert apply(rule, sym.negative(inner))[1] == 0


def test_kept_nodes_stay_under_their_names():
    rule = passes.Rule("negative_twice", "negative(negative(x))", "x")
    inner = sym.negative(x, name="inner")
    outer = sym.negative(inner, name="outer")
    graph, fired = apply(rule, sym.exp(outer), keep=["inner"])
    assert ops(graph) == ["negative", "negative", "exp"] and not fired
    graph, fired = apply(rule, sym.exp(outer), keep=["outer"])
    assert ops(graph) == ["_copy", "exp"] and fired == 1
    assert graph.nodes[1].name == "outer"


def test_unsafe_rules_are_off_unless_asked_for():
    rule = passes.Rule("square_root", "square(sqrt(x))", "x", exact=False)
    assert rule.unsafe
    context = passes.PassContext((X,))
    assert not context.allows(rule)
    assert passes.PassContext((X,), unsafe=True).allows(rule)
    close = passes.Rule("close", "x", "x", exact=False, tolerance=1e-6)
    assert context.allows(close) and not passes.PassContext((X,), tolerance=0).allows(close)


def test_rules_that_undo_one_another_are_a_bug():
    there = passes.Rule("there", "sin(x)", "cos(x)")
    back = passes.Rule("back", "cos(x)", "sin(x)")
    graph = sym.sin(x).graph
    rewriter = Rewriter(graph, passes.PassContext((X,)), indexed(map(compiled, (there, back))))
    with pytest.raises(InternalError, match="do not come to an end"):
        rewriter.run()


def test_a_rule_that_cannot_be_read_is_a_bug():
    with pytest.raises(InternalError, match="cannot read"):
        compiled(passes.Rule("broken", "negative(x", "x"))


def test_numbers_that_python_is_asked_for_are_no_constants():
    from hybridnet.graph.structure import with_open_scalars

    rule = passes.Rule("scale", "_mul_scalar(_mul_scalar(x, a), b)", "_mul_scalar(x, a * b)")
    graph = with_open_scalars((x * 2 * 3).graph)
    context = passes.PassContext((X,))
    assert Rewriter(graph, context, indexed([compiled(rule)])).run() is graph


# -- the pipeline ----------------------------------------------------------------------------


def optimized(symbol, **kwargs):
    graph = symbol.graph
    return passes.optimize(graph, passes.PassContext((X,) * len(graph.inputs), **kwargs))


def test_the_report_tells_what_was_done():
    _, report = optimized(sym.exp(sym.identity(sym.identity(x))))
    first = report.records[1]
    assert (first.name, first.before, first.after, first.fired) == ("prune", 3, 1, {"copy": 2})
    assert report.fired["copy"] == 2
    lines = str(report).splitlines()
    assert lines[0].split()[:2] == ["pass", "nodes"]
    assert "3 -> 1" in lines[2] and "copy x2" in lines[2]


def test_passes_are_chosen_by_name():
    symbol = sym.exp(sym.identity(x))
    context = passes.PassContext((X,))
    graph, report = passes.optimize(symbol.graph, context, ["dead"])
    assert ops(graph) == ["_copy", "exp"]
    assert [one.name for one in report.records] == ["dead"]
    with pytest.raises(ParameterError, match="passes must be names among attention"):
        passes.optimize(symbol.graph, context, ["prunes"])


def test_a_pass_that_breaks_a_graph_is_named():
    def lose_input(graph, context):
        return Graph((), graph.outputs)

    def change_type(graph, context):
        return Graph(graph.inputs, (Edge(sym.sum(x).edges[0].node, 0),))

    graph, context = sym.exp(x).graph, passes.PassContext((X,))
    with pytest.raises(GraphError, match="after pass 'lose': variable 'x' is not an input"):
        passes.optimize(graph, context, [passes.Pass("lose", lose_input)])
    with pytest.raises(GraphError, match=r"after pass 'change': output 0 must be float32\[2,3\]"):
        passes.optimize(graph, context, [passes.Pass("change", change_type)])


def test_types_must_fit_the_graph():
    with pytest.raises(ParameterError, match="a type for each of the graph's 1 inputs, got 0"):
        passes.optimize(sym.exp(x).graph, passes.PassContext(()))


# -- prune and dead --------------------------------------------------------------------------


def test_pruning_to_outputs_and_feeds():
    """x -> a -> b -> d;  y -> c -> d.  Given b, d needs y only; given d, nothing else."""
    a = sym.exp(x, name="a")
    b = sym.sin(a, name="b")
    c = sym.cos(y, name="c")
    d = sym.elemwise_add(b, c, name="d")
    graph = d.graph
    (only,) = (passes.pruned(graph, [b.edges[0]]),)
    assert [node.name for node in only.nodes] == ["x", "a", "b"]
    assert [node.name for node in only.inputs] == ["x"]
    fed = passes.pruned(graph, d.edges, [b.edges[0]])
    fed.verify()
    assert [node.name for node in fed.inputs] == ["y", "b"]
    assert ops(fed) == ["cos", "elemwise_add"]
    itself = passes.pruned(graph, d.edges, d.edges)
    assert ops(itself) == [] and [node.name for node in itself.inputs] == ["d"]
    given = passes.pruned(graph, [b.edges[0]], x.edges)
    assert given.inputs == (x.edges[0].node,)
    with pytest.raises(GraphError, match=r"'other' \(exp.*\) must be a node of the graph"):
        passes.pruned(graph, sym.exp(x, name="other").edges)


@pytest.mark.parametrize("train", [False, True])
def test_gradients_are_still_stopped_where_some_will_be_taken(train):
    graph, _ = optimized(sym.BlockGrad(sym.make_loss(x)), train=train)
    assert ops(graph) == (["make_loss", "BlockGrad"] if train else [])


def test_dropout_outside_training_hands_data_and_state_on():
    symbol = sym.Dropout(sym.Dropout(x), mode="always")
    for train, left in ((False, 1), (True, 2)):
        ready = prepare(symbol.graph, train)
        graph, _ = passes.optimize(ready.graph, passes.PassContext((X, STATE)))
        assert ops(graph) == ["Dropout"] * left


def test_of_a_split_only_the_part_that_is_used_is_cut_out():
    parts = sym.SliceChannel(x, num_outputs=3, axis=1)
    graph, report = optimized(parts[2])
    assert ops(graph) == ["slice_axis"]
    assert report.fired == {"part_of_split": 1}
    graph, _ = optimized(sym.Group([parts[0], parts[2]]))
    assert ops(graph) == ["SliceChannel"]
    squeezed = sym.SliceChannel(x, num_outputs=2, axis=0, squeeze_axis=True)[1]
    graph, _ = optimized(squeezed)
    assert ops(graph) == ["slice_axis", "squeeze"]

"""The gradient of a graph: that of the tape, and that of finite differences."""

from __future__ import annotations

import graph_programs as gp
import jax
import numpy as np
import pytest
from helpers import thorough
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridnet import autograd, nd
from hybridnet.base.errors import GraphError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.edge_handle import EdgeHandle
from hybridnet.graph.evaluate import evaluate, infer_types
from hybridnet.graph.gradient import REROUTED, backpropagate, gradients
from hybridnet.graph.gradient_rules import GradientRules
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.graph.split import differentiate, joint_gradient, narrowed
from hybridnet.ops.core.call import Call
from hybridnet.ops.core.registry import get

FLOAT64 = np.dtype(np.float64)
TYPE = tensor_type(gp.SHAPE, FLOAT64)


def run(graph, arrays):
    """Computes a graph with JAX in float64."""
    with jax.enable_x64(True):
        return [np.asarray(one) for one in evaluate(graph, "cpu", list(arrays))]


def numbers(seed, count):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=gp.SHAPE) for _ in range(count)]


def numeric(program, outputs, inputs, heads, step=1e-6):
    """Central differences of the sum of head * output."""
    stills = []
    gp.run_numpy(program, inputs, stills)
    grads = []
    for which in range(2):
        grad = np.zeros(gp.SHAPE)
        for index in np.ndindex(*gp.SHAPE):
            ends = []
            for sign in (1, -1):
                moved = [one.copy() for one in inputs]
                moved[which][index] += sign * step
                values = gp.run_numpy(program, moved, stills or [0])
                ends.append(sum((values[i] * h).sum() for i, h in zip(outputs, heads, strict=True)))
            grad[index] = (ends[0] - ends[1]) / (2 * step)
        grads.append(grad)
    return grads


def by_tape(program, outputs, inputs, heads):
    arrays = [nd.array(one, dtype="float64") for one in inputs]
    for one in arrays:
        one.attach_grad()
    with autograd.record():
        values = gp.run_arrays(program, arrays)
    heads = [nd.array(one, dtype="float64") for one in heads]
    autograd.backward([values[i] for i in outputs], heads)
    return [one.grad.asnumpy() for one in arrays]


def by_graph(program, outputs, inputs, heads):
    graph = gp.graph_of(program, outputs)
    types = infer_types(graph, [TYPE, TYPE])
    joint, numbers_ = joint_gradient(graph, (0, 1), tuple(range(len(outputs))), types)
    joint.verify()
    found = run(joint, [*inputs, *heads])
    return [np.zeros(gp.SHAPE) if one is None else found[one] for one in numbers_]


def split_in_two(program, outputs, inputs, heads, given):
    """Forward, then backward on what it kept."""
    graph = gp.graph_of(program, outputs)
    every = tuple(range(len(outputs)))
    split = differentiate(graph, (0, 1), every, infer_types(graph, [TYPE, TYPE]))
    forward = run(split.forward, inputs)
    if given != every:
        split = narrowed(split, given, infer_types(split.forward, [TYPE, TYPE]))
        assert split is not None
    split.forward.verify()
    split.backward.verify()
    kept = forward[len(forward) - split.num_residuals :]
    operands = [*kept, *(inputs[i] for i in split.uses), *(heads[i] for i in given)]
    found = run(split.backward, operands)
    return [np.zeros(gp.SHAPE) if one is None else found[one] for one in split.wanted]


def assert_close(got, wanted, tolerance=1e-9):
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@st.composite
def cases(draw):
    program = draw(gp.programs())
    last = len(program) + 1
    outputs = draw(st.lists(st.integers(2, last), min_size=1, max_size=3, unique=True))
    return program, outputs, draw(st.integers(0, 99))


def check(case):
    program, outputs, seed = case
    inputs, heads = numbers(seed, 2), numbers(seed + 1, len(outputs))
    graph = by_graph(program, outputs, inputs, heads)
    assert_close(graph, by_tape(program, outputs, inputs, heads))
    assert_close(graph, numeric(program, outputs, inputs, heads), 1e-5)
    every = tuple(range(len(outputs)))
    assert_close(split_in_two(program, outputs, inputs, heads, every), graph)
    for one in every if len(every) > 1 else ():
        alone = by_graph(program, [outputs[one]], inputs, [heads[one]])
        assert_close(split_in_two(program, outputs, inputs, heads, (one,)), alone)


@given(cases())
@settings(max_examples=15)
def test_random_graphs(case):
    check(case)


@pytest.mark.slow
@given(cases())
@settings(max_examples=thorough(150, 40))
def test_more_random_graphs(case):
    check(case)


@given(gp.programs(most=5), st.integers(0, 99))
@settings(max_examples=8)
def test_second_order_of_random_graphs(program, seed):
    """The gradient graph is a graph: its own gradient is that of the tape's walk, recorded."""
    inputs, (first, second) = numbers(seed, 2), numbers(seed + 1, 2)
    output = len(program) + 1
    graph = gp.graph_of(program, [output])
    types = infer_types(graph, [TYPE, TYPE])
    joint, found = joint_gradient(graph, (0, 1), (0,), types)
    if found[0] is None:
        return
    known = infer_types(joint, [TYPE] * 3)
    again, positions = joint_gradient(joint, (0, 1, 2), (found[0],), known)
    outs = run(again, [*inputs, first, second])
    got = [np.zeros(gp.SHAPE) if one is None else outs[one] for one in positions]

    arrays = [nd.array(one, dtype="float64") for one in (*inputs, first, second)]
    for one in arrays[:3]:
        one.attach_grad()
    with autograd.record():
        value = gp.run_arrays(program, arrays[:2])[output]
        (slope,) = autograd.grad(value, arrays[0], arrays[2], create_graph=True)
    slope.backward(arrays[3])
    assert_close(got, [one.grad.asnumpy() for one in arrays[:3]])


# -- single cases ----------------------------------------------------------------------------


def node(op, *inputs, **attrs):
    call, scalars = get(op).bind(attrs)
    edges = tuple(Edge(one, 0) if isinstance(one, Node) else one for one in inputs)
    return Node(call, edges, op, scalars)


def test_an_input_without_influence_has_no_gradient():
    """x -> sin -> out;  x -> sign -> z -> out2;  y is unused."""
    x, y = variable("x"), variable("y")
    graph = Graph((x, y), (Edge(node("sin", x), 0), Edge(node("sign", x), 0)))
    head = variable("head")
    first, second = gradients(graph, [x, y], {0: Edge(head, 0)})
    assert first is not None and second is None
    assert gradients(graph, [x, y], {1: Edge(head, 0)}) == [None, None]
    assert gradients(graph, [x], {}) == [None]


def test_an_input_that_is_an_output():
    x = variable("x")
    head = variable("head")
    graph = Graph((x,), (Edge(x, 0), Edge(x, 0)))
    (found,) = gradients(graph, [x], {0: Edge(head, 0)})
    assert found == Edge(head, 0)
    other = variable("other")
    (found,) = gradients(graph, [x], {0: Edge(head, 0), 1: Edge(other, 0)})
    assert run(Graph((head, other), (found,)), [np.float64(2), np.float64(3)]) == [5]


def test_only_what_leads_to_wanted_inputs_is_differentiated():
    """exp(x) is a factor of the gradient by y, and its own gradient is not asked for."""
    x, y = variable("x"), variable("y")
    graph = Graph((x, y), (Edge(node("broadcast_mul", node("exp", x), y), 0),))
    head = variable("head")
    (found,) = gradients(
        graph, [y], {0: Edge(head, 0)}, infer_types(graph, [TYPE, TYPE]) | {head: (TYPE,)}
    )
    names = {one.call.name for one in Graph((), (found,)).nodes if one.call}
    assert "exp" in names and "_backward_exp" not in names


def test_rerouted_gives_the_gradient_to_its_second_input():
    x, y = variable("x"), variable("y")
    made = Node(REROUTED, (Edge(x, 0), Edge(y, 0)), "rerouted")
    graph = Graph((x, y), (Edge(node("square", made), 0),))
    joint, found = joint_gradient(graph, (0, 1), (0,), infer_types(graph, [TYPE, TYPE]))
    assert found == (None, 0)
    x_, y_, head = numbers(0, 3)
    np.testing.assert_allclose(run(graph, [x_, y_])[0], x_ * x_)
    np.testing.assert_allclose(run(joint, [x_, y_, head])[0], 2 * x_ * head)


def test_a_gradient_is_cast_to_the_dtype_of_its_input():
    """Through a rule whose gradient is float64 although the input is float32."""

    class Widening(Call):
        def __init__(self, shape):
            self.num_outputs = self.num_visible = 1
            self.num_scalars = 0
            self.takes_state = False
            self.shape = shape

        name = "widening"

        def infer(self, types):
            return types

        def lower(self, platform, operands, scalars):
            return operands

        def gradient(self, back):
            cast, _ = get("Cast").bind({"dtype": "float64"})
            (grad,) = back.apply(cast, [back.grads[0]])
            if self.shape is not None:
                call, _ = get("Reshape").bind({"shape": self.shape})
                (grad,) = back.apply(call, [grad])
            return [grad]

    x = variable("x")
    kind = tensor_type((2, 3), np.dtype(np.float32))
    for shape in (None, (3, 2)):
        graph = Graph((x,), (Edge(Node(Widening(shape), (Edge(x, 0),), "wide"), 0),))
        if shape is None:
            joint, _ = joint_gradient(graph, (0,), (0,), infer_types(graph, [kind]))
            types = infer_types(joint, [kind, kind])
            edge = joint.outputs[0]
            assert types[edge.node][edge.index] is kind
        else:
            with pytest.raises(ShapeError, match=r"at node 'wide' .* shape \(2, 3\) .* \(3, 2\)"):
                joint_gradient(graph, (0,), (0,), infer_types(graph, [kind]))


def test_handles_know_their_types():
    x = variable("x")
    handle = EdgeHandle(Edge(x, 0), {x: (TYPE,)})
    made = (handle + 1).sum(axis=1)
    assert made.shape == (2,)
    assert made.inferred_dtype == FLOAT64
    assert EdgeHandle(Edge(x, 0), None).inferred_dtype is None


def test_residuals_are_kept_once_and_inputs_not_at_all():
    """tanh's gradient needs its output, square's its input: the input is no residual."""
    x = variable("x")
    t = node("tanh", node("square", x))
    graph = Graph((x,), (Edge(node("broadcast_mul", t, t), 0),))
    split = differentiate(graph, (0,), (0,), infer_types(graph, [TYPE]))
    kept = split.forward.outputs[1:]
    assert len(set(kept)) == len(kept) == split.num_residuals
    assert all(edge.node.call is not None for edge in kept)
    assert split.uses == (0,)
    assert not set(split.backward.nodes) & set(split.forward.nodes) - {x}


WRONG_ANSWERS = {
    "must return a list of 1 edges or None": lambda graph, *_: None,
    "one for each wanted variable, got \\[\\]": lambda graph, *_: [],
    "must return edges or None, got 3": lambda graph, *_: [3],
    "a gradient of 'x' of its type float64": lambda graph, *_: [Edge(graph.nodes[-1], 0)],
}


@pytest.mark.parametrize("said", WRONG_ANSWERS)
def test_a_wrong_walk_back_is_refused(said):
    x = variable("x")
    call, scalars = get("mean").bind({})
    graph = Graph((x,), (Edge(Node(call, (Edge(x, 0),), "mean", scalars), 0),))
    with backpropagate.replaced_by(WRONG_ANSWERS[said]), pytest.raises(GraphError, match=said):
        joint_gradient(graph, (0,), (0,), infer_types(graph, [TYPE]))


def test_wrong_questions_of_a_walk_back_are_refused():
    x, g = variable("x"), Edge(variable("g"), 0)
    node = Node(get("exp").bind({})[0], (Edge(x, 0),), "y")
    rules = GradientRules(Graph((x,), (Edge(node, 0),)), (0,))
    stop = Node(get("BlockGrad").bind({})[0], (Edge(x, 0),), "s")
    for said, ask in {
        "needs a node that computes something, got 'x'": lambda: rules.backward(x, [g], [True]),
        "'s' .* has no gradient: stopping": lambda: rules.backward(stop, [g], [True]),
        "'y' .* has 1 outputs .* got 2": lambda: rules.backward(node, [g, g], [True]),
        "must be edges or None, got 1": lambda: rules.backward(node, [1], [True]),
        "'y' .* has 1 inputs .* got 0": lambda: rules.backward(node, [g], []),
        "add: needs edges, got None": lambda: rules.add(Edge(node, 0), g, None),
    }.items():
        with pytest.raises(GraphError, match=said):
            ask()
    assert rules.backward(node, [None], [True]) == [None]
    assert not rules.begins(node)

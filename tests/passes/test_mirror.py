"""Recomputation in training: the same gradients from less that is kept."""

from __future__ import annotations

import graph_programs as gp
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traced import hurried_jit

import hybridnet as hn
from hybridnet import autograd, nd, sym
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.evaluate import evaluate, infer_types
from hybridnet.graph.gate import gate, is_gate
from hybridnet.graph.node import Graph
from hybridnet.graph.recompute import recomputed, renarrowed
from hybridnet.graph.split import differentiate, joined
from hybridnet.passes.mirror import mirror
from hybridnet.runtime.graphs.graph_call import GraphCall

pytestmark = pytest.mark.optimized

TYPE = tensor_type(gp.SHAPE, np.dtype(np.float64))
SWITCH = "MXNET_BACKWARD_DO_MIRROR"


def run(graph, arrays):
    """Computes a graph node by node in float64."""
    with jax.enable_x64(True):
        return [np.asarray(one) for one in evaluate(graph, "cpu", list(arrays))]


def gradients(split, inputs, heads):
    """Runs forward, and backward on what it kept."""
    made = run(split.forward, inputs)
    kept = made[len(made) - split.num_residuals :]
    found = run(split.backward, [*kept, *(inputs[i] for i in split.uses), *heads])
    return [None if number is None else found[number] for number in split.wanted]


def assert_equal(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@st.composite
def cases(draw):
    program = draw(gp.programs(most=8))
    last = len(program) + 1
    outputs = draw(st.lists(st.integers(2, last), min_size=1, max_size=3, unique=True))
    given = draw(st.lists(st.sampled_from(range(len(outputs))), min_size=1, unique=True))
    cuts = draw(st.lists(st.integers(0, last), max_size=4))
    left_out = draw(st.sets(st.integers(0, last), max_size=2))
    return program, outputs, sorted(given), cuts, left_out


@pytest.mark.slow
@given(cases())
@settings(max_examples=40, deadline=None)
def test_any_segments_give_the_gradients_of_keeping_everything(case):
    program, outputs, given_, cuts, left_out = case
    graph = gp.graph_of(program, outputs)
    every = tuple(range(len(outputs)))
    split = differentiate(graph, (0, 1), every, infer_types(graph, [TYPE, TYPE]))
    nodes = [node for node in graph.nodes if not node.is_variable]
    segments = {
        node: sum(cut < i for cut in cuts) for i, node in enumerate(nodes) if i not in left_out
    }
    again = recomputed(split, segments)
    again.forward.verify()
    again.backward.verify()
    joined(again).verify()
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=gp.SHAPE) for _ in range(2)]
    heads = [rng.normal(size=gp.SHAPE) for _ in outputs]
    wanted = gradients(split, inputs, heads)
    assert_equal(gradients(again, inputs, heads), wanted)
    whole = run(joined(again), [*inputs, *heads])[len(outputs) :]
    assert_equal([None if i is None else whole[i] for i in again.wanted], wanted)
    fewer = renarrowed(again, given_, infer_types(split.forward, [TYPE, TYPE]))
    plain = renarrowed(split, given_, infer_types(split.forward, [TYPE, TYPE]))
    assert (fewer is None) <= (plain is None)
    if fewer is not None:
        some = [heads[i] for i in given_]
        assert fewer.num_residuals == again.num_residuals
        assert_equal(gradients(fewer, inputs, some), gradients(plain, inputs, some))


def chain(length):
    """x -> tanh -> tanh -> ..., split for training."""
    program = [("tanh", (0,)), *(("tanh", (i,)) for i in range(2, length + 1))]
    graph = gp.graph_of(program, [length + 1])
    return differentiate(graph, (0,), (0,), infer_types(graph, [TYPE, TYPE]))


@pytest.mark.parametrize("length", [16, 100, 400])
def test_a_chain_keeps_about_twice_the_root_of_its_length(length):
    split = chain(length)
    again = mirror(split, (TYPE, TYPE))
    assert split.num_residuals == length
    segment = max(list(again.segments.values()).count(i) for i in again.segments.values())
    # Each segment hands on one value, and the last one keeps its own.
    assert again.num_residuals <= 2.3 * length**0.5
    assert again.num_residuals + segment <= 3.3 * length**0.5


def test_a_gate_comes_after_the_gradient_that_its_segment_meets():
    """In the backward graph each gate but the first depends on the gate before it."""
    again = mirror(chain(100), (TYPE, TYPE))
    before = {}
    for node in again.backward.nodes:
        above = {gate for edge in node.inputs for gate in before[edge.node]}
        before[node] = above | ({node} if node.call is not None and is_gate(node.call) else set())
    gates = [node for node in again.backward.nodes if node in before[node]]
    assert len(gates) == len(set(again.segments.values()))
    assert sorted(len(before[one]) for one in gates) == list(range(1, len(gates) + 1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64", "bool"])
def test_a_gate_passes_every_bit(dtype):
    values = np.array([0, 1, -1, 5, 100]).astype(dtype)
    if dtype.startswith("float"):
        values[1:4] = [np.nan, np.inf, -0.0]
    call = gate(1)
    for waiting in (values, values[::-1].copy(), np.zeros((3, 0), "f4")):
        with jax.enable_x64(True):
            (passed,) = hurried_jit(lambda *x: tuple(call.lower("cpu", x, ())))(values, waiting)
        assert np.asarray(passed).tobytes() == values.tobytes()


def residual(layers, width, **attrs):
    x = sym.var("data")
    for number in range(layers):
        y = sym.FullyConnected(x, num_hidden=width, name=f"fc{number}")
        x = x + 0.1 * sym.Activation(y, act_type="relu", name=f"relu{number}")
    return sym.mean(sym.square(x), name="loss")


def estimate(net, strategy="both", batch=256, width=16):
    shapes = {"data": (batch, width)}
    requests = {name: "null" if name == "data" else "write" for name in net.list_arguments()}
    return net.estimate_memory(True, strategy, grad_req=requests, **shapes)


@pytest.mark.slow
def test_xla_needs_as_little_as_is_planned(monkeypatch):
    """It does not merge what is computed again with what was computed first."""
    net = residual(36, 16)
    plain, planned_plain = estimate(net, "xla").internal, estimate(net).internal
    monkeypatch.setenv(SWITCH, "1")
    again, planned = estimate(net, "xla").internal, estimate(net).internal
    assert again < 0.4 * plain
    assert planned < 0.4 * planned_plain
    assert again < 1.3 * planned


def test_a_thousand_layers_are_planned_in_a_sixth(monkeypatch):
    net = residual(1000, 16)
    plain = estimate(net).total
    monkeypatch.setenv(SWITCH, "1")
    assert estimate(net).total < plain / 6


# -- all that runs graphs --------------------------------------------------------------------------


def network():
    """Convolution, batch normalization and dropout, twice, and a dense layer."""
    x = sym.var("data")
    for number in range(4):
        x = sym.Convolution(x, num_filter=4, kernel=(3, 3), pad=(1, 1), name=f"conv{number}")
        x = sym.BatchNorm(x, fix_gamma=False, name=f"bn{number}")
        x = sym.Activation(x, act_type="relu", name=f"relu{number}")
        x = sym.Dropout(x, p=0.3, name=f"drop{number}")
    x = sym.FullyConnected(x, num_hidden=3, name="fc")
    return sym.SoftmaxOutput(x, name="softmax")


def trained(net, steps=2):
    """Returns outputs, gradients and auxiliary states after some passes."""
    requests = {name: "write" for name in net.list_arguments() if "label" not in name}
    executor = net.simple_bind(hn.cpu(), requests, data=(2, 3, 6, 6))
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = rng.integers(0, 3, 2) if "label" in name else rng.normal(size=array.shape)
    hn.random.seed(1)
    for _ in range(steps):
        executor.forward(is_train=True)
        executor.backward()
    made = [*executor.outputs, *(one for one in executor.grad_arrays if one is not None)]
    kept = executor._run(True).call.split.num_residuals
    return [one.asnumpy() for one in (*made, *executor.aux_arrays)], kept


def assert_near(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_bound_symbol_draws_and_updates_once(monkeypatch):
    wanted, kept = trained(network())
    monkeypatch.setenv(SWITCH, "1")
    found, fewer = trained(network())
    assert fewer < kept
    assert_near(found, wanted)


class Layers(hn.gluon.HybridBlock):
    def __init__(self, count):
        super().__init__()
        with self.name_scope():
            self.layers = [hn.gluon.nn.Dense(6, activation="tanh") for _ in range(count)]
            for number, one in enumerate(self.layers):
                self.register_child(one, str(number))

    def hybrid_forward(self, F, x):
        for one in self.layers:
            x = x + one(x)
        return x


def test_a_hybridized_block_honors_the_switch(monkeypatch):
    def gradients_of(switch):
        monkeypatch.setenv(SWITCH, switch)
        hn.random.seed(3)
        block = Layers(12)
        block.initialize(hn.init.Xavier())
        block.hybridize()
        x = nd.array(np.random.default_rng(0).normal(size=(5, 6)))
        x.attach_grad()
        for _ in range(2):
            with autograd.record():
                y = (block(x) ** 2).sum()
            y.backward()
        return [
            x.grad.asnumpy(),
            *(one.grad().asnumpy() for one in block.collect_params().values()),
        ]

    kept = []
    training = GraphCall.training

    def watched(self, wanted):
        made = training(self, wanted)
        kept.append(made.split.num_residuals)
        return made

    monkeypatch.setattr(GraphCall, "training", watched)
    wanted = gradients_of("0")
    most = max(kept)
    kept.clear()
    assert_near(gradients_of("1"), wanted)
    assert max(kept) < most


def test_a_function_of_two_results_and_its_second_gradient(monkeypatch):
    def values(switch):
        monkeypatch.setenv(SWITCH, switch)

        @hn.function
        def f(x):
            y = x
            for _ in range(9):
                x = nd.tanh(x * 1.1)
                y = nd.sin(y) * x
            return x, y

        x = nd.array([[0.3, -0.7, 1.5]])
        x.attach_grad()
        with autograd.record():
            both = f(x)
        both[1].backward()  # the gradient of one of the two
        found = [x.grad.asnumpy()]
        with autograd.record():
            first, second = f(x)
            (slope,) = autograd.grad([first + second], [x], create_graph=True)
            steep = slope.sum()
        steep.backward()
        return [*found, slope.asnumpy(), x.grad.asnumpy()]

    assert_near(values("1"), values("0"))


def test_nodes_ask_for_it_by_an_attribute():
    """conv (kept) -> relu (again) -> conv (kept) -> relu (again) -> dot."""

    def kept_by(**attrs):
        x = sym.var("data")
        for number in range(2):
            x = sym.FullyConnected(x, num_hidden=4, no_bias=True, name=f"fc{number}")
            with hn.AttrScope(**attrs):
                x = sym.square(x, name=f"square{number}")
        net = sym.FullyConnected(x, num_hidden=4, no_bias=True, name="last")
        executor = net.simple_bind(hn.cpu(), data=(3, 4))
        rng = np.random.default_rng(0)
        for one in executor.arg_arrays:
            one[:] = rng.normal(size=one.shape)
        executor.forward(is_train=True)
        executor.backward()
        split = executor._run(True).call.split
        forward = split.forward.outputs[1:]
        names = {edge.node.name for edge in forward}
        return names, [one.asnumpy() for one in executor.grad_arrays]

    names, wanted = kept_by()
    assert names == {"fc0", "square0", "fc1", "square1"}
    names, found = kept_by(force_mirroring="True")
    assert names == {"fc0", "fc1"}
    assert_near(found, wanted)


def stages(net):
    """Returns the names of the nodes where segments end."""
    graph = net.graph
    types = [
        tensor_type((64, 16) if one.name == "data" else (16, 16), TYPE.dtype)
        for one in graph.inputs
    ]
    wanted = range(1, len(types))
    found = differentiate(graph, tuple(wanted), (0,), infer_types(graph, types))
    again = mirror(found, tuple(types))
    nodes = [node for node in again.forward.nodes if node in again.segments]
    return [
        a.name
        for a, b in zip(nodes, [*nodes[1:], None], strict=True)
        if b is None or again.segments[a] != again.segments[b]
    ]


def test_segments_end_where_the_user_says():
    x = sym.var("data")
    for number in range(30):
        x = sym.FullyConnected(x, num_hidden=16, no_bias=True, name=f"fc{number}")
        x = sym.tanh(x, name=f"tanh{number}")
        if number in (7, 11, 19):
            x._set_attr(mirror_stage="True")
    assert set(stages(x)) <= {"tanh7", "tanh11", "tanh19"}
    assert len(stages(x)) >= 2


def test_nodes_of_one_name_are_a_segment():
    """Wherever they stand, and beside others; only what passes from one to another is kept."""
    x = sym.var("data")
    for number in range(6):
        with hn.AttrScope(force_mirroring="True", mirror_stage=f"layer{number // 2}"):
            x = sym.FullyConnected(x, num_hidden=4, no_bias=True, name=f"fc{number}")
            x = sym.square(x, name=f"square{number}")
    executor = x.simple_bind(hn.cpu(), data=(3, 4))
    split = executor._run(True).call.split
    assert {edge.node.name for edge in split.residuals} == {"square1", "square3"}
    assert len({*split.segments.values()}) == 3


def test_what_is_forbidden_is_kept(monkeypatch):
    monkeypatch.setenv(SWITCH, "1")
    with hn.AttrScope(force_mirroring="False"):
        net = residual(16, 4)
    executor = net.simple_bind(hn.cpu(), data=(8, 4))
    split = executor._run(True).call.split
    assert not any(node.call is not None and is_gate(node.call) for node in split.backward.nodes)


def test_attributes_tell_graphs_of_one_structure_apart():
    """Calls are shared by structure, and these two run differently."""
    plain, asked = (
        sym.square(sym.tanh(sym.var("x"), name="tanh", attr=attr))
        for attr in ({}, {"force_mirroring": "True"})
    )
    kept = [
        one.simple_bind(hn.cpu(), x=(2, 3))._run(True).call.split.num_residuals
        for one in (plain, asked)
    ]
    assert kept == [1, 0]


def test_host_operators_run_once(monkeypatch):
    runs = []

    class Doubled(hn.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            runs.append(1)
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @hn.operator.register("doubled_once")
    class _Doubled(hn.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Doubled()

    monkeypatch.setenv(SWITCH, "1")
    x = sym.var("x")
    for number in range(12):
        x = sym.tanh(x)
        if number == 4:
            x = sym.Custom(x, op_type="doubled_once")
    executor = x.simple_bind(hn.cpu(), x=(2, 3))
    executor.forward(is_train=True)
    executor.backward()
    executor.grad_arrays[0].wait_to_read()
    assert len(runs) == 1


def test_the_switch_is_0_or_1(monkeypatch):
    monkeypatch.setenv(SWITCH, "yes")
    with pytest.raises(ParameterError, match=f"{SWITCH} must be 0 or 1, got 'yes'"):
        estimate(residual(1, 4), width=4)


def test_nothing_changes_where_nothing_is_won():
    split = chain(2)
    assert mirror(split, (TYPE, TYPE)) is split
    graph = Graph((), ())
    none = differentiate(graph, (), ())
    assert mirror(none, ()) is none

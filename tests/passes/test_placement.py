"""Where nodes run: names, scopes, groups, kernels and costs; and that placed symbols train."""

from __future__ import annotations

import logging
import re
import threading

import graph_programs as gp
import numpy as np
import pytest
from helpers import run_script, thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from simulated import Simulated, running_on, simulated

import hybridnet as hn
from hybridnet import engine, nd, operator, profiler, sym
from hybridnet.base.device_name import DEVICE, DeviceName
from hybridnet.base.device_scope import current_device
from hybridnet.base.errors import GraphError, MXNetError, OpError, ParameterError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.evaluate import infer_types
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.core.registry import get
from hybridnet.passes.cost import CostModel, DeviceCost, LinkCost, operations
from hybridnet.passes.earliest_finish import Plan, earliest_finish
from hybridnet.passes.place import DeviceSite, place
from hybridnet.runtime.devices import calibrate

CPUS = [hn.cpu(0), hn.cpu(1)]
SITES = [DeviceSite(DeviceName("localhost", 0, 0, "cpu", index)) for index in (0, 1)]
ONE, TWO = (str(site.name) for site in SITES)


def here(pattern):
    """A pattern for messages that name a line of this file."""
    return pattern.replace("LINE", r"[^ ]*test_placement\.py:\d+")


# -- names and scopes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("/job:worker/replica:0/task:3/device:gpu:1", "/job:worker/replica:0/task:3/device:gpu:1"),
        ("/device:CPU:0", "/device:cpu:0"),
        ("/cpu:1", "/device:cpu:1"),
        ("/task:3/job:ps", "/job:ps/task:3"),
        ("/device:gpu", "/device:gpu"),
        ("/device:gpu:*", "/device:gpu"),
        ("/device:*:2", "/device:*:2"),
        ("", ""),
    ],
)
def test_names_have_one_form(text, canonical):
    assert str(DeviceName.parse(text)) == canonical
    assert DeviceName.parse(canonical) == DeviceName.parse(text)


@pytest.mark.parametrize(
    "text", ["cpu:0", "/job:", "/task:x", "/cpu:0/gpu:1", "/device:cpu:0x", "/"]
)
def test_what_is_no_name_is_refused(text):
    with pytest.raises(ParameterError, match=re.escape(repr(text))):
        hn.device(text)


parts = st.builds(
    DeviceName,
    st.none() | st.sampled_from(["ps", "worker"]),
    st.none() | st.integers(0, 1),
    st.none() | st.integers(0, 3),
    st.none() | st.sampled_from(["cpu", "gpu"]),
    st.none() | st.integers(0, 2),
)


@given(parts, parts)
def test_names_read_back_and_merge(outer, inner):
    assert DeviceName.parse(str(outer)) == outer
    merged = outer.merged(inner)
    assert inner.covers(merged)
    for part in ("job", "replica", "task", "type"):
        assert getattr(merged, part) in (getattr(inner, part), getattr(outer, part))
    assert outer.merged(DeviceName()) == outer == outer.merged(outer)
    if outer.covers(merged) and inner.index is not None:
        assert merged.index == inner.index


def test_scopes_add_up_and_the_inner_one_wins():
    assert current_device() == ""
    with hn.device("/job:ps/cpu:1"):
        assert current_device() == "/job:ps/device:cpu:1"
        with hn.device("/task:2"):
            assert current_device() == "/job:ps/task:2/device:cpu:1"
        with hn.device("/device:gpu"):
            assert current_device() == "/job:ps/device:gpu"
        with hn.cpu(0):
            assert current_device() == "/job:ps/device:cpu:0"
            with hn.device(hn.gpu(3)):
                assert current_device() == "/job:ps/device:gpu:3"
                assert hn.current_context() is hn.cpu(0)
        with hn.device(None):
            assert current_device() == ""
    assert current_device() == ""


def test_scopes_mark_nodes_variables_and_files():
    with hn.device("/cpu:1"):
        x = sym.var("x")
        y = sym.FullyConnected(x, num_hidden=3, name="fc")
    attrs = y.attr_dict()
    assert {attrs[name][DEVICE] for name in ("x", "fc", "fc_weight")} == {"/device:cpu:1"}
    assert sym.load_json(y.tojson()).attr_dict()["fc"][DEVICE] == "/device:cpu:1"
    assert DEVICE not in sym.var("z").attr_dict().get("z", {})
    own = sym.var("v", attr={DEVICE: "/cpu:0"})
    assert own.attr(DEVICE) == "/cpu:0"


# -- the placer ------------------------------------------------------------------------------


def node(op, *inputs, name=None, attrs=None, **params):
    call, scalars = get(op).bind(params, True)
    edges = tuple(Edge(one, 0) if isinstance(one, Node) else one for one in inputs)
    return Node(call, edges, name or op, scalars, attrs or {})


def on(device):
    return {DEVICE: device}


def test_wishes_groups_and_the_default():
    x = variable("x")
    a = node("sin", x, name="a", attrs=on("/cpu:1"))
    b = node("cos", a, name="b", attrs={"__ctx_group__": "g"})
    c = node("tanh", b, name="c", attrs={"__ctx_group__": "other"})
    # Its own device wins over that of its group.
    d = node("exp", c, name="d", attrs={"__ctx_group__": "g", **on("/job:worker/task:0/cpu:0")})
    graph = Graph((x,), (Edge(d, 0),))
    found = place(graph, SITES, default=ONE, groups={"g": DeviceName.parse("/cpu:1")})
    assert [found.devices[one] for one in (x, a, b, c, d)] == [ONE, TWO, TWO, ONE, ONE]
    assert found.used == (ONE, TWO) and found.seconds is None


def test_nodes_that_must_be_together_are():
    x = variable("x")
    a = node("sin", x, name="a", attrs=on("/cpu:1"))
    b = node("cos", x, name="b", attrs={"__colocate__": "a"})
    c = node("tanh", b, name="c", attrs={"__colocate__": "b"})
    graph = Graph((x,), (Edge(a, 0), Edge(c, 0)))
    found = place(graph, SITES, default=ONE)
    assert [found.devices[one] for one in (a, b, c)] == [TWO] * 3
    apart = node("exp", x, name="e", attrs={"__colocate__": "a", **on("/cpu:0")})
    with pytest.raises(GraphError, match="must be together ask for different devices: 'a'.*'e'"):
        place(Graph((x,), (Edge(a, 0), Edge(apart, 0))), SITES, default=ONE)
    lost = node("exp", x, name="e", attrs={"__colocate__": "z"})
    with pytest.raises(GraphError, match=r"node 'e' \(exp\) is to be with 'z': no such node"):
        place(Graph((x,), (Edge(lost, 0),)), SITES, default=ONE)


def test_states_are_with_the_node_that_overwrites_them():
    bn = sym.BatchNorm(sym.var("x"), name="bn", attr={DEVICE: "/cpu:1"})
    graph = bn.graph
    found = place(graph, SITES, default=ONE)
    where = {one.name: device for one, device in found.devices.items()}
    assert where["bn_moving_mean"] == where["bn_moving_var"] == where["bn"] == TWO
    assert where["x"] == ONE


def test_a_device_without_the_kernel_is_passed_over():
    x = variable("x")
    a, b = node("sin", x, name="a"), node("cos", x, name="b", attrs=on("/cpu:0"))
    sites = [DeviceSite(SITES[0].name, lambda call: call.name not in ("sin", "cos")), SITES[1]]
    assert place(Graph((x,), (Edge(a, 0),)), sites, default=ONE).devices[a] == TWO
    with pytest.raises(GraphError, match=r"node 'b' \(cos\) has no kernel on /device:cpu:0"):
        place(Graph((x,), (Edge(b, 0),)), sites, default=ONE)
    nowhere = [DeviceSite(SITES[0].name, lambda call: False)]
    with pytest.raises(GraphError, match=r"node 'a' \(sin\) has no kernel .* one: none"):
        place(Graph((x,), (Edge(a, 0),)), nowhere, default=ONE, soft=True)


def test_soft_placement_says_what_it_does(caplog):
    x = variable("x")
    a = node("sin", x, name="a", attrs=on("/device:gpu:5"))
    graph = Graph((x,), (Edge(a, 0),))
    with pytest.raises(GraphError, match=r"node 'a' \(sin\) asks for the unknown .*gpu:5; there"):
        place(graph, SITES, default=ONE)
    with caplog.at_level(logging.WARNING, "hybridnet.placement"):
        assert place(graph, SITES, default=TWO, soft=True).devices[a] == TWO
    assert [one.message for one in caplog.records] == [
        "place: node 'a' (sin) asks for the unknown device /device:gpu:5; there are "
        f"{ONE}, {TWO}; placed elsewhere"
    ]


# -- costs -----------------------------------------------------------------------------------

KIND = tensor_type((64, 64), np.dtype(np.float32))
PRODUCT = 2.0 * 64**3  # operations of one product


def products(count, start):
    """A chain of products of a matrix with itself."""
    for number in range(count):
        start = node("dot", start, start, name=f"{start.name}{number}")
    return start


def model(speeds=(1.0, 1.0), latency=0.0, bandwidth=1e30):
    """Devices that take ``1 / speed`` seconds for a product, and a link between them."""
    devices = {
        name: DeviceCost(flops=PRODUCT * speed, bandwidth=1e30, latency=0.0)
        for name, speed in zip((ONE, TWO), speeds, strict=True)
    }
    return CostModel(devices, other_links=LinkCost(bandwidth, latency))


def greedy(graph, costs, **options):
    types = infer_types(graph, [KIND] * len(graph.inputs))
    return place(graph, SITES, types=types, costs=costs, **options)


def test_operations_are_counted_by_the_registry():
    dot, x = get("dot").bind({})[0], node("relu", variable("x")).call
    assert operations(dot, (KIND, KIND), (KIND,)) == PRODUCT
    assert operations(x, (KIND,), (KIND,)) == KIND.size


def test_two_branches_go_to_two_devices_where_the_link_is_fast():
    x, y = variable("x"), variable("y")
    one, two = products(3, x), products(3, y)
    last = node("dot", one, two, name="last")
    graph = Graph((x, y), (Edge(last, 0),))
    found = greedy(graph, model(latency=0.25))
    assert found.devices[one] != found.devices[two]
    # Values that are nowhere yet begin with their branch.
    assert found.devices[x] == found.devices[one] and found.devices[y] == found.devices[two]
    assert found.seconds == pytest.approx(3 + 0.25 + 1)
    lines = str(found).splitlines()
    assert sorted(line.split(": ")[1] for line in lines[:2]) == [
        "3 nodes, 1 variables",
        "4 nodes, 1 variables",
    ]
    assert lines[2] == "a run takes 4.25 s by the cost model"
    slow = greedy(graph, model(latency=100))
    assert len(set(slow.devices.values())) == 1 and slow.seconds == pytest.approx(7)


def test_a_chain_stays_where_it_is_and_a_slow_device_idle():
    x = variable("x")
    graph = Graph((x,), (Edge(products(4, x), 0),))
    assert greedy(graph, model()).used == (ONE,)
    assert greedy(graph, model(speeds=(1, 10))).used == (TWO,)
    # Ten times faster, but the value is on the other device and takes long to come.
    far = greedy(graph, model(speeds=(1, 10), latency=9), fixed={x: ONE})
    assert far.used == (ONE,) and far.seconds == pytest.approx(4)
    near = greedy(graph, model(speeds=(1, 10), latency=3), fixed={x: ONE})
    assert [near.devices[one] for one in graph.nodes] == [ONE, TWO, TWO, TWO, TWO]
    assert near.seconds == pytest.approx(3.4)


def test_wishes_hold_among_nodes_that_are_placed_by_cost():
    x, y = variable("x"), variable("y")
    one, two = products(2, x), products(2, y)
    pinned = node("dot", one, two, name="last", attrs=on("/cpu:1"))
    tied = node("relu", pinned, name="tied", attrs={"__colocate__": "last"})
    graph = Graph((x, y), (Edge(tied, 0),))
    found = greedy(graph, model(latency=0.1))
    assert found.devices[pinned] == found.devices[tied] == TWO
    assert found.devices[one] != found.devices[two]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_the_time_is_that_of_a_run_in_rank_order(steps):
    """Recomputed from the placement alone: each device runs its nodes one after another."""
    x = variable("x")
    made = [x]
    for a, b in steps:
        made.append(node("dot", made[a % len(made)], made[b % len(made)], name=f"n{len(made)}"))
    graph = Graph((x,), tuple(Edge(one, 0) for one in made[1:]))
    found = greedy(graph, model(speeds=(1, 2), latency=0.5))
    work = {ONE: 1.0, TWO: 0.5}
    busy = {ONE: 0.0, TWO: 0.0}
    for one in graph.nodes:
        if not one.is_variable:
            busy[found.devices[one]] += work[found.devices[one]]
    longest = {x: 0.0}
    for one in graph.nodes:
        if not one.is_variable:
            device = found.devices[one]
            longest[one] = work[device] + max(
                longest[e.node] + (0.5 if found.devices[e.node] != device else 0.0)
                for e in one.inputs
            )
    # No run of this placement is shorter than its longest path or its busiest device, and the
    # simulated one is no longer than all of it one after another.
    assert found.seconds >= max(*busy.values(), *longest.values()) - 1e-9
    assert found.seconds <= sum(busy.values()) + 0.5 * len(steps) + 1e-9


def test_variables_stay_where_they_can_be_and_with_those_they_must_be_with():
    """`a` cannot be where it is read; `b` and `c` are read on two devices."""
    attrs = {"a": on("/device:cpu"), "b": None, "c": {"__colocate__": "b"}}
    a, b, c = (variable(name, attrs[name]) for name in "abc")
    here, there = node("dot", a, b, attrs=on("/gpu:0")), node("dot", a, c, attrs=on("/cpu:1"))
    graph = Graph((a, b, c), (Edge(here, 0), Edge(there, 0)))
    sites = [*SITES, DeviceSite(DeviceName("localhost", 0, 0, "gpu", 0))]
    types = infer_types(graph, [KIND] * 3)
    found = place(graph, sites, types=types, costs=CostModel())
    assert found.devices[here] == str(sites[2].name)
    assert found.devices[there] == TWO
    assert found.devices[a] == ONE
    assert found.devices[b] == found.devices[c] == str(sites[2].name)


def test_another_placer_is_asked_and_its_answer_held_against_what_can_be():
    x = variable("x")
    first = node("dot", x, x, name="first")
    tied = node("relu", first, name="tied", attrs={"__colocate__": "first"})
    graph = Graph((x,), (Edge(tied, 0),))
    answers = {x: ONE, first: TWO, tied: TWO}
    asked = []

    def placer(graph, placed, choices, types, costs):
        asked.append(choices)
        return Plan(answers, 7.0)

    with earliest_finish.replaced_by(placer):
        found = greedy(graph, model())
        assert found.devices == answers and found.seconds == 7
        answers[tied] = ONE
        with pytest.raises(GraphError, match=r"'tied' \(relu\) was put on .*cpu:0, and one that"):
            greedy(graph, model())
        answers[tied] = "nowhere"
        with pytest.raises(GraphError, match=r"'tied' .* was put on nowhere; it can be on .*cpu:0"):
            greedy(graph, model())
        del answers[x]
        with pytest.raises(GraphError, match=r"'x' \(variable\) was put on None; it can be on"):
            greedy(graph, model())
    assert len(asked) == 4
    assert greedy(graph, model()).used == (ONE,)


def test_costs_are_measured_once_and_users_may_say_them(monkeypatch):
    with simulated(Simulated(0, DeviceCost(1.0, 2.0, 3.0))) as (toy,):
        devices = [hn.runtime.find_device(hn.cpu(0)), toy]
        costs = calibrate.costs_of(devices)
        assert costs.devices[str(toy.name)] == DeviceCost(1.0, 2.0, 3.0)
        measured = costs.devices[ONE]
        assert measured.flops > 1e7 and measured.bandwidth > 1e7
        assert all(one.bandwidth > 1e6 and one.latency > 0 for one in costs.links.values())
        assert len(costs.links) == 2
        assert calibrate.costs_of(devices).devices[ONE] is measured
    own = CostModel()
    before = hn.runtime.set_costs(own)
    try:
        assert calibrate.costs_of(devices) is own
    finally:
        hn.runtime.set_costs(before)
    with pytest.raises(ParameterError, match="needs a CostModel"):
        hn.runtime.set_costs(3)


# -- devices ---------------------------------------------------------------------------------


def test_devices_are_found_by_name_and_context():
    assert hn.runtime.find_device("/job:worker/task:0/device:cpu:1").context is hn.cpu(1)
    assert hn.runtime.find_device("/device:cpu").context is hn.cpu(0)
    for name in ("/gpu:99", "/job:worker/task:1", hn.Context("tpu", 99)):
        with pytest.raises(MXNetError, match=r"no such device; there are .*device:cpu:0"):
            hn.runtime.find_device(name)


def test_a_device_of_the_users_has_arrays_and_names():
    with simulated(Simulated(0)) as (toy,):
        assert toy.context is hn.Context("toy", 0) and repr(toy.context) == "toy(0)"
        assert toy in hn.runtime.list_devices()
        assert hn.runtime.find_device("/device:toy:0") is toy
        x = nd.ones((2,), ctx=toy.context)
        assert x.context is toy.context and (x + 1).asnumpy().tolist() == [2, 2]
        assert x.as_in_context(hn.cpu(1)).asnumpy().tolist() == [1, 1]
    with pytest.raises(ParameterError, match="type of JAX's devices"):
        hn.runtime.register_device(Simulated(0, device_type="cpu"))
    with pytest.raises(ParameterError, match="needs a Device"):
        hn.runtime.register_device("toy")
    with pytest.raises(ParameterError, match="a word in lower case"):
        Simulated(0, device_type="No word")
    with pytest.raises(MXNetError, match=r"toy\(5\): no such device was registered"):
        nd.ones((2,), ctx=hn.Context("toy", 5))


# -- bound symbols ---------------------------------------------------------------------------


def network(first=None, second=None):
    """A network in two halves, each made in a scope."""
    data = sym.var("data")
    with first or hn.AttrScope(ctx_group="one"):
        h = sym.FullyConnected(data, num_hidden=8, name="fc1")
        h = sym.BatchNorm(sym.Activation(h, act_type="tanh"), name="bn", fix_gamma=False)
    with second or hn.AttrScope(ctx_group="two"):
        h = sym.FullyConnected(sym.Dropout(h, p=0.5, name="drop"), num_hidden=3, name="fc2")
        return sym.SoftmaxOutput(h, name="softmax")


def fill(executor):
    random = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = [0, 1, 2, 0] if name == "softmax_label" else random.normal(size=array.shape)


def train(executor, steps=3):
    """Trains by hand; returns all that is left of it."""
    hn.random.seed(3)
    fill(executor)
    history = []
    for _ in range(steps):
        executor.forward(is_train=True)
        executor.backward()
        history.append(executor.outputs[0].asnumpy())
        for name, grad in executor.grad_dict.items():
            if name not in ("data", "softmax_label"):
                executor.arg_dict[name][:] -= 0.1 * grad
    history.append(executor.forward(is_train=False)[0].asnumpy())
    for arrays in (executor.arg_arrays, executor.grad_arrays, executor.aux_arrays):
        history += [one.asnumpy() for one in arrays]
    return history


def assert_same(got, wanted):
    for one, want in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, want, rtol=2e-5, atol=1e-6)


@pytest.fixture(scope="module")
def on_one_device():
    return train(network().simple_bind(hn.cpu(0), data=(4, 5)))


def test_groups_train_on_their_devices(on_one_device):
    groups = {"one": hn.cpu(0), "two": hn.cpu(1)}
    executor = network().simple_bind(hn.cpu(0), group2ctx=groups, data=(4, 5))
    for name in ("fc2_weight", "softmax_label"):
        assert executor.arg_dict[name].context is hn.cpu(1)
        assert executor.grad_dict[name].context is hn.cpu(1)
    for one in (executor.arg_dict["fc1_weight"], *executor.aux_arrays):
        assert one.context is hn.cpu(0)
    assert_same(train(executor), on_one_device)
    assert executor.outputs[0].context is hn.cpu(1)
    forward, backward = executor.partitioned(is_train=True)
    # The activations and the random state go over, and the state comes back.
    assert sorted(one.tensor for one in forward.transfers) == [
        "bn:0",
        "drop:2",
        "random_state:0",
    ]
    assert [one.source[-1] + one.destination[-1] for one in backward.transfers] == ["10"]
    assert [len(one.programs) for one in backward.plans] == [1, 1]


def test_scopes_place_by_hand(on_one_device):
    net = network(hn.device("/job:worker/task:0/device:cpu:1"), hn.cpu(0))
    executor = net.simple_bind(hn.cpu(0), data=(4, 5))
    assert executor.arg_dict["fc1_weight"].context is hn.cpu(1)
    assert executor.arg_dict["data"].context is executor.outputs[0].context is hn.cpu(0)
    assert_same(train(executor), on_one_device)


def test_the_placer_splits_a_network(on_one_device):
    """One link is so fast, and the work so slow, that two devices are worth it."""
    data = sym.var("data")
    branches = [
        sym.FullyConnected(sym.FullyConnected(data, num_hidden=8), num_hidden=8) for _ in range(2)
    ]
    both = sym.SoftmaxOutput(branches[0] * branches[1], name="softmax")
    plain = train(both.simple_bind(hn.cpu(0), data=(4, 5)))
    before = hn.runtime.set_costs(
        CostModel(other_devices=DeviceCost(1e3, 1e3), other_links=LinkCost(1e9, 1e-6))
    )
    try:
        executor = both.simple_bind(CPUS, data=(4, 5))
        given = both.bind(CPUS, executor.arg_dict)
    finally:
        hn.runtime.set_costs(before)
    assert {one.context for one in executor.arg_arrays} == set(CPUS)
    assert len(executor.partitioned()[0].parts) == 2
    assert_same(train(executor), plain)
    fill(executor)
    want = executor.forward()[0].asnumpy()
    np.testing.assert_allclose(given.forward()[0].asnumpy(), want, rtol=1e-5)


@st.composite
def grouped_programs(draw):
    program = draw(gp.programs(most=6))
    groups = [draw(st.sampled_from("ab")) for _ in program]
    return program, groups, draw(st.integers(0, 99))


def symbol_of(program, groups):
    """A random program as a symbol, each step in a group; outputs are what no step reads."""

    def op(name, *values, **attrs):
        return sym.Symbol.apply_operator(get(name), values, attrs)

    values = [sym.var("x"), sym.var("y")]
    for (name, sources), group in zip(program, groups, strict=True):
        with hn.AttrScope(ctx_group=group):
            values.append(gp.OPERATIONS[name].build(op, *(values[i] for i in sources)))
    read = {number for _, sources in program for number in sources}
    return sym.Group(
        [one for number, one in enumerate(values) if number > 1 and number not in read]
    )


@settings(max_examples=thorough(100, 5))
@given(grouped_programs())
def test_random_symbols_in_groups_have_the_same_gradients(case):
    program, groups, seed = case
    random = np.random.default_rng(seed)
    arrays = random.normal(size=(2, *gp.SHAPE))
    net, found = symbol_of(program, groups), []
    for where in ({}, {"b": hn.cpu(1)}):
        executor = net.simple_bind(
            hn.cpu(0), group2ctx=where, x=gp.SHAPE, y=gp.SHAPE, type_dict={"x": "float64"}
        )
        given_arrays = {name: arrays["xy".index(name)] for name in executor.arg_dict}
        outputs = executor.forward(is_train=True, **given_arrays)
        heads = [nd.array(np.cos(np.arange(one.size)).reshape(one.shape)) for one in outputs]
        executor.backward(heads)
        found.append([*outputs, *(one for one in executor.grad_arrays if one is not None)])
    for one, want in zip(*found, strict=True):
        np.testing.assert_allclose(one.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-5)


def test_on_one_device_nothing_is_cut():
    for groups in ({}, {"one": hn.cpu(0)}, {"one": hn.cpu(1), "two": hn.cpu(1)}):
        net = network()
        home = groups.get("one", hn.cpu(0))
        executor = net.simple_bind(home, group2ctx=groups, data=(4, 5))
        assert executor.partitioned() == []
        assert {one.context for one in executor.arg_arrays} == {home}
    with hn.cpu(1):
        x = sym.var("x")
        y = sym.exp(x)
    executor = y.bind(hn.cpu(0), {"x": nd.zeros((2,), ctx=hn.cpu(1))})
    assert executor.partitioned() == [] and executor.forward()[0].context is hn.cpu(1)


def test_arrays_are_where_their_group_is():
    groups = {"two": hn.cpu(1)}
    shapes = {"data": (4, 5), "fc1_weight": (8, 5), "fc1_bias": (8,), "bn_gamma": (8,)}
    shapes |= {"bn_beta": (8,), "fc2_weight": (3, 8), "fc2_bias": (3,), "softmax_label": (4,)}
    arrays = {name: nd.ones(shape) for name, shape in shapes.items()}
    states = [nd.zeros((8,)), nd.ones((8,))]
    net = network()
    with pytest.raises(ParameterError, match=r"args\['fc2_weight'\] must be on cpu\(1\), got cpu"):
        net.bind(hn.cpu(0), arrays, aux_states=states, group2ctx=groups)
    for name in ("fc2_weight", "fc2_bias", "softmax_label"):
        arrays[name] = arrays[name].as_in_context(hn.cpu(1))
    with pytest.raises(ParameterError, match=r"args_grad\['fc2_bias'\] must be on cpu\(1\)"):
        net.bind(hn.cpu(0), arrays, {"fc2_bias": nd.zeros((3,))}, "write", states, groups)
    executor = net.bind(hn.cpu(0), arrays, None, "null", states, groups)
    # Values are copied to where they are used, from wherever they are.
    executor.forward(data=np.ones((4, 5)), softmax_label=nd.zeros((4,)))
    np.testing.assert_allclose(executor.outputs[0].asnumpy().sum(1), 1, rtol=1e-5)


def test_head_gradients_monitor_and_reshape_on_two_devices():
    with hn.device("/cpu:1"):
        x = sym.var("x")
        y = sym.square(x, name="square")
    with hn.device("/cpu:0"):
        z = sym.exp(y, name="exp")
    executor = z.simple_bind(hn.cpu(0), "add", x=(2,))
    seen = {}
    executor.set_monitor_callback(lambda name, array: seen.__setitem__(name, array))
    executor.forward(is_train=True, x=np.array([1.0, 2.0]))
    assert {name: one.context for name, one in seen.items()} == {
        "square_output": hn.cpu(1),
        "exp_output": hn.cpu(0),
    }
    executor.set_monitor_callback(None)
    for times in (1, 2):
        executor.forward(is_train=True)
        executor.backward(nd.array([1.0, 10.0], ctx=hn.cpu(1)))
        want = times * np.array([1, 10]) * np.exp([1, 4]) * 2 * np.array([1, 2])
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), want, rtol=1e-5)
    larger = executor.reshape(x=(3,), allow_up_sizing=True)
    assert larger.arg_dict["x"].context is hn.cpu(1)
    assert larger.forward(x=np.zeros(3))[0].asnumpy().tolist() == [1, 1, 1]


# -- what goes wrong -------------------------------------------------------------------------


def test_an_unknown_device_names_node_and_line(monkeypatch, caplog):
    with hn.device("/device:gpu:7"):
        y = sym.exp(sym.var("x"), name="far")
    z = y + 1
    message = here(
        r"node 'x' \(variable, made at LINE\) asks for the unknown device .*gpu:7; there"
    )
    with pytest.raises(GraphError, match=message):
        z.simple_bind(hn.cpu(0), x=(2,))
    with pytest.raises(GraphError, match="asks for the unknown device /device:gpu:99"):
        network().simple_bind(hn.cpu(0), group2ctx={"one": hn.gpu(99)}, data=(4, 5))
    monkeypatch.setenv("HYBRIDNET_SOFT_PLACEMENT", "1")
    with caplog.at_level(logging.WARNING, "hybridnet.placement"):
        executor = z.simple_bind(hn.cpu(0), x=(2,))
    assert executor.forward()[0].asnumpy().tolist() == [2, 2]
    assert len(caplog.records) == 2  # the variable, too
    assert all(one.getMessage().endswith("; placed elsewhere") for one in caplog.records)


def test_a_missing_argument_names_its_line():
    y = sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc")
    with pytest.raises(ParameterError, match=here("fc_bias is missing in args; .* made at LINE")):
        y.bind(hn.cpu(0), {"x": nd.ones((1, 2)), "fc_weight": nd.ones((2, 2))})


@pytest.mark.parametrize(
    ("ctx", "groups", "message"),
    [
        ("cpu", {}, "ctx must be a Context"),
        ([], {}, "ctx must be a Context"),
        ([hn.cpu(0), 1], {}, "or a list of those"),
        (hn.cpu(0), {"one": "cpu"}, "group2ctx must give a Context for each group, got 'one'"),
    ],
)
def test_binding_is_given_contexts(ctx, groups, message):
    with pytest.raises(ParameterError, match=message):
        network().simple_bind(ctx, group2ctx=groups, data=(4, 5))


class _Broken(operator.CustomOp):
    fails = True

    def forward(self, is_train, req, in_data, out_data, aux):
        if _Broken.fails:
            raise ValueError("not today")
        self.assign(out_data[0], req[0], in_data[0] * 3)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 3)


@operator.register("test_broken")
class _BrokenProp(operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Broken()


def test_python_operators_run_on_their_device_and_fail_by_name():
    with hn.device("/cpu:1"):
        y = sym.Custom(sym.exp(sym.var("x")), op_type="test_broken", name="mine")
    z = sym.Group([y, sym.sin(sym.var("other", attr={DEVICE: "/cpu:0"}), attr={DEVICE: "/cpu:0"})])
    executor = z.simple_bind(hn.cpu(0), x=(2,), other=(2,))
    _Broken.fails = True
    executor.forward()
    with pytest.raises(
        OpError, match=here(r"'mine' \(Custom, made at LINE\).* on cpu\(1\) failed")
    ):
        executor.outputs[0].asnumpy()
    _Broken.fails = False
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [3, 3]
    executor.backward()
    assert executor.grad_dict["x"].context is hn.cpu(1)
    assert executor.grad_dict["x"].asnumpy().tolist() == [3, 3]
    nd.waitall()  # the failure was raised already


def test_loops_run_on_their_device_and_traces_are_refused():
    with hn.cpu(1):
        sums, _ = sym.contrib.foreach(lambda x, s: (x + s, x + s), sym.var("x"), sym.var("s"))
    with hn.cpu(0):
        total = sym.sum(sums) * 2
    executor = total.simple_bind(hn.cpu(0), x=(4, 1), s=(1,))
    executor.arg_dict["x"][:] = 1
    executor.forward(is_train=True)
    executor.backward()
    assert executor.outputs[0].asnumpy().tolist() == [20]
    assert executor.grad_dict["x"].asnumpy().ravel().tolist() == [8, 6, 4, 2]
    with pytest.raises(MXNetError, match="runs on several devices, and cannot be part of a traced"):
        hn.function(lambda: executor.forward()[0])()
    assert executor.forward()[0].asnumpy().tolist() == [20]


# -- at the same time ------------------------------------------------------------------------


def test_branches_on_two_devices_overlap_in_the_trace():
    """Each device goes on only when the other one is running, too."""
    x = sym.var("x")
    names = []
    for index in (0, 1):
        with hn.device(f"/device:toy:{index}"):
            names.append(sym.exp(x, name=f"branch{index}"))
    both = names[0] + names[1]
    meeting = threading.Barrier(2, timeout=60)
    two = engine.ThreadedEngine(workers={"compute": 2})
    with running_on(two), simulated(Simulated(0), Simulated(1)) as toys:
        executor = both.simple_bind(toys[0].context, x=(300, 300))
        for toy in toys:
            toy.before = lambda name: meeting.wait() if name == "exp" else None
        with profiler.profile():
            out = executor.forward()[0].asnumpy()
    assert (out == 2).all()
    first, second = (
        next(one for one in profiler.events() if one.name.startswith(f"toy({i}): branch{i}"))
        for i in (0, 1)
    )
    assert first.kind == second.kind == "task" and first.row != second.row
    assert max(first.start, second.start) < min(
        first.start + first.duration, second.start + second.duration
    )


def test_the_page_on_devices_runs():
    page = (ROOT / "docs" / "devices.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 6
    out = run_script("\n".join(blocks), HYBRIDNET_NUM_CPU_DEVICES="2")
    assert "_Recv" in out and "Transfer(source='/job:localhost" in out

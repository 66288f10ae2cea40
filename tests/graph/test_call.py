"""A graph as one call: its results, its gradient run apart or together, and its sharing."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import graph_programs as gp
import numpy as np
import pytest
from helpers import run_script, settle
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.core.registry import get
from hybridnet.runtime.graphs import graph_call
from hybridnet.runtime.graphs.graph_call import GraphCall, shared_call
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import recorder

TYPE = tensor_type(gp.SHAPE, np.dtype(np.float64))


def arrays(seed, count, attach=True):
    rng = np.random.default_rng(seed)
    made = [nd.array(rng.normal(size=gp.SHAPE), dtype="float64") for _ in range(count)]
    if attach:
        for one in made:
            one.attach_grad()
    return made


def node(op, *inputs, scalars=None, **attrs):
    call, bound = get(op).bind(attrs)
    edges = tuple(Edge(one, 0) if isinstance(one, Node) else one for one in inputs)
    return Node(call, edges, op, bound if scalars is None else scalars)


def call_of(program, outputs, visible=None):
    return GraphCall(gp.graph_of(program, outputs), (TYPE, TYPE), "program", visible)


def assert_close(got, wanted, tolerance=1e-10):
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=tolerance, atol=tolerance)


@st.composite
def cases(draw):
    program = draw(gp.programs(most=6))
    last = len(program) + 1
    outputs = draw(st.lists(st.integers(2, last), min_size=1, max_size=3, unique=True))
    used = draw(st.lists(st.sampled_from(outputs), min_size=1, unique=True))
    return program, outputs, used, draw(st.integers(0, 99))


def run_eager(program, outputs, used, seed):
    x, y = arrays(seed, 2)
    with autograd.record():
        values = gp.run_arrays(program, [x, y])
    autograd.backward([values[i] for i in used])
    return [values[i] for i in outputs], x.grad, y.grad


def run_call(call, outputs, used, seed, read):
    """Forward with what the gradient needs, and the gradient of some of the outputs."""
    x, y = arrays(seed, 2)
    with autograd.record():
        made = nd.NDArray.apply_call(call.training((0, 1)), [x, y], ())
    if read:
        nd.waitall()
    autograd.backward([made[outputs.index(one)] for one in used])
    return made[: len(outputs)], x.grad, y.grad


@given(cases())
@settings(max_examples=10)
def test_forward_and_backward_together_and_apart(case):
    program, outputs, used, seed = case
    call = call_of(program, outputs)
    wanted, *wanted_grads = run_eager(*case)
    for read in (False, True):
        got, *got_grads = run_call(call, outputs, used, seed, read)
        assert_close(got, wanted)
        assert_close(got_grads, wanted_grads)


def test_without_a_gradient_it_keeps_nothing():
    call = call_of([("sin", (0,)), ("mul", (2, 1))], [3])
    x, y = arrays(0, 2, attach=False)
    made = nd.NDArray.apply_call(call, [x, y], ())
    assert len(made) == 1
    np.testing.assert_allclose(made[0].asnumpy(), np.sin(x.asnumpy()) * y.asnumpy())


def test_types_are_those_it_was_made_for():
    call = call_of([("sin", (0,))], [2])
    with pytest.raises(ShapeError, match="program: was made for inputs"):
        call.infer((TYPE, tensor_type((3,), np.dtype(np.float64))))
    assert call.infer((TYPE, TYPE)) == (TYPE,)


def test_its_weight_is_that_of_its_operators():
    inner = call_of([("sin", (0,)), ("mul", (2, 1))], [3])
    assert inner.weight == 2
    x, y = variable("x"), variable("y")
    once = Node(inner, (Edge(x, 0), Edge(y, 0)), "first")
    twice = Node(inner, (Edge(once, 0), Edge(y, 0)), "second")
    outer = GraphCall(Graph((x, y), (Edge(twice, 0),)), (TYPE, TYPE), "outer")
    assert outer.weight == 4


def test_hidden_outputs_get_no_gradient():
    """What a function overwrites is an output, but gradients are asked of the others only."""
    call = call_of([("sin", (0,)), ("mul", (2, 1))], [3, 2], visible=1)
    training = call.training((0, 1))
    assert training.split is not None
    assert training.split.given == (0,)
    x, y = arrays(0, 2)
    with autograd.record():
        visible, hidden, *_ = nd.NDArray.apply_call(training, [x, y], ())
    visible.backward()
    np.testing.assert_allclose(y.grad.asnumpy(), np.sin(x.asnumpy()))
    np.testing.assert_allclose(hidden.asnumpy(), np.sin(x.asnumpy()))


def test_the_gradient_of_a_few_outputs_needs_no_more_than_was_kept():
    """sqrt at 0: with a gradient of zeros for it, the other's would be not a number."""
    x = variable("x")
    graph = Graph((x,), (Edge(node("sqrt", x), 0), Edge(node("square", x), 0)))
    call = GraphCall(graph, (TYPE,), "parts").training((0,))
    a = nd.zeros(gp.SHAPE, dtype="float64")
    a.attach_grad()
    for read in (False, True):
        with autograd.record():
            _, square, *_ = nd.NDArray.apply_call(call, [a], ())
        if read:
            nd.waitall()
        square.backward()
        np.testing.assert_array_equal(a.grad.asnumpy(), np.zeros(gp.SHAPE))
    assert call.backward_call((1,)) is call.backward_call((1,))
    assert call.backward_call() is call.backward_call((0, 1))


def test_a_call_in_a_call():
    inner = call_of([("tanh", (0,)), ("mul", (2, 1)), ("sin", (3,))], [4, 2])
    x, y = variable("x"), variable("y")
    once = Node(inner, (Edge(x, 0), Edge(y, 0)), "first")
    twice = Node(inner, (Edge(once, 0), Edge(once, 1)), "second")
    outer = GraphCall(Graph((x, y), (Edge(twice, 0),)), (TYPE, TYPE), "outer")
    a, b = arrays(3, 2)
    with autograd.record():
        t = nd.tanh(a)
        s = nd.sin(t * b)
        wanted = nd.sin(nd.tanh(s) * t)
    wanted.backward()
    grads = [a.grad.copy(), b.grad.copy()]
    for read in (False, True):
        with autograd.record():
            got = nd.NDArray.apply_call(outer.training((0, 1)), [a, b], ())[0]
        if read:
            nd.waitall()
        got.backward()
        assert_close([got, a.grad, b.grad], [wanted, *grads])


@pytest.mark.compiled
def test_apart_they_are_two_programs_and_together_one():
    call = call_of([("tanh", (0,)), ("mul", (2, 1))], [3]).training((0, 1))
    x, y = arrays(0, 2)

    def step(read):
        with autograd.record():
            made = nd.NDArray.apply_call(call, [x, y], ())[0]
        if read:
            made.wait_to_read()
        made.backward()
        settle()

    for read, count in ((False, 1), (True, 2)):
        for _ in range(4):
            step(read)
        before = cache.statistics()
        step(read)
        after = cache.statistics()
        assert (after.hot - before.hot, after.cold - before.cold) == (count, 0)


def test_equal_structures_share_one_call():
    def graph(number, name="x"):
        x = variable(name)
        return Graph((x,), (Edge(node("_mul_scalar", node("sin", x), scalars=(number,)), 0),))

    first, scalars = shared_call(graph(2.0), (TYPE,), "f", 1)
    again, others = shared_call(graph(3.0, "z"), (TYPE,), "f", 1)
    assert first is again
    assert (scalars, others) == ((2.0,), (3.0,))
    for other in [
        shared_call(graph(2.0), (TYPE,), "g", 1),
        shared_call(graph(2.0), (TYPE,), "f", 0),
        shared_call(graph(2.0), (tensor_type((2, 3), np.dtype(np.float32)),), "f", 1),
    ]:
        assert other[0] is not first
    (x,) = arrays(0, 1)
    for number in (2.0, 3.0):
        (made,) = nd.NDArray.apply_call(first, [x], (number,))
        np.testing.assert_allclose(made.asnumpy(), number * np.sin(x.asnumpy()))


def test_shared_calls_are_not_kept():
    x = variable("x")
    graph = Graph((x,), (Edge(node("cosh", node("sinh", x)), 0),))
    call, _ = shared_call(graph, (TYPE,), "dropped", 1)
    call.training((0,)).backward_call()
    ref = weakref.ref(call)
    gc.collect()  # what tests before left
    size = len(graph_call._shared)
    del call
    gc.collect()
    assert ref() is None
    assert len(graph_call._shared) == size - 1


def test_counters_in_names_do_not_tell_calls_apart():
    x = variable("x")
    graph = Graph((x,), (Edge(node("cosh", node("sinh", x)), 0),))
    first, _ = shared_call(graph, (TYPE,), "model0_dense0", 1)
    assert shared_call(graph, (TYPE,), "model12_dense3", 1)[0] is first
    assert shared_call(graph, (TYPE,), "model0_conv0", 1)[0] is not first


@pytest.mark.parametrize("part", ["training", "backward"])
def test_what_a_program_holds_of_training_keeps_the_shared_call(part):
    """Programs are found by identity: the next graph must come upon the calls they were made of."""
    x = variable("x")
    graph = Graph((x,), (Edge(node("cosh", node("sinh", x)), 0),))
    call, _ = shared_call(graph, (TYPE,), f"held {part}", 1)
    held = call.training((0,))
    if part == "backward":
        held = held.backward_call()
    del call
    gc.collect()
    again = shared_call(graph, (TYPE,), f"held {part}", 1)[0].training((0,))
    assert (again if part == "training" else again.backward_call()) is held


@pytest.mark.slow
def test_equal_nets_that_are_trained_compile_once():
    """Two hundred of them, made, trained and dropped: the first few compile, the others nothing."""
    before, after = run_script(_NETS, HYBRIDNET_CACHE_DIR="off", timeout=200).split()
    # Every net had three programs of its own when calls of training were not shared. A structure
    # that is rare (what the collector lets live a little longer) may still be compiled late.
    assert int(after) - int(before) <= 20


_NETS = """
    import hybridnet as hn
    from hybridnet.runtime.programs.cache import cache

    x, y = hn.nd.ones((8, 16)), hn.nd.zeros((8,))
    loss = hn.gluon.loss.SoftmaxCrossEntropyLoss()
    for turn in range(200):
        net = hn.gluon.nn.HybridSequential()
        net.add(hn.gluon.nn.Dense(8, activation="relu"), hn.gluon.nn.Dense(4))
        net.initialize()
        net.hybridize()
        trainer = hn.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for _ in range(3):
            with hn.autograd.record():
                error = loss(net(x), y)
            error.backward()
            trainer.step(8)
        error.wait_to_read()
        if turn in (20, 199):
            print(cache.statistics().compilations)
"""


def test_threads_that_come_at_once_share_a_call():
    """Programs are found by the identity of their calls."""
    x = variable("x")
    graphs = [Graph((x,), (Edge(node("cosh", node("sinh", x)), 0),)) for _ in range(4)]
    turns = 60
    barrier = threading.Barrier(len(graphs))

    def share(graph):
        made = []
        for turn in range(turns):
            barrier.wait()
            made.append(shared_call(graph, (TYPE,), f"at once {turn}", 1)[0])
        return made

    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(graphs)) as pool:
            made = list(pool.map(share, graphs))
    finally:
        sys.setswitchinterval(was)
    assert [len({*calls}) for calls in zip(*made, strict=True)] == [1] * turns


def test_scalars_go_to_forward_and_backward():
    """x * n with n given at each run; the gradient is n."""
    x = variable("x")
    graph = Graph((x,), (Edge(node("sin", node("_mul_scalar", x, scalars=(1.0,))), 0),))
    call, _ = shared_call(graph, (TYPE,), "scaled", 1)
    (a,) = arrays(0, 1)
    for number in (2.0, -3.0):
        for read in (False, True):
            with autograd.record():
                made = nd.NDArray.apply_call(call.training((0,)), [a], (number,))[0]
            if read:
                made.wait_to_read()
            made.backward()
            np.testing.assert_allclose(a.grad.asnumpy(), number * np.cos(number * a.asnumpy()))


def test_many_calls_in_a_row_do_not_make_one_huge_program(monkeypatch):
    """A segment is launched when it is heavy, and a call weighs what its graph does."""
    recorder.flush()
    monkeypatch.setattr(recorder.thread, "limit", 60)
    depth = 20

    @hn.function
    def deep(x):
        for _ in range(depth):
            x = nd.sin(x)
        return x

    x = nd.ones((1,))
    x.attach_grad()
    settle()
    cache.clear()
    before = cache.statistics()
    with autograd.record():
        for _ in range(12):
            y = deep(x)
    y.wait_to_read()
    after = cache.statistics()
    assert after.hot + after.cold - before.hot - before.cold >= 4
    weights = [sum(call.weight for call, _ in one.code.instructions) for one in cache.programs()]
    assert max(weights) == 3 * depth

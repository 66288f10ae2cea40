"""Loops and branches that the executor runs: their order, memory, effects and failures."""

from __future__ import annotations

import json
import os
import re
import signal
import threading

import jax
import numpy as np
import pytest
from helpers import is_in, run_script
from oracle import control_cases
from oracle.case import HERE
from partitioned_calls import TOYS, call_of, run
from places import ROOT
from simulated import Simulated, running_on, simulated

import hybridnet as hn
import hybridnet.compat.tf1 as tf
from hybridnet import nd, operator, sym
from hybridnet.base.device_name import DEVICE
from hybridnet.base.errors import GraphError, OpError, ParameterError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.engine import ManualPool, NaiveEngine, ThreadedEngine
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.core.registry import get
from hybridnet.runtime.executor.partitioned import PartitionedCall
from hybridnet.runtime.graphs.graph_call import GraphCall

NUMBER = tensor_type((1,), np.dtype(np.float32))


def counted(times, device=TOYS[1], **options):
    """While a number is less than `times`, one is added to it on another device."""

    def body(value):
        with hn.device(device):
            return value + 1

    return sym.while_loop(lambda value: value < times, body, [sym.var("x")], **options)[0]


def number(value):
    return np.array([value], np.float32)


# -- what MXNet's loops give -----------------------------------------------------------------


@pytest.mark.parametrize("name", control_cases.CASES)
def test_mxnets_loops_taken_apart_give_its_answers(name):
    answers = json.loads((HERE / "control.json").read_text())[name]
    program, _ = control_cases.CASES[name]
    inputs = control_cases.make_inputs(name)
    symbol = sym.Group(program(sym, **{key: sym.var(key) for key in inputs}))
    arrays = [inputs[key] for key in symbol.list_inputs()]
    types = tuple(tensor_type(one.shape, one.dtype) for one in arrays)
    with simulated(Simulated(0)) as (toy,):
        made = run(call_of(symbol, toy.context, types, lower=True), arrays)
    for one, (shape, wanted) in zip(made, answers["outputs"], strict=True):
        np.testing.assert_allclose(one.ravel(), wanted, rtol=2e-5, atol=2e-6)
        assert one.shape == tuple(shape)


# -- frames ----------------------------------------------------------------------------------


@pytest.mark.parametrize("parallel", [1, 3])
def test_no_more_iterations_are_under_way_than_may_be(parallel):
    """Device 1 is slow: on device 0, which only counts, all iterations could begin at once."""

    def body(i, value):
        with hn.device(TOYS[1]):
            value = sym.sin(value)
        return i + 1, value

    loop = sym.while_loop(
        lambda i, value: i < 8,
        body,
        (sym.var("i"), sym.var("x")),
        parallel_iterations=parallel,
    )[1]
    with simulated(Simulated(0), Simulated(1)) as toys, running_on(NaiveEngine()):
        ahead = []
        toys[1].before = lambda name: ahead.append(
            toys[0].ran.count("_plus_scalar") - toys[1].ran.count("sin")
        )
        call = call_of(loop, toys[0].context, (NUMBER, NUMBER))
        (got,) = run(call, [number(0), number(0.5)])
    want = 0.5
    for _ in range(8):
        want = np.sin(want)
    np.testing.assert_allclose(got, [want], rtol=1e-6)
    assert len(ahead) == 8 and max(ahead) <= parallel


@pytest.mark.slow
def test_ten_thousand_iterations_keep_no_more_memory_than_hundred():
    with simulated(Simulated(0), Simulated(1)) as toys, running_on(ThreadedEngine()):
        call = call_of(counted(10_000), toys[0].context, (NUMBER,))
        held = []

        def note(name):
            if len(toys[1].ran) % 1000 == 100:
                held.append(len(jax.live_arrays()))

        toys[1].before = note
        np.testing.assert_array_equal(run(call, [number(0)])[0], [10_000])
        assert len(held) == 10
        assert max(held) <= held[0] + 40  # ten iterations may be under way, of four arrays each


@pytest.mark.parametrize("times", [0, 1, 5])
def test_runs_at_once_in_two_threads_do_not_meet(times):
    found = {}
    with simulated(Simulated(0), Simulated(1)) as toys, running_on(ThreadedEngine()):
        call = call_of(counted(times), toys[0].context, (NUMBER,))

        def work(start):
            found[start] = [run(call, [number(start)])[0].item() for _ in range(10)]

        threads = [threading.Thread(target=work, args=(start,)) for start in (0, 3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert found == {0: [times] * 10, 3: [max(times, 3)] * 10}


# -- effects ---------------------------------------------------------------------------------

heard = []


class _Hear(operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        heard.append(in_data[0].asnumpy().item())
        self.assign(out_data[0], req[0], in_data[0])


@operator.register("test_hear")
class _HearProp(operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Hear()


@pytest.fixture
def listening():
    heard.clear()
    return heard


def test_what_is_not_chosen_does_not_run(listening):
    x = sym.var("x")
    chosen = sym.cond(
        x > 0,
        lambda: sym.Custom(x, op_type="test_hear"),
        lambda: sym.Custom(-x, op_type="test_hear"),
    )
    executor = chosen.simple_bind(hn.cpu(), x=(1,))
    for value in (2, -3):
        (got,) = executor.forward(x=number(value))
        assert got.asscalar() == abs(value)
    assert listening == [2, 3]


def test_a_loop_over_host_code_runs_it_in_order(listening):
    def body(value):
        return sym.cond(
            sym.Custom(value, op_type="test_hear") < 3, lambda: value + 1, lambda: value + 2
        )

    last = sym.while_loop(lambda value: value < 6, body, [sym.var("x")])[0]
    executor = last.simple_bind(hn.cpu(), x=(1,))
    (got,) = executor.forward(x=number(0))
    assert got.asscalar() == 7
    assert listening == [0, 1, 2, 3, 5]


@pytest.mark.parametrize("seed", range(4))
def test_host_code_on_one_device_waits_for_that_on_another(listening, seed):
    """second is to run after first, whose value it does not read."""
    x, y = variable("x"), variable("y")
    hear = sym.Custom(sym.var("x"), op_type="test_hear").graph.outputs[0].node.call
    late = Node(get("negative").bind({})[0], (Edge(x, 0),), "late", (), {DEVICE: TOYS[0]})
    first = Node(hear, (Edge(late, 0),), "first", (), {DEVICE: TOYS[0]})
    second = Node(hear, (Edge(y, 0),), "second", (), {DEVICE: TOYS[1]}, None, (first,))
    graph = Graph((x, y), (Edge(second, 0),), (first, second))
    with (
        simulated(Simulated(0), Simulated(1)) as toys,
        running_on(ThreadedEngine(pool=ManualPool(seed=seed))),
    ):
        context = toys[0].context
        whole = GraphCall(graph, (NUMBER, NUMBER), "ordered")
        call = PartitionedCall(whole, [context, toys[1].context], [None], context)
        assert [one.tensor for one in call.transfers] == ["^first"]
        assert run(call, [number(-1), number(2)])[0].item() == 2
    assert listening == [1, 2]


@pytest.mark.parametrize("lower", [False, True])
def test_variables_are_overwritten_in_branches_and_bodies(lower):
    """total is overwritten in each turn, where it is read as it is then; count once in a branch."""

    def apply(name, *inputs):
        return sym.Symbol.apply_operator(get(name), list(inputs), {})

    total, count = sym.var("total"), sym.var("count")

    def body(i):
        now = apply("_assign", total, apply("_read_variable", total) + i)
        return sym.cond(
            sym.sum(now) > 5, lambda: i + apply("_assign", count, count + 1) * 0 + 1, lambda: i + 1
        )

    i = sym.while_loop(lambda i: i < 5, body, [sym.var("i")])[0]
    names = i.list_inputs()
    first = {"i": number(1), "total": number(0), "count": number(10)}
    with simulated(Simulated(0)) as (toy,):
        call = call_of(i, toy.context, (NUMBER,) * 3, lower)
        got = run(call, [first[name] for name in names])
    # The outputs, and then what is overwritten, in the order of the inputs.
    left = [name for name in names if name != "i"]
    assert got[0].item() == 5
    assert dict(zip(left, (one.item() for one in got[1:]), strict=True)) == {
        "total": 1 + 2 + 3 + 4,
        "count": 11 + 1,  # 6 and 10 are more than 5
    }


# -- failures --------------------------------------------------------------------------------


def test_a_node_that_fails_in_a_loop_is_named_with_its_iteration():
    outer = sym.while_loop(
        lambda n: n < 2, lambda n: counted_from(n), [sym.var("x")], name="outer"
    )[0]
    with simulated(Simulated(0), Simulated(1)) as toys, running_on(ThreadedEngine()):
        call = call_of(outer, toys[0].context, (NUMBER,))

        def refuse(name):
            if name == "_plus_scalar" and toys[1].ran.count(name) == 5:
                raise ValueError("no more memory")

        toys[1].before = refuse
        message = r"'add' \(_plus_scalar, made at .*test_control_loops.py:\d+\) on toy\(1\) failed "
        message += r"in iteration 1 of loop outer0\[1\]/inner0: no more memory"
        with pytest.raises(OpError, match=message):
            run(call, [number(-2)])
        toys[1].before = lambda name: None
        np.testing.assert_array_equal(run(call, [number(-2)])[0], [2])
        hn.nd.waitall()


def counted_from(value):
    """Adds one four times, of which the last is undone but once: x -> x + 2 in two steps."""

    def body(i, v):
        with hn.device(TOYS[1]):
            v = sym.Symbol.apply_operator(get("_plus_scalar"), [v], {"scalar": 0.5}, name="add")
        return i + 1, v

    start = (sym.zeros((1,)), value)
    return sym.while_loop(lambda i, v: i < 4, body, start, name="inner")[1]


def test_a_loop_variable_that_changes_its_type_is_named():
    loop = sym.while_loop(
        lambda v: sym.sum(v) < 9, lambda v: sym.Concat(v, v, dim=0), [sym.var("grow")]
    )
    message = r"loop variable 0 \('grow-0'\) .* begins as float32\[2\] and .* float32\[4\]"
    with pytest.raises(ShapeError, match=message):
        loop[0].simple_bind(hn.cpu(), grow=(2,))


def test_a_device_that_is_not_there_is_named():
    loop = counted(3, device="/device:toy:7")
    with (
        simulated(Simulated(0)),  # there are toys, but not this one
        pytest.raises(GraphError, match=r"'_plusscalar\d+' .* is on an unknown device: toy\(7\)"),
    ):
        loop.simple_bind(hn.cpu(), x=(1,)).forward(x=number(0))


def test_a_device_without_a_kernel_for_what_is_inside_is_named():
    def body(v):
        with hn.device(TOYS[1]):
            return sym.tanh(v, name="inner")

    loop = sym.while_loop(lambda v: v > 1, body, [sym.var("x")])[0]
    with (
        simulated(Simulated(0), Simulated(1, without=["tanh"])) as toys,
        pytest.raises(GraphError, match=r"node 'inner' \(tanh.* has no kernel on .*toy:1"),
    ):
        call_of(loop, toys[0].context, (NUMBER,))
    with hn.device(TOYS[0]):
        here = sym.while_loop(lambda v: v > 1, lambda v: v.tanh(), [sym.var("x")], name="here")[0]
    with (
        simulated(Simulated(0, without=["tanh"])),
        pytest.raises(GraphError, match=r"'here0' \(_while_loop.* has no kernel on /device:toy:0"),
    ):
        here.simple_bind(hn.cpu(), x=(1,))


def test_ctrl_c_ends_a_loop_without_an_end():
    with simulated(Simulated(0), Simulated(1)) as toys, running_on(ThreadedEngine()):
        call = call_of(counted(1e9), toys[0].context, (NUMBER,))
        me = threading.get_ident()
        told = []

        def interrupt(name):
            # What is interrupted before it waits does not know of the loop yet.
            if not told and is_in(me, hn.engine.wait_for_var):
                told.append(name)
                os.kill(os.getpid(), signal.SIGINT)

        toys[1].before = interrupt
        with pytest.raises(KeyboardInterrupt):
            run(call, [number(0)])
        toys[1].before = lambda name: None
        np.testing.assert_array_equal(run(call, [number(1e9)])[0], [1e9])
        hn.nd.waitall()


# -- the functions ---------------------------------------------------------------------------


def test_what_is_nested_comes_back_nested():
    x = sym.var("x")
    chosen = sym.cond(
        x > 0, lambda: {"a": x, "b": (x + 1, [x + 2])}, lambda: {"a": x, "b": (x, [x])}
    )
    assert isinstance(chosen["b"], tuple) and isinstance(chosen["b"][1], list)
    state, rest = sym.while_loop(
        lambda state, rest: state["i"] < 3,
        lambda state, rest: ({"i": state["i"] + 1}, [rest[0] * 2]),
        ({"i": sym.zeros((1,))}, [chosen["b"][1][0]]),
    )
    outputs = sym.Group([state["i"], rest[0]]).eval(x=nd.array([1.0]))
    assert [one.asscalar() for one in outputs] == [3, 24]


@pytest.mark.parametrize(("value", "wanted"), [(-1, 10), (1, 20), (3, 30)])
def test_the_first_condition_that_holds_counts(value, wanted):
    x = sym.var("x")
    pairs = [(x < 0, lambda: x * 0 + 10), (x < 2, lambda: x * 0 + 20)]
    made = sym.case(pairs, default=lambda: x * 0 + 30)
    assert made.eval(x=nd.array([value]))[0].asscalar() == wanted


def test_a_loop_bound_to_real_devices_spreads_and_is_differentiated():
    """x is doubled on cpu(1) three times: 8 x, and a gradient of 8."""
    x = sym.var("x")

    def body(i, v):
        with hn.device("/device:cpu:1"):
            return i + 1, v * 2

    loop = sym.while_loop(lambda i, v: i < 3, body, (sym.zeros((1,)), x), maximum_iterations=5)[1]
    executor = loop.simple_bind(hn.cpu(), x=(1,))
    (got,) = executor.forward(is_train=True, x=number(1.5))
    executor.backward(nd.array([1.0], ctx=got.context))
    assert (got.asscalar(), executor.grad_dict["x"].asscalar()) == (12, 8)
    assert got.context == hn.cpu(0)  # as the loop, whose results are sent there


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: sym.cond(True, lambda: x, lambda: x), "pred must be a Symbol"),
        (lambda x: sym.cond(x, lambda: x, lambda: [x]), "the same structure of symbols"),
        (lambda x: sym.cond(x, lambda: 5, lambda: x), "what true_fn returns must be symbols"),
        (lambda x: sym.while_loop(lambda v: v, lambda v: v, x), "must be a list or tuple"),
        (lambda x: sym.while_loop(lambda v: 1, lambda v: v, [x]), "cond must return a Symbol"),
        (lambda x: sym.while_loop(lambda v: v, lambda v: [v, v], [x]), "as many symbols as"),
        (
            lambda x: sym.while_loop(lambda v: v, lambda v: v, [x], parallel_iterations=0),
            "parallel_iterations is too small, got 0",
        ),
        (lambda x: sym.case([x], default=lambda: x), "pairs of a Symbol and a function"),
        (lambda x: sym.case([(x, lambda: x)], default=5), "default must be a function"),
    ],
)
def test_misuse_is_explained(call, message):
    with pytest.raises(ParameterError, match=message):
        call(sym.var("x"))


@pytest.mark.slow
def test_the_page_on_control_flow_runs_and_prints_what_it_says():
    page = (ROOT / "docs" / "control-flow.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (printed,) = re.findall(r"```\n(%0.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    # What is printed has the names of a fresh process.
    alone = run_script("\n".join([blocks[0], 'x = sym.var("x")', blocks[2]]))
    assert alone.strip() == printed.strip()
    run_script("\n".join(blocks), HYBRIDNET_NUM_CPU_DEVICES="2")


def test_a_tensorflow_loop_on_two_devices_whose_body_computes_a_shape():
    """Four layers of tanh, and the slope of their squares, by differences."""
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    with tf.Graph().as_default():
        rows = tf.placeholder(tf.float32, [None, 3])
        weight = tf.constant(np.full((3, 3), 0.5, np.float32))

        def body(i, v):
            with tf.device("/cpu:1"):
                v = tf.matmul(v, weight)
            return i + 1, tf.reshape(tf.tanh(v), [tf.shape(v)[0], 3])

        _, last = tf.while_loop(lambda i, v: i < 4, body, [tf.constant(0), rows])
        loss = tf.reduce_sum(last * last)
        (grad,) = tf.gradients(loss, [weight])
        with tf.Session() as session:
            loss_found, grad_found = session.run([loss, grad], {rows: x})

    def wanted(weight):
        v = x.astype(np.float64)
        for _ in range(4):
            v = np.tanh(v @ weight)
        return (v * v).sum()

    slopes = np.zeros((3, 3))
    for place in np.ndindex(3, 3):
        moved = np.zeros((3, 3))
        moved[place] = 1e-6
        slopes[place] = (wanted(0.5 + moved) - wanted(0.5 - moved)) / 2e-6
    np.testing.assert_allclose(loss_found, wanted(np.full((3, 3), 0.5)), rtol=1e-5)
    np.testing.assert_allclose(grad_found, slopes, rtol=1e-4)


def test_tensorflows_python_functions_run_in_a_loop_in_order():
    seen = []
    with tf.Graph().as_default():
        start = tf.placeholder(tf.float32, [2])

        def body(i, v):
            with tf.device("/cpu:1"):
                doubled = tf.multiply(v, 2.0)
            noted = tf.py_func(lambda a: (seen.append(a.tolist()), a)[1], [doubled], tf.float32)
            noted.set_shape([2])
            return i + 1, noted

        _, last = tf.while_loop(lambda i, v: i < 3, body, [tf.constant(0), start])
        with tf.Session() as session:
            np.testing.assert_array_equal(session.run(last, {start: [1, 2]}), [8, 16])
    assert seen == [[2, 4], [4, 8], [8, 16]]


@pytest.mark.parametrize("device", ["/cpu:0", "/cpu:1"])
def test_a_run_of_an_operation_ends_when_its_effects_have_happened(device):
    """Nothing is fetched: the last call of the function is what the run waits for."""
    seen, held_back = [], threading.Event()

    def late(a):
        held_back.wait(0.05)  # nobody sets it
        seen.append(a.item())
        return a

    def fail(a):
        raise ValueError("bad luck")

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])

        def loop(function):
            def body(v):
                with tf.device(device):
                    made = tf.py_func(function, [v * 2.0], tf.float32)
                made.set_shape([])
                return made

            return tf.while_loop(lambda v: v < 5.0, body, [x])

        good, bad = loop(late), loop(fail)
        with tf.Session() as session:
            session.run(good.op, {x: 1})
            assert seen == [2, 4, 8]
            with pytest.raises(tf.errors.InvalidArgumentError, match="bad luck"):
                session.run(bad.op, {x: 1})
            assert session.run(good, {x: 2}) == 8

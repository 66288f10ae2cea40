"""Loops and branches: on arrays, traced, in symbols and their files, against MXNet's answers."""

from __future__ import annotations

import json
from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import naive
from oracle import control_cases
from oracle.case import HERE

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet.attribute import AttrScope
from hybridnet.base.errors import FormatError, MXNetError, ParameterError, ShapeError
from hybridnet.ops.host.functions import FUNCTIONS

_ANSWERS = json.loads((HERE / "control.json").read_text())
_EVERY = pytest.mark.parametrize("name", control_cases.CASES)


def _answer(listed):
    shape, values = listed
    return np.array(values, np.float32).reshape(shape)


def _assert_as_mxnet(name, outputs, grads):
    answers = _ANSWERS[name]
    assert len(outputs) == len(answers["outputs"])
    for output, wanted in zip(outputs, answers["outputs"], strict=True):
        np.testing.assert_allclose(output.asnumpy(), _answer(wanted), rtol=2e-5, atol=2e-6)
    for key, wanted in answers["grads"].items() if grads is not None else ():
        np.testing.assert_allclose(
            grads[key].asnumpy(), _answer(wanted), rtol=2e-5, atol=5e-6, err_msg=key
        )


# On arrays these are Python's own loops: a few of the programs show that.
_ON_ARRAYS = ["a_gradient_stopped_on_the_way", "powers", "no_outputs_but_states", "either_way"]


@pytest.mark.parametrize(
    ("name", "traced"),
    [*((name, True) for name in control_cases.CASES), *((name, False) for name in _ON_ARRAYS)],
)
def test_on_arrays(name, traced):
    program, _ = control_cases.CASES[name]
    inputs = {key: nd.array(one) for key, one in control_cases.make_inputs(name).items()}

    def run(**arrays):
        return program(nd, **arrays)

    for one in inputs.values():
        one.attach_grad()
    # Operators one by one compile fast; a traced function is one call all the same.
    with naive():
        with autograd.record():
            outputs = (hn.function(run) if traced else run)(**inputs)
            loss = sum((one * one).sum() for one in outputs)
        loss.backward()
    _assert_as_mxnet(name, outputs, {key: one.grad for key, one in inputs.items()})


@_EVERY
def test_in_symbols_and_files(name):
    program, _ = control_cases.CASES[name]
    inputs = control_cases.make_inputs(name)
    ours = sym.Group(program(sym, **{key: sym.var(key) for key in inputs}))
    of_mxnet = sym.load_json(_ANSWERS[name]["symbol"])
    assert ours.list_arguments() == of_mxnet.list_arguments() == _ANSWERS[name]["arguments"]
    again = sym.load_json(ours.tojson())
    assert again.tojson() == ours.tojson()
    if name in ("running_sum", "rows_of_one_number", "a_loop_in_a_loop"):
        return  # run in other ways here
    for symbol in (of_mxnet, again) if name in _ON_ARRAYS else (of_mxnet,):
        executor = symbol.simple_bind(hn.cpu(), **{key: one.shape for key, one in inputs.items()})
        executor.forward(is_train=symbol is of_mxnet, **inputs)
        if symbol is again:  # outside training: lowered in another way
            _assert_as_mxnet(name, executor.outputs, None)
            continue
        executor.backward([one * 2 for one in executor.outputs])
        _assert_as_mxnet(name, executor.outputs, executor.grad_dict)


def test_all_in_one_traced_training_step():
    x, s, w = (nd.random.uniform(-1, 1, shape=shape) for shape in ((4, 3), (3,), (3,)))

    def loss(x, s):
        outs, last = nd.contrib.foreach(lambda r, u: (nd.tanh(r * w + u), u * w + r), x, s)
        return (outs * outs).sum() + last.sum()

    def step(x, s):
        with autograd.record():
            total = loss(x, s)
        total.backward()
        return total

    grads = []
    for run in (step, hn.function(step)):
        w.attach_grad()
        run(x, s)
        grads.append(w.grad.asnumpy())
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-5)


def test_the_gradient_of_a_gradient():
    def program(v, u):
        outs, last = nd.contrib.foreach(lambda r, s: (r * s, s + r * r), v, u)
        return (outs * outs).sum() + last.sum()

    def reference(v):
        last, outs = jax.lax.scan(lambda s, r: (s + r * r, r * s), 1.0, v)
        return (outs * outs).sum() + last

    v, u = nd.array([0.5, -1.0, 2.0]), nd.ones((1,))
    v.attach_grad()
    for run in (program, hn.function(program)):
        with autograd.record():
            (grad,) = autograd.grad(run(v, u), [v], create_graph=True)
            loss = (grad * grad).sum()
        loss.backward()
        wanted = jax.grad(lambda x: (jax.grad(reference)(x) ** 2).sum())(jnp.array(v.asnumpy()))
        np.testing.assert_allclose(v.grad.asnumpy(), wanted, rtol=1e-5)


def test_a_traced_loop_draws_and_overwrites_as_one_on_arrays():
    total = nd.zeros((2,))

    def program(x):
        def body(row, states):
            total[:] = total + row
            return nd.random.uniform(shape=(2,)) + row, states

        return nd.contrib.foreach(body, x, [])[0]

    x = nd.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    found = []
    for run in (program, hn.function(program)):
        total[:] = 0
        hn.random.seed(7)
        found.append((run(x).asnumpy(), nd.random.uniform(shape=(2,)).asnumpy(), total.asnumpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_array_equal(found[0][2], [9, 12])


def test_dropout_and_batch_norm_in_a_symbol_loop():
    x = sym.var("x")

    def body(row, states):
        normal = sym.BatchNorm(row, fix_gamma=False, momentum=0.5, name="bn")
        return sym.Dropout(normal, p=0.5), states

    outs, _ = sym.contrib.foreach(body, x, [])
    assert outs.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    executor = outs.simple_bind(hn.cpu(), x=(2, 4, 3))
    executor.arg_dict["bn_gamma"][:] = 1
    values = np.random.RandomState(0).randn(2, 4, 3).astype("float32")
    (made,) = executor.forward(is_train=True, x=values)
    normal = (values - values.mean(1, keepdims=True)) / np.sqrt(values.var(1, keepdims=True) + 1e-3)
    kept = made.asnumpy() != 0
    np.testing.assert_allclose(made.asnumpy()[kept], 2 * normal[kept], rtol=1e-4)
    assert 0 < kept.mean() < 1
    means = values.mean(1)
    np.testing.assert_allclose(
        executor.aux_dict["bn_moving_mean"].asnumpy(), (means[0] / 2 + means[1]) / 2, rtol=1e-5
    )
    executor.backward(nd.ones(made.shape))
    beta = executor.grad_dict["bn_beta"].asnumpy()
    np.testing.assert_allclose(beta, 2 * kept.sum((0, 1)), rtol=1e-5)
    before = executor.aux_dict["bn_moving_mean"].asnumpy()
    executor.forward(is_train=False)
    np.testing.assert_array_equal(executor.aux_dict["bn_moving_mean"].asnumpy(), before)


def test_weights_inside_a_loop_are_inferred():
    x, s = sym.var("x"), sym.var("s")

    def body(row, state):
        return sym.FullyConnected(row, num_hidden=3, name="fc") + state, state * 2

    outs, last = sym.contrib.foreach(body, x, s)
    both = sym.Group([outs, last])
    assert both.infer_shape(x=(4, 2, 5)) == (
        [(4, 2, 5), (2, 3), (3, 5), (3,)],
        [(4, 2, 3), (2, 3)],
        [],
    )  # MXNet's answer
    assert set(both.infer_type(x="float64")[0]) == {np.float64}


def test_a_hybrid_block_loops_alike_however_it_is_run():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = gluon.nn.Dense(3, in_units=3, activation="tanh")

        def hybrid_forward(self, F, x, state):
            return F.contrib.foreach(lambda r, s: (self.cell(r + s), self.cell(s)), x, state)

    net = Net()
    net.initialize(init=hn.init.Uniform(0.5))
    x, state = nd.random.uniform(shape=(4, 2, 3)), nd.random.uniform(shape=(2, 3))
    plain = net(x, state)
    net.hybridize()
    traced = net(x, state)
    symbols = sym.Group(net(sym.var("x"), sym.var("state")))
    params = {key: one.data() for key, one in net.collect_params().items()}
    bound = symbols.eval(x=x, state=state, **params)
    for one, two, three in zip(plain, traced, bound, strict=True):
        np.testing.assert_allclose(two.asnumpy(), one.asnumpy(), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(three.asnumpy(), one.asnumpy(), rtol=1e-5, atol=1e-7)


def test_a_loop_on_arrays_that_never_runs():
    outs, last = nd.contrib.while_loop(
        lambda i: i < 0, lambda i: (i, i + 1), nd.array([2.0]), max_iterations=3
    )
    assert outs == []
    assert last.asscalar() == 2
    run = hn.function(
        lambda i: nd.contrib.while_loop(lambda i: i < 0, lambda i: (i, i + 1), i, max_iterations=3)
    )
    outs, last = run(nd.array([2.0]))
    np.testing.assert_array_equal(outs.asnumpy(), np.zeros((3, 1)))
    assert last.asscalar() == 2


def _fe(**replaced):
    arguments = {
        "body": lambda row, state: (row, state),
        "data": nd.ones((3, 2)),
        "init_states": nd.ones((2,)),
        **replaced,
    }
    return nd.contrib.foreach(**arguments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: _fe(data=5), ParameterError, "data must be a NDArray or .nested. lists"),
        (lambda: _fe(data=[]), ShapeError, "the same number of rows, at least 1, got no array"),
        (lambda: _fe(data=[nd.ones((2,)), nd.ones((3,))]), ShapeError, "same number of rows"),
        (lambda: _fe(body=lambda row, state: row), ParameterError, "must return a pair"),
        (lambda: _fe(body=lambda row, state: (row, [])), ParameterError, "as many states as it"),
        (lambda: _fe(body=lambda row, state: (5, state)), ParameterError, "outputs must be a NDA"),
        (
            lambda: nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i), nd.ones(1)),
            ParameterError,
            "max_iterations should be specified",
        ),
        (
            lambda: nd.contrib.while_loop(lambda: 1, lambda: ([], []), [], max_iterations=1),
            ParameterError,
            "loop_vars should contain at least one",
        ),
        (
            lambda: hn.function(lambda x: _fe(body=lambda r, s: (r, s + x), init_states=x[0]))(
                nd.ones((3, 2))
            ),
            ShapeError,
            r"state 0 must keep its shape and dtype .*begins as float32\[2\].*float32\[3,2\]",
        ),
        (
            lambda: hn.function(lambda x: nd.contrib.cond(x.sum() > 0, lambda: x, lambda: x.sum()))(
                nd.ones((3,))
            ),
            ShapeError,
            "then_func and else_func must give outputs of the same shapes",
        ),
        (
            lambda: hn.function(lambda x: nd.contrib.cond(x > 0, lambda: x, lambda: x))(
                nd.ones((3,))
            ),
            ShapeError,
            "pred must have one element",
        ),
        (
            lambda: sym.contrib.foreach(lambda r, s: (r, s), nd.ones((3,)), []),
            ParameterError,
            "data must be a Symbol",
        ),
        (
            lambda: sym.contrib.cond(True, lambda: sym.var("x"), lambda: sym.var("x")),
            ParameterError,
            "pred must be a Symbol of one output",
        ),
        (
            lambda: sym.contrib.cond(
                sym.var("p"), lambda: [sym.var("x")] * 2, lambda: sym.var("x")
            ),
            ParameterError,
            "must return the same number of symbols",
        ),
    ],
)
def test_misuse_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_body_cannot_overwrite_its_arguments_in_a_trace():
    def body(row, state):
        state += row
        return row, state

    run = hn.function(lambda x: nd.contrib.foreach(body, x, nd.zeros((2,))))
    with pytest.raises(MXNetError, match="cannot overwrite what it is given"):
        run(nd.ones((3, 2)))


def test_files_that_do_not_fit_are_refused():
    text = json.loads(_ANSWERS["powers"]["symbol"])
    loop = next(node for node in text["nodes"] if node["op"] == "_while_loop")

    def refused(message):
        with pytest.raises(FormatError, match=message):
            sym.load_json(json.dumps(text))

    attrs = dict(loop["attrs"])
    for key, value in [
        ("func_var_locs", "[0, 99]"),
        ("cond_input_locs", "[]"),
        ("num_out_data", "7"),
        ("max_iterations", "many"),
        ("func_input_locs", "(1"),
    ]:
        loop["attrs"] = {**attrs, key: value}
        refused("_while_loop0")
    loop["attrs"] = attrs
    inside = loop["subgraphs"]
    loop["subgraphs"] = inside[:1]
    refused("needs 2 subgraphs, got 1")
    del loop["subgraphs"]
    refused("needs a list 'subgraphs', got nothing")


def test_an_unused_state_is_saved_as_if_it_were_read():
    """MXNet's files say where each state goes inside."""
    outs, last = sym.contrib.foreach(lambda r, s: (r * 2, r), sym.var("x"), sym.var("s"))
    loaded = sym.load_json(sym.Group([outs, last]).tojson())
    x = nd.array([[1, 2], [3, 4]])
    found = loaded.eval(x=x, s=nd.zeros((2,)))
    assert [array.asnumpy().tolist() for array in found] == [[[2, 4], [6, 8]], [3, 4]]


def test_subgraphs_are_named_by_number(monkeypatch):
    names = defaultdict(int)
    monkeypatch.setattr(AttrScope, "_subgraph_names", names)

    class Choice(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.contrib.cond(x > 0, lambda: x * 2, lambda: x * 3, name="mine")

    for value in (1.0, -1.0):
        block = Choice()
        block.hybridize()
        assert block(nd.array([value])).asscalar() == value * (2 if value > 0 else 3)
    assert names == {"mine_pred": 2, "mine_then": 2, "mine_else": 2}
    outs, _ = sym.contrib.foreach(lambda row, s: (row + s, s * 2), sym.var("x"), sym.var("s"))
    assert '"__subgraph_name__": "foreach0"' in outs.tojson()
    assert names["foreach"] == 1


def test_rows_behind_the_last_step_cost_nothing_each():
    """On arrays they are one array of zeros, and a graph on the host ends with its condition."""
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    steps = []

    def body(i, s):
        steps.append(i)
        return s * x, (i + 1, s * x)

    with autograd.record():
        rows, (count, last) = nd.contrib.while_loop(
            lambda i, s: i < 3, body, (nd.zeros((1,)), nd.ones((2,))), max_iterations=5000
        )
        total = rows.sum() + last.sum()
    total.backward()
    assert rows.shape == (5000, 2)
    np.testing.assert_allclose(rows[:4].asnumpy(), [[1, 2], [1, 4], [1, 8], [0, 0]])
    assert (len(steps), count.asscalar()) == (3, 3)
    np.testing.assert_allclose(x.grad.asnumpy(), [1 + 2 + 3 + 3, 1 + 4 + 12 + 12])

    ran = []

    def step(state, _):
        ran.append(state)
        return (state[0] + 1 if len(ran) < 4 else state[0],), state[0] * 2

    start = (np.zeros(2, "float32"),)
    (end,), found = FUNCTIONS["lax.scan"](step, start, None, length=100)
    assert len(ran) == 4
    assert end.tolist() == [3, 3]
    assert found[:, 0].tolist() == [0, 2, 4, *[6] * 97]

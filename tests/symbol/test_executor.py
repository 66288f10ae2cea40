"""Executors: binding, passes, gradients, and that a training step is one program."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import numeric_gradient, settle
from oracle import lenet_setup
from places import ORACLE

import hybridnet as mx
from hybridnet import autograd, nd, sym
from hybridnet.base import NDArrayHandle, py_str
from hybridnet.executor import Executor
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import recorder

CPU = mx.cpu()


def dense():
    return sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")


def dense_arrays(seed=0):
    random = np.random.default_rng(seed)
    shapes = {"data": (2, 5), "fc_weight": (3, 5), "fc_bias": (3,)}
    return {name: nd.array(random.standard_normal(shape)) for name, shape in shapes.items()}


# -- the example that all front ends share ---------------------------------------------------


def test_seed_example():
    """f = (exp(x1) + x2) (x2 + 1) at (3, 2)."""
    x1, x2 = sym.var("x1"), sym.var("x2")
    f = (sym.exp(x1) + x2) * (x2 + 1)
    executor = f.simple_bind(CPU, x1=(1,), x2=(1,))
    (out,) = executor.forward(is_train=True, x1=nd.array([3.0]), x2=np.array([2.0]))
    executor.backward()
    assert out.asscalar() == pytest.approx(66.2566, abs=1e-4)
    assert executor.grad_dict["x1"].asscalar() == pytest.approx(60.2566, abs=1e-4)
    assert executor.grad_dict["x2"].asscalar() == pytest.approx(25.0855, abs=1e-4)
    values = {"x1": nd.array([3.0]), "x2": nd.array([2.0])}
    gradients = f.gradient(["x1", "x2"]).eval(**values)
    assert [one.asscalar() for one in gradients] == pytest.approx([60.2566, 25.0855], abs=1e-4)


# -- what an executor holds ------------------------------------------------------------------


def test_arrays_by_order_and_by_name():
    net = sym.BatchNorm(dense(), name="bn")
    executor = net.simple_bind(CPU, data=(4, 5))
    assert isinstance(executor, Executor)
    assert list(executor.arg_dict) == net.list_arguments()
    assert list(executor.aux_dict) == net.list_auxiliary_states()
    assert executor.arg_arrays[0] is executor.arg_dict["data"]
    assert executor.grad_arrays[1] is executor.grad_dict["fc_weight"]
    assert executor.aux_arrays[0] is executor.aux_dict["bn_moving_mean"]
    assert [one.shape for one in executor.outputs] == [(4, 3)]
    assert list(executor.output_dict) == ["bn_output"]
    for one in (*executor.arg_arrays, *executor.grad_arrays, *executor.aux_arrays):
        assert not one.asnumpy().any()


def test_outputs_are_the_same_arrays_at_each_pass():
    executor = dense().bind(CPU, dense_arrays())
    (before,) = executor.outputs
    assert executor.forward()[0] is before
    first = before.asnumpy()
    executor.forward(data=2 * executor.arg_dict["data"])
    assert executor.outputs[0] is before
    assert not np.allclose(before.asnumpy(), first)


def test_dtypes_follow_and_can_be_given():
    net = dense()
    half = net.simple_bind(CPU, type_dict={"data": "float16"}, data=(2, 5))
    assert {one.dtype for one in half.arg_arrays} == {np.float16}
    assert half.forward()[0].dtype is np.float16
    plain = net.simple_bind(CPU, data=(2, 5))
    assert {one.dtype for one in plain.arg_arrays} == {np.float32}


def test_requests_for_gradients():
    def held(grad_req):
        executor = dense().simple_bind(CPU, grad_req=grad_req, data=(2, 5))
        return [one is not None for one in executor.grad_arrays]

    assert held("null") == [False, False, False]
    assert held("write") == [True, True, True]
    assert held(["null", "write", "add"]) == [False, True, True]
    assert held({"fc_weight": "write"}) == [False, True, False]


# -- forward and backward --------------------------------------------------------------------


def test_gradients_are_numeric_gradients():
    arrays = {name: one.astype("float64") for name, one in dense_arrays().items()}
    net = sym.tanh(dense())
    grads = {name: one.zeros_like() for name, one in arrays.items()}
    executor = net.bind(CPU, arrays, grads)
    head = np.random.default_rng(1).standard_normal((2, 3))
    executor.forward(is_train=True)
    executor.backward(nd.array(head, dtype="float64"))

    def loss(data, weight, bias):
        return (np.tanh(data @ weight.T + bias) * head).sum()

    values = [one.asnumpy() for one in arrays.values()]
    for which, grad in enumerate(grads.values()):
        wanted = numeric_gradient(loss, values, which)
        np.testing.assert_allclose(grad.asnumpy(), wanted, rtol=1e-6, atol=1e-8)


def test_gradients_are_written_or_added():
    arrays = dense_arrays()
    grads = {name: one.ones_like() for name, one in arrays.items()}
    req = {"data": "write", "fc_weight": "add", "fc_bias": "null"}
    executor = dense().bind(CPU, arrays, grads, req)
    data, weight = arrays["data"].asnumpy(), arrays["fc_weight"].asnumpy()
    for count in (1, 2):
        executor.forward(is_train=True)
        executor.backward()
        np.testing.assert_allclose(grads["data"].asnumpy(), np.ones((2, 3)) @ weight, rtol=1e-5)
        wanted = 1 + count * np.ones((3, 2)) @ data
        np.testing.assert_allclose(grads["fc_weight"].asnumpy(), wanted, rtol=1e-5)
        np.testing.assert_array_equal(grads["fc_bias"].asnumpy(), [1, 1, 1])


def test_head_gradients_in_each_form():
    head = nd.array([[1, 2, 3], [4, 5, 6]])
    executor = dense().bind(CPU, dense_arrays(), {"fc_bias": nd.zeros((3,))})
    # (Gradients of hidden outputs, which MXNet's programs give too, are ignored.)
    for given in (head, [head], [head, head], {"fc_output": head}, head.astype("float64")):
        executor.forward(is_train=True)
        executor.backward(given)
        np.testing.assert_array_equal(executor.grad_dict["fc_bias"].asnumpy(), [5, 7, 9])
    executor.forward(is_train=True)
    for wrong, message in (
        (head.T, r"must have its shape \(2, 3\), got \(3, 2\)"),
        ([], "each of the outputs fc_output, got 0"),
        ([np.ones((2, 3))], "must be an NDArray, got ndarray"),
    ):
        with pytest.raises(mx.MXNetError, match=message):
            executor.backward(wrong)


def test_loss_layers_ignore_head_gradients():
    net = sym.SoftmaxOutput(sym.var("data"), name="softmax")
    scores, label = nd.array([[1.0, 2.0, 0.5]]), nd.array([1])
    softmax = np.exp(scores.asnumpy()) / np.exp(scores.asnumpy()).sum()
    for head in (None, nd.array([[10, 20, 30]])):
        grad = nd.zeros((1, 3))
        executor = net.bind(CPU, [scores, label], {"data": grad})
        executor.forward(is_train=True)
        executor.backward(head)
        np.testing.assert_allclose(grad.asnumpy(), softmax - [[0, 1, 0]], rtol=1e-5)


def test_an_argument_that_nothing_depends_on_gets_zeros():
    x, y = sym.var("x"), sym.var("y")
    net = sym.Group([x * 2, sym.BlockGrad(y)])
    grads = {"x": nd.ones((2,)), "y": nd.ones((2,))}
    executor = net.bind(CPU, {"x": nd.ones((2,)), "y": nd.ones((2,))}, grads)
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_array_equal(grads["x"].asnumpy(), [2, 2])
    np.testing.assert_array_equal(grads["y"].asnumpy(), [0, 0])


def test_several_outputs_of_several_dtypes():
    x = sym.var("x")
    net = sym.Group([x * 3, sym.cast(x, dtype="int32"), x])
    grad = nd.zeros((2,))
    executor = net.bind(CPU, {"x": nd.array([1.5, 2.5])}, {"x": grad})
    outs = executor.forward(is_train=True)
    assert [one.dtype for one in outs] == [np.float32, np.int32, np.float32]
    executor.backward([nd.array([1, 10]), None, nd.array([100, 1000])])
    np.testing.assert_array_equal(grad.asnumpy(), [103, 1030])


def test_backward_again_computes_the_forward_pass_anew():
    arrays = dense_arrays()
    grad = nd.zeros((3, 5))
    executor = dense().bind(CPU, arrays, {"fc_weight": grad}, "add")
    executor.forward(is_train=True)
    executor.backward()
    once = grad.asnumpy()
    executor.backward()
    np.testing.assert_allclose(grad.asnumpy(), 2 * once, rtol=1e-6)
    executor.forward(is_train=False)
    executor.backward()
    np.testing.assert_allclose(grad.asnumpy(), 3 * once, rtol=1e-6)


def test_backward_again_has_the_numbers_that_were_drawn():
    net = sym.Dropout(sym.var("x"), p=0.5)
    executor = net.bind(CPU, {"x": nd.ones((8,))}, {"x": nd.zeros((8,))})
    (out,) = executor.forward(is_train=True)
    executor.backward()
    # Dropout's gradient is its mask, which is what it made of ones.
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), out.asnumpy())
    executor.backward(nd.full((8,), 3))
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), 3 * out.asnumpy())
    executor.forward(is_train=False)
    with pytest.raises(mx.MXNetError, match=r"call forward\(is_train=True\) first"):
        executor.backward()
    executor.backward(nd.full((8,), 3), is_train=False)  # where nothing is dropped
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.full((8,), 3))


def test_gradients_of_whole_numbers_are_zeros():
    net = sym.softmax(sym.var("x"), sym.var("length"), use_length=True, axis=1)
    arrays = {"x": nd.ones((2, 3)), "length": nd.array([1, 2], dtype="int32")}
    grads = {"x": nd.ones((2, 3)), "length": nd.array([7, 7], dtype="int32")}
    executor = net.bind(CPU, arrays, grads)
    executor.forward(is_train=True)
    executor.backward(nd.ones((2, 3)))
    assert grads["length"].asnumpy().tolist() == [0, 0]


def test_backward_uses_the_values_of_the_forward_pass():
    x = nd.array([2.0])
    grad = nd.zeros((1,))
    executor = (sym.var("x") ** 2).bind(CPU, {"x": x}, {"x": grad})
    executor.forward(is_train=True)
    x[:] = 50
    executor.backward()
    assert grad.asscalar() == 4


def test_auxiliary_states_move_in_training_only():
    net = sym.BatchNorm(sym.var("data"), name="bn", momentum=0.5, fix_gamma=False)
    executor = net.simple_bind(CPU, data=(4, 2))
    data = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.float32)
    executor.aux_dict["bn_moving_var"][:] = 1
    executor.arg_dict["bn_gamma"][:] = 1
    np.testing.assert_allclose(executor.forward(data=data)[0].asnumpy(), data, rtol=1e-3)
    assert not executor.aux_dict["bn_moving_mean"].asnumpy().any()
    executor.forward(is_train=True)
    assert not executor.aux_dict["bn_moving_mean"].asnumpy().any()
    executor.backward()
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), [2, 2.5], rtol=1e-6)
    np.testing.assert_allclose(executor.aux_dict["bn_moving_var"].asnumpy(), [3, 3], rtol=1e-6)
    executor.backward()  # computes anew
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), [3, 3.75], rtol=1e-6)


def test_random_numbers_follow_the_seed_and_the_order():
    x = sym.var("x")
    net = sym.Group([sym.random.uniform(shape=(3,)), sym.Dropout(x), sym.random.normal(shape=(3,))])
    executor = net.bind(CPU, {"x": nd.ones((4,))})

    def draw():
        return np.concatenate([one.asnumpy() for one in executor.forward(is_train=True)])

    mx.random.seed(7)
    first, second = draw(), draw()
    mx.random.seed(7)
    np.testing.assert_array_equal(draw(), first)
    np.testing.assert_array_equal(draw(), second)
    assert not np.allclose(first, second)


def test_random_numbers_are_those_of_eager_operators():
    executor = sym.random.uniform(0, 2, shape=(5,)).bind(CPU, {})
    mx.random.seed(3)
    got = [executor.forward()[0].asnumpy(), nd.random.uniform(0, 2, (5,)).asnumpy()]
    mx.random.seed(3)
    np.testing.assert_array_equal(got, [nd.random.uniform(0, 2, (5,)).asnumpy() for _ in range(2)])


def test_shapes_with_a_dimension_of_zero_run():
    executor = (sym.exp(sym.var("x")) * 2).bind(CPU, {"x": nd.array(np.zeros((0, 5)))})
    assert executor.forward()[0].asnumpy().shape == (0, 5)


def test_the_tape_does_not_see_executors():
    arrays = dense_arrays()
    arrays["data"].attach_grad()
    executor = dense().bind(CPU, arrays)
    with autograd.record():
        out = executor.forward(is_train=True)[0]
    with pytest.raises(mx.MXNetError):
        out.backward()


def test_eval():
    arrays = dense_arrays()
    (out,) = dense().eval(**arrays)
    data, weight, bias = (one.asnumpy() for one in arrays.values())
    np.testing.assert_allclose(out.asnumpy(), data @ weight.T + bias, rtol=1e-5)
    with pytest.raises(mx.MXNetError, match="fc_weight, fc_bias is missing in args"):
        dense().eval(data=arrays["data"])


def test_a_traced_function_may_run_an_executor():
    executor = (sym.var("x") * sym.var("w")).simple_bind(CPU, x=(2,), w=(2,))
    executor.arg_dict["w"][:] = 2

    @mx.function
    def step(x):
        (out,) = executor.forward(is_train=True, x=x)
        executor.backward()
        executor.arg_dict["w"][:] = executor.arg_dict["w"] + executor.grad_dict["w"]
        return out

    weight = np.array([2.0, 2.0])
    for data in ([1.0, 3.0], [5.0, 7.0]):
        out = step(nd.array(data)).asnumpy()
        np.testing.assert_array_equal(out, weight * data)
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), weight * data)
        weight = weight + data
        np.testing.assert_array_equal(executor.arg_dict["w"].asnumpy(), weight)


# -- misuse ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"foo": np.ones(1)}, TypeError, "no argument 'foo'; it has data, fc_weight, fc_bias"),
        ({"data": np.ones((3, 5))}, ValueError, r"data must have shape \(2, 5\), got \(3, 5\)"),
        ({"data": 3}, ValueError, "data must be an NDArray or a NumPy array, got int"),
    ],
)
def test_forward_is_given_what_fits(given, kind, message):
    executor = dense().simple_bind(CPU, data=(2, 5))
    with pytest.raises(kind, match=message):
        executor.forward(**given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"args": {"data": nd.ones((2, 5))}}, "fc_weight, fc_bias is missing in args"),
        ({"args": [nd.ones((2, 5))]}, "args must hold 3 arrays, for data, .* got 1"),
        ({"args": [1, 2, 3]}, r"args\['data'\] must be an NDArray, got int"),
        ({"args": 3}, "args must be a list of NDArrays or a dict, got int"),
        ({"args_grad": [nd.zeros((2, 5))]}, "args_grad must hold 3 arrays"),
        ({"args_grad": {"data": nd.zeros((1, 5))}}, r"args_grad\['data'\] must have the shape"),
        ({"grad_req": "foo"}, "grad_req of data must be 'write', 'add' or 'null', got 'foo'"),
        ({"grad_req": ["write"]}, "grad_req must hold 3 entries"),
        ({"aux_states": [nd.ones((1,))]}, "aux_states must hold 0 arrays"),
        ({"group2ctx": {"dev1": "cpu(1)"}}, "group2ctx must give a Context for each group"),
        ({"ctx": "cpu"}, "ctx must be a Context"),
        ({"ctx": mx.cpu(1)}, r"args\['data'\] must be on cpu\(1\), got cpu\(0\)"),
    ],
)
def test_bind_is_given_what_fits(change, message):
    with pytest.raises(mx.MXNetError, match=message):
        dense().bind(**{"ctx": CPU, "args": dense_arrays(), **change})


_PLACED = r"node 'fc' \(FullyConnected, made at .*test_executor.py:\d+\): .* must have shape"


def test_shapes_that_do_not_fit_name_the_node_and_its_line():
    arrays = {**dense_arrays(), "fc_weight": nd.ones((3, 4))}
    with pytest.raises(mx.MXNetError, match=_PLACED):
        dense().bind(CPU, arrays)


def test_simple_bind_says_what_is_missing():
    with pytest.raises(RuntimeError, match="shapes of data, fc_weight, fc_bias cannot be told"):
        dense().simple_bind(CPU)
    # As in MXNet, so that one call serves networks with and without a loss.
    assert "softmax_label" not in dense().simple_bind(CPU, data=(2, 5), softmax_label=(2,)).arg_dict


def test_variables_need_names_of_their_own():
    both = sym.var("x") + sym.var("x")
    for bind in (lambda: both.simple_bind(CPU, x=(2,)), lambda: both.bind(CPU, {"x": nd.ones(2)})):
        with pytest.raises(mx.MXNetError, match="several variables named x"):
            bind()


# -- parameters and shapes -------------------------------------------------------------------


def test_parameters_are_copied_and_cast():
    executor = sym.BatchNorm(dense(), name="bn").simple_bind(CPU, data=(2, 5))
    weight = nd.array(np.ones((3, 5)), dtype="float64")
    executor.copy_params_from({"fc_weight": weight}, {"bn_moving_var": np.full(3, 2.0)})
    weight[:] = 7
    assert executor.arg_dict["fc_weight"].asnumpy().tolist() == [[1] * 5] * 3
    assert executor.aux_dict["bn_moving_var"].asnumpy().tolist() == [2] * 3
    with pytest.raises(ValueError, match="no argument 'zz'"):
        executor.copy_params_from({"zz": weight})
    with pytest.raises(ValueError, match="no auxiliary state 'zz'"):
        executor.copy_params_from({}, {"zz": weight})
    executor.copy_params_from({"zz": weight}, {"yy": weight}, allow_extra_params=True)
    with pytest.raises(ValueError, match=r"fc_weight must have shape \(3, 5\), got \(5, 3\)"):
        executor.copy_params_from({"fc_weight": weight.T})


def test_reshape_shares_what_keeps_its_shape():
    arrays = dense_arrays()
    executor = dense().bind(CPU, arrays, {"fc_bias": nd.zeros((3,))})
    small = executor.reshape(data=(1, 5))
    assert small.arg_dict["fc_weight"] is arrays["fc_weight"]
    assert small.grad_dict["fc_bias"] is executor.grad_dict["fc_bias"]
    assert small.forward(is_train=True)[0].shape == (1, 3)
    with pytest.raises(mx.MXNetError, match=r"data would grow .* allow_up_sizing=True"):
        executor.reshape(data=(4, 5))
    assert executor.reshape(allow_up_sizing=True, data=(4, 5)).forward()[0].shape == (4, 3)
    with pytest.raises(mx.MXNetError, match=r"fc_weight would change from \(3, 5\) to \(3, 4\)"):
        executor.reshape(data=(2, 4))
    assert executor.reshape(partial_shaping=True, data=(2, 4)).forward()[0].shape == (2, 3)
    with pytest.raises(mx.MXNetError, match="no argument 'foo'"):
        executor.reshape(foo=(1,))


def test_a_symbol_bound_again_compiles_nothing_again(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_HOST", "off")  # nor does the clock have single operators run

    def build(scale):
        return sym.elemwise_add(sym.tanh(dense()) * scale, sym.var("more"), name="whole")

    net = build(2)

    def run(executor):
        executor.forward(is_train=True)
        executor.backward()
        return executor.grad_dict["fc_weight"].asnumpy()

    first = net.simple_bind(CPU, data=(2, 5))
    again = net.simple_bind(CPU, data=(2, 5))
    alike = build(3).simple_bind(CPU, data=(2, 5))  # numbers are inputs of the program
    small = first.reshape(partial_shaping=True, data=(1, 5))
    reshaped = small.reshape(partial_shaping=True, allow_up_sizing=True, data=(2, 5))
    recorder.flush()  # the zeros that they begin with
    for _ in range(4):
        run(first)
    before = cache.statistics()
    for executor in (again, alike, reshaped):
        run(executor)
    after = cache.statistics()
    assert (after.size, after.compilations) == (before.size, before.compilations)


def test_sharing_between_executors():
    first = dense().simple_bind(CPU, data=(2, 5))
    names = ["fc_weight", "fc_bias"]
    buffer = {}
    shared = {"shared_exec": first, "shared_arg_names": names, "shared_buffer": buffer}
    second = dense().simple_bind(CPU, data=(4, 5), **shared)
    assert second.arg_dict["fc_weight"] is first.arg_dict["fc_weight"]
    assert second.grad_dict["fc_weight"] is first.grad_dict["fc_weight"]
    assert buffer == {"data": second.arg_dict["data"]}
    third = dense().simple_bind(CPU, data=(4, 5), **shared)
    assert third.arg_dict["data"] is second.arg_dict["data"]
    with pytest.raises(mx.MXNetError, match=r"fc_weight must have shape \(3, 6\) in shared_exec"):
        dense().simple_bind(CPU, data=(4, 6), **shared)


# -- looking inside --------------------------------------------------------------------------


def test_a_monitor_sees_every_node():
    seen = []
    net = sym.SoftmaxOutput(sym.relu(dense(), name="act"), name="softmax")
    executor = net.bind(CPU, {**dense_arrays(), "softmax_label": nd.zeros((2,))})
    executor.set_monitor_callback(lambda name, array: seen.append((name, array.shape)))
    outs = executor.forward(is_train=True)
    assert seen == [("fc_output", (2, 3)), ("act_output", (2, 3)), ("softmax_output", (2, 3))]
    assert [one.shape for one in outs] == [(2, 3)]
    seen.clear()
    executor.set_monitor_callback(lambda name, array: seen.append(name), monitor_all=True)
    executor.forward()
    read = ["data", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias"]
    assert seen[:9] == [*read, "fc_output", "act_input0", "act_output"]
    seen.clear()
    other = executor.reshape(data=(1, 5), partial_shaping=True)
    other.forward()
    assert seen[:6] == read
    seen.clear()
    executor.set_monitor_callback(None)
    executor.forward()
    assert not seen


def test_a_monitored_pass_gives_the_same_gradients():
    grads = []
    for monitored in (False, True):
        executor = sym.tanh(dense()).bind(CPU, dense_arrays(), {"fc_weight": nd.zeros((3, 5))})
        if monitored:
            executor.set_monitor_callback(lambda name, array: array.asnumpy())
        executor.forward(is_train=True)
        executor.backward()
        grads.append(executor.grad_dict["fc_weight"].asnumpy())
    np.testing.assert_allclose(*grads, rtol=1e-6)


def test_debug_str_shows_types():
    text = sym.Dropout(dense() * 2).bind(CPU, dense_arrays()).debug_str()
    assert "%4 = FullyConnected(%0, %1, %2, num_hidden=3, name='fc') : float32[2,3]" in text
    assert "%3 = input('random_state') : uint32[3]" in text


# -- one program a step ----------------------------------------------------------------------


def lenet():
    net = sym.var("data")
    for index, filters in ((1, 20), (2, 50)):
        net = sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{index}")
        net = sym.Activation(net, act_type="tanh")
        net = sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = sym.FullyConnected(sym.Flatten(net), num_hidden=500, name="fc1")
    net = sym.FullyConnected(sym.Activation(net, act_type="tanh"), num_hidden=10, name="fc2")
    return sym.SoftmaxOutput(net, name="softmax")


class Training:
    """LeNet's training with an executor and the operator ``sgd_mom_update``."""

    def __init__(self):
        wanted = dict.fromkeys(lenet_setup.SHAPES, "write")
        size = lenet_setup.BATCH_SIZE
        shapes = {"data": (size, 1, 28, 28), "softmax_label": (size,)}
        self.executor = lenet().simple_bind(CPU, grad_req=wanted, **shapes)
        self.executor.copy_params_from(lenet_setup.initial_weights())
        self.momenta = {name: nd.zeros(shape) for name, shape in lenet_setup.SHAPES.items()}
        folder = Path(mx.__file__).parent / "data" / "mnist-5k"
        self.digits = lenet_setup.digits(folder, "train")

    def step(self, number):
        data, label = lenet_setup.batch(*self.digits, number)
        self.executor.forward(is_train=True, data=data, softmax_label=label)
        self.executor.backward()
        for name, momentum in self.momenta.items():
            weight = self.executor.arg_dict[name]
            nd.sgd_mom_update(
                weight,
                self.executor.grad_dict[name],
                momentum,
                out=weight,
                lr=lenet_setup.LEARNING_RATE,
                momentum=lenet_setup.MOMENTUM,
                wd=lenet_setup.WEIGHT_DECAY,
                rescale_grad=1 / lenet_setup.BATCH_SIZE,
            )
        return label


@pytest.fixture
def launched(monkeypatch):
    """The codes that are launched, single operators left out."""
    codes = []
    find = cache.next

    def watched(code):
        if len(code.instructions) > 1:
            codes.append(code)
        return find(code)

    monkeypatch.setattr(cache, "next", watched)
    return codes


def test_a_step_is_one_program_without_residuals(launched):
    net = sym.SoftmaxOutput(sym.tanh(dense()), name="softmax")
    parameters = ("fc_weight", "fc_bias")
    executor = net.simple_bind(CPU, dict.fromkeys(parameters, "write"), data=(2, 5))
    recorder.flush()  # the zeros that the arrays begin with
    launched.clear()
    for number in range(4):
        executor.forward(is_train=True, data=np.full((2, 5), number), softmax_label=np.ones(2))
        executor.backward()
        for name in parameters:
            weight = executor.arg_dict[name]
            nd.sgd_update(weight, executor.grad_dict[name], out=weight, lr=0.5)
    recorder.flush()
    assert len(launched) == 4
    assert launched[1] == launched[2] == launched[3]
    # The output of the network, and for each parameter its gradient and its new value.
    assert len(launched[1].outputs) == 1 + 2 * len(parameters)
    names = [call.name for call, _ in launched[1].instructions]
    assert names.count("softmax") == names.count("_backward_softmax") == 1
    # The old parameters give their memory to the new ones.
    assert len(launched[1].donated) >= len(parameters)


def test_a_value_read_in_between_makes_two_programs(launched):
    executor = sym.tanh(dense()).simple_bind(CPU, data=(2, 5))
    recorder.flush()
    launched.clear()
    for _ in range(3):
        executor.forward(is_train=True)[0].asnumpy()
        executor.backward()
        recorder.flush()
    # Backward, each time; forward was launched before it, as a single instruction.
    assert len(launched) == 3


@pytest.mark.slow
def test_hot_steps_are_one_dispatch_each():
    training = Training()
    for number in range(6):
        training.step(number)
    settle()
    training.step(0)
    recorder.flush()
    before = cache.statistics()
    for number in range(3):
        training.step(number)
    recorder.flush()
    after = cache.statistics()
    assert (after.hot - before.hot, after.cold - before.cold) == (3, 0)
    assert after.compilations == before.compilations


@pytest.mark.slow
def test_lenet_has_the_losses_of_mxnet():
    wanted = json.loads((ORACLE / "lenet_losses.json").read_text())["losses"]
    training = Training()
    losses = []
    for number in range(lenet_setup.STEPS):
        label = training.step(number).astype(int)
        scores = training.executor.outputs[0].asnumpy()
        losses.append(-np.log(scores[np.arange(len(label)), label]).mean())
    np.testing.assert_allclose(losses, wanted, rtol=1e-4)


# -- sparse arrays ---------------------------------------------------------------------------


def test_sparse_arguments_are_made_dense(caplog):
    """The product of a csr matrix and row-sparse weights; the gradient is row-sparse, too."""
    data, weight = sym.var("data", stype="csr"), sym.var("weight", stype="row_sparse", shape=(4, 2))
    executor = sym.dot(data, weight).simple_bind(CPU, data=(3, 4))
    stored = {name: array.stype for name, array in executor.arg_dict.items()}
    assert stored == {"data": "csr", "weight": "row_sparse"}
    rows = np.array([[0, 1, 0, 0], [0, 0, 0, 2], [0, 3, 0, 0]], np.float32)
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    executor.arg_dict["weight"][:] = nd.array(values)
    for data_array in (nd.array(rows).tostype("csr"), nd.array(rows)):
        (out,) = executor.forward(is_train=True, data=data_array)
        np.testing.assert_array_equal(out.asnumpy(), rows @ values)
    executor.backward(nd.ones((3, 2)))
    grad = executor.grad_dict["weight"]
    assert (grad.stype, grad.indices.asnumpy().tolist()) == ("row_sparse", [1, 3])
    np.testing.assert_array_equal(grad.asnumpy(), rows.T @ np.ones((3, 2)))
    assert len([line for line in caplog.messages if "made dense" in line]) <= 1


def test_storage_types_by_name_and_in_files():
    x = sym.var("x", stype="csr")
    assert x.list_attr() == {"__storage_type__": "2"}
    made = sym.load_json(sym.relu(x).tojson()).simple_bind(CPU, x=(2, 3), grad_req="null")
    assert made.arg_dict["x"].stype == "csr"
    dense_x = sym.relu(x).simple_bind(CPU, x=(2, 3), stype_dict={"x": "default"})
    assert dense_x.arg_dict["x"].stype == "default"
    with pytest.raises(mx.MXNetError, match="must be one of default, row_sparse, csr, got 'coo'"):
        sym.var("x", stype="coo")
    with pytest.raises(mx.MXNetError, match="of x must be one of"):
        sym.relu(x).simple_bind(CPU, x=(2, 3), stype_dict={"x": "coo"})


# -- what is shown of a graph ----------------------------------------------------------------


@pytest.mark.parametrize(("merging", "count"), [("1", 4), ("0", 5)])
def test_equal_expressions_of_the_optimized_symbol(merging, count, monkeypatch):
    monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", merging)
    a, b = sym.var("a"), sym.var("b")
    executor = ((a + b) + (a + b)).simple_bind(CPU, a=(2, 3), b=(2, 3))
    monkeypatch.undo()
    shown = executor.get_optimized_symbol()
    assert len(shown.get_internals()) == count
    (out,) = shown.eval(a=nd.ones((2, 3)), b=nd.ones((2, 3)))
    np.testing.assert_array_equal(out.asnumpy(), np.full((2, 3), 4))


def test_planned_memory_counts_what_the_gradient_needs():
    squared = sym.var("x")
    for _ in range(4):
        squared = squared * squared

    def megabytes(symbol, grad_req):
        text = symbol.simple_bind(CPU, x=(1 << 20,), grad_req=grad_req).debug_str()
        return int(re.search(r"Total (\d+) MB allocated", text).group(1))

    for_nothing = megabytes(sym.BlockGrad(squared), "write")
    assert for_nothing == megabytes(squared, "null") < megabytes(squared, "write")


def test_sizes_of_constants_follow_from_the_graph():
    turned = sym.transpose(sym.ones((3, -1))) + sym.ones((2, -1))
    (out,) = turned.bind(CPU, {}).forward()
    np.testing.assert_array_equal(out.asnumpy(), np.full((2, 3), 2))
    with pytest.raises(mx.MXNetError, match=r"the sizes -1 of shape \(3, -1\) do not follow"):
        sym.relu(sym.ones((3, -1))).bind(CPU, {})


@pytest.mark.parametrize("source", ["int32", "float32", "float16"])
@pytest.mark.parametrize("target", ["int32", "float32", "float16"])
def test_what_is_cast_has_its_gradient_cast_back(source, target):
    executor = sym.Cast(sym.var("x", dtype=source), dtype=target).simple_bind(CPU, x=(4,))
    values = np.array([-3.6, 0, 2.2, 7.5])
    executor.arg_dict["x"][:] = values
    assert executor.forward(is_train=True)[0].dtype == np.dtype(target)
    executor.backward(nd.array(values, dtype=target))
    expected = values.astype(target).astype(source)
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), expected)


def test_gradients_of_what_has_none_may_have_any_shape():
    executor = sym.argmax(sym.var("x"), axis=1, keepdims=True).simple_bind(CPU, x=(2, 3))
    executor.forward(is_train=True)
    executor.backward(nd.ones((2, 3)))
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.zeros((2, 3)))
    executor = sym.relu(sym.var("x")).simple_bind(CPU, x=(2, 3))
    executor.forward(is_train=True)
    with pytest.raises(mx.base.MXNetError, match="must have its shape"):
        executor.backward(nd.ones((2, 1)))


def test_gradients_of_what_has_none_may_be_left_out_at_the_end():
    a = sym.var("a")
    outputs = sym.Group([a * 2, sym.BlockGrad(a * a, name="stopped")])
    executor = outputs.bind(CPU, {"a": nd.ones((2,))}, {"a": nd.zeros((2,))})
    executor.forward(is_train=True)
    executor.backward([nd.array([1, 3])])
    np.testing.assert_array_equal(executor.grad_dict["a"].asnumpy(), [2, 6])
    other = sym.Group([a * 2, sym.BlockGrad(a), a * 3])
    executor = other.bind(CPU, {"a": nd.ones((2,))}, {"a": nd.zeros((2,))})
    executor.forward(is_train=True)
    with pytest.raises(mx.base.MXNetError, match=r"_mulscalar\d+_output, _mulsc.*got 2"):
        executor.backward([nd.ones((2,)), nd.ones((2,))])


def test_what_is_always_drawn_is_kept_for_a_backward_outside_training():
    executor = sym.Dropout(sym.var("x"), p=0.5, mode="always").simple_bind(CPU, x=(64,))
    executor.arg_dict["x"][:] = 1
    for is_train in (True, False):
        made = executor.forward(is_train=is_train)[0].asnumpy()
        assert set(made) == {0, 2}
        executor.backward([nd.ones((64,))], is_train=is_train)
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), made)


# -- csr data that is only multiplied ------------------------------------------------------------


def factorized(columns):
    """A factorization machine's products: of x, of its squares, and of its transpose."""
    x, across = sym.var("x", stype="csr"), sym.var("across", shape=(3, 2))
    w = sym.var("w", shape=(columns, 2), stype="row_sparse")
    v = sym.var("v", shape=(4, columns))
    outputs = [
        sym.dot(x, w),
        sym.dot(sym.square(x), v, transpose_b=True),
        sym.dot(x, across, transpose_a=True).sum(),
    ]
    return sym.Group(outputs)


@pytest.mark.slow
def test_csr_data_is_multiplied_by_its_parts():
    """Outputs and gradients are those of the dense matrix; rows of any number of elements."""
    symbol, random = factorized(50), np.random.default_rng(0)
    requests = dict.fromkeys(["w", "v", "across"], "write")
    sparse = symbol.simple_bind(CPU, x=(3, 50), grad_req=requests)
    plain = symbol.simple_bind(CPU, x=(3, 50), grad_req=requests, stype_dict={"x": "default"})
    assert sparse.arg_dict["x"].stype == "csr" and plain.arg_dict["x"].stype == "default"
    for executor in (sparse, plain):
        for name, seed in (("w", 1), ("v", 2), ("across", 3)):
            target = executor.arg_dict[name]
            target[:] = nd.array(np.random.default_rng(seed).normal(size=target.shape))
    for stored in (7, 0, 12, 12):
        x = np.zeros((3, 50), np.float32)
        x.flat[random.choice(150, stored, replace=False)] = random.normal(size=stored)
        found = []
        for executor in (sparse, plain):
            x_array = nd.array(x)
            executor.forward(True, x=x_array.tostype(executor.arg_dict["x"].stype))
            executor.backward([nd.ones(out.shape) for out in executor.outputs])
            grads = [executor.grad_dict[name] for name in requests]
            found.append([out.asnumpy() for out in (*executor.outputs, *grads)])
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    seen = []
    sparse.set_monitor_callback(lambda name, value: seen.append(name))
    watched = [out.asnumpy() for out in sparse.forward()]
    assert any(name.startswith("square") for name in seen)
    sparse.set_monitor_callback(None)
    for one, other in zip(watched, sparse.forward(), strict=True):
        np.testing.assert_allclose(one, other.asnumpy(), rtol=1e-5, atol=1e-6)


def test_no_memory_is_taken_for_the_zeros_of_csr_data():
    """The dense matrix would have 400 GB. An executor for other shapes stays sparse."""
    columns, rows = 1_000_000, 100_000
    symbol = sym.dot(sym.var("x", stype="csr"), sym.var("w", shape=(columns, 1)))
    small = symbol.simple_bind(CPU, grad_req={"w": "write"}, x=(2, columns))
    executor = small.reshape(x=(rows, columns), allow_up_sizing=True)
    executor.copy_params_from({"w": np.full((columns, 1), 2, np.float32)})
    parts = (np.float32([1, 3]), [5, columns - 1], [0, *[1] * (rows - 1), 2])
    x = nd.sparse.csr_matrix(parts, shape=(rows, columns))
    (out,) = executor.forward(True, x=x)
    executor.backward(nd.ones((rows, 1)))
    assert out.asnumpy()[[0, 1, -1], 0].tolist() == [2, 0, 6]
    assert executor.grad_dict["w"].asnumpy()[[5, -1], 0].tolist() == [1, 3]


def test_a_csr_argument_that_is_also_used_otherwise_is_dense_inside():
    x = sym.var("x", stype="csr")
    product = sym.dot(x, sym.var("w", shape=(4, 2)))
    symbol = sym.broadcast_add(product, sym.sum(x, axis=1, keepdims=True))
    executor = symbol.simple_bind(CPU, x=(3, 4), grad_req={"w": "write"})
    rows = np.eye(3, 4, dtype=np.float32)
    executor.copy_params_from({"w": np.ones((4, 2), np.float32)})
    (out,) = executor.forward(x=nd.array(rows).tostype("csr"))
    np.testing.assert_array_equal(out.asnumpy(), 2)


def test_a_monitor_may_cast_its_array_as_for_mxnet() -> None:
    seen = {}

    def monitor(name: Any, array: Any) -> None:
        made = nd.NDArray(ctypes.cast(array, NDArrayHandle), writable=False)
        seen[py_str(name)] = made.asnumpy().sum()

    executor = (sym.var("x") * 2).simple_bind(mx.cpu(), x=(3,))
    executor.set_monitor_callback(monitor, monitor_all=True)
    executor.forward(x=nd.array([1, 2, 3]))
    assert seen["x"] == 6 and 12 in seen.values()
    with pytest.raises(AttributeError, match="no C library"):
        nd.NDArray(NDArrayHandle(12345))

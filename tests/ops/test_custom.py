"""Operators written in Python: on arrays, recorded, in symbols and in traced functions."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd, operator, sym
from hybridnet.base.errors import FormatError, MXNetError, OpError, ParameterError, ShapeError


class _Sigmoid(operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(1 / (1 + np.exp(-x)), dtype=x.dtype))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y))


@operator.register("test_sigmoid")
class _SigmoidProp(operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Sigmoid()


class _Mixed(operator.CustomOp):
    """Two outputs, from two arguments; counts its calls in an auxiliary state and in itself."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.kept = None

    def forward(self, is_train, req, in_data, out_data, aux):
        a, b = in_data
        self.assign(out_data[0], req[0], a * b * self.factor)
        self.assign(out_data[1], req[1], (a + b).sum())
        self.kept = a.asnumpy().sum() if is_train else None
        aux[0][:] += 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        assert self.kept == pytest.approx(in_data[0].asnumpy().sum())  # the same instance
        for index in (0, 1):
            grad = out_grad[0] * in_data[1 - index] * self.factor + out_grad[1]
            self.assign(in_grad[index], req[index], grad)


@operator.register("test_mixed")
class _MixedProp(operator.CustomOpProp):
    def __init__(self, factor="2"):
        super().__init__(need_top_grad=True)
        assert isinstance(factor, str)  # as in MXNet
        self.factor = float(factor)

    def list_arguments(self):
        return ["a", "b"]

    def list_outputs(self):
        return ["product", "total"]

    def list_auxiliary_states(self):
        return ["calls"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0], [1]], [[1]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Mixed(self.factor)


@operator.register("test_loss")
class _LossProp(operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        class Loss(operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0])

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                self.assign(in_grad[0], req[0], 5)

        return Loss()


class _Failing(operator.CustomOp):
    def __init__(self, where):
        self.where = where

    def forward(self, is_train, req, in_data, out_data, aux):
        if self.where == "forward":
            raise ValueError("boom in forward")
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        raise KeyError("boom in backward")


@operator.register("test_failing")
class _FailingProp(operator.CustomOpProp):
    def __init__(self, where):
        super().__init__()
        self.where = where

    def infer_shape(self, in_shape):
        if self.where == "shape":
            raise ValueError("no shape fits")
        return super().infer_shape(in_shape)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Failing(self.where)


_X = np.array([[-1.0, 0.5, 2.0]], np.float32)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_an_operator_on_arrays_and_its_gradient():
    x = nd.array(_X)
    x.attach_grad()
    with autograd.record():
        y = (nd.Custom(nd.tanh(x), op_type="test_sigmoid") * 3).sum()
    y.backward()
    inner = _sigmoid(np.tanh(_X))
    np.testing.assert_allclose(y.asnumpy(), [3 * inner.sum()], rtol=1e-6)
    wanted = 3 * inner * (1 - inner) * (1 - np.tanh(_X) ** 2)
    np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, hn.function])
def test_several_inputs_outputs_and_states(wrap):
    a, b, calls = nd.array(_X), nd.array(_X + 1), nd.zeros((1,))
    a.attach_grad()
    b.attach_grad(grad_req="add")

    @wrap
    def run(a, b, calls):
        product, total = nd.Custom(a, b, calls, op_type="test_mixed", factor=3)
        return (product * 2).sum() + total * 5

    for count in (1, 2):
        with autograd.record():
            loss = run(a, b, calls)
        loss.backward()
        assert calls.asscalar() == count
        wanted = 6 * (_X * (_X + 1)).sum() + 5 * (2 * _X + 1).sum()
        np.testing.assert_allclose(loss.asscalar(), wanted, rtol=1e-6)
        np.testing.assert_allclose(a.grad.asnumpy(), 6 * (_X + 1) + 5, rtol=1e-6)
        np.testing.assert_allclose(b.grad.asnumpy(), count * (6 * _X + 5), rtol=1e-6)
    with autograd.pause():
        run(a, b, calls)
    assert calls.asscalar() == 3


def test_inputs_by_name_and_out():
    a, b, calls, product, total = *(nd.array(_X) for _ in range(2)), *(nd.zeros(1),) * 3
    product, total = nd.zeros(_X.shape), nd.zeros((1,))
    made = nd.Custom(b=b, a=a, calls=calls, op_type="test_mixed", out=[product, total])
    assert made[0] is product
    np.testing.assert_allclose(product.asnumpy(), 2 * _X * _X, rtol=1e-6)


def test_a_loss_needs_no_gradient_from_above():
    x = nd.array(_X)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_loss")
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full_like(_X, 5))


def test_a_symbol_infers_binds_and_saves():
    x, y = sym.var("x"), sym.var("y")
    made = sym.Custom(x, y, op_type="test_mixed", factor=3, name="mix")
    assert made.list_arguments() == ["x", "y"]
    assert made.list_auxiliary_states() == ["mix_calls"]
    assert made.list_outputs() == ["mix_product", "mix_total"]
    loss = sym.exp(made[0]) + 1
    again = sym.load_json(loss.tojson())
    assert again.tojson() == loss.tojson()
    shapes = again.infer_shape(x=(1, 3))
    assert shapes == ([(1, 3), (1, 3)], [(1, 3)], [(1,)])
    executor = again.simple_bind(hn.cpu(), x=(1, 3))
    executor.forward(is_train=True, x=_X, y=_X + 1)
    executor.backward(nd.ones((1, 3)))
    value = np.exp(3 * _X * (_X + 1))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), value + 1, rtol=1e-5)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), value * 3 * (_X + 1), rtol=1e-5)
    assert executor.aux_dict["mix_calls"].asscalar() == 1


def test_a_hybrid_block_trains_through_it():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.dense = gluon.nn.Dense(2, in_units=3)

        def hybrid_forward(self, F, x):
            return F.Custom(self.dense(x), op_type="test_sigmoid")

    net = Net()
    net.initialize(init=hn.init.Constant(0.3))
    results = []
    for hybrid in (False, True):
        net.hybridize(hybrid)
        with autograd.record():
            loss = (net(nd.array(_X)) ** 2).sum()
        loss.backward()
        results.append((loss.asscalar(), net.dense.weight.grad().asnumpy()))
    inner = _sigmoid(_X.sum() * 0.3)
    np.testing.assert_allclose(results[0][0], 2 * inner**2, rtol=1e-5)
    slope = 2 * inner * inner * (1 - inner) * np.repeat(_X, 2, axis=0)
    for loss, grad in results:
        np.testing.assert_allclose(loss, results[0][0], rtol=1e-6)
        np.testing.assert_allclose(grad, slope, rtol=1e-5)


def test_it_is_one_step_among_functions_with_gradients_of_their_own():
    class Twice(autograd.Function):
        def forward(self, x):
            return nd.Custom(x, op_type="test_sigmoid") * 2

        def backward(self, dy):
            return dy * 7

    x = nd.array(_X)
    x.attach_grad()
    with autograd.record():
        y = Twice()(nd.Custom(x, op_type="test_sigmoid"))
    y.backward()
    inner = _sigmoid(_X)
    np.testing.assert_allclose(y.asnumpy(), 2 * _sigmoid(inner), rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), 7 * inner * (1 - inner), rtol=1e-6)


def test_an_error_is_raised_at_the_wait_with_the_line_of_the_call():
    y = nd.Custom(nd.array(_X), op_type="test_failing", where="forward")  # the line
    with pytest.raises(OpError, match=r"test_failing\).forward failed: boom.*test_custom.py"):
        y.asnumpy()
    x = nd.array(_X)
    x.attach_grad()
    with autograd.record():
        z = nd.Custom(x, op_type="test_failing", where="backward")
    z.backward()
    np.testing.assert_array_equal(z.asnumpy(), _X)
    with pytest.raises(OpError, match=r"test_failing\).backward failed: .*boom in backward"):
        x.grad.asnumpy()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: nd.Custom(x, op_type="nope"), ParameterError, "op_type must be the name"),
        (lambda x: nd.Custom(x, op_type="test_mixed"), ParameterError, "needs an NDArray for b"),
        (lambda x: nd.Custom(x, x, op_type="test_sigmoid"), ParameterError, "takes 1 inputs"),
        (lambda x: nd.Custom(x, op_type="test_sigmoid", z=1), ParameterError, "do not fit"),
        (
            lambda x: nd.Custom(x, op_type="test_failing", where="shape"),
            MXNetError,
            "infer_shape.* failed: no shape fits",
        ),
        (
            lambda x: nd.Custom(x, nd.ones((2, 2)), nd.ones(1), op_type="test_mixed"),
            ShapeError,
            r"b must have shape \(1, 3\)",
        ),
        (lambda x: operator.register("x")(dict), ParameterError, "subclass of CustomOpProp"),
        (lambda x: operator.CustomOp().assign(x, "put", x), ParameterError, "req must be one of"),
        (lambda x: sym.Custom(x, op_type="test_sigmoid"), ParameterError, "must be a Symbol"),
    ],
)
def test_misuse_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call(nd.array(_X))


def test_a_file_with_an_unknown_operator_is_refused():
    text = sym.Custom(sym.var("x"), op_type="test_sigmoid").tojson()
    with pytest.raises(FormatError, match="op_type must be the name of a registered operator"):
        sym.load_json(text.replace("test_sigmoid", "of_another_program"))


def test_inside_a_traced_loop_it_runs_row_by_row_and_is_differentiated():
    @hn.function
    def loop(x):
        outs, _ = nd.contrib.foreach(
            lambda row, states: (nd.Custom(row, op_type="test_sigmoid"), states), x, []
        )
        return outs

    x = nd.array(_X)
    x.attach_grad()
    with autograd.record():
        y = loop(x)
    y.backward()
    wanted = 1 / (1 + np.exp(-_X))
    np.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), wanted * (1 - wanted), rtol=1e-5)


def test_assign_follows_the_request():
    op, out = operator.CustomOp(), nd.ones((2,))
    op.assign(out, "null", 7)
    op.assign(out, "add", nd.array([1.0, 2.0]))
    np.testing.assert_array_equal(out.asnumpy(), [2, 3])
    op.assign(out, "inplace", 4)
    np.testing.assert_array_equal(out.asnumpy(), [4, 4])


def test_what_a_prop_says_unless_told_otherwise():
    prop = operator.CustomOpProp(need_top_grad=False)
    assert prop.infer_shape([[2, 3]]) == ([[2, 3]], [[2, 3]], [])
    assert prop.infer_type([np.float32]) == ([np.float32], [np.float32], [])
    assert prop.declare_backward_dependency([0], [1], [2]) == [1, 2]
    assert prop.infer_storage_type(["default"]) == (["default"], ["default"], [])
    with pytest.raises(ParameterError, match="storage type 'default', got 'csr'"):
        prop.infer_storage_type(["csr"])


def test_arguments_of_the_library_are_listed():
    found = operator.get_operator_arguments("FullyConnected")
    names = ["data", "weight", "bias", "num_hidden", "no_bias", "flatten"]  # MXNet's answer
    assert (found.narg, found.names) == (6, names)
    assert len(found.types) == 6
    assert "FullyConnected" in operator.get_all_registered_operators()


def test_choices_are_listed_as_mxnet_lists_them():
    found = operator.get_operator_arguments("Activation")
    assert found.types[1] == "{'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'}, required"


# -- the older forms, which describe themselves ----------------------------------------------


def _of_form(form):
    class Cube(form):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] ** 3

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = 3 * in_data[0] ** 2 * out_grad[0]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]]

    with pytest.warns(DeprecationWarning, match="use CustomOp"):
        return Cube()


@pytest.mark.parametrize("form", [operator.NumpyOp, operator.NDArrayOp])
def test_operators_that_describe_themselves(form):
    cubed = _of_form(form)(sym.var("x"), name="cube")
    assert cubed.list_outputs() == ["cube_output"]
    x, grad = np.array([1.0, -2, 3], "float32"), nd.zeros((3,))
    executor = (2 * cubed).bind(hn.cpu(), {"x": nd.array(x)}, {"x": grad})
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), 2 * x**3)
    executor.backward(nd.array([1.0, 10, 100]))
    np.testing.assert_allclose(grad.asnumpy(), 6 * x**2 * [1, 10, 100])


def test_a_form_that_is_not_overridden_copies():
    with pytest.warns(DeprecationWarning, match="use CustomOp"):
        op = operator.NumpyOp(need_top_grad=False)
    assert not op.need_top_grad()
    executor = op.get_symbol(sym.var("x")).simple_bind(hn.cpu(), x=(2,))
    np.testing.assert_array_equal(
        executor.forward(is_train=True, x=nd.array([3, 4]))[0].asnumpy(), [3, 4]
    )
    executor.backward()
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [1, 1])

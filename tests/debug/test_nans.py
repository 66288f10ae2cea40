"""`hn.debug.nans`: the first operator that makes NaN or infinity is an error at its line."""

import contextlib
import inspect
import threading

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import NonFiniteError
from hybridnet.runtime.observe.journal import launches


def line_of(function, text):
    """Returns the number of the line of a function that holds some text."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + number for number, line in enumerate(lines) if text in line]
    return found


def blamed(function, text):
    """Runs a function in the scope; asserts that the line with some text is blamed for it."""
    with pytest.raises(NonFiniteError) as caught, hn.debug.nans():
        function()
    assert caught.value.line == line_of(function, text)
    assert f"test_nans.py:{caught.value.line}" in str(caught.value)
    return caught.value


def test_an_operator_that_is_read():
    def program():
        x = nd.array([[1.0, 0.0], [2.0, 3.0]])
        y = nd.log(x)
        (y * 2).asnumpy()

    error = blamed(program, "nd.log")
    assert error.operator == "log"
    text = str(error)
    assert "1 of 4 elements, the first at [0, 1] is -inf" in text
    assert "from 0 at [0, 1] to 3 at [1, 1]" in text  # its input
    assert "allow_nans" in text


def test_an_error_is_a_floating_point_error_and_one_of_mxnets():
    with pytest.raises(FloatingPointError), hn.debug.nans():
        nd.sqrt(nd.array([-1.0])).asnumpy()
    with pytest.raises(hn.MXNetError), hn.debug.nans():
        nd.sqrt(nd.array([-1.0])).asnumpy()


def test_a_gradient_has_the_line_of_the_forward_pass():
    def program():
        x = nd.array([1.0, 0.0, 4.0])
        x.attach_grad()
        with autograd.record():
            y = nd.sqrt(x)
            z = nd.where(x > 0, y, x).sum()
        z.backward()
        x.grad.asnumpy()

    assert "the gradient of sqrt" in str(blamed(program, "nd.sqrt"))


@pytest.mark.parametrize("retain", [False, True])
def test_a_gradient_by_rules_and_by_its_replay(retain):
    """`create_graph` runs the rules on arrays; otherwise they are replayed."""

    def program():
        x = nd.array([0.0, 4.0])
        x.attach_grad()
        with autograd.record():
            y = nd.sqrt(x)
            z = nd.where(x > 0, y, x).sum()
            g = autograd.grad(z, [x], create_graph=retain, retain_graph=True)[0]
        g.asnumpy()

    blamed(program, "nd.sqrt")


class _Logarithms(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        a = F.relu(x)
        b = F.log(a)
        return b.sum()


@pytest.mark.parametrize("calls", [0, 1, 6])
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_block_however_often_it_has_run(hybrid, calls):
    """Its steps run by NumPy, as a program, and as a prepared call."""
    net = _Logarithms()
    if hybrid:
        net.hybridize()
    with pytest.raises(NonFiniteError) as caught, hn.debug.nans():
        for _ in range(calls):
            net(nd.array([1.0, 2.0])).asnumpy()
        net(nd.array([1.0, -2.0])).asnumpy()
    assert caught.value.line == line_of(_Logarithms, "F.log(a)")


def test_blocks_of_one_structure_have_lines_of_their_own():
    class Other(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.log(F.relu(x)).sum()

    for kind, text in ((_Logarithms, "F.log(a)"), (Other, "F.log(F.relu")):
        net = kind()
        net.hybridize()
        with pytest.raises(NonFiniteError) as caught, hn.debug.nans():
            net(nd.array([-1.0])).asnumpy()
        assert caught.value.line == line_of(kind, text)


def test_a_bound_symbol_and_one_over_two_devices():
    x = hn.sym.var("x")
    with hn.AttrScope(ctx_group="one"):
        y = x * 2
    with hn.AttrScope(ctx_group="two"):
        z = hn.sym.sqrt(y) + 1
    groups = {"one": hn.cpu(0), "two": hn.cpu(1)}
    for given in ({}, {"group2ctx": groups}):
        bound = z.bind(hn.cpu(0), {"x": nd.array([1.0, -1.0])}, **given)
        with pytest.raises(NonFiniteError, match="^sqrt at .*test_nans.py"), hn.debug.nans():
            bound.forward()[0].asnumpy()


def test_a_module():
    net = hn.sym.FullyConnected(hn.sym.var("data"), num_hidden=4, name="fc1")
    net = hn.sym.SoftmaxOutput(hn.sym.log(net), hn.sym.var("softmax_label"), name="softmax")
    module = hn.mod.Module(net)
    rows = hn.io.NDArrayIter(nd.zeros((8, 3)), nd.zeros((8,)), 4)
    with pytest.raises(NonFiniteError, match="^log at .*test_nans.py"), hn.debug.nans():
        module.fit(rows, num_epoch=1, initializer=hn.init.Constant(0.0))


def test_a_traced_function():
    @hn.function
    def inverse(x):
        return 1 / (x - 1)

    with hn.debug.nans():
        for _ in range(4):
            inverse(nd.array([3.0, 2.0])).asnumpy()
    with pytest.raises(NonFiniteError) as caught, hn.debug.nans():
        inverse(nd.array([1.0, 2.0])).asnumpy()
    assert caught.value.line is not None
    assert inspect.getsourcelines(test_a_traced_function)[1] < caught.value.line


def test_the_turn_of_a_loop():
    class Loop(gluon.HybridBlock):
        def hybrid_forward(self, F, x, s):
            def body(row, states):
                return row / states[0], [states[0] - 1]

            return F.contrib.foreach(body, x, [s])[0]

    net = Loop()
    net.hybridize()
    with pytest.raises(NonFiniteError, match="turn 2") as caught, hn.debug.nans():
        net(nd.array([[1.0], [2.0], [3.0]]), nd.array([2.0])).asnumpy()
    assert caught.value.line == line_of(Loop, "row / states[0]")


def test_an_update_that_overflows_though_nobody_reads_a_value():
    net = gluon.nn.Dense(1)
    net.initialize(hn.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e38})

    def program():
        for _ in range(3):
            with autograd.record():
                loss = net(nd.ones((2, 3)) * 1e3).sum()
            loss.backward()
            trainer.step(1)

    assert blamed(program, "trainer.step").operator.startswith("multi_sgd")


def test_what_an_operator_in_python_makes():
    class Logarithm(hn.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            with np.errstate(divide="ignore"):
                self.assign(out_data[0], req[0], nd.array(np.log(in_data[0].asnumpy())))

    @hn.operator.register("debugged_log")
    class Property(hn.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return Logarithm()

    with pytest.raises(NonFiniteError, match="^Custom at .*test_nans.py"), hn.debug.nans():
        nd.Custom(nd.array([1.0, 0.0]), op_type="debugged_log").asnumpy()


def test_a_nan_that_is_in_the_data_is_told_of_who_reads_it_first():
    def program():
        x = nd.array([1.0, np.nan])
        y = x + 1
        (y * 2).asnumpy()

    assert "holds NaN already" in str(blamed(program, "x + 1"))


def test_what_nobody_can_see_is_no_error():
    with hn.debug.nans():
        x = nd.array([1.0, 0.0])
        masked = nd.where(x > 0, nd.log(x), x)
        assert masked.asnumpy().tolist() == [0, 0]
        scores = nd.where(x > 0, x, nd.full((2,), -np.inf))  # meant: a number that is infinite
        assert nd.softmax(scores).asnumpy().tolist() == [1, 0]
        x.attach_grad()
        with autograd.record():
            y = nd.where(x > 0, nd.log(x), x)
        y.asnumpy()  # the tape keeps the logarithm


def test_infinities_of_data_are_meant_until_they_make_nan():
    with hn.debug.nans():
        mask = nd.array([0.0, -np.inf])
        (mask + 1).asnumpy()
    with pytest.raises(NonFiniteError, match="made NaN of infinite inputs"), hn.debug.nans():
        (mask - mask).asnumpy()


def test_a_line_or_a_block_is_allowed():
    with hn.debug.nans():
        with hn.debug.allow_nans():
            y = nd.log(nd.array([1.0, 0.0]))
        assert y.asnumpy().tolist() == [0, -np.inf]
        assert nd.exp(y).asnumpy().tolist() == [1, 0]

        class Allowed(gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                with hn.debug.allow_nans():
                    return F.log(x)

        net = Allowed()
        net.hybridize()
        for _ in range(5):
            assert np.isinf(net(nd.array([1.0, 0.0])).asnumpy()).any()
    with pytest.raises(NonFiniteError), hn.debug.nans():
        with hn.debug.allow_nans():
            y = nd.log(nd.array([0.0]))
        (y - y).asnumpy()


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_backward_pass_is_allowed(hybrid):
    """As loss scaling needs, which overflows on purpose."""

    class Root(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.sqrt(x)

    net = Root()
    if hybrid:
        net.hybridize()
    x = nd.array([0.0, 4.0])
    x.attach_grad()
    with hn.debug.nans():
        with autograd.record():
            loss = net(x).sum()
        with hn.debug.allow_nans():
            loss.backward()
        assert x.grad.asnumpy().tolist() == [np.inf, 0.25]


def test_results_are_those_without_the_scope():
    def step(scope):
        hn.random.seed(3)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(5, activation="tanh"), gluon.nn.Dropout(0.3), gluon.nn.Dense(2))
        net.initialize(hn.init.Xavier())
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam")
        with scope:
            for _ in range(6):
                with autograd.record():
                    loss = (net(nd.ones((4, 3))) ** 2).sum()
                loss.backward()
                trainer.step(4)
            return [p.data().asnumpy() for p in net.collect_params().values()]

    plain = step(contextlib.nullcontext())
    for a, b in zip(plain, step(hn.debug.nans()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_scopes_nest_and_end():
    with hn.debug.nans():
        with hn.debug.nans():
            pass
        with pytest.raises(NonFiniteError):
            nd.log(nd.array([0.0])).asnumpy()
    assert np.isinf(nd.log(nd.array([0.0])).asnumpy()).all()


def test_after_a_scope_a_structure_is_launched_itself_again():
    def told():
        (nd.ones((2, 2)) + 1).asnumpy()
        return launches[-1].answers

    assert not told()
    with hn.debug.nans():
        assert told()
    assert not told()


def test_a_scope_that_an_exception_leaves_asks_no_more():
    with pytest.raises(KeyError), hn.debug.nans():
        y = nd.log(nd.array([0.0]))
        raise KeyError("other")
    assert np.isinf(y.asnumpy()).all()
    assert np.isinf(nd.log(nd.array([0.0])).asnumpy()).all()


def test_the_end_of_a_scope_tells_of_what_nobody_read():
    with pytest.raises(NonFiniteError), hn.debug.nans():
        y = nd.log(nd.array([0.0]))
    assert np.isinf(y.asnumpy()).all()


def test_each_thread_is_told_of_its_own():
    caught = []

    def work():
        try:
            nd.log(nd.array([0.0])).asnumpy()
        except NonFiniteError as error:
            caught.append(error)

    with hn.debug.nans():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert (nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]
    assert len(caught) == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_kind_of_float(dtype):
    with hn.debug.nans():
        large = nd.full((300,), 2e4, dtype=dtype)  # whose square overflows in float16
        large.asnumpy()
    with pytest.raises(NonFiniteError), hn.debug.nans():
        (large / 0).asnumpy()


def test_arrays_of_no_elements_and_whole_numbers():
    with hn.debug.nans():
        assert hn.np.log(hn.np.zeros((0, 3))).asnumpy().size == 0
        (nd.array([1, 2], dtype="int32") * 2**31).asnumpy()


def test_naive_engine_raises_at_the_line():
    was = hn.engine.set_bulk_size(1)
    try:
        with pytest.raises(NonFiniteError), hn.debug.nans():
            y = nd.log(nd.array([0.0]))
            (y * 0 + 1).asnumpy()
    finally:
        hn.engine.set_bulk_size(was)

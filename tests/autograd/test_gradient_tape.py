"""`GradientTape` and `custom_gradient`, eagerly and in traced functions, at several orders."""

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError

HOST = np.array([3.0, 2.0, -1.0], np.float32)


def x_of():
    return nd.array(HOST)


def same(got, wanted, rtol=1e-5):
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=rtol, atol=1e-6)


def test_a_watched_array_has_a_gradient_and_is_left_as_it_was():
    x = x_of()
    with hn.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
    assert tape.watched_variables() == (x,)
    same(tape.gradient(y, x), 3 * HOST**2)
    assert x.edge is None
    assert x.grad is None
    with pytest.raises(MXNetError, match="answers once.*persistent=True"):
        tape.gradient(y, x)


@pytest.mark.parametrize("kind", ["eager", "traced inside", "traced whole"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_nested_tapes_give_higher_orders(kind, order):
    cube = hn.function(lambda x: x**4) if kind == "traced inside" else lambda x: x**4

    def derivative(function):
        def applied(x):
            with hn.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            return tape.gradient(y, x)

        return applied

    function = cube
    for _ in range(order):
        function = derivative(function)
    if kind == "traced whole":
        function = hn.function(function)
    wanted = {1: 4 * HOST**3, 2: 12 * HOST**2, 3: 24 * HOST}[order]
    for _ in range(2):
        same(function(x_of()), wanted)


def test_structures_targets_and_what_is_not_connected():
    x, w, other = x_of(), nd.array([1.0, 2, 3]), nd.ones((2,))
    with hn.GradientTape(persistent=True) as tape:
        tape.watch({"x": [x], "w": w})
        tape.watch(other)
        y = w * x
        z = (y * 2).sum()
    found = tape.gradient([y, z], {"x": (x,), "w": [w, other]})
    same(found["x"][0], 3 * np.array([1, 2, 3]))
    same(found["w"][0], 3 * HOST)
    assert found["w"][1] is None
    assert type(found["x"]) is tuple
    zero = tape.gradient(z, other, unconnected_gradients="zero")
    same(zero, [0, 0])
    same(tape.gradient(z, y), [2, 2, 2])
    same(tape.gradient(x, x), [1, 1, 1])
    assert tape.gradient(nd.ones((3,)), x) is None
    head = nd.array([1.0, 10, 100])
    same(tape.gradient(y, x, output_gradients=head), head.asnumpy() * [1, 2, 3])
    with pytest.raises(ParameterError, match="for each of 2 targets, got 1"):
        tape.gradient([y, z], x, output_gradients=[head])
    with pytest.raises(ParameterError, match="'none' or 'zero'"):
        tape.gradient(z, x, unconnected_gradients="None")
    with pytest.raises(ParameterError, match="sources must be NDArrays.*got int"):
        tape.gradient(z, 3)


def test_parameters_and_attached_arrays_are_watched_by_themselves():
    net = gluon.nn.Dense(1, in_units=3, use_bias=False)
    net.initialize(hn.init.One())
    x = x_of().reshape((1, 3))
    with hn.GradientTape() as tape:
        loss = net(x).sum()
    same(tape.gradient(loss, net.weight), HOST.reshape(1, 3))
    same(net.weight.grad(), np.zeros((1, 3)))  # nothing is written to it
    with hn.GradientTape(watch_accessed_variables=False) as tape:
        loss = net(x).sum()
    assert tape.gradient(loss, net.weight) is None
    with hn.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(net.weight)
        loss = net(x).sum()
    same(tape.gradient(loss, [net.weight])[0], HOST.reshape(1, 3))


def test_recording_can_be_stopped_and_training_is_not_switched_on():
    x = x_of()
    with hn.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * 3
            assert not autograd.is_recording()
        assert not autograd.is_training()
        assert autograd.is_recording()
        total = y + z
    same(tape.gradient(total, x), 2 * HOST)


def test_what_a_tape_refuses():
    tape = hn.GradientTape()
    with pytest.raises(MXNetError, match="inside `with"):
        tape.watch(x_of())
    with tape:
        with pytest.raises(DTypeError, match="arrays of floats"):
            tape.watch(nd.ones((2,), dtype="int32"))
        with pytest.raises(MXNetError, match="recording already"), tape:
            pass
        with pytest.raises(ParameterError, match="got str"):
            tape.watch("x")
    assert not autograd.is_recording()


def test_a_tape_within_record_leaves_the_outer_one_its_own():
    x, w = x_of(), nd.array([1.0, 1, 1])
    w.attach_grad()
    with autograd.record():
        y = x * w * w
        with hn.GradientTape() as tape:
            tape.watch(x)
            z = (x * x * w).sum()
        slope = tape.gradient(z, x)  # 2 x w
        loss = (slope + y).sum()
    loss.backward()
    same(w.grad, 2 * HOST + 2 * HOST)


def test_a_training_step_with_a_tape_in_one_function():
    w = nd.array([1.0, 1, 1])

    @hn.function
    def step(x, y):
        with hn.GradientTape() as tape:
            tape.watch(w)
            loss = ((x * w - y) ** 2).sum()
        w[:] = w - 0.01 * tape.gradient(loss, w)
        return loss

    host = np.ones(3)
    for _ in range(3):
        loss = step(x_of(), nd.zeros((3,))).asscalar()
        np.testing.assert_allclose(loss, ((HOST * host) ** 2).sum(), rtol=1e-5)
        host = host - 0.01 * 2 * HOST**2 * host
    same(w, host)


# -- custom gradients ------------------------------------------------------------------------


@hn.custom_gradient
def log1pexp(x):
    e = nd.exp(x)

    def grad(dy):
        return dy * (1 - 1 / (1 + e))

    return nd.log(1 + e), grad


def slopes(function, x):
    """Returns the first and second derivative."""
    with hn.GradientTape() as outer:
        outer.watch(x)
        with hn.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@pytest.mark.parametrize("kind", ["eager", "traced", "within", "all traced"])
def test_a_custom_gradient_of_two_orders(kind):
    function = {
        "eager": log1pexp,
        "traced": hn.function(log1pexp),
        "within": hn.function(lambda x: log1pexp(x * 1) * 1),
        "all traced": log1pexp,
    }[kind]
    both = hn.function(lambda x: slopes(log1pexp, x))
    sigmoid = 1 / (1 + np.exp(-HOST))
    for _ in range(2):
        first, second = both(x_of()) if kind == "all traced" else slopes(function, x_of())
        same(first, sigmoid, 1e-4)
        same(second, sigmoid * (1 - sigmoid), 1e-4)
    x = x_of()
    x.attach_grad()
    with autograd.record():
        y = function(x) * 2
    y.backward()
    same(x.grad, 2 * sigmoid, 1e-4)


@pytest.mark.parametrize("traced", [False, True])
def test_several_arguments_and_results(traced):
    clipped = []

    @hn.custom_gradient
    def f(x, w, scale=1.0):
        def grad(da, db):
            clipped.append(1)
            return [da * 10 + db * w, None]

        return {"a": x * scale, "b": [x * w, "text"]}, grad

    def run(x, w):
        found = f(x, w, scale=3.0)
        assert found["b"][1] == "text"
        return found["a"].sum() + found["b"][0].sum()

    run = hn.function(run) if traced else run
    x, w = x_of(), nd.array([1.0, 2, 3])
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = run(x, w)
    y.backward()
    np.testing.assert_allclose(y.asscalar(), (HOST * 3 + HOST * [1, 2, 3]).sum(), rtol=1e-6)
    same(x.grad, [11, 12, 13])
    same(w.grad, [0, 0, 0])
    assert clipped


def test_what_a_custom_gradient_must_be():
    x = x_of()
    with pytest.raises(ParameterError, match="must return its result and a function"):
        hn.custom_gradient(lambda x: x)(x)
    same(log1pexp(x), np.log1p(np.exp(HOST)))  # without a tape it is the function
    bad = hn.custom_gradient(lambda x: (x * 1, lambda dy: [dy, dy]))
    with hn.GradientTape() as tape:
        tape.watch(x)
        y = bad(x)
    with pytest.raises(MXNetError, match="must return 1 gradients"):
        tape.gradient(y, x)
    drawn = hn.custom_gradient(lambda x: (x * 1, lambda dy: dy * nd.random.uniform(shape=(3,))))
    x.attach_grad()
    with autograd.record(), pytest.raises(MXNetError, match="nor draw random numbers"):
        hn.function(drawn)(x)

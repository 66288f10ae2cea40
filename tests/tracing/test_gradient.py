"""Gradients through `hn.function` are those of the same code run eagerly."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import settle

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.base.errors import MXNetError
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import recorder


def arr(*values):
    return nd.array(np.array(values, np.float64), dtype="float64")


class Straight(autograd.Function):
    """sign, with the gradient of a line, and something kept that is neither input nor output."""

    def forward(self, x):
        self.save_for_backward(nd.abs(x))
        return nd.sign(x)

    def backward(self, dy):
        (size,) = self.saved_tensors
        return dy * (size < 2) * 3


class Swapped(autograd.Function):
    """Two inputs, two outputs: (x y, x) with true gradients."""

    def forward(self, x, y):
        product = x * y
        self.save_for_backward(x, y, product)
        return product, x

    def backward(self, d_product, d_x):
        x, y, product = self.saved_tensors
        return d_product * y + d_x + 0 * product, d_product * x


def polynomial(x, w):
    return x * x * w + x


def paused(x, w):
    with autograd.pause():
        scale = (x * w).sum()
    return x * scale * w


def detached(x, w):
    return x.detach() * w + (x * w).detach() * x


def blocked(x, w):
    return nd.BlockGrad(x * w) * x + nd.sign(w) * nd.exp(x)


def views(x, w):
    flat = w.reshape((3, 1))[1:].reshape(-1)
    return x[:2] * flat + w[0:2] * x[1]


def changed_outside_recording(x, w):
    """The gradient of what is overwritten goes where that of the old array went."""
    y = x * 2
    with autograd.pause():
        y += 10
        x[:] = x * 3
        w[0] = 5
    return y * y * x + w * y


def result_changed_outside_recording(x, w):
    y = x * w
    with autograd.pause():
        y *= 100
    return y


def replaced(x, w):
    buffer = nd.zeros_like(x)
    buffer[:] = x * w
    return buffer * buffer


def nested(x, w):
    inner = hn.function(lambda a: (a * w, a.detach() * a))
    first, second = inner(x * 2)
    return inner(first)[1] + second


def user_defined(x, w):
    first, second = Swapped()(Straight()(x * w) * x, w)
    return first * second + Straight()(first)


def unused(x, w):
    del w
    return x * 2


def integers(x, w):
    count = (x > 1).astype("int32")
    return x * w * count.astype("float64") + nd.argmax(x, axis=0)


def reused(x, w):
    for _ in range(3):
        x = x * w + x
    return x


def passed_through(x, w):
    return x.copy() if w.shape == (3,) else w


def recorded_again(x, w):
    with autograd.record():
        return nd.sin(x * w)


def softmax_output(x, w):
    return nd.SoftmaxOutput((x * w).reshape((1, 3)), nd.array([1]))


def second_order_inside(x, w):
    y = (x * x * w).sum()
    (slope,) = autograd.grad(y, w, create_graph=True)
    return slope * x


PROGRAMS = [
    *(polynomial, paused, detached, blocked, views, changed_outside_recording),
    *(result_changed_outside_recording, replaced, nested, user_defined, unused, integers, reused),
    *(passed_through, recorded_again, softmax_output, second_order_inside),
]
EACH = pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)


def start(req="write"):
    x, w = arr(1, -2, 3), arr(0.5, 4, -1)
    x.attach_grad(req)
    w.attach_grad(req)
    return x, w


def evaluate(f, steps=2, req="write", head=False, read=False, **scope):
    """Runs f and its gradient; returns every number that a user could see."""
    x, w = start(req)
    seen = []
    for _ in range(steps):
        with autograd.record(**scope):
            y = f(x * 1 if head else x, w)
        if read:
            seen.append(y.asnumpy())
        y.backward(y.ones_like() * 2, retain_graph=False)
        seen += [one.asnumpy() for one in (y, x.grad, w.grad, x, w)]
    return seen


def assert_same(got, wanted):
    assert len(got) == len(wanted)
    for index, (a, b) in enumerate(zip(got, wanted, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=str(index))


@EACH
def test_of_arguments(program):
    assert_same(evaluate(hn.function(program)), evaluate(program))


@EACH
def test_of_captured_leaves(program):
    def run(decorate):
        x, w = start()
        f = decorate(lambda: program(x, w))
        seen = []
        for _ in range(2):
            with autograd.record():
                y = f()
            y.backward()
            seen += [one.asnumpy() for one in (y, x.grad, w.grad)]
        return seen

    assert_same(run(hn.function), run(lambda f: f))


@EACH
@pytest.mark.slow
def test_added_to_what_is_there(program):
    assert_same(evaluate(hn.function(program), req="add"), evaluate(program, req="add"))


@EACH
@pytest.mark.slow
def test_of_arguments_on_the_way(program):
    assert_same(evaluate(hn.function(program), head=True), evaluate(program, head=True))


@EACH
def test_with_a_read_between_forward_and_backward(program):
    """Forward and backward are two programs then, which share what the forward one kept."""
    assert_same(evaluate(hn.function(program), read=True), evaluate(program, read=True))


@EACH
@pytest.mark.slow
def test_step_by_step(program):
    was = recorder.set_naive(True)
    try:
        got = evaluate(hn.function(program))
    finally:
        recorder.set_naive(was)
    assert_same(got, evaluate(program))


def each_of_second_order():
    for read in (False, True):
        for one in PROGRAMS:
            if one in (user_defined, softmax_output):
                continue  # their gradients have none
            marks = () if read and one in (detached, views, nested) else pytest.mark.slow
            yield pytest.param(one, read, marks=marks, id=f"{one.__name__}-{read}")


@pytest.mark.parametrize(("program", "read"), list(each_of_second_order()))
def test_of_second_and_third_order(program, read):
    def run(f):
        x, w = start()
        with autograd.record():
            y = f(x, w)
            if read:
                y.wait_to_read()
            (d1,) = autograd.grad((y * y * y).sum(), x, create_graph=True)
            if read:
                d1.wait_to_read()
            (d2,) = autograd.grad((d1 * d1 + x).sum(), x, create_graph=True)
            z = (d2 * d1 + w * x).sum()
        z.backward()
        return [one.asnumpy() for one in (y, d1, d2, x.grad, w.grad)]

    assert_same(run(hn.function(program)), run(program))


def test_second_order_of_a_function_of_the_users_own():
    def program(x, w):
        first, second = Swapped()(x * w, x)
        return first * second

    def run(f):
        x, w = start()
        with autograd.record():
            (d1,) = autograd.grad(f(x, w), x, create_graph=True)
            z = (d1 * d1).sum()
        z.backward()
        return [one.asnumpy() for one in (d1, x.grad, w.grad)]

    assert_same(run(hn.function(program)), run(program))


def test_second_order_through_something_saved_on_the_way_is_an_error():
    class Cube(autograd.Function):
        def forward(self, x):
            square = x * x
            self.save_for_backward(square)
            return square * x

        def backward(self, dy):
            (square,) = self.saved_tensors
            return 3 * dy * square

    f = hn.function(lambda x: Cube()(x) * 2)
    for read in (False, True):
        x = arr(1, -2, 3)
        x.attach_grad()
        with autograd.record():
            y = f(x)
            if read:
                y.wait_to_read()
            with pytest.raises(MXNetError, match="Cube: create_graph=True needs every array"):
                (d,) = autograd.grad(y, x, create_graph=True)
                (d * d).backward()
        with autograd.record():
            y = f(x)
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), 6 * x.asnumpy() ** 2)


def test_a_function_of_the_users_own_differentiated_inside():
    def step(x, w):
        with autograd.record():
            first, second = Swapped()(Straight()(x * w) * x, w)
            y = first * second
        y.backward()
        return y

    def run(f):
        x, w = start()
        seen = []
        for _ in range(2):
            y = f(x, w)
            seen += [one.asnumpy() for one in (y, x.grad, w.grad)]
        return seen

    assert_same(run(hn.function(step)), run(step))


def test_gradients_of_some_outputs_only():
    """An output that the loss does not use has no gradient, which is not a gradient of zeros."""

    @hn.function
    def f(x):
        return x * 2, nd.sqrt(x), nd.log(x) * x, x.astype("int32")

    for read in (False, True):
        for used in ([0], [0, 2], [2, 0, 1]):
            x = arr(0, 1, 4) if used == [0] else arr(1, 1, 4)
            x.attach_grad()
            with autograd.record():
                outputs = f(x)
                loss = sum(outputs[i] for i in used)
            if read:
                nd.waitall()
            loss.backward()
            parts = {0: lambda v: 0 * v + 2, 1: lambda v: v**-0.5 / 2, 2: lambda v: np.log(v) + 1}
            np.testing.assert_allclose(
                x.grad.asnumpy(), sum(parts[i](x.asnumpy()) for i in used), rtol=1e-12
            )


def test_an_output_that_needs_no_gradient_has_none():
    @hn.function
    def f(x):
        return x * 2, x.detach() * 2

    x = arr(1)
    x.attach_grad()
    with autograd.record():
        tracked, plain = f(x)
    assert plain.edge is None
    with pytest.raises(MXNetError, match="not computed inside"):
        plain.backward()
    tracked.backward()
    assert x.grad.asnumpy() == [2]


def test_only_float_inputs_have_gradients():
    @hn.function
    def f(x, index):
        return nd.take(x, index) * 2

    x, index = arr(1, 2, 3), nd.array([2, 0], dtype="int32")
    x.attach_grad()
    with autograd.record():
        y = f(x, index)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 0, 2])


def test_a_leaf_that_no_gradient_reaches_gets_zeros():
    @hn.function
    def f(x):
        return nd.sign(x) + nd.round(x)

    x = arr(1.4)
    x.attach_grad()
    x.grad[:] = 7
    with autograd.record():
        y = f(x)
    y.backward()
    assert x.grad.asnumpy() == [0]


def test_a_gradient_attached_later_is_noticed():
    """Also of an array that no name leads to."""
    hidden = [[arr(3)]]

    @hn.function
    def f(x):
        w = hidden
        for _ in range(2):
            w = w[0]
        return x * w

    x = arr(2)
    x.attach_grad()
    for attached in (False, True, True):
        w = hidden[0][0]
        if attached:
            w.attach_grad()
        with autograd.record():
            y = f(x)
        y.backward()
        assert x.grad.asnumpy() == [3]
        assert w.grad is None or w.grad.asnumpy() == [2]
        assert (w.grad is None) == (not attached)


def test_the_same_leaf_as_argument_and_captured():
    w = arr(3)
    w.attach_grad()

    @hn.function
    def f(x):
        return x * w

    for _ in range(2):
        with autograd.record():
            y = f(w)
        y.backward()
        assert w.grad.asnumpy() == [6]


def test_what_a_function_records_itself_can_be_differentiated_by_the_caller():
    w = arr(3)
    w.attach_grad()

    @hn.function
    def loss(x):
        with autograd.record():
            return x * w * w

    for _ in range(2):
        y = loss(arr(2))
        y.backward()
        assert w.grad.asnumpy() == [12]


def test_a_function_that_differentiates_writes_the_gradients():
    w = arr(3)
    w.attach_grad("add")

    @hn.function
    def step(x):
        with autograd.record():
            y = x * w * w
        y.backward()
        return y

    x = arr(2)
    x.attach_grad()
    for number in range(1, 4):
        y = step(x)
        assert (y.asnumpy(), x.grad.asnumpy(), w.grad.asnumpy()) == ([18], [9], [12 * number])
        with pytest.raises(MXNetError, match="not computed inside"):
            y.backward()
    assert step.cache_info().traces == 1


def test_gradients_asked_for_inside():
    w = arr(3)
    w.attach_grad()

    @hn.function
    def slopes(x):
        with autograd.record():
            y = x * w * w
            (first,) = autograd.grad(y, w, create_graph=True)
        (second,) = autograd.grad(first, w)
        return first, second

    for _ in range(2):
        first, second = slopes(arr(2))
        assert (first.asnumpy(), second.asnumpy(), w.grad.asnumpy()) == ([12], [4], [0])


def test_backward_cannot_leave_a_trace():
    w = arr(3)
    w.attach_grad()

    @hn.function
    def captured(loss):
        loss.backward()

    with autograd.record():
        y = w * 2

    @hn.function
    def closed():
        y.backward()

    for f, given in ((captured, [y]), (closed, [])):
        with pytest.raises(MXNetError, match="cannot take gradients back through what was"):
            f(*given)
    y.backward()
    assert w.grad.asnumpy() == [2]


@pytest.mark.parametrize("given", [False, True])
def test_a_view_from_outside_with_a_place_of_its_own_on_the_tape(given):
    """Its gradient flows to where it was recorded, or attached; the whole's does not go there."""
    w = arr(1, 2, 3)
    w.attach_grad()
    part = w.detach()[0:2]
    part.attach_grad()
    holder = [[None]]

    @hn.function
    def f(x, view):
        view = view if given else holder[0][0]
        return x * view * part + w[0:2]

    for _ in range(2):
        with autograd.record():
            holder[0][0] = view = w[1:3]
            y = f(arr(5, 7), view if given else None)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), [11, 44])
        np.testing.assert_array_equal(w.grad.asnumpy(), [1, 6, 14])
        np.testing.assert_array_equal(part.grad.asnumpy(), [10, 21])


def test_changing_what_is_recorded_is_the_same_error_as_in_an_eager_program():
    w = arr(3)
    w.attach_grad()

    @hn.function
    def captured(x):
        w[:] = x

    @hn.function
    def argument(x):
        x += 1

    for f in (captured, argument):
        with autograd.record(), pytest.raises(MXNetError, match="cannot be changed in place"):
            f(w * 1)
    captured(arr(5))
    argument(w)
    assert w.asnumpy() == [6]


def test_a_recorded_value_written_to_an_array_from_outside():
    def run(decorate):
        buffer = nd.zeros((2,), dtype="float64")

        @decorate
        def f(x, out):
            buffer[:] = x * 2
            out[:] = x * 3
            return buffer * out

        seen = []
        for _ in range(2):
            buffer = nd.zeros((2,), dtype="float64")
            x, out = arr(1, 2), arr(0, 0)
            x.attach_grad()
            with autograd.record():
                z = f(x, out) + buffer * out
            z.backward()
            seen += [x.grad.asnumpy(), buffer.asnumpy(), out.asnumpy()]
            assert buffer.edge is not None and out.edge is not None
        return seen

    assert_same(run(hn.function), run(lambda f: f))


def test_numbers_of_the_state_and_masks_are_those_of_the_forward_pass():
    """Dropout's mask in the backward pass is that of the forward pass, with a read between too."""

    @hn.function
    def f(x):
        return nd.Dropout(x, p=0.5)

    for read in (False, True):
        hn.random.seed(5)
        x = nd.ones((1000,))
        x.attach_grad()
        with autograd.record():
            y = f(x)
        if read:
            y.wait_to_read()
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy())


def test_batch_norm_keeps_its_statistics():
    def run(decorate):
        rng = np.random.default_rng(0)
        gamma, beta = nd.ones((3,)), nd.zeros((3,))
        mean, var = nd.zeros((3,)), nd.ones((3,))
        for one in (gamma, beta):
            one.attach_grad()

        @decorate
        def f(x):
            return nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False, momentum=0.5)

        seen = []
        for _ in range(3):
            x = nd.array(rng.normal(size=(4, 3)))
            x.attach_grad()
            with autograd.record():
                y = f(x)
            y.backward(x * 2)
            seen += [one.asnumpy() for one in (y, x.grad, gamma.grad, beta.grad, mean, var)]
            seen.append(f(x).asnumpy())
        return seen

    for got, wanted in zip(run(hn.function), run(lambda f: f), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.compiled
def test_forward_and_backward_without_a_read_are_one_program():
    w = arr(3)
    w.attach_grad()

    @hn.function
    def f(x):
        return nd.tanh(x * w) * x

    def step():
        with autograd.record():
            y = f(arr(2))
        y.backward()
        settle()

    for _ in range(4):
        step()
    before = cache.statistics()
    step()
    after = cache.statistics()
    assert (after.hot - before.hot, after.cold - before.cold) == (1, 0)
    value = np.tanh(6)
    np.testing.assert_allclose(w.grad.asnumpy(), [4 * (1 - value**2)], rtol=1e-9)

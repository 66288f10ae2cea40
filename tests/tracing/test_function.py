"""`hn.function`'s options, host code in it, several devices, and the short way of its calls."""

import copy
import dataclasses
import gc
import re
import warnings
import weakref

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import DTypeError, MXNetError, OpError, ParameterError, ShapeError
from hybridnet.runtime.observe import events

RNG = np.random.default_rng(0)


def arr(*values, dtype="float32"):
    return nd.array(np.array(values, dtype), dtype=dtype)


# -- signatures ------------------------------------------------------------------------------


@hn.function(input_signature=[hn.TensorSpec((None, 3)), hn.TensorSpec((), "int32", "times")])
def scaled(x, n):
    return x * n.astype("float32")


def test_arguments_become_what_the_signature_says():
    one = scaled([[1.0, 2, 3]], 2)
    other = scaled(np.ones((4, 3), np.float32), n=5)
    np.testing.assert_array_equal(one.asnumpy(), [[2, 4, 6]])
    np.testing.assert_array_equal(other.asnumpy(), np.full((4, 3), 5))
    before = scaled.cache_info().traces
    scaled(nd.zeros((4, 3)), 7)  # numbers are arrays by the signature
    assert scaled.cache_info().traces == before


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: scaled(nd.ones((2, 4)), 1), ShapeError, r"'x' must be .*\(None, 3\).*\[2, 4\]"),
        (lambda: scaled(nd.ones((3,)), 1), ShapeError, r"'x' must be"),
        (lambda: scaled(nd.ones((2, 3), dtype="float64"), 1), DTypeError, "'x'.*float64"),
        (lambda: scaled(nd.ones((2, 3)), 1.5), DTypeError, "'n' must be .*name='times'.*float64"),
        (lambda: scaled(nd.ones((2, 3)), "2"), ParameterError, "'n' must be .*got str: '2'"),
        (lambda: scaled(nd.ones((2, 3))), ParameterError, "has x, n; got 1"),
        (lambda: scaled(nd.ones((2, 3)), 1, 2), ParameterError, "got 3"),
        (lambda: scaled(nd.ones((2, 3)), 1, q=2), ParameterError, "and q"),
    ],
)
def test_wrong_arguments_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_signatures_of_structures_and_methods():
    class Model:
        def __init__(self):
            self.w = arr(1, 2)

        @hn.function(input_signature=[{"a": hn.TensorSpec((2,)), "b": [hn.TensorSpec((2,))]}])
        def run(self, parts):
            return parts["a"] * self.w + parts["b"][0]

    found = Model().run({"a": [1.0, 1.0], "b": [arr(5, 5)]})
    np.testing.assert_array_equal(found.asnumpy(), [6, 7])
    with pytest.raises(ParameterError, match="'parts' must have the structure"):
        Model().run({"a": arr(1, 1)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_signature": hn.TensorSpec(())}, "must be a list or tuple"),
        ({"input_signature": [3]}, r"input_signature\[0\] must hold TensorSpecs, got int"),
        ({"input_signature": [hn.TensorSpec(())] * 3}, "takes 1 arguments, but .* has 3"),
        ({"static_argnames": "n"}, "static_argnames has 'n', but f has the parameters x"),
        ({"device": "here there"}, "device must be"),
        ({"buckets": hn.Buckets(), "reduce_retracing": True}, "leave out"),
    ],
)
def test_options_that_do_not_fit(options, message):
    def f(x):
        return x

    with pytest.raises(ParameterError, match=message):
        hn.function(f, **options)


def test_a_spec_is_exact_about_its_shape():
    with pytest.raises(ParameterError, match="whole numbers"):
        hn.TensorSpec((2.5,))
    spec = hn.TensorSpec.from_array(nd.ones((2, 3)))
    assert spec == hn.TensorSpec((2, 3), "float32", "any name")
    assert repr(hn.TensorSpec((None,), "int8")) == "TensorSpec(shape=(None,), dtype=int8)"


# -- static arguments ------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Config:
    scale: int


def test_static_arguments_are_compared_by_value():
    @hn.function(static_argnames=("config",))
    def f(x, config):
        return x * config.scale

    for scale in (2, 2, 3, 2):
        np.testing.assert_array_equal(f(arr(1, 2), Config(scale)).asnumpy(), [scale, 2 * scale])
        f(arr(1, 2), config=Config(scale))
    # By position and by name are two structures.
    assert f.cache_info().traces == 4
    with pytest.raises(ParameterError, match="static argument 'config' must be hashable.*list"):
        f(arr(1), [2])
    with pytest.raises(ParameterError, match="must hold no array"):
        f(arr(1), (arr(1),))


# -- concrete functions ----------------------------------------------------------------------


def test_concrete_functions_take_specs_and_are_called():
    @hn.function
    def f(x, n=2):
        return {"y": x * n, "n": n}

    concrete = f.get_concrete_function(hn.TensorSpec((2, 2)), 3)
    assert f.cache_info().traces == 1
    text = "f(x: float32[2,2] on cpu(0), n: 3) -> (float32[2,2], 3)"
    assert concrete.pretty_printed_signature() == text
    assert f.pretty_printed_signature() == text
    np.testing.assert_array_equal(concrete(nd.ones((2, 2)), 3)["y"].asnumpy(), np.full((2, 2), 3))
    with pytest.raises(ParameterError, match=r"'x' must be float32\[2,2\].*got float32\[3\]"):
        concrete(nd.ones((3,)), 3)
    with pytest.raises(ParameterError, match="'n' must be 3, got 4"):
        concrete(nd.ones((2, 2)), 4)
    with pytest.raises(ShapeError, match="needs every size"):
        f.get_concrete_function(hn.TensorSpec((None,)))
    assert "_mul_scalar" in str(concrete.graph)


def test_a_signature_makes_a_concrete_function_without_arguments():
    @hn.function(input_signature=[hn.TensorSpec((3,))])
    def f(x):
        return x + 1

    assert f.get_concrete_function() is f.get_concrete_function(arr(1, 2, 3))
    assert copy.deepcopy(f)(arr(1, 2, 3)).shape == (3,)


# -- retracing -------------------------------------------------------------------------------


def warned(call, times):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for number in range(times):
            call(number)
    return [str(one.message) for one in found if one.category is hn.RetracingWarning]


def test_a_loop_over_devices_is_not_warned_of():
    f = hn.function(lambda x: x + 1)
    assert not warned(lambda i: f(nd.ones(3, ctx=hn.cpu(i))), 12)
    with_size = hn.function(lambda x: x + 1)
    assert warned(lambda i: with_size(nd.ones(3 + i, ctx=hn.cpu(i))), 12)


SCALE = 1


def test_who_keeps_being_traced_is_told_why():
    @hn.function
    def numbers(x, step):
        return x * step

    assert not warned(lambda i: numbers(arr(1), i), 4)
    (text,) = warned(lambda i: numbers(arr(1), i + 4), 5)
    assert re.search("numbers: was traced 5 times in a row because of argument 'step'", text)
    assert "was 3, is now 4" in text
    assert "hn.nd.array([n])" in text

    sizes = hn.function(lambda batch: batch["x"] + 1)
    (text,) = warned(lambda i: sizes({"x": nd.ones((i + 1,))}), 6)
    assert """argument "batch['x']": was float32[4] on cpu(0), is now float32[5]""" in text
    assert "hn.Buckets" in text

    def outside(x):
        return x * SCALE

    def change(number):
        globals()["SCALE"] = number
        traced(arr(1))

    traced = hn.function(outside)
    (text,) = warned(change, 6)
    assert "the outside name 'SCALE'" in text

    objects = hn.function(lambda x, key: x + 1)
    (text,) = warned(lambda i: objects(arr(1), object()), 6)
    assert "argument 'key'" in text
    assert "static_argnames" in text


def test_no_warning_for_sizes_that_are_used_often():
    f = hn.function(lambda x: x + 1)
    inputs = [nd.ones((i + 1,)) for i in range(8)]
    assert not warned(lambda i: [f(inputs[i]) for _ in range(10)], 8)


def test_sizes_are_relaxed_where_that_changes_nothing():
    f = hn.function(lambda x, w: nd.relu(nd.dot(x, w)), reduce_retracing=True)
    w = RNG.normal(size=(3, 2)).astype("f")
    for size in (4, 5, 7, 12, 9, 15, 4, 11):
        x = RNG.normal(size=(size, 3)).astype("f")
        got = f(nd.array(x), nd.array(w)).asnumpy()
        np.testing.assert_allclose(got, np.maximum(x @ w, 0), rtol=1e-5, atol=1e-6)
    # 4 as it is; 8 and 16, each with a twin to compare with.
    assert f.cache_info().traces <= 5


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x.sum(), lambda x: x.sum()),
        (lambda x: x / x.shape[0], lambda x: x / len(x)),
        (lambda x: x[::-1], lambda x: x[::-1]),
    ],
)
def test_sizes_are_not_relaxed_where_that_would_change_something(function, expected):
    f = hn.function(function, reduce_retracing=True)
    for size in (4, 5, 7, 6):
        x = RNG.normal(size=size).astype("f")
        np.testing.assert_allclose(
            f(nd.array(x)).asnumpy(), np.reshape(expected(x), (-1,)), rtol=1e-5
        )


# -- state -----------------------------------------------------------------------------------


def test_creation_on_the_first_call_only():
    class Counter:
        total = None

        @hn.function
        def add(self, x):
            if self.total is None:
                self.total = nd.zeros((2,))
            self.total += x
            return self.total * 2

    one = Counter()
    for times in (1, 2, 3):
        np.testing.assert_array_equal(one.add(arr(1, 2)).asnumpy(), [2 * times, 4 * times])
    np.testing.assert_array_equal(one.total.asnumpy(), [3, 6])
    assert Counter.add.cache_info().traces == 1
    with pytest.raises(MXNetError, match="makes arrays that it keeps.*call it once"):
        Counter.add.get_concrete_function(Counter(), arr(1, 2))


def test_creation_of_what_a_closure_and_a_dict_keep():
    w, kept = None, {}

    @hn.function
    def f(x):
        nonlocal w
        if w is None:
            w = nd.ones((2,))
            kept["b"] = [nd.zeros((2,))]
        kept["b"][0][:] = kept["b"][0] + 1
        return x * w + kept["b"][0]

    for times in (1, 2, 3):
        np.testing.assert_array_equal(f(arr(1, 2)).asnumpy(), [1 + times, 2 + times])


def test_parameters_of_blocks_are_updated_in_a_whole_step():
    net = gluon.nn.Dense(1, in_units=2)
    net.initialize(hn.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})

    @hn.function
    def step(x, y):
        with autograd.record():
            loss = ((net(x) - y) ** 2).sum()
        loss.backward()
        trainer.step(1)
        return loss

    w, b = np.ones((1, 2)), np.zeros(1)
    for _ in range(3):
        x, y = np.array([[0.1, 0.2]]), np.array([[0.5]])
        wanted = x @ w.T + b - y
        loss = step(nd.array(x), nd.array(y)).asscalar()
        np.testing.assert_allclose(loss, (wanted**2).sum(), rtol=1e-4)
        w, b = w - 0.5 * 2 * wanted * x, b - 0.5 * 2 * wanted[0]
    np.testing.assert_allclose(net.weight.data().asnumpy(), w, rtol=1e-4)


def test_a_cache_shrinks_with_the_objects_that_its_keys_name():
    class Thing:
        pass

    f = hn.function(lambda x, thing: x + 1)
    things = [Thing() for _ in range(3)]
    for one in things:
        f(arr(1), one)
    assert f.cache_info().size == 3
    refs = [weakref.ref(one) for one in things]
    del things, one
    gc.collect()
    assert not any(ref() for ref in refs)
    f(arr(1), None)
    assert f.cache_info().size == 1


# -- host code -------------------------------------------------------------------------------


def test_print_shows_values_at_each_call_in_order(capsys):
    @hn.function
    def f(x):
        hn.print("in:", x, sep="")
        y = x * 2
        hn.print({"out": [y]}, end="!\n")
        return y

    for number in (1, 2):
        f(arr(number))
        print("called")
    hn.print("outside", arr(7))
    assert capsys.readouterr().out == (
        "in:[1.]\n{'out': [array([2.], dtype=float32)]}!\ncalled\n"
        "in:[2.]\n{'out': [array([4.], dtype=float32)]}!\ncalled\n"
        "outside [7.]\n"
    )


def test_print_in_loops_and_branches(capsys):
    @hn.function
    def f(x):
        def body(i, s):
            hn.print("turn", i)
            return [], (i + 1, s + i)

        def positive():
            hn.print("positive")
            return x

        def negative():
            hn.print("negative")
            return -x

        _, (_, total) = nd.contrib.while_loop(
            lambda i, s: i < 2, body, [nd.zeros((1,)), x], max_iterations=4
        )
        return total, nd.contrib.cond(x.sum() > 0, positive, negative)

    f(arr(3))
    f(arr(-3))
    assert capsys.readouterr().out == (
        "turn [0.]\nturn [1.]\npositive\nturn [0.]\nturn [1.]\nnegative\n"
    )


def test_calls_in_a_loop_run_before_those_that_read_what_it_makes(capsys):
    @hn.function
    def f(x):
        i = nd.zeros((1,))
        while i < 2:
            hn.print("turn", i)
            x = x + 1
            i = i + 1
        return hn.py_func(lambda a: a * 2, x, x.shape, x.dtype)

    for _ in range(2):
        assert f(arr(3)).asnumpy().tolist() == [10]
    assert capsys.readouterr().out == "turn [0.]\nturn [1.]\n" * 2


def test_py_func_runs_at_each_call_though_nothing_reads_it():
    seen = []

    @hn.function
    def f(x):
        hn.py_func(lambda a: seen.append(a.copy()) or a, x, x.shape, x.dtype)
        total, count = hn.py_func(
            lambda a, b: [a + b, np.int32(len(seen))], [x, x * 2], [(2,), ()], ["float32", "int32"]
        )
        return total, count

    for number in (1, 2, 3):
        total, count = f(arr(number, 0))
        np.testing.assert_array_equal(total.asnumpy(), [3 * number, 0])
        assert int(count.asnumpy()) == number
    hn.waitall()
    np.testing.assert_array_equal(np.array(seen)[:, 0], [1, 2, 3])


@pytest.mark.parametrize("wrap", [lambda f: f, hn.function], ids=["eager", "traced"])
def test_py_func_has_the_gradient_it_is_given(wrap):
    @wrap
    def f(x, w):
        return hn.py_func(
            lambda a, b: np.sin(a) * b,
            [x, w],
            (3,),
            "float32",
            lambda a, b, dy: (dy * np.cos(a) * b, None),
        )

    x, w = arr(0.1, 0.2, 0.3), arr(1, 2, 3)
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = (f(x, w) * 2).sum()
    y.backward()
    host = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * np.cos(host) * [1, 2, 3], rtol=1e-5)
    np.testing.assert_array_equal(w.grad.asnumpy(), 0)


def test_errors_of_host_code_are_raised_at_the_read_and_do_not_stay():
    def broken(a):
        raise ValueError("out of order")

    @hn.function
    def f(x, fails):
        return hn.py_func(broken if fails else np.sin, x, x.shape, x.dtype)

    with pytest.raises(OpError, match=r"py_func\(broken\) failed: out of order"):
        f(arr(1), True).asnumpy()
    np.testing.assert_allclose(f(arr(1), False).asnumpy(), np.sin([1.0]), rtol=1e-6)
    for result, message in ((np.zeros(2), "must have shape"), (np.zeros(1, complex), "dtype")):
        with pytest.raises(MXNetError, match=message):
            hn.py_func(lambda a, one=result: one, arr(1), (1,), "float32").asnumpy()
    with pytest.raises(ParameterError, match="input 0 must be an NDArray, got int"):
        hn.py_func(np.sin, [3], (1,), "float32")
    with pytest.raises(ParameterError, match="one shape for each dtype"):
        hn.py_func(np.sin, arr(1), [(1,)], ["float32", "float32"])


def test_host_code_may_use_arrays_and_print(capsys):
    def inner(a):
        hn.print("inner", nd.array(a) * 2)
        return a

    hn.py_func(inner, arr(1), (1,), "float32").asnumpy()
    assert capsys.readouterr().out == "inner [2.]\n"


# -- devices ---------------------------------------------------------------------------------

C0, C1 = hn.cpu(0), hn.cpu(1)


def test_a_function_on_two_devices_and_its_gradients():
    w = nd.array([2.0, 3.0, 4.0], C1)

    @hn.function
    def f(x):
        there = (x * 3).as_in_context(C1)
        return (there * w).as_in_context(C0) + x, there

    host, weights = np.array([1.0, 2, 3]), np.array([2.0, 3, 4])
    x = nd.array(host, C0)
    y, there = f(x)
    assert (y.context, there.context) == (C0, C1)
    np.testing.assert_allclose(y.asnumpy(), host * 3 * weights + host)
    parts = f.get_concrete_function(x).partitioned.parts
    assert [name.rsplit("/", 1)[1] for name in parts] == ["device:cpu:0", "device:cpu:1"]
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y, _ = f(x)
        loss = (y * y).sum()
    loss.backward()
    factor = 3 * weights + 1
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * host * factor**2)
    np.testing.assert_allclose(w.grad.asnumpy(), 2 * host * factor * 3 * host)
    with hn.GradientTape() as outer:
        with hn.GradientTape() as inner:
            loss = (f(x)[0] ** 2).sum()
        slope = inner.gradient(loss, x)
    np.testing.assert_allclose(outer.gradient(slope, x).asnumpy(), 2 * factor**2)
    twice = hn.function(lambda x: f(x)[0] * 2)
    np.testing.assert_allclose(twice(x).asnumpy(), 2 * host * factor)


def test_a_scope_of_device_says_where_operators_run():
    @hn.function
    def f(x):
        with hn.device("/device:cpu:1"):
            y = x * 2
        return y + 1

    assert f(arr(1)).context is C0
    assert f(arr(4)).asscalar() == 9
    names = [node.attrs["__device__"] for node in f.graph(arr(1)).nodes if not node.is_variable]
    assert [name[-5:] for name in names] == ["cpu:1", "cpu:0"]


def test_a_function_with_a_device_of_its_own():
    @hn.function(device="cpu(1)")
    def f(x, total):
        total += x
        return x * 2 + nd.ones((2,))

    total = nd.zeros((2,), C0)
    for _ in range(2):
        y = f(nd.array([1, 2], C0), total)
    assert (y.context, total.context) == (C1, C0)
    np.testing.assert_array_equal(y.asnumpy(), [3, 5])
    np.testing.assert_array_equal(total.asnumpy(), [2, 4])


def test_the_passes_run_over_the_graph_of_a_function():
    f = hn.function(lambda x: x.transpose().transpose() + 0)
    call = f.get_concrete_function(nd.ones((2, 3))).call
    assert len(call.lowered("cpu").nodes) < len(call.graph.nodes)


# -- the short way ---------------------------------------------------------------------------


def spans(call):
    """Returns the kinds of events in a call, which somebody listens to."""
    found = []
    observer = lambda kind, *rest: found.append(kind)  # noqa: E731
    events.listen(observer)
    try:
        call()
    finally:
        events.unlisten(observer)
    return found


def test_repeated_calls_see_all_that_changes():
    w = arr(1, 2)
    factor = [3.0]

    @hn.function
    def f(x, y):
        return (x * y + w) * factor[0]

    def g(x):
        return x * SCALE

    x, y = arr(1, 1), arr(5, 7)
    for _ in range(4):
        np.testing.assert_array_equal(f(x, y).asnumpy(), [18, 27])
    assert f.cache_info().hits >= 3
    w[:] = 0
    np.testing.assert_array_equal(f(x, y).asnumpy(), [15, 21])
    x += 1
    np.testing.assert_array_equal(f(x, y).asnumpy(), [30, 42])
    factor[0] = 1.0
    np.testing.assert_array_equal(f(x, y).asnumpy(), [10, 14])
    w = arr(1, 1)
    np.testing.assert_array_equal(f(x, y).asnumpy(), [11, 15])
    np.testing.assert_array_equal(f(x, x).asnumpy(), [5, 5])
    np.testing.assert_array_equal(f(y, x).asnumpy(), [11, 15])
    traced = hn.function(g)
    for scale in (2, 2, 2, 3, 3, 3, 2):
        globals()["SCALE"] = scale
        np.testing.assert_array_equal(traced(y).asnumpy(), [5 * scale, 7 * scale])


@pytest.mark.compiled
def test_repeated_calls_take_views_pending_arrays_and_gradients():
    f = hn.function(lambda x: x * 2)
    rows = nd.array(np.arange(6.0).reshape(3, 2))
    for _ in range(3):
        f(arr(1, 2))
    np.testing.assert_array_equal(f(rows[1]).asnumpy(), [4, 6])
    np.testing.assert_array_equal(f(arr(1, 2) + 1).asnumpy(), [4, 6])
    x = arr(1, 2)
    x.attach_grad()
    with autograd.record():
        y = f(x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 2])
    with pytest.raises(ShapeError, match="dot"):
        hn.function(lambda a: nd.dot(a, arr(1, 2, 3)))(x)
    assert "program" in spans(lambda: f(arr(1, 2)).asnumpy())


@pytest.mark.filterwarnings("ignore::hybridnet.RetracingWarning")
def test_repeated_calls_tell_classes_devices_and_modes_apart():
    f = hn.function(lambda x: nd.Dropout(x * 2, p=0.5))
    g = hn.function(lambda x: x * 2)
    x = nd.ones((200,))
    for _ in range(4):
        g(x)
        assert (f(x).asnumpy() == 2).all()
    there = g(x.as_in_context(C1))
    assert there.context is C1
    assert type(g(x.as_np_ndarray())) is hn.np.ndarray
    assert type(g(x)) is nd.NDArray
    assert g(x.reshape((20, 10))).shape == (20, 10)
    assert g(nd.ones((200,), dtype="float64")).dtype == np.float64
    with autograd.train_mode():
        assert set(np.unique(f(x).asnumpy())) == {0, 4}
    assert (f(x).asnumpy() == 2).all()


def test_repeated_calls_under_the_naive_engine_are_the_same():
    f = hn.function(lambda x: (x * 2, x))
    x = arr(1, 2)
    for _ in range(3):
        f(x)
    was = hn.runtime.record.recorder.set_naive(True)
    try:
        y, same = f(x)
    finally:
        hn.runtime.record.recorder.set_naive(was)
    np.testing.assert_array_equal(y.asnumpy(), [2, 4])
    assert same is x


class Scaled:
    kind = 1.0

    def __init__(self):
        self.w = arr(1, 1)
        self.parts = [arr(0, 0)]
        self.inner = type("Inner", (), {})()
        self.inner.shift = 10.0

    def helper(self, x):
        return x * self.w

    @hn.function
    def __call__(self, x):
        return self.helper(x) * self.kind + self.parts[0] + self.inner.shift


def test_repeated_calls_of_methods_see_all_that_changes():
    one, other = Scaled(), Scaled()
    x = arr(1, 2)

    def check(wanted, model=one):
        for _ in range(3):
            np.testing.assert_array_equal(model(x).asnumpy(), wanted)

    check([11, 12])
    one.w[:] = 2
    check([12, 14])
    one.w = arr(3, 3)
    check([13, 16])
    check([11, 12], other)
    one.kind = 2.0  # in front of the class's
    check([16, 22])
    Scaled.kind = 5.0
    check([16, 22])
    check([15, 20], other)
    del one.kind
    check([25, 40])
    one.parts[0] = arr(100, 100)
    check([125, 140])
    one.inner.shift = 0.0
    check([115, 130])
    one.inner = other.inner
    check([125, 140])
    original = Scaled.helper
    Scaled.helper = lambda self, x: x
    check([115, 120])
    Scaled.helper = original
    one.helper = lambda x: x * 0
    check([110, 110])
    del one.helper
    one.w = None
    with pytest.raises(TypeError):
        one(x)
    Scaled.kind = 1.0


def test_a_dropped_model_is_let_go_by_what_is_prepared():
    one, x = Scaled(), arr(1, 2)
    for _ in range(5):
        one(x)
    ref, w = weakref.ref(one), weakref.ref(one.w)
    del one
    gc.collect()
    assert ref() is None
    assert w() is None


def test_repeated_calls_of_a_hybridized_block_see_new_parameters():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=2, use_bias=False))
    net.initialize(hn.init.One())
    net.hybridize()
    x = nd.array([[1.0, 2]])
    for value in (1, 1, 1, 1, 2, 2, 2):
        net[0].weight.set_data(nd.ones((2, 2)) * value)
        np.testing.assert_array_equal(net(x).asnumpy(), [[3 * value, 3 * value]])
    net.add(gluon.nn.Dense(1, in_units=2, use_bias=False))
    net[1].initialize(hn.init.One())
    for _ in range(3):
        np.testing.assert_array_equal(net(x).asnumpy(), [[12]])
    net.cast("float64")
    assert net(x.astype("float64")).dtype == np.float64

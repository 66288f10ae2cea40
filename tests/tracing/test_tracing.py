"""`hn.function`: what makes a trace, and that a replay does what the Python code would do."""

from __future__ import annotations

import collections
import copy
import functools
import gc
import math
import pickle
import threading
import weakref

import numpy as np
import pytest
from helpers import settle

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.runtime.record import recorder


def arr(*values):
    return nd.array(np.array(values, np.float32))


def host(structure):
    """The same structure with NumPy arrays in the place of NDArrays."""
    if isinstance(structure, nd.NDArray):
        return structure.asnumpy()
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*map(host, structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)(map(host, structure))
    if isinstance(structure, dict):
        return {key: host(one) for key, one in structure.items()}
    return structure


def same(got, wanted):
    got, wanted = host(got), host(wanted)
    np.testing.assert_equal(got, wanted)


def outside():
    """Nothing is left of a trace in this thread."""
    return (
        recorder.current_trace() is None
        and not autograd.is_recording()
        and not autograd.is_training()
    )


# -- what makes a new trace ------------------------------------------------------------------


def test_shapes_and_dtypes_make_traces():
    @hn.function
    def double(x):
        return x + x

    for x in (arr(1, 2), arr(3, 4), arr(1, 2, 3), nd.array([1, 2], dtype="int32"), arr(5, 6)):
        same(double(x), x.asnumpy() * 2)
    assert double.cache_info() == (2, 3, 3)


def test_contexts_make_traces():
    @hn.function
    def double(x):
        return x + x

    for index in (0, 1, 0, 1):
        y = double(nd.array([1.0, 2.0], hn.cpu(index)))
        assert y.context == hn.cpu(index)
        same(y, np.array([2.0, 4.0], np.float32))
    assert double.cache_info().traces == 2


def test_python_values_are_told_apart_by_type_and_value():
    seen = []

    @hn.function
    def scaled(x, n):
        seen.append(n)
        return x * n

    x = arr(1, 2)
    for n in (1, 1.0, True, 2, 1, 1.0, True):
        same(scaled(x, n), x.asnumpy() * n)
    assert [(type(n), n) for n in seen] == [(int, 1), (float, 1.0), (bool, True), (int, 2)]


@pytest.mark.parametrize(
    "value",
    [
        *(0, "text", b"bytes", None, 2.5, 3 + 4j, math.nan, slice(1, None), range(3)),
        *(np.float32(2), np.int64(5), np.bool_(True), np.dtype("int8"), np.float16),
        *(hn.cpu(0), (1, [2, "x"]), {"a": 1}),
    ],
    ids=repr,
)
def test_equal_values_find_the_same_trace(value):
    @hn.function
    def marked(x, value):
        return x + 1, value

    def again(one):
        if isinstance(one, np.generic):
            return type(one)(one)
        return float("nan") if one is math.nan else one

    x = arr(1)
    marked(x, value)
    _, returned = marked(x, again(value))
    assert marked.cache_info() == (1, 1, 1)
    np.testing.assert_equal(returned, value)


def test_zero_and_minus_zero_are_two_values():
    @hn.function
    def over(x, n):
        return x / math.copysign(1.0, n)

    same(over(arr(1), 0.0), [1.0])
    same(over(arr(1), -0.0), [-1.0])


def test_other_objects_are_known_by_identity():
    class Config:
        def __init__(self, rate):
            self.rate = rate

        def __eq__(self, other):
            return True

        __hash__ = None

    @hn.function
    def scaled(x, config):
        return x * config.rate

    one, two = Config(2), Config(3)
    for config in (one, two, one, two):
        same(scaled(arr(1), config), [config.rate])
    assert scaled.cache_info() == (2, 2, 2)
    del one
    gc.collect()
    assert scaled.cache_info().size == 1


def test_training_and_recording_make_traces():
    @hn.function
    def dropped(x):
        return nd.Dropout(x, p=0.5)

    x = nd.ones((1000,))
    same(dropped(x), np.ones(1000, np.float32))
    with autograd.train_mode():
        assert 300 < (dropped(x).asnumpy() == 0).sum() < 700
    with autograd.record(train_mode=False):
        same(dropped(x), np.ones(1000, np.float32))
    with autograd.record():
        assert 300 < (dropped(x).asnumpy() == 0).sum() < 700
    same(dropped(x), np.ones(1000, np.float32))
    assert dropped.cache_info() == (1, 4, 4)


def test_the_current_context_makes_traces():
    @hn.function
    def made():
        return nd.ones((2,)) * 2

    assert made().context == hn.cpu(0)
    with hn.cpu(1):
        assert made().context == hn.cpu(1)
        same(made(), [2.0, 2.0])
    assert made().context == hn.cpu(0)


def test_grad_req_makes_traces():
    @hn.function
    def square(x):
        return x * x

    for req in ("write", "add", "null", None, "write"):
        x = arr(3)
        if req is not None:
            x.attach_grad(req)
            if req == "add":
                x.grad[:] = 1
        with autograd.record():
            y = square(x)
        if req in ("write", "add"):
            y.backward()
            same(x.grad, [6.0 if req == "write" else 7.0])
        else:
            with pytest.raises(MXNetError, match="not computed inside"):
                y.backward()
    assert square.cache_info() == (1, 4, 4)


@pytest.mark.filterwarnings("ignore::hybridnet.RetracingWarning")
def test_old_traces_are_dropped():
    @hn.function
    def scaled(x, n):
        return x * n

    for n in range(300):
        scaled.get_concrete_function(arr(1), n)
    assert scaled.cache_info().size == 256
    scaled.get_concrete_function(arr(1), 299)
    assert scaled.cache_info().hits == 1


def test_numbers_do_not_compile_programs():
    """A trace for each number, one program for all: the numbers are inputs of it."""
    from hybridnet.runtime.programs.cache import cache

    @hn.function
    def scaled(x, n):
        return (x * n + 1) / n

    x = arr(1, 2)
    scaled(x, 2.0).wait_to_read()
    settle()  # what earlier tests have compiled in the background
    before = cache.statistics().compilations
    for n in (3.0, 4.0, 5.0):
        np.testing.assert_allclose(scaled(x, n).asnumpy(), (x.asnumpy() * n + 1) / n, rtol=1e-6)
    assert scaled.cache_info().traces == 4
    assert cache.statistics().compilations == before


# -- structures ------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


def test_structures_go_in_and_out():
    def shuffled(point, options, *rest, flag=None):
        first, (second, third) = rest
        return {
            "z": Point(point.y, point.x),
            "a": [options["b"] + first, (second * third, None), flag],
            "empty": [(), [], {}],
        }

    traced = hn.function(shuffled)
    arguments = (Point(arr(1), arr(2)), {"b": arr(3), "a": 7}, arr(4), (arr(5), [arr(6)][0]))
    for _ in range(2):
        got = traced(*arguments, flag="on")
        wanted = shuffled(*arguments, flag="on")
        assert list(got) == ["z", "a", "empty"]
        assert type(got["z"]) is Point
        assert type(got["a"][1]) is tuple
        same(got, wanted)
    assert traced.cache_info() == (1, 1, 1)


def test_dicts_keep_their_kind_and_order():
    @hn.function
    def turned(d):
        assert list(d) == ["b", "a"]
        return collections.OrderedDict(reversed(d.items()))

    made = turned(collections.OrderedDict(b=arr(1), a=arr(2)))
    assert type(made) is collections.OrderedDict
    assert list(made) == ["a", "b"]

    @hn.function
    def counted(x):
        found = collections.defaultdict(list)
        found["x"].append(x + 1)
        return found

    made = counted(arr(1))
    assert type(made) is collections.defaultdict
    assert made["new"] == []
    same(made["x"], [np.array([2.0])])


def test_keys_need_not_sort():
    @hn.function
    def swapped(d):
        return {1: d["one"], "one": d[1], None: d[None]}

    made = swapped({1: arr(1), "one": arr(2), None: arr(3)})
    assert list(made) == [1, "one", None]
    same(made, {1: [2.0], "one": [1.0], None: [3.0]})


def test_numpy_arguments_are_converted():
    @hn.function
    def double(x):
        assert isinstance(x, nd.NDArray)
        return x + x

    same(double(np.array([1.0, 2.0])), np.array([2.0, 4.0], np.float32))
    same(double(np.array([3.0, 4.0])), np.array([6.0, 8.0], np.float32))
    assert double.cache_info() == (1, 1, 1)


def test_results_that_are_no_arrays_come_back_as_they_are():
    thing = object()

    @hn.function
    def f(x):
        return x.shape, thing, None, "text", 3

    for _ in range(2):
        assert f(nd.ones((2, 3))) == ((2, 3), thing, None, "text", 3)


@pytest.mark.parametrize("result", [None, (), [], 5])
def test_functions_without_array_results(result):
    @hn.function
    def f(x):
        x[:] = x + 1
        return result

    x = arr(1)
    assert f(x) == result
    assert f(x) == result
    same(x, [3.0])


def test_functions_without_arguments():
    @hn.function
    def table():
        return nd.array([1, 2, 3]), nd.arange(3) * 2

    for _ in range(2):
        same(table(), (np.array([1.0, 2, 3]), np.array([0.0, 2, 4])))
    first, second = table(), table()
    first[0][:] = 9
    same(second[0], [1.0, 2.0, 3.0])
    same(table()[0], [1.0, 2.0, 3.0])


def test_keyword_arguments_and_defaults():
    one = arr(1)

    @hn.function
    def affine(x, scale=2, *, shift=one):
        return x * scale + shift

    same(affine(arr(1)), [3.0])
    same(affine(arr(1), 5), [6.0])
    same(affine(arr(1), scale=5), [6.0])
    same(affine(x=arr(1), shift=arr(10)), [12.0])


# -- what comes from outside -----------------------------------------------------------------


def test_captured_arrays_are_read_at_each_call():
    w = arr(1, 2)

    @hn.function
    def plus(x):
        return x + w

    same(plus(arr(1, 1)), [2.0, 3.0])
    w[:] = 5
    same(plus(arr(1, 1)), [6.0, 6.0])
    w[1] = 7
    same(plus(arr(1, 1)), [6.0, 8.0])
    w += 1
    same(plus(arr(1, 1)), [7.0, 9.0])
    assert plus.cache_info().traces == 1


weight = arr(1)
factor = 2
options = {"shift": 10, "bias": arr(100)}


def helper(x):
    return x * factor + options["shift"]


@hn.function
def with_globals(x):
    return helper(x) * weight + options["bias"]


def test_globals_are_what_they_are_at_each_call():
    global weight, factor
    for weight_, factor_, shift, bias in [
        *((1, 2, 10, 100), (3, 2, 10, 100), (3, 5, 10, 100), (3, 5, 20, 100), (3, 5, 20, 0)),
        (1, 2, 10, 100),
    ]:
        weight, factor, options["shift"], options["bias"] = arr(weight_), factor_, shift, arr(bias)
        for _ in range(2):
            same(with_globals(arr(1)), [(factor_ + shift) * weight_ + bias])
    assert with_globals.cache_info() == (6, 6, 6 - 5)


def test_closures_are_what_they_are_at_each_call():
    w, n = arr(1), 1

    @hn.function
    def f(x):
        return x * w + n

    def change(value, number):
        nonlocal w, n
        w, n = value, number

    same(f(arr(2)), [3.0])
    change(arr(10), 1)
    same(f(arr(2)), [21.0])
    change(w, 5)
    same(f(arr(2)), [25.0])
    change(w, 1)
    same(f(arr(2)), [21.0])


class Scaler:
    offset = 1

    def __init__(self, w, scale):
        self.w = w
        self.scale = scale
        self.inner = None

    @hn.function
    def __call__(self, x):
        return self.scaled(x) + self.offset

    def scaled(self, x):
        return x * self.w * self.scale * (1 if self.inner is None else self.inner.w)


def test_methods_read_attributes_at_each_call():
    one, two = Scaler(arr(2), 1), Scaler(arr(3), 10)
    for _ in range(2):
        same(one(arr(1)), [3.0])
        same(two(arr(1)), [31.0])
    one.scale = 5
    same(one(arr(1)), [11.0])
    one.w = arr(7)
    same(one(arr(1)), [36.0])
    one.w[:] = 1
    same(one(arr(1)), [6.0])
    one.inner = Scaler(arr(2), 1)
    same(one(arr(1)), [11.0])
    one.inner.w = arr(3)
    same(one(arr(1)), [16.0])
    one.offset = 0
    same(one(arr(1)), [15.0])
    same(two(arr(1)), [31.0])


def test_traces_of_methods_go_with_their_instances():
    gc.collect()
    size = Scaler.__call__.cache_info().size
    one = Scaler(arr(2), 1)
    one(arr(1))
    held = weakref.ref(one), weakref.ref(one.w.storage)
    assert one.__call__.cache_info().size == size + 1
    del one
    gc.collect()
    assert held[0]() is None and held[1]() is None
    assert Scaler.__call__.cache_info().size == size


def test_an_array_replaced_deep_down_is_noticed():
    """No name in the function's code leads to it; that the old one is gone says it."""
    layers = {"first": [{"deep": [Scaler(arr(2), 1)]}]}

    @hn.function
    def f(x):
        found = layers
        for key in ("first", 0, "deep", 0):
            found = found[key]
        return x * found.w

    same(f(arr(1)), [2.0])
    layers["first"][0]["deep"][0].w = arr(5)
    same(f(arr(1)), [5.0])


def test_a_replaced_helper_makes_a_trace():
    def twice(x):
        return x * 2

    def thrice(x):
        return x * 3

    step = twice

    @hn.function
    def f(x):
        return step(x)

    same(f(arr(1)), [2.0])
    step = thrice
    same(f(arr(1)), [3.0])


def test_numbers_that_the_function_changes_make_traces():
    """Slow, but what the Python code would do."""
    count = 0

    @hn.function
    def counted(x):
        nonlocal count
        count += 1
        return x + count

    assert [float(counted(arr(0)).asscalar()) for _ in range(4)] == [1, 2, 3, 4]


def test_print_happens_while_tracing_only(capsys):
    @hn.function
    def shown(x):
        print("tracing", x)
        return x + 1

    for _ in range(3):
        shown(arr(1, 2))
    assert capsys.readouterr().out == "tracing <NDArray float32[2] @cpu(0), being traced>\n"


@pytest.mark.filterwarnings("ignore::hybridnet.RetracingWarning")
def test_rebinding_compiles_nothing():
    """Each step makes a new array under the old name: a trace each, but one program."""
    from hybridnet.runtime.programs.cache import cache

    w = arr(1, 2)

    @hn.function
    def gradient(x):
        return (w * x - 1) * x

    for step in range(6):
        if step == 3:
            settle()
            before = cache.statistics().compilations
        w = w - 0.1 * gradient(arr(1, 3))
        w.wait_to_read()
    assert cache.statistics().compilations == before
    assert gradient.cache_info() == (0, 6, 0)  # each went with its w
    expected = np.array([1, 2], np.float32)
    for _ in range(6):
        expected = expected - 0.1 * (expected * [1, 3] - 1) * [1, 3]
    np.testing.assert_allclose(w.asnumpy(), expected, rtol=1e-5)


# -- changes in place ------------------------------------------------------------------------


def fill(x):
    x[:] = 7


def add(x):
    x += 1
    x *= 2


def part(x):
    x[1] = 9
    x[0:1] += 5


def through_view(x):
    row = x[1:3]
    row *= 10
    flat = x.reshape(-1)
    flat[0] = -1


def scattered(x):
    x[nd.array([0, 2])] = arr(20, 30)


def with_out(x):
    nd.broadcast_add(x, x, out=x)


def copied(x):
    (x * 3).copyto(x)


CHANGES = [fill, add, part, through_view, scattered, with_out, copied]


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("kind", ["argument", "captured", "view argument", "captured view"])
def test_changes_in_place_are_seen_by_the_caller(change, kind):
    def run(decorate):
        base = nd.arange(6).reshape((2, 3))
        x = base[1] if "view" in kind else base[0].copy()
        seen = []
        if "argument" in kind:
            f = decorate(lambda x, y: (change(x), x + y)[1])
            call = functools.partial(f, x)
        else:
            f = decorate(lambda y: (change(x), x + y)[1])
            call = f
        for step in range(3):
            before = x + 0  # recorded before the call, and so with the values of before
            seen.append(call(arr(step)))
            seen += [before, x + 0, base + 0]
            x[2] = step
        return host(seen)

    same(run(hn.function), run(lambda f: f))


def test_argument_and_captured_changes_in_one_function():
    def run(decorate):
        total, count = arr(0), nd.zeros((1,), dtype="int64")

        @decorate
        def observe(x, out):
            nonlocal_sum = x.sum()
            total[:] = total + nonlocal_sum
            count[:] = count + x.size
            out[:] = total / count.astype("float32")

        out = arr(0)
        for step in range(4):
            observe(arr(step, step + 1), out)
        return host([total, count, out])

    same(run(hn.function), run(lambda f: f))


def test_changes_keep_program_order_with_pending_work():
    """What the caller recorded before and after the call sees the right values."""
    w = arr(1)

    @hn.function
    def bump(x):
        w[:] = w * 2 + x

    kept = []
    for _ in range(3):
        kept.append(w + 0)
        bump(arr(1))
        kept.append(w * 10)
        w += 1
    values = [float(one.asscalar()) for one in kept]
    expected, current = [], 1
    for _ in range(3):
        expected.append(current)
        current = current * 2 + 1
        expected.append(current * 10)
        current += 1
    assert values == expected


def test_the_generator_goes_on_as_in_an_eager_program():
    def draw(x):
        return nd.random.uniform(shape=(3,)) + nd.Dropout(x, p=0.5, mode="always")

    def run(f):
        hn.random.seed(11)
        made = [f(nd.ones((3,))) for _ in range(3)]
        made.append(nd.random.normal(shape=(2,)))
        made.append(f(nd.ones((3,))))
        return host(made)

    traced = hn.function(draw)
    eager = run(draw)
    same(run(traced), eager)
    same(run(traced), eager)
    assert traced.cache_info().traces == 1
    assert not np.array_equal(eager[0], eager[1])


def test_seeding_inside_seeds_at_each_call():
    @hn.function
    def drawn():
        hn.random.seed(3)
        return nd.random.uniform(shape=(2,))

    hn.random.seed(3)
    expected = nd.random.uniform(shape=(2,)).asnumpy()
    for _ in range(3):
        same(drawn(), expected)


def test_seeding_inside_seeds_every_device():
    there = {"shape": (2,), "ctx": hn.cpu(1)}

    @hn.function
    def drawn():
        hn.random.seed(3)
        return nd.random.uniform(shape=(2,))

    @hn.function
    def outer():
        return drawn() * 1

    hn.random.seed(3)
    expected = nd.random.uniform(shape=(2,)).asnumpy(), nd.random.uniform(**there).asnumpy()
    for f in (drawn, drawn, outer, outer):
        same(f(), expected[0])
        same(nd.random.uniform(**there), expected[1])


# -- what is returned ------------------------------------------------------------------------


def test_an_argument_returned_is_the_argument():
    @hn.function
    def f(x, y):
        x += 1
        return y, x, x

    x, y = arr(1), arr(2)
    for _ in range(2):
        first, second, third = f(x, y)
        assert first is y and second is x and third is x
    same(x, [3.0])


def test_a_captured_array_returned_is_that_array():
    w = arr(1)

    @hn.function
    def f(x):
        w[:] = w + x
        return w

    assert f(arr(1)) is w
    assert f(arr(1)) is w
    same(w, [3.0])


def test_views_returned_share_memory_with_what_they_are_views_of():
    w = arr(0, 1, 2, 3)

    @hn.function
    def f(x):
        made = x * 2
        return x[1:3], x.reshape((2, 2)), x.detach(), w[1:], w.detach(), made, made[0:2]

    x = arr(10, 11, 12, 13)
    f(x)
    part, square, whole, tail, captured, made, head = f(x)
    x[:] = 7
    w[:] = 8
    made[:] = 9
    same(
        [part, square, whole, tail, captured, head],
        [[7.0] * 2, [[7.0] * 2] * 2, [7.0] * 4, [8.0] * 3, [8.0] * 4, [9.0] * 2],
    )
    tail[0] = -1
    same(w, [8.0, -1.0, 8.0, 8.0])


def test_one_result_twice_is_one_array():
    @hn.function
    def f(x):
        y = x + 1
        return y, [y], x + 1

    for _ in range(2):
        first, (second,), third = f(arr(1))
        assert first is second
        first[:] = 5
        same(third, [2.0])


def test_each_call_returns_arrays_of_its_own():
    @hn.function
    def f(x):
        return x * 1, nd.zeros((1,))

    first, second = f(arr(1)), f(arr(1))
    first[0][:] = 5
    first[1][:] = 5
    same(second, ([1.0], [0.0]))


# -- memory that is given twice ----------------------------------------------------------------


def test_the_same_array_twice():
    def f(x, y, z):
        x += 1
        return x * y + z, x is y

    traced = hn.function(f)
    for _ in range(2):
        x, e = arr(2), arr(2)
        same(traced(x, x, arr(1)), f(e, e, arr(1)))
        same(x, e)
    a, b = arr(1), arr(2)
    same(traced(a, b, arr(1)), f(arr(1), arr(2), arr(1)))
    assert traced.cache_info().traces == 2


def test_views_of_one_array_can_be_read():
    @hn.function
    def f(x, y):
        return x * y

    data = nd.arange(6)
    for start in range(2):
        same(f(data[start : start + 2], data[3:5]), [start * 3.0, (start + 1) * 4.0])


def test_views_of_one_array_cannot_be_changed():
    @hn.function
    def f(x, y):
        x += y
        return y + 0

    data = nd.arange(6)
    same(f(data[0:2], arr(1, 1)), [1.0, 1.0])
    with pytest.raises(MXNetError, match="f: it overwrites an array whose memory it was given in"):
        f(data[0:2], data[1:3])
    with pytest.raises(MXNetError, match="pass a copy"):
        f(data[0:2], data[0:2])
    same(data, [1.0, 2.0, 2.0, 3.0, 4.0, 5.0])


def test_an_argument_that_is_also_captured():
    w, log = arr(1), arr(0)

    @hn.function
    def read(x):
        log[:] = log + 1
        return x * w

    same(read(w), [1.0])
    same(read(arr(3)), [3.0])
    same(log, [2.0])

    @hn.function
    def written(x):
        w[:] = x + 1
        return x * w

    same(written(arr(3)), [12.0])
    with pytest.raises(MXNetError, match="written: it overwrites"):
        written(w)
    with pytest.raises(MXNetError, match="written: it overwrites"):
        written(w[0:1])
    same(w, [4.0])


# -- functions in functions ------------------------------------------------------------------


def test_nested_functions():
    w = arr(1)

    @hn.function
    def inner(x, n):
        w[:] = w + 1
        return x * w + n

    @hn.function
    def outer(x):
        first = inner(x, 1)
        return inner(first, 2), first

    def plain(x, w):
        w += 1
        first = x * w + 1
        w += 1
        return first * w + 2, first

    e = arr(1)
    for step in range(3):
        same(outer(arr(step)), plain(arr(step), e))
        same(w, e)
    same(inner(arr(1), 1), [float(w.asscalar()) + 1])
    assert outer.cache_info() == (2, 1, 1)


def test_what_a_nested_function_finds_outside_counts_for_the_outer_one():
    n, w = 1, arr(1)

    @hn.function
    def inner(x):
        return x * w + n

    @hn.function
    def outer(x):
        return inner(x) * 2

    same(outer(arr(1)), [4.0])
    n = 2
    same(outer(arr(1)), [6.0])
    w = arr(5)
    same(outer(arr(1)), [14.0])


def test_recursion_over_python_values():
    @hn.function
    def power(x, n):
        return x if n == 0 else x * power(x, n - 1)

    for _ in range(2):
        same(power(arr(2), 4), [32.0])
    assert power.cache_info().traces == 5


def test_partial_lambda_callable_objects_and_bound_methods():
    def affine(a, x, b=0):
        return a * x + b

    traced = hn.function(affine)
    same(functools.partial(traced, arr(2), b=1)(arr(3)), [7.0])
    same(hn.function(functools.partial(affine, arr(2), b=1))(arr(3)), [7.0])
    same(hn.function(lambda x: x + 1)(arr(3)), [4.0])

    class Callable:
        def __init__(self, scale):
            self.scale = scale

        def __call__(self, x):
            return x * self.scale

        def method(self, x):
            return x * self.scale + 1

    one = Callable(2)
    call, method = hn.function(one), hn.function(one.method)
    same([call(arr(1)), method(arr(1))], [[2.0], [3.0]])
    one.scale = 5
    same([call(arr(1)), method(arr(1))], [[5.0], [6.0]])


def test_bound_methods_as_arguments():
    class Layer:
        def forward(self, x):
            return x * 2

    @hn.function
    def applied(x, layer):
        return layer(x)

    layer = Layer()
    for _ in range(3):
        same(applied(arr(1), layer.forward), [2.0])
    assert applied.cache_info() == (2, 1, 1)


def test_copies_and_pickles_have_no_traces():
    assert pickle.loads(pickle.dumps(with_globals)) is with_globals
    assert copy.deepcopy(with_globals) is with_globals
    net = hn.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    net.hybridize()
    x = nd.ones((1, 2))
    before = net(x).asnumpy()
    twin = copy.deepcopy(net)
    twin.weight.set_data(twin.weight.data() * 2)
    same(net(x), before)
    np.testing.assert_allclose(twin(x).asnumpy(), before * 2, rtol=1e-6)


def test_names_and_documentation_are_kept():
    @hn.function(name="step")
    def f(x):
        """Adds."""
        return x + 1

    assert (f.name, f.__name__, f.__doc__, repr(f)) == ("step", "f", "Adds.", "<hn.function step>")
    assert f.__wrapped__ is f.python_function
    assert f.get_concrete_function(arr(1)).call.name == "step"
    assert [node.call.name for node in f.graph(arr(1)).nodes if node.call] == ["_plus_scalar"]
    assert f.cache_info() == (1, 1, 1)


def test_what_cannot_be_a_function():
    with pytest.raises(ParameterError, match="needs a callable, got int"):
        hn.function(3)

    def rows(x):
        yield x

    async def later(x):
        return x

    for one in (rows, later):
        with pytest.raises(ParameterError, match="generator or coroutine"):
            hn.function(one)


# -- errors ----------------------------------------------------------------------------------

TRACED = "belongs to a traced function"


@pytest.mark.parametrize(
    "read",
    [
        *(lambda x: x.asnumpy(), lambda x: float(x), lambda x: bool(x), lambda x: x.asscalar()),
        *(lambda x: x.wait_to_read(), lambda x: np.asarray(x), lambda x: x[x.astype("bool")]),
        *(lambda x: list(range(x)), lambda x: x.tolist(), lambda x: x.to_jax()),
    ],
)
@pytest.mark.parametrize("where", ["argument", "result", "captured"])
def test_reading_a_value_inside_is_an_error_at_the_line(read, where):
    w = nd.array([1], dtype="int32")

    @hn.function(autograph=False)
    def f(x):
        read({"argument": x, "result": x + 1, "captured": w}[where])

    with pytest.raises(MXNetError, match=TRACED) as caught:
        f(nd.array([1], dtype="int32"))
    assert any(one.path.name == "test_tracing.py" for one in caught.traceback[1:])
    assert outside()
    assert f.cache_info() == (0, 0, 0)


def test_an_array_that_escaped_is_an_error_at_the_line():
    kept = []

    @hn.function
    def f(x):
        kept.extend([x, x + 1, x[0:1]])
        return x * 2

    same(f(arr(1, 2)), [2.0, 4.0])
    for one in kept:
        with pytest.raises(MXNetError, match=TRACED):
            one.asnumpy()
        with pytest.raises(MXNetError, match=TRACED):
            _ = one + 1
        with pytest.raises(MXNetError, match=TRACED):
            print(one)

        @hn.function
        def g(y, one=one):
            return y + one

        with pytest.raises(MXNetError, match=TRACED):
            g(arr(1))
    assert outside()
    nd.waitall()


def test_an_escaped_array_cannot_be_written_to_another():
    kept = []

    @hn.function
    def f(x):
        kept.append(x + 1)
        return x * 2

    f(arr(1))
    w = arr(5)
    w[:] = kept[0]
    with pytest.raises(MXNetError, match=TRACED):
        w.asnumpy()
    w[:] = 3
    same(w, [3.0])


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_inside_leaves_nothing_behind(error):
    w = arr(1)
    w.attach_grad()
    fail = True

    @hn.function
    def f(x):
        with autograd.record():
            y = x * w
            w.detach()[:] = 9
            if fail:
                raise error("no")
        return y

    with pytest.raises(error, match="no"):
        f(arr(2))
    assert outside()
    same(w, [1.0])
    with pytest.raises(error), autograd.record():
        f(arr(2))
    assert outside()
    fail = False
    same(f(arr(2)), [2.0])
    same(w, [9.0])


def test_a_shape_error_is_raised_at_the_line_while_tracing():
    @hn.function
    def f(x, y):
        return nd.dot(x, y)

    f(nd.ones((2, 3)), nd.ones((3, 2)))
    with pytest.raises(hn.base.errors.ShapeError, match="dot"):
        f(nd.ones((2, 3)), nd.ones((2, 2)))
    assert outside()


def test_arrays_on_several_devices():
    @hn.function
    def f(x, y):
        return x + 1, y + 1

    one, other = f(nd.ones((1,), hn.cpu(0)), nd.ones((1,), hn.cpu(1)))
    assert one.context is hn.cpu(0)
    assert other.context is hn.cpu(1)
    assert (one.asscalar(), other.asscalar()) == (2, 2)

    @hn.function
    def g(x):
        return x.as_in_context(hn.cpu(1))

    assert g(arr(1)).context is hn.cpu(1)
    assert g(arr(7)).asscalar() == 7
    assert outside()


def test_attaching_gradients_to_what_is_outside_is_an_error():
    w = arr(1)

    @hn.function
    def argument(x):
        x.attach_grad()

    @hn.function
    def captured():
        w.attach_grad()

    @hn.function
    def copied(x):
        x = x.copy()
        x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        return x.grad

    for f, given in ((argument, [arr(1)]), (captured, [])):
        with pytest.raises(MXNetError, match="attach the gradient before the call, or to a copy"):
            f(*given)
    same(copied(arr(3)), [6.0])
    assert w.grad is None


# -- threads and memory ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::hybridnet.RetracingWarning")
def test_two_threads_call_functions_that_call_each_other():
    @hn.function
    def f(x, n):
        return x + 1 if n == 0 else g(x, n - 1) * 2

    @hn.function
    def g(x, n):
        return x * 3 if n == 0 else f(x, n - 1) + 5

    def expected(x, n, is_f):
        if is_f:
            return x + 1 if n == 0 else expected(x, n - 1, False) * 2
        return x * 3 if n == 0 else expected(x, n - 1, True) + 5

    wrong = []
    barrier = threading.Barrier(2)

    def work(function, is_f):
        barrier.wait()
        for n in range(6):
            for x in (1, 2, 3):
                got = float(function(arr(x), n).asscalar())
                if got != expected(x, n, is_f):
                    wrong.append((is_f, x, n, got))

    threads = [threading.Thread(target=work, args=one) for one in ((f, True), (g, False))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_threads_trace_one_function_once():
    entered = []

    @hn.function
    def f(x):
        entered.append(threading.get_ident())
        return x + 1

    barrier = threading.Barrier(4)
    results = []

    def work():
        barrier.wait()
        results.append(float(f(arr(1)).asscalar()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert results == [2.0] * 4
    assert len(entered) == 1


def test_another_thread_does_not_trace_along():
    """While one thread traces, another one's operations run as ever."""
    inside, done = threading.Event(), threading.Event()
    w = arr(1)

    @hn.function
    def f(x):
        inside.set()
        assert done.wait(60)
        w[:] = w + 1
        return x * w

    thread = threading.Thread(target=lambda: f(arr(1)))
    thread.start()
    assert inside.wait(60)
    w[:] = 10
    same(w + 1, [11.0])
    done.set()
    thread.join()
    same(w, [11.0])


def test_a_dropped_function_lets_go():
    def make(w):
        @hn.function
        def f(x):
            w[:] = w + x
            return w * x, nd.array([1, 2])

        return f, weakref.ref(w.storage)

    f, storage = make(arr(1))
    trace = weakref.ref(f.get_concrete_function(arr(1)))
    for _ in range(3):
        f(arr(1))
    settle()
    del f
    gc.collect()
    assert trace() is None
    assert storage() is None


def test_calls_do_not_pile_anything_up():
    w = arr(1)

    @hn.function
    def f(x):
        w[:] = w * 0.5 + x
        return w + 1, x[0:1], [x, None]

    x = arr(1)

    def objects():
        settle()
        gc.collect()
        return len(gc.get_objects())

    for _ in range(20):
        f(x)
    before = objects()
    for _ in range(1000):
        f(x)
    assert objects() - before < 200
    assert f.cache_info() == (1019, 1, 1)


@pytest.mark.compiled
def test_a_captured_buffer_is_updated_where_it_is():
    """What a call overwrites, and nobody else holds, gives its memory to the result."""
    w = nd.zeros((1024,))

    @hn.function
    def bump():
        w[:] = w + 1

    for _ in range(3):
        bump()
        settle()
    places = set()
    for _ in range(4):
        bump()
        places.add(w.storage.read().array.unsafe_buffer_pointer())
    assert len(places) == 1
    same(w, np.full(1024, 7, np.float32))

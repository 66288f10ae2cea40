"""Control flow of Python in traced functions: what comes out is what Python would compute."""

from __future__ import annotations

import inspect
import itertools
import os
import re
import runpy

import jax
import numpy as np
import pytest
from autograph_programs import PROGRAMS, Host
from places import ROOT

import hybridnet as hn
from hybridnet import autograd, nd


@pytest.fixture(autouse=True, scope="module")
def few_optimizations():
    """Programs that run once or twice need not be compiled well."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def leaves(result):
    """The numbers of a result, flat."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    hosts = [one.asnumpy() if isinstance(one, nd.NDArray) else np.asarray(one) for one in parts]
    return [one.astype(np.float64).reshape(-1) for one in hosts]


def total(result):
    """The sum of the arrays of a result."""
    parts = result if isinstance(result, tuple) else (result,)
    kinds = (nd.NDArray, np.ndarray, np.generic)
    arrays = [one for one in parts if isinstance(one, kinds)]
    return sum(one.sum() for one in arrays if np.dtype(one.dtype).kind == "f")


def gradient(run, given):
    """The gradient of that sum, as autograd computes it."""
    x = nd.array(given, dtype="float32")
    x.attach_grad()
    with autograd.record():
        head = total(run(nd, x))
    head.backward()
    return x.grad.asnumpy()


def numeric_gradient(run, given):
    """The same by differences, of NumPy's results in double precision."""
    x = np.array(given, np.float64)
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        found[place] = (total(run(Host, x + step)) - total(run(Host, x - step))) / 2e-5
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.run.__name__)
def test_programs(program):
    """As NumPy computes it, as eager arrays do, and as the graph does."""
    traced = hn.function(program.run)
    for given in program.inputs:
        host = np.array(given, np.float32)
        plain = leaves(program.run(Host, host.copy()))
        eager = leaves(program.run(nd, nd.array(host)))
        got = leaves(traced(nd, nd.array(host)))
        for one, two, three in zip(plain, eager, got, strict=True):
            np.testing.assert_allclose(two, one, rtol=2e-4, atol=1e-5)
            np.testing.assert_allclose(three, two, rtol=1e-5, atol=1e-6)
    assert traced.cache_info().traces == len({np.shape(one) for one in program.inputs})
    if not program.differentiated:
        return
    given = program.inputs[0]
    wanted = numeric_gradient(program.run, given)
    np.testing.assert_allclose(gradient(traced, given), wanted, rtol=1e-3, atol=1e-4)


# -- errors ----------------------------------------------------------------------------------


def other_shape(x):
    if x.sum() > 0:  # here
        y = x
    else:
        y = nd.zeros((3,))
    return y


def other_dtype(x):
    y = x
    if x.sum() > 0:  # here
        y = x.astype("int32")
    return y


def array_or_none(x):
    y = None
    if x.sum() > 0:  # here
        y = x
    return y


def missing_value(x):
    if x.sum() > 0:  # here
        y = x
    return y


def growing(x):
    while x.sum() < 100:  # here
        x = nd.concat(x, x, dim=0)
    return x


def other_dtype_later(x):
    while x.sum() < 100:  # here
        x = (x * 2).astype("float64")
    return x


def other_structure(x):
    state = (x, x)
    while x.sum() < 100:  # here
        state = (x,)
        x = x * 2
    return state


def becomes_text(x):
    name = None
    while x.sum() < 100:  # here
        x = x * 2
        name = f"{x.shape}"
    return name


def appended(x):
    ys = []
    while x.sum() < 100:  # here
        x = x * 2
        ys.append(x)
    return ys


def one_more_item(x):
    ys = [x]
    if x.sum() > 0:  # here
        ys.append(x)
    return ys


def other_keys(x):
    d = {"a": x}
    if x.sum() > 0:  # here
        d["b"] = x
    return d


def sometimes_returned(x):  # noqa: RET503  # that is the fault
    if x.sum() > 0:
        return x
    x = x + 1
    if x.sum() > 5:
        return x * 2


def size_from_array(x):
    n = int(x[0])
    return nd.zeros((n,))  # here


def list_by_array(x):
    xs = [x, x]
    for i in range(int(x[0])):
        x = xs[i]  # here
    return x


def several_elements(x):
    if x > 0:  # here
        x = x + 1
    return x


def too_long(x):
    names = []
    for i in range(5000):  # here
        x = x + i
        names.append(str(x.shape))
    return x


def changed_and_replaced(x, w):
    i = 0
    while i < x.sum():  # here
        w += 1
        w = w * 2
        i += 1
    return w


def defined_in_loop(x):
    i = 0
    while i < x.sum():  # here
        y = x + i
        i += 1
    return y


def several_rows_changed(x):
    for i in range(int(x[0])):  # here
        x = nd.zeros((i, 2))
    return x


NAMED = [
    (other_shape, hn.base.errors.ShapeError, ["'y'", "float32[2]", "float32[3]", "both branches"]),
    (other_dtype, hn.base.errors.DTypeError, ["'y'", "int32[2]", "float32[2]", "both branches"]),
    (array_or_none, hn.base.errors.ParameterError, ["'y'", "an array float32[2]", "None"]),
    (missing_value, UnboundLocalError, ["'y'", "the second branch", "assign it before"]),
    (growing, hn.base.errors.ShapeError, ["'x'", "float32[2]", "float32[4]", "keep shape"]),
    (other_dtype_later, hn.base.errors.DTypeError, ["'x'", "float32[2]", "float64[2]"]),
    (other_structure, hn.base.errors.ParameterError, ["'state'", "a tuple", "structure"]),
    (becomes_text, hn.base.errors.ParameterError, ["'name'", "None", "the str '(2,)'"]),
    (appended, hn.base.errors.ParameterError, ["'ys'", "nd.zeros", "known length"]),
    (one_more_item, hn.base.errors.ParameterError, ["'ys'", "2 items", "1 "]),
    (other_keys, hn.base.errors.ParameterError, ["'d'", "2 items", "1 "]),
    (several_elements, hn.base.errors.MXNetError, ["one element", "float32[2]", ".min()"]),
    (too_long, hn.base.errors.MXNetError, ["too many", "'names'|names", "str"]),
    (defined_in_loop, UnboundLocalError, ["'y'", "before the loop"]),
    (several_rows_changed, hn.base.errors.MXNetError, ["a number that is known only"]),
]


def marked_line(function):
    """Where the line of a function is that has the mark."""
    lines, first = inspect.getsourcelines(function)
    number = next(number for number, one in enumerate(lines) if "# here" in one)
    return f"test_autograph.py:{first + number}"


@pytest.mark.parametrize(
    ("function", "kind", "said"), NAMED, ids=lambda one: getattr(one, "__name__", "")
)
def test_errors_name_variable_and_line(function, kind, said):
    with pytest.raises(kind) as caught:
        hn.function(function)(nd.array([1.0, 2.0]))
    message = str(caught.value)
    for one in said:
        assert any(part in message for part in one.split("|")), message
    if "number that is known only" not in said[0]:
        assert marked_line(function) in message
    files = [one.path.name for one in caught.traceback]
    assert files.count("test_autograph.py") >= 2  # the call, and the line
    assert not any("generated" in one for one in files)


def test_an_array_from_outside_is_changed_or_replaced():
    with pytest.raises(hn.base.errors.ParameterError, match="'w' in place"):
        hn.function(changed_and_replaced)(nd.array([1.0, 2.0]), nd.array([1.0]))


def test_a_function_returns_on_all_paths():
    with pytest.raises(hn.base.errors.MXNetError, match="on some paths"):
        hn.function(sometimes_returned)(nd.array([1.0, 2.0]))


@pytest.mark.parametrize("function", [size_from_array, list_by_array])
def test_numbers_of_the_graph_are_not_for_python(function):
    with pytest.raises(hn.base.errors.MXNetError, match="known only when") as caught:
        hn.function(function)(nd.array([1.0, 2.0]))
    places = [f"{one.path.name}:{one.lineno + 1}" for one in caught.traceback]
    assert marked_line(function) in places


def test_a_part_by_a_number_of_the_graph_is_no_view():
    def f(x):
        for i in range(int(x[0])):
            row = x[i]
            row += 1
        return x

    with pytest.raises(hn.base.errors.ParameterError, match=r"write x\[i\] = "):
        hn.function(f)(nd.array([1.0, 2.0]))


def test_errors_at_run_time_name_the_line():
    @hn.function
    def checked(x):
        assert x.sum() > 0, "must be positive"
        if x.sum() > 10:
            raise ValueError(f"too large: {x.shape}")
        for i in range(40):
            x = x + i
            assert x[0] != 40
        return x

    first = inspect.getsourcelines(checked.python_function)[1]
    for given, line, said in [
        (-1.0, 2, "must be positive"),
        (100.0, 4, r"too large: \(1,\)"),
        (4.0, 7, r"x\[0\] != 40"),
    ]:
        with pytest.raises(hn.base.errors.OpError, match=f"autograph.py:{first + line}.*{said}"):
            checked(nd.array([given]))
        nd.waitall()
    np.testing.assert_allclose(checked(nd.array([5.0])).asnumpy(), [5 + 39 * 20])


def test_nodes_know_the_lines_that_made_them():
    def f(x):
        if x.sum() > 0:
            x = nd.tanh(x)  # here
        return x

    (choice,) = [
        node for node in hn.function(f).graph(nd.array([1.0])).nodes if hasattr(node.call, "parts")
    ]
    nodes = [node for part in choice.call.parts for node in part.graph.nodes if node.call]
    (title,) = [node.title for node in nodes if node.call.name == "tanh"]
    assert f"made at {os.path.relpath(os.path.dirname(__file__))}/{marked_line(f)}" in title


# -- conversion ------------------------------------------------------------------------------


def test_code_without_source_is_traced_as_it_is():
    names = {}
    code = "def f(x):\n    return x * 2 if len(x) > 1 else x\n\ndef g(x):\n    return x + 1\n"
    # (Not "<string>": since 3.13, Python takes the text of `python -c` for the source of that.)
    exec(compile(code, "<typed>", "exec"), names)
    with pytest.warns(UserWarning, match="its source is not there"):
        got = hn.function(names["f"])(nd.array([1.0, 2.0]))
    np.testing.assert_equal(got.asnumpy(), [2, 4])
    hn.function(names["g"])(nd.array([1.0]))  # has nothing to convert: no warning


def test_conversion_can_be_turned_off():
    def choice(x):
        return x if x.sum() > 0 else -x

    np.testing.assert_equal(hn.function(choice)(nd.array([-1.0])).asnumpy(), [1])
    with pytest.raises(hn.base.errors.MXNetError, match="cannot be read there"):
        hn.function(choice, autograph=False)(nd.array([-1.0]))


def test_each_branch_is_traced_once():
    counter = itertools.count()

    def f(x):
        if x[0] > 0:
            next(counter)
            if x[0] > 1:
                next(counter)
                if x[0] > 2:
                    next(counter)
                    x = x + 1
                else:
                    next(counter)
                x = x + 1
            else:
                next(counter)
            x = x + 1
        else:
            next(counter)
        return x

    np.testing.assert_equal(hn.function(f)(nd.array([5.0])).asnumpy(), [8])
    assert next(counter) == 6


def test_long_loops_are_one_node():
    @hn.function
    def f(x):
        for i in range(10_000):
            x = x * 0.999 + i
        return x

    x = nd.array([1.0, 2.0])
    assert len(f.graph(x).nodes) < 20
    expected = np.array([1.0, 2.0])
    for i in range(10_000):
        expected = expected * 0.999 + i
    np.testing.assert_allclose(f(x).asnumpy(), expected, rtol=1e-3)


MEMORY = []


class Stateful:
    def __init__(self):
        self.total = nd.zeros((1,))

    def add(self, x):
        self.total = self.total + x
        MEMORY.append(self.total)


stateful = Stateful()


def test_objects_and_lists_outside_are_seen_by_loops_and_branches():
    @hn.function
    def f(x):
        MEMORY.clear()
        stateful.total = x * 0
        for i in range(40):
            stateful.add(x + i)
        if x[0] > 0:
            stateful.total = stateful.total * 2
        return stateful.total, MEMORY[2], MEMORY[-1], len(MEMORY)

    for given in (1.0, -1.0):
        total, third, last, count = f(nd.array([given]))
        assert third.asscalar() == 3 * given + 3
        assert last.asscalar() == 40 * given + 780
        assert total.asscalar() == last.asscalar() * (2 if given > 0 else 1)
        assert count == 40


def test_blocks_may_be_called_first_in_a_branch():
    class Gate(hn.gluon.HybridBlock):
        def forward(self, x):
            return x * 2

    gate, calls = Gate(), []
    gate.hybridize()

    @hn.function
    def f(x):
        calls.append(1)
        if x[0] > 0:
            x = gate(x)
        for _ in range(40):
            x = gate(x) * 0.5
        return x

    np.testing.assert_allclose(f(nd.array([3.0])).asnumpy(), [6])
    np.testing.assert_allclose(f(nd.array([-3.0])).asnumpy(), [-3])
    assert len(calls) == 1


def test_what_long_loops_append_is_stacked_as_one_array():
    def f(x):
        ys = [x]
        for i in range(2000):
            ys.append(ys[0] * i)
        ys[7] = x * -1
        return nd.stack(*ys), nd.stack(*ys[:4])

    x = nd.array([1.0, 2.0])
    traced = hn.function(f)
    whole, few = traced(x)
    expected = np.outer([1, *range(2000)], [1.0, 2.0])
    expected[7] = [-1, -2]
    np.testing.assert_allclose(whole.asnumpy(), expected)
    np.testing.assert_allclose(few.asnumpy(), expected[:4])
    assert len(traced.graph(x).nodes) < 40


def test_random_numbers_go_on_in_branches_and_loops():
    def f(x):
        for _ in range(40):
            if x[0] > 0:
                x = x + nd.random.uniform(shape=(1,))
        return x

    traced = hn.function(f)
    results = []
    for run in (f, traced):
        hn.random.seed(3)
        results.append([run(nd.array([given])).asscalar() for given in (1.0, -1.0, 1.0)])
    hn.random.seed(3)
    again = [traced(nd.array([given])).asscalar() for given in (1.0, -1.0, 1.0)]
    assert results[1] == again
    assert results[1][0] != results[1][2]
    assert results[0] == pytest.approx(results[1], rel=1e-5)


def test_blocks_inside_blocks_are_converted():
    class Gate(hn.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            if x.sum() > 0:
                return x * 2
            return -x

    class Net(hn.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.gate = Gate()

        def forward(self, x):
            y = self.gate(x)
            while y.sum() < 10:
                y = y * 3
            return y

    net = Net()
    net.hybridize()
    for given in ([1.0, 1.0], [-3.0, -1.0], [20.0, 1.0]):
        x = nd.array(given)
        y = x * 2 if given[0] > 0 else -x
        while y.sum() < 10:
            y = y * 3
        np.testing.assert_allclose(net(x).asnumpy(), y.asnumpy())


def test_the_example_of_the_documentation(tmp_path):
    text = (ROOT / "docs" / "function.md").read_text()
    section = text.partition("## Control flow\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    path = tmp_path / "newton.py"
    path.write_text("import hybridnet as hn\nfrom hybridnet import nd\n\n" + code)
    found = runpy.run_path(str(path))
    newton = found["newton"]
    y, turns = newton.python_function(nd.array([2.0, 9.0]), 100)
    np.testing.assert_allclose(found["y"].asnumpy(), y.asnumpy(), rtol=1e-5)
    assert found["turns"].asscalar() == turns
    assert newton(nd.array([2.0, 9.0]), 3)[1].asscalar() == -1

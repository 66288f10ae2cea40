"""Functions whose `if`s and loops Python knows: converted in part, they mean the same."""

from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.tracing.autograph import conversion, transpile

X = np.array([1.0, -2.0, 3.0], np.float32)


@pytest.fixture
def converted(monkeypatch):
    """The names of the functions that were converted in full."""
    names = []
    convert = transpile.convert_whole

    def noted(function):
        names.append(function.__name__)
        return convert(function)

    monkeypatch.setattr(transpile, "convert_whole", noted)
    monkeypatch.setattr(conversion, "_forms", type(conversion._forms)())
    return names


def check(function, *args, **kwargs):
    """Compares a traced function with the same on arrays, and returns the trace's graph."""
    traced = hn.function(function)
    given = [nd.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    expected = function(*given, **kwargs).asnumpy()
    np.testing.assert_allclose(traced(*given, **kwargs).asnumpy(), expected, rtol=1e-6)
    return traced.graph(*given, **kwargs)


class Settings:
    """What functions decide on."""

    def __init__(self, **settings):
        self.__hidden = settings.pop("hidden", 2)
        vars(self).update(settings)

    @property
    def computed(self):
        return self.array > 0

    def private(self, x):
        for number in range(self.__hidden):
            x = x * 2 if number else x + 1
        return x


def on_settings(x, s):
    if s.bias is None and not s.flag:
        x = x + 1
    elif s.kind == "tanh" or s.sizes[0] > 2:
        x = x.tanh()
    for i, factor in enumerate(s.factors):
        if i == 0:
            continue
        x = x * factor
    for a, b in zip(s.factors, [x, x + 1], strict=False):
        x = x + a * b
        if len(s.factors) > 5:
            break
    else:
        x = x - 1
    shape = x.shape
    if len(shape) == 1 and shape[0] > 1:
        x = x[::-1] if s.flag else x[:]
    return x


@pytest.mark.parametrize("flag", [True, False])
def test_settings_are_known(flag, converted):
    settings = Settings(bias=None, flag=flag, kind="tanh", sizes=(1, 2), factors=[2.0, 3.0, 4.0])
    check(on_settings, X, settings)
    assert not converted


def test_private_attributes_are_found(converted):
    check(Settings().private, X)
    assert not converted


def on_flag(x, flag):
    if flag:
        return x * 2
    return x - 1


def test_an_argument_decides_as_what_it_is(converted):
    for flag in (True, 0, None, "yes", [], [nd.array(X)]):
        check(on_flag, X, flag)
    assert not converted
    for flag in (0.0, 1.0):
        check(on_flag, X, np.array([flag], np.float32))
    assert converted == ["on_flag"]
    check(on_flag, X, False)
    assert converted == ["on_flag"]


def on_attribute(x, s):
    if s.flag:
        x = x * 2
    return x


def on_property(x, s):
    if s.computed:
        x = x * 2
    return x


@pytest.mark.parametrize("function", [on_attribute, on_property])
def test_an_attribute_that_is_an_array_decides_when_it_runs(function, converted):
    array = nd.array([1.0])
    settings = Settings(flag=array, array=array)
    traced = hn.function(function)
    x = nd.array(X)
    np.testing.assert_array_equal(traced(x, settings).asnumpy(), 2 * X)
    array[:] = -1.0 if function is on_property else 0.0
    np.testing.assert_array_equal(traced(x, settings).asnumpy(), X)
    assert converted == [function.__name__]


def turns(x, n):
    for i in range(n):
        x = x * 0.5 + i
    return x


def test_long_loops_still_become_one_node(converted):
    short = check(turns, X, 3)
    assert not converted
    long = check(turns, X, 200)
    assert converted == ["turns"]
    assert len(long.nodes) < 40
    assert len(short.nodes) <= 7


def rows(x):
    total = nd.zeros((1,))
    for row in x:
        total = total + row.sum()
    return total


def expressions(x, flag=None, *more, scale=2.0, **words):
    y = x if flag is None else flag
    z = y * scale if (y.sum() > 0 and x[0] > 0) or not x[1] > 0 else y - 1
    inner = lambda value, by=2: value * by if flag is None else value / by  # noqa: E731

    def nested(value):
        return inner(value) + int(x.max())

    return nested(z) + sum(part.sum() for part in more) + words.get("extra", 0)


def test_expressions_are_converted(converted):
    for given in (X, -X):
        check(expressions, given)
        check(expressions, given, X, X, X, scale=3.0, extra=5)
    assert not converted


def test_rows_of_arrays_are_for_the_graph(converted):
    graph = check(rows, np.arange(200, dtype=np.float32).reshape(100, 2))
    assert converted == ["rows"]
    assert len(graph.nodes) < 40


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) * 2

    return wrapper


@doubled
def wrapped(x, flag):
    if flag:
        return x + 1
    return x


def test_of_a_wrapper_its_own_source_is_read(converted):
    check(wrapped, X, True)
    assert not converted
    check(wrapped, X, np.array([1.0], np.float32))
    assert converted == ["wrapped"]


def changing(x, s):
    flag = s.flag
    while x.size > 4:
        x = x[1:]
    if flag:
        flag = x[0] > 0
    if flag:
        x = x + 1
    return x


def test_a_variable_is_all_that_it_is_assigned(converted):
    for array in (X, -X):
        check(changing, array, Settings(flag=True))
    assert converted == ["changing"]


SCRIPT = """
import sys

import hybridnet as hn
from hybridnet import gluon, nd


class Base(gluon.HybridBlock):
    def __init__(self, rate):
        super().__init__()
        self._rate = rate
        self._stages = [gluon.nn.Dense(3, in_units=3, prefix=f"part{i}_") for i in range(2)]
        for part in self._stages:
            self.register_child(part)

    def hybrid_forward(self, F, x):
        if self._rate:
            x = x * self._rate
        for part in self._stages:
            x = part(x)
        return x


class Derived(Base):
    def hybrid_forward(self, F, x):
        if F is nd:
            x = x + 1
        return super().hybrid_forward(F, x)


net = Derived(2.0)
net.initialize()
plain = net(nd.ones((2, 3)))
net.hybridize()
print((net(nd.ones((2, 3))) - plain).abs().sum().asscalar() < 1e-5, "malt" in sys.modules)
"""


def test_blocks_are_traced_without_the_converting_library(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    found = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "False"]

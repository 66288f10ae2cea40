"""Lab 9: what is to hold of converted functions, tried on small random ones.

The oracle is plain Python on numbers. Most properties are tried without the framework, on arrays of
one number that have no truth value, as while tracing: of each choice on one both branches are run,
and what the chosen one returned is taken. The last ones are tried in `hn.function`.
"""

from __future__ import annotations

import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from hybridnet import nd
from hybridnet.tracing import function as traced_function

from ...checking import Check, Wrong
from .drawing import choices_in
from .programs import CALLS, FILE, Program, choices, failing, loaded, programs


class _AskedError(Exception):
    """Python has asked whether an array is true."""


class _Array:
    """A number that is not known while the function is traced."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __add__(self, other: Any) -> _Array:
        return _Array(self.value + _number(other))

    def __sub__(self, other: Any) -> _Array:
        return _Array(self.value - _number(other))

    def __gt__(self, other: Any) -> _Array:
        return _Array(self.value > _number(other))

    def __lt__(self, other: Any) -> _Array:
        return _Array(self.value < _number(other))

    def __bool__(self) -> bool:
        raise _AskedError

    def __repr__(self) -> str:
        return "<array>"


def _number(value: Any) -> float:
    return float(value.value if isinstance(value, _Array) else value)


class _Missing:
    """A variable that has no value yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}, undefined>"


class _Operators:
    """The operators that converted functions call, without graphs.

    Attributes:
        converted: the names of the functions that were.
    """

    def __init__(self, part: Any) -> None:
        self._part = part
        self.converted: list[str] = []

    def convert(self, function: types.FunctionType) -> Any:
        """Asks the part to convert a function."""
        self.converted.append(function.__name__)
        code = function.__code__
        made = self._part.convert(function, self)
        if not isinstance(made, types.FunctionType):
            raise Wrong("no_function", answer=repr(made))
        if function.__code__ is not code:
            raise Wrong("changed", name=function.__name__)
        return made

    def cond(self, condition: Any, then: Any, other: Any, names: Any) -> tuple[Any, ...]:
        """Runs one branch, or, if the condition is an array, both; returns the values of one."""
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise Wrong("names", names=repr(names))
        if not isinstance(condition, _Array):
            return self._run(then if condition else other, names)
        found, others = (self._run(branch, names) for branch in (then, other))
        return found if condition.value else others

    def _run(self, branch: Any, names: Sequence[str]) -> tuple[Any, ...]:
        if not callable(branch):
            raise Wrong("no_branch", branch=repr(branch))
        values = branch()
        if not isinstance(values, tuple) or len(values) != len(names):
            raise Wrong("values", names=tuple(names), values=repr(values))
        return values

    def undefined(self, name: str) -> Any:
        return _Missing(name)

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        code = getattr(function, "__code__", None)
        if code is not None and code.co_filename == FILE:
            function = self.convert(function)
        return function(*args, **kwargs)


@contextmanager
def _told() -> Iterator[None]:
    """A block that runs converted functions: what they raise is said with the program's line."""
    try:
        yield
    except (Wrong, NotImplementedError):
        raise
    except _AskedError as error:
        line, text = _line_of(error)
        raise Wrong("asked", line=line, text=text) from error
    except Exception as error:
        line, text = _line_of(error)
        if not line:
            raise
        said = f"{type(error).__name__}: {error}"
        raise Wrong("raised", error=said, line=line, text=text) from error


def _line_of(error: BaseException) -> tuple[int, str]:
    """Returns the innermost line of the program that an error came through; 0 if it did not."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == FILE]
    return (frames[-1].lineno or 0, frames[-1].line or "") if frames else (0, "")


def _computes_the_same(part: Any, program: Program) -> None:
    """Held against plain Python, for each of the calls."""
    plain = program.function()
    with _told():
        made = _Operators(part).convert(plain)
        for x, y in CALLS:
            found = made(_Array(x), _Array(y), program.n)
            _compare(found, plain(x, y, program.n), (x, y))


def _compare(found: Any, wanted: float, call: tuple[float, float], traced: object = "") -> None:
    x, y = (f"{value:g}" for value in call)
    if isinstance(found, _Array):
        found = found.value
    if isinstance(found, nd.NDArray) and found.size == 1:
        found = float(found.asscalar())
    if not isinstance(found, (int, float)) or found != wanted:
        said = f"{found:g}" if isinstance(found, float) else repr(found)
        key = "differs_traced" if traced else "differs"
        raise Wrong(key, x=x, y=y, found=said, wanted=f"{wanted:g}", traced=traced)


@dataclass(frozen=True)
class _Text:
    """Some functions, as text with numbers in it."""

    source: str

    def __str__(self) -> str:
        return self.source.strip()


_AROUND: Final = """\
factor = {0}

def make(k):
    def f(x, n={1}, *, m={2}):
        if x > 0:
            y = x - k + n
        else:
            y = x + factor + m
        return y

    def change(number):
        nonlocal k
        k = number

    return f, change

f, change = make({3})
"""
_SMALL: Final = st.integers(1, 9)
_CALLERS: Final = (
    "return g(x)",
    "return x + g(y, limit=1)",
    "y = g(g(x))\n    return y",
    "if g(x) > 0:\n        y = g(y, 2)\n    return x + y",
    "return g(*[x, {0}])",
)
_CALLED: Final = """\
def g(v, limit=0):
    if v > limit:
        return v + {0}
    return v - {0}

def f(x, y):
    {1}
"""
_UNDEFINED: Final = (
    "return a",
    "return x + a",
    "a += 1\n    return a",
    "b = a - x\n    return b",
    "if x > a:\n        x = x + 1\n    return x",
)
_ON_ONE_PATH: Final = """\
def f(x):
    if x > {0}:
        {1}
    else:
        {2}
    {3}
"""


def _keeps_what_is_around(part: Any, text: _Text) -> None:
    names = loaded(text.source)
    plain, change = names["f"], names["change"]
    with _told():
        made = _Operators(part).convert(plain)
        extra = set(loaded(text.source)).symmetric_difference(names)
        if extra:
            raise Wrong("left_behind", name=min(extra))
        if made.__name__ != plain.__name__:
            raise Wrong("renamed", name=made.__name__, wanted=plain.__name__)
        for k, factor in ((None, None), (11, None), (None, 12)):
            if k is not None:
                change(k)
            if factor is not None:
                names["factor"] = factor
            for x in (3.0, -3.0):
                for kwargs in ({}, {"n": 20, "m": 30}):
                    _hold_around(made, plain, (x, kwargs), (k, factor))


def _hold_around(made: Any, plain: Any, call: tuple[float, dict[str, int]], then: Any) -> None:
    (x, kwargs), (k, factor) = call, then
    found, wanted = _number(made(_Array(x), **kwargs)), _number(plain(x, **kwargs))
    if found != wanted:
        given = "".join(f", {name}={value}" for name, value in kwargs.items())
        key = "around" if (k, factor) == (None, None) else "around_later"
        name = "k" if k is not None else "factor"
        raise Wrong(key, call=f"f({x:g}{given})", found=f"{found:g}", wanted=f"{wanted:g}",
                    name=name, value=k or factor)  # fmt: skip


class _MarkedError(Exception):
    """Raised on a line of a program."""


def _keeps_lines(part: Any, program: Program) -> None:
    def fail() -> None:
        raise _MarkedError

    lines = program.source.splitlines()
    wanted = next(number for number, line in enumerate(lines, 1) if "fail()" in line)
    with _told():
        made = _Operators(part).convert(program.function(fail=fail))
        try:
            made(_Array(1), _Array(2), program.n)
        except _MarkedError as error:
            frames = traceback.extract_tb(error.__traceback__)
            places = [(one.filename, one.lineno) for one in frames if one.filename != __file__]
            mine = [place for place in places if place[0] == FILE]
            if not mine:
                raise Wrong("no_file", file=FILE, found=places[-1][0]) from error
            if mine[-1][1] != wanted:
                raise Wrong("line", wanted=wanted, found=mine[-1][1]) from error
            return
    raise Wrong("no_error", wanted=wanted)


def _converts_what_is_called(part: Any, text: _Text) -> None:
    names = loaded(text.source)
    plain = names["f"]
    with _told():
        operators = _Operators(part)
        made = operators.convert(plain)
        try:
            for x, y in CALLS:
                _compare(made(_Array(x), _Array(y)), plain(x, y), (x, y))
        except _AskedError:
            if "g" in operators.converted:
                raise
        if "g" not in operators.converted:
            raise Wrong("not_called")


def _all_paths_of_one_trace(part: Any, program: Program) -> None:
    plain = program.function()
    with _told():
        traced = traced_function(program.function(), convert=part.convert)
        for x, y in (CALLS[program.first], *CALLS):
            found = traced(nd.array([x]), nd.array([y]), program.n)
            start = "f({:g}, {:g}, {})".format(*CALLS[program.first], program.n)
            _compare(found, plain(x, y, program.n), (x, y), start)
        count = traced.cache_info().traces
        if count != 1:
            raise Wrong("traces", count=count)


def _both_in_the_graph(part: Any, program: Program) -> None:
    wanted = choices(program.body, program.n)
    with _told():
        traced = traced_function(program.function(), convert=part.convert)
        found = choices_in(traced.graph(nd.array([1]), nd.array([2]), program.n))
    if found != wanted:
        raise Wrong("choices", found=found, wanted=wanted)


def _tells_of_undefined(part: Any, text: _Text) -> None:
    function: Callable[..., Any] = loaded(text.source)["f"]
    try:
        found = traced_function(function, convert=part.convert)(nd.array([1]))
    except UnboundLocalError as error:
        if "'a'" not in str(error):
            raise Wrong("other_name", error=str(error)) from error
    except Exception as error:
        raise Wrong("other_error", error=f"{type(error).__name__}: {error}") from error
    else:
        raise Wrong("not_told", found=repr(found).partition("\n")[0])


def _texts(template: str, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[_Text]:
    return st.tuples(*parts).map(lambda found: _Text(_filled(template, found)))


def _filled(template: str, found: tuple[Any, ...]) -> str:
    return template.format(*(str(one).replace("{0}", str(found[0])) for one in found))


_BRANCHES: Final = st.sampled_from((("a = x", "pass"), ("pass", "a = x"), ("a = x", "b = x")))

CHECKS: Final = (
    Check("straight", _computes_the_same, programs(depth=0), tries=50),
    Check("choices", _computes_the_same, programs(depth=1), tries=200),
    Check("nested", _computes_the_same, programs(depth=3, asks=True), tries=150),
    Check("returns", _computes_the_same, programs(returns=True, asks=True), tries=250),
    Check(
        "around",
        _keeps_what_is_around,
        _texts(_AROUND, _SMALL, _SMALL, _SMALL, _SMALL),
        tries=20,
    ),
    Check("lines", _keeps_lines, failing(), tries=100),
    Check(
        "called",
        _converts_what_is_called,
        _texts(_CALLED, _SMALL, st.sampled_from(_CALLERS)),
        tries=30,
    ),
    Check("paths", _all_paths_of_one_trace, programs(returns=True, asks=True), tries=40),
    Check("graph", _both_in_the_graph, programs(adds=True, asks=True), tries=40),
    Check(
        "undefined",
        _tells_of_undefined,
        st.tuples(st.integers(0, 2), _BRANCHES, st.sampled_from(_UNDEFINED)).map(
            lambda found: _Text(_ON_ONE_PATH.format(found[0], *found[1], found[2]))
        ),
        tries=20,
    ),
)

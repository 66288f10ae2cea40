"""Lab 8: what is to hold of a wiring of loops, tried on small loops of whole numbers.

What the part asks for is noted, and then carried out by the definitions of the primitives, one
iteration after the other: a value is there in an iteration, or it is dead. What comes out must be
what the same loop gives in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from hybridnet import nd, passes, sym
from hybridnet.base.context import cpu
from hybridnet.base.device_scope import device
from hybridnet.base.errors import MXNetError

from ...checking import Check, Wrong

#: Iterations that are carried out beyond those that there should be.
_BEYOND: Final = 3
_VARIABLES: Final = "abc"
_CONSTANTS: Final = "mn"
#: How two values make one.
_MAKES: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
}


@dataclass(frozen=True)
class _Next:
    """The value of a variable in the next iteration: ``first``, or ``first sign second``.

    Attributes:
        first, second: names of variables and constants, or a whole number as text.
    """

    first: str
    sign: str = ""
    second: str = ""

    def __str__(self) -> str:
        return f"{self.first} {self.sign} {self.second}" if self.sign else self.first

    @property
    def reads(self) -> list[str]:
        """The names that it reads."""
        return [name for name in (self.first, self.second) if name.isalpha()]

    def of(self, values: Mapping[str, int]) -> int:
        """Returns its value, of values by name."""
        first = values[self.first]
        if not self.sign:
            return first
        second = values[self.second] if self.second.isalpha() else int(self.second)
        return _MAKES[self.sign](first, second)


@dataclass(frozen=True)
class _Loop:
    """A loop: first values and next values of the variables, constants, and what is tested.

    Attributes:
        tested: goes on while this variable is less than `limit`.
        limit: a constant's name, or a whole number as text.
    """

    first: Mapping[str, int]
    constants: Mapping[str, int]
    tested: str
    limit: str
    next: Mapping[str, _Next]

    def __str__(self) -> str:
        names = ", ".join(self.first)
        lines = [f"{name} = {value}" for name, value in self.constants.items()]
        lines += [
            f"{names} = {', '.join(map(str, self.first.values()))}",
            f"while {self.tested} < {self.limit}:",
            f"    {names} = {', '.join(map(str, self.next.values()))}",
        ]
        return "\n".join(lines)

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether there is another iteration."""
        return values[self.tested] < self._limit

    @property
    def _limit(self) -> int:
        return self.constants[self.limit] if self.limit.isalpha() else int(self.limit)

    @property
    def test_reads(self) -> list[str]:
        """The names that the condition reads."""
        return [self.tested, *([self.limit] if self.limit.isalpha() else [])]

    def run(self) -> tuple[dict[str, int], int]:
        """Runs it in Python; returns the variables after it, and how often the body was run."""
        values, turns = dict(self.first), 0
        while self.holds(values):
            known = {**values, **self.constants}
            values = {name: one.of(known) for name, one in self.next.items()}
            turns += 1
        return values, turns


def _loop(
    first: Sequence[int], constants: Sequence[int], tested: int, limit: int, made: Sequence[Any]
) -> _Loop:
    """Makes a loop that ends: the tested variable grows by one or two.

    Args:
        limit: 0 to 4 as a number; above, a constant's name, if there is one.
        made: of each variable three numbers: which values it is made of, and how.
    """
    names, others = _VARIABLES[: len(first)], _CONSTANTS[: len(constants)]
    every, by = names + others, names[tested % len(names)]
    following = {}
    for name, (one, other, how) in zip(names, made, strict=False):
        source = _Next(every[one % len(every)])
        if name == by:
            source = _Next(name, "+", str(1 + how % 2))
        elif how % 3:
            source = _Next(source.first, "+-"[how % 2], every[other % len(every)])
        following[name] = source
    bound = others[limit % len(others)] if others and limit > 4 else str(limit % 5)
    return _Loop(
        dict(zip(names, first, strict=True)),
        dict(zip(others, constants, strict=True)),
        by,
        bound,
        following,
    )


_LOOPS: Final = st.builds(
    _loop,
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.lists(st.integers(0, 4), max_size=2),
    st.integers(0, 2),
    st.integers(0, 6),
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 5)), min_size=3, max_size=3
    ),
)


@dataclass(eq=False)
class _Wire:
    """A stand-in for a value, given to the part.

    Attributes:
        kind: what made it.
        name: of the variable or constant that it stems from; '' of the condition.
        sources: what it is made of.
        reads: of those the ones that it needs, by their places; None for all.
    """

    kind: str
    name: str
    sources: tuple[_Wire, ...] = ()
    reads: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        of = f" of {self.name}" if self.name else ""
        return f"<{self.kind}{of}>"


class _Wires:
    """A stand-in for a `LoopWiring`, given to the part: notes what it asks for."""

    def __init__(self, loop: _Loop) -> None:
        self.loop = loop
        self.fed: dict[_Wire, _Wire] = {}
        self.asked: set[tuple[Any, ...]] = set()
        self.variables = [_Wire("variable", name) for name in loop.first]
        self.constants = [_Wire("constant", name) for name in loop.constants]
        self.calls: dict[str, tuple[_Wire, ...]] = {}

    def enter(self, value: Any, constant: bool = False) -> _Wire:
        if not isinstance(value, _Wire) or value.kind not in ("variable", "constant"):
            raise Wrong("enter_what", value=repr(value))
        self._once("enter", value)
        return _Wire("enter for all" if constant else "enter", value.name, (value,))

    def merge(self, value: Any) -> _Wire:
        self._inside("merge", value)
        self._once("merge", value)
        return _Wire("merge", value.name, (value,))

    def condition(self, variables: Any, constants: Any) -> _Wire:
        given = self._given("condition", variables, constants)
        reads = tuple(self.places(self.loop.test_reads))
        return _Wire("condition", "", given, reads)

    def switch(self, value: Any, condition: Any) -> tuple[_Wire, _Wire]:
        self._inside("switch", value)
        if not isinstance(condition, _Wire) or condition.kind != "condition":
            raise Wrong("not_condition", value=repr(condition))
        self._once("switch", value)
        sources = (value, condition)
        return _Wire("switch[0]", value.name, sources), _Wire("switch[1]", value.name, sources)

    def body(self, variables: Any, constants: Any) -> list[_Wire]:
        given = self._given("body", variables, constants)
        return [
            _Wire("next value", name, given, tuple(self.places(one.reads)))
            for name, one in self.loop.next.items()
        ]

    def next_iteration(self, value: Any, merge: Any) -> None:
        self._inside("next_iteration", value)
        if not isinstance(merge, _Wire) or merge.kind != "merge":
            raise Wrong("not_merge", value=repr(merge))
        if merge in self.fed:
            raise Wrong("fed_twice", name=merge.name)
        self.fed[merge] = value

    def exit(self, value: Any) -> _Wire:
        self._inside("exit", value)
        self._once("exit", value)
        return _Wire("exit", value.name, (value,))

    def places(self, names: Sequence[str]) -> list[int]:
        """Returns where the values of some names are among those of all."""
        every = [*self.loop.first, *self.loop.constants]
        return [every.index(name) for name in names]

    def _given(self, function: str, variables: Any, constants: Any) -> tuple[_Wire, ...]:
        if function in self.calls:
            raise Wrong("asked_twice", function=function)
        for values, wanted, kind in (
            (variables, self.variables, "variables"),
            (constants, self.constants, "constants"),
        ):
            if not isinstance(values, list | tuple) or len(values) != len(wanted):
                got = repr(values)
                raise Wrong("no_list", function=function, kind=kind, count=len(wanted), value=got)
            for value in values:
                self._inside(function, value)
        self.calls[function] = (*variables, *constants)
        return self.calls[function]

    def _inside(self, function: str, value: Any) -> None:
        if not isinstance(value, _Wire):
            raise Wrong("no_value", function=function, value=repr(value))
        if value.kind in ("variable", "constant", "exit"):
            raise Wrong("outside", function=function, value=repr(value))

    def _once(self, function: str, value: _Wire) -> None:
        if (function, value) in self.asked:
            raise Wrong("again", function=function, value=repr(value))
        self.asked.add((function, value))


@dataclass
class _Ran:
    """The result of running a wiring.

    Attributes:
        results: for each of the wires that were returned what left there, iteration by iteration.
        turns: how many iterations began after the first.
        dead: in which iteration the condition or the body could not be computed, though it should
            be; which of the two; and what was missing for it.
        began: the variables that began the last iteration.
    """

    results: list[list[int]]
    turns: int
    dead: tuple[int, str, _Wire] | None
    began: list[str]


def _wired(part: Any, loop: _Loop) -> tuple[_Wires, list[_Wire]]:
    """Asks the part to wire a loop; returns what it asked for, and what it returned."""
    wires = _Wires(loop)
    results = part.wire_loop(wires, list(wires.variables), list(wires.constants))
    count = len(wires.variables)
    if not isinstance(results, list | tuple) or len(results) != count:
        raise Wrong("no_results", count=count, value=repr(results))
    for value in results:
        if not isinstance(value, _Wire) or value.kind != "exit":
            raise Wrong("not_exit", value=repr(value))
    return wires, list(results)


class _Machine:
    """Carries a wiring out, by the definitions of the primitives."""

    def __init__(self, wires: _Wires) -> None:
        self.wires = wires
        self.loop = wires.loop
        self.before: dict[_Wire, int | None] = {}  # what the last iteration hands to each Merge
        self.now: dict[_Wire, int | None] = {}
        self.number = 0

    def run(self, results: Sequence[_Wire], turns: int) -> _Ran:
        """Carries out as many iterations as there should be, and some more if it goes on."""
        ran = _Ran([[] for _ in results], 0, None, [])
        for self.number in range(turns + _BEYOND + 1):
            self.now = {}
            for place, result in enumerate(results):
                value = self.value(result)
                if value is not None:
                    ran.results[place].append(value)
            handed = {merge: self.value(one) for merge, one in self.wires.fed.items()}
            ran.dead = ran.dead or self._missing(turns)
            ran.began = [merge.name for merge, one in handed.items() if one is not None]
            if not ran.began:
                break
            ran.turns += 1
            self.before = handed
        return ran

    def _missing(self, turns: int) -> tuple[int, str, _Wire] | None:
        loop = self.loop
        needs = {
            "condition": loop.test_reads if self.number <= turns else [],
            "body": [name for one in loop.next.values() for name in one.reads]
            if self.number < turns
            else [],
        }
        for function, names in needs.items():
            given = self.wires.calls.get(function, ())
            for place in self.wires.places(names) if given else ():
                if self.value(given[place]) is None:
                    return self.number, function, given[place]
        return None

    def value(self, wire: _Wire) -> int | None:
        """Returns the value of a wire in this iteration; None where it is dead."""
        if wire not in self.now:
            self.now[wire] = None  # what waits for itself never comes
            self.now[wire] = self._value(wire)
        return self.now[wire]

    def _value(self, wire: _Wire) -> int | None:
        if wire.kind in ("enter", "enter for all"):
            is_here = self.number == 0 or wire.kind == "enter for all"
            return {**self.loop.first, **self.loop.constants}[wire.name] if is_here else None
        if wire.kind == "merge" and self.number and self.before.get(wire) is not None:
            return self.before[wire]
        needed = wire.sources if wire.reads is None else [wire.sources[i] for i in wire.reads]
        values = [self.value(source) for source in needed]
        if None in values:
            return None
        if wire.kind in ("switch[0]", "switch[1]"):
            return values[0] if bool(values[1]) == (wire.kind == "switch[1]") else None
        if wire.kind in ("merge", "exit"):
            return values[0]
        every = [*self.loop.first, *self.loop.constants]
        assert wire.reads is not None
        known = {every[i]: value for i, value in zip(wire.reads, values, strict=True)}
        if wire.kind == "condition":
            return int(self.loop.holds(known))  # type: ignore[arg-type]
        return self.loop.next[wire.name].of(known)  # type: ignore[arg-type]


def _is_wired(part: Any, loop: _Loop) -> None:
    wires, _ = _wired(part, loop)
    for function in ("condition", "body"):
        if function not in wires.calls:
            raise Wrong("not_asked", function=function)
    fed = {merge.name for merge in wires.fed}
    for name in loop.first:
        if name not in fed:
            raise Wrong("not_fed", name=name)


def _gives_results(part: Any, loop: _Loop) -> None:
    wires, results = _wired(part, loop)
    wanted, turns = loop.run()
    ran = _Machine(wires).run(results, turns)
    for (name, value), found in zip(wanted.items(), ran.results, strict=True):
        if len(found) > 1:
            raise Wrong("many_results", name=name, values=", ".join(map(str, found)))
        if not found and ran.dead is not None:
            number, function, missing = ran.dead
            raise Wrong("dead_input", number=number, function=function, value=repr(missing))
        if not found and ran.turns > turns:
            raise Wrong("not_left", name=name, turns=turns)
        if not found:
            raise Wrong("no_result", name=name)
        if found[0] != value:
            raise Wrong("value", name=name, found=found[0], wanted=value)


def _ends(part: Any, loop: _Loop) -> None:
    wires, results = _wired(part, loop)
    turns = loop.run()[1]
    ran = _Machine(wires).run(results, turns)
    if ran.turns > turns:
        raise Wrong("endless", turns=turns, name=", ".join(ran.began))


def _keeps_constants(part: Any, loop: _Loop) -> None:
    wires, _ = _wired(part, loop)
    for name in (one.name for one in wires.fed):
        if name in loop.constants:
            raise Wrong("constant_carried", name=name)
    for value in wires.calls["body"]:
        if value.kind != "switch[1]":
            raise Wrong("body_what", value=repr(value))


def _bound(symbol: Any, **inputs: Any) -> Any:
    executor = symbol.simple_bind(cpu(0), **dict.fromkeys(inputs, (1,)))
    for name, number in inputs.items():
        executor.arg_dict[name][:] = number
    return executor


def _in_the_framework(part: Any) -> None:
    """Loops over two devices: one in another, one without an iteration, and the gradient of one."""
    x, n = sym.var("x"), sym.var("n")

    def on_second(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def body(value: Any) -> Any:
            with device("/device:cpu:1"):
                return make(value)

        return body

    def double_until_five(value: Any) -> Any:
        inner = sym.while_loop(lambda v: v < 5, on_second(lambda v: v * 2), [value], name="inner")
        return inner[0] - 3

    nested = sym.while_loop(lambda v: v < n, double_until_five, [x], name="outer")[0]
    never = sym.while_loop(lambda v: v < 0, on_second(lambda v: v + 1), [x], name="never")[0]
    power = sym.while_loop(
        lambda v: v < 50, on_second(lambda v: v * n), [x], maximum_iterations=3, name="power"
    )[0]
    with passes.wire_loop.replaced_by(part.wire_loop):
        try:
            executor = _bound(sym.Group([nested, never, power]), x=1.0, n=4.0)
            found = [one.asscalar() for one in executor.forward(is_train=True)]
            executor.backward([nd.zeros((1,)), nd.zeros((1,)), nd.ones((1,))])
            found += [executor.grad_dict[name].asscalar() for name in ("x", "n")]
        except MXNetError as error:
            raise Wrong("framework", error=error) from error
    for what, got, wanted in zip(
        ("outer", "never", "power", "power, d/dx", "power, d/dn"),
        found,
        (5.0, 1.0, 64.0, 64.0, 48.0),
        strict=True,
    ):
        if not np.isclose(got, wanted):
            raise Wrong("framework_value", what=what, found=got, wanted=wanted)


CHECKS: Final = (
    Check("wired", _is_wired, _LOOPS),
    Check("results", _gives_results, _LOOPS, tries=300),
    Check("ends", _ends, _LOOPS, tries=300),
    Check("constants", _keeps_constants, _LOOPS),
    Check("in_the_framework", _in_the_framework),
)

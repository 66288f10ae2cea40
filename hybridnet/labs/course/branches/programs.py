"""Lab 9: random functions with choices, as text, and what they compute by plain Python."""

from __future__ import annotations

import linecache
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

#: The name of the file in which the programs are, for Python.
FILE: Final = "program.py"
_VARIABLES: Final = ("x", "y", "a", "b")
_NUMBERS: Final = (1, 2, 3)


@dataclass(frozen=True)
class If:
    """A choice.

    Attributes:
        condition: its text; what has ``n`` in it is known to Python.
        then, other: the statements of its branches.
    """

    condition: str
    then: Block
    other: Block


#: Statements: the text of a simple one, or a choice.
Block: TypeAlias = "tuple[str | If, ...]"


def loaded(source: str) -> dict[str, Any]:
    """Runs a text as the file `FILE`, from which Python can read it again; returns its names."""
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, FILE, "exec", dont_inherit=True), names)
    return names


@dataclass(frozen=True)
class Program:
    """A function of two arrays of one number, ``x`` and ``y``, and a number of Python's, ``n``.

    Attributes:
        body: its statements.
        n: the number that it is called with.
        first: which of `CALLS` it is traced with.
        above: how many lines of the file are above it.
    """

    body: Block
    n: int
    first: int = 0
    above: int = 0

    @property
    def source(self) -> str:
        """Its text."""
        lines = ["# A program."] * self.above
        return "\n".join([*lines, "def f(x, y, n):", *_lines(self.body), ""])

    def __str__(self) -> str:
        return f"{self.source}\n# n is {self.n}"

    def function(self, **names: object) -> types.FunctionType:
        """Returns it as a function, for which other names are there."""
        found = loaded(self.source)
        found.update(names)
        made: types.FunctionType = found["f"]
        return made


#: What x and y are in the calls of a program.
CALLS: Final = tuple((x, y) for x in (-2.0, 0.0, 3.0) for y in (-1.0, 2.0))


def _lines(block: Block, indent: str = "    ") -> Iterator[str]:
    for one in block:
        if isinstance(one, str):
            yield indent + one
            continue
        yield f"{indent}if {one.condition}:"
        yield from _lines(one.then, indent + "    ")
        if one.other:
            yield f"{indent}else:"
            yield from _lines(one.other, indent + "    ")


def choices(block: Block, n: int) -> int:
    """Returns how many choices on arrays a trace comes to, where both branches are traced."""
    found = 0
    for one in block:
        if isinstance(one, str):
            continue
        branches: Sequence[Block] = (one.then, one.other)
        if "n" in one.condition:
            branches = [one.then if eval(one.condition, {"n": n}) else one.other]
        else:
            found += 1
        found += sum(choices(branch, n) for branch in branches)
    return found


class _Writer:
    """Writes the statements of a program.

    Args:
        draw: of hypothesis.
        returns: whether there may be a `return` in a branch.
        adds: whether each assignment adds to its variable, so that none is in vain.
        asks: whether there may be conditions that Python knows.
    """

    def __init__(self, draw: Any, *, returns: bool, adds: bool, asks: bool) -> None:
        self._draw = draw
        self._returns, self._adds, self._asks = returns, adds, asks

    def block(self, known: set[str], depth: int, least: int = 1) -> tuple[Block, set[str] | None]:
        """Returns statements, and the variables that have values after them; None after `return`.

        Args:
            known: the variables that have values before.
        """
        draw, made = self._draw, list[str | If]()
        for _ in range(draw(st.integers(least, 2))):
            if depth and draw(st.booleans()):
                one, after = self._choice(known, depth)
                made.append(one)
                if after is None:
                    return tuple(made), None
                known = after
            else:
                made.append(self._assignment(known))
        if self._returns and depth < 2 and draw(st.booleans()):
            return (*made, f"return {self._value(known)}"), None
        return tuple(made), known

    def _choice(self, known: set[str], depth: int) -> tuple[If, set[str] | None]:
        draw = self._draw
        asks = self._asks and draw(st.sampled_from((False, False, True)))
        condition = draw(st.sampled_from(("n > 1", "n == 0"))) if asks else self._condition(known)
        then, after = self.block(set(known), depth - 1)
        other: Block = ()
        after_other: set[str] | None = known
        if draw(st.booleans()):
            other, after_other = self.block(set(known), depth - 1)
        both = [found for found in (after, after_other) if found is not None]
        return If(condition, then, other), set.intersection(*both) if both else None

    def _assignment(self, known: set[str]) -> str:
        target = self._draw(st.sampled_from(_VARIABLES[2:] + _VARIABLES[:1]))
        if self._adds:
            target = self._draw(st.sampled_from(sorted(known)))
            return f"{target} = {target} + {self._draw(st.sampled_from(_NUMBERS))}"
        value = self._value(known)
        if target in known and self._draw(st.booleans()):
            return f"{target} += {value}"
        known.add(target)
        return f"{target} = {value}"

    def _value(self, known: set[str]) -> str:
        names = st.sampled_from(sorted(known))
        other = st.one_of(st.sampled_from(_NUMBERS).map(str), names)
        return f"{self._draw(names)} {self._draw(st.sampled_from('+-'))} {self._draw(other)}"

    def _condition(self, known: set[str]) -> str:
        name = self._draw(st.sampled_from(sorted(known)))
        return f"{name} {self._draw(st.sampled_from('><'))} {self._draw(st.sampled_from((0, 1)))}"


@st.composite
def programs(
    draw: Any, depth: int = 2, returns: bool = False, adds: bool = False, asks: bool = False
) -> Program:
    """Programs.

    Args:
        depth: how many choices are inside of each other at most; 0 for none.
        returns, adds, asks: as of `_Writer`.
    """
    writer = _Writer(draw, returns=returns, adds=adds, asks=asks)
    known = {"x", "y"}
    start: Block = ()
    if adds:
        start, known = ("a = x - y", "b = x"), {"x", "y", "a", "b"}
    body, after = writer.block(known, depth)
    end: Block = ()
    if after is not None:
        names = sorted(after)
        end = (f"return {', '.join(names)}" if adds else f"return {draw(st.sampled_from(names))}",)
    first = draw(st.integers(0, len(CALLS) - 1))
    return Program((*start, *body, *end), draw(st.sampled_from((0, 2))), first)


@st.composite
def failing(draw: Any) -> Program:
    """Programs with a line, somewhere, on which ``fail`` is called; and that it comes to."""
    made: Program = draw(programs())
    places = list(_places(made.body))
    body = _with(made.body, draw(st.sampled_from(places)), "fail()")
    return Program(body, made.n, 0, draw(st.integers(0, 3)))


def _places(block: Block, before: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yields where statements can be put: numbers of statements, and of branches, by turns."""
    for number, one in enumerate(block):
        yield (*before, number)
        if isinstance(one, If):
            yield from _places(one.then, (*before, number, 0))
            yield from _places(one.other, (*before, number, 1))


def _with(block: Block, place: Sequence[int], line: str) -> Block:
    number, *rest = place
    if not rest:
        return (*block[:number], line, *block[number:])
    one = block[number]
    assert isinstance(one, If)
    branches = [one.then, one.other]
    branches[rest[0]] = _with(branches[rest[0]], rest[1:], line)
    return (*block[:number], If(one.condition, *branches), *block[number + 1 :])

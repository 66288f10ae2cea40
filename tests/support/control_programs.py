"""Random programs with branches and loops, nested: as symbols, and with NumPy.

A program is a block: statements, each of which makes values from values before it. All values have
shape (2, 3). A statement is an operation (those of `graph_programs`), a choice between two blocks,
or a loop over a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import graph_programs as gp
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import sym

#: Operations whose results stay small however often they are applied.
_NAMES = ("sin", "tanh", "sigmoid", "half", "softmax", "sub", "mean", "turned")
#: A condition holds where the sum of a value is more.
_BOUND = 0.31


@dataclass(frozen=True)
class Operation:
    """Applies an operation of `graph_programs` to values, given by number, on a device."""

    name: str
    sources: tuple[int, ...]
    device: int | None


@dataclass(frozen=True)
class Choice:
    """Runs one of two blocks, which begin with all values there are; it makes one value.

    Attributes:
        source: the value that decides.
        sides: the block for a condition that holds, and for one that does not.
        device: where the node is.
    """

    source: int
    sides: tuple[Block, Block]
    device: int | None


@dataclass(frozen=True)
class Loop:
    """Runs a block over and over; it makes as many values as it carries.

    Attributes:
        trips: how often at most.
        early: whether it also ends when the sum of its first variable is large.
        carried: the values that its variables begin with; in the block they are the last ones.
        body: gives their new values.
        limit: `maximum_iterations`.
        parallel: `parallel_iterations`.
        device: where the node is.
    """

    trips: int
    early: bool
    carried: tuple[int, ...]
    body: Block
    limit: int | None
    parallel: int
    device: int | None


@dataclass(frozen=True)
class Block:
    """Statements, and the numbers of the values that they are run for."""

    statements: tuple[Operation | Choice | Loop, ...]
    results: tuple[int, ...]


_devices = st.none() | st.integers(0, 2)


@st.composite
def blocks(draw: Any, known: int = 2, results: int = 1, depth: int = 3) -> Block:
    """Draws a block that begins with `known` values."""
    statements: list[Operation | Choice | Loop] = []
    for _ in range(draw(st.integers(1, 3))):
        sources = st.integers(0, known - 1)
        kind = draw(st.sampled_from(["operation", "choice", "loop"])) if depth else "operation"
        device = draw(_devices)
        if kind == "choice":
            sides = tuple(draw(blocks(known, 1, depth - 1)) for _ in range(2))
            statements.append(Choice(draw(sources), sides, device))
            known += 1
        elif kind == "loop":
            carried = tuple(draw(st.lists(sources, min_size=1, max_size=2)))
            count = len(carried)
            statements.append(
                Loop(
                    draw(st.sampled_from([0, 1, 3])),
                    draw(st.booleans()),
                    carried,
                    draw(blocks(known + count, count, depth - 1)),
                    draw(st.none() | st.integers(1, 4)),
                    draw(st.sampled_from([1, 2, 10])),
                    device,
                )
            )
            known += count
        else:
            name = draw(st.sampled_from(_NAMES))
            arity = gp.OPERATIONS[name].arity
            statements.append(Operation(name, tuple(draw(sources) for _ in range(arity)), device))
            known += 1
    # The last statement counts, so that not all is dropped.
    numbers = st.integers(0, known - 1)
    return Block(tuple(statements), (known - 1, *(draw(numbers) for _ in range(results - 1))))


def run_numpy(block: Block, values: Sequence[Any]) -> list[Any]:
    """Runs a block with NumPy and Python's own control flow."""
    known = list(values)
    for one in block.statements:
        if isinstance(one, Operation):
            operation = gp.OPERATIONS[one.name].numpy
            known.append(operation(lambda value: value, *(known[i] for i in one.sources)))
        elif isinstance(one, Choice):
            holds = known[one.source].sum() > _BOUND
            known += run_numpy(one.sides[0 if holds else 1], known)
        else:
            now = [known[i] for i in one.carried]
            trips = one.trips if one.limit is None else min(one.trips, one.limit)
            for _ in range(trips):
                if one.early and now[0].sum() > _BOUND:
                    break
                now = run_numpy(one.body, [*known, *now])
            known += now
    return [known[i] for i in block.results]


def symbol_of(block: Block, names: Sequence[str] | None = None) -> Any:
    """Returns a block of two inputs, x and y, as a symbol.

    Args:
        block: the program.
        names: of the devices, by number; None leaves out where things are to run.
    """
    made = _write(block, [sym.var("x"), sym.var("y")], names)
    return sym.Group(made)


@contextmanager
def _on(device: int | None, names: Sequence[str] | None) -> Iterator[None]:
    scope = nullcontext() if device is None or names is None else hn.device(names[device])
    with scope:
        yield


def _apply(name: str, *values: Any, **attrs: Any) -> Any:
    made = sym.Symbol.apply_operator(gp.get(name), list(values), attrs)
    return list(made) if len(made) > 1 else made


def _holds(value: Any) -> Any:
    return sym.sum(value) > _BOUND


def _write(block: Block, values: Sequence[Any], names: Sequence[str] | None) -> list[Any]:
    known = list(values)
    for one in block.statements:
        with _on(one.device, names):
            if isinstance(one, Operation):
                build = gp.OPERATIONS[one.name].build
                known.append(build(_apply, *(known[i] for i in one.sources)))
            elif isinstance(one, Choice):
                known.append(_choice(one, known, names))
            else:
                known += _loop(one, known, names)
    return [known[i] for i in block.results]


def _choice(one: Choice, known: list[Any], names: Sequence[str] | None) -> Any:
    pred = _holds(known[one.source])
    then, other = (lambda side=side: _write(side, known, names)[0] for side in one.sides)
    return sym.cond(pred, then, other)


def _loop(one: Loop, known: list[Any], names: Sequence[str] | None) -> list[Any]:
    def goes_on(count: Any, now: list[Any]) -> Any:
        within = count < one.trips
        return within * (_holds(now[0]) == 0) if one.early else within

    _, last = sym.while_loop(
        goes_on,
        lambda count, now: (count + 1, _write(one.body, [*known, *now], names)),
        (sym.zeros((1,), dtype="float64"), [known[i] for i in one.carried]),
        parallel_iterations=one.parallel,
        maximum_iterations=one.limit,
    )
    return list(last)

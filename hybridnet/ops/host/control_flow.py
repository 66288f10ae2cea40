"""Loops and branches of lowerings on NumPy arrays: Python's own.

States and results may be tuples and lists of arrays, within each other, with None in between.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .namespace import NoHostForm, jnp
from .table import named


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Calls a function with each array of a tree, and with those of others in the same place."""
    if tree is None:
        return None
    if isinstance(tree, (tuple, list)):
        return tuple(mapped(function, *column) for column in zip(tree, *others, strict=True))
    return function(tree, *others)


def leaves(tree: Any) -> list[Any]:
    """Returns the arrays of a tree."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


@named("vmap")
def _vmap(function: Callable[..., Any]) -> Callable[..., Any]:
    def over_rows(*args: Any) -> Any:
        rows = [function(*row) for row in zip(*args, strict=True)]
        if not rows:
            raise NoHostForm("vmap over nothing")
        return mapped(lambda *column: np.stack(column), *rows)

    return over_rows


@named("lax.switch", composed=True)
def _switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    return branches[max(0, min(int(index), len(branches) - 1))](*operands)


@named("lax.cond", composed=True)
def _cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    return (true_fun if pred else false_fun)(*operands)


@named("lax.fori_loop", composed=True)
def _fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], state: Any) -> Any:
    for number in range(int(lower), int(upper)):
        state = body(number, state)
    return state


@named("lax.while_loop", composed=True)
def _while_loop(condition: Callable[..., Any], body: Callable[..., Any], state: Any) -> Any:
    while condition(state):
        state = body(state)
    return state


@named("lax.scan", composed=True)
def _scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    state: Any,
    rows: Any,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    count = len(leaves(rows)[0]) if length is None else length
    if not count:
        raise NoHostForm("lax.scan over nothing")
    found = []
    alone = not leaves(rows)
    flat = isinstance(rows, list) and all(isinstance(x, np.ndarray) for x in rows)
    for number in reversed(range(count)) if reverse else range(count):
        before = leaves(state) if alone else []
        take = operator.itemgetter(number)
        row = [x[number] for x in rows] if flat else mapped(take, rows)
        state, result = step(state, row)
        found.append(result)
        # Without rows, what comes of the same state is the same: a loop that has ended early.
        after = leaves(state) if alone else []
        if alone and len(after) == len(before) and all(map(operator.is_, before, after)):
            found += [result] * (count - len(found))
            break
    if reverse:
        found.reverse()
    return state, mapped(lambda *column: jnp.stack(column), *found)


@named("lax.map", composed=True)
def _map(function: Callable[[Any], Any], rows: Any) -> Any:
    return _scan(lambda state, row: (state, function(row)), None, rows)[1]

"""Lab 4: what is to hold of groups of operators, tried on small graphs.

A unit is a group, or an operator that is in none. The rules are written here as plainly as can be;
what the fewest launches are is found by trying all ways to join operators.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from hypothesis import strategies as st

from hybridnet import nd, passes, sym
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import GraphError

from ...checking import Check, Wrong
from .operators import ELEMENT_WISE, HEAVY, OTHER, Operator, fusion

_WIDE, _NARROW = (2, 3), (1, 3)
#: Of units more than there need be at least; of graphs of so few operators all ways are tried.
_MORE: Final = 1
_SMALL: Final = 6

Unit: TypeAlias = frozenset[Operator]


@dataclass(frozen=True)
class _OperatorSet:
    """A graph: its operators, each after those that it reads."""

    operators: tuple[Operator, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.operators))


#: An operator: whether it is there (if not, who would read it reads what it reads), its kind, how
#: many of those before it it reads and which, and whether it is wide.
_FACTS: Final = st.tuples(
    st.sampled_from((0, 1, 1, 1, 1, 1, 1, 1)),
    st.sampled_from((ELEMENT_WISE, HEAVY, ELEMENT_WISE, HEAVY, ELEMENT_WISE, OTHER)),
    st.sampled_from((1, 2, 2, 0)),
    st.integers(0, 5),
    st.integers(0, 5),
    st.booleans(),
)
_Facts: TypeAlias = tuple[int, str, int, int, int, bool]


def _network(facts: Sequence[_Facts]) -> _OperatorSet:
    names = iter(string.ascii_lowercase)
    places: list[list[Operator]] = []
    for is_there, kind, count, first, second, wide in facts:
        read = [(one % len(places)) for one in (first, second)[:count]] if places else []
        sources = dict.fromkeys(one for place in read for one in places[-1 - place])
        inputs = sorted(sources, key=lambda one: one.name)[: 2 if kind == ELEMENT_WISE else 1]
        shape = max((one.shape for one in inputs), default=_NARROW)
        if kind == OTHER:
            shape = _WIDE if wide else _NARROW
        elif not inputs or (kind == ELEMENT_WISE and len(inputs) == 1 and wide):
            shape = _WIDE if wide else shape
        made = [Operator(next(names), kind, shape, tuple(inputs))] if is_there else inputs
        places.append(made)
    found = dict.fromkeys(one for place in places for one in place)
    return _OperatorSet(tuple(sorted(found, key=lambda one: one.name)))


def _is_any(network: _OperatorSet) -> bool:
    return bool(network.operators)


def _networks(most: int = 8) -> st.SearchStrategy[_OperatorSet]:
    return st.lists(_FACTS, min_size=1, max_size=most).map(_network).filter(_is_any)


def _of_one_kind() -> st.SearchStrategy[_OperatorSet]:
    """Graphs of one kind and shape, in which nothing but circles keeps operators apart."""
    facts = st.lists(_FACTS, min_size=6, max_size=8)
    return facts.map(
        lambda some: _network([(one[0], ELEMENT_WISE, *one[2:5], False) for one in some])
    ).filter(_is_any)


#: `c` and `e` may be one, and so may `a` and `d`, but not both: chance makes few such graphs.
_CROSSED: Final = _network(
    (
        (1, HEAVY, 0, 0, 0, False),
        (1, ELEMENT_WISE, 0, 0, 0, False),
        (1, HEAVY, 1, 0, 0, False),
        (1, ELEMENT_WISE, 2, 0, 2, False),
        (1, ELEMENT_WISE, 2, 0, 1, False),
    )
)
_WITH_CIRCLES: Final = st.one_of(_networks(), _of_one_kind(), st.just(_CROSSED))


# What the part says -------------------------------------------------------------------------------


def _asked(part: Any, network: _OperatorSet) -> list[list[Operator]]:
    """Returns the groups that the part chooses, if they are groups of these operators."""
    answer = part.groups(network.operators)
    home: dict[Operator, int] = {}
    found = []
    for group in _listed(answer, "no_groups"):
        found.append(_listed(group, "no_group"))
        for operator in found[-1]:
            if not isinstance(operator, Operator) or operator not in network.operators:
                raise Wrong("no_operator", answer=repr(operator))
            if operator in home:
                raise Wrong("twice", operator=operator.name)
            home[operator] = len(found)
    return found


def _listed(answer: Any, key: str) -> list[Any]:
    if isinstance(answer, (str, dict)):
        raise Wrong(key, answer=repr(answer))
    try:
        return list(answer)
    except TypeError:
        raise Wrong(key, answer=repr(answer)) from None


def _units(part: Any, network: _OperatorSet) -> list[Unit]:
    groups = [frozenset(group) for group in _asked(part, network) if group]
    inside: set[Operator] = set().union(*groups)
    return [*groups, *(frozenset((one,)) for one in network.operators if one not in inside)]


def _names(unit: Iterable[Operator]) -> str:
    return ", ".join(sorted(one.name for one in unit))


# The rules ----------------------------------------------------------------------------------------


def _fault(unit: Unit) -> Wrong | None:
    """Returns why a unit of several operators cannot be one launch, whatever is around it."""
    group = sorted(unit, key=lambda one: one.name)
    other = next((one for one in group if one.kind == OTHER), None)
    if other is not None:
        return Wrong("other", group=_names(unit), operator=other.name)
    heavy = [one for one in group if one.kind == HEAVY]
    if len(heavy) > 1:
        return Wrong("two_heavy", group=_names(unit), first=heavy[0].name, second=heavy[1].name)
    for one in heavy:
        for source in one.inputs:
            if source in unit:
                name = source.name
                return Wrong("heavy_reads", group=_names(unit), operator=one.name, source=name)
    for one in group:
        if one.shape != group[0].shape:
            first, second = (f"{x.name} ({'x'.join(map(str, x.shape))})" for x in (group[0], one))
            return Wrong("shapes", group=_names(unit), first=first, second=second)
    return None


def _circle(units: Sequence[Unit]) -> list[Unit]:
    """Returns units that wait for each other; none where all can be launched."""
    left, done = list(units), set[Operator]()
    while left:
        ready = [
            unit
            for unit in left
            if all(source in done or source in unit for one in unit for source in one.inputs)
        ]
        if not ready:
            return _smallest_circle(left)
        left = [unit for unit in left if unit not in ready]
        done.update(*ready)
    return []


def _smallest_circle(units: Sequence[Unit]) -> list[Unit]:
    """Follows what is read, backwards, until a unit comes again."""
    home = {one: unit for unit in units for one in unit}
    way = [next(unit for unit in units if len(unit) > 1)]
    while True:
        sources = (source for one in sorted(way[-1], key=lambda x: x.name) for source in one.inputs)
        before = next(home[x] for x in sources if x in home and home[x] is not way[-1])
        if before in way:
            return way[way.index(before) :][::-1]
        way.append(before)


def _reads(one: Unit, other: Unit) -> bool:
    return any(source in other for operator in one for source in operator.inputs)


def _joinable(units: Sequence[Unit], first: Unit, second: Unit) -> bool:
    """Whether two units, of which one reads the other, could be one."""
    joined = first | second
    if not (_reads(first, second) or _reads(second, first)) or _fault(joined) is not None:
        return False
    return not _circle([*(unit for unit in units if unit not in (first, second)), joined])


def _fewest(network: _OperatorSet) -> int:
    """Returns how many launches there are at least: the best of all ways to join operators."""
    pairs = [
        (source, one)
        for one in network.operators
        for source in one.inputs
        if _fault(frozenset((source, one))) is None
    ]
    best = len(network.operators)
    for chosen in itertools.product((False, True), repeat=len(pairs)):
        home = {one: frozenset((one,)) for one in network.operators}
        for pair in itertools.compress(pairs, chosen):
            joined = home[pair[0]] | home[pair[1]]
            home |= dict.fromkeys(joined, joined)
        units = list(dict.fromkeys(home.values()))
        if len(units) < best and all(len(unit) == 1 or not _fault(unit) for unit in units):
            best = best if _circle(units) else len(units)
    return best


# The properties -----------------------------------------------------------------------------------


def _are_groups(part: Any, network: _OperatorSet) -> None:
    _asked(part, network)


def _are_allowed(part: Any, network: _OperatorSet) -> None:
    for unit in _units(part, network):
        fault = _fault(unit) if len(unit) > 1 else None
        if fault is not None:
            raise fault


def _hang_together(part: Any, network: _OperatorSet) -> None:
    for unit in _units(part, network):
        reached = {min(unit, key=lambda one: one.name)}
        for _ in unit:
            reached |= {
                one
                for one in unit
                if reached.intersection(one.inputs) or any(one in x.inputs for x in reached)
            }
        if reached != unit:
            raise Wrong("apart", first=_names(reached), second=_names(unit - reached))


def _are_convex(part: Any, network: _OperatorSet) -> None:
    """No way leads out of a group and back, whatever the other groups are."""
    for unit in _units(part, network):
        rest = [frozenset((one,)) for one in network.operators if one not in unit]
        others = [one for one in _circle([unit, *rest]) if one is not unit]
        if others:
            raise Wrong("through", group=_names(unit), others=", ".join(map(_names, others)))


def _can_be_launched(part: Any, network: _OperatorSet) -> None:
    circle = _circle(_units(part, network))
    if circle:
        raise Wrong("circle", groups="; ".join(map(_names, circle)))


def _are_largest(part: Any, network: _OperatorSet) -> None:
    units = _units(part, network)
    for first, second in itertools.combinations(units, 2):
        if _joinable(units, first, second):
            raise Wrong("left", first=_names(first), second=_names(second))


def _are_few(part: Any, network: _OperatorSet) -> None:
    count, fewest = len(_units(part, network)), _fewest(network)
    if count > fewest + _MORE:
        raise Wrong("many", count=count, fewest=fewest)


def _in_the_framework(part: Any, network: _OperatorSet) -> None:
    """The pass leaves what NumPy computes."""
    symbols: dict[Operator, Any] = {}
    values: dict[Operator, NumpyArray] = {}
    given: dict[str, NumpyArray] = {}
    for operator in network.operators:
        symbols[operator], values[operator] = _computed(operator, symbols, values, given)
    read = {source for one in network.operators for source in one.inputs}
    results = [one for one in network.operators if one not in read]
    network_symbol = sym.Group([symbols[one] for one in results])
    shapes = {name: array.shape for name, array in given.items()}
    by_name = {one.name: one for one in network.operators}

    def choose(nodes: Sequence[Operator]) -> list[list[Operator]]:
        own = {by_name[one.name]: one for one in nodes}
        return [[own[one] for one in group] for group in _asked(part, network)]

    with passes.register(fusion(choose, "yours")):
        try:
            better = network_symbol.optimize(passes=["yours"], **shapes)
        except GraphError as error:
            raise Wrong("framework", error=str(error)) from error
    found = better.eval(**{name: nd.array(array) for name, array in given.items()})
    for one, array in zip(results, found, strict=True):
        if not np.allclose(array.asnumpy(), values[one], rtol=1e-4, atol=1e-5):
            raise Wrong("value", operator=one.name)


def _computed(
    operator: Operator,
    symbols: dict[Operator, Any],
    values: dict[Operator, NumpyArray],
    given: dict[str, NumpyArray],
) -> tuple[Any, NumpyArray]:
    """Returns an operator as a symbol, and its value by NumPy."""
    name, shape = operator.name, operator.shape
    operands = [(symbols[one], values[one]) for one in operator.inputs]

    def variable(shape: tuple[int, ...]) -> tuple[Any, NumpyArray]:
        own = f"{name}_{len(given)}"
        given[own] = np.sin(np.arange(np.prod(shape)) + len(given)).reshape(shape).astype("float32")
        return sym.var(own), given[own]

    if operator.kind == ELEMENT_WISE and len(operands) == 1 and operands[0][1].shape != shape:
        operands.append(variable(shape))
    symbol, value = operands[0] if operands else variable(shape)
    if operator.kind == HEAVY:
        weight, matrix = variable((3, 3))
        made = sym.FullyConnected(symbol, weight, num_hidden=3, no_bias=True, name=name)
        return made, value @ matrix.T
    if operator.kind == OTHER:
        if value.shape == shape:
            powers = np.exp(value)
            return sym.softmax(symbol, name=name), powers / powers.sum(-1, keepdims=True)
        if shape == _WIDE:
            return sym.broadcast_to(symbol, shape=shape, name=name), np.broadcast_to(value, shape)
        return sym.sum(symbol, axis=0, keepdims=True, name=name), value.sum(0, keepdims=True)
    if len(operands) == 2:
        made = sym.broadcast_add(symbol, operands[1][0], name=name)
        return made, value + operands[1][1]
    return sym.cos(symbol, name=name), np.cos(value)


CHECKS: Final = (
    Check("groups", _are_groups, _networks()),
    Check("allowed", _are_allowed, _networks(), tries=800),
    Check("together", _hang_together, _networks()),
    Check("convex", _are_convex, _networks(), tries=300),
    Check("no_circle", _can_be_launched, _WITH_CIRCLES, tries=400),
    Check("largest", _are_largest, _networks()),
    Check("few", _are_few, _networks(_SMALL), tries=100),
    Check("in_the_framework", _in_the_framework, _networks(), tries=30),
)

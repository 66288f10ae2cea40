"""`if` on arrays: both branches are traced, and what they change becomes results of one node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet.base.context import Context
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ndarray import NDArray

from ..bodies import Body, Flow, as_type, filled
from ..control_flow import choose
from ..structure import unflatten
from .number import Kind, Number, is_number, joined, number_dtype
from .state import (
    Containers,
    Leaves,
    Undefined,
    UndefinedReturnValue,
    described,
    same_plain,
)

_HOW: Final = (
    "as the condition is an array, the result is one value of the graph: give both branches the "
    "same, or use a condition that Python knows"
)
_ORDER: Final = ("the first branch", "the second branch")


@final
class Branch:
    """A branch that has been traced.

    Args:
        what: it is, for messages.
        function: runs it, and returns the values of its variables.
        containers: what it may change.
    """

    def __init__(
        self,
        what: str,
        function: Callable[[], Sequence[object]],
        containers: Containers,
        ctx: Context,
    ) -> None:
        self.changes: dict[int, Any] = {}
        self._items: dict[int, int] = {}
        self.leaves = Leaves(())

        def run() -> list[Any]:
            try:
                values = list(function())
            finally:
                self.changes = containers.take_back()
            for number, items in self.changes.items():
                self._items[number] = len(values)
                values += items.values() if isinstance(items, dict) else items
            self.leaves = Leaves(values)
            return self.leaves.all

        self.body = Body(what, run, [], ctx)

    def value(self, number: int) -> tuple[list[tuple[Any, int | None]], Any]:
        """Returns the leaves of a variable, with their numbers, and what puts them together."""
        start, stop, tree = self.leaves.spans[number]
        return [(self.leaves.all[i], i) for i in range(start, stop)], tree

    def items(self, number: int, before: Any) -> dict[Any, Any]:
        """Returns what a container holds at its end: by key, values as of `value`."""
        if number not in self.changes:
            keys = before if isinstance(before, dict) else range(len(before))
            return {key: ([(before[key], None)], None) for key in keys}
        items = self.changes[number]
        keys = items if isinstance(items, dict) else range(len(items))
        first = self._items[number]
        return {key: self.value(first + place) for place, key in enumerate(keys)}

    def flow(self, part: tuple[Any, int | None], type: TensorType) -> Flow:
        """Returns a leaf, an array or a number, as a value of a type in the graph."""
        leaf, number = part
        if not isinstance(leaf, NDArray):
            return filled(leaf, type)
        found = self.body.reads(leaf) if number is None else self.body.result(number)
        return found if leaf.type is type else as_type(found, type)


@final
class _Merge:
    """The variables after a choice between two branches."""

    def __init__(self, branches: tuple[Branch, Branch], pred: NDArray, line: str) -> None:
        self._branches = branches
        self._pred = pred
        self._line = line
        self.pairs: list[tuple[Flow, Flow]] = []
        self._kinds: list[Kind] = []
        self._made: list[Any] = []

    def value(self, name: str, value: Any, other: Any) -> Callable[[], Any]:
        """Notes a variable; returns what gives its value once the node is made."""
        (leaves, tree), (others, other_tree) = value, other
        if tree != other_tree:
            if _is_missing(leaves, tree):
                leaves, tree = leaves * len(others), other_tree
            elif _is_missing(others, other_tree):
                others = others * len(leaves)
            else:
                self._refuse(
                    name,
                    unflatten(tree, [x for x, _ in leaves]),
                    unflatten(other_tree, [x for x, _ in others]),
                )
        parts = [self._leaf(name, a, b) for a, b in zip(leaves, others, strict=True)]
        if tree is None:
            return parts[0]
        return lambda: unflatten(tree, [part() for part in parts])

    def _leaf(
        self, name: str, value: tuple[Any, int | None], other: tuple[Any, int | None]
    ) -> Callable[[], object]:
        a, b = value[0], other[0]
        if same_plain(a, b):
            return lambda: a
        if isinstance(a, Undefined) or isinstance(b, Undefined):
            missing = self._undefined(name, a, b)
            return lambda: missing
        if isinstance(a, UndefinedReturnValue) or isinstance(b, UndefinedReturnValue):
            return self._returned(value, other)
        denied = getattr(self._pred, "denies", None)
        if denied is not None and b is denied and a is True:
            return lambda: True  # if not x: x = True
        if isinstance(self._pred, Number) and self._pred.type.dtype == bool:
            if a is True and b is self._pred:
                return lambda: b  # x and True
            if a is self._pred and b is False:
                return lambda: a  # x or False
        type, kind = self._type(name, a, b)
        return self._pair(value, other, type, kind)

    def _pair(self, value: Any, other: Any, type: TensorType, kind: Kind) -> Callable[[], object]:
        then, rest = self._branches
        self.pairs.append((then.flow(value, type), rest.flow(other, type)))
        self._kinds.append(kind)
        place = len(self.pairs) - 1
        return lambda: self._made[place]

    def _type(self, name: str, a: Any, b: object) -> tuple[TensorType, Kind]:
        """Returns what a variable is that is one of two things."""
        numbers = [isinstance(x, Number) or is_number(x) for x in (a, b)]
        if all(numbers):
            dtypes = (x.type.dtype if isinstance(x, Number) else number_dtype(x) for x in (a, b))
            return tensor_type((), joined(*dtypes)), Number
        for x, other_is_number in ((a, numbers[1]), (b, numbers[0])):
            if isinstance(x, NDArray) and not isinstance(x, Number) and other_is_number:
                return x.type, type(x)
        if not (isinstance(a, NDArray) and isinstance(b, NDArray)) or a.type is not b.type:
            self._refuse(name, a, b)
        return a.type, type(a)

    def _returned(self, x: Any, other: Any) -> Callable[[], object]:
        """Of what is returned in one branch only; another variable says whether it was."""
        is_first = isinstance(other[0], UndefinedReturnValue)
        value = x[0] if is_first else other[0]
        if isinstance(value, NDArray):
            type_, kind = value.type, type(value)
        elif is_number(value):
            type_, kind = tensor_type((), number_dtype(value)), Number
        else:
            return lambda: value
        zero = (0, None)
        return self._pair(x if is_first else zero, zero if is_first else other, type_, kind)

    def _undefined(self, name: str, a: object, b: object) -> Undefined:
        if isinstance(a, Undefined) and isinstance(b, Undefined):
            return a if a.reason else b
        missing, given = _ORDER if isinstance(a, Undefined) else _ORDER[::-1]
        return Undefined(
            name,
            f"variable {name!r} is used, but {missing} of the choice at {self._line} gives it no "
            f"value ({given} does); assign it before, or in both branches: as the condition is an "
            "array, both branches are part of the graph",
        )

    def _refuse(self, name: str, a: Any, b: Any) -> None:
        arrays = isinstance(a, NDArray) and isinstance(b, NDArray)
        message = (
            f"{self._line}: variable {name!r} is {described(a)} after {_ORDER[0]}, and "
            f"{described(b)} after {_ORDER[1]}; {_HOW}"
        )
        if arrays and a.shape != b.shape:
            raise ShapeError(message)
        raise DTypeError(message) if arrays else ParameterError(message)

    def make(self) -> None:
        """Makes the node."""
        then, other = self._branches
        outputs = choose(self._pred, (then.body, other.body), self.pairs)
        pairs = zip(outputs, self._kinds, strict=True)
        self._made += [output.as_kind(kind) for output, kind in pairs]


def _is_missing(leaves: list[Any], tree: Any) -> bool:
    return tree is None and isinstance(leaves[0][0], (Undefined, UndefinedReturnValue))


def choice(
    pred: NDArray,
    functions: tuple[Callable[[], Sequence[object]], Callable[[], Sequence[object]]],
    names: Sequence[str],
    blocks: Sequence[Callable[..., object] | None],
    line: str,
) -> list[object]:
    """Records a choice, and does to containers what its branches do.

    Args:
        functions: run a branch, and return the values of the variables.
        names: of the variables.
        blocks: the functions whose variables lead to what the branches may change.
        line: the user's, for messages.

    Returns:
        The values of the variables.

    Raises:
        ShapeError, DTypeError, ParameterError: the branches give different things.
    """
    if pred.type.size != 1:
        raise MXNetError(
            f"{line}: the condition must have one element, got {pred.type!r}; use (x > 0).min() "
            "for all of them, or .max() for any"
        )
    containers = Containers(blocks)
    then, other = (
        Branch(f"{what} at {line}", function, containers, pred.context)
        for what, function in zip(_ORDER, functions, strict=True)
    )
    merge = _Merge((then, other), pred, line)
    values = [
        merge.value(name, then.value(number), other.value(number))
        for number, name in enumerate(names)
    ]
    contents = {
        number: _merge_items(merge, containers, number, (then, other))
        for number in sorted({*then.changes, *other.changes})
    }
    merge.make()
    for number, items in contents.items():
        containers.all[number].put(items())
    return [value() for value in values]


def _merge_items(
    merge: _Merge, containers: Containers, number: int, branches: tuple[Branch, Branch]
) -> Callable[[], object]:
    """Returns what gives what is in a container after a choice."""
    container = containers.all[number]
    before = container.before
    items, others = (branch.items(number, before) for branch in branches)
    if list(items) != list(others) or isinstance(before, set):
        raise ParameterError(
            f"{merge._line}: {container.name!r} holds {len(items)} items after {_ORDER[0]}, and "
            f"{len(others)} after {_ORDER[1]}, or other keys; {_HOW}"
        )
    parts = {key: merge.value(container.label(key), items[key], others[key]) for key in items}
    if isinstance(before, dict):
        return lambda: {key: part() for key, part in parts.items()}
    return lambda: [part() for part in parts.values()]

"""Fetches, as users nest them: lists, tuples, named tuples and dicts of leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

from hybridnet.graph import Edge, Node


class Joined(NamedTuple):
    """A leaf that is put together from several.

    Attributes:
        parts: what these stand for.
        join: makes the value of theirs.
    """

    parts: Sequence[Any]
    join: Callable[[list[Any]], Any]


@final
class Fetches:
    """Nested fetches, taken apart.

    Args:
        fetches: a leaf, or lists, tuples, named tuples and dicts of such.
        edges_of: tells what a leaf stands for: an edge; a node, which is run and has no value; a
            function of nothing, whose result is the value; a sequence of edges, whose values make
            a list if they are not just one; or a `Joined`.

    Attributes:
        edges: the values to compute, each once.
        targets: the nodes to run.
    """

    __slots__ = ("_edges_of", "_layout", "_numbers", "_targets")

    def __init__(self, fetches: Any, edges_of: Callable[[Any], Any]) -> None:
        self._edges_of = edges_of
        self._numbers: dict[Edge, int] = {}
        self._targets: dict[Node, None] = {}
        self._layout = self._taken(fetches)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The values to compute."""
        return tuple(self._numbers)

    @property
    def targets(self) -> tuple[Node, ...]:
        """The nodes to run."""
        return tuple(self._targets)

    def nested(self, values: Sequence[Any]) -> Any:
        """Returns values, in the order of `edges`, nested as the fetches were."""
        return self._layout(values)

    def _taken(self, fetches: Any) -> Callable[[Sequence[Any]], Any]:
        """Returns what makes the result of a part of the fetches from the values."""
        if isinstance(fetches, (list, tuple)):
            made = [self._taken(part) for part in fetches]
            if hasattr(fetches, "_fields"):
                several: Any = type(fetches)
                return lambda values: several(*(part(values) for part in made))
            whole: Any = type(fetches)
            return lambda values: whole(part(values) for part in made)
        if isinstance(fetches, Mapping):
            kind: Any = type(fetches)
            parts = {key: self._taken(part) for key, part in fetches.items()}
            return lambda values: kind((key, part(values)) for key, part in parts.items())
        return self._leaf(self._edges_of(fetches))

    def _leaf(self, found: Any) -> Callable[[Sequence[Any]], Any]:
        if isinstance(found, Node):
            self._targets[found] = None
            return lambda values: None
        if isinstance(found, Joined):
            made = [self._leaf(part) for part in found.parts]
            return lambda values: found.join([part(values) for part in made])
        if callable(found):
            return lambda values: found()
        if isinstance(found, Edge):
            number = self._number(found)
            return lambda values: values[number]
        numbers = [self._number(edge) for edge in found]
        if len(numbers) == 1:
            (number,) = numbers
            return lambda values: values[number]
        return lambda values: [values[number] for number in numbers]

    def _number(self, edge: Edge) -> int:
        return self._numbers.setdefault(edge, len(self._numbers))

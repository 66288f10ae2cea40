"""Strings of a run: they go from Python to Python, beside the program, which cannot hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hybridnet.graph import Edge, Node
from hybridnet.session import Request

from ..graph.coded import STRINGS

__all__ = ["Beside", "beside", "is_text", "on_host"]

Array = np.ndarray[Any, Any]


@final
@dataclass(frozen=True, eq=False, slots=True)
class Beside:
    """A request without Python in it, of which some outputs or feeds are strings.

    Attributes:
        request: what is left for the program.
        kept: what that is fed, by number of what the request is fed.
        places: of each output the string constant that it is, or the number of what is fed
            (below 0, from -1 on), or of an output of the program.
    """

    request: Request
    kept: tuple[int, ...]
    places: tuple[int | Array, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing for the program to do."""
        return not self.request.outputs and not self.request.targets

    def outputs(self, feeds: Sequence[Any], made: Sequence[Any]) -> list[Any]:
        """Returns the outputs of the request.

        Args:
            feeds: what it is fed.
            made: the outputs of the program.
        """
        found = []
        for one in self.places:
            if isinstance(one, int):
                found.append(feeds[~one] if one < 0 else made[one])
            else:
                found.append(one)
        return found


def is_text(value: Any) -> bool:
    """Whether a value that is fed is strings."""
    return type(value) is np.ndarray and value.dtype is STRINGS


def on_host(value: Any) -> Array:
    """Returns an output as an array of NumPy."""
    found: Array = value if is_text(value) else value.asnumpy()
    return found


def beside(
    request: Request, texts: Sequence[int], constants: Mapping[Node, Array]
) -> Beside | None:
    """Takes the strings out of a request; returns None where there are none.

    Args:
        request: what is asked for; there is no Python in it.
        texts: which of its feeds are strings, by number.
        constants: the values of nodes.
    """
    held = {edge: constants[edge.node] for edge in request.outputs if edge.node in constants}
    held = {edge: one for edge, one in held.items() if one.dtype == STRINGS}
    if not texts and not held:
        return None
    given = {request.feeds[number]: ~number for number in texts}
    places: list[int | Array] = []
    outputs: list[Edge] = []
    for edge in request.outputs:
        if edge in given:
            places.append(given[edge])
        elif edge in held:
            places.append(held[edge])
        else:
            places.append(len(outputs))
            outputs.append(edge)
    kept = tuple(number for number in range(len(request.feeds)) if number not in set(texts))
    feeds = tuple(request.feeds[number] for number in kept)
    rest = Request(tuple(outputs), request.targets, feeds, request.train)
    return Beside(rest, kept, tuple(places))

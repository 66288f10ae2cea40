"""Graphs as TensorBoard draws them: GraphDef messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as made_by
from typing import final

from .wire import field


@final
@dataclass(frozen=True)
class Node:
    """A node of a graph, as TensorBoard draws it.

    Attributes:
        name: of it; what stands before a ``/`` is a group, which is drawn as one box until it is
            opened.
        op: what it computes.
        input: the names of the nodes that it reads.
        device: where it runs; '' where nothing is said of it.
        attr: what it was made with, in words.
    """

    name: str = ""
    op: str = ""
    input: Iterable[str] = ()
    device: str = ""
    attr: Mapping[str, str] = made_by(default_factory=dict)

    def message(self) -> bytes:
        """Returns the message."""
        made = field(1, self.name) + field(2, self.op)
        made += b"".join(field(3, one) for one in self.input) + field(4, self.device)
        return made + b"".join(
            field(5, field(1, name) + field(2, field(2, words)))
            for name, words in self.attr.items()
        )


def graph_message(nodes: Iterable[Node]) -> bytes:
    """Returns a graph as a message, for `Event.graph_def`."""
    return b"".join(field(1, one.message()) for one in nodes)

"""A graph in words: ``graph.as_graph_def().node``, with the names of TensorFlow's messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from .tensor import Operation

__all__ = ["GraphDef", "NodeDef", "graph_def_of", "node_def_of"]


@final
@dataclass(frozen=True)
class NodeDef:
    """An Operation in words.

    Attributes:
        name: of the Operation.
        op: its type.
        input: the names of the tensors that it reads, ``name:number`` where that is not the first
            output, and then ``^name`` of what runs before it.
        device: the name of its device, '' where nothing is said of it.
        attr: what it was made with.
    """

    name: str = ""
    op: str = ""
    input: tuple[str, ...] = ()
    device: str = ""
    attr: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f'name: "{self.name}"', f'op: "{self.op}"']
        lines += [f'input: "{one}"' for one in self.input]
        lines += [f'device: "{self.device}"'] if self.device else []
        return "\n".join(lines) + "\n"


@final
@dataclass(frozen=True)
class GraphDef:
    """A graph in words.

    Attributes:
        node: its Operations, in the order in which they were made.
    """

    node: tuple[NodeDef, ...] = ()

    def __str__(self) -> str:
        blocks = []
        for one in self.node:
            inner = "".join(f"  {line}\n" for line in str(one).splitlines())
            blocks.append(f"node {{\n{inner}}}\n")
        return "".join(blocks)


def node_def_of(op: Operation) -> NodeDef:
    """Returns an Operation in words."""
    reads = [one.name.removesuffix(":0") for one in op.inputs]
    after = [f"^{one.name}" for one in op.control_inputs]
    return NodeDef(op.name, op.type, (*reads, *after), op.device, dict(op.params))


def graph_def_of(graph: Any, from_version: int | None = None) -> GraphDef:
    """Returns a graph in words.

    Args:
        graph: the graph.
        from_version: how many Operations to leave out, from the first.
    """
    ops = graph.get_operations()[from_version or 0 :]
    return GraphDef(tuple(node_def_of(op) for op in ops))

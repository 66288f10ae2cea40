"""`debug_str`: a symbol's nodes in words, in MXNet's layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hybridnet.graph import Edge, Node, attributes_of, topological

_RULE: Final = "-" * 20


def debug_string(edges: Sequence[Edge]) -> str:
    """Describes the outputs, then every node after its inputs."""
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={edge.node.name}({edge.index})" for i, edge in enumerate(edges)]
    versions: dict[Node, int] = {}
    for node in topological(edges):
        if node.call is None:
            lines.append(f"Variable:{node.name}")
            continue
        for position in node.call.mutates:
            source = node.inputs[position].node
            versions[source] = versions.get(source, 0) + 1
        lines += [_RULE, f"Op:{node.call.name}, Name={node.name}"]
        if node.inputs:
            lines.append("Inputs:")
        for position, edge in enumerate(node.inputs):
            source = edge.node
            version = f" version={versions.get(source, 0)}" if source.is_variable else ""
            lines.append(f"\targ[{position}]={source.name}({edge.index}){version}")
        attrs = attributes_of(node)
        if attrs:
            lines.append("Attrs:")
            lines += [f"\t{name}={value}" for name, value in sorted(attrs.items())]
    return "\n".join(lines) + "\n"

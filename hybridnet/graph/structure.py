"""The facts by which two graphs run alike: their calls and edges, apart from names and numbers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from hybridnet.base.attrs import HostScalar

from .node import Edge, Graph, Node


def structure_of(graph: Graph) -> tuple[Hashable, tuple[Any, ...]]:
    """Takes a graph apart into its structure and its scalars.

    Returns:
        What is equal for graphs that differ only in names and scalars; and the scalars, in the
        order of the nodes.
    """
    numbers = {node: number for number, node in enumerate(graph.inputs)}
    calls = []
    order = []
    scalars: list[Any] = []
    for node in graph.nodes:
        if node.call is None:
            continue
        calls.append((node.call, tuple((numbers[edge.node], edge.index) for edge in node.inputs)))
        scalars.extend(node.scalars)
        if node.controls:
            order.append((len(numbers), *(numbers[control] for control in node.controls)))
        numbers[node] = len(numbers)
    outputs = tuple((numbers[edge.node], edge.index) for edge in graph.outputs)
    order.append(tuple(numbers[target] for target in graph.targets))
    return (len(graph.inputs), tuple(calls), outputs, tuple(order)), tuple(scalars)


def with_open_scalars(graph: Graph) -> Graph:
    """Returns the graph with each scalar to be given at each run, in the order of the nodes."""

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        return replace(node, inputs=inputs, scalars=open_scalars(len(node.scalars)))

    return graph.map(change)


def open_scalars(count: int) -> tuple[HostScalar, ...]:
    """Returns numbers that stand for those to be given at each run."""
    return tuple(HostScalar(tuple, index) for index in range(count))

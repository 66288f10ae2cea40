"""Evaluates a graph node by node: with JAX (which builds a program), with NumPy, or on types."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import MXNetError
from hybridnet.base.lazy import jnp
from hybridnet.ops.core import Arrays, Call, Types, named
from hybridnet.ops.host import NoHostForm

from .node import Graph, Node, at_node

#: Called with a node, its operands, its numbers and what it has made.
Watcher = Callable[[Node, Sequence[Any], Any, Sequence[Any]], None]


class _Watched(threading.local):
    """Of each thread: who is told of every node that NumPy computes."""

    watcher: Watcher | None = None


_watched: Final = _Watched()


@contextmanager
def watching_nodes(watcher: Watcher) -> Iterator[None]:
    """A block in which somebody is told of every node that `evaluate_on_host` computes."""
    was, _watched.watcher = _watched.watcher, watcher
    try:
        yield
    finally:
        _watched.watcher = was


def evaluate(
    graph: Graph,
    platform: str,
    inputs: Arrays,
    scalars: Mapping[HostScalar, Any] | None = None,
) -> list[Any]:
    """Computes the outputs with JAX.

    Args:
        graph: what to compute.
        platform: 'cpu', 'gpu' or 'tpu'.
        inputs: arrays or tracers, in the order of the graph's inputs.
        scalars: the numbers that stand for `HostScalar`s in the graph.
    """
    values: dict[Node, Sequence[Any]] = {
        node: (value,) for node, value in zip(graph.inputs, inputs, strict=True)
    }
    numbers = scalars or {}
    for node in graph.nodes:
        if node.call is None:
            continue
        operands = [values[edge.node][edge.index] for edge in node.inputs]
        own = [
            numbers[scalar] if type(scalar) is HostScalar else jnp.asarray(scalar, "float64")
            for scalar in node.scalars
        ]
        with named(node.name):
            values[node] = node.call.lower(platform, operands, own)
    return [values[edge.node][edge.index] for edge in graph.outputs]


def evaluate_on_host(
    graph: Graph,
    types: Mapping[Node, Types],
    inputs: Arrays,
    scalars: Mapping[HostScalar, Any],
) -> list[NumpyArray]:
    """Computes the outputs with NumPy, inside `hybridnet.ops.host.namespace.on_host`.

    Args:
        graph: what to compute.
        types: of all its nodes.
        inputs: NumPy arrays, in the order of the graph's inputs.
        scalars: the numbers that stand for `HostScalar`s in the graph.

    Raises:
        NoHostForm: only JAX can compute them.
    """
    values: dict[Node, Sequence[Any]] = {
        node: (value if type(value) is np.ndarray else np.asarray(value),)
        for node, value in zip(graph.inputs, inputs, strict=True)
    }
    watcher = _watched.watcher
    # Loops run this once a turn, for operators that take microseconds: no more than needed is done.
    for node in graph.nodes:
        call = node.call
        if call is None:
            continue
        operands = [values[edge.node][edge.index] for edge in node.inputs]
        own = node.scalars and [
            scalars[scalar] if type(scalar) is HostScalar else np.float64(scalar)
            for scalar in node.scalars
        ]
        made = [
            array if type(array) is np.ndarray else np.asarray(array)
            for array in call.evaluate(operands, own)
        ]
        for array, kind in zip(made, types[node], strict=True):
            if array.shape != kind.shape or array.dtype != kind.dtype:
                raise NoHostForm(f"{array.dtype}{array.shape} instead of {kind}")
        if watcher is not None:
            watcher(node, operands, own, made)
        values[node] = made
    return [values[edge.node][edge.index] for edge in graph.outputs]


def infer_types(
    graph: Graph,
    inputs: Arrays,
    *,
    infer: Callable[[Call, Types], Types] = lambda call, types: call.infer(types),
) -> dict[Node, Types]:
    """Returns the types of every node's outputs.

    Args:
        inputs: the types of the graph's inputs.
        infer: from a call and the types of its inputs to those of its outputs.

    Raises:
        ShapeError, DTypeError: an operator's requirement is not met; the message names the node
            and the line that made it.
    """
    types: dict[Node, Types] = {
        node: (kind,) for node, kind in zip(graph.inputs, inputs, strict=True)
    }
    for node in graph.nodes:
        if node.call is None:
            continue
        try:
            operands = tuple(types[edge.node][edge.index] for edge in node.inputs)
            types[node] = infer(node.call, operands)
        except MXNetError as error:
            raise at_node(node, error) from error
    return types


def host_scalars_of(graph: Graph) -> tuple[HostScalar, ...]:
    """Returns the numbers that Python is asked for at each run, in order of first use."""
    found = dict.fromkeys(
        scalar for node in graph.nodes for scalar in node.scalars if type(scalar) is HostScalar
    )
    return tuple(found)

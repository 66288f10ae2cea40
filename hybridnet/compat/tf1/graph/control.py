"""Blocks on the default graph, and Operations that only order others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, final

from .graph import Graph, get_default_graph
from .tensor import Operation, Tensor
from .values import convert_to_tensor, identity, no_op

__all__ = [
    "add_to_collection", "add_to_collections", "colocate_with", "container",
    "control_dependencies", "device", "get_collection", "get_collection_ref", "group",
    "name_scope", "set_random_seed", "tuple", "with_dependencies",
]  # fmt: skip


def control_dependencies(control_inputs: Sequence[Any] | None) -> Any:
    """A block whose Operations run after others; see `Graph.control_dependencies`."""
    return get_default_graph().control_dependencies(control_inputs)


def device(device_name_or_function: Any) -> Any:
    """A block whose Operations are put on a device; see `Graph.device`."""
    return get_default_graph().device(device_name_or_function)


def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """A block whose Operations are on the device of another one."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> Any:
    """A block whose variables and queues are in a container; see `Graph.container`."""
    return get_default_graph().container(container_name)


@final
class name_scope:
    """A block whose Operations have names that begin with a name.

    Args:
        name: the name; one that ends with / is a scope that was open before.
        default_name: the name where `name` is None.
        values: tensors whose graph the Operations are added to.

    Raises:
        TypeError: both names are None, and there are values.
    """

    def __init__(self, name: Any, default_name: Any = None, values: Any = None) -> None:
        if not (name is None or isinstance(name, str)):
            raise TypeError("name for name_scope must be a string.")
        self._name = default_name if name is None else name
        self._values = list(values or ())
        if self._name is None and values is not None:
            raise ValueError(
                f"At least one of name ({name}) and default_name ({default_name}) must be provided."
            )
        self._blocks: list[AbstractContextManager[Any]] = []

    @property
    def name(self) -> str | None:
        """The name, as given."""
        found: str | None = self._name
        return found

    def __enter__(self) -> str:
        graph = _graph_of(self._values)
        blocks = [graph.as_default(), graph.name_scope(self._name)]
        results = []
        for one in blocks:
            results.append(one.__enter__())
            self._blocks.append(one)
        scope: str = results[1]
        return scope

    def __exit__(self, *error: Any) -> None:
        for _ in range(2):
            self._blocks.pop().__exit__(*error)


def _graph_of(values: Sequence[Any]) -> Graph:
    for one in values:
        if isinstance(getattr(one, "graph", None), Graph):
            found: Graph = one.graph
            return found
    return get_default_graph()


def group(*inputs: Any, name: str | None = None) -> Operation:
    """Returns an Operation that is done when some others are.

    Args:
        inputs: Operations, tensors and variables, or lists of them.
    """
    ops = list(_leaves(inputs))
    if not ops:
        return no_op(name=name)
    graph = _graph_of(ops)
    with graph.as_default(), graph.control_dependencies(ops):
        return no_op(name=name or "group_deps")


def _leaves(inputs: Any) -> Any:
    for one in inputs:
        if isinstance(one, (list, tuple_)):
            yield from _leaves(one)
        elif isinstance(one, dict):
            yield from _leaves(one.values())
        elif one is not None:
            if not hasattr(one, "graph"):
                raise TypeError(
                    "'inputs' should be zero or more (nested) Tensors and Operations. Received "
                    f"{one!r} with type {type(one)}."
                )
            yield one


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with the same value, which is there when some Operations are done."""
    with name_scope(name, "control_dependency", [*dependencies, output_tensor]) as scope:
        tensor = convert_to_tensor(output_tensor)
        with get_default_graph().control_dependencies(list(dependencies)):
            return identity(tensor, name=scope)


#: Python's own, which TensorFlow's function of that name hides.
tuple_ = tuple


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Returns tensors with the same values, which are there when all of them are.

    Args:
        tensors: a list of tensors and Nones.
        control_inputs: Operations and tensors that must have run, too.

    Raises:
        ValueError: there is no tensor.
    """
    with name_scope(name, "tuple", [one for one in tensors if one is not None]):
        held = [one for one in tensors if one is not None]
        if not held:
            raise ValueError(f"Must have at least one Tensor. Received: {tensors}")
        gate = group(*held, *(control_inputs or ()))

        def after(one: Any) -> Any:
            return gate if isinstance(one, Operation) else with_dependencies([gate], one)

        return [None if one is None else after(one) for one in tensors]


def add_to_collection(name: Any, value: Any) -> None:
    """Adds something to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Adds something to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Returns what is in a collection of the default graph; see `Graph.get_collection`."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Returns a collection of the default graph itself, which can be changed."""
    return get_default_graph().get_collection_ref(key)


def set_random_seed(seed: int) -> None:
    """Sets the seed of the random numbers of the default graph's sessions."""
    get_default_graph().seed = seed

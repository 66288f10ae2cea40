"""`Graph`: the Operations that are made in it, by name, and the scopes in force."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

import numpy as np

from hybridnet.base import free_in_children
from hybridnet.clusters import SharedStore
from hybridnet.engine import RLock
from hybridnet.graph import Node

from .graph_def import GraphDef, graph_def_of
from .scopes import Controller, Scopes
from .tensor import Operation, Tensor

__all__ = [
    "Graph", "GraphKeys", "Stack", "default_sessions", "get_default_graph", "reset_default_graph",
]  # fmt: skip


class GraphKeys:
    """Names of the collections that TensorFlow keeps."""

    ACTIVATIONS = "activations"
    BIASES = "biases"
    COND_CONTEXT = "cond_context"
    GLOBAL_STEP = "global_step"
    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    LOCAL_VARIABLES = "local_variables"
    LOSSES = "losses"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    QUEUE_RUNNERS = "queue_runners"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    READY_OP = "ready_op"
    REGULARIZATION_LOSSES = "regularization_losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    SAVERS = "savers"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    TABLE_INITIALIZERS = "table_initializer"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAIN_OP = "train_op"
    UPDATE_OPS = "update_ops"
    WEIGHTS = "weights"
    WHILE_CONTEXT = "while_context"


@final
class Graph:
    """A graph that Operations are added to, and that Sessions run.

    Attributes:
        seed: where random numbers of its sessions begin; None: where the process's generator is.
        constants: the values of nodes that stand for large constants (for the inside).
        extras: what other modules keep of the graph, by their names (for the inside).
        shared: its queues and accumulators, where it runs in this process (for the inside).
        container_name: of the container block that is open; '' outside.
        finalized: whether nothing can be added any more.
        building_function: whether it is the body of a function; it never is.
    """

    def __init__(self) -> None:
        self.seed: int | None = None
        self.constants: dict[Node, np.ndarray[Any, Any]] = {}
        self.extras: dict[str, Any] = {}
        self.shared: Final = SharedStore()
        self.container_name = ""
        self.scopes = Scopes()
        self.lock: Final = free_in_children(RLock())
        self._ops: dict[str, Operation] = {}
        self._of_node: dict[Node, Operation] = {}
        self._collections: dict[Any, list[Any]] = {}
        self.finalized = self.building_function = False
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()

    # -- its Operations ----------------------------------------------------------------------

    def add(self, op: Operation) -> Operation:
        """Adds an Operation that has its nodes and outputs (for the inside).

        Raises:
            RuntimeError: the graph is finalized.
        """
        self.check_open()
        with self.lock:
            self._ops[op.name] = op
            for node in op.nodes:
                self._of_node.setdefault(node, op)
            self.scopes.note(op)
        return op

    def check_open(self) -> None:
        """Raises RuntimeError if the graph is finalized."""
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def operation_of(self, node: Node) -> Operation | None:
        """Returns the Operation that a node belongs to (for the inside)."""
        return self._of_node.get(node)

    def get_operations(self) -> list[Operation]:
        """Returns all Operations, in the order in which they were made."""
        with self.lock:
            return list(self._ops.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the Operation of a name.

        Raises:
            KeyError: there is none.
            ValueError: the name is that of a tensor.
            TypeError: it is no text.
        """
        found = self._of_name("Operation", name, allow_tensor=False)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor of a name, such as ``'add:0'``.

        Raises:
            KeyError: there is none.
            ValueError: the name is not that of a tensor.
            TypeError: it is no text.
        """
        found = self._of_name("Tensor", name, allow_operation=False)
        assert isinstance(found, Tensor)
        return found

    def _of_name(self, kind: str, name: Any, **allowed: bool) -> Tensor | Operation:
        if not isinstance(name, str):
            raise TypeError(f"{kind} names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, **allowed)

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """Returns the tensor or Operation of this graph that something names.

        Args:
            obj: a tensor, an Operation, a variable, or a name: ``'add:0'``, ``'add'``.
            allow_tensor: whether it may be a tensor.
            allow_operation: whether it may be an Operation.

        Raises:
            KeyError: there is none of that name.
            ValueError: it is of another graph, or of the other kind.
            TypeError: it is nothing of the kind.
        """
        if isinstance(obj, (str, bytes)):
            name = obj if isinstance(obj, str) else obj.decode()
            return self._named(name, allow_tensor, allow_operation)
        convert = getattr(obj, "_as_graph_element", None)
        found = convert() if callable(convert) else obj
        if not isinstance(found, (Tensor, Operation)):
            kinds = [*(["Tensor"] * allow_tensor), *(["Operation"] * allow_operation)]
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {' or '.join(kinds)}.")
        if isinstance(found, Tensor) and not allow_tensor:
            raise ValueError(f"{obj!r} is a Tensor, and an Operation is needed")
        if isinstance(found, Operation) and not allow_operation:
            raise ValueError(f"{obj!r} is an Operation, and a Tensor is needed")
        if found.graph is not self:
            raise ValueError(f"{found} is not an element of this graph.")
        return found

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        op_name, colon, number = name.partition(":")
        op = self._ops.get(op_name)
        if colon:
            if not allow_tensor:
                raise ValueError(f"The name {name!r} refers to a Tensor, not an Operation.")
            if not number.isdigit():
                raise ValueError(
                    f"The name {name!r} looks like that of a Tensor, and is not: tensor names must "
                    'be of the form "<op_name>:<output_index>".'
                )
            if op is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{op_name!r}, does not exist in the graph."
                )
            if int(number) >= len(op.outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{op_name!r}, exists but only has {len(op.outputs)} outputs."
                )
            return op.outputs[int(number)]
        if op is not None and allow_operation:
            return op
        if op is not None:
            raise ValueError(
                f"The name {name!r} refers to an Operation, not a Tensor. Perhaps you meant "
                f'"{name}:0".'
            )
        if not allow_operation:
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor "
                'names must be of the form "<op_name>:<output_index>".'
            )
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Returns the graph in words, to be looked at.

        Args:
            from_version: how many Operations to leave out, from the first.
            add_shapes: without meaning here.
        """
        return graph_def_of(self, from_version)

    @property
    def version(self) -> int:
        """Grows with each Operation."""
        return len(self._ops)

    def finalize(self) -> None:
        """Lets nothing be added any more."""
        self.finalized = True

    def unfinalize(self) -> None:
        """Takes `finalize` back (for the inside: savers and sessions add to finalized graphs)."""
        self.finalized = False

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Marks a tensor as one that cannot be fed."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a tensor can be fed."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Marks an Operation as one that cannot be fetched."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Whether a tensor or an Operation can be fetched."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    # -- scopes ------------------------------------------------------------------------------

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """A block in which this is the default graph."""
        with _graphs.pushed(self):
            yield self

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns a name in the scope in force that no Operation has."""
        with self.lock:
            return self.scopes.unique(name, mark_as_used)

    def get_name_scope(self) -> str:
        """Returns the name of the scope in force."""
        return self.scopes.name

    def name_scope(self, name: str | None) -> Any:
        """A block whose Operations have names that begin with a name.

        Raises:
            ValueError: it is no name for that.
        """
        return self.scopes.named(name)

    def device(self, device_name_or_function: Any) -> Any:
        """A block whose Operations are put on a device.

        Args:
            device_name_or_function: a name, a part of one, a function from Operation to name, or
                None for no device, whatever the blocks around say.
        """
        return self.scopes.placed(device_name_or_function)

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """A block whose Operations are on the device of another one."""
        with_op = [] if op is None else [_op_of(self, op)]
        names = tuple(name for one in with_op for name in (one.colocated or (one.name,)))
        with self.scopes.together(names, ignore_existing):
            yield

    def control_dependencies(self, control_inputs: Sequence[Any] | None) -> Any:
        """A block whose Operations run after others.

        Args:
            control_inputs: tensors, Operations and variables; None for none, whatever the blocks
                around say.
        """
        ops = [_op_of(self, one) for one in control_inputs or ()]
        return self.scopes.controlled(Controller(ops, control_inputs is None))

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """A block in which Operations of some types get gradients that were registered.

        Args:
            op_type_map: type of Operation -> what `RegisterGradient` was given.

        Raises:
            TypeError: it is something else.
        """
        if not isinstance(op_type_map, Mapping) or not all(
            isinstance(text, str) for pair in op_type_map.items() for text in pair
        ):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        was = self.scopes.overrides
        self.scopes.overrides = {**was, **op_type_map}
        try:
            yield
        finally:
            self.scopes.overrides = was

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """A block whose variables, queues and accumulators are not those of equal names outside.

        That is: on the tasks of a cluster, which `Session.reset` has forget those of a container.
        """
        before, self.container_name = self.container_name, container_name
        try:
            yield container_name
        finally:
            self.container_name = before

    def switch_to_thread_local(self) -> None:
        """Means nothing here: scopes are the graph's."""

    # -- collections -------------------------------------------------------------------------

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Adds something to a collection."""
        self.check_open()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Adds something to several collections."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Returns a collection itself, which can be changed."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Returns what is in a collection.

        Args:
            name: the collection's.
            scope: a pattern that names must begin with; what has no name is left out then.
        """
        found = self._collections.get(name, [])
        return list(found) if scope is None else in_scope(found, scope)

    def clear_collection(self, name: Any) -> None:
        """Empties a collection."""
        self._collections.pop(name, None)

    def get_all_collection_keys(self) -> list[str]:
        """Returns the names of the collections that have something in them."""
        return [name for name, held in self._collections.items() if held and isinstance(name, str)]

    @property
    def collections(self) -> list[Any]:
        """The names of the collections."""
        return list(self._collections)

    # -- sessions ----------------------------------------------------------------------------

    def session_for(self, session: Any, purpose: str) -> Any:
        """Returns the session to run something of this graph in (for the inside).

        Raises:
            ValueError: there is none, or it is of another graph.
        """
        found = default_sessions.top() if session is None else session
        if found is None:
            raise ValueError(
                f"Cannot {purpose}: No default session is registered. Use `with sess.as_default()` "
                "or pass an explicit session."
            )
        if found.graph is not self:
            raise ValueError(f"Cannot {purpose}: its graph is different from the session's graph.")
        return found


class Stack(threading.local):
    """The stack of the default graphs, or sessions, of each thread, the innermost last."""

    def __init__(self) -> None:
        self._items: list[Any] = []

    def top(self) -> Any:
        """Returns the innermost, or None."""
        return self._items[-1] if self._items else None

    @contextmanager
    def pushed(self, item: Any) -> Iterator[None]:
        """A block in which something is the default."""
        self._items.append(item)
        try:
            yield
        finally:
            self.remove(item)

    def push(self, item: Any) -> None:
        """Makes something the default until it is removed."""
        self._items.append(item)

    def remove(self, item: Any) -> None:
        """Ends the last time that something was made the default."""
        for index in reversed(range(len(self._items))):
            if self._items[index] is item:
                del self._items[index]
                return


_graphs: Final = Stack()
default_sessions: Final = Stack()
_global = Graph()


def get_default_graph() -> Graph:
    """Returns the graph that Operations are added to."""
    found: Graph | None = _graphs.top()
    return _global if found is None else found


def reset_default_graph() -> None:
    """Begins a new default graph.

    Raises:
        AssertionError: inside a block of `Graph.as_default`.
    """
    global _global
    if _graphs.top() is not None:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _global = Graph()


def in_scope(found: Sequence[Any], scope: str) -> list[Any]:
    """Returns what has a name that begins with a pattern."""
    begins: Callable[[str], Any] = re.compile(scope).match
    return [one for one in found if hasattr(one, "name") and begins(one.name)]


def _op_of(graph: Graph, given: Any) -> Operation:
    found = graph.as_graph_element(given)
    return found.op if isinstance(found, Tensor) else found

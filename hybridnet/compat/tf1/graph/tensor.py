"""`Tensor` and `Operation`: TensorFlow's names of the edges and nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, final

from hybridnet import engine
from hybridnet.graph import Edge, Node
from hybridnet.symbol import Symbol

from ..dtypes import DType
from ..errors import OperatorNotAllowedInGraphError
from .graph_def import NodeDef, node_def_of
from .host_call import HostCall
from .infer import Kind
from .shapes import TensorShape

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Operation", "Tensor"]

_NO_TRUTH = (
    "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead of "
    "`if t:` to test if a tensor is defined, and use TensorFlow ops such as tf.cond to execute "
    "subgraphs conditioned on the value of a tensor."
)


@final
class Tensor:
    """One output of an Operation: a value that a Session computes.

    Attributes:
        op: the Operation.
        value_index: which of its outputs it is.
        edge: the edge of our graph that it names.
        dtype: of its elements.
    """

    __slots__ = ("_shape", "dtype", "edge", "op", "value_index")
    # NumPy leaves ``array + tensor`` to the tensor.
    __array_priority__ = 100

    def __init__(
        self, op: Operation, value_index: int, edge: Edge, dtype: DType, shape: TensorShape
    ) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self.edge = edge
        self._shape = shape

    @property
    def symbol(self) -> Symbol:
        """The Symbol that it names: what `hn.viz`, `Symbol.optimize` and the rest take."""
        return Symbol([self.edge])

    @property
    def graph(self) -> Graph:
        """The graph it is in."""
        return self.op.graph

    @property
    def name(self) -> str:
        """The name of the Operation and the number of the output: ``'add:0'``."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def device(self) -> str:
        """The name of the device that it was put on; '' where nothing is said of it."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Returns the shape, as far as it is known."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Adds what the user knows of the shape.

        Raises:
            ValueError: it contradicts what is known.
        """
        self._shape = self._shape.merge_with(shape)
        call = self.edge.node.call
        if isinstance(call, HostCall):  # nothing else tells it the shapes of its results
            call.note_shape(self.edge.index, self._shape._dims)

    def consumers(self) -> list[Operation]:
        """Returns the Operations that read it, as often as they do."""
        ops = self.graph.get_operations()
        return [op for op in ops for one in op.inputs if one is self]

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """Computes it in a session; default the one that is the default."""
        return self.graph.session_for(session, "evaluate tensor").run(self, feed_dict)

    def ref(self) -> Tensor:
        """Returns what can be a key of a dict: the tensor itself."""
        return self

    experimental_ref = ref

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> NoReturn:
        raise OperatorNotAllowedInGraphError(_NO_TRUTH)

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). Please call "
            "`x.shape` rather than `len(x)` for shape information."
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array: its value is "
            "computed by Session.run"
        )

    def __iter__(self) -> Iterator[Any]:
        dims = self._shape.dims
        if dims is None or not dims or dims[0].value is None:
            raise OperatorNotAllowedInGraphError(
                f"{self!r} cannot be iterated over: the size of its first dimension is not known"
            )
        return (self[index] for index in range(dims[0].value))  # type: ignore[index]  # overloaded

    def __str__(self) -> str:
        shape = "" if self._shape.ndims is None else f", shape={self._shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"


def overload(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function one of Tensor's own, such as ``__add__``.

    What computes is above this module, so that it adds what Python's operators stand for.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(Tensor, name, function)
        return function

    return add


@final
@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class Operation:
    """A node of a graph, as TensorFlow sees it: it may be several of ours.

    Attributes:
        graph: the graph it is in.
        name: unique in the graph.
        type: TensorFlow's name of what it computes: 'Add', 'Placeholder'.
        inputs: the tensors that it reads.
        control_inputs: the Operations that run before it.
        device: the device that it was put on; '' where nothing is said of it.
        node: our node; of several the last one.
        nodes: all nodes that are it.
        override: the gradient that its own is replaced by, or the name that it is registered by.
        colocated: the names of Operations that it is to be with.
        params: what it was made with, for `get_attr`.
        inner: what is known of the values of its nodes, where it is several.
        outputs: the tensors that it makes.
    """

    graph: Graph
    name: str
    type: str
    inputs: tuple[Tensor, ...]
    control_inputs: list[Operation] = field(default_factory=list)
    device: str = ""
    node: Node = field(default=None, init=False)  # type: ignore[assignment]  # set when it is made
    nodes: tuple[Node, ...] = field(default=(), init=False)
    override: str | Callable[..., Any] | None = field(default=None, init=False)
    colocated: tuple[str, ...] = field(default=(), init=False)
    params: Mapping[str, Any] = field(default_factory=dict, init=False)
    inner: Mapping[Edge, Kind] = field(default_factory=dict, init=False)
    outputs: list[Tensor] = field(default_factory=list, init=False)

    def values(self) -> tuple[Tensor, ...]:
        """Returns the tensors that it makes."""
        return tuple(self.outputs)

    @property
    def traceback(self) -> list[str]:
        """The user's line that made it, ``file:line``."""
        place = engine.resolve_origin(self.node.origin)
        return [] if place is None else [f"{place[0]}:{place[1]}"]

    @property
    def title(self) -> str:
        """Name, type and the line that made it, for messages."""
        made = "".join(f", made at {line}" for line in self.traceback)
        return f"{self.name!r} ({self.type}{made})"

    @property
    def node_def(self) -> NodeDef:
        """The Operation in words."""
        return node_def_of(self)

    def get_attr(self, name: str) -> Any:
        """Returns what it was made with.

        Raises:
            ValueError: there is no such attribute.
        """
        if name == "dtype" and name not in self.params and self.outputs:
            return self.outputs[0].dtype.base_dtype
        if name not in self.params:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return self.params[name]

    def colocation_groups(self) -> list[bytes]:
        """Returns what it is together with, ``b'loc:@name'``."""
        return [f"loc:@{name}".encode() for name in self.colocated or (self.name,)]

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> None:
        """Runs it in a session; default the one that is the default."""
        self.graph.session_for(session, "execute operation").run(self, feed_dict)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

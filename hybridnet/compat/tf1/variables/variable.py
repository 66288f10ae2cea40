"""`Variable`: a value that a session keeps from run to run, and the Operations that change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hybridnet.graph import ASSIGN, READ, EdgeHandle, Node
from hybridnet.session import IS_HELD, VALUE_OR
from hybridnet.symbol import outside

from ..dtypes import DType, as_dtype, ref_of
from ..errors import OperatorNotAllowedInGraphError
from ..graph import Graph, GraphKeys, Tensor, TensorShape, get_default_graph, handle, name_scope
from ..graph.building import COPY, add_node, apply_call, compose
from ..graph.values import convert_to_tensor, register_tensor_conversion_function

__all__ = ["Variable", "assign", "assign_add", "assign_sub", "is_variable_initialized"]


class Variable:
    """A tensor that keeps its value in a session, and can be changed.

    Args:
        initial_value: what its initializer sets it to: a tensor, numbers, or a function of nothing
            that returns one of these.
        trainable: whether optimizers change it unless told otherwise.
        collections: the collections it is added to; default the global variables.
        validate_shape: whether it has the shape of its initial value for good.
        name: of its Operation; default 'Variable'.
        variable_def: without meaning here; must be None.
        dtype: what the initial value is converted to.
        constraint: a function that optimizers' users may apply to it.
        use_resource: without meaning here: all variables are one kind.
        caching_device, expected_shape, import_scope, synchronization, aggregation: without meaning
            here.
        shape: of it, where the initial value does not tell.

    Attributes:
        trainable, constraint: as given.
        name: ``'w:0'``.
        op: the Operation that is the variable.
        graph: the graph it is in.
        dtype: the type of its elements, as that of a variable.
        initializer: the Operation that sets it to its initial value.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self.trainable = trainable is None or bool(trainable)
        self.constraint = constraint
        self._save_slice_info: Any = None
        graph = getattr(initial_value, "graph", None)
        graph = graph if isinstance(graph, Graph) else get_default_graph()
        kind = None if dtype is None else as_dtype(dtype).base_dtype
        # What sets a variable is outside of loops and branches, wherever the variable is made.
        around: AbstractContextManager[None] = (
            outside() if callable(initial_value) else nullcontext()
        )
        with graph.as_default(), graph.control_dependencies(None), around:
            self._make(graph, initial_value, kind, validate_shape, shape, name or "Variable")
        held = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self.trainable and GraphKeys.TRAINABLE_VARIABLES not in held:
            held.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(held, self)

    def _make(
        self, graph: Graph, value: Any, dtype: DType | None, validate: bool, shape: Any, name: str
    ) -> None:
        with graph.name_scope(name) as scope:
            if callable(value):
                with graph.name_scope("Initializer"), graph.device(None):
                    initial = convert_to_tensor(value(), dtype, name="initial_value")
            else:
                initial = convert_to_tensor(value, dtype, name="initial_value")
            known = initial.shape if shape is None else TensorShape(shape)
            if validate and not known.is_fully_defined():
                raise ValueError(
                    f"initial_value must have a shape specified: {initial}; pass "
                    "validate_shape=False if it may change"
                )
            made = ref_of(initial.dtype)
            node = Node(None, (), scope)
            params = {"dtype": made.base_dtype, "shape": known}
            self._variable = add_node(
                "VariableV2", node, made, known if validate else None, name=scope, params=params
            )
            self.name, self.op = self._variable.name, self._variable.op
            self.graph, self.dtype = graph, self._variable.dtype
            self.initial_value = initial
            self.initializer = _assigned(self._variable, initial, "Assign").op
            with graph.colocate_with(self._variable.op):
                self._snapshot: Tensor = apply_call(
                    "Identity", COPY, (self._variable,), name="read"
                )

    # -- what it is --------------------------------------------------------------------------

    @property
    def device(self) -> str:
        """The name of the device that it was put on."""
        return self._variable.device

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._variable.shape

    def get_shape(self) -> TensorShape:
        """Returns the shape."""
        return self._variable.shape

    def set_shape(self, shape: Any) -> None:
        """Adds what the user knows of the shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    def _as_graph_element(self) -> Tensor:
        return self._variable

    # -- reading -----------------------------------------------------------------------------

    def value(self) -> Tensor:
        """Returns its value, as it was when the run began.

        Inside `control_dependencies` it is the value at that point of the run.
        """
        if any(block.ops for block in self.graph.scopes.controllers):
            return self.read_value()
        return self._snapshot

    def read_value(self) -> Tensor:
        """Returns its value at this point of a run: after what this runs after."""
        with self.graph.as_default(), self.graph.colocate_with(self.op):
            made: Tensor = apply_call("Identity", READ, (self._variable,), name="read")
            return made

    def initialized_value(self) -> Tensor:
        """Returns its value; the initial one while a session has not set it yet."""
        with self.graph.as_default(), self.graph.control_dependencies(None):
            made: Tensor = apply_call(
                "Merge", VALUE_OR, (self._variable, self.initial_value), name="cond/Merge"
            )
            return made

    def eval(self, session: Any = None) -> Any:
        """Returns its value in a session; default the one that is the default."""
        return self._snapshot.eval(session=session)

    # -- changing ----------------------------------------------------------------------------

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Returns what sets it to a value, and is the new value."""
        made = assign(self, value, use_locking=use_locking, name=name)
        return made if read_value else made.op

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Returns what adds a value to it, and is the new value."""
        made = assign_add(self, delta, name=name)
        return made if read_value else made.op

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Returns what subtracts a value from it, and is the new value."""
        made = assign_sub(self, delta, name=name)
        return made if read_value else made.op

    def load(self, value: Any, session: Any = None) -> None:
        """Sets it to a value in a session, at once."""
        self.graph.session_for(session, "load variable").load(self, value)

    # -- as an operand -----------------------------------------------------------------------

    def __iter__(self) -> Any:
        raise OperatorNotAllowedInGraphError("'Variable' object is not iterable.")

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __getitem__(self, key: Any) -> Any:
        return self.value()[key]  # type: ignore[index]  # Tensor's own is added from above

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


_METHODS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")


def _forwarded(method: str) -> Callable[..., Any]:
    def forward(variable: Variable, *operands: Any) -> Any:
        return getattr(variable.value(), method)(*operands)

    forward.__name__ = method
    return forward


for _method in (
    *(f"__{one}__" for one in _METHODS),
    *(f"__r{one}__" for one in _METHODS),
    *("__lt__", "__le__", "__gt__", "__ge__", "__neg__", "__abs__", "__invert__"),
):
    setattr(Variable, _method, _forwarded(_method))


register_tensor_conversion_function(
    Variable, lambda value, dtype, name: convert_to_tensor(value.value(), dtype)
)


def ref_tensor(ref: Any, what: str) -> Tensor:
    """Returns the tensor that is a variable."""
    tensor = ref._variable if isinstance(ref, Variable) else ref
    if not (isinstance(tensor, Tensor) and tensor.dtype.name.endswith("_ref")):
        raise TypeError(f"{what}: needs a variable, got {ref!r}")
    source = tensor
    while source.op.type != "VariableV2":  # the result of an assignment is the variable, too
        source = source.op.inputs[0]
    return source


def value_for(ref: Tensor, value: Any, kind: str) -> Tensor:
    base = ref.dtype.base_dtype
    made = convert_to_tensor(value, None if isinstance(value, Tensor) else base, name="value")
    if made.dtype.base_dtype is not base:
        raise TypeError(
            f"Input 'value' of '{kind}' Op has type {made.dtype.base_dtype.name} that does not "
            f"match type {base.name} of argument 'ref'."
        )
    return made


def _assigned(ref: Tensor, value: Tensor, name: str | None) -> Tensor:
    with ref.graph.colocate_with(ref.op):
        made: Tensor = apply_call("Assign", ASSIGN, (ref, value), name=name, dtypes=[ref.dtype])
        return made


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns what sets a variable to a value, and is the new value.

    Args:
        ref: the variable, or the result of another assignment to it, which runs before.
        value: of its shape and dtype.
        validate_shape: False lets a variable that was made so change its shape.
        use_locking: without meaning here: a run's updates are made together.

    Raises:
        TypeError: the dtype differs.
        ValueError: the shape differs.
    """
    tensor = ref_tensor(ref, "assign")
    with after(ref), name_scope(name, "Assign", [tensor]) as scope:
        return _assigned(tensor, value_for(tensor, value, "Assign"), scope)


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Returns what adds a value to a variable, and is the new value; see `assign`."""
    return _updated("AssignAdd", "broadcast_add", ref, value, name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Returns what subtracts a value from a variable, and is the new value; see `assign`."""
    return _updated("AssignSub", "broadcast_sub", ref, value, name)


def _updated(kind: str, operator: str, ref: Any, value: Any, name: str | None) -> Tensor:
    tensor = ref_tensor(ref, kind)
    with after(ref), name_scope(name, kind, [tensor]) as scope:
        delta = value_for(tensor, value, kind)
        with ref.graph.colocate_with(tensor.op):
            return changed(kind, lambda *pair: handle(operator, *pair), tensor, [delta], scope)


def changed(
    kind: str, rule: Callable[..., EdgeHandle], tensor: Tensor, inputs: Sequence[Tensor],
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Adds the Operation that sets a variable to what a rule makes of its value and of inputs."""

    def change(held: EdgeHandle, *given: EdgeHandle) -> EdgeHandle:
        now = held.apply_call(READ, [held], ())[0]
        made: EdgeHandle = held.apply_call(ASSIGN, [held, rule(now, *given)], ())[0]
        return made

    made: Tensor = compose(kind, change, [tensor, *inputs], name=name, dtypes=[tensor.dtype])
    return made


def after(ref: Any) -> Any:
    """A block whose Operations run after the assignment whose result `ref` is."""
    before = isinstance(ref, Tensor) and ref.op.type != "VariableV2"
    graph: Graph = ref.graph
    return graph.control_dependencies([ref] if before else [])


def is_variable_initialized(ref: Any, name: str | None = None) -> Tensor:
    """Returns whether a session has set a variable, as a tensor."""
    tensor = ref_tensor(ref, "is_variable_initialized")
    made: Tensor = apply_call("IsVariableInitialized", IS_HELD, (tensor,), name=name)
    return made

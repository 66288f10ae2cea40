"""`gradients`: Operations that compute how tensors change with others; and users' own rules.

Each node on the way gets one `GradientCall`, whose rule is asked when a session knows the types.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Final, final

from hybridnet.base import is_float, recorded_at
from hybridnet.graph import READ, Edge, EdgeHandle, Node
from hybridnet.ops.core import registry

from .building import COPY, apply, apply_call, compose, edge_kind, listed, tensor_of
from .control import name_scope
from .gradient_call import gradient_call
from .graph import Graph
from .operators import handle
from .tensor import Operation, Tensor
from .values import convert_to_tensor

__all__ = [
    "AggregationMethod", "NoGradient", "NotDifferentiable", "RegisterGradient",
    "UnconnectedGradients", "custom_gradient", "get_gradient_function", "gradients",
]  # fmt: skip

#: A part of a graph that is differentiated as a whole: one of our nodes, or an Operation whose
#: gradient the user gives.
_Unit = Node | Operation


def _zeros(op: Operation, *_: Tensor) -> Any:
    return apply("ZerosLike", "zeros_like", op.inputs[:1])


def _of_pair(heads: Callable[..., tuple[EdgeHandle, EdgeHandle]]) -> Callable[..., Any]:
    """Returns the rule of a function of two inputs that broadcast.

    Args:
        heads: from both inputs, the output and its gradient to the gradients of both inputs, of the
            output's shape; what was broadcast is summed over.
    """

    def sums(x: EdgeHandle, y: EdgeHandle, z: EdgeHandle, grad: EdgeHandle) -> list[EdgeHandle]:
        # The gradients of x + y are its output's, summed over what was broadcast.
        add, _ = registry.get("broadcast_add").bind({})
        total, found = handle("broadcast_add", x, y), []
        for number, head in enumerate(heads(x, y, z, grad)):
            of_sum = gradient_call(add, 2, (number,), (0,))
            found += x.apply_call(of_sum, [x, y, total, head], ())
        return found

    def rule(op: Operation, grad: Tensor) -> Any:
        return compose(f"{op.type}Grad", sums, (*op.inputs, op.outputs[0], grad))

    return rule


def _power(
    x: EdgeHandle, y: EdgeHandle, z: EdgeHandle, grad: EdgeHandle
) -> tuple[EdgeHandle, EdgeHandle]:
    """Of powers: where the base is not positive, the exponent has no gradient."""
    ones = handle("ones_like", x)
    base = handle("where", handle("_greater_scalar", x, scalar=0.0), x, ones)
    return grad * y * x ** (y - 1.0), grad * z * base.log()


def _remainder(
    x: EdgeHandle, y: EdgeHandle, z: EdgeHandle, grad: EdgeHandle
) -> tuple[EdgeHandle, EdgeHandle]:
    """Of remainders: also by 0."""
    return grad * handle("ones_like", z), -(grad * (x / y).floor())


#: Name -> the rule, the user's or TensorFlow's; None: there is no gradient.
_RULES: Final[dict[str, Callable[..., Any] | None]] = {
    "FloorMod": _of_pair(_remainder),
    "Pow": _of_pair(_power),
    "Sign": _zeros,
}


class UnconnectedGradients(enum.Enum):
    """The result of `gradients` for an x that no y depends on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """The methods of summing gradients; without effect here, since XLA chooses one."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@final
class RegisterGradient:
    """Registers a function as a gradient: ``@tf.RegisterGradient("CustomSquare")``.

    The function gets the Operation and the gradients of its outputs, and returns those of its
    inputs, None where there is none. `Graph.gradient_override_map` says whose gradient it is.

    Args:
        op_type: the name, or a type of Operations that have no gradient of their own.

    Raises:
        KeyError: the name is taken.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._name = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Registers the function, and returns it."""
        _register(self._name, f)
        return f


def _register(name: str, rule: Callable[..., Any] | None) -> None:
    if name in _RULES:
        raise KeyError(f"Registering two gradient with name '{name}'!")
    _RULES[name] = rule


def NotDifferentiable(op_type: str) -> None:
    """Registers that Operations of a type have no gradient."""
    _register(op_type, None)


NoGradient = NotDifferentiable


def get_gradient_function(op: Operation) -> Callable[..., Any] | None:
    """Returns the user's rule for the gradient of an Operation, or None.

    Raises:
        LookupError: the name that was asked for in `gradient_override_map` is not registered.
    """
    if callable(op.override):
        return op.override
    if op.override is not None:
        if op.override not in _RULES:
            raise LookupError(
                f"No gradient defined for operation '{op.name}' (op type: {op.type}): "
                f"gradient_override_map asks for {op.override!r}, which is not registered"
            )
        return _RULES[op.override]
    return _RULES.get(op.type)


def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Gives a function a gradient of its own.

    Args:
        f: returns a tensor (or several) and a function from the gradients of these to those of the
            arguments.
    """
    if f is None:
        return custom_gradient
    function = f

    @wraps(function)
    def decorated(*args: Any) -> Any:
        with name_scope("CustomGradient"):
            given = [apply("Identity", "_copy", (convert_to_tensor(one),)) for one in args]
            result, rule = function(*given)
            several = isinstance(result, (list, tuple))
            made = [convert_to_tensor(one) for one in listed(result)]
            outputs = listed(compose("IdentityN", _copies, (*made, *given), name="IdentityN"))
        op = outputs[0].op
        count = len(made)
        op.override = lambda op, *grads: [None] * count + listed(rule(*grads[:count]))
        return type(result)(outputs[:count]) if several else outputs[0]

    return decorated


def _copies(*handles: Any) -> list[Any]:
    return [one.apply_call(COPY, [one], ())[0] for one in handles]


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: Any = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:
    """Returns the gradients of the sum of some tensors with respect to others.

    Args:
        ys: a tensor, or several.
        xs: a tensor or a variable, or several.
        grad_ys: the gradients of `ys`, None for ones; default ones for all.
        name: of the scope of the new Operations.
        colocate_gradients_with_ops: without meaning here: gradients are always on the device of
            what they are the gradient of.
        gate_gradients: without meaning here: a run's values are those of one moment.
        aggregation_method: without meaning here.
        stop_gradients: tensors that are taken for constants.
        unconnected_gradients: what to return for what `ys` do not depend on: None or zeros.

    Returns:
        A tensor, or None, for each of `xs`.

    Raises:
        ValueError: the numbers of `ys` and `grad_ys` differ.
        LookupError: a gradient that was asked for is not registered.
    """
    heads = [convert_to_tensor(one) for one in listed(ys)]
    wanted = [_tensor(one) for one in listed(xs)]
    given = listed(grad_ys) if grad_ys is not None else [None] * len(heads)
    if len(given) != len(heads):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(heads)} ys")
    graph = heads[0].graph
    stopped = {_tensor(one).edge for one in listed(stop_gradients or [])}
    zeros = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    with graph.as_default(), name_scope(name, "gradients") as scope:
        walk = _Walk(graph, heads, wanted, stopped)
        for number, (head, grad) in enumerate(zip(heads, given, strict=True)):
            with graph.colocate_with(head.op, ignore_existing=True):
                walk.add(head.edge, _head_gradient(head, grad, number))
        walk.run()
        with graph.name_scope(scope):
            found = [walk.total(one.edge) for one in wanted]
    return [
        apply("ZerosLike", "zeros_like", (x,), name="zeros_like") if one is None and zeros else one
        for x, one in zip(wanted, found, strict=True)
    ]


def _tensor(given: Any) -> Tensor:
    """Returns a tensor; of a variable the one that is it, on which all that read it depend."""
    if isinstance(given, Tensor):
        return given
    convert = getattr(given, "_as_graph_element", None)
    found: Tensor = convert() if callable(convert) else convert_to_tensor(given)
    return found


def _head_gradient(head: Tensor, grad: Any, number: int) -> Tensor:
    if grad is None:
        made: Tensor = apply("Fill", "ones_like", (head,), name=f"grad_ys_{number}")
        return made
    found = convert_to_tensor(grad, head.dtype.base_dtype, name=f"grad_ys_{number}")
    head.shape.assert_is_compatible_with(found.shape)
    return found


@final
class _Walk:
    """One differentiation: from the last units of the graph to the first.

    Args:
        graph: what is differentiated.
        heads: the tensors whose sum is.
        wanted: with respect to what.
        stopped: edges that are taken for constants.
    """

    def __init__(
        self, graph: Graph, heads: Sequence[Tensor], wanted: Sequence[Tensor], stopped: set[Edge]
    ) -> None:
        self._graph = graph
        self._stopped = stopped
        self._grads: dict[Edge, list[Tensor]] = {}
        self._units = list(_units(graph, [one.edge for one in heads]))
        # What depends on a wanted value.
        self._needed: set[Edge] = {one.edge for one in wanted}
        for unit in self._units:
            inputs, outputs = _ends(unit)
            if any(self._passes(edge) for edge in inputs):
                self._needed.update(outputs)

    def _passes(self, edge: Edge) -> bool:
        return edge in self._needed and edge not in self._stopped

    def add(self, edge: Edge, grad: Tensor) -> None:
        """Adds a part of the gradient of a value."""
        self._grads.setdefault(edge, []).append(grad)

    def total(self, edge: Edge) -> Tensor | None:
        """Returns the gradient of a value, if there is one."""
        parts = self._grads.get(edge)
        if not parts:
            return None
        if len(parts) > 1:
            self._grads[edge] = parts = [apply("AddN", "add_n", parts, {"num_args": len(parts)})]
        return parts[0]

    def run(self) -> None:
        """Visits all units."""
        for unit in reversed(self._units):
            inputs, outputs = _ends(unit)
            if not any(self._passes(edge) for edge in inputs):
                continue
            if not any(edge in self._grads for edge in outputs):
                continue
            op = unit if isinstance(unit, Operation) else self._graph.operation_of(unit)
            if op is None:
                found = self._of_node(unit, None, inputs, outputs)
            else:
                line = recorded_at(op.node.origin)
                with self._graph.colocate_with(op, ignore_existing=True), line:
                    if isinstance(unit, Operation):
                        found = self._of_operation(unit)
                    else:
                        found = self._of_node(unit, op, inputs, outputs)
            for edge, grad in found.items():
                if self._passes(edge):
                    for one in grad:
                        self.add(edge, one)

    def _of_operation(self, op: Operation) -> dict[Edge, list[Tensor]]:
        """Asks the user's rule."""
        rule = get_gradient_function(op)
        if rule is None:
            return {}
        with self._graph.name_scope(f"{op.name}_grad"):
            totals = ((one, self.total(one.edge)) for one in op.outputs)
            grads = [
                apply("ZerosLike", "zeros_like", (one,)) if grad is None else grad
                for one, grad in totals
            ]
            found = listed(rule(op, *grads))
        if len(found) != len(op.inputs):
            raise ValueError(
                f"Num gradients {len(found)} generated for op {op.title} do not match num inputs "
                f"{len(op.inputs)}"
            )
        result: dict[Edge, list[Tensor]] = {}
        for x, grad in zip(op.inputs, found, strict=True):
            if grad is not None:
                made = convert_to_tensor(grad, x.dtype.base_dtype)
                x.shape.assert_is_compatible_with(made.shape)
                result.setdefault(x.edge, []).append(made)
        return result

    def _of_node(
        self, node: Any, op: Operation | None, inputs: Sequence[Edge], outputs: Sequence[Edge]
    ) -> dict[Edge, list[Tensor]]:
        """Adds the gradient of one of our nodes."""
        call = node.call
        if call is None or call.no_gradient:
            return {}
        given = [edge for edge in outputs if edge in self._grads]
        wanted = [
            number
            for number, edge in enumerate(inputs)
            if self._passes(edge) and is_float(edge_kind(self._graph, edge).dtype)
        ]
        if not wanted:
            return {}
        if call is READ or call is COPY:  # as in TensorFlow, no Operation, and so no other device
            grad = self.total(given[0])
            return {} if grad is None else {inputs[0]: [grad]}
        name = node.name if op is None else op.name
        with self._graph.name_scope(f"{name}_grad"):
            heads = [self.total(edge) for edge in given]
            made = apply_call(
                "Gradient" if op is None else f"{op.type}Grad",
                gradient_call(call, len(inputs), tuple(wanted), tuple(one.index for one in given)),
                [*(tensor_of(self._graph, edge) for edge in (*inputs, *outputs)), *heads],  # type: ignore[list-item]
                node.scalars,
                kinds=[edge_kind(self._graph, inputs[number]) for number in wanted],
            )
        result: dict[Edge, list[Tensor]] = {}
        for number, grad in zip(wanted, listed(made), strict=True):
            result.setdefault(inputs[number], []).append(grad)
        return result


def _ends(unit: _Unit) -> tuple[Sequence[Edge], Sequence[Edge]]:
    """Returns what a unit reads, and what it makes."""
    if isinstance(unit, Operation):
        return [one.edge for one in unit.inputs], [one.edge for one in unit.outputs]
    return unit.inputs, [Edge(unit, index) for index in range(unit.num_outputs)]


def _unit_of(graph: Graph, edge: Edge) -> _Unit:
    op = graph.operation_of(edge.node)
    if op is None or (op.override is None and op.type not in _RULES):
        return edge.node
    return op


def _units(graph: Graph, ends: Sequence[Edge]) -> Iterator[_Unit]:
    """Yields the units that some values depend on, each after those that it reads."""
    done: set[_Unit] = set()
    entered: set[_Unit] = set()
    stack: list[_Unit] = [_unit_of(graph, edge) for edge in ends]
    while stack:
        unit = stack[-1]
        if unit in done:
            stack.pop()
        elif unit in entered:
            stack.pop()
            done.add(unit)
            yield unit
        else:
            entered.add(unit)
            before = (_unit_of(graph, edge) for edge in _ends(unit)[0])
            stack += [one for one in before if one not in done and one not in entered]

"""Making nodes of symbols: parameters told from attributes, missing inputs made, names given.

Everything here is about nodes and edges; `Symbol` is only a handle on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hybridnet.attribute import AttrScope
from hybridnet.base.device_name import DEVICE
from hybridnet.base.device_scope import current_device
from hybridnet.base.errors import ParameterError
from hybridnet.base.origins import noted_origin
from hybridnet.graph import (
    HIDDEN,
    Edge,
    Moves,
    Node,
    attributes_of,
    stored_name,
    topological,
    variable,
    written_parameters,
)
from hybridnet.name import NameManager
from hybridnet.ops.core import OpCall, Operator

__all__ = ["annotate", "make_node", "scope_attributes", "substitute", "user_attributes"]

#: How inputs that are not given begin, by operator and input: text for `hybridnet.initializer`.
_INITIAL: Final = {
    ("BatchNorm", "moving_mean"): '["zero", {}]',
    ("BatchNorm", "moving_var"): '["one", {}]',
    ("_contrib_SyncBatchNorm", "moving_mean"): '["zero", {}]',
    ("_contrib_SyncBatchNorm", "moving_var"): '["one", {}]',
    ("LeakyReLU", "gamma"): '["Constant", {"value": 0.25}]',
}

#: Operators that Python's arithmetic, functions and methods call by another name; new nodes are
#: called after that one.
_CALLED: Final = {
    "SliceChannel": "split",
    "SwapAxis": "swapaxes",
    "_div_scalar": "_divscalar",
    "_minus_scalar": "_minusscalar",
    "_mod_scalar": "_modscalar",
    "_mul_scalar": "_mulscalar",
    "_plus_scalar": "_plusscalar",
    "_power_scalar": "_powerscalar",
    "_rdiv_scalar": "_rdivscalar",
    "_rminus_scalar": "_rminusscalar",
    "_rmod_scalar": "_rmodscalar",
    "broadcast_axis": "broadcast_axes",
    "elemwise_add": "_plus",
    "elemwise_div": "_div",
    "elemwise_mul": "_mul",
    "elemwise_sub": "_minus",
    "reverse": "flip",
}


def annotate(node: Node, key: str, value: str, *, replace: bool = True) -> None:
    """Adds an attribute to a node that is in use.

    Attributes are notes beside the graph that computation never reads, so this is the one thing
    about a node that can change.
    """
    assert isinstance(node.attrs, dict)
    if replace or key not in node.attrs:
        node.attrs[key] = value


def scope_attributes(given: Mapping[str, str]) -> dict[str, str]:
    """Returns a new node's attributes: those given, over those of the scopes in force."""
    attrs: dict[str, str] = AttrScope.current.get(given)
    device = current_device()
    if device:
        attrs.setdefault(DEVICE, device)
    return attrs


def user_attributes(where: str, given: Mapping[str, object]) -> dict[str, str]:
    """Returns attributes as they are kept.

    Raises:
        ParameterError: a name is not one of MXNet's and not in double underscores, or a value is
            no string, number or initializer.
    """
    kept = {}
    for name, value in given.items():
        if name not in HIDDEN and not (name.startswith("__") and name.endswith("__")):
            raise ParameterError(
                f"{where}: attribute {name!r} must begin and end with two underscores, or be one "
                f"of {', '.join(sorted(HIDDEN))}"
            )
        if hasattr(value, "dumps"):  # an initializer
            value = value.dumps()
        if not isinstance(value, (str, int, float)):
            raise ParameterError(f"{where}: attribute {name!r} must be a string, got {value!r}")
        kept[stored_name(name)] = str(value)
    return kept


def make_node(
    op: Operator,
    inputs: Sequence[Edge | None],
    given: Mapping[str, Any],
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    hint: str | None = None,
) -> Node:
    """Makes the node that applies an operator.

    Inputs that are missing become variables ``{name}_{input}``, with the node's attributes.

    Args:
        inputs: what it is applied to; None where an input was not given.
        given: its parameters, among which may be attributes (``lr_mult=2``, ``__x__="y"``).
        name: the user's name for it.
        attr: further attributes.
        hint: what a name made for it begins with; default the operator's name.

    Raises:
        ParameterError: a parameter, attribute or input is not fit.
    """
    notes = {
        key: value
        for key, value in given.items()
        if key not in op.params and (key in HIDDEN or key.startswith("__"))
    }
    params = {key: value for key, value in given.items() if key not in notes}
    count = int(params.pop("num_args", len(inputs))) if op.variadic else 0
    call, scalars = op.bind(params)
    refusal = op.refusal(scalars)
    if refusal:
        raise ParameterError(refusal)
    if op.variadic and op.takes is not None:
        count = len(op.takes(**call.attrs)) or count
    if op.sizes:
        op.require_sizes(call.attrs)
    attrs = user_attributes(op.name, scope_attributes({**notes, **(attr or {})}))
    named = NameManager.current.get(name, (hint or _CALLED.get(op.name, op.name)).lower())
    edges = _all_inputs(call, named, inputs, count)
    origin = noted_origin(2)
    written = written_parameters(op, params)
    made = Node(call, (), named, scalars, attrs, origin, written=written)
    copied = attributes_of(made) if None in edges else {}
    if op.variadic:
        copied["num_args"] = str(len(edges))
    input_names = _input_names(call, len(edges))
    complete = [
        Edge(variable(f"{named}_{input_name}", copied, origin), 0) if edge is None else edge
        for input_name, edge in zip(input_names, edges, strict=True)
    ]
    for input_name, edge in zip(input_names, complete, strict=True):
        initial = _INITIAL.get((op.name, input_name))
        if initial is not None and edge.node.is_variable:
            annotate(edge.node, "__init__", initial, replace=False)
    return made.with_inputs(tuple(complete))


def _input_names(call: OpCall, count: int) -> Sequence[str]:
    op = call.operator
    if op.variadic and (op.takes is None or not op.takes(**call.attrs)):
        return [f"arg{index}" for index in range(count)]
    return call.input_names()


def _all_inputs(
    call: OpCall, name: str, inputs: Sequence[Edge | None], count: int
) -> list[Edge | None]:
    """Returns the inputs with None for each that is missing."""
    op = call.operator
    if op.variadic:
        edges = [*inputs, *[None] * (count - len(inputs))]
        if not edges or count < len(inputs):
            raise ParameterError(
                f"{op.name}: requires num_args inputs, at least 1, got {len(inputs)} with "
                f"num_args={count}"
            )
        return edges
    names = call.input_names()
    if len(inputs) > len(names):
        raise ParameterError(
            f"{op.name} ({name!r}): takes the inputs {', '.join(names) or 'none'} with these "
            f"parameters, got {len(inputs)} inputs"
        )
    return [*inputs, *[None] * (len(names) - len(inputs))]


def substitute(
    edges: Sequence[Edge], values: Mapping[Node, Edge], name: str | None = None
) -> tuple[Edge, ...]:
    """Returns the edges with variables replaced.

    Args:
        values: variable -> what takes its place.
        name: for the node that computes it, if it is one.
    """
    moves = Moves({Edge(node, 0): edge for node, edge in values.items()})
    for node in topological(edges):
        made = moves.moved(node)
        if name and not node.is_variable and all(edge.node is node for edge in edges):
            made = replace(made, name=name)
        moves.note(node, made)
    return moves.edges(edges)

"""`sym.Custom`: a user's operator as a node of a symbol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.base.origins import noted_origin
from hybridnet.graph import HIDDEN, Edge, Node, variable
from hybridnet.name import NameManager
from hybridnet.ops.core import custom_call

from .composition import scope_attributes, user_attributes
from .symbol import Symbol

__all__ = ["Custom"]


def Custom(
    *data: Any,
    op_type: str,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Applies an operator written in Python; see `hybridnet.operator`.

    Args:
        data: symbols for the arguments and auxiliary states, in order or by their names; variables
            are made for those that are missing.
        op_type: the name by which the operator was registered.
        name: of the node.
        attr: attributes of the node.
        kwargs: parameters, given to the class as text.

    Raises:
        ParameterError: there is no such operator, or it does not take these inputs.
    """
    symbols = {key: value for key, value in kwargs.items() if isinstance(value, Symbol)}
    notes = {k: value for k, value in kwargs.items() if k in HIDDEN or k.startswith("__")}
    rest = {k: value for k, value in kwargs.items() if k not in symbols and k not in notes}
    call = custom_call(op_type, rest)
    names = call.input_names
    if len(data) > len(names) or set(symbols) - set(names[len(data) :]):
        raise ParameterError(
            f"{call!r}: takes the inputs {', '.join(names)}, each once, got {len(data)} in order "
            f"and {', '.join(symbols) or 'none'} by name"
        )
    named = NameManager.current.get(name, "custom")
    attrs = user_attributes("Custom", scope_attributes({**notes, **(attr or {})}))
    given = {**dict(zip(names, data, strict=False)), **symbols}
    origin = noted_origin(1)
    edges = []
    for key in names:
        value = given.get(key)
        if value is None:
            copied = {**call.params, "op_type": op_type, **attrs}
            edges.append(Edge(variable(f"{named}_{key}", copied, origin), 0))
            continue
        if not isinstance(value, Symbol) or len(value) != 1:
            raise ParameterError(f"{call!r}: {key} must be a Symbol of one output, got {value!r}")
        edges.append(value.edges[0])
    node = Node(call, tuple(edges), named, (), attrs, origin)
    return Symbol([Edge(node, index) for index in range(call.num_visible)])

"""Attributes of nodes as text: the operator's parameters, and what users attached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridnet.base.attrs import REQUIRED, HostScalar, Param
from hybridnet.base.errors import GraphError, MXNetError
from hybridnet.ops.core import CustomCall, OpCall, Operator

from .node import Node

#: Attributes that users write without the underscores that they are kept with.
HIDDEN: Final = frozenset(
    {"ctx_group", "force_mirroring", "lr_mult", "mirror_stage", "profiler_scope", "wd_mult"}
)
#: Those of them that are about recomputation (`hybridnet.passes.mirror`), as they are kept.
MIRRORING: Final = frozenset({"__force_mirroring__", "__mirror_stage__"})

#: Types of parameters that are written as Python does; others, as what they are read as.
_AS_IN_PYTHON: Final = (bool, int, float, str, tuple, list)


def stored_name(name: str) -> str:
    """Returns the name under which an attribute is kept: ``__lr_mult__`` for ``lr_mult``."""
    return f"__{name}__" if name in HIDDEN else name


def with_short_names(attrs: Mapping[str, str]) -> dict[str, str]:
    """Returns attributes as MXNet lists them: ``__lr_mult__`` also as ``lr_mult``."""
    shown = dict(attrs)
    for name, value in attrs.items():
        if name[2:-2] in HIDDEN and name == stored_name(name[2:-2]):
            shown[name[2:-2]] = value
    return shown


def parameters_of(node: Node) -> dict[str, object]:
    """Returns the operator's parameters that differ from their defaults; none for a variable.

    The number beside an array (``x + 1``) is there whatever it is.
    """
    call = node.call
    if not isinstance(call, OpCall):
        return {} if call is None else dict(call.parameters)
    values = {**call.attrs, **call.by_parameter(node.scalars)}
    params = call.operator.params
    return {
        name: values[name]
        for name, param in params.items()
        if name == "scalar"
        or param.default is REQUIRED
        or repr(values[name]) != repr(param.default)
    }


def written_parameters(op: Operator, given: Mapping[str, object]) -> dict[str, str]:
    """Returns parameters that a user gave, as text in MXNet's way; see `Node.written`."""
    return {
        key: str(value if isinstance(value, _AS_IN_PYTHON) else op.params[key].read(value))
        for key, value in given.items()
    }


def _still_says(param: Param, text: str, value: object) -> bool:
    """Whether a text is read as this value: passes change parameters, and keep what was written."""
    try:
        return repr(param.read(text)) == repr(value)
    except (ValueError, TypeError, SyntaxError, OverflowError, MXNetError):
        return False


def attributes_of(node: Node) -> dict[str, str]:
    """Returns the parameters that were given, or are not the defaults, and the user's attributes.

    Those that were given are as they were written.

    Raises:
        GraphError: one is a number that a traced function asks Python for.
    """
    if isinstance(node.call, CustomCall):
        return {**node.call.params, "op_type": node.call.op_type, **node.attrs}
    found = {}
    for name, value in parameters_of(node).items():
        numbers = value if isinstance(value, tuple) else (value,)
        if any(isinstance(number, HostScalar) for number in numbers):
            raise GraphError(
                f"node {node.name!r}: {name} is a number that Python computes at each call of a "
                "traced function, so it cannot be written down"
            )
        found[name] = str(value)
    if isinstance(node.call, OpCall):
        values = {**node.call.attrs, **node.call.by_parameter(node.scalars)}
        params = node.call.operator.params
        for name, text in node.written.items():
            if name in params and _still_says(params[name], text, values[name]):
                found[name] = text
        if node.call.operator.variadic:
            found["num_args"] = str(len(node.inputs))
    return {**found, **node.attrs}

"""Calls as JSON, so that the parts of a graph can go to other processes.

What is written is the name of an operator, its parameters and its mode; or that it is the gradient
of another call. What is Python code cannot be written. Nothing that is read is trusted.
"""

from __future__ import annotations

import math
from typing import Any, Final

from hybridnet.base.dtype import CODE_OF, DTYPE_OF_CODE
from hybridnet.base.errors import FormatError, GraphError, MXNetError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import REROUTED
from hybridnet.ops.core import Call, OpCall, VjpCall, vjp_call
from hybridnet.ops.core.registry import REGISTRY

from .loop_rows import RowCall, row_call

#: Gradients of gradients of ...: more is no program of anybody's.
_DEPTH: Final = 16
#: Parameters of one operator, numbers in one of them, and characters of a text.
_MAX_ITEMS: Final = 1 << 16
#: Dimensions of a tensor, and the length of one.
_AXES: Final = 32
_EXTENT: Final = 1 << 40


def is_written(call: Call) -> bool:
    """Whether a call can be written: operators can, and their gradients."""
    while isinstance(call, VjpCall):
        call = call.of
    return isinstance(call, (OpCall, RowCall)) or call is REROUTED


def write_call(call: Call) -> dict[str, object]:
    """Returns a call, for which `is_written` holds, as what `json` writes."""
    if isinstance(call, VjpCall):
        return {"vjp": write_call(call.of), "wanted": list(call.wanted), "given": list(call.given)}
    if isinstance(call, RowCall):
        return {"row": [_packed(fact) for fact in call.facts()]}
    if not isinstance(call, OpCall):
        return {"op": REROUTED.name}
    written: dict[str, Any] = {"op": call.name}
    if call.attrs:
        written["attrs"] = {name: _packed(value) for name, value in call.attrs.items()}
    if call.train is not None:
        written["train"] = call.train
    return written


def read_call(data: object, depth: int = 0) -> Call:
    """Returns the call that `write_call` wrote.

    Raises:
        FormatError: it is none, or an operator that this process does not have.
    """
    if not isinstance(data, dict) or depth > _DEPTH:
        raise FormatError(f"a call must be an object, {_DEPTH} deep at most")
    if "vjp" in data:
        of = read_call(data["vjp"], depth + 1)
        wanted, given = (_places(data.get(name)) for name in ("wanted", "given"))
        return vjp_call(of, wanted, given)
    if "row" in data:
        return _read_row(data["row"])
    name, attrs, train = data.get("op"), data.get("attrs", {}), data.get("train")
    if name == REROUTED.name:
        return REROUTED
    operator = REGISTRY.get(name) if isinstance(name, str) else None
    if operator is None:
        raise FormatError(
            f"there is no operator {str(name)[:80]!r} in this process; where it is a user's, "
            "import the module that registers it"
        )
    if not isinstance(attrs, dict) or len(attrs) > _MAX_ITEMS or train not in (None, True, False):
        raise FormatError(f"{name}: attrs must be an object and train a boolean")
    values = {key: _unpacked(value) for key, value in attrs.items()}
    # Numbers that are no part of the call stand in its node; the call is the same for all.
    for key, param in operator.dynamic.items():
        count = values.get(param.count) if param.count else None
        values[key] = (0.0,) * count if isinstance(count, int) and 0 <= count <= _MAX_ITEMS else 0.0
    try:
        return operator.bind(values, train)[0]
    except MXNetError as error:
        raise FormatError(f"{name}: {error}") from error


def read_whole(value: object, least: int, most: int, what: str) -> int:
    """Returns a whole number of a message.

    Raises:
        FormatError: it is none, or out of its bounds.
    """
    if type(value) is int and least <= value <= most:
        return value
    raise FormatError(f"{what} must be a number from {least} to {most}, got {str(value)[:40]}")


def _read_row(data: object) -> Call:
    """Returns one of the calls of lowered loops."""
    facts = _unpacked(data)
    numbers = facts[1:] if isinstance(facts, tuple) else ()
    if not facts or not all(isinstance(one, (TensorType, bool, int)) for one in numbers):
        raise FormatError(f"a call of a loop must be a list, got {str(data)[:40]}")
    if any(not isinstance(one, TensorType) and not 0 <= one < 1 << 31 for one in numbers):
        raise FormatError(f"a call of a loop has numbers that it cannot have: {str(data)[:40]}")
    try:
        return row_call(facts)
    except (KeyError, TypeError) as error:
        raise FormatError(f"there is no call of a loop like {str(data)[:40]}") from error


def write_type(kind: TensorType) -> list[object]:
    """Returns a type as what `json` writes.

    Raises:
        GraphError: its dtype is none that travels.
    """
    code = CODE_OF.get(kind.dtype)
    if code is None:
        raise GraphError(f"a tensor {kind} cannot go to another process")
    return [code, list(kind.shape)]


def read_type(data: object) -> TensorType:
    """Returns the type that `write_type` wrote.

    Raises:
        FormatError: it is none.
    """
    pair = data if isinstance(data, list) and len(data) == 2 else [None, None]
    code, shape = pair
    dtype = DTYPE_OF_CODE.get(code) if type(code) is int else None
    if dtype is None or not isinstance(shape, list) or len(shape) > _AXES:
        raise FormatError(f"a type must be a dtype's code and a shape, got {str(data)[:40]}")
    return tensor_type(
        tuple(read_whole(extent, 0, _EXTENT, "a dimension") for extent in shape), dtype
    )


def _places(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > _MAX_ITEMS:
        raise FormatError(f"a gradient's places must be a list, got {str(value)[:40]}")
    return tuple(read_whole(place, 0, _MAX_ITEMS, "a place") for place in value)


def _packed(value: object) -> Any:
    """Returns a parameter's value as JSON has it."""
    if isinstance(value, tuple):
        return [_packed(part) for part in value]
    if isinstance(value, TensorType):
        return {"type": write_type(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"text": str(value)}


def _unpacked(value: object, depth: int = 0) -> Any:
    if isinstance(value, list) and len(value) <= _MAX_ITEMS and depth < _DEPTH:
        return tuple(_unpacked(part, depth + 1) for part in value)
    if isinstance(value, dict) and value.keys() == {"float"}:
        if value["float"] in ("inf", "-inf", "nan"):
            return float(value["float"])
    elif isinstance(value, dict) and value.keys() == {"type"}:
        return read_type(value["type"])
    elif isinstance(value, dict) and value.keys() == {"text"}:
        value = value["text"]
        if isinstance(value, str) and len(value) <= _MAX_ITEMS:
            return value
    elif isinstance(value, str):
        if len(value) <= _MAX_ITEMS:
            return value
    elif value is None or isinstance(value, (bool, int, float)):
        return value
    raise FormatError(f"a parameter must be a number, a text, or a list, got {str(value)[:40]}")

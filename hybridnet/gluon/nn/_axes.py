"""What layers over one, two and three spatial axes have in common."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from hybridnet.base.errors import ParameterError

__all__ = ["Sizes", "check_layout", "sizes_of", "with_defaults"]

Sizes = int | tuple[int, ...] | list[int]

_Layer = TypeVar("_Layer", bound=type)


def sizes_of(value: Sizes, ndim: int, what: str) -> tuple[int, ...]:
    """Returns one number for each axis; a single one stands for all."""
    if isinstance(value, (tuple, list)):
        sizes = tuple(value)
        if len(sizes) == ndim and all(_is_whole(one) for one in sizes):
            return sizes
    elif _is_whole(value):
        return (value,) * ndim
    raise ParameterError(f"{what} must be a whole number or {ndim} of them, got {value!r}")


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def check_layout(layout: str, ndim: int, what: str) -> None:
    """Raises a ParameterError unless channels come first or last."""
    spatial = "DHW"[-ndim:]
    if layout not in (f"NC{spatial}", f"N{spatial}C"):
        raise ParameterError(
            f"{what}: layout must be 'NC{spatial}' or 'N{spatial}C', got {layout!r}"
        )


def with_defaults(**defaults: Any) -> Callable[[_Layer], _Layer]:
    """Decorates a class: it gets its base's constructor with other defaults.

    These are true defaults: `help` and `inspect.signature` show them.
    """

    def decorate(layer: Any) -> Any:
        base = layer.__init__
        code = base.__code__
        optional = code.co_varnames[code.co_argcount - len(base.__defaults__) : code.co_argcount]
        before = dict(zip(optional, base.__defaults__, strict=True))
        values = tuple((before | defaults).values())
        made = FunctionType(code, base.__globals__, base.__name__, values, base.__closure__)
        made.__annotations__ = base.__annotations__
        made.__qualname__ = f"{layer.__qualname__}.__init__"
        layer.__init__ = made
        return layer

    return decorate

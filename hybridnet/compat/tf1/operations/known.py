"""Checks of dtypes and numbers of dimensions: ``tf.assert_rank_at_least``, ``tf.assert_type``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import as_dtype
from ..graph import convert_to_tensor, is_number, known_numbers, no_op
from ..graph.adding import Operation, Tensor, name_scope
from .checks import of_rank

__all__ = [
    "assert_integer", "assert_rank_at_least", "assert_rank_in", "assert_scalar", "assert_type",
    "is_numeric_tensor",
]  # fmt: skip


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether something is a tensor of numbers."""
    return isinstance(tensor, Tensor) and is_number(tensor.dtype.base_dtype)


def assert_rank_at_least(
    x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """Returns the Operation that fails unless a tensor has so many dimensions, or more.

    Raises:
        ValueError: it is known to have fewer.
    """
    least = known_numbers(rank)
    return of_rank(
        "assert_rank_at_least", x, lambda found: found >= least, f"at least {least}", data,
        summarize, message, name,
    )  # fmt: skip


def assert_rank_in(
    x: Any, ranks: Sequence[Any], data: Any = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> Operation:  # fmt: skip
    """Returns the Operation that fails unless a tensor has one of some numbers of dimensions.

    Raises:
        ValueError: it is known to have another.
    """
    allowed = [known_numbers(one) for one in ranks]
    return of_rank(
        "assert_rank_in", x, lambda found: found in allowed, f"in {allowed}", data, summarize,
        message, name,
    )  # fmt: skip


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """Returns a tensor that is known to be one number.

    Raises:
        ValueError: it is not.
    """
    with name_scope(name, "assert_scalar", [tensor]):
        made = convert_to_tensor(tensor)
        if made.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {made.name}, saw {made.shape}"
            )
        return made


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Operation:
    """Returns an Operation that does nothing.

    Raises:
        TypeError: the tensor is not of the dtype.
    """
    wanted = as_dtype(tf_type).base_dtype
    with name_scope(name, "assert_type", [tensor]):
        made = convert_to_tensor(tensor)
        if made.dtype.base_dtype is not wanted:
            raise TypeError(
                f"{message or ''}{made.name} must be of type {wanted}, got {made.dtype}"
            )
        return no_op(name="statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Returns an Operation that does nothing.

    Raises:
        TypeError: the tensor is not of whole numbers.
    """
    with name_scope(name, "assert_integer", [x]):
        made = convert_to_tensor(x)
        if not made.dtype.is_integer:
            raise TypeError(
                f"{message or ''}Expected {made.name} of whole numbers, got {made.dtype}"
            )
        return no_op(name="statically_determined_was_integer")

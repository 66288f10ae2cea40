"""`nd.contrib`: the operators that MXNet keeps apart, ``_contrib_*`` in the registry."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from hybridnet.base.context import Context
from hybridnet.ops.core import Functions as _Functions
from hybridnet.ops.core.registry import public_operators as _public_operators
from hybridnet.ops.random import log_uniform_candidates

from .control_flow import cond, foreach, while_loop
from .functions import array_function as _function
from .fused import (
    adamw_update,
    mp_adamw_update,
    multi_adamw_update,
    multi_lamb_update,
    multi_mp_adamw_update,
    multi_mp_lamb_update,
)
from .ndarray import NDArray
from .random import uniform as _uniform

if TYPE_CHECKING:
    from ._contrib_operators import *  # noqa: F403

_functions = _Functions(
    "nd.contrib", globals(), _public_operators("_contrib_"), _function, "_contrib_"
)

__all__ = [
    "adamw_update",
    "cond",
    "foreach",
    "isfinite",
    "isinf",
    "isnan",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "rand_zipfian",
    "while_loop",
    *_functions,
]


def isfinite(data: NDArray) -> NDArray:
    """Returns 1 where an element is neither infinite nor NaN, else 0, in the dtype of `data`."""
    return (data == data) * (data.abs() != float("inf"))


def isinf(data: NDArray) -> NDArray:
    """Returns 1 where an element is infinite, else 0, in the dtype of `data`."""
    return data.abs() == float("inf")


def isnan(data: NDArray) -> NDArray:
    """Returns 1 where an element is NaN, else 0, in the dtype of `data`."""
    return data != data


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draws classes for a sampled softmax: class k with probability ``log((k + 2) / (k + 1))``.

    Args:
        true_classes: classes that are not drawn, of any shape.
        num_sampled: how many are drawn; the probabilities add up to ``log(range_max + 1)``, by
            which they are divided.
        range_max: how many classes there are; frequent ones have small numbers.
        ctx: where; default that of `true_classes`.

    Returns:
        The classes that were drawn, (num_sampled,) int64, with repetition; how often each of
        `true_classes` is expected among them, float64; and how often each of the drawn ones is.
    """
    where = true_classes.context if ctx is None else ctx
    draw = functools.partial(_uniform, ctx=where)
    classes = true_classes.as_in_context(where)
    return log_uniform_candidates(draw, classes, num_sampled, range_max)


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _functions.attribute(name)

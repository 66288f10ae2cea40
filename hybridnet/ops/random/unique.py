"""Classes drawn without repetition, by Zipf's law: the candidates of a sampled softmax."""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any

import numpy as np

from hybridnet.base.attrs import RandomState, Range, Shape
from hybridnet.base.dtype import FLOAT64, INT64
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jax, jnp, lax

from ..core.registry import operator
from .distributions import DRAWN
from .state import children, next_key, uniforms

__all__: list[str] = []


def _check(*, range_max: int, shape: Shape, **_: Any) -> None:
    if len(shape) != 2:
        raise ShapeError(
            f"_sample_unique_zipfian: shape must be (batch, number of classes), got {shape}"
        )
    if shape[1] > range_max:
        raise ParameterError(
            f"_sample_unique_zipfian: of {range_max} classes no {shape[1]} different ones can be "
            "drawn"
        )


@functools.cache
def _enough_tries(range_max: int, count: int) -> int:
    """Returns a number of draws among which there are `count` different ones, all but surely.

    Classes of about the same probability are counted together, as so many of their mean.
    """
    edges = np.unique(np.geomspace(1, range_max + 1, 4096).astype(np.int64))
    sizes = np.diff(edges)
    chances = np.diff(np.log(edges)) / math.log(range_max + 1) / sizes
    wanted = min(count + 6 * math.sqrt(count), range_max - 0.01)
    tries = max(count, 16)
    while (sizes * -np.expm1(tries * np.log1p(-chances))).sum() < wanted:
        tries *= 2
    return tries


def _first_ones(drawn: Any) -> Any:
    """Returns, for each draw, whether it is the first one of its class."""
    order = jnp.argsort(drawn, stable=True)
    ordered = jnp.take(drawn, order)
    differs = ordered[1:] != ordered[:-1]
    is_first = jnp.concatenate([jnp.ones((1,), np.bool_), differs])
    return at(jnp.zeros(drawn.shape, np.bool_))[order].set(is_first)


def _row(key: Any, range_max: int, count: int) -> tuple[Any, Any]:
    """Draws the classes of one row; returns them, and how many draws that took."""
    tries, span = _enough_tries(range_max, count), math.log(range_max + 1)

    def draw(carry: Any) -> Any:
        key, last = children(carry[0], 2)
        # Rounding may bring the last class to `range_max` itself.
        found = jnp.floor(jnp.exp(uniforms(last, (tries,), FLOAT64) * span)) - 1
        drawn = jnp.minimum(found, range_max - 1).astype(INT64)
        return key, drawn, _first_ones(drawn)

    def lacks(carry: Any) -> Any:
        return jnp.sum(carry[2].astype(INT64)) < count

    _, drawn, first = lax.while_loop(lacks, draw, draw((key,)))
    places = jnp.nonzero(first, size=count)[0]
    total = jnp.searchsorted(jnp.cumsum(first.astype(INT64)), np.int64(count)) + 1
    return jnp.take(drawn, places), jnp.asarray(total).astype(INT64)


def _types(*, shape: Shape, **_: Any) -> tuple[TensorType, TensorType]:
    return tensor_type(shape, INT64), tensor_type(shape[:1], INT64)


@operator("_sample_unique_zipfian", outputs=2, check=_check, infer=_types, no_gradient=DRAWN)
def _sample_unique_zipfian(
    *, range_max: Annotated[int, Range(1)], shape: Shape = (), state: RandomState
) -> Any:
    """Draws different classes, class k with probability ``log((k + 2) / (k + 1))`` at each draw.

    Args:
        range_max: how many classes there are.
        shape: (batch, number of different classes in each row).

    Returns:
        The classes, in the order in which they came, and for each row the number of draws.
    """
    key, state = next_key(state)
    batch, count = shape
    if not batch or not count:
        return jnp.zeros(shape, INT64), jnp.zeros((batch,), INT64), state

    def row(number: Any) -> Any:
        return _row(jax.random.fold_in(key, number), range_max, count)

    classes, tries = lax.map(row, jnp.arange(batch, dtype=np.uint32))
    return classes, tries, state

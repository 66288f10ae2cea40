"""Parts of regions, sampled: how often, and what is done with the pixels around the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hybridnet.ops.host.namespace import at, jnp

from ..core.call import Backward
from ..core.checks import wide
from ..core.registry import get

# Of a part of a region along an axis, on maps that have fewer pixels.
_MAX_SAMPLES: Final = 256
# A part of so many pixels, or of infinitely many, has next to none of its samples on any map.
_ENDLESS_PIXELS: Final = 2.0**20

#: Calls ``visit(state, pixels, weights) -> state`` for the neighbors of all samples, beginning with
#: a state, and returns the last one. Pixels are rows of the feature map as (images * height *
#: width, channels), weights what they count for in their part; both (regions, rows, columns).
Visits = Callable[[Callable[[Any, Any, Any], Any], Any], Any]


def by_transpose(name: str) -> Callable[[Backward], Sequence[Any]]:
    """Returns the rule of an operator of (data, regions), linear in the data.

    Args:
        name: its transpose, an operator of (gradient, regions, data).
    """

    def rule(back: Backward) -> Sequence[Any]:
        call, _ = get(name).bind(back.attrs)
        data, regions = back.inputs
        return [*back.apply(call, [back.grads[0], regions, data]), None]

    return rule


def of_transpose(name: str) -> Callable[[Backward], Sequence[Any]]:
    """Returns the rule of such a transpose.

    Args:
        name: the operator that it is the transpose of.
    """

    def rule(back: Backward) -> Sequence[Any]:
        call, _ = get(name).bind(back.attrs)
        return [*back.apply(call, [back.grads[0], back.inputs[1]]), None, None]

    return rule


def counted(length: Any, count: int, pixels: int, ratio: int) -> Any:
    """Returns how many samples each part of regions has along an axis.

    Args:
        length: of the regions, in pixels of the map.
        count: of parts of a region.
        pixels: of the map.
        ratio: how many samples are wanted; 0 or less for as many as a part has pixels, rounded up.
    """
    if ratio > 0:
        return jnp.full(len(length), ratio, "int32")
    wanted = jnp.maximum(jnp.ceil(length / count), 0)
    # A part much larger than the map is no region of it; NaN is smaller than nothing.
    most = max(2 * pixels, _MAX_SAMPLES)
    limited = jnp.where(wanted < most, wanted, jnp.where(wanted < _ENDLESS_PIXELS, most, 0))
    return limited.astype("int32")


def averages(data: Any, visits: Visits, parts: tuple[int, int, int]) -> Any:
    """Returns the average of the samples in each part: (regions, rows, columns, channels).

    Args:
        data: (batch, channels, height, width).
        visits: of the regions.
        parts: regions, rows and columns.
    """
    dtype, channels = wide(data.dtype), data.shape[1]
    # Channels last, so that a pixel is one run of memory.
    pixels = jnp.moveaxis(data, 1, 3).reshape(-1, channels).astype(dtype)
    return visits(
        lambda total, pixel, weight: (
            total + jnp.take(pixels, pixel, axis=0, mode="clip") * weight[..., None]
        ),
        jnp.zeros((*parts, channels), dtype),
    )


def spread_back(grad: Any, visits: Visits, data: Any) -> Any:
    """Returns the gradient of `averages` by its data.

    Args:
        grad: (regions, rows, columns, channels).
        visits: of the regions.
        data: the shape and dtype of the result.
    """
    batch, channels, height, width = data.shape
    total = visits(
        lambda total, pixel, weight: at(total)[pixel].add(
            grad * weight[..., None], mode="promise_in_bounds"
        ),
        jnp.zeros((batch * height * width, channels), wide(data.dtype)),
    )
    shaped = total.reshape(batch, height, width, channels)
    return jnp.moveaxis(shaped, 3, 1).astype(data.dtype)

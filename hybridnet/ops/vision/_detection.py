"""Shared by detection operators: formats of boxes, overlaps, suppression, greedy matching.

All of it is for one image; `jax.vmap` makes it one for a batch. The loops are over boxes in order
and do whole rows of overlaps at a time, or all of them before; no gradient goes through them.
"""

from __future__ import annotations

from typing import Any, Final

from hybridnet.ops.host.namespace import at, jnp, lax

# Boxes up to which all pairs of them are compared at once: a quarter of a million.
_MAX_BOXES_AT_ONCE: Final = 512


def corners(boxes: Any, format: str) -> Any:
    """Returns boxes (..., 4) of a format as (left, top, right, bottom)."""
    if format == "corner":
        return boxes
    middle, half = boxes[..., :2], boxes[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half], -1)


def as_format(boxes: Any, format: str) -> Any:
    """Returns boxes (..., 4) given as (left, top, right, bottom) in a format."""
    if format == "corner":
        return boxes
    low, high = boxes[..., :2], boxes[..., 2:]
    return jnp.concatenate([(low + high) / 2, high - low], -1)


def _area(boxes: Any) -> Any:
    return _product(boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1])


def _product(width: Any, height: Any) -> Any:
    """Returns a product of sides; 0 where one is negative."""
    return jnp.maximum(width, 0) * jnp.maximum(height, 0)


def overlaps(lhs: Any, rhs: Any) -> Any:
    """Returns intersection over union of boxes (n, 4) and (m, 4), as corners: (n, m).

    Boxes turned inside out have no area, and two of them overlap by 0.
    """
    # Side by side: NumPy goes through an axis of 2 at a tenth of the speed.
    left, top = (jnp.maximum(lhs[:, None, i], rhs[None, :, i]) for i in (0, 1))
    right, bottom = (jnp.minimum(lhs[:, None, i], rhs[None, :, i]) for i in (2, 3))
    both = _product(right - left, bottom - top)
    either = _area(lhs)[:, None] + _area(rhs) - both
    is_some = either > 0  # not so where a box is not a number: MXNet says 0 there, too
    return jnp.where(is_some, both, 0) / jnp.where(is_some, either, 1)


def kept_boxes(
    boxes: Any,
    classes: Any,
    among: Any,
    threshold: float,
    *,
    inclusive: bool = False,
    limit: int | None = None,
) -> Any:
    """Returns which boxes non-maximum suppression keeps, (n,) bool.

    Args:
        boxes: (n, 4), corners, by falling score.
        classes: (n,); boxes suppress those of their own class.
        among: (n,), which boxes there are at all.
        threshold: the overlap above which the later box goes.
        inclusive: whether it goes at the threshold already.
        limit: how many are kept at most, the first ones.
    """
    count = boxes.shape[0]
    positions = jnp.arange(count)

    def suppressed(rows: Any, of: Any, after: Any) -> Any:
        overlap = overlaps(rows, boxes)
        above = overlap >= threshold if inclusive else overlap > threshold
        return above & (positions > after[:, None]) & (classes == of[:, None])

    if count <= _MAX_BOXES_AT_ONCE:
        by_each = suppressed(boxes, classes, positions)
        # The last box there is ends the loop: often a few of some hundred are. In it a box is kept
        # if it was and is not suppressed, which among truth values is ">".
        stop = jnp.max(jnp.where(among, positions + 1, 0), initial=0)
        kept = lax.fori_loop(
            0, stop, lambda index, kept: kept > (by_each[index] & kept[index]), among
        )
        return kept if limit is None else kept & (jnp.cumsum(kept) <= limit)

    def first(kept: Any, after: Any) -> Any:
        """The first box that is kept still behind a position; `count` if there is none."""
        return jnp.min(jnp.where(kept & (positions > after), positions, count), initial=count)

    def goes_on(state: tuple[Any, Any, Any]) -> Any:
        index, number, _ = state
        return (index < count) & (number < (count if limit is None else limit))

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        index, number, kept = state
        row, of = (lax.dynamic_slice_in_dim(x, index, 1) for x in (boxes, classes))
        (gone,) = suppressed(row, of, jnp.reshape(index, 1))
        kept = kept & ~gone
        return first(kept, index), number + 1, kept

    # From one that is kept to the next: of thousands often a few hundred are.
    start = (first(among, -1), jnp.zeros((), positions.dtype), among)
    index, _, kept = lax.while_loop(goes_on, step, start)
    return kept & (positions < index)


def greedy_matching(fit: Any, threshold: float, limit: int) -> tuple[Any, Any]:
    """Matches rows and columns one to one, the best pair that is left first.

    Args:
        fit: (rows, columns), larger is better.
        threshold: pairs must fit better than this.
        limit: how many pairs there are at most.

    Returns:
        The column of each row, and the row of each column, int32, -1 where there is none.
    """
    rows, columns = fit.shape
    lowest = -jnp.inf

    def step(_: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        left, of_row, of_column = state
        best = jnp.argmax(left)
        row, column = best // columns, best % columns
        # A pair that is not taken is written out of bounds, that is nowhere.
        fits = left[row, column] > threshold
        at_row, at_column = jnp.where(fits, row, rows), jnp.where(fits, column, columns)
        left = at(left)[at_row].set(lowest, mode="drop")
        left = at(left)[:, at_column].set(lowest, mode="drop")
        of_row = at(of_row)[at_row].set(column.astype("int32"), mode="drop")
        of_column = at(of_column)[at_column].set(row.astype("int32"), mode="drop")
        return left, of_row, of_column

    none = (jnp.full(rows, -1, "int32"), jnp.full(columns, -1, "int32"))
    _, of_row, of_column = lax.fori_loop(0, limit, step, (fit, *none))
    return of_row, of_column

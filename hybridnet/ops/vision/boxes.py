"""Operators on boxes: their overlap, non-maximum suppression, matching, and offsets from anchors.

A box is four numbers: (left, top, right, bottom) in the format 'corner', (center x, center y,
width, height) in 'center'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from hybridnet.base.attrs import Range
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jax, jnp, lax

from ..core.checks import require_floats, require_one_dtype
from ..core.operator import describe
from ..core.registry import operator
from ._detection import as_format, corners, greedy_matching, kept_boxes, overlaps

Format = Literal["center", "corner"]


def _iou_check(lhs: TensorType, rhs: TensorType, **_: Any) -> None:
    names, types = ("lhs", "rhs"), (lhs, rhs)
    require_floats("box_iou", names, types)
    require_one_dtype("box_iou", names, types)
    if any(type_.shape[-1:] != (4,) for type_ in types):
        raise ShapeError(
            f"box_iou: lhs and rhs must have shape (..., 4), got {describe(names, types)}"
        )


@operator(
    "_contrib_box_iou",
    check=_iou_check,
    infer=lambda lhs, rhs, **_: (
        tensor_type((lhs.shape[:-1] + rhs.shape[:-1]) or (1,), lhs.dtype),
    ),
    no_gradient="it is used to match boxes; MXNet gives it none",
)
def box_iou(lhs: Any, rhs: Any, *, format: Format = "corner") -> Any:
    """The overlap of each box with each other: the area of intersection over that of the union.

    Args:
        lhs: (..., 4), boxes.
        rhs: (..., 4), others.
        format: that of the boxes.

    Returns:
        (*lhs.shape[:-1], *rhs.shape[:-1]), from 0 to 1.
    """
    first, second = (corners(array.reshape(-1, 4), format) for array in (lhs, rhs))
    return overlaps(first, second).reshape((lhs.shape[:-1] + rhs.shape[:-1]) or (1,))


def _nms_check(
    data: TensorType, *, coord_start: int, score_index: int, id_index: int, **_: Any
) -> None:
    require_floats("box_nms", ("data",), (data,))
    width = data.shape[-1] if len(data.shape) >= 2 else 0
    if width < max(coord_start + 4, score_index + 1, id_index + 1) or coord_start < 0:
        raise ShapeError(
            "box_nms: data must have shape (..., boxes, numbers), where the numbers of a box hold "
            f"coordinates from {coord_start} to {coord_start + 3}, the score at {score_index} and "
            f"the class at {id_index} (none if -1), got data {data}"
        )


@operator(
    "_contrib_box_nms",
    aliases=("_contrib_box_non_maximum_suppression",),
    check=_nms_check,
    infer=lambda data, **_: (data,),
)
def box_nms(
    data: Any,
    *,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: Annotated[int, Range(0)] = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Format = "corner",
    out_format: Format = "corner",
) -> Any:
    """Drops boxes that overlap with a box of a higher score: non-maximum suppression.

    Args:
        data: (..., boxes, numbers), floating point; the numbers of a box are named below.
        overlap_thresh: the overlap (see `box_iou`) above which the lesser box is dropped.
        valid_thresh: boxes with this score or less are dropped first.
        topk: how many of the others are looked at, by score; negative for all.
        coord_start: where the four coordinates begin among the numbers of a box.
        score_index: where the score is.
        id_index: where the class is, which alone suppresses its own; -1 for no classes.
        background_id: the class whose boxes are dropped first, where there are classes; default -1.
        force_suppress: boxes suppress those of other classes too.
        in_format: that of the coordinates.
        out_format: that of the result's.

    Returns:
        The shape of `data`: the boxes that are kept, by falling score, and then boxes of -1. The
        gradient of a box goes where it came from (MXNet leaves a change of format out of it).
    """
    if not data.size:
        return data
    boxes = data.reshape(-1, *data.shape[-2:])
    count = boxes.shape[1]
    fixed = lax.stop_gradient(boxes)
    scores = fixed[..., score_index]
    valid = scores > valid_thresh
    classes = fixed[..., id_index] if id_index >= 0 else jnp.zeros_like(scores)
    if id_index >= 0:
        valid &= classes != background_id
    if force_suppress:
        classes = jnp.zeros_like(classes)
    order = jnp.argsort(jnp.where(valid, -scores, jnp.inf), axis=1, stable=True)
    looked_at = min(topk, count) if topk > 0 else count

    def suppress(rows: Any, valid: Any, classes: Any, order: Any) -> Any:
        coordinates = corners(rows[order, coord_start : coord_start + 4], in_format)
        among = valid[order] & (jnp.arange(count) < looked_at)
        return kept_boxes(coordinates, classes[order], among, overlap_thresh)

    kept = jax.vmap(suppress)(fixed, valid, classes, order)
    # The kept ones move up, in order.
    place = jnp.argsort(~kept, axis=1, stable=True)
    source = jnp.take_along_axis(order, place, 1)[..., None]
    found = jnp.take_along_axis(kept, place, 1)[..., None]
    result = jnp.take_along_axis(boxes, source, 1)
    if in_format != out_format:
        stop = coord_start + 4
        changed = as_format(corners(result[..., coord_start:stop], in_format), out_format)
        result = at(result)[..., coord_start:stop].set(changed)
    return jnp.where(found, result, -1).reshape(data.shape).astype(data.dtype)


def _matching_check(data: TensorType, **_: Any) -> None:
    require_floats("bipartite_matching", ("data",), (data,))
    if len(data.shape) < 2:
        raise ShapeError(
            f"bipartite_matching: data must have shape (..., rows, columns), got data {data}"
        )


def _matching_types(data: TensorType, **_: Any) -> Sequence[TensorType]:
    *batch, rows, columns = data.shape
    return (
        tensor_type((*batch, rows), data.dtype),
        tensor_type((*batch, columns), data.dtype),
    )


@operator(
    "_contrib_bipartite_matching",
    outputs=2,
    check=_matching_check,
    infer=_matching_types,
    no_gradient="its result is positions, which are whole numbers",
)
def bipartite_matching(
    data: Any, *, is_ascend: bool = False, threshold: float, topk: int = -1
) -> Any:
    """Matches rows with columns, the best pair first, each at most once.

    Args:
        data: (..., rows, columns), floating point: how well a row and a column fit.
        is_ascend: small numbers fit best.
        threshold: pairs that do not fit better than this are not matched.
        topk: stop after this many matches and one more (as MXNet does); negative for all.

    Returns:
        For each row its column, (..., rows), and for each column its row, (..., columns); -1 for
        one that has none.
    """
    *batch, rows, columns = data.shape
    if not data.size:
        return jnp.full((*batch, rows), -1, data.dtype), jnp.full((*batch, columns), -1, data.dtype)
    signed = (-data if is_ascend else data).reshape(-1, rows, columns)
    limit = min(rows, columns) if topk <= 0 else min(topk + 1, rows, columns)
    of_row, of_column = jax.vmap(
        lambda scores: greedy_matching(scores, -threshold if is_ascend else threshold, limit)
    )(signed)
    return (
        of_row.reshape(*batch, rows).astype(data.dtype),
        of_column.reshape(*batch, columns).astype(data.dtype),
    )


_ENCODED = ("samples", "matches", "anchors", "refs", "means", "stds")


def _encode_check(*types: TensorType) -> None:
    samples, matches, anchors, refs, means, stds = types
    require_floats("box_encode", ("anchors",), (anchors,))
    shape = (*samples.shape, 4)
    fits = (
        len(samples.shape) == 2
        and matches.shape == samples.shape
        and anchors.shape == shape
        and refs.shape[:1] == samples.shape[:1]
        and refs.shape[2:] == (4,)
        and means.shape == stds.shape == (4,)
    )
    if not fits:
        raise ShapeError(
            "box_encode: requires samples and matches (batch, n), anchors (batch, n, 4), refs "
            f"(batch, m, 4), means and stds (4,), got {describe(_ENCODED, types)}"
        )


@operator(
    "_contrib_box_encode",
    outputs=2,
    check=_encode_check,
    infer=lambda samples, matches, anchors, *_: (anchors, anchors),
    no_gradient="its result is a target; MXNet gives it none",
)
def box_encode(samples: Any, matches: Any, anchors: Any, refs: Any, means: Any, stds: Any) -> Any:
    """The offsets and scales by which anchors become their boxes: targets for a regression.

    Ren et al., "Faster R-CNN", 2015: differences of the centers in widths and heights of the
    anchor, and logarithms of the ratios of the sizes; less `means`, divided by `stds`.

    Args:
        samples: (batch, n), 1 for anchors that have a box, -1 or 0 for others.
        matches: (batch, n), which box that is.
        anchors: (batch, n, 4), in the format 'corner', like `refs`.
        refs: (batch, m, 4), the boxes.
        means: (4,), for center x, center y, width, height.
        stds: (4,), likewise.

    Returns:
        The targets, (batch, n, 4), 0 for anchors without a box; and 1 and 0 for those with and
        without one, in the same shape.
    """
    position = matches.astype("int32")[..., None]
    boxes = as_format(jnp.take_along_axis(refs, position, 1, mode="clip"), "center")
    fixed = as_format(anchors, "center")
    moved = (boxes[..., :2] - fixed[..., :2]) / fixed[..., 2:]
    stretched = jnp.log(boxes[..., 2:] / fixed[..., 2:])
    target = (jnp.concatenate([moved, stretched], -1) - means) / stds
    has_box = jnp.broadcast_to((samples > 0.5)[..., None], anchors.shape)
    return (
        jnp.where(has_box, target, 0).astype(anchors.dtype),
        has_box.astype(anchors.dtype),
    )


def _decode_check(data: TensorType, anchors: TensorType, **_: Any) -> None:
    names = ("data", "anchors")
    require_floats("box_decode", names, (data, anchors))
    require_one_dtype("box_decode", names, (data, anchors))
    fits = len(data.shape) == 3 and data.shape[2] == 4 and anchors.shape == (1, *data.shape[1:])
    if not fits:
        raise ShapeError(
            "box_decode: requires data (batch, n, 4) and anchors (1, n, 4), got "
            f"{describe(names, (data, anchors))}"
        )


@operator(
    "_contrib_box_decode",
    check=_decode_check,
    infer=lambda data, *_, **__: (data,),
    no_gradient="it makes results of predictions; MXNet gives it none",
)
def box_decode(
    data: Any,
    anchors: Any,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Format = "center",
) -> Any:
    """Moves and stretches anchors as predicted: the way back from `box_encode`.

    Args:
        data: (batch, n, 4), the predictions.
        anchors: (1, n, 4).
        std0: what the prediction of the center's x is multiplied by.
        std1: of the center's y.
        std2: of the width.
        std3: of the height.
        clip: the most that the logarithm of a stretch may be; negative for no limit.
        format: that of the anchors.

    Returns:
        (batch, n, 4), boxes in the format 'corner'.
    """
    centers = anchors if format == "center" else as_format(anchors, "center")
    scaled = data * jnp.asarray([std0, std1, std2, std3], data.dtype)
    stretch = scaled[..., 2:]
    if clip > 0:
        stretch = jnp.minimum(stretch, clip)
    middle = scaled[..., :2] * centers[..., 2:] + centers[..., :2]
    half = jnp.exp(stretch) * centers[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half], -1)

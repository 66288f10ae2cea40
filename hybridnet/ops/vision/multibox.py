"""Single-shot detection: anchor boxes, what they are to predict, and what they did predict.

Liu et al., "SSD: single shot multibox detector", 2016. Boxes are (left, top, right, bottom) in
parts of the image's width and height.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from hybridnet.base.attrs import Floats, Range
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jax, jnp, lax

from ..core.checks import require_floats, require_one_dtype
from ..core.operator import describe
from ..core.registry import operator
from ._detection import as_format, corners, greedy_matching, kept_boxes, overlaps

_VARIANCES = (0.1, 0.1, 0.2, 0.2)
_TARGET_INPUTS = ("anchor", "label", "cls_pred")
_DETECTION_INPUTS = ("cls_prob", "loc_pred", "anchor")


def _check_variances(op: str, variances: tuple[float, ...]) -> None:
    if len(variances) != 4:
        raise ParameterError(f"{op}: variances must be 4 numbers, got {variances}")


# MultiBoxPrior ----------------------------------------------------------------------------------


def _prior_check(data: TensorType, **params: Any) -> None:
    require_floats("MultiBoxPrior", ("data",), (data,))
    if len(data.shape) != 4:
        raise ShapeError(
            f"MultiBoxPrior: data must have shape (batch, channels, height, width), got data {data}"
        )
    for name in ("steps", "offsets"):
        if len(params[name]) != 2:
            raise ParameterError(
                f"MultiBoxPrior: {name} must be 2 numbers, for y and x, got {params[name]}"
            )
    for name in ("sizes", "ratios"):
        if not params[name] or min(params[name]) <= 0:
            raise ParameterError(
                f"MultiBoxPrior: {name} must be numbers above 0, at least one, got {params[name]}"
            )


def _prior_type(
    data: TensorType, *, sizes: tuple[float, ...], ratios: tuple[float, ...], **_: Any
) -> tuple[TensorType, ...]:
    height, width = data.shape[2:]
    return (tensor_type((1, height * width * (len(sizes) + len(ratios) - 1), 4), data.dtype),)


@operator(
    "_contrib_MultiBoxPrior",
    check=_prior_check,
    infer=_prior_type,
    no_gradient="its result does not depend on the values of its input",
)
def multibox_prior(
    data: Any,
    *,
    sizes: Floats = (1.0,),
    ratios: Floats = (1.0,),
    clip: bool = False,
    steps: Floats = (-1.0, -1.0),
    offsets: Floats = (0.5, 0.5),
) -> Any:
    """Anchor boxes around each pixel of a feature map.

    Args:
        data: (batch, channels, height, width), the feature map; its values do not matter.
        sizes: heights of the boxes, as parts of the image's; all with the first of `ratios`.
        ratios: widths over heights; all but the first with the first of `sizes`.
        clip: cut the boxes off at the borders of the image.
        steps: the distance of two pixels, (y, x), as parts of the image; negative: those by which
            the map fills the image.
        offsets: where in its step a pixel has its center, (y, x).

    Returns:
        (1, height * width * (len(sizes) + len(ratios) - 1), 4).
    """
    height, width = data.shape[2:]
    step_y, step_x = (
        step if step > 0 else 1 / max(count, 1)
        for step, count in zip(steps, (height, width), strict=True)
    )
    shapes = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
    half = np.array([(s * height / max(width, 1) * r**0.5, s / r**0.5) for s, r in shapes]) / 2
    y, x = np.meshgrid(
        (np.arange(height) + offsets[0]) * step_y,
        (np.arange(width) + offsets[1]) * step_x,
        indexing="ij",
    )
    center = np.stack([x, y], -1)[:, :, None]
    boxes = np.concatenate([center - half, center + half], -1).reshape(1, -1, 4)
    return jnp.asarray(np.clip(boxes, 0, 1) if clip else boxes, data.dtype)


# MultiBoxTarget ---------------------------------------------------------------------------------


def _target_check(*types: TensorType, variances: tuple[float, ...], **_: Any) -> None:
    anchor, label, cls_pred = types
    require_floats("MultiBoxTarget", _TARGET_INPUTS, types)
    require_one_dtype("MultiBoxTarget", _TARGET_INPUTS, types)
    _check_variances("MultiBoxTarget", variances)
    fits = (
        len(anchor.shape) == len(label.shape) == len(cls_pred.shape) == 3
        and anchor.shape[0] == 1
        and anchor.shape[2] == 4
        and label.shape[2] >= 5
        and cls_pred.shape[0] == label.shape[0]
        and cls_pred.shape[2] == anchor.shape[1]
    )
    if not fits:
        raise ShapeError(
            "MultiBoxTarget: requires anchor (1, n, 4), label (batch, boxes, 5 or more) and "
            f"cls_pred (batch, classes, n), got {describe(_TARGET_INPUTS, types)}"
        )


def _target_types(
    anchor: TensorType, label: TensorType, *_: TensorType, **__: Any
) -> Sequence[TensorType]:
    batch, count = label.shape[0], anchor.shape[1]
    places = tensor_type((batch, count * 4), anchor.dtype)
    return places, places, tensor_type((batch, count), anchor.dtype)


def _offsets(anchors: Any, boxes: Any, variances: tuple[float, ...]) -> Any:
    """The offsets and scales by which anchors (n, 4) become boxes, over the variances."""
    fixed, wanted = as_format(anchors, "center"), as_format(boxes, "center")
    moved = (wanted[:, :2] - fixed[:, :2]) / fixed[:, 2:]
    stretched = jnp.log(wanted[:, 2:] / fixed[:, 2:])
    return jnp.concatenate([moved, stretched], -1) / jnp.asarray(variances, anchors.dtype)


def _hard_negatives(scores: Any, candidate: Any, positives: Any, ratio: float, minimum: int) -> Any:
    """Returns which anchors stand for the background: those that look least like it.

    Args:
        scores: (classes, n), the predictions; class 0 is the background.
        candidate: (n,), which anchors may be chosen.
        positives: how many anchors have a box.
        ratio: how many are chosen for each of these.
        minimum: how many are chosen at least.
    """
    count = candidate.shape[0]
    background = jax.nn.softmax(scores, axis=0)[0]
    wanted = jnp.maximum((positives * ratio).astype("int32"), minimum)
    wanted = jnp.minimum(wanted, count - positives)
    order = jnp.argsort(jnp.where(candidate, background, jnp.inf), stable=True)
    rank = at(jnp.zeros(count, "int32"))[order].set(jnp.arange(count, dtype="int32"))
    return candidate & (rank < wanted)


def _one_target(
    anchors: Any,
    label: Any,
    scores: Any,
    *,
    overlap_threshold: float,
    ignore_label: float,
    negative_mining_ratio: float,
    negative_mining_thresh: float,
    minimum_negative_samples: int,
    variances: tuple[float, ...],
) -> tuple[Any, Any, Any]:
    """The targets of one image: where its anchors are to go, whether they are, and their class."""
    # A class of -1 ends the list of boxes.
    present = jnp.cumprod(label[:, 0] != -1).astype(bool)
    overlap = jnp.where(present, overlaps(anchors, label[:, 1:5]), -1)
    # Each box has the anchor that fits best; then anchors that fit well have a box, too.
    first, _ = greedy_matching(overlap, 1e-6, min(overlap.shape))
    best, fit = jnp.argmax(overlap, 1), jnp.max(overlap, 1)
    positive = first >= 0
    match = jnp.where(positive, first, best)
    if overlap_threshold > 0:
        positive |= fit > overlap_threshold
    if negative_mining_ratio > 0:
        negative = _hard_negatives(
            scores,
            ~positive & (fit < negative_mining_thresh),
            positive.sum(),
            negative_mining_ratio,
            minimum_negative_samples,
        )
    else:
        negative = ~positive
    negative &= present.any()  # an image without boxes is ignored altogether
    boxes = label[match]
    places = jnp.where(positive[:, None], _offsets(anchors, boxes[:, 1:5], variances), 0)
    ignored = jnp.asarray(ignore_label, anchors.dtype)  # else two numbers would be a float64
    classes = jnp.where(positive, boxes[:, 0] + 1, jnp.where(negative, 0, ignored))
    mask = jnp.broadcast_to(positive[:, None], places.shape)
    return places.reshape(-1), mask.reshape(-1).astype(places.dtype), classes


@operator(
    "_contrib_MultiBoxTarget",
    outputs=3,
    check=_target_check,
    infer=_target_types,
    no_gradient="its results are targets",
    output_names=("loc_target", "loc_mask", "cls_target"),
)
def multibox_target(
    anchor: Any,
    label: Any,
    cls_pred: Any,
    *,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: Annotated[int, Range(0)] = 0,
    variances: Floats = _VARIANCES,
) -> Any:
    """The targets that anchors are to predict, given the boxes in the images.

    Each box is matched with the anchor that overlaps it most, the best pair first; then each
    anchor that overlaps a box by more than `overlap_threshold` with the one it overlaps most.

    Args:
        anchor: (1, n, 4).
        label: (batch, boxes, 5 or more): class, left, top, right, bottom; a class of -1 ends the
            list of an image.
        cls_pred: (batch, classes, n), the scores, of which class 0 is the background.
        overlap_threshold: see above; 0 or less for the first rule alone.
        ignore_label: the class of anchors that are to predict nothing in particular.
        negative_mining_ratio: how many anchors stand for the background for each one that has a
            box: those that look least like it. Negative: all that have no box.
        negative_mining_thresh: anchors that overlap a box by this much do not stand for the
            background, where `negative_mining_ratio` chooses them.
        minimum_negative_samples: how many do at least, likewise (MXNet 1.9.1 disregards it).
        variances: what the four offsets are divided by.

    Returns:
        Offsets for the anchors, (batch, n * 4), and 1 where they count, else 0, in the same shape;
        and classes, (batch, n), 0 being the background.
    """
    options: dict[str, Any] = {
        "overlap_threshold": overlap_threshold,
        "ignore_label": ignore_label,
        "negative_mining_ratio": negative_mining_ratio,
        "negative_mining_thresh": negative_mining_thresh,
        "minimum_negative_samples": minimum_negative_samples,
        "variances": variances,
    }
    batch, count = label.shape[0], anchor.shape[1]
    if 0 in (batch, label.shape[1], count):
        empty = jnp.zeros((batch, count * 4), anchor.dtype)
        return empty, empty, jnp.full((batch, count), ignore_label, anchor.dtype)
    return jax.vmap(lambda boxes, scores: _one_target(anchor[0], boxes, scores, **options))(
        label, cls_pred
    )


# MultiBoxDetection ------------------------------------------------------------------------------


def _detection_check(*types: TensorType, variances: tuple[float, ...], **_: Any) -> None:
    cls_prob, loc_pred, anchor = types
    require_floats("MultiBoxDetection", _DETECTION_INPUTS, types)
    require_one_dtype("MultiBoxDetection", _DETECTION_INPUTS, types)
    _check_variances("MultiBoxDetection", variances)
    fits = (
        len(cls_prob.shape) == 3
        and anchor.shape == (1, cls_prob.shape[2], 4)
        and loc_pred.shape == (cls_prob.shape[0], cls_prob.shape[2] * 4)
    )
    if not fits:
        raise ShapeError(
            "MultiBoxDetection: requires cls_prob (batch, classes, n), loc_pred (batch, n * 4) and "
            f"anchor (1, n, 4), got {describe(_DETECTION_INPUTS, types)}"
        )


def _detection_type(cls_prob: TensorType, *_: TensorType, **__: Any) -> tuple[TensorType, ...]:
    return (tensor_type((cls_prob.shape[0], cls_prob.shape[2], 6), cls_prob.dtype),)


def _predicted_boxes(anchors: Any, moves: Any, variances: tuple[float, ...], clip: bool) -> Any:
    """Anchors (n, 4), moved and stretched as predicted."""
    scaled = moves * jnp.asarray(variances, moves.dtype)
    fixed = as_format(anchors, "center")
    middle = scaled[:, :2] * fixed[:, 2:] + fixed[:, :2]
    size = jnp.exp(scaled[:, 2:]) * fixed[:, 2:]
    boxes = corners(jnp.concatenate([middle, size], -1), "center")
    return jnp.clip(boxes, 0, 1) if clip else boxes


@operator(
    "_contrib_MultiBoxDetection",
    check=_detection_check,
    infer=_detection_type,
    no_gradient="its result is what is shown to people; train on the predictions themselves",
)
def multibox_detection(
    cls_prob: Any,
    loc_pred: Any,
    anchor: Any,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Floats = _VARIANCES,
    nms_topk: int = -1,
) -> Any:
    """The boxes that anchors predict, without those that are one thing seen twice.

    Args:
        cls_prob: (batch, classes, n), the probability of each class.
        loc_pred: (batch, n * 4), how each anchor is moved and stretched.
        anchor: (1, n, 4).
        clip: cut the boxes off at the borders of the image.
        threshold: boxes of a lower probability are dropped.
        background_id: without meaning: class 0 is the background, as in MXNet.
        nms_threshold: the overlap from which the less probable of two boxes is dropped; outside
            of (0, 1] none is, and they stay in the order of the anchors.
        force_suppress: boxes of other classes are dropped too.
        variances: what the four predictions are multiplied by.
        nms_topk: how many boxes, the most probable ones, are kept at most; negative for all.

    Returns:
        (batch, n, 6): class (0 being the first after the background), probability, left, top,
        right, bottom, by falling probability. The class is -1 where a box was dropped as an
        overlapping one, and everything is where there is none.
    """
    count = anchor.shape[1]

    suppresses = 0 < nms_threshold <= 1

    def detect(scores: Any, moves: Any) -> Any:
        boxes = _predicted_boxes(anchor[0], moves.reshape(-1, 4), variances, clip)
        classes, best = jnp.argmax(scores[1:], 0), jnp.max(scores[1:], 0)
        valid = best >= threshold
        order = jnp.argsort(~valid, stable=True)
        kept = valid[order]
        if suppresses:
            # The rows past the first `nms_topk` stay as they were, but for their class.
            looked_at = jnp.arange(count) < (nms_topk if nms_topk > 0 else count)
            by_score = jnp.argsort(jnp.where(valid, -best, jnp.inf), stable=True)
            order = jnp.where(looked_at, by_score, order)
            groups = jnp.zeros_like(classes) if force_suppress else classes
            kept = kept_boxes(
                boxes[order], groups[order], kept & looked_at, nms_threshold, inclusive=True
            )
        shown = jnp.where(kept, classes[order], -1).astype(scores.dtype)
        rows = jnp.concatenate([shown[:, None], best[order, None], boxes[order]], 1)
        return jnp.where(valid.sum() > jnp.arange(count)[:, None], rows, -1)

    if cls_prob.shape[1] < 2 or not cls_prob.size:
        return jnp.full((cls_prob.shape[0], count, 6), -1, cls_prob.dtype)
    fixed = lax.stop_gradient((cls_prob, loc_pred))
    return jax.vmap(detect)(*fixed)

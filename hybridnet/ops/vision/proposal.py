"""Region proposals: the boxes around things that a network's first look suggests.

Ren et al., "Faster R-CNN", 2015. Boxes are (left, top, right, bottom) in pixels of the image, the
last pixel included, so that their width is ``right - left + 1``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import numpy as np

from hybridnet.base.attrs import Floats, Platform, Range
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import NoHostForm, jax, jnp, lax

from ..core.checks import require_floats, require_one_dtype
from ..core.operator import describe
from ..core.registry import operator
from ._detection import kept_boxes

_INPUTS = ("cls_prob", "bbox_pred", "im_info")
Positive = Annotated[int, Range(1)]
# Probabilities up to which NumPy is sooner through the loop than XLA has compiled it.
_FEW_BOXES: Final = 1 << 11


def _check(name: str, types: Sequence[TensorType], params: dict[str, Any]) -> None:
    require_floats(name, _INPUTS, types)
    require_one_dtype(name, _INPUTS, types)
    if not params["scales"] or not params["ratios"]:
        raise ParameterError(
            f"{name}: scales and ratios must have at least one number each, got scales="
            f"{params['scales']}, ratios={params['ratios']}"
        )
    anchors = len(params["scales"]) * len(params["ratios"])
    cls_prob, bbox_pred, im_info = types
    batch, *size = (cls_prob.shape[0], *cls_prob.shape[2:]) if cls_prob.shape else (0,)
    fits = (
        len(cls_prob.shape) == 4
        and cls_prob.shape[1] == 2 * anchors
        and bbox_pred.shape == (batch, 4 * anchors, *size)
        and im_info.shape == (batch, 3)
    )
    if not fits or 0 in cls_prob.shape:
        raise ShapeError(
            f"{name}: requires cls_prob (batch, {2 * anchors}, height, width), bbox_pred (batch, "
            f"{4 * anchors}, height, width) and im_info (batch, 3) for {anchors} anchors, got "
            f"{describe(_INPUTS, types)}"
        )
    if name == "Proposal" and batch != 1:
        raise ShapeError(
            f"Proposal: the batch must be of one image, got cls_prob {cls_prob}; use MultiProposal"
        )


def _types(
    cls_prob: TensorType, *_: TensorType, rpn_post_nms_top_n: int, output_score: bool, **__: Any
) -> Sequence[TensorType]:
    rows = cls_prob.shape[0] * rpn_post_nms_top_n
    shown = (tensor_type((rows, 5), cls_prob.dtype), tensor_type((rows, 1), cls_prob.dtype))
    return shown if output_score else shown[:1]


def _anchors(stride: int, ratios: Sequence[float], scales: Sequence[float]) -> Any:
    """Anchors of the first pixel, (ratios * scales, 4), rounded as in the authors' code."""
    center = 0.5 * (stride - 1)
    boxes = []
    for ratio in ratios:
        width = np.floor(np.sqrt(np.floor(stride * stride / ratio)) + 0.5)
        height = np.floor(width * ratio + 0.5)
        for scale in scales:
            half = 0.5 * (width * scale - 1), 0.5 * (height * scale - 1)
            boxes.append([center - half[0], center - half[1], center + half[0], center + half[1]])
    return np.array(boxes)


def _grid(height: int, width: int, stride: int, anchors: Any) -> Any:
    """The anchors of all pixels, (height * width * anchors, 4)."""
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    shifts = np.stack([x, y, x, y], -1)[:, :, None] * stride
    return (anchors + shifts).reshape(-1, 4)


def _moved(anchors: Any, moves: Any, iou_loss: bool) -> Any:
    """Anchors (n, 4) as predicted: by sides with `iou_loss`, else by center and size.

    In float64, rounded once: the same boxes come of the same moves in whatever program.
    """
    exact = moves.astype(np.float64)
    if iou_loss:
        return (anchors + exact).astype(moves.dtype)
    size = anchors[:, 2:] - anchors[:, :2] + 1
    center = exact[:, :2] * size + anchors[:, :2] + 0.5 * (size - 1)
    half = 0.5 * (jnp.exp(exact[:, 2:]) * size - 1)
    return jnp.concatenate([center - half, center + half], 1).astype(moves.dtype)


def _looked_at(
    scores: Any,
    moves: Any,
    info: Any,
    *,
    rpn_min_size: int,
    scales: tuple[float, ...],
    ratios: tuple[float, ...],
    feature_stride: int,
    iou_loss: bool,
) -> tuple[Any, Any]:
    """All boxes of one image, (n, 4), and their scores, which are -1 of those that come last.

    Args:
        scores: (anchors, height, width), of there being a thing.
        moves: (4 * anchors, height, width).
        info: (3,), height, width and scale of the image.
        rpn_min_size: parameters of the operator, like what follows.
    """
    count, height, width = scores.shape
    dtype = scores.dtype
    base = _anchors(feature_stride, ratios, scales)
    anchors = _grid(height, width, feature_stride, base)
    moves = jnp.transpose(moves.reshape(count, 4, height, width), (2, 3, 0, 1)).reshape(-1, 4)
    limits = jnp.stack([info[1], info[0], info[1], info[0]]) - 1
    boxes = jnp.maximum(jnp.minimum(_moved(anchors, moves, iou_loss), limits), 0)
    # Pixels of the feature map past the image, which is padding, and boxes too small, come last.
    row = jnp.arange(height, dtype=dtype)[:, None, None]
    column = jnp.arange(width, dtype=dtype)[:, None]
    real = jnp.floor(info[:2] / feature_stride)
    there = jnp.broadcast_to((row < real[0]) & (column < real[1]), (height, width, count))
    least = rpn_min_size * info[2]
    small = (boxes[:, 2:] - boxes[:, :2] + 1 < least).any(1)
    grown = jnp.stack([-least, -least, least, least]) / 2
    boxes = jnp.where(small[:, None], boxes + grown, boxes)
    score = jnp.where(there.reshape(-1) & ~small, jnp.moveaxis(scores, 0, 2).reshape(-1), -1)
    return boxes, score


def _chosen(
    boxes: Any,
    score: Any,
    *,
    rpn_pre_nms_top_n: int,
    rpn_post_nms_top_n: int,
    threshold: float,
) -> tuple[Any, Any]:
    """The best boxes that overlap little, (rpn_post_nms_top_n, 4), and their scores."""
    order = jnp.argsort(-score, stable=True)[: rpn_pre_nms_top_n if rpn_pre_nms_top_n > 0 else None]
    boxes, score = boxes[order], score[order]
    among = jnp.ones(len(order), bool)
    # With the last pixels included, as all sizes here.
    ends = boxes + jnp.asarray([0, 0, 1, 1], boxes.dtype)
    kept = kept_boxes(ends, jnp.zeros(len(order)), among, threshold, limit=rpn_post_nms_top_n)
    first = jnp.argsort(~kept, stable=True)
    # Where there are fewer, they begin anew.
    chosen = first[jnp.arange(rpn_post_nms_top_n) % jnp.minimum(kept.sum(), rpn_post_nms_top_n)]
    return boxes[chosen], score[chosen]


_DOC = """Proposes regions: anchors moved as predicted, the best ones that overlap little.

{batch}

Args:
    cls_prob: (batch, 2 * anchors, height, width), for each anchor the probability that there is
        nothing, and after these that there is something.
    bbox_pred: (batch, 4 * anchors, height, width), how each anchor is moved and stretched.
    im_info: (batch, 3), height, width and scale of each image.
    rpn_pre_nms_top_n: how many boxes, by probability, are looked at; 0 or less for all.
    rpn_post_nms_top_n: how many are returned; where there are fewer, they are repeated.
    threshold: the overlap above which the less probable of two is dropped.
    rpn_min_size: smaller boxes, in pixels of the unscaled image, come last.
    scales: sizes of the anchors, in feature strides.
    ratios: heights of the anchors over their widths.
    feature_stride: how many pixels of the image one of the feature map is.
    output_score: return the probabilities as well.
    iou_loss: `bbox_pred` is by how many pixels each side is moved.

Returns:
    (batch * rpn_post_nms_top_n, 5): image, left, top, right, bottom; with `output_score` also the
    probabilities, (batch * rpn_post_nms_top_n, 1).
"""


def _pairs(probabilities: TensorType, params: Mapping[str, Any]) -> int:
    """Returns how many pairs of boxes of an image are compared, at most."""
    boxes = probabilities.size // (2 * probabilities.shape[0])
    top: int = params["rpn_pre_nms_top_n"]
    looked_at = min(top, boxes) if top > 0 else boxes
    kept: int = min(looked_at, params["rpn_post_nms_top_n"])
    return looked_at * kept


def _register(name: str, batch: str) -> None:
    """Registers the operator for one image, or for several."""

    @operator(
        f"_contrib_{name}",
        outputs=lambda *, output_score, **_: 2 if output_score else 1,
        check=lambda *types, **params: _check(name, types, params),
        infer=_types,
        no_gradient="its boxes are chosen; MXNet gives it none",
        # Each box that is kept is compared with all others: some ten operations a pair.
        cost=lambda data, *_, **params: 10.0 * data.shape[0] * _pairs(data, params),
        output_names=("output", "score"),
        doc=_DOC.format(batch=batch),
    )
    def proposal(
        cls_prob: Any,
        bbox_pred: Any,
        im_info: Any,
        *,
        rpn_pre_nms_top_n: int = 6000,
        rpn_post_nms_top_n: Positive = 300,
        threshold: float = 0.7,
        rpn_min_size: int = 16,
        scales: Floats = (4.0, 8.0, 16.0, 32.0),
        ratios: Floats = (0.5, 1.0, 2.0),
        feature_stride: Positive = 16,
        output_score: bool = False,
        iou_loss: bool = False,
        platform: Platform = "cpu",
    ) -> Any:
        if platform == "host" and cls_prob.size > _FEW_BOXES:
            raise NoHostForm("a loop over many boxes")
        # The boxes of all images at once, so that an image has the same ones beside any others.
        given = (cls_prob[:, cls_prob.shape[1] // 2 :], bbox_pred, im_info)
        found = jax.vmap(
            lambda *image: _looked_at(
                *image,
                rpn_min_size=rpn_min_size,
                scales=scales,
                ratios=ratios,
                feature_stride=feature_stride,
                iou_loss=iou_loss,
            )
        )(*given)

        def choose(image: tuple[Any, Any]) -> tuple[Any, Any]:
            return _chosen(
                *image,
                rpn_pre_nms_top_n=rpn_pre_nms_top_n,
                rpn_post_nms_top_n=rpn_post_nms_top_n,
                threshold=threshold,
            )

        if platform in ("cpu", "host"):  # images take turns: none waits for the one with most boxes
            boxes, scores = lax.map(choose, lax.optimization_barrier(found))
        else:
            boxes, scores = jax.vmap(lambda *image: choose(image))(*found)
        images = jnp.arange(len(boxes), dtype=boxes.dtype)[:, None, None]
        images = jnp.broadcast_to(images, (*boxes.shape[:2], 1))
        rows = jnp.concatenate([images, boxes], 2).reshape(-1, 5)
        return (rows, scores.reshape(-1, 1)) if output_score else rows


_register("Proposal", "For one image; `MultiProposal` is for several.")
_register("MultiProposal", "`Proposal` for a batch of images.")

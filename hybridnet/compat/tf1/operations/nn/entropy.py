"""Cross entropies: ``tf.nn.softmax_cross_entropy_with_logits`` and its kin."""

from __future__ import annotations

from typing import Any

from ...graph import (
    EdgeHandle,
    Tensor,
    TensorShape,
    as_floats,
    axis_of,
    fused,
    handle,
    name_scope,
    require_kind,
)
from ...graph.values import convert_to_tensor, require_same, stop_gradient
from ..elementwise import cast

__all__ = [
    "sigmoid_cross_entropy_with_logits", "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2", "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]  # fmt: skip


def _require_both(labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")


def _are_alike(logits: TensorShape, labels: TensorShape) -> bool:
    """Whether two shapes may be the same; or cannot be made so, as the classes differ.

    As TensorFlow works on matrices, the axes before that of the classes need not agree.
    """
    ranked = logits.ndims and labels.ndims
    return (
        not ranked
        or logits.is_compatible_with(labels)
        or (not logits[-1:].is_compatible_with(labels[-1:]))
    )


def _softmax_entropy(labels: Any, logits: Any, axis: Any, scope: str, name: Any) -> Tensor:
    _require_both(labels, logits)
    with name_scope(name, scope, [logits, labels]):
        kind = "SoftmaxCrossEntropyWithLogits"
        x = as_floats(kind, logits, "logits")
        y = cast(convert_to_tensor(labels, name="labels"), x.dtype.base_dtype)
        number = axis_of(kind, axis, x.shape.ndims)
        alike = number != -1 or _are_alike(x.shape, y.shape)

        def entropy(*pair: EdgeHandle) -> EdgeHandle:
            move = {"source": number, "destination": -1}
            last = pair if number == -1 else [handle("_np_moveaxis", one, **move) for one in pair]
            if not alike:
                last = [last[0], handle("reshape_like", last[1], last[0])]
            return handle("_softmax_entropy", *last)

        # TensorFlow works on a matrix: the last of its operations is the third reshape.
        shape = None if alike else x.shape[:-1]
        return fused("Reshape", entropy, [x, y], name="Reshape_2", shape=shape)


def softmax_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Returns the cross entropy of distributions and the softmax of logits, row by row.

    Args:
        labels: distributions along `axis`, through which no gradient goes.
        logits: of the same shape, or of other axes before that of the classes, the last, and as
            many elements; the result has their axes.
        dim: the older name of `axis`.
        axis: that of the classes; default the last.
    """
    scope = "softmax_cross_entropy_with_logits_sg"
    with name_scope(name, scope, [logits, labels]) as own:
        still = stop_gradient(labels, name="labels_stop_gradient") if labels is not None else None
        return _softmax_entropy(still, logits, dim if axis is None else axis, own, own)


def softmax_cross_entropy_with_logits_v2(
    labels: Any,
    logits: Any,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """As `softmax_cross_entropy_with_logits`, but gradients go through `labels`, too."""
    number = axis if axis is not None else -1 if dim is None else dim
    return _softmax_entropy(labels, logits, number, "softmax_cross_entropy_with_logits", name)


def sparse_softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Returns minus the logarithm of the softmax of logits at the label, row by row.

    Args:
        labels: (...) whole numbers from 0 to, not including, the classes.
        logits: (..., classes).

    Raises:
        ValueError: the shapes do not fit.
    """
    kind = "SparseSoftmaxCrossEntropyWithLogits"
    _require_both(labels, logits)
    with name_scope(name, kind, [labels, logits]):
        rows, places = as_floats(kind, logits, "logits"), convert_to_tensor(labels)
        own, wanted = places.shape.ndims, rows.shape.ndims
        if own is not None and wanted is not None and own != wanted - 1:
            raise ValueError(
                f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels shape "
                f"{places.shape} and logits shape {rows.shape}"
            )
        require_kind(kind, "labels", places, lambda dtype: dtype.is_integer)
        if wanted is not None:
            places.shape.assert_is_compatible_with(rows.shape[:-1])

        def entropy(x: EdgeHandle, places: EdgeHandle) -> EdgeHandle:
            return -x.log_softmax(axis=-1).pick(places, axis=-1)

        return fused(kind, entropy, [rows, places], name=kind, shape=places.shape)


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Returns the cross entropy of probabilities and the sigmoid of logits, element by element.

    Args:
        labels: probabilities, of the shape of `logits`.
        logits: floating point.

    Raises:
        ValueError: the shapes differ.
    """

    def entropy(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
        return handle("Activation", x, act_type="softrelu") - x * y

    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        pair = _of_one_shape(logits, labels)
        return fused("AddV2", entropy, pair, name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """As `sigmoid_cross_entropy_with_logits`; positive examples count `pos_weight` times.

    Args:
        labels: probabilities, of the shape of `logits`.
        logits: floating point.
        pos_weight: what a positive example counts.
        targets: the older name of `labels`.
    """
    known = targets if labels is None else labels

    def entropy(x: EdgeHandle, y: EdgeHandle, weight: EdgeHandle) -> EdgeHandle:
        factor = y * (weight - 1.0) + 1.0
        return (1.0 - y) * x + factor * ((-x.abs()).exp().log1p() + (-x).relu())

    with name_scope(name, "logistic_loss", [logits, known]) as scope:
        x, y = _of_one_shape(logits, known)
        weight = convert_to_tensor(pos_weight, x.dtype.base_dtype)
        return fused("AddV2", entropy, [x, y, weight], name=scope)


def _of_one_shape(logits: Any, labels: Any) -> list[Tensor]:
    _require_both(labels, logits)
    x = as_floats("LogisticLoss", logits, "logits")
    pair = require_same("LogisticLoss", ("logits", "labels"), (x, labels))
    if not pair[0].shape.is_compatible_with(pair[1].shape):
        raise ValueError(
            f"`logits` and `labels` must have the same shape, received ({pair[0].shape} vs "
            f"{pair[1].shape})."
        )
    return pair

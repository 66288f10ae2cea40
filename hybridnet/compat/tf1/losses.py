"""``tf.losses``: means of weighted losses, which a graph's collection keeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any

from hybridnet.graph import EdgeHandle

from .graph import GraphKeys, Tensor, convert_to_tensor, fused, handle, is_zero, ones_where
from .graph.arguments import as_floats, axis_of, renamed
from .graph.control import add_to_collection, get_collection, name_scope
from .graph.values import require_same
from .operations.elementwise import add_n, cast
from .operations.nn.entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)

__all__ = [
    "Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance",
    "get_losses", "get_regularization_loss", "get_regularization_losses", "get_total_loss",
    "hinge_loss", "huber_loss", "log_loss", "mean_squared_error", "sigmoid_cross_entropy",
    "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]  # fmt: skip


class Reduction:
    """The reductions of the losses of the examples to one loss."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all of them."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError if it is none of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key: {key}. Key should be in {cls.all()}.")


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns one loss of those of many examples.

    Args:
        losses: of the examples.
        weights: what they count; must broadcast.
        scope: the name of the scope.
        loss_collection: the collection that the result is added to.
        reduction: see `Reduction`; by default the sum over the number of weights that are not 0.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses]):
        values = convert_to_tensor(losses)
        kind = values.dtype.base_dtype
        each = as_floats("WeightedLoss", cast(values, "float32") if kind.is_integer else values)
        factors = cast(convert_to_tensor(weights), each.dtype)
        reduced = partial(_reduced, reduction)
        name = {Reduction.NONE: "Mul", Reduction.SUM: "Sum"}.get(reduction, "value")
        shape = each.shape if reduction == Reduction.NONE else ()
        made = fused("DivNoNan", reduced, [each, factors], name=name, shape=shape)
        made = made if made.dtype.base_dtype is kind else cast(made, kind)
        if loss_collection is not None:
            add_to_collection(loss_collection, made)
        return made


def _reduced(reduction: str, x: EdgeHandle, w: EdgeHandle) -> EdgeHandle:
    weighted = x * w
    if reduction == Reduction.NONE:
        return weighted
    total = handle("_np_sum", weighted)
    if reduction == Reduction.SUM:
        return total
    spread = x.ones_like() * w
    if reduction == Reduction.MEAN:
        count = handle("_np_sum", spread)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = handle("_np_sum", spread.ones_like())
    else:
        count = handle("_np_sum", handle("_not_equal_scalar", spread, scalar=0.0))
    nothing = is_zero(count)
    found = total / ones_where(nothing, count)
    return handle("_npi_where", nothing, found.zeros_like(), found)


def _common(
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> None:
    """Declares the arguments that all losses share; see `compute_weighted_loss`."""


def _weighted(name: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Makes a loss of a function from two tensors, and what is its own, to losses of examples.

    The arguments of the loss are these two, `weights`, what is its own, and the rest of `_common`.

    Args:
        name: of the scope.
    """
    weights, *others = signature(_common).parameters.values()

    def decorate(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        whole = signature(function)
        first, second, *own = whole.parameters.values()
        whole = whole.replace(parameters=[first, second, weights, *own, *others])

        @wraps(function)
        def loss(*args: Any, **keywords: Any) -> Tensor:
            bound = whole.bind(*args, **keywords)
            bound.apply_defaults()
            given = bound.arguments
            factors, scope = given.pop("weights"), given.pop("scope")
            held = given.pop("loss_collection"), given.pop("reduction")
            with name_scope(
                scope, name, [given[second.name], given[first.name], factors]
            ) as within:
                return compute_weighted_loss(function(**given), factors, within, *held)

        loss.__signature__ = whole  # type: ignore[attr-defined]
        return loss

    return decorate


def _of_pair(
    scope: str,
    function: Callable[[EdgeHandle, EdgeHandle], EdgeHandle],
    labels: Any,
    predictions: Any,
    kind: str = "Sub",
) -> Tensor:
    """Returns the losses that are a function of prediction and label, element by element."""
    if labels is None or predictions is None:
        raise ValueError("labels and predictions must not be None.")
    x = as_floats(scope, cast(convert_to_tensor(predictions), "float32"))
    y = cast(convert_to_tensor(labels), "float32")
    x.shape.assert_is_compatible_with(y.shape)
    return fused(kind, function, require_same(scope, ("predictions", "labels"), (x, y)))


@_weighted("absolute_difference")
def absolute_difference(labels: Any, predictions: Any) -> Tensor:
    """Returns the loss |prediction - label|; see `compute_weighted_loss`."""
    return _of_pair("absolute_difference", lambda x, y: (x - y).abs(), labels, predictions, "Abs")


@_weighted("mean_squared_error")
def mean_squared_error(labels: Any, predictions: Any) -> Tensor:
    """Returns the loss (prediction - label)^2; see `compute_weighted_loss`."""
    kind = "SquaredDifference"
    return _of_pair("mean_squared_error", lambda x, y: (x - y).square(), labels, predictions, kind)


@_weighted("huber_loss")
def huber_loss(labels: Any, predictions: Any, delta: float = 1.0) -> Tensor:
    """Returns the loss that is quadratic up to `delta`, and linear beyond."""

    def loss(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
        size = (x - y).abs()
        near = size.clip(a_min=0.0, a_max=float(delta))
        return near.square() * 0.5 + (size - near) * float(delta)

    return _of_pair("huber_loss", loss, labels, predictions, "AddV2")


@_weighted("log_loss")
def log_loss(labels: Any, predictions: Any, epsilon: float = 1e-07) -> Tensor:
    """Returns the cross entropy of probabilities and labels of 0 and 1."""

    def loss(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
        first = (x + epsilon).log()
        # In this order: 1 + epsilon is rounded, and 1 - x is not where x is near 1.
        rest = (1.0 - x + epsilon).log()
        return -(y * first + (1.0 - y) * rest)

    return _of_pair("log_loss", loss, labels, predictions)


@_weighted("hinge_loss")
def hinge_loss(labels: Any, logits: Any) -> Tensor:
    """Returns the loss max(0, 1 - label * logit), with labels 0 and 1 taken as -1 and 1."""

    def loss(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
        signs = y * 2.0 - 1.0
        return (1.0 - signs * x).relu()

    return _of_pair("hinge_loss", loss, labels, logits, "Relu")


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """Returns the loss 1 - prediction . label of unit vectors along an axis."""
    along = renamed("axis", axis, "dim", dim)
    if along is None:
        raise ValueError("You must specify argument `axis`.")
    number = axis_of("CosineDistance", along, convert_to_tensor(predictions).shape.ndims)

    def loss(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
        return 1.0 - handle("_np_sum", x * y, axis=(number,), keepdims=True)

    name = "cosine_distance_loss"
    with name_scope(scope, name, [predictions, labels, weights]) as within:
        losses = _of_pair(name, loss, labels, predictions)
        return compute_weighted_loss(losses, weights, within, loss_collection, reduction)


# Cross entropies ----------------------------------------------------------------------------------


@_weighted("sigmoid_cross_entropy_loss")
def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, label_smoothing: float = 0
) -> Tensor:
    """Returns the cross entropy of labels and the sigmoid of logits.

    Args:
        multi_class_labels: 0 or 1, of the shape of `logits`.
        logits: floating point.
        label_smoothing: how far labels are moved towards 1/2, from 0 to 1.
        weights, scope, loss_collection, reduction: as for `compute_weighted_loss`.
    """
    x = convert_to_tensor(logits)
    y = cast(convert_to_tensor(multi_class_labels), x.dtype)
    if label_smoothing > 0:
        y = y * (1 - label_smoothing) + 0.5 * label_smoothing
    return sigmoid_cross_entropy_with_logits(labels=y, logits=x, name="xentropy")


@_weighted("softmax_cross_entropy_loss")
def softmax_cross_entropy(onehot_labels: Any, logits: Any, label_smoothing: float = 0) -> Tensor:
    """Returns the cross entropy of distributions and the softmax of logits.

    Args:
        onehot_labels, logits: (..., classes).
        label_smoothing: how far labels are moved towards 1 / classes, from 0 to 1.
        weights, scope, loss_collection, reduction: as for `compute_weighted_loss`.
    """
    x = convert_to_tensor(logits)
    y = cast(convert_to_tensor(onehot_labels), x.dtype)
    x.shape.assert_is_compatible_with(y.shape)
    if label_smoothing > 0:
        classes = y.shape.as_list()[-1]
        y = y * (1 - label_smoothing) + label_smoothing / classes
    return softmax_cross_entropy_with_logits_v2(labels=y, logits=x, name="xentropy")


@_weighted("sparse_softmax_cross_entropy_loss")
def sparse_softmax_cross_entropy(labels: Any, logits: Any) -> Tensor:
    """Returns the cross entropy of labels, whole numbers, and the softmax of logits."""
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")


# The collection -----------------------------------------------------------------------------------


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection."""
    if loss_collection is not None:
        add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Returns the losses of a collection."""
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Returns the regularization losses."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """Returns the sum of the regularization losses; 0 of none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else convert_to_tensor(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Returns the sum of the losses, and of the regularization losses if asked for."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return add_n(losses, name=name)

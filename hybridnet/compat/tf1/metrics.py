"""``tf.metrics``: what is counted over many runs, in local variables.

Each function returns the value so far, and an Operation's output that takes a run's in and is the
new value: run the second for each batch, and the first at the end. Their variables are in the
collections of local variables and of metrics; `tf.local_variables_initializer` sets them to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from . import dtypes
from .graph import GraphKeys, Tensor, constant, convert_to_tensor, described, identity
from .graph.control import add_to_collections
from .operations import confusion_matrix, diag_part, expand_dims, reduce_sum, reshape, squeeze
from .operations.creation import ones_like, size, zeros
from .operations.elementwise import (
    abs,
    cast,
    div_no_nan,
    equal,
    greater,
    less_equal,
    logical_and,
    logical_not,
    maximum,
    sqrt,
    squared_difference,
)
from .variables.scope import variable_scope
from .variables.variable import Variable, assign_add

__all__ = [
    "accuracy", "auc", "false_negatives", "false_positives", "mean", "mean_absolute_error",
    "mean_iou", "mean_squared_error", "percentage_below", "precision", "recall",
    "root_mean_squared_error", "true_negatives", "true_positives",
]  # fmt: skip

Pair = tuple[Tensor, Tensor]
#: From labels, predictions, weights and the name of a scope to a value and its update.
Computing = Callable[[Any, Any, Any, str], Pair]
#: What keeps quotients finite where nothing has been counted.
_SMALL: Final = 1e-6
#: How far the first and the last threshold are beyond 0 and 1.
_BEYOND: Final = 1e-7


def _local(name: str, shape: Sequence[int] = (), dtype: Any = dtypes.float32) -> Variable:
    """Returns a variable of zeros, of this process only."""
    held = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    begun = lambda: zeros(list(shape), dtype)  # noqa: E731
    return Variable(begun, trainable=False, collections=held, name=name)


def _collected(pair: Pair, metrics: Any, updates: Any) -> Pair:
    """Adds a value and its update to the collections that the caller names."""
    for names, one in zip((metrics, updates), pair, strict=True):
        if names:
            add_to_collections(names if isinstance(names, (list, tuple)) else [names], one)
    return pair


def _spread(weights: Any, values: Tensor) -> Tensor:
    """Returns what each value counts."""
    given = cast(convert_to_tensor(weights), dtypes.float32)
    ranks: Any = (values.shape.ndims, given.shape.ndims)
    if None not in ranks and ranks[0] == ranks[1] + 1 and ranks[1]:
        given = expand_dims(given, -1)
    every: Any = ones_like(values)
    made: Tensor = every * given
    return made


def _alike(predictions: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """Returns both without a last axis of size 1 that only one of them has."""
    x, y = convert_to_tensor(predictions), convert_to_tensor(labels)
    ranks: Any = (x.shape.ndims, y.shape.ndims)
    if None not in ranks:
        if ranks[0] == ranks[1] + 1 and x.shape.as_list()[-1] == 1:
            x = squeeze(x, [-1])
        elif ranks[1] == ranks[0] + 1 and y.shape.as_list()[-1] == 1:
            y = squeeze(y, [-1])
    x.shape.assert_is_compatible_with(y.shape)
    return x, y


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Returns the mean of all values so far, and what takes new ones in.

    Args:
        values: numbers.
        weights: what each counts; must broadcast. Default 1.
        metrics_collections: the collections that the value is added to.
        updates_collections: those that the update is added to.
    """
    with variable_scope(name, "mean", [values]):
        x: Any = cast(convert_to_tensor(values), dtypes.float32)
        total, count = _local("total"), _local("count")
        if weights is None:
            number = cast(size(x), dtypes.float32)
        else:
            factors = _spread(weights, x)
            x, number = x * factors, reduce_sum(factors)
        more, counted = assign_add(total, reduce_sum(x)), assign_add(count, number)
        value = div_no_nan(total.value(), maximum(count.value(), 0.0), name="value")
        update = div_no_nan(more, maximum(counted, 0.0), name="update_op")
        return _collected((value, update), metrics_collections, updates_collections)


def _metric(own: str, what: str, compute: Computing) -> Callable[..., Pair]:
    """Returns a function of labels and predictions.

    Args:
        own: its name, and that of its scope.
        what: what it returns, in words.
        compute: what it computes.
    """

    def metric(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        pair = compute(labels, predictions, weights, name or own)
        return _collected(pair, metrics_collections, updates_collections)

    return described(metric, own, f"Returns {what}; see `mean`.")


def _mean_of(each: Callable[[Any, Any], Tensor]) -> Computing:
    """The mean of what a function makes of predictions and labels."""

    def compute(labels: Any, predictions: Any, weights: Any, name: str) -> Pair:
        return mean(each(*_alike(predictions, labels)), weights, name=name)

    return compute


def _root_mean_square(labels: Any, predictions: Any, weights: Any, name: str) -> Pair:
    value, update = mean_squared_error(labels, predictions, weights, name=name)
    return sqrt(value), sqrt(update)


accuracy = _metric(
    "accuracy",
    "how often predictions are the labels",
    _mean_of(lambda x, y: cast(equal(cast(x, y.dtype.base_dtype), y), dtypes.float32)),
)
mean_squared_error = _metric(
    "mean_squared_error",
    "the mean of squared differences",
    _mean_of(lambda x, y: squared_difference(y, x)),
)
root_mean_squared_error = _metric(
    "root_mean_squared_error",
    "the square root of the mean of squared differences",
    _root_mean_square,
)
mean_absolute_error = _metric(
    "mean_absolute_error", "the mean of the sizes of differences", _mean_of(lambda x, y: abs(x - y))
)


def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Returns the part of the values below a number; see `mean`."""
    x: Any = convert_to_tensor(values)
    below = cast(x < threshold, dtypes.float32)
    own = name or "percentage_below_threshold"
    return mean(below, weights, metrics_collections, updates_collections, own)


# Counts -------------------------------------------------------------------------------------------


def _count(name: str, chosen: Tensor, weights: Any) -> Pair:
    """Returns how many values are true so far."""
    with variable_scope(name):
        count = _local("count")
        x: Any = cast(chosen, dtypes.float32)
        if weights is not None:
            x = x * _spread(weights, x)
        return identity(count.value()), assign_add(count, reduce_sum(x))


#: The four ways in which a prediction is right or wrong: what was predicted, and what is so.
_WAYS: Final = {
    "true_positives": (True, True),
    "false_positives": (True, False),
    "false_negatives": (False, True),
    "true_negatives": (False, False),
}


def _which(kind: str, predicted: Tensor, truth: Tensor) -> Tensor:
    """Returns which predictions are of one of the four kinds."""
    is_predicted, is_so = _WAYS[kind]
    return logical_and(
        predicted if is_predicted else logical_not(predicted),
        truth if is_so else logical_not(truth),
    )


def _truths(predictions: Any, labels: Any) -> Pair:
    """Returns both as truth values."""
    return _alike(cast(predictions, dtypes.bool), cast(labels, dtypes.bool))


def _number_of(kind: str) -> Callable[..., Pair]:
    def compute(labels: Any, predictions: Any, weights: Any, name: str) -> Pair:
        return _count(name, _which(kind, *_truths(predictions, labels)), weights)

    return _metric(kind, f"how many {kind.replace('_', ' ')} there were so far", compute)


true_positives = _number_of("true_positives")
true_negatives = _number_of("true_negatives")
false_positives = _number_of("false_positives")
false_negatives = _number_of("false_negatives")


def _part(wrong: str) -> Computing:
    """The part of what is right in it, and in one of the ways in which a prediction is wrong."""

    def compute(labels: Any, predictions: Any, weights: Any, name: str) -> Pair:
        with variable_scope(name):
            x, y = _truths(predictions, labels)
            kinds = ("true_positives", wrong)
            counts = [_count(kind, _which(kind, x, y), weights) for kind in kinds]
            pairs: Any = zip(*counts, strict=True)
            value, update = (
                div_no_nan(right, right + missed, name=end)
                for (right, missed), end in zip(pairs, ("value", "update_op"), strict=True)
            )
            return value, update

    return compute


precision = _metric(
    "precision", "the part of what was predicted that is so", _part("false_positives")
)
recall = _metric("recall", "the part of what is so that was predicted", _part("false_negatives"))


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Pair:
    """Returns the area under a curve, from counts at thresholds; see `mean`.

    Args:
        labels: truth values.
        predictions: from 0 to 1.
        num_thresholds: how many.
        curve: 'ROC': true over false positives; 'PR': precision over recall.
        summation_method: must be 'trapezoidal'.
        thresholds: those between 0 and 1, instead of equal distances.
        weights, metrics_collections, updates_collections: as for `mean`.

    Raises:
        ValueError: `curve` or `summation_method` is something else.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method != "trapezoidal":
        raise ValueError(f"summation_method must be 'trapezoidal', got {summation_method!r}")
    between = [(one + 1) / (num_thresholds - 1) for one in range(num_thresholds - 2)]
    between = between if thresholds is None else sorted(thresholds)
    limits = constant([-_BEYOND, *between, 1 + _BEYOND])
    with variable_scope(name, "auc", [labels, predictions]):
        x, y = _alike(cast(predictions, dtypes.float32), cast(labels, dtypes.bool))
        flat, truth = reshape(x, [1, -1]), reshape(y, [1, -1])
        above = greater(flat, expand_dims(limits, 1))
        factors = None if weights is None else reshape(_spread(weights, x), [1, -1])
        found = {}
        for key in ("true_positives", "false_negatives", "true_negatives", "false_positives"):
            held = _local(key, [len(between) + 2])
            each: Any = cast(_which(key, above, truth), dtypes.float32)
            each = each if factors is None else each * factors
            found[key] = (held.value(), assign_add(held, reduce_sum(each, 1)))
        value, update = (
            _area({key: pair[number] for key, pair in found.items()}, curve, end)
            for number, end in enumerate(("value", "update_op"))
        )
        return _collected((value, update), metrics_collections, updates_collections)


def _area(of: dict[str, Any], curve: str, name: str) -> Tensor:
    right, missed = of["true_positives"], of["false_negatives"]
    wrong, rest = of["false_positives"], of["true_negatives"]
    found = (right + _SMALL) / (right + missed + _SMALL)
    if curve == "ROC":
        x, y = wrong / (wrong + rest + _SMALL), found
    else:
        x, y = found, (right + _SMALL) / (right + wrong + _SMALL)
    return reduce_sum((x[:-1] - x[1:]) * ((y[:-1] + y[1:]) / 2.0), name=name)


def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Returns the mean over classes of what is both predicted and so over what is either.

    Args:
        labels: numbers of classes.
        predictions: likewise.
        num_classes: how many.
        weights, metrics_collections, updates_collections: as for `mean`.

    Returns:
        The value so far, and what takes new ones in: the matrix of both, (classes, classes).
    """
    with variable_scope(name, "mean_iou", [labels, predictions]):
        x, y = _alike(cast(predictions, dtypes.int64), cast(labels, dtypes.int64))
        held = _local("total_confusion_matrix", [num_classes, num_classes], dtypes.float64)
        counts = None
        if weights is not None:
            counts = reshape(cast(convert_to_tensor(weights), dtypes.float64), [-1])
        made = confusion_matrix(
            reshape(y, [-1]), reshape(x, [-1]), num_classes, dtypes.float64, weights=counts
        )
        update = assign_add(held, made, name="update_op")
        whole: Any = cast(held.value(), dtypes.float32)
        both = diag_part(whole)
        rows: Any = reduce_sum(whole, 0)
        either = rows + reduce_sum(whole, 1) - both
        seen = reduce_sum(cast(logical_not(less_equal(either, 0.0)), dtypes.float32))
        value = div_no_nan(reduce_sum(div_no_nan(both, either)), seen, name="mean_iou")
        return _collected((value, update), metrics_collections, updates_collections)

"""Gradients of TensorFlow's 1.x API at zeros, ties, bounds and infinities; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of

_POINTS = (-np.inf, -3, -2.5, -2, -1.5, -1, -0.5, -0.0, 0, 0.5, 1, 1.5, 2, 2.5, 3, 6, np.inf)
_HEADS = np.linspace(-1, 2, len(_POINTS)).astype("float32")
_FINITE = (-2, -1, -0.5, 0, 0.5, 1, 2)


def _gradient(tf: Any, value: Any, inputs: Any, heads: Any = None) -> list[Any]:
    found = tf.gradients(value, inputs, heads)
    return [None if one is None else tf.identity(one, name="g") for one in found]


def _named(tf: Any, names: str) -> dict[str, Any]:
    places = (tf.nn, tf.math, tf)
    return {
        name: next(getattr(place, name) for place in places if hasattr(place, name))
        for name in names.split()
    }


@case
def units_at_kinks(tf: Any) -> Any:
    x = tf.constant(np.array(_POINTS, "float32"))
    names = (
        "abs acos asin asinh atan atanh ceil cos cosh erf erfc exp expm1 floor "
        "log log1p log_sigmoid negative reciprocal rint round sigmoid sign sin sinh "
        "sqrt square tan tanh elu relu relu6 selu softplus softsign leaky_relu"
    )
    return {
        name: _gradient(tf, function(x), [x], _HEADS)
        for name, function in _named(tf, names).items()
    }


@case
def units_of_positive_numbers_at_kinks(tf: Any) -> Any:
    # Outside these our gradients are limits, or NaN: see docs/tensorflow.md.
    x = tf.constant(np.array([0.5, 1, 1.5, 2, 3, 6], "float32"))
    names = "digamma lgamma rsqrt"
    return {
        "acosh": _gradient(tf, tf.acosh(x + 0.5), [x]),
        **{name: _gradient(tf, function(x), [x]) for name, function in _named(tf, names).items()},
    }


@case
def pairs_at_kinks(tf: Any) -> Any:
    x, y = (tf.constant(one.astype("float32")) for one in np.meshgrid(_FINITE, _FINITE))
    names = (
        "maximum minimum divide floordiv floormod truncatediv squared_difference "
        "atan2 div_no_nan xlogy multiply pow"
    )
    return {
        name: _gradient(tf, function(x, y), [x, y]) for name, function in _named(tf, names).items()
    }


@case
def pairs_that_broadcast_at_kinks(tf: Any) -> Any:
    x = tf.constant(np.array(_FINITE, "float32"))
    y = tf.constant(np.array(_FINITE, "float32")[:, None])
    names = "maximum minimum divide div_no_nan squared_difference multiply"
    return {
        name: _gradient(tf, function(x, y), [x, y]) for name, function in _named(tf, names).items()
    }


@case
def powers_by_whole_numbers_at_kinks(tf: Any) -> Any:
    x = tf.constant(np.array(_POINTS, "float32"))
    return [_gradient(tf, x**number, [x], _HEADS) for number in (0.0, 1.0, 2.0, 3.0, -1.0, 0.5)]


def _rows(tf: Any) -> Any:
    return tf.constant(
        np.array(
            [[0, 0, 0, 0], [1, 1, 1, 1], [2, 0, 3, 0], [-1, 2, 2, -1], [0, 1, -1, 0], [5, 0, 1, 2]],
            "float32",
        )
    )


@case
def reductions_at_kinks(tf: Any) -> Any:
    x = _rows(tf)
    names = (
        "reduce_max reduce_min reduce_prod reduce_logsumexp reduce_std reduce_variance "
        "reduce_euclidean_norm"
    )
    found = {
        f"{name} {axis}": _gradient(tf, function(x, axis=axis), [x])
        for name, function in _named(tf, names).items()
        for axis in (None, 0, 1, [0, 1])
    }
    found |= {f"norm {order}": _gradient(tf, tf.norm(x, ord=order, axis=1), [x]) for order in (
        1, 2, "euclidean", np.inf, 3.0
    )}  # fmt: skip
    return found


@case
def norms_and_clipping_at_kinks(tf: Any) -> Any:
    x = _rows(tf)
    clipped = {
        "value": tf.clip_by_value(x, 0.0, 2.0),
        "equal bounds": tf.clip_by_value(x, 1.0, 1.0),
        "norm": tf.clip_by_norm(x, 2.0, axes=[1]),
        "norm of zeros": tf.clip_by_norm(x * 0.0, 2.0),
        "global": tf.clip_by_global_norm([x * 0.0, x * 1e-3], 1.0)[0][1],
        "unit length": tf.nn.l2_normalize(x, axis=1),
        "l2_loss": tf.nn.l2_loss(x),
        "moments": tf.nn.moments(x, axes=[1])[1],
    }
    return {name: _gradient(tf, value, [x]) for name, value in clipped.items()}


@case
def segments_at_ties(tf: Any) -> Any:
    x, ids = _rows(tf), tf.constant([0, 0, 0, 1, 1, 3])
    found = {
        name: _gradient(tf, getattr(tf.math, name)(x, ids), [x])
        for name in ("segment_max", "segment_min", "segment_sum", "segment_mean")
    }
    found |= {
        name: _gradient(tf, getattr(tf.math, name)(x, ids, 4), [x])
        for name in ("unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_sum")
    }
    return found


@case
def order_at_ties(tf: Any) -> Any:
    x = _rows(tf)
    values, _ = tf.nn.top_k(x, 3)
    heads = np.arange(18, dtype="float32").reshape(6, 3)
    return {
        "top_k": _gradient(tf, values, [x], heads),
        "where": _gradient(tf, tf.where(x > 0, x, x * 2.0), [x]),
        "unique": _gradient(tf, tf.gather(x, [0, 0, 5]), [x])[0] is None,
    }


@case
def pooling_at_ties(tf: Any) -> Any:
    x = tf.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1, 2, -1, 2, 2, -1, -1, 2, 2], "float32"))
    x = tf.reshape(x, [1, 4, 4, 1])
    found = []
    for size, step, padding in ((2, 2, "VALID"), (3, 1, "SAME"), (2, 1, "VALID"), (3, 2, "SAME")):
        pooled = tf.nn.max_pool(x, [1, size, size, 1], [1, step, step, 1], padding)
        found += _gradient(tf, pooled, [x])
        pooled = tf.nn.avg_pool(x, [1, size, size, 1], [1, step, step, 1], padding)
        found += _gradient(tf, pooled, [x])
    return found


@case
def cross_entropies_at_kinks(tf: Any) -> Any:
    z = tf.constant(np.array([-200, -1, -0.0, 0, 1, 200], "float32"))
    found = {}
    for label in (0.0, 0.5, 1.0):
        t = tf.fill([6], label)
        loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=t, logits=z)
        found[f"sigmoid {label}"] = _gradient(tf, loss, [z])
        loss = tf.nn.weighted_cross_entropy_with_logits(labels=t, logits=z, pos_weight=2.0)
        found[f"weighted {label}"] = _gradient(tf, loss, [z])
    rows = _rows(tf)
    labels = tf.constant([0, 1, 2, 3, 0, 1])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=rows)
    found["sparse"] = _gradient(tf, loss, [rows])
    given = tf.one_hot(labels, 4)
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=given, logits=rows)
    found["softmax"] = _gradient(tf, loss, [rows, given])
    return found


@case
def losses_at_kinks(tf: Any) -> Any:
    x = tf.constant(np.array(_FINITE, "float32"))
    found = {}
    for target in (0.0, 1.0):
        t = tf.fill([len(_FINITE)], target)
        for name in (
            "absolute_difference", "hinge_loss", "huber_loss", "mean_squared_error", "log_loss",
            "sigmoid_cross_entropy",
        ):  # fmt: skip
            given = tf.abs(x) / 2.0 if name == "log_loss" else x
            found[f"{name} {target}"] = _gradient(tf, getattr(tf.losses, name)(t, given), [x])
        unweighted = tf.losses.absolute_difference(t, x, weights=0.0)
        found[f"no weights {target}"] = _gradient(tf, unweighted, [x])
    rows = tf.reshape(_rows(tf), [4, 6])
    found["cosine"] = _gradient(tf, tf.losses.cosine_distance(rows * 0.0, rows, axis=1), [rows])
    return found


@case
def matrices_at_kinks(tf: Any) -> Any:
    x = tf.constant(np.array([[[0, 0], [0, 0]], [[1, 1], [1, 1]], [[2, 0], [0, 3]]], "float32"))
    found = {
        f"norm {order} {axis} {keep}": [
            tf.identity(tf.norm(x, order, axis=axis, keepdims=keep), name="norms"),
            *_gradient(tf, tf.norm(x, order, axis=axis, keepdims=keep), [x]),
        ]
        for order in (1, np.inf, "fro", "euclidean")
        for axis in ([-2, -1], [2, 1])
        for keep in (False, True)
    }
    found |= {
        f"norm {order} {axis}": error_of(lambda order=order, axis=axis: tf.norm(x, order, axis))
        for order, axis in ((1, [1]), (2, (0, 1, 2)), (3, [1, 2]), ("fro", 1), ("nuc", [0, 1]))
    }
    return found | {
        "norm 2": tf.reshape(tf.norm(x, 2, axis=[-2, -1]), [3]),
        "matmul": _gradient(tf, tf.matmul(x, x), [x]),
        "trace": _gradient(tf, tf.linalg.trace(x), [x]),
        "det": _gradient(tf, tf.linalg.det(x[2:]), [x]),
        "part": _gradient(tf, tf.linalg.band_part(x, 0, 0), [x]),
    }


@case
def empty_arrays(tf: Any) -> Any:
    x = tf.constant(np.zeros((0, 3), "float32"))
    names = "reduce_sum reduce_mean reduce_prod"
    return {
        name: [function(x, axis=0), *_gradient(tf, function(x, axis=0), [x])]
        for name, function in _named(tf, names).items()
    }

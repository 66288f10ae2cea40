"""Arithmetic, reductions, matrices and comparisons of TensorFlow's 1.x API; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, feeding, numbers


def _grads(tf: Any, outputs: Any, inputs: Any) -> list[Any]:
    return [outputs, *tf.gradients(outputs, inputs)]


@case
def python_arithmetic(tf: Any) -> Any:
    x, y = tf.constant(numbers(2, 3)), tf.constant(numbers(3, low=1, high=2))
    return [
        x + y, x - y, x * y, x / y, x // y, x % y, x**y, -x, abs(x),
        x + 1, 1 - x, 2.5 * x, 1 / y, y // 0.3, y**2, 2**y, x < y, x >= 0, y > x, x <= y,
    ]  # fmt: skip


@case
def python_arithmetic_on_whole_numbers(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, low=-9, high=9, dtype="int32"))
    y = tf.constant(numbers(3, low=1, high=9, dtype="int32"))
    return [x + y, x - 3, x * y, x / y, x // y, x % y, -x, abs(x), y**2, x < y]


@case
def python_logic(tf: Any) -> Any:
    a, b = tf.constant([True, True, False]), tf.constant([True, False, False])
    return [
        a & b, a | b, a ^ b, ~a, tf.logical_and(a, b), tf.logical_or(a, b), tf.logical_not(a),
        tf.logical_xor(a, b), tf.reduce_all(a), tf.reduce_any([a, b], axis=0),
    ]  # fmt: skip


@case
def pairs(tf: Any) -> Any:
    x, y = tf.constant(numbers(2, 3)), tf.constant(numbers(2, 3, low=0.5, high=2))
    return [
        tf.add(x, y), tf.subtract(x, y), tf.multiply(x, y), tf.divide(x, y), tf.div(x, y),
        tf.truediv(x, y), tf.floordiv(x, y), tf.mod(x, y), tf.floormod(x, y), tf.pow(y, x),
        tf.maximum(x, y), tf.minimum(x, y), tf.squared_difference(x, y), tf.div_no_nan(x, y * 0),
        tf.atan2(x, y), tf.realdiv(x, y), tf.math.xlogy(x, y),
        tf.equal(x, y), tf.not_equal(x, y), tf.less(x, y), tf.less_equal(x, y), tf.greater(x, y),
        tf.greater_equal(x, y), tf.add_n([x, y, x]), tf.accumulate_n([x, y]),
    ]  # fmt: skip


@case
def units(tf: Any) -> Any:
    x, y = tf.constant(numbers(5)), tf.constant(numbers(5, low=0.1, high=3))
    names = (
        "abs negative sign square exp expm1 tanh sin cos tan asin acos atan sinh cosh asinh "
        "sigmoid ceil floor rint round erf erfc is_nan is_inf is_finite"
    )
    positive = "sqrt rsqrt log log1p reciprocal lgamma digamma"
    return [
        *((getattr(tf, name, None) or getattr(tf.math, name))(x) for name in names.split()),
        *((getattr(tf, name, None) or getattr(tf.math, name))(y) for name in positive.split()),
        tf.acosh(y + 1), tf.atanh(x), tf.log_sigmoid(x), tf.identity(x),
    ]  # fmt: skip


@case
def names_given(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3), name="x")
    with tf.name_scope("outer"):
        y = tf.add(x, 1.0, name="plus")
        z = tf.reduce_mean(y, name="middle")
        with tf.name_scope("inner"):
            more = [tf.multiply(y, z), tf.matmul(x, y, transpose_b=True), y * z, tf.square(x)]
    return [x, y, z, *more, tf.add(x, 1.0, name="plus"), tf.add(x, 1.0, name="plus")]


@case
def unit_gradients(tf: Any) -> Any:
    x = tf.constant(numbers(5, low=0.1, high=0.9))
    names = (
        "abs negative square exp tanh sin cos tan asin acos atan sigmoid sqrt rsqrt log log1p "
        "floor reciprocal erf"
    )
    functions = [getattr(tf, name, None) or getattr(tf.math, name) for name in names.split()]
    found = [tf.gradients(function(x), x)[0] for function in functions]
    return [one if one is None else tf.identity(one, name="g") for one in found]


@case
def pair_gradients(tf: Any) -> Any:
    x, y = tf.constant(numbers(2, 3, low=0.5, high=2)), tf.constant(numbers(3, low=1, high=2))
    found = []
    for function in (
        tf.add, tf.subtract, tf.multiply, tf.divide, tf.pow, tf.maximum, tf.minimum,
        tf.squared_difference, tf.floormod, tf.atan2,
    ):  # fmt: skip
        found += [tf.identity(one, name="g") for one in tf.gradients(function(x, y), [x, y])]
    return found


@case
def ties_of_maximum(tf: Any) -> Any:
    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 2.5, 3.0])
    found = tf.gradients(tf.maximum(x, y), [x, y]) + tf.gradients(tf.minimum(x, y), [x, y])
    found += tf.gradients(tf.reduce_max([[1.0, 3.0, 3.0]] + tf.stack([x]), axis=1), x)
    found += tf.gradients(tf.nn.relu(x - 2.0), x) + tf.gradients(tf.abs(x - 2.0), x)
    return [tf.identity(one, name="g") for one in found]


@case
def reductions(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, 4))
    functions = [
        tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_max, tf.reduce_min,
        tf.reduce_logsumexp, tf.math.reduce_std, tf.math.reduce_variance,
        tf.reduce_euclidean_norm if hasattr(tf, "reduce_euclidean_norm")
        else tf.math.reduce_euclidean_norm,
    ]  # fmt: skip
    found = []
    for function in functions:
        found += [function(x), function(x, axis=1), function(x, [0, -1], True)]
    return found


@case
def reductions_by_old_names(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3))
    return [
        tf.reduce_sum(x, reduction_indices=[1]),
        tf.reduce_mean(x, reduction_indices=0, keep_dims=True),
        tf.reduce_max(x, axis=[]),
        tf.reduce_mean(tf.constant([1, 2, 4])),
        tf.reduce_sum(tf.constant([1, 2, 4], tf.int64)),
        tf.reduce_sum(tf.constant(2.0)),
        tf.count_nonzero([[0, 1, 2], [0, 0, 3]], axis=1),
        tf.count_nonzero([[0, 1, 2], [0, 0, 3]], axis=0, dtype=tf.int32, keepdims=True),
    ]


@case
def reduction_gradients(tf: Any) -> Any:
    x = tf.constant(numbers(2, 3, low=0.5, high=2))
    found = []
    for function in (
        tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_max, tf.reduce_min,
        tf.reduce_logsumexp,
    ):  # fmt: skip
        found += tf.gradients(function(x, axis=1) * [1.0, 2.0], x)
    return [tf.identity(one, name="g") for one in found]


@case
def matrices(tf: Any) -> Any:
    x, y = tf.constant(numbers(3, 4)), tf.constant(numbers(4, 2))
    u, v = tf.constant(numbers(2, 3, 4)), tf.constant(numbers(2, 5, 4))
    return [
        tf.matmul(x, y), tf.matmul(x, x, transpose_a=True), tf.matmul(x, x, transpose_b=True),
        tf.matmul(y, x, True, True), tf.matmul(u, v, transpose_b=True), tf.matmul(u, y),
        x @ y, tf.matmul([[1, 2]], [[3], [4]]), tf.einsum("bij,bkj->bik", u, v),
        tf.einsum("ij,jk->ki", x, y), tf.tensordot(u, y, 1), tf.tensordot(x, u, [[0], [1]]),
        tf.matmul(x, y, name="product"), tf.linalg.matvec(x, [1.0, 2.0, 3.0, 4.0]),
        tf.trace(tf.matmul(x, x, transpose_b=True)), tf.diag([1.0, 2.0]), tf.diag_part(u[0, :, :3]),
        tf.matrix_diag([[1.0, 2.0]]), tf.matrix_diag_part(u), tf.matrix_transpose(u),
        tf.eye(3), tf.eye(2, 3, dtype=tf.float64),
        tf.norm(x), tf.norm(x, axis=1), tf.norm(x, ord=1, axis=0), tf.norm(u, ord=np.inf, axis=2),
        tf.matrix_inverse(y[:2] + tf.eye(2) * 3.0),
        tf.matrix_determinant(y[:2]),
    ]  # fmt: skip


@case
def matrix_gradients(tf: Any) -> Any:
    x, y = tf.constant(numbers(3, 4)), tf.constant(numbers(4, 2))
    u, v = tf.constant(numbers(2, 3, 4)), tf.constant(numbers(2, 5, 4))
    found = []
    found += tf.gradients(tf.square(tf.matmul(x, y)), [x, y])
    found += tf.gradients(tf.square(tf.matmul(y, x, True, True)), [x, y])
    found += tf.gradients(tf.square(tf.matmul(u, v, transpose_b=True)), [u, v])
    found += tf.gradients(tf.square(tf.einsum("bij,bkj->bik", u, v)), [u, v])
    found += tf.gradients(tf.square(tf.tensordot(u, y, 1)), [u, y])
    return [tf.identity(one, name="g") for one in found]


@case
def scans(tf: Any) -> Any:
    x = tf.constant(numbers(2, 4))
    return [
        tf.cumsum(x), tf.cumsum(x, axis=1), tf.cumsum(x, 1, exclusive=True),
        tf.cumsum(x, 1, reverse=True), tf.cumsum(x, -1, True, True), tf.cumprod(x, axis=1),
        tf.cumprod(x, 1, exclusive=True), tf.cumprod(x, 1, reverse=True),
    ]  # fmt: skip


@case
def arguments_of_extremes(tf: Any) -> Any:
    x = tf.constant(numbers(2, 5))
    best, where = tf.nn.top_k(x, k=3)
    return [
        tf.argmax(x, 1), tf.argmin(x, axis=0), tf.arg_max(x, 1), tf.argmax(x),
        tf.argmax(x, 1, output_type=tf.int32), tf.argmax(x, dimension=1), best, where,
        tf.nn.in_top_k(x, [0, 3], 2), tf.identity(tf.sort(x)),
        tf.identity(tf.argsort(x, direction="DESCENDING")),
        tf.identity(tf.sort(x, axis=0, direction="DESCENDING")),
    ]  # fmt: skip


@case
def clips(tf: Any) -> Any:
    x, y = tf.constant(numbers(2, 3)), tf.constant(numbers(4))
    clipped, norm = tf.clip_by_global_norm([x, None, y], 0.5)
    return [
        tf.clip_by_value(x, -0.5, 0.25), tf.clip_by_norm(x, 0.5), tf.clip_by_norm(x, 0.5, axes=[1]),
        tf.clip_by_norm(x, 50.0), tf.global_norm([x, y]), *clipped, norm,
        tf.clip_by_average_norm(x, 0.1), *tf.gradients(tf.clip_by_value(x, -0.5, 0.25), x),
        *tf.gradients(tf.clip_by_norm(x, 0.5), x),
    ]  # fmt: skip


@case
def segments(tf: Any) -> Any:
    x = tf.constant(numbers(4, 2))
    return [
        tf.unsorted_segment_sum(x, [2, 0, 0, 1], 3), tf.unsorted_segment_max(x, [1, 0, 0, 1], 2),
        tf.unsorted_segment_mean(x, [1, 0, 0, 1], 2),
        tf.unsorted_segment_min(x, [1, 0, 0, 1], 2),
        tf.confusion_matrix([0, 1, 2, 1], [0, 1, 1, 1], num_classes=3),
    ]  # fmt: skip


@case
def casts(tf: Any) -> Any:
    x = tf.constant([-1.7, 0.0, 2.5])
    return [
        tf.cast(x, tf.int32), tf.to_int32(x), tf.to_float([1, 2]), tf.to_double(x), tf.to_int64(x),
        tf.cast(x, "float64"), tf.cast(x, tf.bool), tf.cast([True, False], tf.float32),
        tf.cast(x, tf.float32), tf.saturate_cast([300.0, -5.0], tf.uint8),
        tf.cast([1, 2], np.float64), tf.cast(x, tf.float16),
    ]  # fmt: skip


@case
def shapes_not_known_yet(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, name="y")
    nest = [
        x + 1.0, tf.matmul(x, x, transpose_b=True), tf.reduce_sum(x, 1), tf.reduce_mean(x),
        x * [1.0, 2.0, 3.0], y * 2.0, tf.reduce_sum(y), x + y, tf.reduce_max(x, 0), tf.argmax(x, 1),
        tf.cumsum(x), tf.equal(x, 0.5), tf.tanh(y), *tf.gradients(tf.square(x), x),
    ]  # fmt: skip
    return feeding(nest, {x: numbers(2, 3), y: numbers(2, 3)})


@case
def refused(tf: Any) -> Any:
    x, y = tf.constant([1.0, 2.0]), tf.constant([1, 2])
    z = tf.constant(numbers(3))
    return {
        "float and int": error_of(lambda: x + y),
        "int and float number": error_of(lambda: y + 1.5),
        "shapes": error_of(lambda: x + z),
        "matmul rank": error_of(lambda: tf.matmul(x, x)),
        "matmul inner": error_of(lambda: tf.matmul([[1.0, 2.0]], [[1.0, 2.0]])),
        "truth": error_of(lambda: bool(x)),
        "iterate scalar": error_of(lambda: list(tf.constant(1.0))),
        "axis": error_of(lambda: tf.reduce_sum(x, 5)),
        "axis twice": error_of(lambda: tf.reduce_sum(x, 1, reduction_indices=1)),
        "sqrt of int": error_of(lambda: tf.sqrt(y)),
        "and of floats": error_of(lambda: tf.logical_and(x, x)),
        "no number": error_of(lambda: tf.square("text")),
        "none": error_of(lambda: tf.square(None)),
        "add_n": error_of(lambda: tf.add_n([])),
        "matmul of kinds": error_of(lambda: tf.matmul([[1.0]], [[1]])),
        "cast": error_of(lambda: tf.cast(x, "no dtype")),
    }


@case
def types_of_operations(tf: Any) -> Any:
    x, i = tf.constant(numbers(2, 3)), tf.constant([1, 0])
    image, w = tf.constant(numbers(1, 4, 4, 2)), tf.constant(numbers(2, 2, 2, 2))
    made = [
        x, x + x, x - x, x * x, x / x, x // x, x % x, x**2, -x, abs(x), x < x, x[0], tf.exp(x),
        tf.matmul(x, x, transpose_b=True), tf.reduce_sum(x), tf.reduce_mean(x), tf.reduce_max(x),
        tf.argmax(x, 1), tf.cast(x, tf.int32), tf.concat([x, x], 0), tf.stack([x, x]),
        tf.unstack(x)[0], tf.split(x, 3, 1)[0], tf.tile(x, [1, 2]), tf.pad(x, [[1, 1], [0, 0]]),
        tf.transpose(x), tf.reshape(x, [-1]), tf.expand_dims(x, 0), tf.squeeze(x[:1]),
        tf.gather(x, i), tf.gather_nd(x, [[0, 1]]), tf.one_hot(i, 3), tf.where(x > 0, x, x),
        tf.identity(x), tf.stop_gradient(x), tf.placeholder(tf.float32), tf.nn.relu(x),
        tf.nn.softmax(x), tf.nn.bias_add(x, [1.0, 2.0, 3.0]), tf.nn.l2_loss(x), tf.no_op(),
        tf.nn.conv2d(image, w, 1, "SAME"), tf.nn.max_pool(image, 2, 2, "SAME"),
        tf.nn.avg_pool(image, 2, 2, "SAME"), tf.nn.lrn(image), tf.group(x), tf.add_n([x, x]),
        tf.random_shuffle(x), tf.range(3), tf.fill([2], 1.0), tf.squared_difference(x, x),
    ]  # fmt: skip
    return [one.type if hasattr(one, "type") else one.op.type for one in made]


@case
def second_derivatives(tf: Any) -> Any:
    x, w = tf.constant(numbers(3, low=0.5, high=2)), tf.Variable(numbers(2, 2))
    y = tf.reduce_sum(x**3) * x[0] + tf.reduce_sum(tf.tanh(tf.matmul(w, w)))
    (grad,) = tf.gradients(y, x)
    return [tf.identity(one) for one in (*tf.hessians(y, [x, w]), *tf.gradients(grad, x))]

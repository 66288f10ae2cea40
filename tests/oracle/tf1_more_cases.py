"""Functions of TensorFlow's 1.x API that fewer scripts use; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, feeding, numbers


def _positive(*shape: int) -> Any:
    a = numbers(*shape)
    return (a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])).astype("float32")


@case
def decompositions(tf: Any) -> Any:
    a, x = tf.constant(_positive(2, 3, 3)), tf.constant(numbers(2, 3, 2))
    lower = tf.cholesky(a)
    values, vectors = tf.self_adjoint_eig(a)
    made = [
        lower, tf.cholesky_solve(lower, x), tf.matrix_solve(a, x), values,
        tf.matrix_solve(a, x, adjoint=True), tf.matrix_triangular_solve(a, x),
        tf.matrix_triangular_solve(a, x, lower=False, adjoint=True, name="t"),
        tf.self_adjoint_eigvals(a, name="values"), tf.abs(vectors),
        tf.cross(tf.constant(numbers(2, 3)), numbers(2, 3, low=0)),
    ]  # fmt: skip
    slopes = tf.gradients(tf.reduce_sum(made[1]) + tf.reduce_sum(made[2]), [a, x])
    slopes += tf.gradients(tf.reduce_sum(tf.log(values)), a)
    return [made, slopes]


@case
def singular_values(tf: Any) -> Any:
    found = []
    for shape in ((2, 3, 4), (4, 3)):
        x = tf.constant(numbers(*shape))
        s, u, v = tf.svd(x)
        again = tf.matmul(tf.matmul(u, tf.matrix_diag(s)), v, transpose_b=True)
        found += [s, tf.abs(u), tf.abs(v), tf.identity(again), tf.svd(x, compute_uv=False)]
    q, r = tf.qr(tf.constant(numbers(4, 3)))
    return [*found, tf.abs(q), tf.abs(r), tf.identity(tf.matmul(q, r), name="product")]


@case
def parts_of_matrices(tf: Any) -> Any:
    x = tf.constant(numbers(2, 4, 3))
    square = tf.constant(np.where(np.eye(3) > 0, -np.inf, numbers(2, 3, 3)).astype("float32"))
    made = [
        tf.matrix_band_part(x, 0, -1), tf.matrix_band_part(x, -1, 0), tf.matrix_band_part(x, 1, 1),
        tf.matrix_band_part(x, -1, -1, name="all"), tf.matrix_set_diag(square, tf.ones([2, 3])),
        tf.matrix_band_part(tf.ones([3, 3], tf.int32), 0, 0),
    ]  # fmt: skip
    return [made, tf.gradients(made[2], x)]


@case
def partitioned(tf: Any) -> Any:
    x, n = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    parts = tf.dynamic_partition(x, n, 3)
    whole = tf.dynamic_partition(tf.constant(numbers(2, 3)), [[0, 1, 0], [1, 1, 0]], 2, name="own")
    places = tf.dynamic_partition(tf.range(5), n, 3)
    again = tf.dynamic_stitch(places, [one * 2.0 for one in parts])
    known = tf.dynamic_stitch([[0, 2], [[1, 2]]], [numbers(2, 2), tf.constant(numbers(1, 2, 2))])
    values = [parts, whole, again, known, tf.gradients(again * again, x)]
    return feeding(values, {x: numbers(5, 2), n: [2, 0, 2, 0, 0]})


@case
def sets_and_counts(tf: Any) -> Any:
    x = tf.placeholder(tf.int32, [None])
    values = [
        *tf.setdiff1d(x, [1, 3]), tf.bincount(x), *tf.identity_n([x, tf.constant(1.0)]),
        tf.bincount(x, minlength=8), tf.bincount(x, maxlength=3), tf.setdiff1d([1, 2], [2])[0],
        tf.bincount(x, weights=tf.constant(numbers(6))),
    ]  # fmt: skip
    return feeding([one if i < 5 and i != 2 else one + 0 for i, one in enumerate(values)],
                   {x: [1, 2, 3, 5, 5, 0]})  # fmt: skip


@case
def blocks_of_batches(tf: Any) -> Any:
    x = tf.constant(numbers(2, 4, 6, 3))
    odd = tf.placeholder(tf.float32, [None, 5, 3])
    made = [
        tf.space_to_batch_nd(x, [2, 3], [[0, 0], [0, 0]]),
        tf.space_to_batch_nd(odd, [2], [[1, 2]]), tf.space_to_batch(x, [[0, 0], [1, 1]], 2),
        tf.batch_to_space_nd(tf.constant(numbers(12, 2, 2, 1)), [2, 3], [[1, 0], [0, 2]]),
        tf.batch_to_space(tf.constant(numbers(8, 2, 3, 1)), [[0, 1], [1, 0]], 2),
    ]  # fmt: skip
    again = tf.batch_to_space_nd(made[1], [2], [[1, 2]])
    values = [*made, again, *tf.gradients(made[0] ** 2.0, x)]
    return feeding(values, {odd: numbers(2, 5, 3)})


@case
def patches_of_images(tf: Any) -> Any:
    x = tf.constant(numbers(2, 7, 6, 2))
    made = [
        tf.extract_image_patches(x, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 1, 1], "VALID"),
        tf.extract_image_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 2, 1, 1], "SAME", name="own"),
        tf.image.extract_image_patches(x, [1, 2, 2, 1], [1, 3, 3, 1], [1, 1, 1, 1], "SAME"),
    ]  # fmt: skip
    return [made, tf.gradients(made[1] ** 2.0, x)]


@case
def changed_elements_of_variables(tf: Any) -> Any:
    found = []
    for how in ("update", "add", "sub"):
        v = tf.Variable(numbers(4, 3))
        change = getattr(tf, f"scatter_nd_{how}")
        w = tf.Variable(numbers(4, 3))
        found += [change(v, [[0, 1], [3, 2]], [5.0, 6.0]), change(w, [[2], [0]], numbers(2, 3))]
    for how in ("max", "min"):
        v = tf.Variable(numbers(4, 3))
        found.append(getattr(tf, f"scatter_{how}")(v, [1, 3], numbers(2, 3)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(one) for one in found]


@case
def assertions_on_what_is_known(tf: Any) -> Any:
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32)
    of = tf.debugging
    return [
        error_of(lambda: tf.assert_rank_at_least(x, 3)), tf.assert_rank_at_least(x, 2).type,
        error_of(lambda: tf.assert_rank_in(x, [0, 1])), tf.assert_rank_in(x, [1, 2]).type,
        error_of(lambda: tf.assert_integer(x)), error_of(lambda: tf.assert_scalar(x)),
        error_of(lambda: tf.assert_type(x, tf.int32)), tf.assert_type(x, tf.float32).type,
        tf.is_numeric_tensor(x), tf.is_numeric_tensor(tf.constant("a")),
        of.is_numeric_tensor(x), error_of(lambda: of.assert_rank(x, 1)),
        error_of(lambda: tf.Session().run(tf.assert_rank_at_least(y, 1), {y: 1.0})),
        error_of(lambda: tf.Session().run(tf.assert_rank_in(y, [1, 2]), {y: 1.0})),
        error_of(lambda: tf.Session().run(tf.assert_rank_in(y, [1, 2]), {y: [1.0]})),
        error_of(lambda: of.assert_equal(tf.constant(1), 2)),
    ]  # fmt: skip


@case
def text_of_python(tf: Any) -> Any:
    of = tf.compat
    return [
        of.as_str(b"ab"), of.as_str("ab"), of.as_bytes("ab") == b"ab", of.as_text(b"ab"),
        of.as_str_any(3), of.as_str_any(b"x"), error_of(lambda: of.as_text(3)),
        error_of(lambda: of.as_bytes(3)), isinstance("a", of.bytes_or_text_types),
        isinstance(3, of.integral_types), isinstance(np.float32(3), of.real_types),
        of.path_to_str("a/b"),
    ]  # fmt: skip


@case
def spreads(tf: Any) -> Any:
    x, w = tf.constant(numbers(4, 3)), tf.constant(numbers(4, 1, low=0))
    mean, variance = tf.nn.weighted_moments(x, [0], w)
    kept = tf.nn.weighted_moments(x, [0, 1], w, keep_dims=True)
    count, total, squares, shift = tf.nn.sufficient_statistics(x, [0])
    shifted = tf.nn.sufficient_statistics(x, [0, 1], shift=0.5)
    normal = tf.nn.normalize_moments(count, total, squares, shift)
    loss = tf.nn.log_poisson_loss(tf.constant(numbers(4, 3, low=0)), x, True)
    values = [mean, variance, *kept, count, total, squares, *shifted[:3], *normal, loss,
              tf.nn.log_poisson_loss(tf.constant(numbers(4, 3, low=0)), x)]  # fmt: skip
    return [tf.identity(one) for one in values] + [shift, tf.gradients(variance, x)]


@case
def masks_of_sequences(tf: Any) -> Any:
    lengths = tf.placeholder(tf.int32, [None])
    x = tf.placeholder(tf.float32, [None, None])
    made = [
        tf.sequence_mask(lengths, tf.shape(x)[1]), tf.sequence_mask(lengths),
        tf.sequence_mask(lengths, maxlen=tf.shape(x)[1], dtype=tf.float32),
        tf.sequence_mask([[1, 3], [2, 0]], 4, tf.int32), tf.sequence_mask(tf.constant([2, 1]), 3),
        tf.sequence_mask(tf.cast(lengths, tf.int64), 4, name="own"),
        tf.sequence_mask([1, 2], tf.reduce_max(lengths)),
    ]  # fmt: skip
    loss = tf.reduce_sum(x * made[2])
    values = [*made, loss, *tf.gradients(loss, x)]
    return feeding(values, {lengths: [2, 4, 0], x: numbers(3, 5)})

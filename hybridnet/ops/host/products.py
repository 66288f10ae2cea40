"""Derivatives of products: of matrices, over axes, and convolution; and of factorizations.

The rules of factorizations are those of Giles, "An extended collection of matrix derivative
results for forward and reverse mode algorithmic differentiation", 2008.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import functions
from .convolution import Convolution
from .namespace import NoHostForm
from .table import FUNCTIONS
from .traced import (
    LATER,
    TRACING,
    Pending,
    Pull,
    TracedArray,
    call,
    composed,
    noted,
    noted_all,
    plain,
    rule,
    summed_like,
)


@rule("matmul")
def _matmul_rule(z: Any, x: Any, y: Any, **_: Any) -> Sequence[Pull]:
    if x.ndim > 2 == y.ndim:
        rows = x.reshape(-1, x.shape[-1])
        return [
            lambda g: (g.reshape(-1, g.shape[-1]) @ y.T).reshape(x.shape),
            lambda g: rows.T @ g.reshape(-1, g.shape[-1]),
        ]
    return [lambda g: summed_like(g @ y.mT, x), lambda g: summed_like(x.mT @ g, y)]


_of_matrices = TRACING["matmul"]


@composed("matmul")
def _matmul(x: Any, y: Any, **_: Any) -> Any:
    if x.ndim == 1:
        return call("matmul", x[None], y)[..., 0, :] if y.ndim > 1 else call("sum", x * y)
    return _of_matrices(x, y) if y.ndim > 1 else call("matmul", x, y[:, None])[..., 0]


def _product_later(compute: Any, x: Any, y: Any, axes: Any = 2) -> Any:
    of_x, of_y = functions.summed_axes(x, y, axes)
    if x.dtype != y.dtype:
        return compute(x, y, axes)
    left = [size for i, size in enumerate(x.shape) if i not in of_x]
    right = [size for i, size in enumerate(y.shape) if i not in of_y]
    return Pending((*left, *right), x.dtype, lambda: compute(x, y, axes))


LATER["tensordot"] = _product_later


def _matmul_later(compute: Any, x: Any, y: Any, **_: Any) -> Any:
    if x.dtype != y.dtype or min(x.ndim, y.ndim) < 2 or x.shape[-1] != y.shape[-2]:
        return compute(x, y)
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return Pending((*batch, x.shape[-2], y.shape[-1]), x.dtype, lambda: compute(x, y))


LATER["matmul"] = _matmul_later


@rule("tensordot")
def _tensordot_rule(z: Any, x: Any, y: Any, axes: Any = 2) -> Sequence[Pull]:
    of_x, of_y = functions.summed_axes(x, y, axes)
    if x.ndim == 2 == y.ndim and len(of_x) == 1:
        left, right = (x if of_x[0] else x.T), (y.T if of_y[0] else y)

        # Each in the order of its argument: what updates weights by them goes through both.
        def pull_rows(g: Any) -> Any:
            return g @ right.T if of_x[0] else right @ g.T

        def pull_columns(g: Any) -> Any:
            return g.T @ left if of_y[0] else left.T @ g

        return [pull_rows, pull_columns]
    free_x = [i for i in range(x.ndim) if i not in of_x]
    free_y = [i for i in range(y.ndim) if i not in of_y]
    left, right = _matrix(x, free_x, of_x), _matrix(y, of_y, free_y)

    def pull_x(g: Any) -> Any:
        return _product(g.reshape(len(left), -1), right.T, x.shape, [*free_x, *of_x], len(free_x))

    def pull_y(g: Any) -> Any:
        return _product(left.T, g.reshape(len(left), -1), y.shape, [*of_y, *free_y], len(of_y))

    return [pull_x, pull_y]


def _matrix(x: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """Returns an array as a matrix: some axes together, and the others."""
    height = math.prod([x.shape[axis] for axis in rows])
    width = math.prod([x.shape[axis] for axis in columns])
    return x.transpose([*rows, *columns]).reshape(height, width)


def _product(
    left: Any, right: Any, shape: Sequence[int], order: Sequence[int], num_rows: int
) -> Any:
    """Returns a product of matrices as an array, made in that array's order where that can be.

    Args:
        left, right: the matrices.
        shape: of the array.
        order: which of its axes are together the rows of the product, and then its columns.
        num_rows: how many of these are the rows.
    """
    if list(order) == sorted(order):
        return (left @ right).reshape(shape)
    if [*order[num_rows:], *order[:num_rows]] == sorted(order):
        return (right.T @ left.T).reshape(shape)
    made = (left @ right).reshape([shape[axis] for axis in order])
    return made.transpose(np.argsort(order))


@composed("dot")
def _dot(x: Any, y: Any) -> Any:
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return call("tensordot", x, y, ((x.ndim - 1,), (max(0, y.ndim - 2),)))


@composed("einsum")
def _einsum(how: str, *operands: Any, **_options: Any) -> Any:
    given, _, result = how.replace(" ", "").partition("->")
    names = given.split(",")
    whole = [x.value if type(x) is TracedArray else x for x in operands]
    if "..." in how:
        longest = max(
            np.ndim(x) - len(n) + 3 for x, n in zip(whole, names, strict=True) if "..." in n
        )
        spare = [c for c in "ABCDEFGHIJ" if c not in how][:longest]
        names = [
            n.replace("...", "".join(spare[longest - (np.ndim(x) - len(n) + 3) :]))
            for x, n in zip(whole, names, strict=True)
        ]
        result = result.replace("...", "".join(spare))
        how = ",".join(names) + "->" + result
    if (not result and "->" not in how) or any(len(set(n)) < len(n) for n in names):
        raise NoHostForm(f"the gradient of einsum {how}")

    def pull(number: int) -> Pull:
        others = [i for i in range(len(whole)) if i != number]
        sizes = dict(zip(names[number], whole[number].shape, strict=True))
        known = set(result).union(*(names[i] for i in others)) & set(names[number])
        inner = "".join(n for n in names[number] if n in known)
        how_back = ",".join([result, *(names[i] for i in others)]) + "->" + inner
        shape = [sizes[n] if n in known else 1 for n in names[number]]

        def back(g: Any) -> Any:
            made = np.einsum(how_back, g, *(whole[i] for i in others), optimize=True)
            return np.broadcast_to(made.reshape(shape), whole[number].shape)

        return back

    made = FUNCTIONS["einsum"](how, *whole)
    sources = [(x, pull(i)) for i, x in enumerate(operands) if type(x) is TracedArray]
    return noted(made, sources)


@composed("lax.conv_general_dilated")
def _convolution(x: Any, w: Any, *args: Any, **kwargs: Any) -> Any:
    convolution = Convolution(plain(x), plain(w), *args, **kwargs)
    pulls = (x, convolution.pull_x), (w, convolution.pull_w)
    result = Pending(convolution.shape, plain(x).dtype, convolution)
    return noted(result, [pair for pair in pulls if type(pair[0]) is TracedArray])


@rule("linalg.inv")
def _inv_rule(y: Any, x: Any) -> Sequence[Pull]:
    return [lambda g: -(y.mT @ g @ y.mT)]


@rule("linalg.det")
def _det_rule(y: Any, x: Any) -> Sequence[Pull]:
    if not np.all(y):
        raise NoHostForm("the gradient of linalg.det of a singular matrix")
    return [lambda g: (g * y)[..., None, None] * np.linalg.inv(x).mT]


@composed("linalg.slogdet")
def _slogdet(x: Any) -> Any:
    sign, logarithm = np.linalg.slogdet(x.value)
    return sign, noted(logarithm, [(x, lambda g: g[..., None, None] * np.linalg.inv(x.value).mT)])


@rule("linalg.solve")
def _solve_rule(y: Any, a: Any, b: Any) -> Sequence[Pull]:
    solve, vector = FUNCTIONS["linalg.solve"], b.ndim == 1

    def back(g: Any) -> Any:
        return solve(a.mT, g[..., None])[..., 0] if vector else solve(a.mT, g)

    def pull_a(g: Any) -> Any:
        rows = back(g)
        made = rows[..., None] * y[..., None, :] if vector else rows @ y.mT
        return summed_like(-made, a)

    return [pull_a, lambda g: summed_like(back(g), b)]


@composed("linalg.eigh")
def _eigh(x: Any, symmetrize_input: bool = True) -> Any:
    values, vectors = FUNCTIONS["linalg.eigh"](x.value, symmetrize_input)

    def pull(grads: list[Any]) -> Any:
        inner = np.zeros_like(x.value)
        if grads[1] is not None:
            inner = (vectors.mT @ grads[1]) * _inverse_distances(values)
        made = vectors @ _plus_diagonal(inner, grads[0]) @ vectors.mT
        return (made + made.mT) / 2 if symmetrize_input else made

    return noted_all([values, vectors], [(x, pull)])


def _inverse_distances(values: Any) -> Any:
    """Of each pair of values, 1 over the second less the first; 0 on the diagonal."""
    apart = values[..., None, :] - values[..., :, None]
    same = np.eye(values.shape[-1], dtype=bool)
    return np.where(same, 0, 1 / np.where(same, 1, apart)).astype(values.dtype)


def _plus_diagonal(matrices: Any, diagonal: Any) -> Any:
    if diagonal is None:
        return matrices
    return matrices + np.eye(matrices.shape[-1], dtype=matrices.dtype) * diagonal[..., None, :]


@composed("linalg.svd")
def _svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if full_matrices and compute_uv:
        raise NoHostForm("the gradient of linalg.svd with full matrices")
    u, s, vt = FUNCTIONS["linalg.svd"](x.value, full_matrices=False)
    if not compute_uv:
        return noted(s, [(x, lambda g: (u * g[..., None, :]) @ vt)])

    def pull(grads: list[Any]) -> Any:
        return _svd_gradient(u, s, vt, grads)

    return noted_all([u, s, vt], [(x, pull)])


def _svd_gradient(u: Any, s: Any, vt: Any, grads: Sequence[Any]) -> Any:
    """After Townsend, "Differentiating the singular value decomposition", 2016."""
    of_u, of_s, of_vt = grads
    apart = _inverse_distances(np.square(s))
    inner = np.zeros_like(apart)
    if of_u is not None:
        turned = u.mT @ of_u
        inner += (turned - turned.mT) * apart * s[..., None, :]
    if of_vt is not None:
        turned = vt @ of_vt.mT
        inner += s[..., :, None] * (turned - turned.mT) * apart
    made = u @ _plus_diagonal(inner, of_s) @ vt
    if of_u is not None and u.shape[-2] > s.shape[-1]:
        made = made + ((of_u - u @ (u.mT @ of_u)) / s[..., None, :]) @ vt
    if of_vt is not None and vt.shape[-1] > s.shape[-1]:
        made = made + u @ ((of_vt - (of_vt @ vt.mT) @ vt) / s[..., :, None])
    return made


@rule("linalg.pinv")
def _pinv_rule(y: Any, x: Any, rtol: Any) -> Sequence[Pull | None]:
    def pull(g: Any) -> Any:  # Golub and Pereyra, 1973
        left = np.eye(x.shape[-2], dtype=x.dtype) - x @ y
        right = np.eye(x.shape[-1], dtype=x.dtype) - y @ x
        made = left @ g.mT @ y @ y.mT + y.mT @ y @ g.mT @ right - y.mT @ g @ y.mT
        return made.astype(x.dtype, copy=False)

    return [pull, None]


@rule("linalg.cholesky", "lax.linalg.cholesky")
def _cholesky_rule(y: Any, x: Any) -> Sequence[Pull]:
    def pull(g: Any) -> Any:
        inverse = np.linalg.inv(y)
        inner = np.tril(y.mT @ np.tril(g))
        inner[..., range(y.shape[-1]), range(y.shape[-1])] /= 2
        made = inverse.mT @ inner @ inverse
        return ((made + made.mT) / 2).astype(x.dtype)

    return [pull]


@rule("lax.linalg.triangular_solve")
def _triangular_solve_rule(
    y: Any, a: Any, b: Any, *, left_side: bool = False, lower: bool = False,
    transpose_a: bool = False, unit_diagonal: bool = False,
) -> Sequence[Pull]:  # fmt: skip
    solve = FUNCTIONS["lax.linalg.triangular_solve"]

    def pull_b(g: Any) -> Any:
        return solve(
            a, g, left_side=left_side, lower=lower, transpose_a=not transpose_a,
            unit_diagonal=unit_diagonal,
        )  # fmt: skip

    def pull_a(g: Any) -> Any:
        # Of a^-1 b it is -a^-T g y^T, of b a^-1 likewise; where a is transposed, its transpose.
        back = pull_b(g)
        made = -(back @ y.mT) if left_side else -(y.mT @ back)
        made = made.mT if transpose_a else made
        part = np.tril(made) if lower else np.triu(made)
        return part - part * np.eye(a.shape[-1], dtype=a.dtype) if unit_diagonal else part

    return [pull_a, pull_b]

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
    plain,
    rule,
    summed_like,
)

__all__: list[str] = []


@rule("matmul")
def _matmul_rule(z: Any, x: Any, y: Any, **_: Any) -> Sequence[Pull]:
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


# -- factorizations --------------------------------------------------------------------------------


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
    def pull_a(g: Any) -> Any:
        back = np.linalg.solve(a.T, g)
        return -np.outer(back, y) if b.ndim == 1 else -(back @ y.T)

    return [pull_a, lambda g: np.linalg.solve(a.T, g)]


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

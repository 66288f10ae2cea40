"""Functions of the rows of arrays, and of their elements, in few passes over memory.

NumPy takes one pass for each step of a formula, and some 80 ns for the largest element of a row
alone. Here blocks of rows go through all steps while they are in the processor's cache, and rows of
moderate numbers are not searched for their largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray

from .table import named
from .traced import Pull, composed, noted, rule

#: Elements of a block of rows: 256 KB of float32, of which two are at hand at once.
_BLOCK_ELEMENTS: Final = 1 << 16
#: The same, of functions of several arrays.
_BLOCK_ELEMENTS_OF_SEVERAL: Final = 1 << 14
#: Elements of a row up to which sums without pairs are as exact: some hundred steps for each of a
#: vector's lanes at most.
_SHORT_ROW: Final = 1024
#: Powers of e up to here, and their sums, are far from the ends of float32.
_MODERATE_POWER: Final = 30.0
_ALL_ROWS: Final = (slice(None),)


def _blocks(rows: int, columns: int) -> Iterable[slice]:
    if 0 < rows * columns <= _BLOCK_ELEMENTS:
        return _ALL_ROWS
    return _steps(rows, max(1, _BLOCK_ELEMENTS // max(1, columns)))


def _steps(size: int, step: int) -> Iterator[slice]:
    return (slice(start, start + step) for start in range(0, size, step))


def _sums(x: NumpyArray) -> Any:
    """Sums of the rows of a matrix, as a column."""
    if x.shape[1] > _SHORT_ROW:
        return np.sum(x, 1, keepdims=True)
    return np.einsum("ij->i", x)[:, None]


def _products(x: NumpyArray, y: NumpyArray) -> Any:
    """Sums of the products of the rows of two matrices, as a column."""
    if x.shape[1] > _SHORT_ROW:
        return np.sum(x * y, 1, keepdims=True)
    return np.einsum("ij,ij->i", x, y)[:, None]


def _as_rows(
    x: NumpyArray, axis: int, like: NumpyArray | None = None
) -> tuple[NumpyArray, Callable[[NumpyArray], NumpyArray]]:
    """Returns an array as a matrix, with an axis along the rows, and what makes such of matrices.

    What is narrow is computed in float32, as in `half`.
    """
    rows, back = _last(x, (axis,), like)
    if x.dtype != np.float16:
        return rows, back
    return rows.astype(np.float32), lambda made: back(made.astype(x.dtype))


def _last(
    x: NumpyArray, axes: tuple[int, ...], like: NumpyArray | None = None
) -> tuple[NumpyArray, Callable[[NumpyArray], NumpyArray]]:
    """Returns an array as a matrix, some axes along its rows, and what makes such of matrices.

    Rows come as they lie in memory, so that what was transposed is not copied.

    Args:
        x: the array.
        axes: which are along the rows.
        like: one of the same shape, to whose rows those of `x` correspond; None for `x`.
    """
    guide = x if like is None else like
    along = tuple([axis % x.ndim for axis in axes])
    width = math.prod([x.shape[axis] for axis in along])
    shape = (x.size // max(1, width), width)
    if along == (x.ndim - 1,) and guide.flags.c_contiguous:
        if shape == x.shape:  # no view, which would be copied once more
            return x, lambda made: made
        return x.reshape(shape), lambda made: made.reshape(x.shape)
    others = [axis for axis in range(x.ndim) if axis not in along]
    others.sort(key=lambda axis: -guide.strides[axis])
    order = (*others, *along)
    turned = x.transpose(order)
    return turned.reshape(shape), lambda made: made.reshape(turned.shape).transpose(
        np.argsort(order)
    )


@named("nn.softmax")
def _softmax(x: NumpyArray, axis: int = -1) -> NumpyArray:
    rows, back = _as_rows(x, axis)
    made = np.empty(rows.shape, rows.dtype)
    for block in _blocks(*rows.shape):
        given, powers = rows[block], made[block]
        if given.size and given.min() >= -_MODERATE_POWER and given.max() <= _MODERATE_POWER:
            np.exp(given, out=powers)
        else:
            np.subtract(given, np.max(given, 1, keepdims=True), out=powers)
            np.exp(powers, out=powers)
        powers /= _sums(powers)
    return back(made)


@named("nn.log_softmax")
def _log_softmax(x: NumpyArray, axis: int = -1) -> NumpyArray:
    rows, back = _as_rows(x, axis)
    made = np.empty(rows.shape, rows.dtype)
    for block in _blocks(*rows.shape):
        given, shifted = rows[block], made[block]
        np.subtract(given, np.max(given, 1, keepdims=True), out=shifted)
        shifted -= np.log(_sums(np.exp(shifted)))
    return back(made)


@named("softmax_gradient")
def _softmax_gradient(grad: NumpyArray, output: NumpyArray, axis: int) -> NumpyArray:
    (rows, back), (grads, _) = _as_rows(output, axis), _as_rows(grad, axis, output)
    made = np.empty(rows.shape, rows.dtype)
    for block in _blocks(*rows.shape):
        np.subtract(grads[block], _products(grads[block], rows[block]), out=made[block])
        made[block] *= rows[block]
    return back(made)


@rule("softmax_gradient")
def _softmax_gradient_rule(
    y: NumpyArray, grad: NumpyArray, output: NumpyArray, axis: int
) -> Sequence[Pull]:
    def pull_output(g: NumpyArray) -> NumpyArray:
        slope = np.sum(grad * output, axis, keepdims=True)
        made: NumpyArray = g * (grad - slope) - grad * np.sum(g * output, axis, keepdims=True)
        return made

    return [lambda g: _softmax_gradient(g, output, axis), pull_output]


@rule("nn.softmax")
def _softmax_rule(y: NumpyArray, x: NumpyArray, axis: int = -1) -> Sequence[Pull]:
    return [lambda g: _softmax_gradient(g, y, axis)]


@named("log_softmax_gradient")
def _log_softmax_gradient(grad: NumpyArray, output: NumpyArray, axis: int) -> NumpyArray:
    (rows, back), (grads, _) = _as_rows(output, axis), _as_rows(grad, axis, output)
    made = np.empty(rows.shape, rows.dtype)
    for block in _blocks(*rows.shape):
        np.exp(rows[block], out=made[block])
        made[block] *= _sums(grads[block])
        np.subtract(grads[block], made[block], out=made[block])
    return back(made)


@rule("log_softmax_gradient")
def _log_softmax_gradient_rule(
    y: NumpyArray, grad: NumpyArray, output: NumpyArray, axis: int
) -> Sequence[Pull]:
    def pull_grad(g: NumpyArray) -> NumpyArray:
        made: NumpyArray = g - np.sum(g * np.exp(output), axis, keepdims=True)
        return made

    def pull_output(g: NumpyArray) -> NumpyArray:
        made: NumpyArray = -g * np.exp(output) * np.sum(grad, axis, keepdims=True)
        return made

    return [pull_grad, pull_output]


@rule("nn.log_softmax")
def _log_softmax_rule(y: NumpyArray, x: NumpyArray, axis: int = -1) -> Sequence[Pull]:
    return [lambda g: _log_softmax_gradient(g, y, axis)]


def _normalized_rows(rows: NumpyArray, eps: float) -> tuple[NumpyArray, NumpyArray]:
    """Returns the rows less their means, over their deviations; and one over these, a column."""
    made = np.empty(rows.shape, rows.dtype)
    inverse = np.empty((len(rows), 1), rows.dtype)
    width = rows.shape[1]
    for block in _blocks(*rows.shape):
        given, centered = rows[block], made[block]
        np.subtract(given, _sums(given) / width, out=centered)
        inverse[block] = 1 / np.sqrt(_products(centered, centered) / width + eps)
        centered *= inverse[block]
    return made, inverse


@named("normalized")
def _normalized(x: NumpyArray, axes: tuple[int, ...], eps: float) -> NumpyArray:
    rows, back = _last(x, axes)
    return back(_normalized_rows(rows, eps)[0])


@composed("normalized")
def _traced_normalized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    rows, back = _last(x.value, axes)
    made, inverse = _normalized_rows(rows, eps)

    def pull(g: NumpyArray) -> NumpyArray:
        grads, _ = _last(g, axes, x.value)
        found = np.empty(made.shape, made.dtype)
        width = made.shape[1]
        for block in _blocks(*made.shape):
            given, y = grads[block], made[block]
            np.multiply(y, _products(given, y) / -width, out=found[block])
            found[block] += given
            found[block] -= _sums(given) / width
            found[block] *= inverse[block]
        return back(found)

    return noted(back(made), [(x, pull)])


# -- element by element ----------------------------------------------------------------------------


def in_one_block(arrays: Sequence[Any]) -> bool:
    """Whether arrays are so small that `_in_blocks` takes them as they are."""
    largest: int = max([x.size for x in arrays])
    return largest <= 2 * _BLOCK_ELEMENTS_OF_SEVERAL


@named("in_blocks")
def _in_blocks(function: Callable[..., Any], *arrays: NumpyArray, **params: Any) -> Any:
    """Computes a function of each element, block by block.

    Args:
        function: of arrays; returns an array, or a tuple of them.
        arrays: of one shape; or of one length, and so are the results.
        params: given to the function as they are.
    """
    if in_one_block(arrays):
        return function(*arrays, **params)
    largest = max(x.size for x in arrays)
    shape, given = None, arrays
    if all(x.shape == arrays[0].shape and x.flags.c_contiguous for x in arrays):
        shape, given = arrays[0].shape, tuple([x.reshape(-1) for x in arrays])
    length = len(given[0])
    made: list[NumpyArray] = []  # whose memory is theirs: a view's would be copied
    rows: list[NumpyArray] = []  # the same, as the blocks go
    several = False
    for block in _steps(length, max(1, _BLOCK_ELEMENTS_OF_SEVERAL * length // largest)):
        found = function(*[x[block] for x in given], **params)
        several = isinstance(found, tuple)
        parts = found if several else (found,)
        if not made:
            made = [np.empty(shape or (length, *part.shape[1:]), part.dtype) for part in parts]
            rows = made if shape is None else [whole.reshape(-1) for whole in made]
        for whole, part in zip(rows, parts, strict=True):
            whole[block] = part
    return tuple(made) if several else made[0]

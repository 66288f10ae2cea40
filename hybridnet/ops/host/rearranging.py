"""Derivatives of the functions that rearrange arrays, take parts of them and join them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import functions, padding
from .segments import added_rows
from .table import FUNCTIONS
from .traced import (
    TRACING,
    Pull,
    Rule,
    TracedArray,
    call,
    composed,
    noted,
    noted_all,
    plain,
    rule,
    summed_like,
)


def _rearranged(compute: Callable[..., Any]) -> Rule:
    """The rule of a function whose results are elements of its argument, or 0.

    What becomes of each element is found by rearranging their numbers, which begin with 1.
    """

    def derive(y: Any, x: Any, *args: Any, **kwargs: Any) -> Sequence[Pull]:
        def pull(g: Any) -> Any:
            numbers = np.arange(1, x.size + 1).reshape(x.shape)
            places = np.ravel(compute(numbers, *args, **kwargs))
            sums = np.bincount(places, weights=np.ravel(g), minlength=x.size + 1)
            return sums[1:].reshape(x.shape).astype(x.dtype)

        return [pull]

    return derive


rule("rollaxis")(_rearranged(np.rollaxis))


# -- in another order, or in part: the gradient is the gradient's, the other way round -------------


@rule("flip")
def _flip_rule(y: Any, x: Any, axis: Any = None) -> Sequence[Pull]:
    return [lambda g: np.flip(g, axis)]


@rule("roll")
def _roll_rule(y: Any, x: Any, shift: Any, axis: Any = None) -> Sequence[Pull]:
    return [lambda g: np.roll(g, np.negative(shift), axis)]


@rule("rot90")
def _rot90_rule(y: Any, x: Any, k: int = 1, axes: Any = (0, 1)) -> Sequence[Pull]:
    return [lambda g: np.rot90(g, -k, axes)]


for _name in ("tril", "triu"):
    rule(_name)(lambda y, x, k=0, _part=FUNCTIONS[_name]: [lambda g: _part(g, k)])


@rule("diagonal")
def _diagonal_rule(
    y: Any, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Sequence[Pull]:
    def pull(g: Any) -> Any:
        made = np.zeros_like(x)
        part = np.diagonal(made, offset, axis1, axis2)
        part.flags.writeable = True
        part[...] = g
        return made

    return [pull]


@rule("diag")
def _diag_rule(y: Any, x: Any, k: int = 0) -> Sequence[Pull | None]:
    return _diagonal_rule(y, x, k) if x.ndim == 2 else _diagflat_rule(y, x, k)


@rule("diagflat")
def _diagflat_rule(y: Any, x: Any, k: int = 0) -> Sequence[Pull]:
    return [lambda g: np.diagonal(g, k).reshape(x.shape)]


# -- again and again: what came of one element is added up -----------------------------------------


@rule("repeat")
def _repeat_rule(
    y: Any, x: Any, repeats: Any, axis: int | None = None, **_: Any
) -> Sequence[Pull | None]:
    if np.size(repeats) != 1:
        return _rearranged(FUNCTIONS["repeat"])(y, x, repeats, axis)
    shape = (x.size,) if axis is None else x.shape
    along = 0 if axis is None else axis % x.ndim
    apart = (*shape[: along + 1], int(np.reshape(repeats, ())), *shape[along + 1 :])
    return [lambda g: _total(g.reshape(apart), along + 1).reshape(x.shape)]


@rule("tile")
def _tile_rule(y: Any, x: Any, reps: Any) -> Sequence[Pull | None]:
    counts = list(reps) if isinstance(reps, (tuple, list)) else [reps]
    rank = max(len(counts), x.ndim)
    counts = [1] * (rank - len(counts)) + counts
    shape = [1] * (rank - x.ndim) + list(x.shape)
    apart = [size for pair in zip(counts, shape, strict=True) for size in pair]
    return [lambda g: _total(g.reshape(apart), tuple(range(0, 2 * rank, 2))).reshape(x.shape)]


def _total(g: Any, axes: Any) -> Any:
    return FUNCTIONS["sum"](g, axis=axes)


@rule("take")
def _take_rule(
    y: Any, x: Any, indices: Any, axis: int | None = None, mode: str | None = None, **kwargs: Any
) -> Sequence[Pull | None]:
    if mode not in (None, "clip") or not x.ndim or not np.size(indices) or not x.size:
        return _rearranged(FUNCTIONS["take"])(y, x, indices, axis, mode, **kwargs)
    whole, along = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
    length = whole.shape[along]
    before, after = whole.shape[:along], whole.shape[along + 1 :]

    def pull(g: Any) -> Any:
        """Rows of the gradient that belong to one row are added up, and put into its place."""
        flat = np.ravel(indices)
        places = np.clip(flat, 0, length - 1) if mode == "clip" else flat % length
        rows = g.reshape(*before, len(places), *after)
        rows = rows.swapaxes(0, along)
        made = added_rows(places, rows.reshape(len(places), -1), length).astype(x.dtype)
        return made.reshape(length, *rows.shape[1:]).swapaxes(0, along).reshape(x.shape)

    return [pull]


def _into(x: Any, place: Any) -> Pull:
    """The pull of a part of an array in which no element is twice."""

    def pull(g: Any) -> Any:
        made = np.zeros_like(x)
        made[place] = g
        return made

    return pull


@rule("run_of")
def _run_of_rule(y: Any, x: Any, size: int, offset: Any, block: bool) -> Sequence[Pull]:
    return [lambda g: FUNCTIONS["run_assigned"](np.zeros(x.shape, x.dtype), g, offset, block)]


@rule("run_assigned")
def _run_assigned_rule(y: Any, x: Any, values: Any, offset: Any, block: bool) -> Sequence[Pull]:
    none, shape = np.zeros(values.shape, x.dtype), values.shape
    return [
        lambda g: FUNCTIONS["run_assigned"](g, none, offset, block),
        lambda g: FUNCTIONS["run_of"](g, none.size, offset, block).reshape(shape),
    ]


@rule("lax.dynamic_slice")
def _dynamic_slice_rule(y: Any, x: Any, starts: Any, sizes: Any) -> Sequence[Pull]:
    return [_into(x, functions.place_of(x.shape, starts, sizes))]


@rule("lax.dynamic_update_slice")
def _dynamic_update_slice_rule(y: Any, x: Any, update: Any, starts: Any) -> Sequence[Pull]:
    place = functions.place_of(x.shape, starts, update.shape)

    def pull_x(g: Any) -> Any:
        made = g.copy()
        made[place] = 0
        return made

    return [pull_x, lambda g: g[place]]


@rule("getitem")
def _getitem_rule(y: Any, x: Any, key: Any) -> Sequence[Pull | None]:
    keys = key if type(key) is tuple else (key,)
    kinds = [np.asarray(one).dtype.kind for one in keys if isinstance(one, (np.ndarray, list))]
    if kinds.count("b") == len(kinds):  # no element is taken twice
        return [_into(x, key)]
    if len(kinds) < len(keys) or "b" in kinds or not y.size:
        return _rearranged(operator.getitem)(y, x, key)
    sizes = x.shape[: len(keys)]

    def pull(g: Any) -> Any:
        wrapped = [np.mod(one, size) for one, size in zip(keys, sizes, strict=True)]
        places = np.ravel(np.ravel_multi_index(np.broadcast_arrays(*wrapped), sizes))
        made = added_rows(places, g.reshape(len(places), -1), math.prod(sizes))
        return made.reshape(x.shape).astype(x.dtype, copy=False)

    return [pull]


class _TracedAt:
    """As ``array.at``: the array or what is put into it is traced."""

    def __init__(self, array: Any, key: Any = None) -> None:
        self._array, self._key = array, key

    def __getitem__(self, key: Any) -> _TracedAt:
        return _TracedAt(self._array, plain(key))

    def get(self, **_: Any) -> Any:
        """The elements themselves."""
        return self._array[self._key]

    def set(self, values: Any, mode: str | None = None) -> Any:
        """With these in their place; of a position that is named twice, the last one's."""
        key = self._key

        def pull_array(g: Any) -> Any:
            made = g.copy()
            made[key] = 0
            return made

        return self._changed("set", values, pull_array)

    def add(self, values: Any, mode: str | None = None) -> Any:
        """With these added."""
        return self._changed("add", values, lambda g: g)

    def _changed(self, how: str, values: Any, pull_array: Pull) -> Any:
        array, key, given = plain(self._array), self._key, plain(values)
        made = getattr(FUNCTIONS["at"](array)[key], how)(given)
        pulls = [(self._array, pull_array), (values, lambda g: summed_like(g[key], given))]
        sources = [pair for pair in pulls if type(pair[0]) is TracedArray]
        return noted(made, sources) if sources else made


TRACING["at"] = _TracedAt


@rule(
    "reshape",
    "squeeze",
    "expand_dims",
    "ravel",
    "flatten",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
)
def _reshape_rule(y: Any, x: Any, *_: Any, **__: Any) -> Sequence[Pull]:
    return [lambda g: g.reshape(x.shape)]


@rule("transpose")
def _transpose_rule(y: Any, x: Any, axes: Any = None) -> Sequence[Pull]:
    if axes is None:
        return [lambda g: np.transpose(g)]
    back = np.argsort([axis % x.ndim for axis in axes])
    return [lambda g: np.transpose(g, back)]


@rule("swapaxes")
def _swapaxes_rule(y: Any, x: Any, axis1: int, axis2: int) -> Sequence[Pull]:
    return [lambda g: np.swapaxes(g, axis1, axis2)]


@rule("moveaxis")
def _moveaxis_rule(y: Any, x: Any, source: Any, destination: Any) -> Sequence[Pull]:
    return [lambda g: np.moveaxis(g, destination, source)]


@rule("broadcast_to")
def _broadcast_to_rule(y: Any, x: Any, shape: Any) -> Sequence[Pull]:
    return [lambda g: summed_like(g, x)]


@rule("pad")
def _pad_rule(
    y: Any, x: Any, widths: Any, mode: Any = "constant", **_: Any
) -> Sequence[Pull | None]:
    if mode == "constant":
        pairs = np.broadcast_to(widths, (x.ndim, 2)).tolist()
        axes = zip(pairs, x.shape, strict=True)
        inside = tuple([slice(before, before + size) for (before, _after), size in axes])
        return [lambda g: g[inside]]
    return _rearranged(lambda numbers: np.pad(numbers, widths, mode))(y, x)


@rule("lax.pad")
def _lax_pad_rule(y: Any, x: Any, value: Any, widths: Any) -> Sequence[Pull | None]:
    _, into, of = padding.padded_places(x.shape, widths)
    put = _into(x, of)
    return [lambda g: put(g[into]), None]


@composed("trace")
def _trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **_: Any) -> Any:
    return call("sum", call("diagonal", x, offset, axis1, axis2), axis=-1)


def _join(x: Sequence[Any], axis: int, join: Callable[..., Any]) -> Any:
    values = [plain(one) for one in x]
    made = join(values, axis=axis)
    is_new = join is np.stack
    along = axis % made.ndim
    sources, start = [], 0
    for one, value in zip(x, values, strict=True):
        size = 1 if is_new else value.shape[along]
        if type(one) is TracedArray:
            place = (slice(None),) * along + (start if is_new else slice(start, start + size),)

            def pull(g: Any, place: Any = place, dtype: Any = one.dtype) -> Any:
                return g[place].astype(dtype)

            sources.append((one, pull))
        start += size
    return noted(made, sources)


@composed("concatenate")
def _concatenate(x: Any, axis: int | None = 0, **_: Any) -> Any:
    if axis is None:
        return _join([call("ravel", one) for one in x], 0, np.concatenate)
    return _join(list(x), axis, np.concatenate)


@composed("stack")
def _stack(x: Any, axis: int = 0, **_: Any) -> Any:
    return _join(list(x), axis, np.stack)


def _joined_rows(path: str, least: int, axis: Callable[[Any], int]) -> None:
    @composed(path)
    def joined(x: Any, **_: Any) -> Any:
        raised = [call(f"atleast_{least}d", one) for one in x]
        return _join(raised, axis(raised[0]), np.concatenate)


_joined_rows("vstack", 2, lambda x: 0)
_joined_rows("hstack", 1, lambda x: 0 if x.ndim == 1 else 1)
_joined_rows("dstack", 3, lambda x: 2)


@composed("column_stack")
def _column_stack(x: Any) -> Any:
    return _join([one.reshape(-1, 1) if one.ndim < 2 else one for one in x], 1, np.concatenate)


@composed("diff")
def _diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    before = (slice(None),) * (axis % x.ndim)
    for _ in range(n):
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x


@composed("broadcast_arrays")
def _broadcast_arrays(*arrays: Any) -> list[Any]:
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return [call("broadcast_to", x, shape) for x in arrays]


@composed("split")
def _split(x: Any, indices: Any, axis: int = 0) -> list[Any]:
    parts = FUNCTIONS["split"](x.value, indices, axis)

    def pull(grads: list[Any]) -> Any:
        pairs = zip(grads, parts, strict=True)
        return np.concatenate([np.zeros_like(y) if g is None else g for g, y in pairs], axis)

    return list(noted_all(parts, [(x, pull)]))


@rule("take_along_axis")
def _take_along_axis_rule(
    y: Any, x: Any, indices: Any, axis: int | None = None, mode: str | None = None
) -> Sequence[Pull | None]:
    one = None if axis is None else (*x.shape[:axis], 1, *x.shape[axis % x.ndim + 1 :])
    if indices.shape != one:
        return _rearranged(FUNCTIONS["take_along_axis"])(y, x, indices, axis, mode)

    def pull(g: Any) -> Any:  # no element is taken twice
        made = np.zeros_like(x)
        places = np.clip(indices, 0, x.shape[axis] - 1) if mode == "clip" else indices
        np.put_along_axis(made, places, g, axis)
        return made

    return [pull]

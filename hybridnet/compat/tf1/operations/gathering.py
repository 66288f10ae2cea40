"""Finding and placing elements: ``tf.gather``, ``tf.where``, ``tf.one_hot``, ``tf.scatter_nd``.

An index out of range is moved to the nearest element (in a gather) or left out (in a scatter),
where TensorFlow fails on CPUs: XLA has no errors at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..dtypes import as_dtype
from ..graph import axis_of, known_count, known_numbers, require_kind, static_value, with_default
from ..graph.adding import EdgeHandle, Tensor, apply_shaped, described, fused, handle, of_shape, op
from ..graph.control import name_scope
from ..graph.values import convert_to_tensor, require_same
from .creation import range_of
from .elementwise import floordiv, floormod, less, maximum, minimum, subtract
from .reduction import reduce_max

__all__ = [
    "confusion_matrix", "embedding_lookup", "gather", "gather_nd", "invert_permutation", "one_hot",
    "scatter_nd", "sequence_mask", "tensor_scatter_nd_add", "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update", "where_v2",
]  # fmt: skip


def _indices(kind: str, indices: Any) -> Tensor:
    places = convert_to_tensor(indices, name="indices")
    return require_kind(kind, "indices", places, lambda dtype: dtype.is_integer)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """Returns slices of a tensor along an axis.

    Args:
        params: the tensor; a `Variable` may be.
        indices: whole numbers, which slices.
        validate_indices: without meaning here.
        axis: along which; default the first.
        batch_dims: must be 0.
    """
    if batch_dims:
        raise ValueError("gather: batch_dims must be 0; use gather_nd")
    x, places = convert_to_tensor(params, name="params"), _indices("GatherV2", indices)
    number = axis_of("GatherV2", with_default(axis, 0), x.shape.ndims)
    return op("GatherV2", "take", [x, places], name=name, axis=number, mode="clip")


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Returns the elements or slices at tuples of indices, which the last axis of `indices` holds.

    Args:
        params: a tensor.
        indices: (..., depth) whole numbers, for the first `depth` axes.
        batch_dims: must be 0.
    """
    if batch_dims:
        raise ValueError("gather_nd: batch_dims must be 0")
    x, places = convert_to_tensor(params, name="params"), _indices("GatherNd", indices)
    return op("GatherNd", "_gather_tuples", [x, places], name=name)


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """Returns rows of a table, or of one that is cut into several.

    Each table is looked up where it is: only rows go to another task.

    Args:
        params: the table, (rows, ...); or a list of tables or a `PartitionedVariable`, each part
            with some of the rows.
        ids: whole numbers, which rows.
        partition_strategy: which table has a row. 'mod': one after the other has the next row; of
            n tables row i is row i // n of table i % n. 'div': the first table has the first rows,
            and so on, as `tf.get_variable` cuts a variable; the first tables have one more if the
            number of rows does not divide.
        validate_indices: without meaning here.
        max_norm: what the norm of a row is clipped to, if given.

    Raises:
        ValueError: there is no table, the rows of two have different shapes, or
            `partition_strategy` is something else.
    """
    # A `PartitionedVariable` is told by its partitions, as variables are made of operations.
    listed = isinstance(params, (list, tuple)) or hasattr(params, "partitions")
    given = list(params) if listed else [params]
    if not given or params is None:
        raise ValueError("embedding_lookup: params must be a table, or at least one in a list")
    with name_scope(name, "embedding_lookup"):
        places = _indices("GatherV2", ids)
        tables = require_same("GatherV2", [f"params_{i}" for i in range(len(given))], given)
        if len(tables) == 1:
            return _rows(tables[0], places, max_norm, "Identity")
        rest = tables[0].shape[1:]
        for one in tables[1:]:
            rest = rest.merge_with(one.shape[1:])
        which, places = _in_tables(tables, places, partition_strategy)
        found = [_rows(one, places, None, "GatherV2") for one in tables]

        def chosen(which: EdgeHandle, *rows: EdgeHandle) -> EdgeHandle:
            for _ in range(len(rest)):
                which = which.expand_dims(axis=-1)
            made = rows[0]
            for number, one in enumerate(rows[1:], 1):
                here = handle("_npi_equal_scalar", which, scalar=float(number))
                made = handle("_npi_where", here, one, made)
            return _clipped(made, max_norm)

        return fused("Reshape", chosen, [which, *found], name="Reshape_1")


def _rows(table: Tensor, places: Tensor, max_norm: Any, name: str) -> Tensor:
    """Returns rows of one table, from where that is."""

    def rows(x: EdgeHandle, places: EdgeHandle) -> EdgeHandle:
        return _clipped(handle("take", x, places, axis=0, mode="clip"), max_norm)

    with table.graph.colocate_with(table.op):
        return fused(name, rows, [table, places], name=name)


def _clipped(rows: EdgeHandle, max_norm: Any) -> EdgeHandle:
    if max_norm is None:
        return rows
    total = handle("_np_sum", rows.square(), axis=(-1,), keepdims=True)
    length = handle("_maximum_scalar", total, scalar=1e-24).sqrt()
    longest = handle("_maximum_scalar", length, scalar=float(max_norm))
    return rows * float(max_norm) / longest


def _in_tables(tables: list[Tensor], ids: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """Returns which table has each row, and which row it is there."""
    if strategy not in ("mod", "div"):
        raise ValueError(
            f"Unrecognized partition strategy: {strategy}. Must be one of either `mod` or `div`."
        )
    sizes = [one.shape[0].value for one in tables]
    if None in sizes:
        raise ValueError(
            f"embedding_lookup: the number of rows of each of several tables must be known, {sizes}"
        )
    count, total = len(tables), sum(sizes)
    ids = minimum(maximum(ids, 0), total - 1)
    if strategy == "mod":
        return floormod(ids, count), floordiv(ids, count)
    each, more = divmod(total, count)
    each = max(each, 1)  # where it is 0, all rows are in the first tables
    first = less(ids, more * (each + 1))
    which = where_v2(first, floordiv(ids, each + 1), floordiv(subtract(ids, more), each))
    return which, where_v2(first, floormod(ids, each + 1), floormod(subtract(ids, more), each))


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns an array with one number at the places that indices say, and another elsewhere.

    Args:
        indices: whole numbers; one that is out of range has a place nowhere.
        depth: the size of the new axis, which may be a tensor. What a tensor holds must be known
            before the program runs: by shapes, or what is fed.
        on_value: the number; default 1.
        off_value: the other one; default 0.
        axis: where the new axis is; default last.
        dtype: default that of the numbers, or float32.
    """
    places = _indices("OneHot", indices)
    count = known_numbers(depth)
    if not isinstance(count, int):
        count = convert_to_tensor(depth, name="depth")
        if count.shape.ndims not in (None, 0):
            raise ValueError(f"one_hot: depth must be one whole number, got {depth}")
    given = [convert_to_tensor(one) for one in (on_value, off_value) if one is not None]
    kind = as_dtype(dtype or (given[0].dtype if given else dtypes.float32)).base_dtype
    on, off = (static_value(one) for one in (with_default(on_value, 1), with_default(off_value, 0)))
    dims = places.shape._dims
    number = -1 if axis is None else axis_of("OneHot", axis, len(dims or ()) + 1)
    is_last = number in (-1, len(dims or ()))
    with name_scope(name, "one_hot", [places]) as scope:
        values = {"on_value": float(on), "off_value": float(off), "dtype": kind.numpy.name}
        made = apply_shaped(
            "OneHot", "one_hot", [places], {"depth": count}, values, dtype=kind,
            dims=None if dims is None else (*dims, None), name=scope if is_last else None,
        )  # fmt: skip
        if is_last:
            return made
        params = {"source": -1, "destination": number}
        return op("OneHot", "_np_moveaxis", [made], name=scope, **params)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Returns elements of `x` where a condition is True, and of `y` elsewhere; all broadcast."""
    if x is None or y is None:
        raise ValueError("where_v2: x and y must both be given; tf.where has another form")
    chosen = convert_to_tensor(condition, dtypes.bool, name="condition")
    pair = require_same("SelectV2", ("t", "e"), (x, y))
    return op("SelectV2", "_npi_where", [chosen, *pair], name=name)


# Placing ------------------------------------------------------------------------------------------


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Returns zeros to which slices are added at tuples of indices.

    Args:
        indices: (..., depth) whole numbers, for the first `depth` axes.
        updates: (..., *rest), what is added.
        shape: of the result: a list of numbers (some may be tensors), or a tensor.
    """
    inputs = _indices("ScatterNd", indices), convert_to_tensor(updates, name="updates")
    return of_shape("ScatterNd", "_scatter_tuples", inputs, shape, inputs[1].dtype, name=name)


def _changed(called: str, how: str, doc: str) -> Callable[..., Tensor]:
    kind = f"TensorScatter{called.rpartition('_')[2].capitalize()}"

    def function(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        x, values = require_same(kind, ("tensor", "updates"), (tensor, updates))
        return op(kind, "_update_tuples", [x, _indices(kind, indices), values], name=name, how=how)

    doc = f"Returns a tensor with slices {doc} at tuples of indices; see `scatter_nd`."
    return described(function, called, doc)


tensor_scatter_nd_update = _changed("tensor_scatter_nd_update", "set", "replaced")
tensor_scatter_nd_add = _changed("tensor_scatter_nd_add", "add", "added")
tensor_scatter_nd_sub = _changed("tensor_scatter_nd_sub", "sub", "subtracted")


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """Returns where each number of a permutation of 0, 1, ... is in it."""
    order = _indices("InvertPermutation", x)
    kind = order.dtype.base_dtype.numpy.name
    return op("InvertPermutation", "argsort", [order], name=name, axis=0, dtype=kind)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None
) -> Tensor:
    """Returns for each length a row whose first elements, as many as that, are True.

    Args:
        lengths: whole numbers.
        maxlen: the length of the rows, which may be a tensor; default the largest of `lengths`.
            What a tensor holds must be known before the program runs: by shapes, or what is fed.
        dtype: of the result.
    """
    with name_scope(name, "SequenceMask", [lengths]):
        rows = _indices("SequenceMask", lengths)
        if maxlen is None:
            known = static_value(rows)
            maxlen = reduce_max(rows) if known is None else int(known.max(initial=0))
        count = convert_to_tensor(maxlen, name="maxlen")
        if count.shape.ndims not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        kind = as_dtype(dtype).base_dtype

        def mask(places: EdgeHandle, rows: EdgeHandle) -> EdgeHandle:
            wide = handle("Cast", rows.expand_dims(axis=-1), dtype=count.dtype.name)
            found = handle("_npi_less", places, wide)
            return found if kind.is_bool else handle("Cast", found, dtype=kind.numpy.name)

        of, last = ("Less", "Less") if kind.is_bool else ("Cast", "Cast_1")
        return fused(of, mask, [range_of(count), rows], name=last)


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """Returns how often each label was predicted as each class.

    Args:
        labels: (n,) whole numbers.
        predictions: (n,) whole numbers.
        num_classes: how many there are, known when the graph is built.
        dtype: of the result.
        weights: (n,) what each counts; default 1.

    Returns:
        (num_classes, num_classes): label by prediction.
    """
    refusal = "confusion_matrix: num_classes must be given as a known number"
    count = known_count(num_classes, refusal)
    kind = as_dtype(dtype).base_dtype
    with name_scope(name, "confusion_matrix"):
        pair = [_indices("ConfusionMatrix", one) for one in (labels, predictions)]
        extra = [] if weights is None else [convert_to_tensor(weights, kind)]

        def counted(labels: EdgeHandle, predictions: EdgeHandle, *each: EdgeHandle) -> EdgeHandle:
            wide = [handle("Cast", one, dtype="int64") for one in (labels, predictions)]
            places = handle("stack", *wide, axis=-1)
            ones = handle("Cast", labels.ones_like(), dtype=kind.numpy.name)
            return handle("_scatter_tuples", places, *(each or [ones]), shape=(count, count))

        return fused("ScatterNd", counted, [*pair, *extra], name="ScatterNd")

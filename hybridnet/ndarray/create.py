"""Making arrays: from host data, filled, and by counting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridnet.base.array_types import ArrayLike, Dims, DTypeLike
from hybridnet.base.context import Context, current_context
from hybridnet.base.dtype import FLOAT32, as_dtype, name_of
from hybridnet.base.errors import OutOfMemoryError, ParameterError, ShapeError
from hybridnet.base.mesh import Mesh
from hybridnet.base.numpy_mode import mode
from hybridnet.base.placement import Placement
from hybridnet.base.shape_arguments import size_of, sizes_of
from hybridnet.ops.core import registry

from .blank import create_by, filled, zeros_of
from .copies import host_array, put
from .ndarray import NDArray
from .placed import spread_over
from .storage_types import storage_type

__all__ = [
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "full",
    "linspace",
    "moveaxis",
    "ones",
    "zeros",
]


def array(
    source_array: ArrayLike,
    ctx: Context | None = None,
    dtype: DTypeLike = None,
    *,
    placement: Placement | None = None,
) -> NDArray:
    """Makes an array from host data, an NDArray, or nested sequences.

    Args:
        source_array: the data; copied. Of a matrix of `scipy.sparse` a csr array is made.
        ctx: where to; default the current context.
        dtype: default that of an NDArray or such a matrix, and float32 for anything else, as in
            MXNet: for NumPy arrays too.
        placement: how it lies, if `ctx` is a mesh; see `NDArray.to_placement`.

    Returns:
        An array of the data's shape.

    Raises:
        DTypeError: `dtype` is none that hybridnet computes with.
        ShapeError: nested sequences are ragged.
        ParameterError: the data are no real numbers; or the placement cannot be.

    Examples:
        >>> nd.array([[1, 2], [3, 4]]).dtype
        <class 'numpy.float32'>
        >>> nd.array([1, 2], dtype="int32").asnumpy().tolist()
        [1, 2]
    """
    ctx = ctx or current_context()
    if placement is not None:
        return _on_mesh(source_array, ctx, dtype, placement)
    if isinstance(source_array, NDArray):
        moved = source_array.copyto(ctx)
        return moved if dtype is None else moved.astype(dtype, copy=False)
    if hasattr(source_array, "tocsr"):
        make = storage_type("csr", "nd.array").of_matrix
        assert make is not None
        matrix: NDArray = make(source_array, ctx, dtype)
        return matrix
    wanted = FLOAT32 if dtype is None else as_dtype(dtype)
    return NDArray.from_value(put(host_array(source_array, wanted, "nd.array"), ctx), ctx)


def _on_mesh(source: ArrayLike, ctx: Context, dtype: DTypeLike, placement: Placement) -> NDArray:
    if not isinstance(ctx, Mesh):
        raise ParameterError(f"nd.array: placement requires a mesh as ctx, got {ctx}")
    if isinstance(source, NDArray):
        given = source if dtype is None else source.astype(dtype, copy=False)
        if given.context is ctx:
            return given.to_placement(placement)
        return NDArray.from_value(spread_over(given, ctx, placement), ctx)
    wanted = FLOAT32 if dtype is None else as_dtype(dtype)
    host = host_array(source, wanted, "nd.array")
    return NDArray.from_value(spread_over(host.copy(), ctx, placement), ctx)


def _check_rest(function: str, given: dict[str, object]) -> None:
    """Raises a TypeError for arguments that neither arrays nor symbols take."""
    for name in given:
        if name != "name" and not name.startswith("__"):
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def _known(function: str, shape: Dims) -> tuple[int, ...]:
    """Returns a shape that a user gave.

    Raises:
        ShapeError: it has no dimensions, or one of 0, which say in MXNet's own mode of shapes that
            they are not known.
    """
    sizes = sizes_of(function, shape)
    if not mode.shape and (not sizes or 0 in sizes):
        raise ShapeError(
            f"{function}: got shape {sizes}, which says that it is not known; arrays without "
            "elements or dimensions are made in `with mx.util.np_shape():`, by mx.np or nd.empty"
        )
    return sizes


def zeros(
    shape: Dims,
    ctx: Context | None = None,
    dtype: DTypeLike = None,
    stype: str | None = None,
    out: NDArray | None = None,
    **kwargs: object,
) -> NDArray:
    """Returns an array of zeros (float32 by default), in the storage type `stype`.

    With `out`, that array is overwritten and returned. ``name`` and attributes such as
    ``__layout__``, which symbols have, are passed over.

    Raises:
        ShapeError: outside of `util.np_shape` the shape has no dimensions, or one of 0.
    """
    _check_rest("zeros", kwargs)
    sizes = _known("nd.zeros", shape)
    if stype not in (None, "default"):
        made = zeros_of(sizes, ctx, dtype, stype)
        return made if out is None else made.copyto(out)
    return filled("_zeros", sizes, ctx, dtype, out)


def ones(
    shape: Dims,
    ctx: Context | None = None,
    dtype: DTypeLike = None,
    out: NDArray | None = None,
    **kwargs: object,
) -> NDArray:
    """Returns an array of ones.

    Args:
        shape: the dimensions, a number or a sequence of them.
        ctx: where; default the current context.
        dtype: default float32.
        out: an array to overwrite and return instead of making one.
        **kwargs: as for `zeros`.

    Raises:
        ShapeError: as for `zeros`.
    """
    _check_rest("ones", kwargs)
    return filled("_ones", _known("nd.ones", shape), ctx, dtype, out)


def empty(
    shape: Dims, ctx: Context | None = None, dtype: DTypeLike = None, stype: str | None = None
) -> NDArray:
    """Returns an array that is to be overwritten. In hybridnet it holds zeros.

    Args:
        shape: the dimensions; unlike for `zeros`, there may be none, or some of 0.
        ctx: where; default the current context.
        dtype: default float32.
        stype: 'default' (dense), 'row_sparse' or 'csr'.
    """
    return zeros_of(shape, ctx, dtype, stype)


def full(
    shape: Dims,
    val: float,
    ctx: Context | None = None,
    dtype: DTypeLike = FLOAT32,
    out: NDArray | None = None,
) -> NDArray:
    """Returns an array with every element equal to `val`.

    Args:
        shape: the dimensions, a number or a sequence of them.
        val: a number.
        ctx: where; default the current context.
        dtype: default float32.
        out: an array to overwrite and return instead of making one.

    Examples:
        >>> nd.full((2, 2), 7).asnumpy().tolist()
        [[7.0, 7.0], [7.0, 7.0]]
    """
    made = empty(shape, ctx, dtype) if out is None else out
    made[:] = val
    return made


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: DTypeLike = FLOAT32,
) -> NDArray:
    """Returns evenly spaced numbers in [start, stop), each `repeat` times.

    With one number given, counts from 0 to it.

    Args:
        start, stop, step: numbers; a negative `step` counts down.
        repeat: how often each comes.
        infer_range: must be left out: it is for symbols.
        ctx: where; default the current context.
        dtype: default float32, unlike NumPy's.

    Examples:
        >>> nd.arange(2, 8, 2, repeat=2).asnumpy().tolist()
        [2.0, 2.0, 4.0, 4.0, 6.0, 6.0]
    """
    if infer_range:
        raise ParameterError("nd.arange: infer_range is for symbols; give stop")
    first, last = (0, start) if stop is None else (start, stop)
    attrs = {
        "start": first,
        "stop": last,
        "step": step,
        "repeat": repeat,
        "dtype": name_of(dtype or FLOAT32),
    }
    return create_by("_arange", attrs, ctx)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Context | None = None,
    dtype: DTypeLike = FLOAT32,
) -> NDArray:
    """Returns `num` evenly spaced numbers from `start` to `stop` (included with `endpoint`)."""
    num = size_of("nd.linspace", num)
    step = (stop - start) / max(num - 1 if endpoint else num, 1)
    host = start + step * np.arange(num, dtype=np.float64)
    if endpoint and num > 1:
        host[-1] = stop
    return array(host, ctx, as_dtype(dtype or FLOAT32))


def eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: Context | None = None,
    dtype: DTypeLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Returns an (N, M or N) array with ones on the k-th diagonal and zeros elsewhere.

    With `out`, that array is overwritten and returned.
    """
    rows, columns = size_of("nd.eye", N), size_of("nd.eye", M or N)
    kind = as_dtype(dtype or FLOAT32)
    try:
        # Not by the operator: XLA's compiler ends the process where there are 2**36 elements.
        host = np.eye(rows, columns, k, kind)
    except MemoryError as lack:
        raise OutOfMemoryError(
            f"nd.eye: there is no room for ({rows}, {columns}): {lack}"
        ) from lack
    made = array(host, ctx, kind)
    return made if out is None else made.copyto(out)


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Joins arrays along an axis; a single one is returned itself unless `always_copy`."""
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    made: NDArray = NDArray.apply_operator(registry.get("Concat"), list(arrays), {"dim": axis})
    return made


def moveaxis(tensor: NDArray, source: Dims, destination: Dims) -> NDArray:
    """Moves axes to other positions; the rest keep their order."""
    # An array whose sizes are the numbers of its axes: NumPy moves them, and checks them.
    numbered = np.broadcast_to(np.empty(()), range(tensor.ndim))
    moved: NDArray = tensor.transpose(np.moveaxis(numbered, source, destination).shape)
    return moved

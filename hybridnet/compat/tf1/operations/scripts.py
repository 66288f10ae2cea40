"""Python functions in a graph: ``tf.py_func``; and what only a run can tell the shape of.

A session runs what such a function needs, then the function, then the rest with its results fed to
it: so each costs a cut in the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.clusters import SharedUse

from .. import errors
from ..dtypes import as_dtype, int32, int64, string
from ..dtypes import bool as bool_
from ..graph import Kind, Tensor, apply_call, axis_of, listed, name_scope, op
from ..graph.host_call import Dims, HostCall
from ..graph.values import convert_to_tensor, host_constant, require_same
from .gathering import gather

__all__ = ["boolean_mask", "numpy_function", "py_func", "unique", "unique_with_counts", "where"]

#: Python's errors and the ones that TensorFlow raises for them.
_ERRORS: Final = (
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
    ((TypeError, ValueError), errors.InvalidArgumentError),
    (Exception, errors.UnknownError),
)


def host_call(
    kind: str,
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[Tensor],
    dtypes: Sequence[Any],
    dims: Sequence[Dims] | None = None,
    *,
    name: str | None = None,
    use: SharedUse | None = None,
    asks: bool = False,
) -> Any:
    """Adds an Operation that is a Python function of arrays.

    Args:
        kind: its type.
        function: from NumPy arrays to a list of them.
        inputs: tensors.
        dtypes: of the outputs.
        dims: of each output what is known of its shape.
        use: what it asks of a queue or an accumulator.
        asks: whether it asks queues while it runs; see `HostCall`.

    Returns:
        The output; a tuple of them where there are several; the Operation where there is none.
    """
    known = list(dims or [None] * len(dtypes))
    call = HostCall(kind, function, [one.numpy for one in dtypes], known, use, asks)
    kinds = [Kind(one.numpy, size) for one, size in zip(dtypes, known, strict=True)]
    return apply_call(kind, call, inputs, name=name, kinds=kinds)


def host_tensor(
    kind: str,
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    dtype: Any,
    dims: Dims = None,
    *,
    name: str | None = None,
) -> Tensor:
    """As `host_call`, of a function that returns one array, whose dtype and sizes are these."""
    made: Tensor = host_call(
        kind, lambda *arrays: [function(*arrays)], inputs, [dtype], [dims], name=name
    )
    return made


def places_where(condition: Tensor, name: str | None = None) -> Tensor:
    """Returns the numbers, (n,) int64, of the elements of a vector that are True."""
    return host_tensor(
        "Where", lambda found: np.flatnonzero(found).astype(np.int64), [condition], int64, (None,),
        name=name,
    )  # fmt: skip


def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Adds a Python function to the graph.

    Args:
        func: gets NumPy arrays; returns an array, or several, of the dtypes of `Tout`.
        inp: a list of tensors.
        Tout: the dtype that it returns, or a list of them.
        stateful: without meaning here: it runs once in each run that needs it.

    Returns:
        A tensor of unknown shape, or a list of them; the Operation where there is none.
    """
    inputs = [convert_to_tensor(one) for one in (inp if isinstance(inp, (list, tuple)) else [inp])]
    several = isinstance(Tout, (list, tuple))
    kinds = [as_dtype(one).base_dtype for one in (Tout if several else [Tout])]

    def called(*arrays: np.ndarray[Any, Any]) -> list[Any]:
        try:
            found = func(*(one[()] if one.dtype.hasobject else one for one in arrays))
        except errors.OpError:
            raise
        except Exception as error:  # a user's function may raise anything
            wanted = next(one for of, one in _ERRORS if isinstance(error, of))
            raise wanted(f"{type(error).__name__}: {error}") from error
        if not several or (len(kinds) == 1 and not isinstance(found, (list, tuple))):
            found = [found]
        elif found is None and not kinds:
            found = []
        made = [_returned(one, kind) for one, kind in zip(found, kinds, strict=False)]
        if len(found) != len(kinds):
            raise errors.InvalidArgumentError(
                f"py_func: returned {len(found)} values, and Tout has {len(kinds)}"
            )
        return made

    made = host_call("PyFunc", called, inputs, kinds, name=name)
    return listed(made) if several and kinds else made


def _returned(value: Any, kind: Any) -> np.ndarray[Any, Any]:
    if kind is string:
        try:
            return host_constant(value, kind)[0]
        except (TypeError, ValueError) as error:
            raise errors.InvalidArgumentError(f"py_func: {error}") from None
    found = np.asarray(value)
    if found.dtype != kind.numpy and isinstance(value, (int, float, list, tuple)):
        found = found.astype(kind.numpy)
    if found.dtype != kind.numpy:
        raise errors.InvalidArgumentError(
            f"py_func: expects a value of {kind.name}, but the function returns one of "
            f"{found.dtype}"
        )
    return found


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """The newer name of `py_func`."""
    if func is None:
        raise ValueError("numpy_function: a function must be given")
    return py_func(func, inp, Tout, stateful, name)


# Shapes that depend on values ---------------------------------------------------------------------


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Returns elements of `x` where a condition is True, and of `y` elsewhere.

    Args:
        condition: truth values, of the shape of `x`, or of its first dimension for whole rows.
        x: a tensor; without `x` and `y` the result is where the condition is True, (n, rank) int64.
        y: a tensor of the shape and dtype of `x`.

    Raises:
        ValueError: only one of `x` and `y` is given.
    """
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            chosen = convert_to_tensor(condition, name="condition")
            dims = (None, chosen.shape.ndims)
            return host_tensor("Where", _indices_where, [chosen], int64, dims, name=scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    chosen = convert_to_tensor(condition, bool_, name="condition")
    pair = require_same("Select", ("t", "e"), (x, y))
    pair[0].shape.assert_is_compatible_with(pair[1].shape)
    extra = (pair[0].shape.ndims or 0) - (chosen.shape.ndims or 0)
    if chosen.shape.ndims == 1 and extra > 0:
        shape = (-1, *[1] * extra)
        chosen = op("Reshape", "_np_reshape", [chosen], newshape=shape)
    return op("Select", "_npi_where", [chosen, *pair], name=name)


def _indices_where(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.argwhere(found).astype(np.int64)


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """Returns the elements, or slices, at which a mask is True.

    Args:
        tensor: a tensor.
        mask: truth values, of the first dimensions of `tensor` (from `axis` on).
        axis: the first dimension of the mask in `tensor`.

    Raises:
        ValueError: the number of dimensions of the mask is not known, or 0; the shapes differ.
    """
    with name_scope(name, "boolean_mask", [tensor, mask]):
        x, chosen = convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, name="mask")
        rank, dims = chosen.shape.ndims, x.shape._dims
        if not rank or dims is None:
            raise ValueError("Number of mask dimensions must be specified, and not be 0")
        first = 0 if axis is None else axis_of("BooleanMask", axis, len(dims)) % len(dims)
        x.shape[first : first + rank].assert_is_compatible_with(chosen.shape)
        shape = (*dims[:first], -1, *dims[first + rank :])
        flat = chosen
        if rank > 1:
            if None in shape:
                raise ValueError("boolean_mask: sizes beside the mask must be known")
            x = op("Reshape", "_np_reshape", [x], newshape=shape)
            flat = op("Reshape", "_np_reshape", [chosen], newshape=(-1,))
        return gather(x, places_where(flat), axis=first)


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the different elements of a vector in the order of their first, and where each went.

    Args:
        x: a vector.
        out_idx: the dtype of the second result, as long as `x`: places in the first.
    """
    made: tuple[Tensor, Tensor] = _distinct("Unique", x, out_idx, name, 2)
    return made


def unique_with_counts(
    x: Any, out_idx: Any = int32, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """As `unique`, and how often each is there."""
    made: tuple[Tensor, Tensor, Tensor] = _distinct("UniqueWithCounts", x, out_idx, name, 3)
    return made


def _distinct(kind: str, x: Any, out_idx: Any, name: str | None, count: int) -> Any:
    """Adds what gives different elements, where each went, and their counts: that many of these."""
    values, of = convert_to_tensor(x, name="x"), as_dtype(out_idx).base_dtype

    def found(x: np.ndarray[Any, Any]) -> list[Any]:
        one, *numbers = _distinct_in(x)
        return [one, *(each.astype(of.numpy) for each in numbers)][:count]

    kinds, dims = [values.dtype.base_dtype, of, of], [(None,), values.shape._dims, (None,)]
    return host_call(kind, found, [values], kinds[:count], dims[:count], name=name)


def _distinct_in(x: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
    """Returns different elements in order, the place of each in that, and how often it is there."""
    _, firsts, places, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(firsts)
    return x[firsts[order]], np.argsort(order)[places.reshape(-1)], counts[order]

"""`print` and `py_func`: Python code that runs each time a traced function runs."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hybridnet.base.context import current_context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import Value, recorder

from .host_call import HostCall, world
from .structure import flatten, unflatten


def print(*args: object, sep: str = " ", end: str = "\n", file: Any = None) -> None:
    """Prints the values that arrays have when the program comes here.

    In a traced function Python's `print` shows, once, that something was traced; this one prints at
    each call, in program order, also inside loops and branches. Outside it is Python's. Either way
    the text is out when the statement, or the call of the function, has returned.

    Args:
        args: NDArrays, nested lists, tuples and dicts of them, which are shown as NumPy shows them,
            and anything else, which is as it was while tracing.
        sep, end, file: as for Python's `print`; without `file` it goes to `sys.stdout`.
    """
    leaves, tree = flatten(args)
    places = [number for number, leaf in enumerate(leaves) if isinstance(leaf, NDArray)]
    rest = [None if isinstance(leaf, NDArray) else leaf for leaf in leaves]

    def run(*arrays: DeviceArray) -> Sequence[Any]:
        shown = list(rest)
        for place, array in zip(places, arrays, strict=True):
            shown[place] = array
        builtins.print(*unflatten(tree, shown), sep=sep, end=end, file=file or sys.stdout)
        return ()

    arrays = [leaves[place].detach() for place in places]
    call = HostCall("print", run, len(arrays), (), waits=True)
    ctx = arrays[0].context if arrays else current_context()
    if recorder.current_trace() is None:
        # Not by `apply_call`, which holds a lock that what is printed may be waiting for. Nobody
        # asks here what stands for the world outside.
        values = [*(x.read() for x in arrays), Value(tensor_type((1,), np.dtype(np.int32)))]
        call.run_on_host(ctx, values, (), recorder.record)
        return
    NDArray.apply_call(call, [*(x.as_in_context(ctx) for x in arrays), world(ctx)])


def py_func(
    fn: Callable[..., Any],
    inputs: NDArray | Sequence[NDArray],
    shapes: Any,
    dtypes: Any,
    gradient: Callable[..., Any] | None = None,
) -> Any:
    """Runs Python code over NumPy arrays as an operation, each time the program comes here.

    In a traced function the code runs at each call, and not while tracing: it may read files,
    count, or use any library. Calls happen in program order, and though nothing uses their results.
    An error in the code is raised where a result is read::

        y = hn.py_func(scipy.special.j0, x, x.shape, x.dtype, lambda x, dy: -dy * special.j1(x))

    Args:
        fn: gets one read-only NumPy array for each input, and returns an array, or a sequence of
            them.
        inputs: an NDArray, or a sequence of them.
        shapes: of the result; or a list of shapes, where `dtypes` is a list.
        dtypes: of the result, or a list with one for each result.
        gradient: gets the inputs and then the gradients of the results, NumPy arrays; returns the
            gradient of each input (None for zeros). Without it no gradient flows.

    Returns:
        An NDArray on the context of the inputs; a list of them where `dtypes` is a list.

    Raises:
        ParameterError: an input is no NDArray, or `shapes` and `dtypes` do not agree.
    """
    arrays = [inputs] if isinstance(inputs, NDArray) else list(inputs)
    for number, array in enumerate(arrays):
        if not isinstance(array, NDArray):
            raise ParameterError(
                f"py_func: input {number} must be an NDArray, got {type(array).__name__}"
            )
    several = isinstance(dtypes, (list, tuple))
    wanted = list(zip(shapes, dtypes, strict=False)) if several else [(shapes, dtypes)]
    if several and len(shapes) != len(dtypes):
        raise ParameterError(
            f"py_func: needs one shape for each dtype, got {len(shapes)} shapes and "
            f"{len(dtypes)} dtypes"
        )
    try:
        types = tuple(tensor_type(tuple(shape), as_dtype(dtype)) for shape, dtype in wanted)
    except TypeError:
        raise ParameterError(
            f"py_func: shapes must be tuples of whole numbers, one for each result, got {shapes!r}"
        ) from None
    name = f"py_func({getattr(fn, '__name__', type(fn).__name__)})"

    def listed(result: object) -> Sequence[object]:
        return result if isinstance(result, (list, tuple)) else [result]

    def run(*values: object) -> Sequence[Any]:
        made = fn(*values)
        return listed(made) if several else [made]

    back = None if gradient is None else lambda *values: listed(gradient(*values))
    call = HostCall(name, run, len(arrays), types, back)
    ctx = arrays[0].context if arrays else current_context()
    outputs = NDArray.apply_call(call, [*arrays, world(ctx)])[:-1]
    return outputs if several else outputs[0]

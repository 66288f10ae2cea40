"""The decorator `hn.function`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .bucketed import Bucketed
from .buckets import Buckets
from .traced import Function

__all__ = ["function"]


def function(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    buckets: Buckets | Sequence[Buckets] | None = None,
) -> Any:
    """Makes a function over arrays run as one compiled graph. Use as a decorator.

    The Python code runs once for each new kind of call; the operations it made are kept and
    replayed. What makes a kind is: the shapes, dtypes, devices and grad_reqs of array arguments;
    other arguments (plain values by type and value, other objects by identity); what names in its
    closure, its globals and the attributes it reads stand for; whether autograd records, and in
    which mode; and the current context. So a Python number that changes each time (a counter that
    the function reads) makes a trace each time; give such numbers as arrays.

    Arrays it reads from outside are read at each call; arrays it changes in place are changed for
    the caller; random numbers go on; gradients flow through it as through the operations
    themselves. Other side effects, such as `print` or appending to a list, happen while tracing
    only, when arrays have no values: reading one (`asnumpy`, `float`, ``if x > 0``) raises an
    error, and so does using it after the call otherwise than by returning it. Control flow may
    depend on Python values.

    Arrays of ever new lengths make a trace, and a compilation, for each length. `buckets` pads them
    to a few sizes instead; see `hn.Buckets`.

    Args:
        fn: the function; arguments and results may be nested lists, tuples and dicts of NDArrays
            (NumPy arrays are converted as by `nd.array`) and other Python objects.
        name: for messages and traces; default the function's.
        buckets: the sizes to which arguments are padded; several where several axes vary.

    Returns:
        A `Function`; with buckets a `Bucketed`.

    Raises:
        ParameterError: `fn` cannot be traced, or has no parameters as `buckets` names them.
    """
    if fn is None:
        return functools.partial(function, name=name, buckets=buckets)
    made = Function(fn, name)
    return made if buckets is None else Bucketed.of_function(made, buckets)

"""The decorator `hn.function`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError

from .autograph import Converter
from .bucketed import Bucketed
from .buckets import Buckets
from .traced import Function

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


class _Decorator(Protocol):
    """The decorator that `function` returns when it is given no function."""

    def __call__(self, fn: Callable[_Args, _Result], /) -> Function[_Args, _Result]: ...


@overload
def function(
    fn: Callable[_Args, _Result],
    *,
    input_signature: Sequence[object] | None = None,
    autograph: bool = True,
    convert: Converter | None = None,
    reduce_retracing: bool = False,
    static_argnames: str | Sequence[str] = (),
    device: str | Context | None = None,
    name: str | None = None,
) -> Function[_Args, _Result]: ...


@overload
def function(
    fn: None = None,
    *,
    input_signature: Sequence[object] | None = None,
    autograph: bool = True,
    convert: Converter | None = None,
    reduce_retracing: bool = False,
    static_argnames: str | Sequence[str] = (),
    device: str | Context | None = None,
    name: str | None = None,
) -> _Decorator: ...


@overload
def function(
    fn: Callable[..., object] | None = None,
    *,
    autograph: bool = True,
    convert: Converter | None = None,
    static_argnames: str | Sequence[str] = (),
    device: str | Context | None = None,
    name: str | None = None,
    buckets: Buckets | Sequence[Buckets] | None,
) -> Any: ...


def function(
    fn: Callable[..., object] | None = None,
    *,
    input_signature: Sequence[object] | None = None,
    autograph: bool = True,
    convert: Converter | None = None,
    reduce_retracing: bool = False,
    static_argnames: str | Sequence[str] = (),
    device: str | Context | None = None,
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
    themselves. Python's control flow over arrays becomes part of the graph (docs/function.md).

    Other side effects, such as `print` or appending to a list, happen while tracing only, when
    arrays have no values: reading one (`asnumpy`) raises an error, and so does using it after the
    call otherwise than by returning it. `hn.print` and `hn.py_func` are for what is to happen at
    each call.

    Arrays of ever new lengths make a trace, and a compilation, for each length, and a warning after
    some. `buckets` pads them to a few sizes instead; see `hn.Buckets`.

    Args:
        fn: the function; arguments and results may be nested lists, tuples and dicts of NDArrays
            (NumPy arrays are converted as by `nd.array`) and other Python objects.
        input_signature: what its positional arguments must be: an `hn.TensorSpec` for each, or a
            structure of them. Numbers, lists and NumPy arrays are converted. A size of None may be
            any; each size that comes is a trace, as XLA's programs have fixed shapes.
        autograph: whether Python's control flow over arrays is converted; without it only what does
            not depend on arrays' values can be traced.
        convert: converts control flow in the place of hybridnet: it is given each function of
            yours that the trace comes to, and `hybridnet.tracing.Operators`, and returns a function
            of the same arguments that does the same. It raises NotImplementedError where it cannot:
            the function is then traced as it is, with a warning.
        reduce_retracing: whether axes that turn out to vary are padded to powers of two, as
            `buckets` does, where the function is seen not to depend on that. Numbers stay constants
            of their trace: what a function does with one cannot be seen before it is traced.
        static_argnames: parameters whose arguments are compared by value, and not by identity
            where they are objects of the user's classes.
        device: where it runs, a context or its name; arrays that are elsewhere are copied there.
        name: for messages and traces; default the function's.
        buckets: the sizes to which arguments are padded; several where several axes vary.

    Returns:
        A `Function`; with buckets a `Bucketed`.

    Raises:
        ParameterError: `fn` cannot be traced, or an argument does not fit it.
    """
    options: dict[str, Any] = {
        "input_signature": input_signature,
        "autograph": autograph,
        "convert": convert,
        "reduce_retracing": reduce_retracing,
        "static_argnames": static_argnames,
        "device": device,
    }
    if fn is None:
        return functools.partial(function, name=name, buckets=buckets, **options)
    if buckets is None:
        return Function(fn, name, **options)
    if input_signature is not None or reduce_retracing:
        raise ParameterError(
            "hn.function: buckets say already which sizes vary; leave out input_signature and "
            "reduce_retracing"
        )
    return Bucketed.of_function(Function(fn, name, **options), buckets)

"""Functions that run NumPy itself on the host: rarely used ones, and results of unknown size.

They wait for their arguments, have no gradient and cannot be part of a graph, as in MXNet.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as onp

from hybridnet import tape
from hybridnet.base.dtype import CODE_OF
from hybridnet.base.errors import MXNetError, ValuesNeededError
from hybridnet.base.unsupported import NotSupportedError
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Operand
from hybridnet.runtime.recording import recorder

from .multiarray import array, as_host

__all__ = ["FALLBACKS", "LINALG_FALLBACKS", "REMOVED", "on_host"]

_NAMES: Final = (
    "allclose alltrue apply_along_axis apply_over_axes argpartition argwhere array_equal "
    "array_equiv choose compress corrcoef correlate count_nonzero cov digitize divmod extract "
    "flatnonzero float_power frexp genfromtxt heaviside histogram2d histogram_bin_edges "
    "histogramdd i0 in1d interp intersect1d isclose isin ix_ lexsort min_scalar_type modf msort "
    "nanargmax nanargmin nancumprod nancumsum nanmax nanmedian nanmin nanpercentile nanprod "
    "nanquantile ndim packbits partition piecewise poly polyadd polydiv polyfit polyint polymul "
    "polysub positive promote_types ptp real result_type roots searchsorted select setdiff1d "
    "setxor1d signbit size spacing take_along_axis trapz tril_indices_from trim_zeros "
    "triu_indices_from union1d unpackbits unwrap vander"
)
_LINALG_NAMES: Final = "cond lstsq matrix_power matrix_rank multi_dot qr"

#: What NumPy 2 calls functions that it has renamed, or how they are computed now.
_CURRENT: Final[dict[str, Callable[..., Any]]] = {
    "alltrue": onp.all,
    "in1d": lambda ar1, ar2, **options: onp.isin(onp.ravel(ar1), ar2, **options),
    "msort": lambda a: onp.sort(a, axis=0),
    "trapz": getattr(onp, "trapezoid" if hasattr(onp, "trapezoid") else "trapz"),
}

#: MXNet's functions that NumPy 1.20 took away, and that raise in MXNet too.
REMOVED: Final = ("mirr", "npv", "ppmt", "pv", "rate")


def _arrays(value: object) -> Iterator[Operand]:
    if isinstance(value, Operand):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))


def _own(value: object) -> Any:
    """Returns what NumPy gave, with arrays of ours in the place of its arrays."""
    if isinstance(value, onp.ndarray) and value.dtype in CODE_OF:
        return array(value)
    if isinstance(value, (list, tuple)):
        kept = [_own(item) for item in value]
        return kept if isinstance(value, list) else tuple(kept)
    return value


def on_host(
    func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> Any:
    """Runs a function of NumPy's on the values of arrays.

    Args:
        func: the function.
        args, kwargs: its arguments; arrays may be nested in lists, tuples and dicts.

    Raises:
        ValuesNeededError: there is a symbol among them, or this is inside a traced function.
        MXNetError: an argument is on autograd's tape, where its gradient would be lost.
    """
    name = getattr(func, "__name__", str(func))
    given = list(_arrays([args, kwargs]))
    if given and (
        recorder.current_trace() is not None or any(not isinstance(x, NDArray) for x in given)
    ):
        raise ValuesNeededError(
            f"np.{name}: runs on the host, and cannot be part of a graph (a symbol, a traced "
            "function, a hybridized block); call it on arrays outside"
        )
    if tape.state.recording and any(value.carries_gradient for value in given):  # type: ignore
        raise MXNetError(
            f"np.{name}: runs on the host and has no gradient; inside autograd.record() call it "
            "on x.detach()"
        )
    return _own(func(*as_host(args), **as_host(kwargs)))


def _fallback(name: str, func: Callable[..., object]) -> Callable[..., Any]:
    @functools.wraps(func)
    def function(*args: object, **kwargs: object) -> Any:
        return on_host(func, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "hybridnet.numpy"
    function.__doc__ = (
        f"Runs NumPy's {name} on the host, on the values of arrays, for which it waits."
    )
    return function


def _removed(name: str) -> Callable[..., Any]:
    def function(*args: object, **kwargs: object) -> Any:
        raise NotSupportedError(
            f"np.{name} of MXNet is not supported: NumPy moved it to the package numpy-financial"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raises NotSupportedError: NumPy has no {name} any more."
    return function


FALLBACKS: Final[dict[str, Callable[..., Any]]] = {
    **{name: _fallback(name, _CURRENT.get(name) or getattr(onp, name)) for name in _NAMES.split()},
    **{name: _removed(name) for name in REMOVED},
}


LINALG_FALLBACKS: Final[dict[str, Callable[..., Any]]] = {
    name: _fallback(name, getattr(onp.linalg, name)) for name in _LINALG_NAMES.split()
}

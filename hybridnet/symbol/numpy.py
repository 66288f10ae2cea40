"""`sym.np`: the functions of `np` on symbols, with those that start from nothing making symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hybridnet import numpy as _numpy
from hybridnet.base.errors import ParameterError
from hybridnet.base.unsupported import missing
from hybridnet.numpy import linalg
from hybridnet.numpy.calls import apply as _apply
from hybridnet.numpy.creation import NAMES as _CREATED
from hybridnet.numpy.creation import Creation as _Creation
from hybridnet.numpy.methods import NumpyMethods
from hybridnet.numpy.random import Random as _Random

from .symbol import Symbol

__all__ = ["NumpySymbol", "linalg", "random"]


class NumpySymbol(NumpyMethods, Symbol):  # type: ignore[misc]  # methods are NumPy's here
    """A symbol with NumPy's semantics: arithmetic broadcasts, and methods are NumPy's.

    Made by the functions of ``sym.np`` and ``npx``, or of another symbol with ``as_np_ndarray()``.
    """

    __slots__ = ()

    __hash__ = object.__hash__

    def __getitem__(self, key: object) -> Any:
        """Returns one of several outputs; of a single output, a part, by a basic index."""
        if len(self.edges) > 1 or isinstance(key, str):
            return super().__getitem__(key)
        return _part(self, key if isinstance(key, tuple) else (key,))

    @property
    def T(self) -> Any:
        """The transpose: the axes in reverse order."""
        return self.transpose()


def _part(symbol: Any, key: tuple[Any, ...]) -> Any:
    """Returns a part of a symbol: slices and numbers for the first axes."""
    if any(not isinstance(item, (slice, int)) for item in key):
        raise ParameterError(
            f"a symbol is indexed with slices and integers for its first axes, got {key!r}; use "
            "np.take, np.expand_dims or npx.gather_nd"
        )
    cuts = [
        item if isinstance(item, slice) else slice(item, item + 1 if item != -1 else None)
        for item in key
    ]
    part = _apply(
        "_npi_slice",
        symbol,
        begin=tuple(cut.start for cut in cuts),
        end=tuple(cut.stop for cut in cuts),
        step=tuple(cut.step for cut in cuts),
    )
    dropped = tuple(i for i, item in enumerate(key) if isinstance(item, int))
    return part.squeeze(dropped) if dropped else part


if TYPE_CHECKING:
    from ._numpy_functions import *  # noqa: F403

_symbols: Final = _Creation(NumpySymbol)

#: The random functions, making symbols.
random: Final = _Random(NumpySymbol)

globals().update({name: getattr(_symbols, name) for name in _CREATED})


_Symbol = NumpySymbol  # MXNet's name


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _numpy.__all__:
            return getattr(_numpy, name)
        raise missing("sym.np", name, _numpy.__all__)

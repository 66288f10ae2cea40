"""Names of MXNet's `Parameter` that begin with an underscore, and that packages read or set.

Subclasses that stand in for another parameter (dropping out part of it, say) take its arrays over
by setting them. All are views of what `Parameter` keeps in its own way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, final

from hybridnet.base.context import Context
from hybridnet.ndarray import NDArray

from . import _changes as changes


@final
class _Arrays(list[NDArray]):
    """The values of a parameter; putting another array in a place gives the parameter that one.

    So MXFusion has a block compute with weights that were themselves computed, and gradients flow
    through them.
    """

    def __init__(self, owner: PrivateNames, arrays: Iterable[NDArray]) -> None:
        super().__init__(arrays)
        self.owner = owner

    def __setitem__(self, place: Any, array: Any) -> None:
        super().__setitem__(place, array)
        self.owner._data = self


class PrivateNames:
    """The attributes of `Parameter` that go by MXNet's private names."""

    # Kept by `Parameter`.
    name: str
    stype: str
    grad_stype: str
    _values: dict[Context, NDArray]
    _deferred: tuple[Any, list[Context]] | None = None

    @property
    def _data(self) -> list[NDArray] | None:
        """The value on each context; None: it has none."""
        return _Arrays(self, self._values.values()) if self._values else None

    @_data.setter
    def _data(self, arrays: Sequence[NDArray] | None) -> None:
        self._values = {array.context: array for array in arrays or ()}
        self.note_grads_used()
        changes.note()

    def _reduce(self) -> NDArray:
        """Returns the mean over all contexts, on the first CPU."""
        return self.reduced()

    def _load_init(
        self,
        data: NDArray,
        ctx: Context | Sequence[Context] | None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Sets the value, or begins with it, from an array; see `ParameterDict.load`."""
        self.check_loaded(data, f"Parameter {self.name!r}: the array", ctx, cast_dtype)
        self.take_loaded(data, ctx, dtype_source)

    @abstractmethod
    def check_loaded(
        self,
        array: NDArray,
        where: str,
        ctx: Context | Sequence[Context] | None,
        cast_dtype: bool,
    ) -> None:
        """Refuses an array that `take_loaded` could not take."""

    @abstractmethod
    def take_loaded(
        self, array: NDArray, ctx: Context | Sequence[Context] | None, dtype_source: str
    ) -> None:
        """Sets the value, or begins with it, from an array that `check_loaded` lets pass."""

    @abstractmethod
    def reduced(self) -> NDArray:
        """Returns the mean over all contexts, on the first CPU; of sparse values all rows."""

    @abstractmethod
    def note_grads_used(self) -> None:
        """Notes that an update has used the gradients."""

    @property
    def _grad(self) -> list[NDArray] | None:
        """The gradient on each context; None: it has none."""
        grads = [array.grad for array in self._values.values()]
        return [grad for grad in grads if grad is not None] or None

    @_grad.setter
    def _grad(self, grads: Sequence[NDArray] | None) -> None:
        """Does nothing: arrays come with their gradients when `_data` is set."""

    @property
    def _ctx_list(self) -> list[Context] | None:
        """The contexts that the arrays are on; None: there are none."""
        return list(self._values) or None

    @_ctx_list.setter
    def _ctx_list(self, contexts: Sequence[Context] | None) -> None:
        """Does nothing: arrays know where they are."""

    @property
    def _ctx_map(self) -> list[list[int | None]] | None:
        """For CPUs and for GPUs: by a context's number, the place of its array in `_data`."""
        if not self._values:
            return None
        places: list[list[int | None]] = [[], []]
        for place, ctx in enumerate(self._values):
            known = places[ctx.device_typeid & 1]
            known += [None] * (ctx.device_id + 1 - len(known))
            known[ctx.device_id] = place
        return places

    @_ctx_map.setter
    def _ctx_map(self, places: Any) -> None:
        """Does nothing, as for `_ctx_list`."""

    @property
    def _deferred_init(self) -> tuple[Any, ...]:
        """The initializer, contexts, default, value that wait for the shape; empty: none do."""
        return () if self._deferred is None else (*self._deferred, None, None)

    @_deferred_init.setter
    def _deferred_init(self, waiting: Sequence[Any]) -> None:
        self._deferred = (waiting[0], list(waiting[1])) if waiting else None

    @property
    def _stype(self) -> str:
        return self.stype

    @_stype.setter
    def _stype(self, stype: str) -> None:
        self.stype = stype

    @property
    def _grad_stype(self) -> str:
        return self.grad_stype

    @_grad_stype.setter
    def _grad_stype(self, stype: str) -> None:
        self.grad_stype = stype

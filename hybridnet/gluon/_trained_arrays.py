"""The arrays that a trainer updates on one device, kept from one step to the next."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Sequence
from typing import final

from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import are_dense, edge_of, stamp_of

from ._parameter import Parameter

__all__ = ["TrainedArrays"]

#: What a class of the user's may define in another way.
_ASKED = ("list_values", "list_grad", "has_fresh_grads", "note_grads_used")


@final
class TrainedArrays:
    """Dense parameters on one device: their values and gradients, for updates.

    To ask each parameter for its arrays, and whether they are fresh, takes longer than to record
    the update of all.

    Args:
        numbered: the parameters, with their numbers.

    Attributes:
        numbered: the same.
        numbers: by which the optimizer knows them.
        weights: the values.
        grads: the gradients.
    """

    __slots__ = ("_edges", "_params", "grads", "numbered", "numbers", "weights")

    def __init__(self, numbered: Sequence[tuple[int, Parameter]]) -> None:
        self.numbered = numbered
        self.numbers = [number for number, _ in numbered]
        self._params = [param for _, param in numbered]
        self.weights: list[NDArray] = [param.list_values()[0] for param in self._params]
        self.grads: list[NDArray] = [param.list_grad()[0] for param in self._params]
        self._edges = [*map(edge_of, self.weights)]

    @classmethod
    def of(cls, numbered: Sequence[tuple[int, Parameter]]) -> TrainedArrays | None:
        """Gathers those of parameters; None if some are not as this class takes them."""
        params = [param for _, param in numbered]
        for kind in {type(param) for param in params}:
            if any(getattr(kind, name) is not getattr(Parameter, name) for name in _ASKED):
                return None
        if any(not param.is_initialized or len(param.list_values()) != 1 for param in params):
            return None
        made = cls(numbered)
        return made if are_dense(frozenset(map(type, made.weights + made.grads))) else None

    def are_fresh(self) -> bool | None:
        """Whether all gradients were written since they were made or used.

        Returns:
            None if a value has another gradient than it had, or one that is wanted in another way.
        """
        if not all(map(operator.is_, map(edge_of, self.weights), self._edges)):
            return None
        used = [param._used[0]() for param in self._params]
        return not any(map(operator.is_, used, map(stamp_of, self.grads)))

    def note_used(self) -> None:
        """Notes that an update has used the gradients."""
        for param, stamp in zip(self._params, map(stamp_of, self.grads), strict=True):
            param._used = [weakref.ref(stamp)]

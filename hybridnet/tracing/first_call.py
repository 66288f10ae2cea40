"""Functions that make, on their first call, arrays that they keep: ``if self.w is None: ...``.

A trace cannot keep what it made. So where it turns out that one did, what it kept is taken back,
and that call runs as it is, on arrays; the next one finds them there, and is traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from hybridnet.ndarray import NDArray
from hybridnet.runtime.record import recorder

from .call_arguments import CallArguments
from .environment import Place, places_of
from .structure import flatten

__all__ = ["FirstCall"]


@final
class FirstCall:
    """The surroundings of a function before it is traced."""

    def __init__(self, function: Callable[..., Any], given: CallArguments) -> None:
        found = places_of(function, given.args, given.kwargs)
        #: Where nothing is yet, and whether None is kept there.
        self._empty: list[tuple[Place, bool]] = [
            (place, place.is_own()) for place, value in found if value is None
        ]

    def takes_back(self) -> bool:
        """Whether the trace has put arrays of its own there, which are gone now."""
        made = [(place, kept) for place, kept in self._empty if _is_traced(place.get())]
        for place, kept in made:
            place.clear(kept)
        return bool(made)


def _is_traced(value: Any) -> bool:
    """Whether a value is, or holds, an array that a trace has made."""
    trace = recorder.current_trace()
    arrays = [leaf for leaf in flatten(value)[0] if isinstance(leaf, NDArray)]
    return any(array.storage.owner not in (None, trace) for array in arrays)

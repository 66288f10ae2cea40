"""`HostCall`: Python on the host, as a node of a session's graph.

What it returns may be of any shape: a session runs what the call needs, then the Python, then the
rest of the graph with the results fed to it (`hybridnet.compat.tf1.session.stages`). Where the
shapes are known, it can be inside a branch or a loop, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from hybridnet.base import GraphError, MXNetError
from hybridnet.clusters import SharedUse
from hybridnet.ops.core import Types, tensor_type
from hybridnet.session import PythonCall

__all__ = ["HostCall"]

Array = np.ndarray[Any, Any]
#: A shape with None for a size that only a run tells, or None for a shape that is not known at all.
Dims = tuple[int | None, ...] | None


@final
class HostCall(PythonCall):
    """A Python function of arrays.

    Args:
        title: what it is called in messages.
        function: gets NumPy arrays, and returns one for each of `dtypes`.
        dtypes: of what it returns.
        dims: of each result what is known of its shape.
        use: what it asks of a queue or an accumulator, which a session does in its place.
        asks: whether the function gets, before the arrays, a function that asks a queue: from a
            `SharedUse` to its answer, which it waits for.
    """

    __slots__ = ("_dims", "_dtypes", "asks", "function", "title", "use")

    def __init__(
        self,
        title: str,
        function: Callable[..., Sequence[Array]],
        dtypes: Sequence[np.dtype[Any]],
        dims: Sequence[Dims] | None = None,
        use: SharedUse | None = None,
        asks: bool = False,
    ) -> None:
        self.title = title
        self.asks = asks
        self.function = function
        self.use = use
        super().__init__(len(dtypes))
        self._dtypes = tuple(dtypes)
        self._dims = tuple(dims or [None] * len(dtypes))

    @property
    def name(self) -> str:
        """The name of the call in messages."""
        return self.title

    def infer(self, types: Types) -> Types:
        """The types of the results, where their shapes are known.

        Raises:
            GraphError: only a run can tell them.
        """
        found = []
        for dims, dtype in zip(self._dims, self._dtypes, strict=True):
            if dtype.hasobject:
                raise GraphError(
                    f"{self.title}: strings are on the host, and cannot be inside a branch or a "
                    "loop; take it out of there"
                )
            if dims is None or None in dims:
                raise GraphError(
                    f"{self.title}: only a run tells the shape of what this function returns, and "
                    "so it cannot be inside a branch or a loop; take it out of there"
                )
            found.append(tensor_type(tuple(one for one in dims if one is not None), dtype))
        return tuple(found)

    def note_shape(self, number: int, dims: Dims) -> None:
        """Takes what is known of a result's shape besides: in a loop it must be known."""
        known = list(self._dims)
        known[number] = dims
        self._dims = tuple(known)

    def compute(self, arrays: Sequence[Array]) -> list[Array]:
        """Runs the function; see `checked`."""
        return self.checked(self.function(*arrays))

    def checked(self, found: Sequence[Array]) -> list[Array]:
        """Returns what the function returned, as arrays.

        Raises:
            MXNetError: it is something else than it is known to return.
        """
        made = [np.asarray(one) for one in found]
        if len(made) != len(self._dtypes):
            raise MXNetError(
                f"{self.title}: the function must return {len(self._dtypes)} values, got "
                f"{len(made)}"
            )
        for number, (one, dims) in enumerate(zip(made, self._dims, strict=True)):
            self._check(number, one, dims)
        return made

    def _check(self, number: int, one: Array, dims: Dims) -> None:
        if one.dtype != self._dtypes[number]:
            raise MXNetError(
                f"{self.title}: value {number} that the function returns must be "
                f"{self._dtypes[number]}, got {one.dtype}"
            )
        fits = dims is None or (
            len(dims) == one.ndim
            and all(size in (None, got) for size, got in zip(dims, one.shape, strict=True))
        )
        if not fits:
            raise MXNetError(
                f"{self.title}: value {number} that the function returns must have shape {dims}, "
                f"got {one.shape}"
            )

"""`Tally`: a running sum that nobody has to wait for before it is read."""

from __future__ import annotations

from typing import final

from hybridnet.base.context import Context
from hybridnet.ndarray import NDArray, zeros
from hybridnet.runtime.record import recorder
from hybridnet.runtime.record.trace import init_scope

__all__ = ["Tally"]


@final
class Tally:
    """A running sum of Python numbers and of arrays of one element.

    Numbers are added here. Arrays are added on their device to an array of float64, so that
    reading is the only thing that waits. Inside a traced function numbers go there too, since the
    trace must add them at each call. The device's array stays the same one for good, because a
    traced function goes on writing to the one it found.
    """

    __slots__ = ("_cells", "_host")

    def __init__(self) -> None:
        self._host: float = 0
        self._cells: dict[Context, NDArray] = {}

    def add(self, term: NDArray | float, ctx: Context) -> None:
        """Adds a number, or an array of shape (1,).

        Args:
            term: what to add.
            ctx: where the work is done.
        """
        if not isinstance(term, NDArray) and recorder.current_trace() is None:
            self._host += term
            return
        cell = self._cells.get(ctx)
        if cell is None:
            with init_scope():
                cell = self._cells[ctx] = zeros((1,), ctx, "float64")
        cell.assign(cell + (term.astype("float64") if isinstance(term, NDArray) else float(term)))

    def read(self) -> float:
        """Returns the sum; waits for it."""
        return sum((cell.asscalar().item() for cell in self._cells.values()), self._host)

    def set(self, value: float) -> None:
        """Makes the sum this number; waits for nothing."""
        self._host = value
        for cell in self._cells.values():
            cell[:] = 0.0

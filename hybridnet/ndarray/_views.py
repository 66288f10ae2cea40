"""Methods that give the same elements another shape: views of the memory where asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from hybridnet.base.array_types import Dims
from hybridnet.base.errors import ParameterError, ShapeError

from . import indexing
from ._host import AbstractArray


class ViewMethods(AbstractArray):
    """An array of which other shapes can be views: what is written to one is seen by the other.

    `reshape` always gives a view; the others with ``inplace=True``, and otherwise copies, as in
    MXNet. Gradients flow through either.
    """

    __slots__ = ()

    @abstractmethod
    def view(self, offset: int, shape: tuple[int, ...] | None = None) -> Self:
        """Returns a view of ``prod(shape)`` elements of this array from `offset` on."""

    def reshape(self, *shape: Dims, **kwargs: object) -> Self:
        """Returns a view of the same memory in another shape.

        Args:
            shape: the dimensions, or one tuple of them, with MXNet's codes: 0 keeps one, -1 is
                inferred, -2 keeps the rest, -3 joins two, -4 splits one.
            kwargs: ``reverse=True`` applies the codes from the right; ``shape=``.

        Raises:
            ShapeError: the sizes differ.
        """
        viewed: Self = indexing.reshape(self, shape, kwargs)
        return viewed

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Self:
        """Returns the array with all axes but the first joined: (n, ...) becomes (n, m).

        Args:
            inplace: whether the result is a view of this array's memory.
            kwargs: those of ``nd.flatten``, such as `out`.
        """
        if not inplace:
            copied: Self = super().flatten(**kwargs)
            return copied
        _refuse("flatten", kwargs)
        return self.view(0, (self.shape[0], self.size // max(self.shape[0], 1)))

    def squeeze(
        self, axis: int | Sequence[int] | None = None, inplace: bool = False, **kwargs: Any
    ) -> Self:
        """Returns the array without axes of size 1.

        Args:
            axis: which, all of size 1; default every one that is.
            inplace: whether the result is a view of this array's memory.
            kwargs: those of ``nd.squeeze``, such as `out`.

        Raises:
            ShapeError: an axis that was asked for has another size.
        """
        if not inplace:
            copied: Self = super().squeeze(axis=axis, **kwargs)
            return copied
        _refuse("squeeze", kwargs)
        if axis is None:
            kept = [size for size in self.shape if size != 1]
        else:
            axes = (axis,) if isinstance(axis, int) else tuple(axis)
            dropped = {_axis("squeeze", number, self.ndim) for number in axes}
            for number in sorted(dropped):
                if self.shape[number] != 1:
                    raise ShapeError(
                        f"squeeze: axis {number} must have size 1, got shape {self.shape}"
                    )
            kept = [size for number, size in enumerate(self.shape) if number not in dropped]
        return self.view(0, tuple(kept) or (1,))

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Self:
        """Returns the array with an axis of size 1 more.

        Args:
            axis: where it is in the result.
            inplace: whether the result is a view of this array's memory.
            kwargs: those of ``nd.expand_dims``, such as `out`.
        """
        if not inplace:
            copied: Self = super().expand_dims(axis, **kwargs)
            return copied
        _refuse("expand_dims", kwargs)
        at = _axis("expand_dims", axis, self.ndim + 1)
        return self.view(0, (*self.shape[:at], 1, *self.shape[at:]))


def _axis(where: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{where}: axis must be from {-ndim} to {ndim - 1}, got {axis}")
    return axis % ndim


def _refuse(where: str, given: dict[str, object]) -> None:
    if given:
        raise ParameterError(f"{where}: inplace=True takes no {', '.join(given)}")

"""`HostArray`: what stands for a JAX array until a program of XLA's reads it.

To load JAX takes as long as thousands of operators by NumPy. So until something has to be compiled,
arrays on cpu(0) are NumPy's, in an object that answers what the runtime asks of JAX's. Small arrays
on GPUs are, too, until a program there reads them: what NumPy computes needs no transfers.
"""

from __future__ import annotations

from typing import TypeAlias, final

from hybridnet.base.array_types import DType, DTypeLike, NumpyArray
from hybridnet.base.context import Context, cpu
from hybridnet.base.lazy import jax
from hybridnet.base.references import ALONE, counts

__all__ = ["DeviceArray", "HostArray"]


@final
class HostArray:
    """An array in host memory, which nobody changes.

    Args:
        array: its value, whose memory nobody else writes to.
        ctx: the context that it is on, for its user; default cpu(0).

    Attributes:
        ctx: as given.
        numpy: the value, read-only.
        placed: the JAX array with the same value, once one was needed; it may have been donated.
    """

    __slots__ = ("__weakref__", "ctx", "numpy", "placed")

    def __init__(self, array: NumpyArray, ctx: Context | None = None) -> None:
        array.flags.writeable = False
        self.ctx: Context = ctx or cpu()
        self.numpy: NumpyArray = array
        self.placed: jax.Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        shape: tuple[int, ...] = self.numpy.shape
        return shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        dtype: DType = self.numpy.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.numpy.nbytes

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> NumpyArray:
        array = self.numpy if dtype is None else self.numpy.astype(dtype, copy=False)
        return array.copy() if copy else array

    def is_ready(self) -> bool:
        """Whether it has been computed: yes."""
        return True

    def block_until_ready(self) -> HostArray:
        """Returns this array."""
        return self

    def is_ours(self) -> bool:
        """Whether who holds this, and nobody else, holds the JAX array."""
        # The attribute holds it as well as the list that is made here.
        return self.placed is None or next(counts([self.placed])) == ALONE + 1

    def is_deleted(self) -> bool:
        """Whether its memory was given to a program."""
        return self.placed is not None and bool(self.placed.is_deleted())


#: What programs run on: an array of JAX's, or what stands for one. Tracers are JAX's arrays, too.
DeviceArray: TypeAlias = "jax.Array | HostArray"

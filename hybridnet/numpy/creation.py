"""Arrays from nothing: the functions of `np` and of ``sym.np`` that have no array to start from.

They are methods of an object that knows which kind of operand to make.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

import numpy as onp

from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import ParameterError
from hybridnet.base.shape_arguments import sizes_of
from hybridnet.base.unsupported import NotSupportedError
from hybridnet.ops.core import Operand, registry

from .calls import apply, dtype_name
from .multiarray import ndarray
from .operands import ArrayLike

__all__ = ["NAMES", "Creation"]

K = TypeVar("K", bound=Operand)


class Creation(Generic[K]):
    """The functions, for one kind of operand.

    Args:
        kind: `ndarray`, or the class of symbols with NumPy's semantics.
    """

    def __init__(self, kind: type[K]) -> None:
        self._kind = kind

    def _make(self, name: str, ctx: Context | None, **attrs: object) -> K:
        kind: Any = self._kind
        where = {"ctx": ctx} if issubclass(kind, ndarray) else {}
        made: K = kind.apply_operator(registry.get(name), (), attrs, **where)
        return made

    def _apply(self, name: str, *inputs: ArrayLike, **attrs: Any) -> Any:
        """`apply`, for this kind of operand."""
        return apply(name, *inputs, **attrs)

    def zeros(
        self, shape: Dims, dtype: DTypeLike = None, order: str = "C", ctx: Context | None = None
    ) -> K:
        """Returns an array of zeros, float32 by default.

        Args:
            shape: the dimensions: a number or a tuple, which may be empty or hold 0.
            dtype: the element type.
            order: 'C'.
            ctx: where; default the current context.
        """
        _check_order("zeros", order)
        shape = sizes_of("np.zeros", shape)
        return self._make("_npi_zeros", ctx, shape=shape, dtype=dtype_name(dtype, "float32"))

    def ones(
        self, shape: Dims, dtype: DTypeLike = FLOAT32, order: str = "C", ctx: Context | None = None
    ) -> K:
        """Returns an array of ones; the arguments are those of `zeros`."""
        _check_order("ones", order)
        shape = sizes_of("np.ones", shape)
        return self._make("_npi_ones", ctx, shape=shape, dtype=dtype_name(dtype, "float32"))

    def empty(
        self, shape: Dims, dtype: DTypeLike = FLOAT32, order: str = "C", ctx: Context | None = None
    ) -> K:
        """Returns an array to be overwritten; here it holds zeros."""
        return self.zeros(shape, dtype, order, ctx)

    def full(
        self,
        shape: Dims,
        fill_value: Any,
        dtype: DTypeLike = None,
        order: str = "C",
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Returns an array with every element equal to `fill_value`.

        Args:
            shape: the dimensions.
            fill_value: a number, or an array that broadcasts to the shape.
            dtype: default float32; bool for True and False.
            order: 'C'.
            ctx: where; default the current context.
            out: an array for the result.
        """
        _check_order("full", order)
        shape = sizes_of("np.full", shape)
        if hasattr(fill_value, "as_np_ndarray") or isinstance(fill_value, onp.ndarray):
            given = self._apply("_npi_broadcast_to", fill_value, shape=shape, out=out)
            return cast("K", given if dtype is None else given.astype(dtype))
        default = "bool" if isinstance(fill_value, (bool, onp.bool_)) else "float32"
        name = dtype_name(dtype, default)
        made = self._make("_npi_full", ctx, shape=shape, value=float(fill_value), dtype=name)
        return made if out is None else cast("K", self._apply("_np_copy", made, out=out))

    def arange(
        self,
        start: float,
        stop: float | None = None,
        step: float = 1,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
    ) -> K:
        """Returns evenly spaced numbers in [start, stop), float32 by default.

        With one number given, counts from 0 to it.
        """
        first, last = (0, start) if stop is None else (start, stop)
        limits = {"start": float(first), "stop": float(last), "step": float(step or 1)}
        if step == 0:
            raise ParameterError("np.arange: step must not be 0")
        return self._make("_npi_arange", ctx, dtype=dtype_name(dtype, "float32"), **limits)

    def linspace(
        self,
        start: float,
        stop: float,
        num: int = 50,
        endpoint: bool = True,
        retstep: bool = False,
        dtype: DTypeLike = None,
        axis: int = 0,
        ctx: Context | None = None,
    ) -> K:
        """Returns `num` evenly spaced numbers from `start` to `stop`.

        Args:
            start, stop: numbers.
            num: how many.
            endpoint: whether `stop` is the last of them.
            retstep: return the distance too.
            dtype: float32 by default.
            axis: must be 0: the limits are numbers.
            ctx: where; default the current context.
        """
        _check_line("linspace", start, stop, axis)
        limits = {"start": float(start), "stop": float(stop), "num": num, "endpoint": endpoint}
        made = self._make("_npi_linspace", ctx, dtype=dtype_name(dtype, "float32"), **limits)
        gaps = num - 1 if endpoint else num
        if retstep:
            both: object = made, (stop - start) / gaps if gaps > 0 else onp.nan
            return cast("K", both)
        return made

    def logspace(
        self,
        start: float,
        stop: float,
        num: int = 50,
        endpoint: bool = True,
        base: float = 10.0,
        dtype: DTypeLike = None,
        axis: int = 0,
        ctx: Context | None = None,
    ) -> K:
        """Returns `num` numbers from base**start to base**stop, each the same factor apart."""
        _check_line("logspace", start, stop, axis)
        limits = {"start": float(start), "stop": float(stop), "num": num, "endpoint": endpoint}
        name = dtype_name(dtype, "float32")
        return self._make("_npi_logspace", ctx, base=float(base), dtype=name, **limits)

    def eye(
        self, N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = FLOAT32, **kwargs: Any
    ) -> K:
        """Returns an (N, M or N) array with ones on the k-th diagonal and zeros elsewhere.

        Args:
            N, M: rows and columns.
            k: which diagonal.
            dtype: the element type.
            kwargs: ``ctx``; ``order='C'``.
        """
        ctx = kwargs.pop("ctx", None)
        _check_order("eye", kwargs.pop("order", "C"))
        if kwargs:
            raise TypeError(f"np.eye: takes ctx and order besides, got {', '.join(kwargs)}")
        return self._make("_npi_eye", ctx, N=N, M=M, k=k, dtype=dtype_name(dtype, "float32"))

    def identity(self, n: int, dtype: DTypeLike = None, ctx: Context | None = None) -> K:
        """Returns an (n, n) array with ones on the main diagonal and zeros elsewhere."""
        return self._make("_npi_identity", ctx, shape=(n, n), dtype=dtype_name(dtype, "float32"))

    def tri(
        self,
        N: int,
        M: int | None = None,
        k: int = 0,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
    ) -> K:
        """Returns an (N, M or N) array with ones at and below the k-th diagonal."""
        ones = self.ones((N, N if M is None else M), dtype, ctx=ctx)
        return cast("K", self._apply("_npi_tril", ones, k=k))

    def indices(
        self, dimensions: Dims, dtype: DTypeLike = onp.int32, ctx: Context | None = None
    ) -> K:
        """Returns the position along each axis of every element of an array of these dimensions."""
        dimensions = sizes_of("np.indices", dimensions)
        return self._make(
            "_npi_indices", ctx, dimensions=dimensions, dtype=dtype_name(dtype, "int32")
        )

    def hanning(self, M: int, dtype: DTypeLike = FLOAT32, ctx: Context | None = None) -> K:
        """Returns the Hann window of M points."""
        return self._make("_npi_hanning", ctx, M=max(M, 0), dtype=dtype_name(dtype, "float32"))

    def hamming(self, M: int, dtype: DTypeLike = FLOAT32, ctx: Context | None = None) -> K:
        """Returns the Hamming window of M points."""
        return self._make("_npi_hamming", ctx, M=max(M, 0), dtype=dtype_name(dtype, "float32"))

    def blackman(self, M: int, dtype: DTypeLike = FLOAT32, ctx: Context | None = None) -> K:
        """Returns the Blackman window of M points."""
        return self._make("_npi_blackman", ctx, M=max(M, 0), dtype=dtype_name(dtype, "float32"))


def _check_order(name: str, order: str) -> None:
    if order != "C":
        raise NotSupportedError(f"np.{name}: order must be 'C', got {order!r}")


def _check_line(name: str, start: float, stop: float, axis: int) -> None:
    if axis != 0 or isinstance(start, (list, tuple)) or isinstance(stop, (list, tuple)):
        raise ParameterError(f"np.{name}: start and stop must be numbers, and axis 0")


#: The functions, by their names in `np`.
NAMES = sorted(name for name in vars(Creation) if not name.startswith("_"))

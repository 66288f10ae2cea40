"""The host's view of an array: its facts, its value as NumPy, Python, DLPack and JAX objects."""

from __future__ import annotations

import copyreg
from abc import abstractmethod
from typing import Any

import numpy as np

from hybridnet.base.array_types import DType, DTypeLike, NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.dtype import printable
from hybridnet.base.errors import ShapeError
from hybridnet.base.host_array import HostArray
from hybridnet.base.lazy import jax
from hybridnet.base.mesh import Mesh
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core import FluentMethods
from hybridnet.runtime.contexts import copied, device_of, host_view
from hybridnet.runtime.recording import Value, recorder

from .lending import lend
from .placed import whole


class AbstractArray(FluentMethods):
    """An array as the host sees it; `NDArray` is the one kind there is."""

    __slots__ = ()

    _type: TensorType

    @abstractmethod
    def read(self) -> Value:
        """Returns the Value this array shows now (for the inside of hybridnet)."""

    @property
    @abstractmethod
    def context(self) -> Context:
        """The context: the device whose memory holds the array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self._type.shape

    @property
    def dtype(self) -> type:
        """The element type, as a NumPy scalar type."""
        kind: type = self._type.dtype.type
        return kind

    @property
    def inferred_dtype(self) -> DType:
        """The element type, as a NumPy dtype."""
        return self._type.dtype

    @property
    def type(self) -> TensorType:
        """Shape and dtype as one object."""
        return self._type

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._type.size

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._type.shape)

    @property
    def stype(self) -> str:
        """The storage type: 'default', which is dense."""
        return "default"

    def wait_to_read(self) -> None:
        """Waits until the value has been computed.

        Raises:
            OpError: it could not be.
        """
        recorder.wait(self.read())

    def wait_to_write(self) -> None:
        """Waits until everything recorded so far that reads this array has been launched."""
        self.wait_to_read()

    def asnumpy(self) -> NumpyArray:
        """Returns a NumPy copy of the value, of its shape and dtype; waits for it.

        This is where what was recorded must have run, and where its errors come up. In a training
        loop it is best called rarely: each call lets the device run dry.

        Raises:
            OpError: it could not be computed.
        """
        array = recorder.wait(self.read())
        if type(array) is HostArray:
            return array.numpy.copy()
        ctx = self.context
        if type(ctx) is Mesh:
            array = whole(self, array)
        return host_view(ctx, array).copy() if ctx.is_accelerator else np.array(array)

    def host_view(self) -> NumpyArray:
        """Returns the value as NumPy's, for reading at once; waits for it.

        It shares the array's memory where that is the host's, and must not be kept: what is
        recorded next may overwrite it.

        Raises:
            OpError: it could not be computed.
        """
        array = recorder.wait(self.read())
        if type(array) is HostArray:
            view: NumpyArray = array.numpy
            return view
        ctx = self.context
        return host_view(ctx, whole(self, array) if type(ctx) is Mesh else array)

    def asscalar(self) -> Any:
        """Returns the one element as a NumPy scalar.

        Raises:
            ShapeError: the array has not exactly one element.
        """
        return self._single().reshape(())[()]

    def item(self) -> Any:
        """Returns the one element as a Python number."""
        return self._single().item()

    def _single(self) -> NumpyArray:
        """Returns the value of an array of one element, which must not be kept."""
        if self._type.size != 1:
            raise ShapeError(f"asscalar: needs an array of one element, got shape {self.shape}")
        return self.host_view()

    def tolist(self) -> Any:
        """Returns the elements as nested Python lists."""
        return self.asnumpy().tolist()

    #: Keeps NumPy from taking ``numpy_array + x`` apart. NumPy's functions read `x` as an array.
    __array_priority__ = 1000.0

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> NumpyArray:
        if copy is False:
            raise ValueError("an NDArray cannot be given to NumPy without a copy; use asnumpy()")
        host = self.asnumpy()
        return host if dtype is None else host.astype(dtype)

    def __bool__(self) -> bool:
        size = self._type.size
        if not size:  # as an empty list
            return False
        if size != 1:
            raise ShapeError(
                f"the truth value of an NDArray of shape {self.shape} is ambiguous: "
                "it must have one element"
            )
        return bool(self._single().item())

    def __float__(self) -> float:
        return float(self._single().item())

    def __int__(self) -> int:
        return int(self._single().item())

    def __index__(self) -> int:
        if not np.issubdtype(self._type.dtype, np.integer):
            raise TypeError(f"only an integer array can be an index, got {self._type}")
        return int(self._single().item())

    def __len__(self) -> int:
        shape = self._type.shape
        if not shape:
            raise TypeError("len() of a 0-d array")
        return shape[0]

    def __repr__(self) -> str:
        if recorder.current_trace() is not None:
            return f"<NDArray {self._type} @{self.context}, being traced>"
        shape = "x".join(map(str, self.shape))
        return f"\n{printable(self.asnumpy())!s}\n<NDArray {shape} @{self.context}>"

    def __getstate__(self) -> dict[str, object]:
        """Returns what pickle keeps: the value, for which it waits, and the context."""
        return {"value": self.asnumpy(), "context": self.context}

    def __reduce__(self) -> tuple[object, ...]:
        # Named here: what pickle does by itself depends on its protocol.
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]

    def __dlpack__(self, **options: Any) -> Any:
        return self._export().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        array: Any = recorder.ready_array(self.read())  # JAX's class does not declare the method
        return array.__dlpack_device__()

    def to_dlpack_for_read(self) -> object:
        """Returns a DLPack capsule of the memory, which must not be written to."""
        return self.__dlpack__()

    def to_dlpack_for_write(self) -> object:
        """Returns a DLPack capsule of memory that its holder may write to.

        It waits for the value, which it moves there. What is written to that memory this array then
        holds, until it is written to itself (``x[:] = ...``), which gives it memory of its own.
        Nothing orders the writes of others: they must be over before the array is used, and what
        was recorded with it must have run (`waitall`) before they begin.

        Raises:
            MXNetError: it is not on a CPU, or a part of another array.
        """
        return lend(self)

    def to_jax(self) -> Any:
        """Returns the value as a JAX array, without a copy; later writes here do not change it.

        Of an array on a mesh it is a copy, with the same parts on the same devices.
        """
        if type(self.context) is Mesh:
            return copied(recorder.ready_array(self.read()))
        with jax.enable_x64(True):
            # An object of its own: JAX marks the very array that its user donates as deleted.
            return jax.device_put(self._export(), device_of(self.context))

    def _export(self) -> Any:
        if type(self.context) is Mesh:
            raise BufferError(
                f"__dlpack__: requires an array on one device, got one on {self.context}; give "
                "its copy, as_in_context(hn.cpu())"
            )
        value = self.read()
        recorder.wait(value)
        array = recorder.ready_array(value)
        value.array = array  # no copy in host memory: others may write to what they get here
        # In this order: what is recorded after this line keeps off the memory, and what was
        # recorded before it is launched while `value` still holds the array. XLA in turn donates
        # no memory that a DLPack capsule refers to.
        value.shared = array.__dlpack__()
        recorder.flush_all()
        return array

"""`BaseSparseNDArray`: what the two kinds of sparse arrays share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, Self

import numpy as np

from hybridnet import tape
from hybridnet.base.array_types import ArrayLike, DTypeLike, Index, NumpyArray
from hybridnet.base.attrs import Number
from hybridnet.base.context import Context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import (
    MXNetError,
    NotSupportedForSparseNDArray,
    ParameterError,
    ShapeError,
)
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import Arithmetic, Call, Operator, Scalars, registry
from hybridnet.runtime.recording import Value, recorder

from ..applying import check_result, targets_of, write_out
from ..copies import put, unpickled
from ..ndarray import NDArray
from ..storage_types import storage_type

__all__ = ["RULES", "BaseSparseNDArray", "Rule", "apply", "dense", "upload"]

#: Computes the outputs of a call on sparse arrays; None where that takes dense ones.
Rule = Callable[[Any, Sequence[Any], Scalars], list[NDArray] | None]

#: Operator -> its rule; `operators` fills it.
RULES: Final[dict[str, Rule]] = {}

#: Python's arithmetic on arrays of one shape, and what it is then.
_OF_ONE_SHAPE: Final = {
    "broadcast_add": "elemwise_add",
    "broadcast_sub": "elemwise_sub",
    "broadcast_mul": "elemwise_mul",
}
_IN_TRACE: Final = (
    "a sparse array cannot be changed in a traced function (hn.function or hybridize()), as what "
    "it is made of has no fixed size; change it outside, or use dense arrays"
)


def apply(name: str, *inputs: Any, **attrs: Any) -> Any:
    """Applies an operator of the registry to dense arrays."""
    return NDArray.apply_operator(registry.get(name), inputs, attrs)


class BaseSparseNDArray(NDArray):
    """An array of which only some elements are stored; all others are 0.

    It is made of dense arrays that are never changed, so two sparse arrays may share them. They
    may have room for more than is stored (see `hybridnet.ops.sparse.storage`): then operations need
    not wait for values to know sizes. `data` and the positions that users see are exact, for
    which they wait.

    An operator that has no rule for sparse arrays is given dense ones, and makes a dense one.
    """

    __slots__ = ("_aux", "_data", "_exact")

    _aux: tuple[NDArray, ...]
    _data: NDArray
    _exact: bool

    @classmethod
    def of(
        cls, data: NDArray, aux: Sequence[NDArray], shape: tuple[int, ...], exact: bool = True
    ) -> Self:
        """Returns an array made of these parts (for the inside of hybridnet).

        Args:
            data: the values.
            aux: their positions, as the class keeps them, int64.
            shape: of the array.
            exact: whether there is no room for more than is stored.
        """
        made = object.__new__(cls)
        made._fill(data, aux, shape, exact)
        return made

    def _fill(
        self, data: NDArray, aux: Sequence[NDArray], shape: tuple[int, ...], exact: bool
    ) -> None:
        self._type = tensor_type(shape, data.inferred_dtype)
        self._offset = None
        self._edge = None
        self._data = data
        self._aux = tuple(aux)
        self._exact = exact

    def with_data(self, data: NDArray) -> Self:
        """Returns an array with other values at the same positions."""
        return self.of(data, self._aux, self.shape, self._exact)

    def parts(self) -> tuple[NDArray, ...]:
        """Returns the values and their positions, with what room there is; waits for nothing."""
        return (self._data, *self._aux)

    # -- what each kind says -----------------------------------------------------------------

    @abstractmethod
    def to_dense(self) -> NDArray:
        """Returns the dense array."""

    @abstractmethod
    def stored(self) -> int:
        """Returns how many elements or rows are stored; waits for it."""

    @abstractmethod
    def check_format(self, full_check: bool = True) -> None:
        """Raises MXNetError where the positions are not as they must be."""

    # -- applying operators ------------------------------------------------------------------

    @classmethod
    def apply_operator(
        cls,
        op: Operator,
        inputs: Sequence[Any],
        attrs: Mapping[str, object],
        *,
        name: str | None = None,
        out: Any = None,
        ctx: Context | None = None,
    ) -> Any:
        """Applies an operator to arrays of which some are sparse."""
        call, scalars = op.bind(attrs, tape.state.training)
        if op.sizes:  # depends on values, so that it is measured on dense ones
            arrays = [dense(x) for x in inputs]
            return NDArray.apply_operator(op, arrays, attrs, name=name, out=out, ctx=ctx)
        outputs = cls.apply_call(call, inputs, scalars, ctx)
        if out is not None:
            write_out(call, outputs, targets_of(call, out))
            return out
        return outputs[0] if call.num_visible == 1 else outputs[: call.num_visible]

    @classmethod
    def apply_call(
        cls,
        call: Call,
        inputs: Sequence[Any],
        scalars: tuple[Number, ...] = (),
        ctx: Context | None = None,
        needed: Sequence[int] | None = None,
        out: Sequence[NDArray] | None = None,
    ) -> list[NDArray]:
        """Applies a call by its rule for sparse arrays, or to dense ones where there is none.

        It returns all outputs, whichever are needed, and writes none to `out`.

        On the tape there are dense arrays only: what a rule made gets the place there of what the
        call would have made of dense ones, as far as the rule has not recorded it itself.
        """
        rule = RULES.get(call.name)
        if rule is not None:
            made = rule(call, inputs, scalars)
            if made is not None:
                if tape.state.recording and any(x.carries_gradient for x in inputs):
                    _record_as_dense(call, inputs, scalars, made)
                return made
        given = [dense(x) for x in inputs]
        outputs = NDArray.apply_call(call, given, scalars, ctx)
        for index in call.mutates:
            target = inputs[index]
            if target is not given[index]:
                target.assign(given[index].tostype(target.stype))
        return outputs

    @classmethod
    def apply_pair(cls, how: Arithmetic, pair: tuple[NDArray, NDArray]) -> NDArray:
        """Applies an operator of Python's to two arrays; of equal shapes, the elementwise one."""
        name = how.name
        if pair[0].shape == pair[1].shape:
            name = _OF_ONE_SHAPE.get(name, name)
        call, scalars = registry.get(name).bind({})
        return cls.apply_call(call, pair, scalars)[0]

    @classmethod
    def apply_number(cls, how: Arithmetic, operand: NDArray, number: float) -> NDArray:
        """Applies an operator of Python's to an array and a number."""
        call = how.number or how.call_of_number()
        return cls.apply_call(call, (operand,), (number,))[0]

    # -- what it has none of -----------------------------------------------------------------

    @property
    def _storage(self) -> NoReturn:  # type: ignore[override]
        raise NotSupportedForSparseNDArray(
            "this operation", None, f"a {self.stype} array has no dense memory"
        )

    def read(self) -> Value:
        """Not available: there is no one buffer."""
        return self._storage

    def reshape(self, *shape: Any, **kwargs: Any) -> NoReturn:
        """Not available, as in MXNet: ``x.tostype('default').reshape(...)``."""
        raise NotSupportedForSparseNDArray("reshape", None, *shape)

    # -- facts -------------------------------------------------------------------------------

    @property
    def context(self) -> Context:
        """The context: the device whose memory holds the array."""
        return self._data.context

    ctx = context

    @property
    def data(self) -> NDArray:
        """A copy of the values that are stored; waits for how many there are."""
        return self.trimmed()._data.copy()

    @property
    def nnz(self) -> int:
        """The number of values that are stored; waits for it."""
        return self.trimmed()._data.size

    def trimmed(self) -> Self:
        """Takes away what room there is; waits for how much that is. Returns this array."""
        if not self._exact:
            self._trim(self.stored())
            self._exact = True
        return self

    def _trim(self, count: int) -> None:
        self._data = self._data[:count].copy()
        self._aux = (self._aux[0][:count].copy(), *self._aux[1:])

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n<{type(self).__name__} {shape} @{self.context}>"

    def __getstate__(self) -> dict[str, object]:
        """Returns what pickle keeps: the parts, for whose sizes it waits."""
        self.trimmed()
        return {"data": self._data, "aux": self._aux, "shape": self.shape}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Becomes the array whose ``__getstate__`` gave this state, ours or MXNet's."""
        if "handle" in state:
            parts, ctx = unpickled(state)
            made = storage_type(parts.stype, "unpickling").from_parts(parts, ctx)
            state = {"data": made._data, "aux": made._aux, "shape": made.shape}
        self._fill(state["data"], state["aux"], state["shape"], exact=True)

    # -- values ------------------------------------------------------------------------------

    def wait_to_read(self) -> None:
        """Waits until everything it is made of has been computed."""
        for array in (self._data, *self._aux):
            array.wait_to_read()

    def asnumpy(self) -> NumpyArray:
        """Returns a dense NumPy array of the value; waits for it."""
        return self.to_dense().asnumpy()

    def host_view(self) -> NumpyArray:
        """Returns the same."""
        return self.asnumpy()

    def tostype(self, stype: str) -> NDArray:
        """Returns a copy in this storage type, its own or 'default' (dense).

        Raises:
            ParameterError: `stype` is another; as in MXNet, make it dense first.
        """
        if stype == "default":
            made = self.to_dense()
            if tape.state.recording and self.carries_gradient:
                # Not the place of the variable itself, whose `grad` it would show.
                made.set_edge(self._edge)
                made = made.copy()
            return made
        if stype != self.stype:
            raise ParameterError(
                f"cast_storage: from {self.stype} the storage type must be {self.stype!r} or "
                f"'default', got {stype!r}; use tostype('default').tostype({stype!r})"
            )
        return self.copy()

    def copy(self) -> Self:
        """Returns a copy on the same context."""
        copied: Self = type(self).apply_operator(registry.get("_copy"), (self,), {})
        return copied

    def as_kind(self, kind: type[NDArray]) -> NDArray:
        """Returns an array of a class: itself, or a dense one of it."""
        return self if type(self) is kind else self.to_dense().as_kind(kind)

    def is_same_part(self, other: NDArray) -> bool:
        """Whether this and another are one array: sparse ones share no memory that changes."""
        return self is other

    @property
    def _num_aux(self) -> int:
        """The number of arrays of positions, by the name it has in MXNet."""
        return len(self._aux)

    def stamp(self) -> Value:
        """Returns the Value of what is stored, which is another after every write."""
        return self._data.stamp()

    def detach(self) -> Self:
        """Returns the same array; the tape knows nothing of it."""
        return self.with_data(self._data.detach())

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Self:
        """Returns the array in another dtype; itself if that is its dtype and `copy` is False."""
        if not copy and as_dtype(dtype) == self.inferred_dtype:
            return self
        return self.with_data(self._data.astype(dtype))

    def as_in_context(self, context: Context) -> Self:
        """Returns this array if it is on the context, else a copy there."""
        if context is self.context:
            return self
        data, *aux = (array.as_in_context(context) for array in (self._data, *self._aux))
        return self.of(data, aux, self.shape, self._exact)

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copies into another array of the same shape and storage (or a dense one), or a context.

        Raises:
            ShapeError: the shapes differ.
            ParameterError: the other has another sparse storage.
        """
        if isinstance(other, Context):
            return self.copy() if other is self.context else self.as_in_context(other)
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto: needs an NDArray or a Context, got {type(other).__name__}")
        if other.shape != self.shape:
            raise ShapeError(f"copyto: shapes must be equal, got {self.shape} and {other.shape}")
        other.replace(self.tostype(other.stype), "copyto")
        return other

    # -- in place ----------------------------------------------------------------------------

    def assign(self, source: NDArray) -> None:
        """Overwrites this array with another of its shape, in its own dtype and storage.

        What is dense, or stored otherwise, is brought into this storage: waits for it.
        """
        if recorder.current_trace() is not None:
            raise MXNetError(_IN_TRACE)
        if source.shape != self.shape:
            source = source.broadcast_to(self.shape)
        if source.stype != self.stype:
            source = source.tostype("default").tostype(self.stype)
        assert isinstance(source, BaseSparseNDArray)
        source = source.as_in_context(self.context).astype(self.inferred_dtype, copy=False)
        self._data, self._aux = source._data.detach(), source._aux
        self._exact = source._exact

    def replace(self, source: NDArray, what: str) -> None:
        """Overwrites this array with another; see `assign`."""
        self.assign(source)

    def _update(self, operation: Callable[[Any, Any], Any], other: Any, what: str) -> Self:
        result = operation(self, other)
        check_result(self.shape, other, result, what)
        self.assign(result)
        return self

    def __setitem__(self, key: Index, value: ArrayLike) -> None:
        if not (isinstance(key, slice) and key == slice(None)):
            raise ParameterError(
                f"{type(self).__name__}: only the whole array can be written, x[:] = value; "
                f"got the index {key!r}"
            )
        self.assign(self._as_array(value))

    def _as_array(self, value: ArrayLike) -> NDArray:
        """Returns what is written to this array as an array."""
        if isinstance(value, NDArray):
            return value
        if np.ndim(value) == 0 and value == 0:
            kind = storage_type(self.stype, "x[:] = 0")
            none: NDArray = kind.zeros(self.shape, self.context, self.dtype)
            return none
        host = np.broadcast_to(np.asarray(value, self.inferred_dtype), self.shape)
        return upload(host, self.context)


def dense(value: Any) -> Any:
    """Returns a dense array for a sparse one, at its place on the tape; anything else as it is."""
    if not isinstance(value, BaseSparseNDArray):
        return value
    made = value.to_dense()
    made.set_edge(value.edge)
    return made


def _record_as_dense(
    call: Call, inputs: Sequence[Any], scalars: tuple[Number, ...], made: Sequence[NDArray]
) -> None:
    """Gives what a rule made of sparse arrays its places on the tape, where they are missing."""
    # A csr matrix is computed with by its parts, which are nowhere on the tape: what a rule has
    # recorded is about the other operand alone.
    by_parts = any(x.stype == "csr" and x.carries_gradient for x in inputs)
    if call.no_gradient or (not by_parts and all(output.edge is not None for output in made)):
        return
    whole = NDArray.apply_call(call, [dense(x) for x in inputs], scalars)
    for output, same in zip(made, whole, strict=False):
        if by_parts or output.edge is None:
            output.set_edge(same.edge)


def upload(host: NumpyArray, ctx: Context) -> NDArray:
    """Returns a dense array with the values of a NumPy array, in its dtype."""
    return NDArray.from_value(put(host, ctx), ctx)

"""`NDArray`: what users hold. A view of a Storage, with a dtype and a place on the tape."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, ClassVar, Final, Self

from hybridnet import tape
from hybridnet.base import modules
from hybridnet.base.array_types import DTypeLike, Index
from hybridnet.base.attrs import Number
from hybridnet.base.context import Context, current_context, read_context
from hybridnet.base.dtype import BOOL, INT64, as_dtype, name_of
from hybridnet.base.errors import MXNetError, ShapeError
from hybridnet.base.legacy import ARRAY_NAMES, no_library
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Placement, Split
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import Arithmetic, Call, Operator, registry
from hybridnet.runtime.contexts import check_device
from hybridnet.runtime.recording import Storage, Value, in_place, recorder, write_all
from hybridnet.runtime.recording import thread as recorder_thread
from hybridnet.tape import Edge

from . import indexing
from ._gradients import UNTRACKED
from ._in_place import InPlaceMethods
from .applying import (
    changed_by,
    check_positions,
    contexts_differ,
    looked_at,
    not_arrays,
    on_first_cpu,
    record_changing,
    refused,
    targets_of,
    watch_positions,
    write_out,
)
from .copies import CopyAcross, host_array, put, unpickled
from .lists import are_dense
from .parts import assign_call, cast_call, fill_call, fill_part_call, view_call
from .placed import lying_as, placed, placement_of
from .storage_types import sparse_kind, storage_type

__all__ = ["NDArray"]

_Bounds = Sequence[int | None]
_HOST: Final = Context("cpu", 0)
_new: Final = object.__new__
_new_tuple: Final = tuple.__new__  # of a NamedTuple, without its Python-level constructor


class NDArray(InPlaceMethods):
    """An n-dimensional array on a device or a mesh, changed in place, computed asynchronously.

    Make one with `array`, `zeros`, `ones`, `full`, `arange` or the operators. Operations return at
    once; reading a value (`asnumpy`, printing, `wait_to_read`) waits for it. Slices along leading
    axes and `reshape` are views that share memory, as in MXNet.
    """

    __slots__ = ("__weakref__", "_offset", "_storage", "_type")  # and `_edge`

    _offset: int | None
    _storage: Storage
    _type: TensorType

    #: The class of what operators make of arrays of this one; None: the class that was asked.
    kind_of_results: ClassVar[type[NDArray] | None] = None
    #: The class of arrays with NumPy's semantics, once it has been asked for.
    numpy_kind: ClassVar[type[NDArray] | None] = None

    # -- making ------------------------------------------------------------------------------

    def __init__(self, handle: object = None, writable: bool = True) -> None:
        """Makes what pickles of MXNet's fill in; users make arrays with `array` and the like.

        Args:
            handle: None; or what ``ctypes.cast(array, NDArrayHandle)`` gives, for the same array.
            writable: nothing.

        Raises:
            NotSupportedError: it is a handle of no array.
        """
        if handle is None:
            return
        cast = _cast.get(getattr(handle, "value", None))
        if cast is None:
            raise no_library("ndarray.ndarray", "NDArrayHandle")
        self._storage, self._type, self._offset = cast._storage, cast._type, cast._offset
        self._edge = None

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        """The pointer that `ctypes.cast` takes the array for; see `NDArrayHandle`."""
        _cast[id(self)] = self
        return ctypes.c_void_p(id(self))

    @classmethod
    def from_value(cls, value: Value, ctx: Context, edge: Edge | None = None) -> NDArray:
        """Returns an array of its own holding a Value (for the inside of hybridnet)."""
        made = _new(cls)
        storage = made._storage = _new(Storage)
        storage.type = made._type = value.type
        storage.ctx = ctx.computes_on
        if storage.ctx is not ctx:
            storage.label = ctx
        storage.value = value
        if recorder_thread.trace is not None:
            storage.owner = recorder_thread.trace
        made._offset = None
        made._edge = edge
        return made

    @classmethod
    def from_storage(cls, storage: Storage) -> NDArray:
        """Returns an array that is the whole of a Storage."""
        made = object.__new__(cls)
        made._storage = storage
        made._type = storage.type
        made._offset = None
        made._edge = None
        return made

    @classmethod
    def apply_operator(
        cls,
        op: Operator,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        *,
        name: str | None = None,
        out: Any = None,
        ctx: Context | None = None,
    ) -> Any:
        """Applies an operator to arrays; see `hybridnet.ops.core.handle.Operand`."""
        if not inputs and "ctx" in attrs:  # of operators that make arrays of nothing
            attrs = dict(attrs)
            where = attrs.pop("ctx")
            ctx = read_context(where) if ctx is None and where else ctx
        unknown = op.sizes and recorder_thread.trace is None
        if unknown and all(isinstance(x, NDArray) for x in inputs):
            attrs = op.measured(attrs, inputs)
        call, scalars = op.bind(attrs, tape.state.training)
        later = () if op.bounds is None else check_positions(call, inputs)
        if out is not None:
            fits = type(out) is list and len(out) <= call.num_visible
            targets = out if fits else targets_of(call, out)
            if recorder.several:
                recorder.launch_others([*inputs, *targets])
            # Whole dense arrays, and nothing recorded: most get the results as they are.
            plain = not (op.refuse or op.look or tape.state.recording)
            with in_place:
                is_direct = plain and are_dense(frozenset(map(type, targets)))
                direct = targets if is_direct else None
                outputs = cls.apply_call(call, inputs, scalars, ctx, out=direct)
                if op.refuse is not None:
                    outputs = refused(op, scalars, outputs)
                if op.look is not None:
                    outputs = looked_at(call, inputs, outputs)
                if later:
                    watch_positions(inputs, later)
                if direct is None or outputs.count(None) < len(outputs):
                    write_out(call, outputs, targets)
            return out
        outputs = cls.apply_call(call, inputs, scalars, ctx)
        if later:
            watch_positions(inputs, later)
        if op.refuse is not None:
            outputs = refused(op, scalars, outputs)
        if op.look is not None:
            outputs = looked_at(call, inputs, outputs)
        if call.num_visible == 1:
            return outputs[0]
        return outputs[: call.num_visible]

    @classmethod
    def apply_call(
        cls,
        call: Call,
        inputs: Sequence[Any],
        scalars: tuple[Number, ...] = (),
        ctx: Context | None = None,
        needed: Sequence[int] | None = None,
        out: Sequence[NDArray] | None = None,
    ) -> list[Any]:
        """Records a call: the eager side of the only door. Returns all its outputs.

        Args:
            call: the call.
            inputs: its inputs.
            scalars: the numbers that it takes beside them.
            ctx: where it runs, if it has no inputs.
            needed: the outputs that are looked at, by number; for another there is None.
            out: dense arrays that get the first outputs, outside `record` and with the lock
                `in_place` held, and of which the caller wants no other; there is None for each
                but those that could not be given as they are.

        Raises:
            ShapeError, DTypeError: the inputs do not meet the operator's requirement.
            ParameterError: an input is not an NDArray.
        """
        found: list[TensorType] = []
        values: list[Value] = []
        # What a trace must see, and what changes arrays, goes the long way.
        changes = call.takes_state or (call.updates and call.averages is None)
        label: Context | None = None
        trace = recorder_thread.trace
        direct = trace is None and not changes
        recording = tape.state.recording
        edges: list[Edge | None] = []
        try:
            for x in inputs:
                storage = x._storage
                if storage.ctx is not ctx:
                    if found:
                        moved = on_first_cpu(call, inputs)
                        if moved is None:
                            raise contexts_differ(call, inputs)
                        return cls.apply_call(call, moved, scalars)
                    ctx = storage.ctx
                found.append(x._type)
                if recording:
                    edges.append(x._edge)
                if direct and x._offset is None:
                    values.append(storage.value)
                elif not changes:
                    values.append(x.read())
        except AttributeError:
            sparse = sparse_kind(inputs)
            if sparse is not None:
                return sparse.apply_call(call, inputs, scalars, ctx)  # type: ignore[no-any-return]
            raise not_arrays(call, inputs) from None
        if found:
            cls = inputs[0].kind_of_results or cls
        else:
            label = ctx or current_context()
            if label is not _HOST:  # a device that does not exist is an error here, not at the wait
                check_device(label)
            ctx = label.computes_on
        assert ctx is not None
        if changes:
            if recorder.several:
                recorder.launch_others(changed_by(call, inputs, ctx))
            with in_place:
                values, made, types = record_changing(call, inputs, scalars, tuple(found), ctx)
        else:
            kinds = tuple(found)
            types = call.inferred.get(kinds) or call.infer(kinds)
            if len(types) == 1 and direct and not call.on_host:
                made = [recorder.record_one(ctx, call, values, scalars, types[0])]
            else:
                made = recorder.record(ctx, call, values, scalars, types)
        if needed is None:
            needed = range(len(made))
        if out is not None and trace is None:
            needed = cls.assign_values(out, made[: len(out)], ctx)
        outputs: list[Any] = [None] * len(made)
        for index in needed:
            outputs[index] = cls.from_value(made[index], ctx if label is None else label)
        if recording:
            if call.takes_state:
                edges.append(None)
            node = tape.record_call(call, edges, scalars, values, made, types, ctx)
            if node is not None:
                for index in needed:
                    outputs[index]._edge = _new_tuple(Edge, (node, index))
                if call.averages is not None:
                    held = [inputs[number] for number in call.averages.states]
                    node.averages = (call.averages._replace(states=held),)
        return outputs

    # Python's arithmetic is most of what small programs do, so the case that nothing is special
    # about (no trace, whole arrays) is spared what `apply_call` does for all others.

    @classmethod
    def apply_pair(cls, how: Arithmetic, pair: tuple[NDArray, NDArray]) -> NDArray:
        """Applies an operator of Python's to two arrays."""
        call = how.pair or how.call_of_pair()
        lhs, rhs = pair
        if (
            type(lhs) is type(rhs)
            and lhs._offset is rhs._offset is None
            and recorder_thread.trace is None
        ):
            left, right = lhs._storage, rhs._storage
            ctx = left.ctx
            if ctx is right.ctx:
                values = (left.value, right.value)
                kinds = (lhs._type, rhs._type)
                types = call.inferred.get(kinds) or call.infer(kinds)
                made = recorder.record_one(ctx, call, values, (), types[0])
                out = cls.from_value(made, ctx)
                if tape.state.recording and not (lhs._edge is rhs._edge is None):
                    edges = (lhs._edge, rhs._edge)
                    node = tape.record_call(call, edges, (), values, (made,), types, ctx)
                    if node is not None:
                        out._edge = _new_tuple(Edge, (node, 0))
                return out
        result: NDArray = cls.apply_call(call, pair)[0]
        return result

    @classmethod
    def apply_number(cls, how: Arithmetic, operand: NDArray, number: float) -> NDArray:
        """Applies an operator of Python's to an array and a number."""
        call = how.number or how.call_of_number()
        if operand._offset is None and recorder_thread.trace is None:
            storage = operand._storage
            ctx, values, scalars = storage.ctx, (storage.value,), (number,)
            kinds = (operand._type,)
            types = call.inferred.get(kinds) or call.infer(kinds)
            made = recorder.record_one(ctx, call, values, scalars, types[0])
            out = cls.from_value(made, ctx)
            edge = operand._edge
            if edge is not None and tape.state.recording:
                node = tape.record_call(call, (edge,), scalars, values, (made,), types, ctx)
                if node is not None:
                    out._edge = _new_tuple(Edge, (node, 0))
            return out
        result: NDArray = cls.apply_call(call, (operand,), (number,))[0]
        return result

    @classmethod
    def full_like_scalar(cls, like: NDArray, value: int) -> NDArray:
        """Returns a 1-element array holding a whole number that a float64 cannot hold."""
        dtype = INT64 if like._type.dtype == BOOL else like._type.dtype
        number = value if -(2**63) <= value < 2**64 else float(value)
        host = host_array([number], dtype, "arithmetic with a whole number")
        return cls.from_value(put(host, like.context), like.context)

    @classmethod
    def from_rows(cls, values: NDArray, indices: NDArray, rows: int) -> NDArray:
        """Returns a row-sparse array; in a trace, where all storage is dense, a dense one."""
        if recorder_thread.trace is not None:
            dense: NDArray = super().from_rows(values, indices, rows)
            return dense
        make = storage_type("row_sparse", "from_rows").of_rows
        assert make is not None
        made: NDArray = make(values, indices, rows)
        return made

    # -- reading and writing -----------------------------------------------------------------

    def read(self) -> Value:
        """Returns the Value this array shows now (for the inside of hybridnet)."""
        storage = self._storage
        value = storage.value if recorder_thread.trace is None else storage.read(self)
        if self._offset is None:
            return value
        call, scalars = view_call(storage.type, self._type, self._offset)
        return recorder.record(storage.ctx, call, (value,), scalars, (self._type,))[0]

    def write(self, value: Value) -> None:
        """Overwrites this array's part of the storage with a Value of its type."""
        if self._offset is None:
            self._storage.write(value, self)
        else:
            call, scalars = assign_call(self._storage.type, self._type, self._offset)
            self._rewrite(call, (value,), scalars)

    def write_number(self, number: float) -> None:
        """Overwrites every element with a number, which is an input of the program."""
        storage, kind = self._storage, self._type
        if self._offset is None:
            made = recorder.record(storage.ctx, fill_call(kind), (), (number,), (kind,))[0]
            storage.write(made, self)
        else:
            call, scalars = fill_part_call(storage.type, kind, self._offset, number)
            self._rewrite(call, (), scalars)

    def _rewrite(self, call: Call, values: tuple[Value, ...], scalars: tuple[Number, ...]) -> None:
        """Overwrites the storage with what a call makes of it and of other Values."""
        storage = self._storage
        if recorder.several:
            recorder.launch_others((self,))
        with in_place:
            if recorder_thread.trace is None:
                operands = (storage.value, *values)
                made = recorder.record_one(storage.ctx, call, operands, scalars, storage.type)
            else:
                operands = (storage.read(self), *values)
                (made,) = recorder.record(storage.ctx, call, operands, scalars, (storage.type,))
            storage.write(made)

    def assign(self, source: NDArray) -> None:
        """Overwrites this array with another that broadcasts to its shape, casting it.

        The tape sees nothing of it; see `replace`.
        """
        storage, other = self._storage, source._storage
        if (  # as of each gradient, in each step
            source._type is self._type
            and other.ctx is storage.ctx
            and type(other.ctx) is Context
            and source._offset is self._offset is None
            and recorder_thread.trace is None
            and not recorder.several
        ):
            storage.write(other.value, self)
            return
        if other.ctx is not storage.ctx:
            source = source.as_in_context(self.context)
        if type(storage.ctx) is Mesh:  # what is written lies as what was there
            source = lying_as(source, self)
        if source._type is not self._type:
            source = _like(self, source.detach())
        if recorder.several:
            recorder.launch_others((self, source))
        with in_place:
            self.write(source.read())

    @classmethod
    def assign_values(
        cls, arrays: Sequence[NDArray], values: Sequence[Value], ctx: Context
    ) -> list[int]:
        """Overwrites dense arrays with Values of one context, outside a trace, as `assign` does.

        It is for the gradients and weights of a step, which are many. Where several threads record,
        what others have recorded of the arrays has been launched (`recorder.launch_others`).

        Returns:
            The numbers of those that it leaves as they are: views, or of another type or context.
        """
        plain = [
            x._offset is None and x._type is value.type and x._storage.ctx is ctx
            for x, value in zip(arrays, values, strict=True)
        ]
        rest = [] if all(plain) else [i for i, is_plain in enumerate(plain) if not is_plain]
        if rest:
            arrays, values = list(compress(arrays, plain)), list(compress(values, plain))
        with in_place:
            write_all([x._storage for x in arrays], values)
        return rest

    def replace(self, source: NDArray, what: str) -> None:
        """Overwrites this array with another; while recording, its gradient goes to the other.

        Args:
            source: an array of the same shape.
            what: how the user wrote this, for messages.

        Raises:
            MXNetError: this array has been recorded, or is only a part of one.
        """
        self.refuse_recorded(what)
        if not tape.state.recording or not source.carries_gradient:
            self.assign(source)
            return
        if self._offset is not None:
            raise MXNetError(UNTRACKED.format(what=what))
        source = source.as_in_context(self.context)
        if source._type is not self._type:
            source = _like(self, source)
        self.write(source.read())
        self._edge = source._edge

    def view(self, offset: int, shape: tuple[int, ...] | None = None) -> Self:
        """Returns a view of ``prod(shape)`` elements of this array from `offset` on."""
        if shape is None:
            raise TypeError(
                f"NDArray.view: needs an offset and a shape, got {offset!r} alone; an array in "
                "another shape is x.reshape(shape), of another dtype x.astype(dtype)"
            )
        made = self.part(offset, shape)
        trace = recorder_thread.trace
        if trace is not None and self._storage.owner is not trace:
            trace.link(made, self)
        if self._edge is not None and tape.state.recording:
            call, scalars = view_call(self._type, made._type, offset)
            source = self.read()
            target = recorder.record(self.context, call, (source,), scalars, (made._type,))
            node = tape.record_call(
                call, (self._edge,), scalars, (source,), target, (made._type,), self.context
            )
            if node is not None:
                made._edge = Edge(node, 0)
        return made

    def part(self, offset: int, shape: tuple[int, ...]) -> Self:
        """Returns such a view of this array without its place on the tape; see `detach`."""
        made = _new(type(self))
        storage = made._storage = self._storage
        made._type = tensor_type(shape, self._type.dtype)
        start = (self._offset or 0) + offset
        made._offset = None if made._type is storage.type else start
        made._edge = None
        trace = recorder_thread.trace
        if trace is not None and storage.owner is not trace:
            trace.link(made, self.detach())
        return made

    def is_same_part(self, other: NDArray) -> bool:
        """Whether this and another of its shape are views of the same part of one storage."""
        if other.stype != "default":
            return False
        return self._storage is other._storage and (self._offset or 0) == (other._offset or 0)

    @property
    def offset(self) -> int | None:
        """The element of the storage at which this view begins; None for the whole of it."""
        return self._offset

    def stamp(self) -> Value:
        """Returns the Value that the memory holds, which is another after every write."""
        return self._storage.value

    @property
    def storage(self) -> Storage:
        """The Storage this is a view of (for the inside of hybridnet)."""
        return self._storage

    @property
    def context(self) -> Context:
        """The context: the device whose memory holds the array."""
        return self._storage.label or self._storage.ctx

    ctx = context

    @property
    def T(self) -> NDArray:
        """The transpose: a copy with the axes in reverse order."""
        return self.transpose()

    # -- indexing ----------------------------------------------------------------------------

    _basic_indexing_slice_is_contiguous = staticmethod(indexing.is_run)

    def __getitem__(self, key: Index) -> Self:
        part: Self = indexing.get(self, key)
        return part

    def __iter__(self) -> Iterator[NDArray]:
        # No generator: `iter` itself refuses 0-d arrays, by which others know what to iterate over.
        return map(self.__getitem__, range(len(self)))

    def __contains__(self, value: Any) -> bool:
        if len(self._type.shape) == 1 and isinstance(value, (int, float)):
            return bool((self == value).host_view().any())
        return any(row == value for row in self)

    def __setitem__(self, key: Index, value: Any) -> None:
        if tape.state.recording:
            self.refuse_recorded("x[...] = value")
            if isinstance(value, NDArray) and value.carries_gradient:
                if not (isinstance(key, slice) and key == slice(None)) or value.shape != self.shape:
                    raise MXNetError(UNTRACKED.format(what="x[...] = value"))
                self.replace(value, "x[:] = value")
                return
        indexing.assign(self, key, value)

    def zero_grad(self) -> None:
        """Sets the gradient to 0."""
        if self.grad is not None and self.grad.stype == "default":
            self.grad[:] = 0
        elif self.grad is not None:
            self.grad.assign(self.grad.zeros_like())

    # -- copies and conversions --------------------------------------------------------------

    def copy(self) -> NDArray:
        """Returns a copy on the same context."""
        copied: NDArray = NDArray.apply_operator(registry.get("_copy"), (self,), {})
        return copied

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copies into another array of the same shape, or to a context.

        Args:
            other: an array, which is overwritten and keeps its dtype, or a context.

        Returns:
            The array that was written to; of a context one that is there.

        Raises:
            ShapeError: the shapes differ.
        """
        if isinstance(other, Context):
            return self.copy() if other is self.context else self.as_in_context(other)
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto: needs an NDArray or a Context, got {type(other).__name__}")
        if other.shape != self.shape:
            raise ShapeError(f"copyto: shapes must be equal, got {self.shape} and {other.shape}")
        if not other.is_same_part(self):
            other.replace(self, "copyto")
        return other

    def as_in_context(self, context: Context) -> NDArray:
        """Returns this array if it is on the context, else a copy there; gradients flow back.

        Args:
            context: where to, such as ``cpu(1)`` or ``gpu(0)``. The copy is started and not waited
                for.
        """
        if context is self.context:
            return self
        if type(self.context) is Mesh and self.context.processes > 1:
            self = placed(self, None)
        call = CopyAcross(self.context, context)
        source = self.read()
        made = self.from_value(call.run(source), context)
        if tape.state.recording and self._edge is not None:
            node = tape.record_call(
                call,
                (self._edge,),
                (),
                (source,),
                (made.read(),),
                (made._type,),
                context,
                self.context,
            )
            if node is not None:
                made._edge = Edge(node, 0)
        return made

    def as_in_ctx(self, ctx: Context) -> NDArray:
        """Returns this array if it is on the context, else a copy there."""
        return self.as_in_context(ctx)

    def astype(self, dtype: DTypeLike, copy: bool = True) -> NDArray:
        """Returns the array in another dtype; itself if that is its dtype and `copy` is False."""
        if not copy and as_dtype(dtype) == self._type.dtype:
            return self
        op = registry.get("Cast")
        cast: NDArray = NDArray.apply_operator(op, (self,), {"dtype": name_of(dtype)})
        return cast

    def as_nd_ndarray(self) -> NDArray:
        """Returns this array with the semantics of `nd`: the same memory and place on the tape."""
        return self.as_kind(NDArray)

    def as_np_ndarray(self) -> NDArray:
        """Returns this array with NumPy's semantics: the same memory and place on the tape."""
        kind = NDArray.numpy_kind
        if kind is None:
            modules.load("np")  # sets it
            kind = NDArray.numpy_kind
            assert kind is not None
        return self.as_kind(kind)

    def as_kind(self, kind: type[NDArray]) -> NDArray:
        """Returns an array of a class on the same memory, itself where it is of that class."""
        if type(self) is kind:
            return self
        made = _new(kind)
        storage = made._storage = self._storage
        made._type = self._type
        made._offset = self._offset
        made._edge = self._edge
        trace = recorder_thread.trace
        if trace is not None and storage.owner is not trace:
            trace.link(made, self)
        return made

    def tostype(self, stype: str) -> NDArray:
        """Returns a copy with this storage type: 'default' (dense), 'row_sparse' or 'csr'.

        To find what a sparse array has to store, it waits for the values.

        Raises:
            ParameterError: `stype` is another.
        """
        if stype == "default":
            return self.copy()
        cast: NDArray = storage_type(stype, "tostype").cast(self)
        return cast

    def slice_assign(
        self, rhs: NDArray | float, begin: _Bounds, end: _Bounds, step: _Bounds | None = None
    ) -> NDArray:
        """Writes `rhs` to ``self[begin:end:step]``, which have a number for each axis."""
        steps = step or (None,) * len(begin)
        self[tuple(slice(*bounds) for bounds in zip(begin, end, steps, strict=True))] = rhs
        return self

    def slice_assign_scalar(
        self, value: float, begin: _Bounds, end: _Bounds, step: _Bounds | None = None
    ) -> NDArray:
        """Writes a number to ``self[begin:end:step]``; returns this array."""
        return self.slice_assign(value, begin, end, step)

    @property
    def placement(self) -> dict[str, Split]:
        """The placement of an array of a mesh, by the mesh's names of axes; launches what makes it.

        Raises:
            ParameterError: the array is on one device.
        """
        return placement_of(self)

    def to_placement(self, placement: Placement | None = None) -> Self:
        """Returns the array lying on its mesh as is said; gradients flow back.

        Args:
            placement: for each axis of the mesh `hn.parallel.split` of an axis of the array, or
                `hn.parallel.broadcast`, which is what axes have that are not named. One that is not
                in a dict is for the first axis.

        Raises:
            ParameterError: the array is on one device, the mesh or the array has no such axis, or
                the devices cannot have equal parts of it.

        Examples:
            >>> mesh = hn.Mesh({"data": 2})
            >>> x = nd.ones((4, 3), ctx=mesh).to_placement({"data": hn.parallel.split(0)})
            >>> x.placement
            {'data': split(0)}
        """
        made: Self = placed(self, placement)
        return made

    def detach(self) -> Self:
        """Returns a view of the same memory that the tape knows nothing of."""
        made = _new(type(self))
        made._storage = self._storage
        made._type = self._type
        made._offset = self._offset
        made._edge = None
        return made

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Becomes the array whose ``__getstate__`` gave this state, with memory of its own.

        The state may be one of MXNet's, too: what its pickles of arrays hold.

        Raises:
            FormatError: such a one is damaged.
        """
        value, ctx = unpickled(state)
        made = self.from_value(put(value, ctx), ctx)
        self._storage, self._type = made._storage, made._type
        self._offset = self._edge = None

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> NDArray:
        return self.copy()


#: Arrays that `ctypes.cast` was given, by the handles that it made of them.
_cast: Final[weakref.WeakValueDictionary[Any, NDArray]] = weakref.WeakValueDictionary()


def _like(target: NDArray, source: NDArray) -> NDArray:
    """Returns an array with the values of `source` in the shape and dtype of `target`."""
    made: NDArray = NDArray.apply_call(cast_call(target._type), (source,))[0]
    return made


def __getattr__(name: str) -> Any:
    """Gives what programs import from MXNet's module of this name; see `hybridnet.base.legacy`."""
    try:
        return ARRAY_NAMES[name]
    except KeyError:
        raise no_library("ndarray.ndarray", name) from None

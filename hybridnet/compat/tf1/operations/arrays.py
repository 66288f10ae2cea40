"""`TensorArray`: tensors of one shape, written and read one by one, as loops do.

Its elements are the rows of one tensor, which goes through loops and branches like any other; so
gradients through it are those of the operators that write and read a row. Before the first write
nothing may be known of the elements' shape. Then the tensor is made at that write, outside of the
loop in which it stands (see `Start`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hybridnet.base import DTypeError

from ..dtypes import as_dtype, int32, string
from ..errors import InvalidArgumentError
from ..graph import Kind, TensorShape, apply, constant, convert_to_tensor, identity, kind_of, no_op
from ..graph.adding import EdgeHandle, Operation, Tensor, cast_to, fused, handle, name_scope
from ..graph.arguments import known_numbers, static_value
from ..graph.graph import get_default_graph
from .creation import shape_of, zeros
from .elementwise import add, maximum, subtract
from .inside import at_depth, depth, example_outside
from .joining import concat
from .reduction import reduce_max
from .reshaping import expand_dims

__all__ = ["Growth", "Rows", "Start", "TensorArray"]


@final
@dataclass(slots=True, eq=False)
class _Common:
    """The properties that a TensorArray shares with all arrays that writes make of it.

    Args:
        dtype: the dtype of the elements.
        shape: the shape of an element, as far as it is known.
        grows: whether a write beyond the last element makes the array longer.
        infers: whether the shape of an element is inferred from what is written.
        name: the name of the array.
    """

    dtype: Any
    shape: TensorShape
    grows: bool
    infers: bool
    name: str

    def merge(self, shape: TensorShape) -> None:
        """Takes the shape of an element.

        Raises:
            ValueError: it is not that of the others.
        """
        if not shape.is_compatible_with(self.shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.shape}")
        if self.infers:
            self.shape = self.shape.merge_with(shape)


@final
@dataclass(slots=True, eq=False)
class Growth:
    """A record of how a loop uses an array that grows in it.

    Attributes:
        is_read: whether the loop reads elements of the array.
    """

    is_read: bool = False


@final
@dataclass(slots=True, eq=False)
class Rows:
    """The elements of an array.

    Args:
        data: (elements, ...) them all.
        length: how many there will be, where the array grows in a loop; see `while_loop`.
        growth: what that loop is to know.
    """

    data: Tensor
    length: Tensor | None = None
    growth: Growth | None = None

    def with_parts(self, data: Tensor, length: Tensor | None = None) -> Rows:
        """Returns other elements of the same array."""
        return Rows(data, length, self.growth)

    @property
    def parts(self) -> list[Tensor]:
        """The tensors that a branch or a turn of a loop hands on."""
        return [self.data] if self.length is None else [self.data, self.length]

    @property
    def count(self) -> int | None:
        """The number of elements, or None if it is unknown."""
        return _first_of(self.data)

    def element(self) -> Tensor:
        """Returns an element, for where its shape is asked for."""
        inputs, kinds = [self.data, constant(0)], [kind_of(self.data).row()]
        made: Tensor = apply("TensorArrayReadV3", "take", inputs, _CLIP, kinds=kinds)
        return made


@final
class Start:
    """The elements of an array before anything is written, made once an element is known.

    Args:
        make: makes them for a tensor of the dtype and shape of an element, in the branch or loop
            in which the array was made.
    """

    __slots__ = ("_depth", "_graph", "_make", "rows")

    def __init__(self, make: Callable[[Tensor], Rows]) -> None:
        self._graph = get_default_graph()
        self._depth = depth(self._graph)
        self._make = make
        self.rows: Rows | None = None

    def settle(self, element: Tensor) -> Rows:
        """Returns the elements; `element` is one that is about to be written."""
        if self.rows is None:
            example = example_outside(element, self._depth)
            with at_depth(self._graph, self._depth):
                self.rows = self._make(example)
        return self.rows


@final
class TensorArray:
    """Tensors of one shape, which are written and read by their numbers.

    What writes returns a new array; the old one still holds what it did. An array can be a loop
    variable of `tf.while_loop`, and what branches of `tf.cond` return. Gradients go through it.

    Other than TensorFlow's, all elements have one shape, what was read may be read again, what was
    written may be written again, and an element that was never written is 0. A number out of range
    that is known when the graph is built raises an error there; with one that only a run tells, a
    write changes nothing, and a read gives the nearest element. A loop that lets an array grow
    (`dynamic_size`) is run twice: first to learn how long the array becomes. If it also reads the
    array, that may have 1000 elements at most.

    Args:
        dtype: of the elements.
        size: how many there are; may be a tensor.
        dynamic_size: whether a write beyond the last element makes the array longer.
        clear_after_read, colocate_with_first_write_call: without meaning here.
        tensor_array_name: an older name of `name`.
        handle: without meaning here; must be None.
        flow: likewise.
        infer_shape: whether the first write tells the shape of all.
        element_shape: the shape of an element, as far as it is known.
        name: of it.

    Raises:
        ValueError: `size` is not given, or `handle` or `flow` is.
        DTypeError: the elements are strings.
    """

    __slots__ = ("_common", "_rows", "_size", "_start")

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None or flow is not None:
            raise ValueError(
                "TensorArray: handle and flow must be None; hand the TensorArray itself on"
            )
        if size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        named = name or tensor_array_name or "TensorArray"
        kind, shape = as_dtype(dtype).base_dtype, TensorShape(element_shape)
        common = _Common(kind, shape, bool(dynamic_size), infer_shape, named)
        if common.dtype is string:
            raise DTypeError("TensorArray: strings are on the host; use a list, or a queue")
        self._common = common
        self._size: int | Tensor = _as_size(size)
        self._rows: Rows | None = None
        self._start = Start(self._zeros)
        if common.shape.is_fully_defined():
            dims = common.shape.as_list()
            self._rows = Rows(zeros([self._size, *dims], common.dtype, name=named))

    def _zeros(self, element: Tensor) -> Rows:
        common = self._common
        with name_scope(common.name):
            if element.shape.is_fully_defined():
                return Rows(zeros([self._size, *element.shape.as_list()], common.dtype))
            sizes = [convert_to_tensor([self._size]), shape_of(element)]
            data = zeros(concat(sizes, 0), common.dtype)
        count = self._size if isinstance(self._size, int) else None
        data._shape = TensorShape([count]).concatenate(element.shape)
        return Rows(data)

    # -- for loops and branches --------------------------------------------------------------

    @property
    def grows(self) -> bool:
        """Whether a write beyond the last element makes it longer."""
        return self._common.grows

    @property
    def rows(self) -> Rows | None:
        """The elements; None where nothing was written and nothing tells their shape."""
        return self._rows or self._start.rows

    def settled(self, element: Tensor) -> Rows:
        """Returns the elements, of which `element` is one that is about to be written."""
        return self._rows or self._start.settle(element)

    def with_rows(self, rows: Rows, size: int | Tensor | None = None) -> TensorArray:
        """Returns the array with other elements; `size` is how many, default as many as now."""
        made = self._like()
        made._rows = rows
        made._size = self._size if size is None else size
        return made

    def with_start(self, start: Start) -> TensorArray:
        """Returns the array as it stands in a loop, where its elements are others."""
        made = self._like()
        made._rows, made._start = None, start
        return made

    def _like(self) -> TensorArray:
        made = object.__new__(TensorArray)
        made._common, made._size = self._common, self._size
        made._rows, made._start = self._rows, self._start
        return made

    # -- what it is --------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._common.dtype

    dynamic_size = grows

    @property
    def element_shape(self) -> TensorShape:
        """The shape of an element, as far as it is known."""
        return self._common.shape

    @property
    def flow(self) -> Tensor:
        """A tensor that is computed once all is written: the elements, or 0 if there are none."""
        rows = self.rows
        return convert_to_tensor(0.0) if rows is None else rows.data

    def identity(self) -> TensorArray:
        """Returns the array, as what is computed after what is controlled by."""
        rows = self.rows
        if rows is None:
            return self
        return self.with_rows(rows.with_parts(*map(identity, rows.parts)))

    def close(self, name: str | None = None) -> Operation:
        """Returns an Operation that does nothing: a run keeps no arrays."""
        return no_op(name=name or "TensorArrayCloseV3")

    def size(self, name: str | None = None) -> Tensor:
        """Returns how many elements there are, as a tensor."""
        rows = self.rows
        if rows is not None and rows.length is not None:
            return identity(rows.length, name=name)
        if not self.grows or rows is None:
            return convert_to_tensor(self._size, int32)

        def counted(data: EdgeHandle) -> EdgeHandle:
            sizes = handle("Cast", data.shape_array(), dtype="int32")
            return handle("_np_squeeze", sizes.slice_axis(axis=0, begin=0, end=1))

        return fused("TensorArraySizeV3", counted, [rows.data], name=name, shape=())

    # -- reading -----------------------------------------------------------------------------

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Returns an element.

        Args:
            index: its number.

        Raises:
            InvalidArgumentError: it is known that there is no such element.
        """
        place, known = _as_index(index)
        rows = self._read("read")
        if known is not None and rows.length is None:
            self._check_index(known, rows.count, "read from")
        shape = self._common.shape
        return self._made("TensorArrayReadV3", "take", [rows.data, place], shape, name, _CLIP)

    def stack(self, name: str | None = None) -> Tensor:
        """Returns all elements as the rows of one tensor."""
        with name_scope(name, "TensorArrayStack"):
            rows = self._whole("stack")
            count = None if self.grows else static_value(self.size())
            dims = self._several(None if count is None else int(count))
            return self._made("TensorArrayGatherV3", "_copy", [rows.data], dims, name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Returns some elements as the rows of one tensor.

        Args:
            indices: (n,) their numbers.
        """
        places = convert_to_tensor(indices, name="indices")
        rows = self._read("gather")
        known = static_value(places)
        for one in () if known is None or rows.length is not None else known.reshape(-1).tolist():
            self._check_index(one, rows.count, "read from")
        dims = self._several(None)
        return self._made("TensorArrayGatherV3", "take", [rows.data, places], dims, name, _CLIP)

    def concat(self, name: str | None = None) -> Tensor:
        """Returns all elements, joined along their first dimension.

        Raises:
            ValueError: they have none.
        """
        rows = self._whole("concat")
        if rows.data.shape.ndims == 1:
            raise ValueError("TensorArray.concat: elements must have a dimension, got scalars")

        def joined(data: EdgeHandle) -> EdgeHandle:
            return handle("Reshape", data, shape=(-3, -2))

        made = fused("TensorArrayConcatV3", joined, [rows.data], name=name)
        if not self._common.infers:
            made._shape = TensorShape(None)
        return made

    def _several(self, count: int | None) -> TensorShape:
        return TensorShape([count]).concatenate(self._common.shape)

    def _made(
        self,
        kind: str,
        operator: str,
        inputs: Sequence[Tensor],
        shape: TensorShape,
        name: str | None,
        params: dict[str, Any] | None = None,
    ) -> Tensor:
        kinds = [Kind(self.dtype.numpy, shape._dims)]
        made: Tensor = apply(kind, operator, inputs, params, name=name, kinds=kinds)
        return made

    def _read(self, what: str) -> Rows:
        rows = self.rows
        if rows is None:
            raise InvalidArgumentError(
                f"TensorArray {self._common.name!r}: {what} needs elements whose shape "
                "is known, but nothing was written before; write first, or give element_shape"
            )
        if rows.growth is not None:
            rows.growth.is_read = True
        return rows

    def _whole(self, what: str) -> Rows:
        rows = self._read(what)
        if rows.length is not None:
            raise ValueError(
                f"TensorArray {self._common.name!r}: it grows in this loop, where it cannot be "
                f"used as a whole ({what}); give it a size, without dynamic_size"
            )
        return rows

    def _check_index(self, index: int, count: int | None, what: str) -> None:
        if index < 0 or (count is not None and index >= count):
            raise InvalidArgumentError(
                f"TensorArray {self._common.name!r}: Tried to {what} index {index} but "
                f"array is of size {'?' if count is None else count}"
            )

    # -- writing -----------------------------------------------------------------------------

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Returns the array with an element written.

        Args:
            index: its number.
            value: the element.

        Raises:
            InvalidArgumentError: it is known that there is no such element.
            TypeError: the value is of another dtype.
            ValueError: it is of another shape.
        """
        with name_scope(name, "TensorArrayWrite"):
            place, known = _as_index(index)
            element = self._as_element(value)
            self._common.merge(element.shape)
            rows = self._long_enough(self.settled(element), place, known)
            self._check_shape(element, rows)
            inputs = [rows.data, place, element]
            kinds = [kind_of(rows.data)]
            made = apply("TensorArrayWriteV3", "_write_row", inputs, kinds=kinds)
        length = rows.length if rows.length is None else maximum(rows.length, add(place, 1))
        return self.with_rows(rows.with_parts(made, length))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Returns the array with all its elements written: the rows of a tensor.

        Raises:
            InvalidArgumentError: it is known that there are more rows than elements.
        """
        with name_scope(name, "TensorArrayUnstack", [value]):
            data, size = self._as_rows(value), self._size
            count = _first_of(data)
            if not self.grows and isinstance(size, int) and count is not None:
                if count > size:
                    self._check_index(count - 1, size, "write to")
                data = _padded(data, size - count)
            return self.with_rows(Rows(data))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Returns the array with some elements written.

        Args:
            indices: (n,) their numbers.
            value: (n, ...) the elements.
        """
        with name_scope(name, "TensorArrayScatter", [value]):
            places = convert_to_tensor(indices, int32)
            data = self._as_rows(value)
            known = static_value(places)
            rows = self.settled(Rows(data).element())
            if known is not None and known.size:
                rows = self._long_enough(rows, places, int(known.max()))
                self._check_index(int(known.min()), rows.count, "write to")
            inputs = [rows.data, expand_dims(places, 1), data]
            made = apply("TensorArrayScatterV3", "_update_tuples", inputs, {"how": "set"},
                         kinds=[kind_of(rows.data)])  # fmt: skip
            length = rows.length
            if length is not None:
                length = maximum(length, add(reduce_max(places), 1))
            return self.with_rows(rows.with_parts(made, length))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Returns the array with all its elements written: parts of a tensor.

        Args:
            lengths: the size of each part along the first dimension; known when the graph is
                built, and all the same.

        Raises:
            ValueError: `lengths` are not known, or differ.
        """
        sizes = known_numbers(lengths)
        if not sizes or len(set(sizes)) != 1:
            raise ValueError(
                "TensorArray.split: lengths must be known when the graph is built, and all the "
                f"same, got {lengths!r}"
            )
        with name_scope(name, "TensorArraySplit", [value]):
            whole = self._as_element(value)
            first = whole.shape.dims and whole.shape.dims[0].value
            if first is not None and first != sum(sizes):
                raise InvalidArgumentError(
                    "TensorArray.split: the sum of lengths must be the size of value, "
                    f"got {sum(sizes)} and {whole.shape}"
                )

            def parts(data: EdgeHandle) -> EdgeHandle:
                return handle("Reshape", data, shape=(-4, len(sizes), sizes[0], -2))

            made = fused("TensorArraySplitV3", parts, [whole], name="TensorArraySplitV3")
            return self.unstack(made)

    def _as_element(self, value: Any) -> Tensor:
        made = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
        if made.dtype.base_dtype is not self.dtype:
            raise TypeError(
                f"TensorArray {self._common.name!r}: elements must be {self.dtype.name}, got "
                f"{made.dtype.base_dtype.name}"
            )
        return made

    def _as_rows(self, value: Any) -> Tensor:
        made = self._as_element(value)
        if made.shape.ndims == 0:
            raise ValueError("TensorArray: the elements must be rows of a tensor, got a scalar")
        self._common.merge(made.shape[1:])
        return made

    def _check_shape(self, element: Tensor, rows: Rows) -> None:
        shape = rows.data.shape[1:]
        if not shape.is_compatible_with(element.shape):
            raise ValueError(
                f"TensorArray {self._common.name!r}: all elements must be of one shape, got "
                f"{element.shape} and {shape}"
            )

    def _long_enough(self, rows: Rows, place: Tensor, last: int | None) -> Rows:
        """Returns the elements with as many more as a write needs.

        Args:
            rows: the elements.
            place: where it is written.
            last: the highest number, if it is known.
        """
        if not self.grows or rows.length is not None:
            if last is not None and rows.length is None:
                self._check_index(last, rows.count, "write to")
            return rows
        count = rows.count
        if last is None or count is None:
            more = subtract(add(place, 1), self.size())
            return Rows(_padded(rows.data, maximum(more, 0)))
        if last < 0:
            self._check_index(last, rows.count, "write to")
        return Rows(_padded(rows.data, max(0, last + 1 - count)))


_CLIP = {"axis": 0, "mode": "clip"}


def _as_size(size: Any) -> int | Tensor:
    known = known_numbers(size)
    if known is not None:
        return int(np.asarray(known))
    return cast_to(convert_to_tensor(size), int32)


def _as_index(index: Any) -> tuple[Tensor, int | None]:
    """Returns a number as a tensor, and as a number where it is known."""
    made = convert_to_tensor(index, name="index")
    if not made.dtype.is_integer:
        raise TypeError(f"TensorArray: an index must be a whole number, got {made!r}")
    known = static_value(made)
    return cast_to(made, int32), None if known is None else int(known)


def _padded(data: Tensor, more: int | Tensor) -> Tensor:
    """Returns rows with zeros after them."""
    if isinstance(more, int) and not more:
        return data
    count, own = _first_of(data), data.shape[1:]
    if own.is_fully_defined():
        rest = zeros([more, *own.as_list()], data.dtype)
    else:
        rest = zeros(concat([convert_to_tensor([more]), shape_of(data)[1:]], 0), data.dtype)  # type: ignore[index]
    made = concat([data, rest], 0)
    whole = count + more if count is not None and isinstance(more, int) else None
    made._shape = TensorShape([whole]).concatenate(own)
    return made


def _first_of(data: Tensor) -> int | None:
    """Returns the size of the first dimension, if it is known."""
    found: int | None = data.shape[0].value
    return found

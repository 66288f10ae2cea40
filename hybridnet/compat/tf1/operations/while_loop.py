"""`while_loop`: a function that is run over and over becomes a graph inside a node.

A `TensorArray` among the loop variables is carried as the tensor that its elements are. Where that
is not known before the loop is made (as nothing was written yet), it becomes a variable of the loop
at the first write in it; of one that grows in the loop see `_WhileLoop._grown`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.attribute import AttrScope
from hybridnet.graph.while_loop import open_while
from hybridnet.symbol.inside import Inside, joined

from ..graph.building import COPY, apply_call, kind_of, tensor_of
from ..graph.control import name_scope
from ..graph.graph import get_default_graph
from ..graph.infer import Kind
from ..graph.shapes import TensorShape, as_dims
from ..graph.tensor import Tensor
from ..graph.values import convert_to_tensor
from ..nest import assert_same_structure, flatten, pack_sequence_as
from .arrays import Rows, Start, TensorArray
from .creation import shape as shape_of
from .inside import at_depth, depth, example_outside, inner, marked, outputs_of
from .joining import concat
from .scripts import host_call

__all__ = ["while_loop"]

_PARALLEL: Final = "__parallel_iterations__"


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Runs a function over and over while a condition holds.

    Args:
        cond: gets the loop variables, and returns a tensor of one bool.
        body: gets them too, and returns the new ones.
        loop_vars: the first ones: a list (or a nest) of tensors and `TensorArray`. In a run each
            tensor keeps its shape.
        shape_invariants: shapes for them, in a nest like `loop_vars`, for where a size is not that
            of the first value in every run.
        parallel_iterations: how many turns may be under way where several devices take part.
        back_prop: without meaning here.
        swap_memory: without meaning here.
        name: of the scope.
        maximum_iterations: how often `body` is run at most; None if `cond` alone ends it.
        return_same_structure: whether a list of one variable is returned as a list.

    Returns:
        The last loop variables, nested as `loop_vars`; of a list of one, that one.

    Raises:
        TypeError: an argument is something else, or a loop variable changes its dtype.
        ValueError: `body` returns another nest, or a variable changes its shape.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    structure = list(loop_vars) if type(loop_vars) is tuple else loop_vars
    leaves = flatten(structure)
    with name_scope(name, "while", [one for one in leaves if not isinstance(one, TensorArray)]):
        loop = _WhileLoop(structure, leaves, shape_invariants)
        limit = None if maximum_iterations is None else _limit(maximum_iterations)
        loop.test(cond)
        loop.turn(body)
        with AttrScope(**{_PARALLEL: str(parallel_iterations)}):
            made = loop.run(limit)
    result = pack_sequence_as(loop_vars, made)
    alone = isinstance(result, (list, tuple)) and len(made) == 1
    return result[0] if alone and not return_same_structure else result


class _WhileLoop:
    """A loop while it is made.

    Args:
        structure: the nest that the loop variables are.
        leaves: of it: tensors, values and arrays.
        invariants: a nest of shapes, or None.

    Attributes of the inside:
        _first: the tensors that variables begin with, as far as they are known now.
        _shapes: what holds of their sizes in every turn.
        _at: for each leaf the number of its variable; None of an array that has none yet.
        _added: for each array that gets its variables in the body, by the number of its leaf, the
            number of that of its elements. After it comes that of its length, if it grows.
    """

    def __init__(self, structure: Any, leaves: Sequence[Any], invariants: Any) -> None:
        self._structure = structure
        self._leaves: list[Any] = [
            one if isinstance(one, TensorArray) else convert_to_tensor(one) for one in leaves
        ]
        self._first: list[Tensor] = []
        self._at: list[int | None] = []
        for leaf in self._leaves:
            first: Tensor | None = None
            if not isinstance(leaf, TensorArray):
                first = leaf
            elif leaf.rows is not None and not leaf.grows:
                first = leaf.rows.data
            self._at.append(None if first is None else len(self._first))
            self._first += [] if first is None else [first]
        self._shapes = self._invariants(invariants)
        self._graph = get_default_graph()
        self._added: dict[int, int] = {}

    def _invariants(self, given: Any) -> list[Any]:
        """Returns the sizes of the loop variables that hold in every turn."""
        shapes = [one.shape._dims for one in self._first]
        if given is None:
            return shapes
        pairs = zip(self._leaves, self._at, _shapes(self._structure, given), strict=True)
        for one, number, shape in pairs:
            if number is None or isinstance(one, TensorArray):
                continue
            if not TensorShape(shape).is_compatible_with(one.shape):
                raise ValueError(
                    f"The shape invariant specified for {one.name} is not compatible with the "
                    f"initial shape of the loop variable. It enters the loop with shape "
                    f"{one.shape}, but the specified shape invariant is {TensorShape(shape)}."
                )
            shapes[number] = shape
        return shapes

    # -- condition and body ------------------------------------------------------------------

    def test(self, cond: Callable[..., Any]) -> None:
        """Calls the condition."""
        inside = self._tested = Inside("while_cond", [one.symbol for one in self._first])
        with marked(self._graph, inside):
            holds = convert_to_tensor(cond(*self._arguments(inside, _refuse)))
            if not holds.dtype.is_bool:
                raise TypeError(f"'cond' must return a boolean scalar tensor, got {holds}")
            self._holds = inner(holds)

    def turn(self, body: Callable[..., Any]) -> None:
        """Calls the body."""
        inside = self._inside = Inside("while_body", [one.symbol for one in self._first])
        with marked(self._graph, inside):
            arguments = self._arguments(inside, self._starting)
            new = flatten(self._packed(body(*arguments)))
            #: Of each variable, by its number, the new value.
            self._new: dict[int, Tensor] = {}
            for number, one in enumerate(new):
                self._take(number, one)

    def _arguments(self, inside: Inside, make: Callable[[int], Callable[[Tensor], Rows]]) -> Any:
        """Returns what stands for the loop variables inside."""
        entered = []
        for symbol, one, dims in zip(inside.symbols, self._first, self._shapes, strict=True):
            source = tensor_of(self._graph, symbol.edges[0], Kind(one.dtype.numpy, dims))
            entered.append(apply_call("Identity", COPY, (source,), name="Identity"))
        self._entered: list[Any] = []
        for number, (leaf, at) in enumerate(zip(self._leaves, self._at, strict=True)):
            if not isinstance(leaf, TensorArray):
                assert at is not None
                self._entered.append(entered[at])
            elif at is None:
                self._entered.append(leaf.with_start(Start(make(number))))
            else:
                self._entered.append(leaf.with_rows(Rows(entered[at])))
        packed = pack_sequence_as(self._structure, self._entered)
        return list(packed) if isinstance(packed, (list, tuple)) else [packed]

    def _starting(self, number: int) -> Callable[[Tensor], Rows]:
        """Returns what makes the variables of an array at the first write in the body."""
        array = self._leaves[number]

        def start(example: Tensor) -> Rows:
            level = depth(self._graph) - 1
            if array.grows and level:
                raise ValueError(
                    "while_loop: a TensorArray cannot grow in a loop that is in a branch or in "
                    "another loop; give it a size, without dynamic_size"
                )
            outer = example_outside(example, level)
            with at_depth(self._graph, level):
                data = array.settled(outer).data
                length = shape_of(data)[0] if array.grows else None  # type: ignore[index]
            self._added[number] = len(self._inside.symbols)
            kind = kind_of(data)
            if array.grows and kind.dims is not None:
                kind = Kind(kind.dtype, (None, *kind.dims[1:]))
            inside = self._variable(data, kind)
            return Rows(inside, None if length is None else self._variable(length, None))

        return start

    def _variable(self, source: Tensor, kind: Kind | None) -> Tensor:
        symbol = self._inside.add(source.symbol)
        inside = tensor_of(self._graph, symbol.edges[0], kind or kind_of(source))
        made: Tensor = apply_call("Identity", COPY, (inside,), name="Identity")
        return made

    def _packed(self, result: Any) -> Any:
        """Returns what the body returned, nested as the loop variables.

        Raises:
            ValueError: it is nested differently.
        """
        packed = result if isinstance(result, (list, tuple, Mapping)) else [result]
        if isinstance(self._structure, (list, tuple)) and not isinstance(packed, Mapping):
            packed = list(packed)
            try:
                assert_same_structure(list(self._structure), packed, check_types=False)
            except ValueError as error:
                raise ValueError(f"body must return what it gets: {error}") from None
        elif isinstance(self._structure, Mapping):
            packed = packed[0] if isinstance(packed, list) and len(packed) == 1 else packed
            assert_same_structure(self._structure, packed, check_types=False)
        return packed

    def _take(self, number: int, new: Any) -> None:
        """Notes the new value of a loop variable.

        Raises:
            TypeError, ValueError: it is something else than before.
        """
        leaf, at = self._leaves[number], self._at[number]
        if _is_array(leaf) is not _is_array(new):
            raise TypeError(
                f"while_loop: loop variable {number} must stay what it is, a TensorArray or a "
                f"tensor, but it begins as {leaf!r} and the body makes it {new!r}"
            )
        if isinstance(new, TensorArray):
            self._take_rows(number, new)
            return
        assert at is not None
        begin = self._first[at]
        made = convert_to_tensor(new, None if isinstance(new, Tensor) else begin.dtype)
        _check_turn(made, begin, self._shapes[at])
        self._new[at] = inner(made)

    def _take_rows(self, number: int, new: TensorArray) -> None:
        at, rows, entered = self._at[number], new.rows, self._entered[number]
        if at is None and rows is None:
            rows = entered.rows
            if rows is None:
                return  # nothing is written in the loop
        if rows is None:
            raise ValueError("while_loop: the body returns a TensorArray that was never written")
        if at is None:
            entered.settled(rows.element())  # where it is another array
            at = self._added[number]
        for place, part in enumerate(rows.parts):
            self._new[at + place] = inner(part)

    # -- the loop ----------------------------------------------------------------------------

    def run(self, limit: int | None) -> list[Any]:
        """Adds the node; returns what the loop variables are after it."""
        lengths = [at + 1 for number, at in self._added.items() if self._leaves[number].grows]
        if lengths:
            self._grown(limit, lengths)
        made = self._node(limit, lengths)
        return [
            leaf if at is None else leaf.with_rows(Rows(made[at])) if _is_array(leaf) else made[at]
            for leaf, at in zip(self._leaves, self._places(), strict=True)
        ]

    def _places(self) -> list[int | None]:
        """Returns for each leaf the number of its variable, None where it has none."""
        pairs = enumerate(self._at)
        return [self._added.get(number) if at is None else at for number, at in pairs]

    def _node(self, limit: int | None, without: Collection[int]) -> dict[int, Tensor]:
        """Adds a node of the loop, without some of its variables; returns the last values."""
        every = self._places()
        every += [at + 1 for number, at in self._added.items() if self._leaves[number].grows]
        numbers = [number for number in every if number is not None and number not in without]
        new = [self._new[number].edge for number in numbers]
        ends = [(self._tested, [self._holds.edge]), (self._inside, new)]
        (test, step), inputs, places = joined(ends)
        carried = tuple(places[number] for number in numbers)
        call, scalars = open_while(test, step, carried, 0, limit)
        if without and (call.draws or call.written):
            raise ValueError(
                "while_loop: a TensorArray cannot grow in a loop that draws random numbers or "
                "changes variables, as it is run twice; give it a size, without dynamic_size"
            )
        kinds = [kind_of(self._new[number]) for number in numbers]
        for place, number in enumerate(numbers):
            if number < len(self._first):
                kinds[place] = Kind(kinds[place].dtype, self._shapes[number])
        made = outputs_of("While", call, inputs, scalars, kinds, "Exit")
        return dict(zip(numbers, made, strict=True))

    def _grown(self, limit: int | None, lengths: Sequence[int]) -> None:
        """Makes arrays as long as the loop lets them grow.

        XLA's arrays have a size that is known before a program is built. So the loop is run once
        without its arrays, to learn how long they become.

        Args:
            limit: how often the loop is run at most.
            lengths: the variables of the lengths; that of the elements is the one before.
        """
        with name_scope("length"):
            made = self._node(limit, [number - 1 for number in lengths])
            for number in lengths:
                source = tensor_of(self._graph, self._inside.sources[number - 1])
                self._inside.sources[number - 1] = _lengthened(source, made[number]).edge


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, TensorArray)


def _lengthened(data: Tensor, length: Tensor) -> Tensor:
    """Returns rows with as many zeros after them that there are as many as only a run tells."""
    kind = data.dtype.numpy

    def missing(length: Any, sizes: Any) -> list[Any]:
        return [np.zeros((max(int(length) - int(sizes[0]), 0), *sizes[1:].tolist()), kind)]

    dims = data.shape._dims
    known = [None if dims is None else (None, *dims[1:])]
    more = host_call("TensorArrayGrow", missing, [length, shape_of(data)], [data.dtype], known)
    return concat([data, more], 0)


def _refuse(_: int) -> Callable[[Tensor], Rows]:
    """What makes the variables of an array at a write in the condition: it must not write."""

    def start(_: Tensor) -> Rows:
        raise ValueError("while_loop: cond must not write to a TensorArray; do it in body")

    return start


def _limit(maximum: Any) -> int:
    value = maximum
    if isinstance(maximum, Tensor):
        value = maximum.op.params.get("value")
    try:
        limit = int(value)
    except (TypeError, ValueError):
        limit = -1
    if limit < 0:
        raise ValueError(f"maximum_iterations must be a number, not negative, got {maximum!r}")
    return limit


def _shapes(structure: Any, given: Any) -> list[Any]:
    """Returns the shapes that stand where the leaves of a nest do."""
    if isinstance(structure, Mapping):
        return [one for key in sorted(structure) for one in _shapes(structure[key], given[key])]
    if isinstance(structure, (list, tuple)):
        if len(structure) != len(given):
            raise ValueError("'shape_invariants' must be nested as 'loop_vars'")
        pairs = zip(structure, given, strict=True)
        return [one for pair in pairs for one in _shapes(*pair)]
    return [as_dims(given)]


def _check_turn(new: Tensor, begin: Tensor, dims: Any) -> None:
    """Raises an error where a loop variable does not stay what it is."""
    if new.dtype.base_dtype is not begin.dtype.base_dtype:
        raise TypeError(
            f"Input tensor {begin.name!r} enters the loop with dtype "
            f"{begin.dtype.base_dtype.name}, but has dtype {new.dtype.base_dtype.name} after one "
            "iteration."
        )
    after = new.shape._dims
    fits = dims is None or (
        after is not None
        and len(after) == len(dims)
        and all(a is None or a == b for a, b in zip(dims, after, strict=True))
    )
    if not fits:
        raise ValueError(
            f"Input tensor {begin.name!r} enters the loop with shape {TensorShape(dims)}, but has "
            f"shape {new.shape} after one iteration. To allow the shape to vary across iterations, "
            "use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )

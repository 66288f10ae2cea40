"""`while_loop`: a function that is run over and over becomes a graph inside a node.

A `TensorArray` among the loop variables is carried as the tensor that its elements are. Where that
is not known before the loop is made (as nothing was written yet), it becomes a variable of the loop
at the first write in it; of one that grows in the loop see `_WhileLoop._grow`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.graph import Edge, Graph, Node, WhileCall, open_while, topological
from hybridnet.symbol import AttrScope, Inside, joined

from ..errors import ResourceExhaustedError
from ..graph import Kind, TensorShape, as_dims, get_default_graph, kind_of, tensor_of
from ..graph.adding import Tensor, constant, convert_to_tensor, name_scope
from ..graph.building import COPY
from ..nest import assert_same_structure, flatten, pack_sequence_as
from .arrays import Growth, Rows, Start, TensorArray
from .creation import shape_of
from .elementwise import less_equal, logical_and
from .inside import at_depth, depth, example_outside, inner, marked, outputs_of
from .joining import concat
from .scripts import host_tensor

__all__ = ["while_loop"]

_PARALLEL: Final = "__parallel_iterations__"
#: The elements that an array has at most that grows in a loop that reads it.
_MOST_READ: Final = 1000


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
        back_prop, swap_memory: without meaning here.
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
        _at: for each leaf the number of its variable; None of an array that has none (yet). That
            of the length of an array that grows comes after that of its elements.
        _growths: of the arrays that grow in this loop, by the number of the leaf, and not in
            another loop around it.
        _new: of each variable, by its number, the new value.
        _changed: the numbers of the arrays that the body writes.
    """

    def __init__(self, structure: Any, leaves: Sequence[Any], invariants: Any) -> None:
        self._structure = structure
        self._graph = get_default_graph()
        self._leaves: list[Any] = [
            one if _is_array(one) else convert_to_tensor(one) for one in leaves
        ]
        self._first: list[Tensor] = []
        self._at: list[int | None] = []
        self._growths: dict[int, Growth] = {}
        self._shapes: list[Any] = []
        for number, leaf in enumerate(self._leaves):
            parts = [leaf]
            if _is_array(leaf):
                parts = [] if leaf.rows is None else self._parts(number, leaf.rows)
            self._at.append(len(self._first) if parts else None)
            self._first += parts
            self._shapes += [one.shape._dims for one in parts]
            if number in self._growths and self._shapes[-2] is not None:
                self._shapes[-2] = (None, *self._shapes[-2][1:])
        if invariants is not None:
            self._limit_shapes(_shapes(structure, invariants))
        self._new: dict[int, Tensor] = {}
        self._changed: list[int] = []

    def _parts(self, number: int, rows: Rows) -> list[Tensor]:
        """Returns the tensors that the variables of an array begin with."""
        if not self._leaves[number].grows or rows.length is not None:
            return rows.parts
        self._growths[number] = Growth()
        return [rows.data, shape_of(rows.data)[0]]  # type: ignore[index]  # overloaded

    def _limit_shapes(self, given: Sequence[Any]) -> None:
        """Takes the sizes that the user says hold in every turn."""
        for one, number, shape in zip(self._leaves, self._at, given, strict=True):
            if number is None or _is_array(one):
                continue
            if not TensorShape(shape).is_compatible_with(one.shape):
                raise ValueError(
                    f"The shape invariant specified for {one.name} is not compatible with the "
                    f"initial shape of the loop variable. It enters the loop with shape "
                    f"{one.shape}, but the specified shape invariant is {TensorShape(shape)}."
                )
            self._shapes[number] = shape

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
            for number, one in enumerate(flatten(self._packed(body(*arguments)))):
                self._take(number, one)

    def _arguments(self, inside: Inside, make: Callable[[int], Callable[[Tensor], Rows]]) -> Any:
        """Returns what stands for the loop variables inside."""
        entered = []
        for symbol, one, dims in zip(inside.symbols, self._first, self._shapes, strict=True):
            kind = Kind(one.dtype.numpy, dims)
            entered.append(inner(tensor_of(self._graph, symbol.edges[0], kind)))
        self._entered: list[Any] = []
        for number, (leaf, at) in enumerate(zip(self._leaves, self._at, strict=True)):
            if at is None:
                self._entered.append(leaf.with_start(Start(make(number))))
            elif not _is_array(leaf):
                self._entered.append(entered[at])
            elif number in self._growths:
                rows = Rows(entered[at], entered[at + 1], self._growths[number])
                self._entered.append(leaf.with_rows(rows))
            else:
                parts = entered[at : at + len(leaf.rows.parts)]
                self._entered.append(leaf.with_rows(leaf.rows.with_parts(*parts)))
        packed = pack_sequence_as(self._structure, self._entered)
        return list(packed) if isinstance(packed, (list, tuple)) else [packed]

    def _starting(self, number: int) -> Callable[[Tensor], Rows]:
        """Returns what makes the variables of an array at the first write in the body."""
        array = self._leaves[number]

        def start(example: Tensor) -> Rows:
            level = depth(self._graph) - 1
            outer = example_outside(example, level)
            with at_depth(self._graph, level):
                rows = array.settled(outer)
                parts = self._parts(number, rows)
            self._at[number] = len(self._inside.symbols)
            kind = kind_of(rows.data)
            kind = kind.row().stacked(None) if number in self._growths else kind
            data = self._variable(parts[0], kind)
            length = self._variable(parts[1]) if len(parts) > 1 else None
            return Rows(data, length, self._growths.get(number, rows.growth))

        return start

    def _variable(self, source: Tensor, kind: Kind | None = None) -> Tensor:
        self._tested.add(source.symbol)  # the variables of both have the same numbers
        symbol = self._inside.add(source.symbol)
        return inner(tensor_of(self._graph, symbol.edges[0], kind or kind_of(source)))

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
        if _is_array(leaf):
            self._take_rows(number, new)
            return
        assert at is not None
        begin = self._first[at]
        made = convert_to_tensor(new, None if isinstance(new, Tensor) else begin.dtype)
        _check_turn(made, begin, self._shapes[at])
        self._new[at] = inner(made)

    def _take_rows(self, number: int, new: TensorArray) -> None:
        entered = self._entered[number]
        rows = new.rows or entered.rows
        if rows is None:
            return  # nothing is written in the loop
        if new.rows is None and self._at[number] is None:
            raise ValueError("while_loop: the body returns a TensorArray that was never written")
        own = entered.settled(rows.element())
        parts = rows.parts
        if own.length is not None and rows.length is None:  # another array, of the body's own
            parts = [rows.data, shape_of(rows.data)[0]]  # type: ignore[index]  # overloaded
        at = self._at[number]
        assert at is not None
        for place, part in enumerate(parts[: len(own.parts)]):
            self._new[at + place] = inner(part)
        if rows is not own:
            self._changed.append(number)

    # -- the loop ----------------------------------------------------------------------------

    def run(self, limit: int | None) -> list[Any]:
        """Adds the node; returns what the loop variables are after it."""
        growing = [number for number in self._changed if number in self._growths]
        if growing:
            self._grow(limit, growing)
        made = self._node(limit, self._holds, [place + 1 for place in self._places(growing)])
        found: list[Any] = []
        for number, (leaf, at) in enumerate(zip(self._leaves, self._at, strict=True)):
            if at is None or not _is_array(leaf):
                found.append(leaf if at is None else made[at])
                continue
            parts = [made[one] for one in self._variables(number) if one in made]
            rows = leaf.rows or self._entered[number].rows
            if number in self._growths:
                rows, parts = Rows(parts[0]), parts[:1]
            found.append(leaf.with_rows(rows.with_parts(*parts)))
        return found

    def _variables(self, number: int) -> list[int]:
        """Returns the numbers of the variables of a leaf."""
        at, entered = self._at[number], self._entered[number]
        if at is None:
            return []
        return [at + place for place in range(len(entered.rows.parts) if _is_array(entered) else 1)]

    def _places(self, numbers: Sequence[int]) -> list[int]:
        """Returns the variables of the elements of arrays."""
        return [at for number in numbers if (at := self._at[number]) is not None]

    def _node(
        self, limit: int | None, holds: Tensor, without: Collection[int]
    ) -> dict[int, Tensor]:
        """Adds a node of the loop, without some of its variables; returns the last values."""
        ordered = [one for leaf in range(len(self._leaves)) for one in self._variables(leaf)]
        numbers = [number for number in ordered if number not in without]
        new = [self._new[number].edge for number in numbers]
        ends = [(self._tested, [holds.edge]), (self._inside, new)]
        call, inputs, scalars = _opened(ends, numbers, limit)
        written = {inputs[place] for place in call.written}
        read = [one for one in inputs if one.node.call is COPY]
        copies = {one: one.node.inputs[0] for one in read if one.node.inputs[0] in written}
        if copies:  # the value that a variable has when a turn begins, not when the run does
            for inside in (self._tested, self._inside):
                inside.instead = copies
            call, inputs, scalars = _opened(ends, numbers, limit)
        if holds is not self._holds and (call.draws or call.written):
            raise ValueError(
                "while_loop: how long a TensorArray becomes must not depend on random numbers, or "
                "variables that the loop changes, as it is run twice; give it a size, without "
                "dynamic_size"
            )
        kinds = [kind_of(self._new[number]) for number in numbers]
        for place, number in enumerate(numbers):
            if number < len(self._first):
                kinds[place] = Kind(kinds[place].dtype, self._shapes[number])
        made = outputs_of("While", call, inputs, scalars, kinds, "Exit")
        return dict(zip(numbers, made, strict=True))

    def _grow(self, limit: int | None, growing: Sequence[int]) -> None:
        """Makes arrays as long as the loop lets them grow.

        XLA's arrays have a size that is known before a program is built. So the loop is run once
        to learn how long they become: of it what that depends on, of its arrays those that it
        reads, with as many elements as they may have.

        Args:
            limit: how often the loop is run at most.
            growing: the numbers of the arrays.
        """
        if depth(self._graph):
            raise ValueError(
                "while_loop: a TensorArray cannot grow in a loop that is in a branch or in "
                "another loop; give it a size, without dynamic_size"
            )
        places = self._places(growing)
        needed = self._needed([at + 1 for at in places])
        read = self._places([number for number in growing if self._growths[number].is_read])
        held = [at for at in read if at in needed]
        sources = {at: tensor_of(self._graph, self._inside.sources[at]) for at in places}
        with name_scope("length"):
            for at in held:
                self._begin_with(at, _lengthened(sources[at], constant(_MOST_READ)))
            made = self._node(limit, self._within(held), self._new.keys() - needed)
            for at in places:
                most = _MOST_READ if at in held else None
                self._begin_with(at, _lengthened(sources[at], made[at + 1], most))

    def _needed(self, numbers: Sequence[int]) -> set[int]:
        """Returns the variables that tell how often the loop turns, and what some of them are."""
        tests, _ = self._tested.cut([[self._holds.edge]])
        bodies, _ = self._inside.cut([[one.edge] for one in self._new.values()])
        read = {
            number: _read_by(graph, self._inside.variables)
            for number, graph in zip(self._new, bodies, strict=True)
        }
        stack = [*numbers, *_read_by(tests[0], self._tested.variables)]
        found: set[int] = set()
        while stack:
            number = stack.pop()
            if number not in found:
                found.add(number)
                stack += read[number]
        return found

    def _begin_with(self, number: int, data: Tensor) -> None:
        for inside in (self._tested, self._inside):
            inside.sources[number] = data.edge

    def _within(self, places: Sequence[int]) -> Tensor:
        """Returns whether the loop goes on, and its arrays have no more elements than they may."""
        with marked(self._graph, self._tested):
            holds = inner(self._holds)
            for at in places:
                symbol = self._tested.symbols[at + 1]
                kind = Kind(np.dtype(np.int32), ())
                length = tensor_of(self._graph, symbol.edges[0], kind)
                holds = logical_and(holds, less_equal(length, _MOST_READ))
        return holds


def _opened(
    ends: Sequence[tuple[Inside, Sequence[Edge]]], numbers: Sequence[int], limit: int | None
) -> tuple[WhileCall, list[Edge], tuple[Any, ...]]:
    """Returns the call of a loop, what it takes, and the numbers in it.

    Args:
        ends: of the condition and of the body: what they return.
        numbers: the loop variables that the body gives new values, in its order.
        limit: how often it is run at most.
    """
    (test, step), inputs, places = joined(ends)
    carried = tuple(places[number] for number in numbers)
    call, scalars = open_while(test, step, carried, 0, limit)
    return call, inputs, scalars


def _read_by(graph: Graph, variables: Sequence[Node]) -> list[int]:
    """Returns the numbers of the variables that the outputs of a graph depend on."""
    nodes = set(topological(graph.outputs))
    return [number for number, one in enumerate(variables) if one in nodes]


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, TensorArray)


def _lengthened(data: Tensor, length: Tensor, most: int | None = None) -> Tensor:
    """Returns rows with so many zeros after them that there are as many as only a run tells.

    Args:
        data: the rows.
        length: how many there are to be.
        most: how many there may be.
    """
    kind = data.dtype.numpy

    def missing(length: Any, sizes: Any) -> Any:
        if most is not None and length > most:
            raise ResourceExhaustedError(
                "while_loop: a TensorArray that grows in a loop that reads it may have "
                f"{most} elements at most; give it a size, without dynamic_size"
            )
        return np.zeros((max(int(length) - int(sizes[0]), 0), *sizes[1:].tolist()), kind)

    dims = kind_of(data).row().stacked(None).dims
    more = host_tensor("TensorArrayGrow", missing, [length, shape_of(data)], data.dtype, dims)
    return concat([data, more], 0)


def _refuse(_: int) -> Callable[[Tensor], Rows]:
    """Returns a `make` of `Start` that raises: the condition must not write to an array."""

    def start(_: Tensor) -> Rows:
        raise ValueError("while_loop: cond must not write to a TensorArray; do it in body")

    return start


def _limit(maximum: Any) -> int:
    value: Any = maximum.op.params.get("value") if isinstance(maximum, Tensor) else maximum
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
    if dims is not None and (
        after is None
        or len(after) != len(dims)
        or any(a not in (None, b) for a, b in zip(dims, after, strict=True))
    ):
        raise ValueError(
            f"Input tensor {begin.name!r} enters the loop with shape {TensorShape(dims)}, but has "
            f"shape {new.shape} after one iteration. To allow the shape to vary across iterations, "
            "use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )

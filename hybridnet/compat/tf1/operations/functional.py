"""``tf.map_fn``, ``tf.scan``, ``tf.foldl``, ``tf.foldr``: functions of the rows of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet.graph import open_foreach
from hybridnet.symbol import Inside

from ..graph import Graph, Tensor, convert_to_tensor, described, kind_of, name_scope, tensor_of
from ..nest import assert_same_structure, flatten, pack_sequence_as
from .inside import inner, marked, outputs_of
from .joining import concat
from .reshaping import expand_dims

__all__ = ["folded", "foldl", "foldr", "map_fn", "scan"]


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Returns what a function makes of each row of some tensors, stacked.

    Args:
        fn: gets a row (or the rows, nested as `elems`), and returns a tensor or a nest of them.
        elems: a tensor, or a nest of tensors, whose first dimension counts the rows.
        dtype: without meaning here: dtypes are those of what `fn` returns.
        parallel_iterations, back_prop, swap_memory, infer_shape, fn_output_signature: without
            meaning here.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: there is no tensor.
    """
    _check(fn, elems)
    with name_scope(name, "map", flatten(elems)):
        loop = _Loop(_tensors("elems", elems), [])
        result = loop.trace(lambda row, _: (fn(row), []), elems, [])
        return pack_sequence_as(result, loop.run(reverse=False)[0])


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Returns what a function makes of each row and what it made of the row before, stacked.

    Args:
        fn: gets what it returned last and a row, and returns a tensor or a nest like `initializer`.
        elems: a tensor, or a nest of tensors, whose first dimension counts the rows.
        initializer: what comes before the first row; default that row itself.
        parallel_iterations, back_prop, swap_memory, infer_shape: without meaning here.
        reverse: whether the last row comes first.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: `fn` returns another nest.
    """
    _check(fn, elems)
    with name_scope(name, "scan", flatten(elems)):
        return _folded(fn, elems, initializer, reverse)[0]


def _fold(called: str, reverse: bool, doc: str) -> Callable[..., Any]:
    def function(
        fn: Callable[[Any, Any], Any],
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        _check(fn, elems)
        with name_scope(name, called, flatten(elems)):
            return _folded(fn, elems, initializer, reverse)[1]

    return described(function, called, f"Returns what `scan` gives for {doc}.")


foldl = _fold("foldl", False, "the last row")
foldr = _fold("foldr", True, "the first row, where the last row comes first")


def folded(
    fn: Callable[[Any, Any], tuple[Any, Any]], elems: Any, initializer: Any
) -> tuple[Any, Any]:
    """Returns what a function makes of each row, stacked, and the last state.

    Args:
        fn: gets a state and a row, and returns a nest, and the state for the next row.
        elems: a nest of tensors, whose first dimension counts the rows.
        initializer: the first state, a nest of tensors.
    """
    loop = _Loop(_tensors("elems", elems), _tensors("initializer", initializer))

    def body(row: Any, state: Any) -> tuple[Any, Any]:
        made, new = fn(state, row)
        assert_same_structure(initializer, new, check_types=False)
        return made, new

    result = loop.trace(body, elems, initializer)
    stacked, last = loop.run(reverse=False)
    return pack_sequence_as(result, stacked), pack_sequence_as(initializer, last)


def _tensors(name: str, nest: Any) -> list[Tensor]:
    return [convert_to_tensor(one, name=name) for one in flatten(nest)]


def _check(fn: Any, elems: Any) -> None:
    if not callable(fn):
        raise TypeError(f"fn must be callable, got {fn!r}")
    if not flatten(elems):
        raise ValueError("elems must hold at least one tensor")


def _folded(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, reverse: bool
) -> tuple[Any, Any]:
    """Returns what a function makes of all rows, stacked, and of the last one it is given."""
    rows = _tensors("elems", elems)
    first: list[Tensor] = []
    if initializer is None:
        structure = elems
        place, rest = (-1, slice(None, -1)) if reverse else (0, slice(1, None))
        first = [one[place] for one in rows]  # type: ignore[index]  # overloaded
        rows = [one[rest] for one in rows]  # type: ignore[index]
        states = first
    else:
        structure = initializer
        states = _tensors("initializer", initializer)
    loop = _Loop(rows, states)

    def body(row: Any, state: Any) -> tuple[Any, Any]:
        made = fn(state, row)
        assert_same_structure(structure, made, check_types=False)
        return made, made

    loop.trace(body, elems, structure)
    stacked, last = loop.run(reverse)
    if first:  # which comes before the rows after it, or after those before it
        pairs = zip(first, stacked, strict=True)
        both = ([expand_dims(one, 0), many] for one, many in pairs)
        stacked = [concat(pair[::-1] if reverse else pair, 0) for pair in both]
    return pack_sequence_as(structure, stacked), pack_sequence_as(structure, last)


class _Loop:
    """A loop over rows while it is built.

    Args:
        rows: the tensors whose rows it is over.
        states: what goes from row to row.
    """

    def __init__(self, rows: Sequence[Tensor], states: Sequence[Tensor]) -> None:
        self._rows, self._states = list(rows), list(states)
        self._graph: Graph = self._rows[0].graph
        self._inside = Inside("rows", [one.symbol for one in (*rows, *states)])
        self._outs: list[Tensor] = []
        self._new: list[Tensor] = []

    def trace(self, body: Callable[[Any, Any], tuple[Any, Any]], elems: Any, state: Any) -> Any:
        """Calls a function of row and state; returns the first thing that it returns."""
        with marked(self._graph, self._inside):
            stand_ins = []
            sources = (*self._rows, *self._states)
            for number, (symbol, one) in enumerate(zip(self._inside.symbols, sources, strict=True)):
                kind = kind_of(one)
                kind = kind.row() if number < len(self._rows) else kind
                stand_ins.append(inner(tensor_of(self._graph, symbol.edges[0], kind)))
            count = len(self._rows)
            row = pack_sequence_as(elems, stand_ins[:count])
            result, new = body(row, pack_sequence_as(state, stand_ins[count:]))
            self._outs = [inner(convert_to_tensor(one)) for one in flatten(result)]
            self._new = [inner(convert_to_tensor(one)) for one in flatten(new)]
        return result

    def run(self, reverse: bool) -> tuple[list[Tensor], list[Tensor]]:
        """Adds the node; returns the stacked outputs and the last states."""
        edges = [one.edge for one in (*self._outs, *self._new)]
        (graph,), inputs = self._inside.cut([edges])
        counts = len(self._rows), len(self._states), len(self._outs)
        call, numbers = open_foreach(graph, *counts, flat=False, reverse=reverse)
        dims = kind_of(self._rows[0]).dims
        length = None if dims is None else dims[0]
        kinds = [kind_of(one).stacked(length) for one in self._outs]
        kinds += [kind_of(one) for one in self._states]
        made = outputs_of("While", call, inputs, numbers, kinds, "Exit")
        return made[: len(self._outs)], made[len(self._outs) :]

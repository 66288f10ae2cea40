"""Straight-line host forms: the calls of NumPy that a lowering makes, without the lowering.

A lowering decides by shapes, dtypes and parameters what to call, and so calls the same each time
for arrays of the same types, as JAX needs it to. So what runs often is run once on stand-ins, which
note what is called with what, and from then on the notes are run. Where a lowering asks for a value
(in a condition, or as a number of Python's), there are none, and it goes on to be run itself.

    the lowering of sum                        its notes
    axes = reduced_axes("sum", data, axis)     1 = sum(0, axis=(1,), keepdims=True)
    made = jnp.sum(data, axes, keepdims=True)  2 = reshape(1, (32,))
    return convert(made.reshape(shape), ...)

The results are the same to the bit: what is called is what the lowering would call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, final

import numpy as np

from .namespace import on_host
from .rows import in_one_block
from .sums import is_by_rows
from .table import COMPOSED, FUNCTIONS, words

Compute = Callable[[Sequence[Any]], Any]


class NotStraight(Exception):
    """The error of a function whose calls depend on values, or cannot be noted."""


# Functions that tell facts of types, which become a part of the notes.
_FACTS: Final = frozenset(
    words("broadcast_shapes finfo iinfo issubdtype ndim promote_types result_type shape size")
)
# Functions that give no arrays: rules of differentiation, and contexts.
_OUTSIDE: Final = frozenset({"custom_jvp", "custom_vjp", "threefry_partitionable"})
# Functions that may return the array that they are given, if its type is right.
_SAME: Final = frozenset(
    words("""
        asarray astype lax.optimization_barrier lax.reduce_precision lax.stop_gradient reshape
        random.wrap_key_data
    """)
)
# Functions that write into their first argument, and what gives the same without that.
_IN_PLACE: Final[Mapping[str, Callable[..., Any]]] = {
    "plus": np.add,
    "times": np.multiply,
    "added_at": lambda whole, *rest: FUNCTIONS["added_at"](whole.copy(), *rest),
}
# NumPy's functions of Python that call methods.
_METHODS: Final = {
    getattr(np, name): getattr(np.ndarray, name)
    for name in words("argmax argmin repeat reshape squeeze swapaxes transpose")
}
_astype: Final = FUNCTIONS["astype"]
_sum: Final = getattr(FUNCTIONS["sum"], "for_others", None)
# Arrays made of nothing that have more elements than this are made anew each time.
_SMALL_ELEMENTS: Final = 64


@final
class _StandIn:
    """Stands for an array, or for a number of NumPy's: what is done with it is noted.

    Attributes:
        value: what it stands for, as far as its type matters.
        notes: where it is noted.
        is_new: whether nothing else uses its memory.
    """

    __slots__ = ("is_new", "notes", "value")
    __array_ufunc__ = None  # NumPy's arrays leave arithmetic to this

    def __init__(self, value: Any, notes: _Notes, is_new: bool) -> None:
        self.value = value
        self.notes = notes
        self.is_new = is_new

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    T = property(lambda self: self.notes.call(operator.attrgetter("T"), (self,), {}))
    mT = property(lambda self: self.notes.call(operator.attrgetter("mT"), (self,), {}))

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, key: Any) -> Any:
        return self.notes.call(operator.getitem, (self, key), {})

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.value)))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else NotStraight(name)

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise NotStraight("a value")

    __array__ = __bool__ = __int__ = __float__ = __index__ = __contains__ = _refused
    __hash__ = None  # type: ignore[assignment]


def _method(name: str) -> Callable[..., Any]:
    def method(self: _StandIn, *args: Any, **kwargs: Any) -> Any:
        function = getattr(type(self.value), name)
        return self.notes.call(function, (self, *args), kwargs, name == "reshape")

    return method


for _name in words("""
    all any argmax argmin argsort astype clip copy cumprod cumsum diagonal dot flatten max mean min
    prod ravel repeat reshape round sort squeeze std sum swapaxes take trace transpose var view
"""):
    setattr(_StandIn, _name, _method(_name))


def _operators(name: str) -> None:
    function = getattr(operator, f"__{name}__")
    setattr(_StandIn, f"__{name}__", lambda x, *y: x.notes.call(function, (x, *y), {}))
    setattr(_StandIn, f"__r{name}__", lambda x, y: x.notes.call(function, (y, x), {}))


for _name in words("""
    add sub mul truediv floordiv mod pow matmul lshift rshift and or xor eq ne lt le gt ge neg abs
    invert
"""):
    _operators(_name)


class _Functions(dict[str, Callable[..., Any]]):
    """The functions of `FUNCTIONS`, by the same names, of stand-ins too."""

    def __init__(self, notes: _Notes) -> None:
        self._notes = notes

    def get(self, path: str, default: Any = None) -> Any:
        return self[path] if path in FUNCTIONS else default

    def __missing__(self, path: str) -> Callable[..., Any]:
        made = self[path] = self._made(path)
        return made

    def _made(self, path: str) -> Callable[..., Any]:
        function, notes = FUNCTIONS[path], self._notes
        if path in COMPOSED or path in _OUTSIDE:
            return function
        if path == "at":
            return lambda x: _NotedAt(notes, x)
        if path == "in_blocks":
            return _in_one_block
        if path in _FACTS:
            return lambda *args, **kwargs: function(*map(_value_of, args), **kwargs)
        instead, same = _IN_PLACE.get(path), path in _SAME

        def noted(*args: Any, **kwargs: Any) -> Any:
            if instead is not None and not (type(args[0]) is _StandIn and args[0].is_new):
                return notes.call(instead, args, kwargs)
            return notes.call(_direct(function, args, kwargs), args, kwargs, same)

        return noted


def _in_one_block(function: Callable[..., Any], *arrays: Any, **params: Any) -> Any:
    if not in_one_block(arrays):
        raise NotStraight("in several blocks")
    return function(*arrays, **params)


def _direct(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[..., Any]:
    """Returns what a function calls in the end, where the types of its arguments tell."""
    first = _value_of(args[0]) if args else None
    if not any(map(_is_half, (*map(_value_of, args), kwargs.get("dtype")))):
        function = getattr(function, "for_others", function)
    if type(first) is not np.ndarray:
        return function
    if function is _astype and not kwargs:
        dtype = np.dtype(args[1])
        is_rounded = first.dtype.kind == "f" and dtype.kind in "iu"
        return function if is_rounded or dtype == first.dtype else np.ndarray.astype
    if function is _sum and "axis" in kwargs and not is_by_rows(first, **kwargs):
        return np.add.reduce
    called: Callable[..., Any] = _METHODS.get(function, function)
    return called


def _is_half(x: Any) -> bool:
    return bool(getattr(x, "dtype", x) == np.float16)


@final
class _NotedAt:
    """As ``array.at`` of JAX."""

    def __init__(self, notes: _Notes, array: Any, key: Any = None) -> None:
        self._notes, self._array, self._key = notes, array, key

    def __getitem__(self, key: Any) -> _NotedAt:
        return _NotedAt(self._notes, self._array, key)

    def get(self, **options: Any) -> Any:
        """The elements themselves."""
        return self._note("get", options)

    def set(self, values: Any, mode: str | None = None) -> Any:
        """With these in their place."""
        return self._note("set", {"values": values, "mode": mode})

    def add(self, values: Any, mode: str | None = None) -> Any:
        """With these added."""
        return self._note("add", {"values": values, "mode": mode})

    def _note(self, name: str, options: Mapping[str, Any]) -> Any:
        def changed(array: Any, key: Any, **options: Any) -> Any:
            return getattr(FUNCTIONS["at"](array)[key], name)(**options)

        return self._notes.call(changed, (self._array, self._key), options)


def _value_of(x: Any) -> Any:
    return x.value if type(x) is _StandIn else x


def _plain(x: Any, found: list[_StandIn]) -> Any:
    """Returns what is the same with values in the places of stand-ins; adds these to a list."""
    if type(x) is _StandIn:
        found.append(x)
        return x.value
    if type(x) in (tuple, list):
        return type(x)([_plain(each, found) for each in x])
    if callable(x) and not isinstance(x, type):
        raise NotStraight("a function of a function")
    return x


def _are_arrays(results: Sequence[Any]) -> bool:
    return all(isinstance(x, (np.ndarray, np.generic)) for x in results)


@final
class _Notes:
    """The notes of a run.

    Attributes:
        functions: what is called in it by name.
        calls: each a stand-in for the result, the function and its arguments.
    """

    def __init__(self) -> None:
        self.functions = _Functions(self)
        self.calls: list[tuple[_StandIn, Callable[..., Any], Sequence[Any], Mapping[str, Any]]] = []

    def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        may_be_same: bool = False,
    ) -> Any:
        """Calls a function, and notes it, if it is called with stand-ins.

        Args:
            function: of arrays.
            args, kwargs: what it is called with.
            may_be_same: whether it may return the array that it was given, by types alone.
        """
        found: list[_StandIn] = []
        values = _plain(tuple(args), found)
        named = dict(zip(kwargs, _plain(tuple(kwargs.values()), found), strict=True))
        result = on_host(FUNCTIONS, partial(function, *values, **named))
        several = type(result) in (tuple, list)
        if not found:
            large = isinstance(result, np.ndarray) and result.size > _SMALL_ELEMENTS
            return self._note(result, function, args, kwargs) if large else result
        if not _are_arrays(result if several else (result,)):
            raise NotStraight("a result that is no array")
        if may_be_same and _is_same(result, found[0].value):
            found[0].is_new = False
            return found[0]
        whole = self._note(result, function, args, kwargs)
        if not several:
            return whole
        parts = [self._note(x, operator.getitem, (whole, i), {}) for i, x in enumerate(result)]
        return type(result)(parts)

    def _note(
        self,
        result: Any,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> _StandIn:
        made = _StandIn(result, self, getattr(result, "base", self) is None)
        self.calls.append((made, function, args, kwargs))
        return made


def _is_same(result: Any, given: Any) -> bool:
    """Whether the result of a function that may return what it is given is that, or all of it.

    (A copy is another array: of that and its transpose NumPy makes a product in another way.)
    """
    alike = result.shape == given.shape and result.dtype == given.dtype
    return result is given or (alike and result.base is given)


def straight_line(compute: Compute, values: Sequence[Any]) -> Compute:
    """Returns what computes the same of values of the same types, by the calls that are made.

    Args:
        compute: the function, of arrays and numbers of NumPy's; called inside `by_numpy`.
        values: such.

    Raises:
        NotStraight: there is none.
    """
    notes = _Notes()
    inputs = [_StandIn(x, notes, False) for x in values]
    try:
        results = on_host(notes.functions, compute, inputs)
        several = type(results) in (tuple, list)
        outputs = [_output(notes, x) for x in (results if several else (results,))]
        return _line(inputs, _needed(notes, outputs), outputs, several)
    finally:
        notes.calls.clear()  # a circle, in which the arrays would wait for the garbage collector


def _output(notes: _Notes, x: Any) -> _StandIn:
    """Returns the stand-in for a result; a constant is copied each time."""
    if type(x) is _StandIn:
        return x
    constant = np.asarray(x)
    return notes._note(constant, np.array, (constant,), {})


def _needed(notes: _Notes, outputs: Sequence[_StandIn]) -> list[Any]:
    """Returns the calls that the outputs come from."""
    wanted = {id(x) for x in outputs}
    needed = []
    for call in reversed(notes.calls):
        if id(call[0]) in wanted:
            needed.append(call)
            found: list[_StandIn] = []
            _plain((tuple(call[2]), tuple(call[3].values())), found)
            wanted |= set(map(id, found))
    return needed[::-1]


def _line(
    inputs: Sequence[_StandIn], calls: Sequence[Any], outputs: Sequence[_StandIn], several: bool
) -> Compute:
    """Returns what makes some calls one after the other.

    All values are in one list: constants, the inputs, and the results in their order.
    """
    constants: list[Any] = []
    flat = [_flat(*call[1:]) for call in calls]
    for _, args, _ in flat:
        constants += [_kept(x) for x in args if type(x) is not _StandIn]
    made = [call[0] for call in calls]
    places = {id(x): len(constants) + i for i, x in enumerate([*inputs, *made])}
    steps = []
    unused = iter(range(len(constants)))
    for function, args, kwargs in flat:
        slots = [places[id(x)] if type(x) is _StandIn else next(unused) for x in args]
        steps.append((partial(function, **kwargs) if kwargs else function, _taking(slots)))
    (last, *more) = [places[id(x)] for x in outputs]
    give = operator.itemgetter(last, *more) if more else operator.itemgetter(last)

    def run(values: Sequence[Any]) -> Any:
        at = [*constants, *values]
        add = at.append
        for function, take in steps:
            add(function(*take(at)))
        return give(at)

    def run_several(values: Sequence[Any]) -> Any:
        return (run(values),)

    return run_several if several and not more else run


def _taking(slots: Sequence[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """Returns what takes values out of a list, as a sequence."""
    if len(slots) == 1:
        return operator.itemgetter(slice(slots[0], slots[0] + 1))
    return operator.itemgetter(*slots) if slots else lambda at: ()


def _kept(x: Any) -> Any:
    """Returns a constant so that nobody can write to it, nor take it for his own."""
    if not isinstance(x, np.ndarray):
        return x
    kept = x.view()  # no copy, which may lie in memory in another way
    kept.flags.writeable = False
    return kept


def _flat(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]:
    """Returns a call all of whose stand-ins are arguments by position, not parts of some."""
    inner: list[_StandIn] = []
    _plain(tuple([x for x in args if type(x) is not _StandIn]), inner)
    _plain(tuple(kwargs.values()), inner)
    if not inner:
        return function, args, kwargs
    leaves: list[_StandIn] = []
    form, names = _emptied((tuple(args), tuple(kwargs.values())), leaves), tuple(kwargs)
    first: Any = args[0] if args else None
    rest = args[1:]
    if type(first) in (tuple, list) and [*map(id, first)] == [*map(id, leaves)]:

        def joined(*values: Any) -> Any:
            return function(values, *rest, **kwargs)

        return joined, leaves, {}

    def packed(*values: Any) -> Any:
        positional, named = _refilled(form, iter(values))
        return function(*positional, **dict(zip(names, named, strict=True)))

    return packed, leaves, {}


_EMPTY: Final = object()


def _emptied(x: Any, leaves: list[_StandIn]) -> Any:
    """Returns what is the same with empty places for stand-ins, which are added to a list."""
    if type(x) is _StandIn:
        leaves.append(x)
        return _EMPTY
    if type(x) in (tuple, list):
        return type(x)([_emptied(each, leaves) for each in x])
    return x


def _refilled(x: Any, values: Iterator[Any]) -> Any:
    """Returns what is the same with values in the empty places."""
    if x is _EMPTY:
        return next(values)
    if type(x) in (tuple, list):
        return type(x)([_refilled(each, values) for each in x])
    return x

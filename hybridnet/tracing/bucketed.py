"""`Bucketed`: a traced function whose arguments are padded to the sizes of `Buckets`."""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Final, NamedTuple, Protocol, final
from weakref import WeakKeyDictionary

import numpy as np

from hybridnet import tape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.signatures import signature_of
from hybridnet.graph import Graph
from hybridnet.ndarray import NDArray, array
from hybridnet.runtime.recording import recorder

from .autograph import run_converted
from .buckets import Buckets, several
from .build import ArrayResult
from .call_arguments import ArgumentReader, CallArguments
from .concrete import ConcreteFunction
from .padding_check import PaddingError, UncutError, check_padding
from .resize import fitted, resized
from .retracing import CacheInfo
from .signature import positional_names
from .structure import Arguments, flatten, requirement, unflatten

#: For each leaf of a result the axes that follow the padded one, and by how much they are longer.
_Cuts = tuple[tuple[tuple[int, int], ...], ...]

_PLAIN: Final = (bool, int, float, complex, str, bytes)
_WRITTEN: Final = (
    "{name}: it changes an argument that is padded, or computes the gradient of one itself, where "
    "that would reach the padded copy only; return what it computes instead"
)
_STRICT: Final = "{name}: it cannot be told whether padding changes its results"
_UNCUT: Final = (
    "{name}: result {number} has shape {padded} for arrays padded to {size}, and {plain} for those "
    "of length {length}: it cannot be told how to cut it for other lengths; let the padded axis be "
    "an axis of the result, of the same length or of one that differs by a constant"
)
_NUMBER: Final = (
    "{name}: result {number} is {padded!r} for arrays padded to {size}, and {plain!r} for those of "
    "length {length}; return it as an array that is computed from the mask"
)


class TracedFunction(Protocol):
    """A function that is traced once for each kind of arguments, as `hn.function` makes them."""

    @property
    def python_function(self) -> Callable[..., Any]:
        """The function as it was written."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def read(self) -> ArgumentReader:
        """Reads the arguments of a call."""

    def run(self, given: CallArguments) -> Any:
        """Runs the trace for arguments that are read already; makes it if there is none."""

    def find(self, given: CallArguments, *, expected: bool = False) -> ConcreteFunction:
        """Returns the trace for such arguments; `expected`: a new one is no surprise."""

    def find_if_there(self, given: CallArguments) -> ConcreteFunction | None:
        """Returns the trace for such arguments, if there is one."""

    def cache_info(self) -> CacheInfo:
        """Returns how often it was traced, and how often a trace was used again."""

    def pretty_printed_signature(self) -> str:
        """Returns what its traces take and give, in words, one in a line."""


class _Known(NamedTuple):
    """The findings about a trace.

    Attributes:
        cuts: how results are cut, for each of `buckets` by number.
        safe: those of `buckets`, by number, that together may be padded.
    """

    cuts: dict[int, _Cuts]
    safe: set[tuple[int, ...]]


@final
class Bucketed:
    """A function that is traced for few sizes; made by `hn.function` and `hybridize`.

    Args:
        buckets: the sizes; several where several axes vary.
        parameters: the names of the function's positional parameters.
        by_name: whether masks are given by name, and not after the other arguments.
        strict: whether padding is refused where it cannot be told that it changes nothing.
    """

    def __init__(
        self,
        function: TracedFunction,
        buckets: Sequence[Buckets],
        parameters: Sequence[str],
        by_name: bool = True,
        strict: bool = False,
    ) -> None:
        update_wrapper(self, function.python_function, updated=())
        self.python_function: Callable[..., Any] = function.python_function
        self.name = function.name
        self._function = function
        self._buckets = tuple(buckets)
        self._parameters = tuple(parameters)
        self._by_name = by_name
        self._strict = strict
        self._known: WeakKeyDictionary[ConcreteFunction, _Known] = WeakKeyDictionary()
        # The operators of the traces for which padding was seen to change nothing.
        self._checked: set[Hashable] = set()

    @classmethod
    def of_function(
        cls, function: TracedFunction, buckets: Buckets | Sequence[Buckets]
    ) -> Bucketed:
        """Makes a function bucketed whose parameters have the names that `buckets` says.

        Raises:
            ParameterError: it has no such parameters.
        """
        made = several(buckets)
        parameters = signature_of(function.python_function).parameters.values()
        names = [parameter.name for parameter in parameters]
        keys = [key for value in made if not isinstance(value.axes, int) for key in value.axes]
        wanted = [key for key in (*keys, *(value.mask for value in made)) if type(key) is str]
        unknown = sorted(set(wanted) - set(names))
        if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            raise ParameterError(
                f"hn.function: {function.name} must have the parameters that its buckets name, got "
                f"no {', '.join(unknown)} among {', '.join(names) or 'none'}"
            )
        return cls(function, made, positional_names(parameters))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Pads, runs the trace for the sizes, and cuts the result back.

        Inside another traced function, whose shapes are fixed, nothing is padded.

        Raises:
            ShapeError: lengths differ, are 0, or are larger than the largest size; or a result
                cannot be cut.
            MXNetError: what the function computes depends on the padding.
        """
        if recorder.current_trace() is not None:
            return self.plain(*args, **kwargs)
        call = _Call(self._buckets, self._targets, args, kwargs)
        sizes = call.sizes()
        arguments, concrete = self._find(call, sizes)
        if sizes == call.lengths:
            return concrete.run(arguments.arrays)
        if concrete.written & call.padded_numbers(arguments):
            raise PaddingError(_WRITTEN.format(name=self.name))
        if self._strict and not concrete.is_repeatable:
            raise PaddingError(_STRICT.format(name=self.name))
        cuts = self._examined(call, sizes, arguments, concrete)
        leaves, tree = flatten(concrete.run(arguments.arrays))
        made = [
            self._cut(leaf, [cut[number] for cut in cuts], call.lengths)
            for number, leaf in enumerate(leaves)
        ]
        return unflatten(tree, made)

    def __reduce__(self) -> Any:
        if isinstance(self.python_function, types.FunctionType):
            return self.__qualname__  # type: ignore[attr-defined]  # by functools.update_wrapper
        return Bucketed, (self._function, self._buckets, self._parameters, self._by_name)

    def __repr__(self) -> str:
        return f"<hn.function {self.name}, bucketed>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """As a method, binds ``self`` like any function."""
        return self if instance is None else types.MethodType(self, instance)

    def plain(self, *args: object, **kwargs: object) -> Any:
        """Runs the Python function as it is, without padding, with masks of ones."""
        call = _Call(self._buckets, self._targets, args, kwargs)
        args, kwargs = self._masked(call, (args, kwargs), call.lengths)
        return run_converted(self.python_function, args, kwargs)

    def graph(self, *args: object, **kwargs: object) -> Graph:
        """Returns the graph for arguments of these lengths, once they are padded."""
        call = _Call(self._buckets, self._targets, args, kwargs)
        return self._find(call, call.sizes())[1].graph

    def pretty_printed_signature(self) -> str:
        """Returns what its traces take and give, in words, one in a line."""
        return self._function.pretty_printed_signature()

    def cache_info(self) -> CacheInfo:
        """Returns how often the function was traced, and how often a trace was used again.

        For each combination of sizes it is traced once more, to find out how results are cut.
        """
        return self._function.cache_info()

    # -- arguments ---------------------------------------------------------------------------

    def _targets(
        self,
        buckets: Buckets,
        leaves: Sequence[Any],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> list[tuple[int, int]]:
        """Returns which leaves of the arguments are padded, and along which axis."""
        axes = buckets.axes
        found = []
        start = 0
        given: list[tuple[str | int, Any]] = [*enumerate(args), *kwargs.items()]
        for key, argument in given:
            count = len(flatten(argument)[0])
            if isinstance(axes, int):
                axis: int | None = axes
            else:
                axis = axes.get(key)
                if axis is None and isinstance(key, int) and key < len(self._parameters):
                    axis = axes.get(self._parameters[key])
            for place in range(start, start + count):
                if axis is not None and isinstance(leaves[place], (NDArray, np.ndarray)):
                    found.append((place, self._axis(axis, leaves[place].shape, key)))
            start += count
        if not found:
            what = "any argument" if isinstance(axes, int) else ", ".join(map(repr, axes))
            raise ParameterError(f"{self.name}: needs an array to pad in {what}, got none")
        return found

    def _axis(self, axis: int, shape: tuple[int, ...], key: object) -> int:
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(
                f"{self.name}: argument {key!r} must have axis {axis}, which is to be padded, got "
                f"shape {shape}"
            )
        return axis % len(shape)

    def _find(self, call: _Call, sizes: tuple[int, ...]) -> tuple[Arguments, ConcreteFunction]:
        """Pads to sizes, and returns the arguments and the trace for them."""
        args, kwargs = self._masked(call, call.padded(sizes), sizes)
        given = self._function.read(args, kwargs)
        return given.arguments, self._function.find(given, expected=True)

    def _masked(
        self, call: _Call, given: tuple[tuple[Any, ...], dict[str, Any]], sizes: tuple[int, ...]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Adds the masks to arguments."""
        args, kwargs = given
        for buckets, length, size in zip(self._buckets, call.lengths, sizes, strict=True):
            if buckets.mask is not None:
                mask = array(fitted(np.ones(length, np.float32), (size,), 0), call.ctx)
                if self._by_name:
                    kwargs = {**kwargs, buckets.mask: mask}
                else:
                    args = (*args, mask)
        return args, kwargs

    # -- results -----------------------------------------------------------------------------

    def _examined(
        self,
        call: _Call,
        sizes: tuple[int, ...],
        arguments: Arguments,
        concrete: ConcreteFunction,
    ) -> list[_Cuts]:
        """Returns how results are cut; of a new trace it finds that out, and checks its values."""
        known, safe = self._known.setdefault(concrete, _Known({}, set()))
        padded = tuple(i for i, size in enumerate(sizes) if size != call.lengths[i])
        for i in padded:
            if i not in known:
                others = (*sizes[:i], call.lengths[i], *sizes[i + 1 :])
                other = self._find(call, others)[1]
                known[i] = self._cuts(concrete.results, other.results, sizes[i], call.lengths[i])
        if padded not in safe:
            if self._is_safe(call, padded, arguments, concrete):
                safe.add(padded)
            elif self._strict:
                raise PaddingError(_STRICT.format(name=self.name))
        nothing: _Cuts = ((),) * len(concrete.results)
        return [known[i] if i in padded else nothing for i in range(len(sizes))]

    def _is_safe(
        self,
        call: _Call,
        padded: tuple[int, ...],
        arguments: Arguments,
        concrete: ConcreteFunction,
    ) -> bool:
        """Whether padding is known to change nothing; raises where it does.

        Traces of the same operators are taken for the same function at other sizes.
        """
        if not any(self._buckets[i].check for i in padded):
            return True
        names = [node.call.name for node in concrete.graph.nodes if node.call is not None]
        kind = (padded, tape.state.recording, tape.state.training, *names)
        if kind in self._checked:
            return True
        numbers = call.padded_numbers(arguments, with_grads=False)
        true_shapes = {i: call.true_shape(arguments.arrays[i]) for i in numbers}
        plain_arguments, plain = self._find(call, call.lengths)
        tried = concrete, arguments.arrays, true_shapes
        if check_padding(self.name, tried, (plain, plain_arguments.arrays)):
            self._checked.add(kind)
            return True
        return False

    def _cuts(
        self, padded: Sequence[object], plain: Sequence[object], size: int, length: int
    ) -> _Cuts:
        """Compares the results of two traces, of which the second has one axis not padded."""
        where = {"name": self.name, "size": size, "length": length}
        if len(padded) != len(plain):
            counts = {"padded": f"{len(padded)} leaves", "plain": f"{len(plain)} leaves"}
            raise PaddingError(_NUMBER.format(number="as a whole", **counts, **where))
        found: list[tuple[tuple[int, int], ...]] = []
        for number, (long, short) in enumerate(zip(padded, plain, strict=True)):
            if not isinstance(long, ArrayResult) or not isinstance(short, ArrayResult):
                # Other objects than plain values may be made anew by each trace.
                if type(long) is not type(short) or (isinstance(long, _PLAIN) and long != short):
                    text = _NUMBER.format(number=number, padded=long, plain=short, **where)
                    raise PaddingError(text)
                found.append(())
                continue
            shape, other = long.shape, short.shape
            more = [a - b for a, b in zip(shape, other, strict=False)]
            if len(shape) != len(other) or not set(more) <= {0, size - length}:
                raise UncutError(_UNCUT.format(number=number, padded=shape, plain=other, **where))
            found.append(tuple((i, shape[i] - size) for i, grown in enumerate(more) if grown))
        return tuple(found)

    def _cut(self, value: Any, cuts: Sequence[Any], lengths: Sequence[int]) -> Any:
        """Cuts one result."""
        if not isinstance(value, NDArray):
            return value
        shape = list(value.shape)
        for axes, length in zip(cuts, lengths, strict=True):
            for axis, more in axes:
                shape[axis] = length + more
        if min(shape, default=1) < 0:
            raise ShapeError(f"{self.name}: arrays of lengths {lengths} are too short for it")
        return resized(value, tuple(shape))


@final
class _Call:
    """The arguments of one call, and which of them are padded.

    Attributes:
        lengths: for each `Buckets` that of its arrays.
        ctx: where the first of them is; None for the current context.
    """

    def __init__(
        self,
        buckets: Sequence[Buckets],
        targets: Callable[..., list[tuple[int, int]]],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> None:
        self._buckets = buckets
        self._leaves, self._tree = flatten((args, kwargs))
        self._targets = [targets(bucket, self._leaves, args, kwargs) for bucket in buckets]
        self.lengths = tuple(map(self._length, self._targets))
        first = self._leaves[self._targets[0][0][0]]
        self.ctx = first.context if isinstance(first, NDArray) else None
        # By the id of a padded copy: the copy, and the shape of its original.
        self._copies: dict[int, tuple[NDArray, tuple[int, ...]]] = {}

    def _length(self, targets: Sequence[tuple[int, int]]) -> int:
        lengths = [self._leaves[place].shape[axis] for place, axis in targets]
        if len(set(lengths)) > 1:
            got = [self._leaves[place].shape for place, _ in targets]
            raise ShapeError(
                f"Buckets: arrays that are padded together must have equal lengths, got {lengths} "
                f"in shapes {got}"
            )
        return int(lengths[0])

    def sizes(self) -> tuple[int, ...]:
        """Returns the sizes to which the arrays are padded."""
        pairs = zip(self._buckets, self.lengths, strict=True)
        return tuple(buckets.size(length) for buckets, length in pairs)

    def padded(self, sizes: Sequence[int]) -> Any:
        """Returns the arguments, padded to sizes (a size that is the length is left as it is)."""
        shapes: dict[int, list[int]] = {}
        pads: dict[int, float] = {}
        for buckets, targets, size in zip(self._buckets, self._targets, sizes, strict=True):
            for place, axis in targets:
                shapes.setdefault(place, list(self._leaves[place].shape))[axis] = size
                pads.setdefault(place, buckets.pad)
        leaves = list(self._leaves)
        made: dict[tuple[int, tuple[int, ...]], NDArray] = {}
        for place, shape in shapes.items():
            key = id(leaves[place]), tuple(shape)
            if key not in made:
                made[key] = self._fitted(leaves[place], tuple(shape), pads[place])
            leaves[place] = made[key]
        return unflatten(self._tree, leaves)

    def padded_numbers(self, arguments: Arguments, with_grads: bool = True) -> set[int]:
        """Returns which arrays are padded copies, or the gradients of such."""
        found = {i for i, x in enumerate(arguments.arrays) if id(x) in self._copies}
        if with_grads:
            found |= {grad for i, grad in arguments.grads.items() if i in found}
        return found

    def true_shape(self, copy: NDArray) -> tuple[int, ...]:
        """Returns the shape that a padded copy was made from."""
        return self._copies[id(copy)][1]

    def _fitted(self, value: Any, shape: tuple[int, ...], pad: float) -> NDArray:
        if isinstance(value, np.ndarray):
            made = array(fitted(value, shape, pad))
        else:
            made = resized(value, shape, pad)
            if made is not value and value.grad is not None and not tape.state.recording:
                made.attach_grad(requirement(value) or "write")
        if value.shape != shape:
            self._copies[id(made)] = made, value.shape
        return made

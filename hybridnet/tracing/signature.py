"""Demands on a function's arguments: `TensorSpec`, `input_signature`, `static_argnames`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context, current_context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.base.signatures import signature_of
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ndarray import NDArray, array
from hybridnet.runtime.recording import Value

from .structure import Static, flatten, unflatten

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


@final
class TensorSpec:
    """The shape and dtype that an array must have.

    Args:
        shape: the dimensions; None for one of any size. None as a whole: any shape.
        dtype: of the elements.
        name: for messages; without meaning otherwise.
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(
        self,
        shape: Iterable[int | None] | None,
        dtype: DTypeLike = np.float32,
        name: str | None = None,
    ) -> None:
        self.shape = None if shape is None else tuple(shape)
        self.dtype = as_dtype(dtype)
        self.name = name
        sizes = [size for size in self.shape or () if size is not None]
        if any(type(size) is not int or size < 0 for size in sizes):
            raise ParameterError(
                f"TensorSpec: shape must hold whole numbers >= 0, or None, got {self.shape}"
            )

    @classmethod
    def from_array(cls, value: Any, name: str | None = None) -> TensorSpec:
        """Returns the spec of an array, with all its sizes."""
        return cls(value.shape, value.dtype, name)

    @property
    def is_exact(self) -> bool:
        """Whether every size is given."""
        return self.shape is not None and None not in self.shape

    def has_shape(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape is one that is meant."""
        if self.shape is None:
            return True
        pairs = zip(self.shape, shape, strict=False)
        return len(shape) == len(self.shape) and all(a is None or a == b for a, b in pairs)

    def read(self, given: object, what: str, ctx: Context | None = None) -> NDArray:
        """Returns an argument as an array; numbers, lists and NumPy arrays are converted.

        Args:
            what: which, for messages.
            ctx: where what is converted is put.

        Raises:
            ShapeError, DTypeError, ParameterError: it is none that is meant.
        """
        if isinstance(given, NDArray):
            if given.inferred_dtype != self.dtype:
                raise DTypeError(self._refusal(what, given.shape, given.inferred_dtype))
            if not self.has_shape(given.shape):
                raise ShapeError(self._refusal(what, given.shape, given.inferred_dtype))
            return given
        try:
            host = np.asarray(given)
        except ValueError:
            host = np.empty(0, object)
        if host.dtype.kind not in "biuf":
            raise ParameterError(
                f"{what} must be {self}, got {type(given).__name__}: {given!r:.60}"
            )
        weak = not isinstance(given, (np.ndarray, np.generic))
        casts = np.can_cast(host.dtype, self.dtype, "same_kind")
        if not casts and not (weak and host.dtype.kind in "iu" and self.dtype.kind in "iu"):
            raise DTypeError(self._refusal(what, host.shape, host.dtype))
        if not self.has_shape(host.shape):
            raise ShapeError(self._refusal(what, host.shape, host.dtype))
        made: NDArray = array(host, ctx, self.dtype)
        return made if made.shape == host.shape else made.reshape(host.shape)

    def _refusal(self, what: str, shape: Sequence[int], dtype: DTypeLike) -> str:
        return f"{what} must be {self}, got {np.dtype(dtype).name}{list(shape)}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        named = f", name={self.name!r}" if self.name else ""
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype.name}{named})"


def stand_in(spec: TensorSpec, ctx: Context | None = None) -> NDArray:
    """Returns an array that has the type of a spec, and no values: for tracing only.

    Raises:
        ShapeError: a size is not given.
    """
    if not spec.is_exact:
        raise ShapeError(
            f"a trace needs every size, got {spec}; give get_concrete_function() specs or arrays "
            "of the sizes that are meant"
        )
    assert spec.shape is not None
    kind = tensor_type(tuple(size for size in spec.shape if size is not None), spec.dtype)
    made: NDArray = NDArray.from_value(Value(kind), ctx or current_context())
    return made


def parameters_of(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Returns the parameters of a callable; none where Python cannot tell."""
    try:
        return list(signature_of(function).parameters.values())
    except (TypeError, ValueError):
        return []


def positional_names(parameters: Iterable[inspect.Parameter]) -> list[str]:
    """Returns the names of those parameters to which arguments can be given by position."""
    return [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]


@final
class InputSignature:
    """The demands on the arguments of a function.

    Args:
        signature: for each positional argument a `TensorSpec`, or nested lists, tuples and dicts
            of them. Where the function is a method, `self` has none.

    Raises:
        ParameterError: something else is in it, or the function takes fewer arguments.
    """

    def __init__(self, name: str, function: Callable[..., object], signature: object) -> None:
        if not isinstance(signature, (list, tuple)):
            raise ParameterError(
                f"hn.function: input_signature must be a list or tuple with one TensorSpec (or "
                f"structure of them) for each argument, got {type(signature).__name__}"
            )
        for number, spec in enumerate(signature):
            for leaf in flatten(spec)[0]:
                if not isinstance(leaf, TensorSpec):
                    raise ParameterError(
                        f"hn.function: input_signature[{number}] must hold TensorSpecs, got "
                        f"{type(leaf).__name__}"
                    )
        self._name = name
        self.specs = list(signature)
        parameters = parameters_of(function)
        names = positional_names(parameters)
        #: How many arguments come before those that have specs: `self`.
        self.first = int(names[:1] == ["self"] and len(names) > len(signature))
        takes_any = not parameters or any(x.kind is x.VAR_POSITIONAL for x in parameters)
        count = len(names) - self.first
        if count < len(signature) and not takes_any:
            raise ParameterError(
                f"hn.function: {name} takes {count} arguments, but input_signature has "
                f"{len(signature)}"
            )
        rest = range(count, len(signature))
        self._names = [*names[self.first :], *(f"args[{i}]" for i in rest)][: len(signature)]

    def __call__(
        self, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[object, ...]:
        """Returns the arguments in order, arrays where the signature has specs.

        Raises:
            ParameterError: one is missing, or there is one too many.
            ShapeError, DTypeError: one is not what is meant.
        """
        named = dict(kwargs)
        rest = self._names[len(args) - self.first :]
        given = [*args, *(named.pop(name) for name in rest if name in named)]
        count = len(given) - self.first
        if named or count != len(self.specs):
            wanted = ", ".join(self._names) or "no arguments"
            extra = f", and {', '.join(named)}" if named else ""
            raise ParameterError(
                f"{self._name}: its input_signature has {wanted}; got {max(count, 0)} of these"
                f"{extra}"
            )
        ctx = next((value.context for value in given if isinstance(value, NDArray)), None)
        made = [
            _matched(spec, value, f"{self._name}: argument {name!r}", ctx)
            for name, spec, value in zip(self._names, self.specs, given[self.first :], strict=True)
        ]
        return (*given[: self.first], *made)

    def stand_ins(self) -> tuple[object, ...]:
        """Returns arguments for tracing.

        Raises:
            ShapeError: a size is not given.
        """
        made = []
        for spec in self.specs:
            leaves, tree = flatten(spec)
            made.append(unflatten(tree, [stand_in(leaf) for leaf in leaves]))
        return tuple(made)


def _matched(spec: Any, given: Any, what: str, ctx: Context | None) -> Any:
    """Returns an argument with arrays where its spec has specs."""
    if isinstance(spec, TensorSpec):
        return spec.read(given, what, ctx)
    is_dict = isinstance(spec, dict)
    kinds = dict if is_dict else (list, tuple)
    same = isinstance(given, kinds) and len(given) == len(spec)
    if not same or (is_dict and set(given) != set(spec)):
        raise ParameterError(f"{what} must have the structure {spec}, got {type(given).__name__}")
    if is_dict:
        return {key: _matched(spec[key], given[key], f"{what}[{key!r}]", ctx) for key in spec}
    made = [
        _matched(inner, part, f"{what}[{number}]", ctx)
        for number, (inner, part) in enumerate(zip(spec, given, strict=True))
    ]
    return type(spec)(*made) if hasattr(spec, "_fields") else type(spec)(made)


@final
class StaticNames:
    """The parameters of a function whose arguments are compared by value, whatever they are.

    Raises:
        ParameterError: it has no such parameters.
    """

    def __init__(
        self, name: str, function: Callable[..., object], names: str | Sequence[str]
    ) -> None:
        self._name = name
        self.names = (names,) if isinstance(names, str) else tuple(names)
        parameters = parameters_of(function)
        known = [parameter.name for parameter in parameters]
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            for static in self.names:
                if static not in known:
                    raise ParameterError(
                        f"hn.function: static_argnames has {static!r}, but {name} has the "
                        f"parameters {', '.join(known) or 'none'}"
                    )
        self._places = {
            place: static
            for place, static in enumerate(positional_names(parameters))
            if static in self.names
        }

    def __call__(
        self, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments, the static ones marked as such.

        Raises:
            ParameterError: a static one is an array, or cannot be compared by value.
        """
        given = list(args)
        for place, name in self._places.items():
            if place < len(given):
                given[place] = self._static(name, given[place])
        named = dict(kwargs)
        for name in self.names:
            if name in named:
                named[name] = self._static(name, named[name])
        return tuple(given), named

    def _static(self, name: str, value: object) -> Any:
        what = f"{self._name}: the static argument {name!r}"
        if any(isinstance(leaf, (NDArray, np.ndarray)) for leaf in flatten(value)[0]):
            raise ParameterError(
                f"{what} must hold no array, whose values a trace does not know; leave it out of "
                "static_argnames"
            )
        try:
            return Static(value)
        except TypeError:
            raise ParameterError(
                f"{what} must be hashable, to be found again by its value, got "
                f"{type(value).__name__}; give a tuple for a list, or define __hash__ and __eq__"
            ) from None

"""`Operator`: one row of the registry, with every rule about it in one place."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from typing import Any, Final, final

import numpy as np

from hybridnet.base.attrs import HostScalar, Param, parse_params
from hybridnet.base.dtype import is_float, promote
from hybridnet.base.errors import (
    DTypeError,
    MXNetError,
    ParameterError,
    ShapeError,
    ValuesNeededError,
)
from hybridnet.base.tensor_type import TensorType

from ..host.namespace import NoHostForm, by_jax
from . import alternatives
from .backward import vjp_gradient
from .call import MAKING, Arrays, Averages, Backward, Call, HostForm, IndexBound, Types
from .evaluation import output_types

Shapes = list[tuple[int, ...] | None]

_FLOAT64: Final = np.dtype(np.float64)
_INT64: Final = np.dtype(np.int64)
# Whole numbers up to this are what they are as a float64, too.
_MAX_EXACT: Final = 2**53
# What a dynamic parameter may be without being read.
_NUMBERS: Final = frozenset({float, HostScalar})
_PLAIN: Final = frozenset({float})
# Distinct parameter values or input types that one operator remembers; past it, it starts afresh.
_CACHE_LIMIT: Final = 4096


@final
@dataclass(frozen=True, eq=False, slots=True)
class Operator:
    """One row of the registry. Made by `hybridnet.ops.core.registry.operator`."""

    name: str
    #: The JAX function that computes it: inputs by position, parameters by keyword.
    lowering: Callable[..., Any]
    #: Names of the inputs, in order; a variadic operator has one name and any number of inputs.
    inputs: tuple[str, ...]
    #: How many of `inputs`, from the left, must be given.
    required_inputs: int
    variadic: bool
    params: Mapping[str, Param]
    #: Which parameters are part of a program's structure, and which are its inputs.
    static: Mapping[str, Param]
    dynamic: Mapping[str, Param]
    #: Whether one of the latter is several numbers.
    counted: bool
    takes_train: bool
    takes_platform: bool
    #: Whether a call draws random numbers, or a function of the parameters that says it.
    takes_state: bool | Callable[..., bool]
    #: The keyword by which the lowering is given the state of the random generator.
    state_keyword: str
    #: The number of outputs, hidden ones included, or a function of the parameters that gives it.
    outputs: int | Callable[..., int]
    #: How many of the outputs a user sees.
    visible: int | Callable[..., int]
    #: Input index -> output index: the input is overwritten with that output (auxiliary states);
    #: or a function of the parameters that gives it.
    mutates: Mapping[int, int] | Callable[..., Mapping[int, int]]
    #: The running averages that a call with these parameters moves in training; None: it has none.
    averages: Callable[..., Averages | None] | None
    #: Which of `inputs` a call with these parameters takes; None: all of them. Of a variadic
    #: operator, the names of inputs that are fixed by these parameters; empty where any number is.
    takes: Callable[..., Sequence[str]] | None
    #: Optional inputs, by name -> the parameter that says whether a call has them.
    presence: Mapping[str, str]
    #: Types of the outputs from types of the inputs; None: by abstract evaluation of the lowering.
    infer: Callable[..., Sequence[TensorType]] | None
    #: Raises ShapeError or DTypeError with the requirement in words; run before inference.
    check: Callable[..., None] | None
    #: Fills in unknown input shapes (None, or with UNKNOWN for a dimension) from known ones.
    complete: Callable[..., Shapes] | None
    #: The gradient rule; None: `jax.vjp` of the lowering.
    gradient: Callable[[Backward], Sequence[Any]] | None
    #: Why there is no gradient; empty when there is one.
    no_gradient: str
    #: Whether the rule does without the gradients of the outputs, by the parameters.
    own_gradient: Callable[..., bool] | None
    #: Inputs, by name, that have this dtype whatever the others have.
    input_dtypes: Mapping[str, str]
    #: Floating-point operations, from the types of the inputs and the parameters.
    cost: Callable[..., float] | None
    #: Sizes of the outputs that only the values of the inputs tell: parameter -> what it is for
    #: (arrays, parameters). It is measured, by waiting, where a call on arrays leaves it at None.
    sizes: Mapping[str, Callable[[Sequence[Any], Mapping[str, Any]], int]]
    output_names: tuple[str, ...]
    #: (**params) -> what looks at the values of inputs and outputs, and raises where there is no
    #: answer; None: nothing need be looked at.
    look: Callable[..., Callable[[Sequence[Any], Sequence[Any]], None] | None] | None
    #: What positions may be that inputs hold, from the types of the inputs and the parameters.
    bounds: Callable[..., Sequence[IndexBound]] | None
    #: Why numbers that a call takes beside its inputs have no meaning; "" where they have one.
    refuse: Callable[..., str] | None
    #: Whether it gives its first input with a part of it changed; see `Call.rewrites`.
    rewrites: bool
    aliases: tuple[str, ...]
    doc: str
    #: Whether it is a row of the library, whose code is known by hybridnet's own source.
    built_in: bool = False
    _calls: weakref.WeakValueDictionary[Any, OpCall] = field(
        default_factory=weakref.WeakValueDictionary
    )
    _recent: dict[Any, OpCall] = field(default_factory=dict)

    def refusal(self, scalars: tuple[Any, ...]) -> str:
        """Returns why numbers that `bind` returned have no meaning; "" where they have one."""
        if self.refuse is None or not _PLAIN.issuperset(map(type, scalars)):
            return ""
        why = self.refuse(*scalars)
        return f"{self.name}: {why}" if why else ""

    def bind(
        self, attrs: Mapping[str, Any], train: bool | None = None
    ) -> tuple[OpCall, tuple[Any, ...]]:
        """Fixes the parameters.

        Args:
            attrs: parameters as the user gave them.
            train: whether this is inside a training pass; None while that is not known yet.

        Returns:
            The call, and the values of the dynamic parameters, which stay outside it.

        Raises:
            ParameterError: a parameter is unknown, missing, of the wrong type or out of range.
        """
        scalars: tuple[Any, ...] = ()
        if self.dynamic:
            numbers = []
            attrs = dict(attrs)
            for name, param in self.dynamic.items():
                is_given = name in attrs
                value = attrs.pop(name) if is_given else param.default
                if type(value) is float:
                    pass
                elif type(value) is int and not param.count and -_MAX_EXACT <= value <= _MAX_EXACT:
                    value = value if param.index else float(value)
                elif param.count and type(value) is tuple and _NUMBERS.issuperset(map(type, value)):
                    pass
                elif type(value) not in _NUMBERS:
                    written = {name: value} if is_given else {}
                    value = parse_params(self.name, {name: param}, written)[name]
                numbers.append(value)
            scalars = tuple(numbers)
        if not self.takes_train:
            train = None
        try:
            key = (train, *attrs.items())
            call = self._recent[key]
        except (KeyError, TypeError):
            call = self._make(attrs, train)
            try:
                if len(self._recent) >= _CACHE_LIMIT:
                    self._recent.clear()
                self._recent[key] = call
            except TypeError:
                pass  # a parameter given as a list cannot be a key: it is read anew each time
        return call, call.flattened(scalars) if self.counted else scalars

    def _make(self, attrs: Mapping[str, Any], train: bool | None) -> OpCall:
        if attrs.keys() - self.static.keys():
            parse_params(self.name, self.params, attrs)  # raises, listing every parameter
        values = parse_params(self.name, self.static, attrs)
        key = (train, *values.values())
        call = self._calls.get(key)
        if call is None:
            with MAKING:  # `setdefault` of a weak dictionary is not one step
                call = self._calls.get(key)
                if call is None:
                    call = self._calls[key] = OpCall(self, values, train)
        return call

    def measured(self, attrs: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
        """Returns the parameters, with sizes that depend on the values of the inputs filled in.

        Args:
            attrs: the parameters as the user gave them.
            inputs: the input arrays. If a size is missing, their values are read and waited for.
        """
        given = {name: value for name, value in attrs.items() if value is not None}
        call, _ = self.bind(given)
        check_input_count(call, len(inputs))
        if self.check is not None:  # the functions in `sizes` may rely on it
            self.check(*(value.type for value in inputs), **call.attrs)
        unknown = [name for name in self.sizes if given.get(name) is None]
        return {**given, **{name: self.sizes[name](inputs, call.attrs) for name in unknown}}

    def require_sizes(self, attrs: Mapping[str, Any]) -> None:
        """Raises ValuesNeededError where a size is missing that only values tell."""
        for name in self.sizes:
            if attrs.get(name) is None:
                raise ValuesNeededError(
                    f"{self.name}: the shape of the result depends on the values of the inputs, "
                    f"which a graph (a symbol, a traced function, a hybridized block) does not "
                    f"have; give {name}=, the number of elements, or call it on arrays outside"
                )

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


@final
class OpCall(Call):
    """An operator with its static parameters fixed; equal calls are one object.

    Attributes:
        operator: the row of the registry.
        attrs: the static parameters by name, canonical values.
        train: whether it runs in a training pass; None where the operator does not care or it is
            not known yet.
        no_gradient: why there is no gradient; empty when there is one.
    """

    __slots__ = (
        "_bare",
        "attrs",
        "averages",
        "inferred",
        "mutates",
        "no_gradient",
        "operator",
        "train",
        "updates",
    )

    def __init__(self, operator: Operator, attrs: dict[str, Any], train: bool | None) -> None:
        self.operator = operator
        self.attrs = attrs
        self.train = train
        self.no_gradient = operator.no_gradient  # type: ignore[misc]  # a slot here
        self.mutates = _of(operator.mutates, attrs)
        # Operators that know of training change their auxiliary states only there.
        stays = operator.takes_train and train is False
        self.averages = None
        if operator.averages is not None and not stays:
            self.averages = operator.averages(**attrs)
            stays = self.averages is None
        self.updates = {} if stays else self.mutates  # type: ignore[misc]  # a slot here
        self.takes_state = _of(operator.takes_state, attrs)
        self.num_outputs = _of(operator.outputs, attrs) + self.takes_state
        self.num_visible = _of(operator.visible, attrs)
        self.num_scalars = sum(
            attrs[param.count] if param.count else 1 for param in operator.dynamic.values()
        )
        # Whether its lowering takes the inputs and these parameters, and nothing else.
        self._bare = not (
            self.num_scalars or self.takes_state or operator.takes_train or operator.takes_platform
        )
        self.inferred: dict[Types, Types] = {}

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.operator.name

    @property
    def rewrites(self) -> bool:
        """Whether the operator gives its first input with a part of it changed."""
        return self.operator.rewrites

    @property
    def own_gradients(self) -> Collection[int]:
        """All outputs, where its rule does without their gradients."""
        own = self.operator.own_gradient
        return range(self.num_outputs) if own is not None and own(**self.attrs) else ()

    def facts(self) -> Sequence[Any] | None:
        """The operator's name and parameters; users' lowerings cannot be told apart by that."""
        if not self.operator.built_in:
            return None
        return (self.operator.name, self.attrs, self.train)

    def infer(self, types: Types) -> Types:
        """Returns the types of the outputs; remembers them."""
        try:
            return self.inferred[types]
        except KeyError:
            pass
        if len(self.inferred) >= _CACHE_LIMIT:
            self.inferred.clear()
        return self.inferred.setdefault(types, self._infer(types))

    def bounds(self, types: Types, *, everything: bool) -> Sequence[IndexBound]:
        """Returns what positions may be that its inputs hold.

        Args:
            types: of the inputs.
            everything: also of those that have a meaning outside, and so are no error.
        """
        row = self.operator.bounds
        found = () if row is None else row(*types, **self.attrs)
        return [bound for bound in found if bound.always or everything]

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Runs the lowering; scalars are given in the dtype its floating inputs promote to."""
        lowering = alternatives.lowering_of(self, self.operator.lowering, platform, operands)
        return by_jax(self._run, lowering, platform, operands, scalars)

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """Runs the operator's own lowering on NumPy arrays."""
        op = self.operator
        if not op.built_in or op.name in alternatives.extended:
            raise NoHostForm("a lowering of the user's, which may have imported JAX")
        return self._run(op.lowering, "host", operands, scalars)

    def host_form(self, types: Types) -> HostForm:
        """Returns the operator's own lowering with all that the types tell put in."""
        op = self.operator
        if not op.built_in or op.name in alternatives.extended:
            raise NoHostForm("a lowering of the user's, which may have imported JAX")
        if op.counted:  # some numbers belong together
            return super().host_form(types)
        kinds = [_number_type(param, types) for param in op.dynamic.values()]
        count = len(types) - self.takes_state
        names = (op.state_keyword,) if self.takes_state else ()
        compute = _host_form(op.lowering, self._keywords("host"), count, (*names, *op.dynamic))
        return HostForm(compute, [*map(_conversion, kinds)], is_straight=True)

    def _keywords(self, platform: str) -> dict[str, Any]:
        """Returns what its lowering is given by name, but for numbers and the random state."""
        op = self.operator
        keywords = dict(self.attrs)
        if op.takes_train:
            keywords["train"] = bool(self.train)
        if op.takes_platform:
            keywords["platform"] = platform
        return keywords

    def _run(
        self,
        lowering: Callable[..., Any],
        platform: str,
        operands: Arrays,
        scalars: Arrays,
    ) -> Arrays:
        if self._bare:
            result = lowering(*operands, **self.attrs)
            return result if isinstance(result, (tuple, list)) else (result,)
        op = self.operator
        keywords = self._keywords(platform)
        if scalars:
            for name, value in self.by_parameter(scalars).items():
                kind = _number_type(op.dynamic[name], operands)
                keywords[name] = (
                    tuple(number.astype(kind) for number in value)
                    if isinstance(value, tuple)
                    else value.astype(kind)
                )
        if self.takes_state:
            keywords[op.state_keyword] = operands[-1]
            operands = operands[:-1]
        result = lowering(*operands, **keywords)
        return result if isinstance(result, (tuple, list)) else (result,)

    def by_parameter(self, scalars: Sequence[Any]) -> dict[str, Any]:
        """Returns the values of the dynamic parameters; `flattened` is the way back."""
        values: dict[str, Any] = {}
        rest = iter(scalars)
        for name, param in self.operator.dynamic.items():
            several = tuple(islice(rest, self.attrs[param.count])) if param.count else None
            values[name] = next(rest) if several is None else several
        return values

    def flattened(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the scalars that values of the dynamic parameters, in their order, stand for.

        Raises:
            ParameterError: one has not as many numbers as it must have.
        """
        scalars: list[Any] = []
        for (name, param), value in zip(self.operator.dynamic.items(), values, strict=True):
            if not param.count:
                scalars.append(value)
                continue
            count = self.attrs[param.count]
            if len(value) != count:
                raise ParameterError(
                    f"{self.name}: {name} must have {count} numbers, as {param.count} says, "
                    f"got {value}"
                )
            scalars += value
        return tuple(scalars)

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Runs the operator's rule, or the default one."""
        rule = self.operator.gradient
        return vjp_gradient(back) if rule is None else rule(back)

    def input_names(self, count: int = 0) -> tuple[str, ...]:
        """Returns the names of the inputs this call takes; `count` is for variadic operators."""
        op = self.operator
        fixed = op.inputs if op.takes is None else tuple(op.takes(**self.attrs))
        if op.variadic and (op.takes is None or not fixed):
            return tuple(f"{op.inputs[0]}{i}" for i in range(count))
        return fixed

    def with_train(self, train: bool) -> OpCall:
        """Returns the same call in, or out of, a training pass."""
        if not self.operator.takes_train or self.train is train:
            return self
        return self.operator.bind(self.attrs, train)[0]

    def with_attrs(self, **changed: Any) -> OpCall:
        """Returns the call with some static parameters changed."""
        return self.operator._make({**self.attrs, **changed}, self.train)

    def _infer(self, types: Types) -> Types:
        op = self.operator
        shown = types[:-1] if self.takes_state else types
        check_input_count(self, len(shown))
        if op.check is not None:
            op.check(*shown, **self.attrs)
        if op.sizes:
            op.require_sizes(self.attrs)
        if op.infer is not None:
            inferred = tuple(op.infer(*shown, **self.attrs))
            if not self.takes_state:
                return inferred
            for one in inferred:  # of random numbers: others may be open, in graphs
                if min(one.shape, default=0) < 0:
                    raise ShapeError(
                        f"{self.name}: the dimensions of a result must be >= 0, got {one.shape}"
                    )
            return (*inferred, types[-1])
        try:
            return output_types(self, types)
        except MXNetError:
            raise
        except (TypeError, ValueError, IndexError, ArithmeticError) as error:
            raise _refusal(self, shown, error) from error

    def __repr__(self) -> str:
        attrs = ", ".join(f"{name}={value}" for name, value in self.attrs.items())
        return f"{self.operator.name}({attrs})"


def _number_type(param: Param, operands: Sequence[Any]) -> np.dtype[Any]:
    """Returns the dtype in which a lowering is given a number beside its inputs.

    Args:
        param: the dynamic parameter.
        operands: the inputs, or their types.
    """
    if param.index:
        return _INT64
    floats = {x.dtype for x in operands if is_float(x.dtype)}
    return reduce(promote, floats) if floats else _FLOAT64


def _conversion(kind: np.dtype[Any]) -> Callable[[float], Any]:
    """Returns what makes a number of NumPy's, by way of float64."""
    if is_float(kind):
        return kind.type
    return lambda number: np.float64(number).astype(kind)


def _host_form(
    lowering: Callable[..., Any], keywords: dict[str, Any], count: int, names: Sequence[str]
) -> Callable[[Sequence[Any]], Any]:
    """Returns what calls a lowering with values; see `HostForm`.

    Args:
        lowering: the lowering.
        keywords: what it is given by name, always the same.
        count: how many values it is given by position.
        names: those by which it is given the others.
    """

    def plain(values: Sequence[Any]) -> Any:
        return lowering(*values, **keywords)

    def full(values: Sequence[Any]) -> Any:
        named = zip(names, values[count:], strict=True)
        return lowering(*values[:count], **keywords, **dict(named))

    return full if names else plain


def _of(fact: Any, attrs: Mapping[str, Any]) -> Any:
    """Returns a fact about an operator, which may be a function of the parameters."""
    return fact(**attrs) if callable(fact) else fact


def describe(names: Sequence[str], types: Sequence[TensorType]) -> str:
    """Returns 'data float32[2,3] and weight float32[4,3]', for error messages."""
    return " and ".join(f"{n} {t}" for n, t in zip(names, types, strict=False)) or "no inputs"


def _refusal(call: OpCall, types: Types, error: Exception) -> MXNetError:
    """Turns what JAX says of unfit inputs into an error that names the operator and its inputs."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    got = describe(call.input_names(len(types)), types)
    kind = DTypeError if "dtype" in reason else ShapeError
    return kind(f"{call}: cannot be applied to {got}: {reason}")


def check_input_count(call: OpCall, count: int) -> None:
    """Raises ParameterError unless the operator takes this many inputs."""
    op = call.operator
    if op.variadic:
        if count < op.required_inputs:
            raise ParameterError(
                f"{op.name}: requires at least {op.required_inputs} input, got none"
            )
        return
    names = call.input_names()
    least = min(op.required_inputs, len(names))
    if not least <= count <= len(names):
        wanted = f"{len(names)}" if least == len(names) else f"{least} to {len(names)}"
        raise ParameterError(
            f"{op.name}: requires {wanted} inputs ({', '.join(names)}), got {count}"
        )

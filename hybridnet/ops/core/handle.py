"""`Operand`: what NDArray, Symbol and graph edges share, which is the algebra users write.

An operand knows how to apply an operator to operands of its kind; everything else (Python's
arithmetic, the fluent methods) is written once, here, in terms of that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, Self, TypeVar, cast, final, overload

import numpy as np

from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType

from . import registry
from .call import Call
from .documentation import documentation, signature_of
from .operator import Operator

Method = Callable[..., Any]
_Kind = TypeVar("_Kind")
_Operand = TypeVar("_Operand", bound="Operand")

# Whole numbers beyond this are not exact as the float64 in which scalars travel.
_MAX_EXACT: Final = 2**53


@final
class Arithmetic:
    """One of Python's operators on operands: ``x + y``, ``x + 1``, ``1 + x``.

    Attributes:
        name: the operator for two operands.
        scalar: its form for an operand and a number.
        swap: whether the operand on which the method is called is the right side.
        pair: the call for two arrays, once somebody has asked for it.
        number: the call for an array and a number, likewise.
    """

    __slots__ = ("name", "number", "pair", "scalar", "swap")

    def __init__(self, name: str, scalar: str, swap: bool = False) -> None:
        self.name = name
        self.scalar = scalar
        self.swap = swap
        self.pair: Call | None = None
        self.number: Call | None = None

    def call_of_pair(self) -> Call:
        """Makes `pair`, and returns it."""
        self.pair = call = registry.get(self.name).bind({})[0]
        return call

    def call_of_number(self) -> Call:
        """Makes `number`, and returns it."""
        self.number = call = registry.get(self.scalar).bind({})[0]
        return call


class OperatorMethod(Protocol):
    """The type of a method that applies an operator, as type checkers see it.

    It returns what is of the kind that it is called on: a symbol's returns a symbol. Where an
    operator may have several outputs, the method is made by `several`.
    """

    @overload
    def __get__(self, operand: None, kind: Any) -> Method: ...

    @overload
    def __get__(self, operand: _Operand, kind: Any) -> Callable[..., _Operand]: ...


class ArithmeticMethod(Protocol):
    """The type of ``__add__`` and the like, as type checkers see it; see `OperatorMethod`."""

    @overload
    def __get__(self, operand: None, kind: Any) -> Method: ...

    @overload
    def __get__(self, operand: _Operand, kind: Any) -> Callable[[Any], _Operand]: ...


def _arithmetic(name: str, scalar: str, swap: bool = False) -> ArithmeticMethod:
    """Returns a method for one of Python's operators; see `Arithmetic`."""
    how = Arithmetic(name, scalar, swap)

    def arithmetic(self: Any, other: Any) -> Any:
        kind = type(self)
        if type(other) is kind:  # as `binary` does
            return kind.apply_pair(how, (other, self) if swap else (self, other))
        return binary(self, other, how)

    return cast("ArithmeticMethod", arithmetic)


def with_names(kind: type[_Kind]) -> type[_Kind]:
    """Names the methods of a class for Python's operators (``__add__``) as the class names them.

    As one function makes all these methods, they would all have the same name in tracebacks,
    profiles and `help`.
    """
    for name, method in vars(kind).items():
        if getattr(method, "__name__", "") == "arithmetic":
            method.__name__ = name
            method.__qualname__ = f"{kind.__qualname__}.{name}"
    return kind


@with_names
class Operand:
    """A value that operators can be applied to; subclasses say how."""

    __slots__ = ()

    @classmethod
    def apply_operator(
        cls,
        op: Operator,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        *,
        name: str | None = None,
        out: Any = None,
    ) -> Any:
        """Applies an operator; returns its visible output, or a list when there are several."""
        raise NotImplementedError

    @classmethod
    def apply_call(cls, call: Call, inputs: Sequence[Any], scalars: tuple[Any, ...]) -> list[Any]:
        """Applies a bound call; returns all its outputs, hidden ones too."""
        raise NotImplementedError

    @classmethod
    def full_like_scalar(cls, like: Any, value: int) -> Any:
        """Returns an operand holding a whole number too large for a float64."""
        raise ParameterError(f"the whole number {value} is not exact as a float64")

    @classmethod
    def binary_operator(cls, name: str) -> Operator:
        """Returns the operator that Python's arithmetic on two operands stands for."""
        return registry.get(name)

    @classmethod
    def apply_pair(cls, how: Arithmetic, pair: tuple[Any, Any]) -> Any:
        """Applies an operator of Python's to two operands, in this order."""
        return cls.apply_operator(cls.binary_operator(how.name), pair, {})

    @classmethod
    def apply_number(cls, how: Arithmetic, operand: Any, number: float) -> Any:
        """Applies an operator of Python's to an operand and a number."""
        return cls.apply_operator(registry.get(how.scalar), (operand,), {"scalar": number})

    @classmethod
    def from_rows(cls, values: Any, indices: Any, rows: int) -> Any:
        """Returns an operand of which some rows are given and all others are 0.

        Args:
            values: (n, ...), the rows.
            indices: (n,), which they are, ascending; where it is `rows`, the row is left out.
            rows: how many rows the result has.
        """
        call, scalars = registry.get("_rows_dense").bind({"rows": rows})
        return cls.apply_call(call, (values, indices), scalars)[0]

    @property
    def inferred_dtype(self) -> np.dtype[Any] | None:
        """The dtype, where it is known yet."""
        raise NotImplementedError

    @property
    def type(self) -> TensorType | None:
        """Shape and dtype, where they are known yet."""
        return None

    __add__ = __radd__ = _arithmetic("broadcast_add", "_plus_scalar")
    __sub__ = _arithmetic("broadcast_sub", "_minus_scalar")
    __rsub__ = _arithmetic("broadcast_sub", "_rminus_scalar", swap=True)
    __mul__ = __rmul__ = _arithmetic("broadcast_mul", "_mul_scalar")
    __truediv__ = _arithmetic("broadcast_div", "_div_scalar")
    __rtruediv__ = _arithmetic("broadcast_div", "_rdiv_scalar", swap=True)
    __mod__ = _arithmetic("broadcast_mod", "_mod_scalar")
    __rmod__ = _arithmetic("broadcast_mod", "_rmod_scalar", swap=True)
    __pow__ = _arithmetic("broadcast_power", "_power_scalar")
    __rpow__ = _arithmetic("broadcast_power", "_rpower_scalar", swap=True)

    def __neg__(self) -> Self:
        return _unary(self, "negative")

    def __abs__(self) -> Self:
        return _unary(self, "abs")

    # (An object's return a bool; here they are elementwise, as NumPy's.)
    __eq__: ArithmeticMethod = _arithmetic(  # type: ignore[assignment]
        "broadcast_equal", "_equal_scalar"
    )
    __ne__: ArithmeticMethod = _arithmetic(  # type: ignore[assignment]
        "broadcast_not_equal", "_not_equal_scalar"
    )
    __gt__ = _arithmetic("broadcast_greater", "_greater_scalar")
    __ge__ = _arithmetic("broadcast_greater_equal", "_greater_equal_scalar")
    __lt__ = _arithmetic("broadcast_lesser", "_lesser_scalar")
    __le__ = _arithmetic("broadcast_lesser_equal", "_lesser_equal_scalar")

    # Equality is elementwise, so identity is what a dict can go by.
    __hash__ = object.__hash__


def _unary(operand: _Operand, name: str) -> _Operand:
    result: _Operand = type(operand).apply_operator(registry.get(name), (operand,), {})
    return result


def binary(operand: Operand, other: Any, how: Arithmetic) -> Any:
    """Applies an operator of Python's to an operand and another, or a number.

    Returns:
        The result; NotImplemented where `other` is neither operand nor number.

    Raises:
        TypeError: it is an array of NumPy's.
    """
    kind = type(operand)
    if type(other) is float:
        return kind.apply_number(how, operand, other)
    if isinstance(other, Operand):
        return kind.apply_pair(how, (other, operand) if how.swap else (operand, other))
    if type(other) is int and -_MAX_EXACT <= other <= _MAX_EXACT:
        return kind.apply_number(how, operand, float(other))
    if isinstance(other, (int, float, np.integer, np.floating, np.bool_)):
        if isinstance(other, (int, np.integer)) and abs(int(other)) > _MAX_EXACT:
            return binary(operand, kind.full_like_scalar(operand, int(other)), how)
        return kind.apply_number(how, operand, float(other))
    if isinstance(other, np.ndarray):  # of which NumPy would say that it cannot be joined
        raise TypeError(
            f"{how.name}: requires two of a kind, got {kind.__name__} and numpy.ndarray; make one "
            "with nd.array(...)"
        )
    return NotImplemented


def split_arguments(
    op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Sorts a call's arguments into inputs and parameters.

    Inputs come first, by position or by their names; further positional arguments are parameters
    in declared order, as in MXNet's functions.

    Returns:
        The inputs (None for one that was left out before one that was given), and the parameters.

    Raises:
        ParameterError: too many arguments, or one given twice.
    """
    if op.variadic:
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        kwargs.pop("num_args", None)
        return list(args), kwargs
    count = len(op.inputs)
    inputs = list(args[:count])
    for param, value in zip(op.params, args[count:], strict=False):
        if param in kwargs:
            raise ParameterError(f"{op.name}: parameter {param} was given twice")
        kwargs[param] = value
    if len(args) > count + len(op.params):
        most = count + len(op.params)
        raise ParameterError(f"{op.name}: takes at most {most} arguments, got {len(args)}")
    for index, name in enumerate(op.inputs):
        if name in kwargs and name not in op.params:
            value = kwargs.pop(name)
            if index < len(inputs):
                if value is not None:
                    raise ParameterError(f"{op.name}: input {name} was given twice")
                continue
            inputs.extend([None] * (index - len(inputs)))
            inputs.append(value)
    while inputs and inputs[-1] is None:
        inputs.pop()
    if op.presence:
        for name, value in zip(op.inputs, inputs, strict=False):
            if value is not None and name in op.presence:
                kwargs.setdefault(op.presence[name], True)
    if op.takes is not None and any(given is None for given in inputs):
        inputs = _without_untaken(op, inputs, kwargs)
    return inputs, kwargs


def _without_untaken(op: Operator, inputs: list[Any], attrs: Mapping[str, Any]) -> list[Any]:
    """Leaves out each None that stands for an input which a call with these parameters lacks."""
    call, _ = op.bind({name: value for name, value in attrs.items() if name in op.params})
    taken = call.input_names()
    pairs = zip(op.inputs, inputs, strict=False)
    return [value for name, value in pairs if value is not None or name in taken]


def several(name: str) -> Method:
    """Makes the method that applies an operator which may have several outputs; see `fluent`."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        op = registry.get(name)
        if not args and not kwargs:
            return type(self).apply_operator(op, (self,), kwargs)
        out = kwargs.pop("out", None)
        given = kwargs.pop("name", None)
        inputs, attrs = split_arguments(op, (self, *args), kwargs)
        return type(self).apply_operator(op, inputs, attrs, name=given, out=out)

    method.__name__ = name
    method.__qualname__ = f"Operand.{name}"
    method.__doc__ = f"Applies operator `{name}` to this; see ``nd.{name}`` for the parameters."
    return method


def fluent(name: str) -> OperatorMethod:
    """Makes the method that applies an operator to ``self``: ``exp = fluent("exp")``."""
    return cast("OperatorMethod", several(name))


def passed_over(op: Operator, public: str, attrs: dict[str, Any]) -> dict[str, Any]:
    """Leaves out what an operator without parameters was given by name, as MXNet does; warns.

    Args:
        op: the operator.
        public: the name it was called by.
        attrs: parameters and attributes that it was given. Arrays stay, to be refused.
    """
    if op.params or op.variadic:
        return attrs
    kept = {}
    for name, value in attrs.items():
        if name.startswith("__") or isinstance(value, Operand):
            kept[name] = value
        else:
            warnings.warn(
                f"{public}: has no parameters; {name!r} is passed over, as in MXNet", stacklevel=3
            )
    return kept


def operator_function(op: Operator, kind: type[Operand], public: str) -> Method:
    """Makes the function users call: ``nd.exp(x, out=y)``.

    Args:
        kind: what the function is for: its class applies the operator.
        public: the name it is called by.
    """

    most = 0 if op.variadic else len(op.inputs)
    if op.takes is not None:
        most = min(most, 3)  # of more, one in the middle may be None
    # What is no parameter, whatever else is given by name.
    special = frozenset({"out", "attr", *op.inputs})
    bare = not op.params and not op.variadic  # whatever is given by name is looked at

    def function(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.pop("name", None) if kwargs else None
        if (
            0 < len(args) <= most
            and args[-1] is not None
            and (not kwargs or (not bare and special.isdisjoint(kwargs)))
        ):
            return kind.apply_operator(op, args, kwargs, name=given)
        out = kwargs.pop("out", None)
        options = {"attr": kwargs.pop("attr")} if "attr" in kwargs else {}
        inputs, attrs = split_arguments(op, args, kwargs)
        if bare and attrs:
            attrs = passed_over(op, public, attrs)
        return kind.apply_operator(op, inputs, attrs, name=given, out=out, **options)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = documentation(op)
    # Read by help() and editors.
    function.__signature__ = signature_of(op)  # type: ignore[attr-defined]
    function.operator = op  # type: ignore[attr-defined]
    return function

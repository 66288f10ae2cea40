"""Operators that users write in Python over arrays: ``Custom``, as a call of programs and graphs.

What is run is Python code on the host, so such a call is never part of a compiled program: a graph
that holds one is run in stretches, with a host task between them. The code comes from
`hybridnet.operator`, and is run by `hybridnet.ndarray`, which is above: see `RUNNERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, final

from hybridnet.base.context import Context
from hybridnet.base.dtype import CODE_OF, as_dtype, is_float
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.tensor_type import tensor_type

from .call import Arrays, Backward, HostOnlyCall, Scalars, Types

#: The classes that describe users' operators, by name.
PROPS: Final[dict[str, type]] = {}
#: What runs a call on arrays: 'forward' and 'backward', from call, context and Values to Values.
RUNNERS: Final[dict[str, Callable[..., list[Any]]]] = {}

_REFUSAL: Final = (
    "{call}: a custom operator runs Python code on the host, which cannot be part of a compiled "
    "program"
)


@final
class CustomCall(HostOnlyCall):
    """A user's operator with its parameters.

    Its inputs are the arguments and the auxiliary states; its outputs those of the operator, and
    the new auxiliary states. It has one `CustomOp` for each context and types of its inputs, so
    that what `forward` keeps there is found by `backward`. Each call on arrays is a `CustomCall` of
    its own, each node of a symbol or of a traced function another one.

    Args:
        params: what its class was given.
        prop: the user's description of it.
        operators: the instances, shared by both modes.
        train: whether it is in a training pass; None where that is not known yet.
    """

    refusal, fault = _REFUSAL, MXNetError
    on_host = True
    symbolic_rule = False
    __slots__ = (
        "_modes",
        "_operators",
        "_types",
        "arguments",
        "mutates",
        "op_type",
        "output_names",
        "params",
        "prop",
        "states",
        "train",
    )
    name = "Custom"

    def __init__(
        self,
        op_type: str,
        params: Mapping[str, str],
        prop: Any,
        operators: dict[Any, Any],
        train: bool | None = None,
    ) -> None:
        self.op_type = op_type
        self.params = dict(params)
        self.prop = prop
        self.train = train
        self.arguments = tuple(prop.list_arguments())
        self.output_names = tuple(prop.list_outputs())
        self.states = tuple(prop.list_auxiliary_states())
        self.num_visible = len(self.output_names)
        self.num_outputs = self.num_visible + len(self.states)
        self.num_scalars = 0
        self.takes_state = False
        first = len(self.arguments)
        self.mutates = {first + i: self.num_visible + i for i in range(len(self.states))}
        self._operators = operators
        self._modes: dict[bool, CustomCall] = {}
        self._types: dict[Types, Types] = {}

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the arguments and auxiliary states."""
        return (*self.arguments, *self.states)

    @property
    def own_gradients(self) -> Collection[int]:
        """All outputs: what the user's rule makes of zeros is the user's affair."""
        return range(self.num_visible)

    def with_train(self, train: bool) -> CustomCall:
        """Returns the same operator in, or out of, a training pass."""
        if self.train is train:
            return self
        if train not in self._modes:
            self._modes[train] = CustomCall(
                self.op_type, self.params, self.prop, self._operators, train
            )
        return self._modes[train]

    def operator(self, ctx: Context, types: Types) -> Any:
        """Returns the user's instance for inputs of these types."""
        key = (ctx, types)
        if key not in self._operators:
            shapes = [list(type_.shape) for type_ in types]
            codes = [CODE_OF[type_.dtype] for type_ in types]
            self._operators[key] = self.prop.create_operator(ctx, shapes, codes)
        return self._operators[key]

    def infer(self, types: Types) -> Types:
        """Asks the user's class.

        Raises:
            ParameterError: the number of inputs is wrong.
            ShapeError: the inputs have not the shapes that the operator wants.
            MXNetError: the user's `infer_shape` or `infer_type` failed.
        """
        if types not in self._types:
            self._types[types] = self._infer(types)
        return self._types[types]

    def _infer(self, types: Types) -> Types:
        names = self.input_names
        if len(types) != len(names):
            raise ParameterError(
                f"{self!r}: requires {len(names)} inputs ({', '.join(names)}), got {len(types)}"
            )
        count = len(self.arguments)
        wanted = self.shapes([type_.shape for type_ in types[:count]])
        for name, type_, shape in zip(names, types, (*wanted[0], *wanted[2]), strict=True):
            if type_.shape != shape:
                raise ShapeError(f"{self!r}: {name} must have shape {shape}, got {type_}")
        given = [type_.dtype.type for type_ in types[:count]]
        dtypes = self._ask("infer_type", self.prop.infer_type, given)[1]
        outputs = [
            tensor_type(shape, as_dtype(dtype))
            for shape, dtype in zip(wanted[1], dtypes, strict=True)
        ]
        return (*outputs, *types[count:])

    def shapes(
        self, arguments: Sequence[tuple[int, ...] | None]
    ) -> tuple[list[tuple[int, ...]], ...]:
        """Returns the shapes of arguments, outputs and auxiliary states.

        Args:
            arguments: those of the arguments; None for unknown ones, which the user's class may
                fill in.
        """
        given = [list(shape or ()) for shape in arguments]
        found = self._ask("infer_shape", self.prop.infer_shape, given)
        return tuple([tuple(map(int, shape)) for shape in group] for group in found)

    def _ask(self, what: str, rule: Callable[..., Any], given: list[Any]) -> tuple[Any, ...]:
        try:
            found = tuple(rule(given))
        except MXNetError:
            raise
        except Exception as error:  # the user's code may raise anything
            if is_from_signal(error):
                raise
            raise MXNetError(f"{self!r}: {what}({given}) failed: {error}") from error
        if len(found) == 2:
            found = (*found, [])
        counts = (len(self.arguments), len(self.output_names), len(self.states))
        got = tuple(len(group) for group in found)
        if got != counts:
            raise MXNetError(
                f"{self!r}: {what} must return lists for {counts[0]} arguments, {counts[1]} "
                f"outputs and {counts[2]} auxiliary states, got lists of {got}"
            )
        return found

    def run_on_host(self, ctx: Any, values: Arrays, scalars: Scalars, record: Any) -> list[Any]:
        """Runs the user's `forward` as a host task."""
        return RUNNERS["forward"](self, ctx, values)

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Applies the user's `backward`."""
        count = len(self.arguments)
        wanted = tuple(
            want and (x.inferred_dtype is None or is_float(x.inferred_dtype))
            for want, x in zip(back.wanted[:count], back.inputs, strict=False)
        )
        heads = [
            x.zeros_like() if grad is None else grad
            for grad, x in zip(back.grads[: self.num_visible], back.outputs, strict=False)
        ]
        if not any(wanted):
            return [None] * len(back.inputs)
        outputs = back.outputs[: self.num_visible]
        inputs = list(back.inputs)
        for place, number in self.mutates.items():  # it reads the states as `forward` left them
            inputs[place] = back.outputs[number]
        made = back.apply(CustomBackward(self, wanted), [*heads, *inputs, *outputs])
        grads = [grad if want else None for grad, want in zip(made, wanted, strict=True)]
        return [*grads, *[None] * len(self.states)]

    def __repr__(self) -> str:
        return f"Custom({self.op_type})"


@final
class CustomBackward(HostOnlyCall):
    """The gradient of a user's operator.

    Its inputs are the gradients of the outputs, the inputs, and the outputs; its outputs the
    gradients of the arguments.

    Args:
        wanted: for each argument, whether its gradient is.
    """

    refusal, fault = _REFUSAL, MXNetError
    on_host = True
    symbolic_rule = False
    __slots__ = ("of", "wanted")
    no_gradient = "backward of a custom operator is not itself differentiated"
    name = "_backward_Custom"

    def __init__(self, of: CustomCall, wanted: tuple[bool, ...]) -> None:
        self.of = of
        self.wanted = wanted
        super().__init__(len(of.arguments))

    def infer(self, types: Types) -> Types:
        """Gradients have the types of the arguments."""
        first = self.of.num_visible
        return types[first : first + len(self.of.arguments)]

    def run_on_host(self, ctx: Any, values: Arrays, scalars: Scalars, record: Any) -> list[Any]:
        """Runs the user's `backward` as a host task."""
        return RUNNERS["backward"](self, ctx, values)

    def __repr__(self) -> str:
        return f"backward of {self.of!r}"


def custom_call(op_type: Any, params: Mapping[str, Any]) -> CustomCall:
    """Returns a call of a user's operator.

    Args:
        op_type: the name it was registered by.
        params: for its class, which gets them as text, as in MXNet.

    Raises:
        ParameterError: there is no such operator, or it does not take these parameters.
    """
    if op_type not in PROPS:
        known = ", ".join(sorted(PROPS)) or "none"
        raise ParameterError(
            f"Custom: op_type must be the name of a registered operator ({known}), got "
            f"{op_type!r}; decorate its class with @operator.register({op_type!r})"
        )
    text = {name: value if isinstance(value, str) else str(value) for name, value in params.items()}
    try:
        prop = PROPS[op_type](**text)
    except TypeError as error:
        raise ParameterError(f"Custom({op_type}): parameters {text} do not fit: {error}") from error
    return CustomCall(op_type, text, prop, {})

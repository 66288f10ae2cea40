"""`ByValue`: an operator of which some parameters are inputs of the graph's.

TensorFlow's shapes may be tensors: ``tf.reshape(x, [tf.shape(x)[0], -1])``. XLA's may not. Such a
call cannot run, but stands in a graph until the types of the graph's inputs are known, and the
values of the few that shapes are made of. Then `hybridnet.compat.tf1.graph.resolve` puts the
operator in its place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, final

import numpy as np

from hybridnet.base import GraphError
from hybridnet.ops.core import Arrays, Backward, Call, Operator, Types, vjp_call

__all__ = ["ByValue", "Unresolved"]

Array = np.ndarray[Any, Any]


class Unresolved(Call):
    """A call that another takes the place of once some of its inputs are known.

    Attributes:
        at: the inputs, by number, whose values decide which.
    """

    __slots__ = ("at",)

    def __init__(self, at: tuple[int, ...], num_outputs: int, takes_state: bool) -> None:
        self.at = at
        self.num_visible = num_outputs
        self.num_outputs = num_outputs + takes_state
        self.num_scalars = 0
        self.takes_state = takes_state

    @abstractmethod
    def resolved(self, values: Sequence[Array]) -> tuple[Call, tuple[Any, ...]]:
        """Returns the call, and the numbers that it takes beside its inputs.

        Args:
            values: of the inputs in `at`, which are no inputs of that call.

        Raises:
            ShapeError, ParameterError: it cannot be called with them.
        """

    def infer(self, types: Types) -> NoReturn:
        """Types do not tell the types of the outputs.

        Raises:
            GraphError: always.
        """
        raise GraphError(
            f"{self.name}: the shape of the result depends on the values of inputs; "
            "hybridnet.compat.tf1.graph.resolve must be run on the graph first"
        )

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """As `infer`."""
        self.infer(())


@final
class ByValue(Unresolved):
    """An operator with one output, some of whose parameters are the call's last inputs.

    Args:
        count: how many inputs of its own it gets.
        attrs: the other parameters.
        given: the names of the parameters that inputs are given for, in their order. One with an
            axis stands for a tuple, one without for a number.
    """

    __slots__ = ("attrs", "given", "operator")

    def __init__(
        self, operator: Operator, count: int, attrs: Mapping[str, Any], given: Sequence[str]
    ) -> None:
        super().__init__(tuple(range(count, count + len(given))), 1, operator.takes_state is True)
        self.operator = operator
        self.attrs = dict(attrs)
        self.given = tuple(given)

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.operator.name

    def resolved(self, values: Sequence[Array]) -> tuple[Call, tuple[Any, ...]]:
        """The operator with all its parameters."""
        found = {
            name: tuple(value.tolist()) if value.ndim else value.item()
            for name, value in zip(self.given, values, strict=True)
        }
        return self.operator.bind({**self.attrs, **found})

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Returns the gradients of the operator, as a call that is resolved like this one."""
        return _late_gradient(self, self.operator.no_gradient, back)

    def __repr__(self) -> str:
        return f"{self.operator.name}({self.attrs}, by value: {', '.join(self.given)})"


@final
class _Gradient(Unresolved):
    """The vector-Jacobian product of an unresolved call; as `ops.core.backward.VjpCall`."""

    __slots__ = ("given", "of", "wanted")

    def __init__(self, of: Unresolved, wanted: tuple[int, ...], given: tuple[int, ...]) -> None:
        super().__init__(of.at, len(wanted), False)
        self.of = of
        self.wanted = wanted
        self.given = given

    @property
    def name(self) -> str:
        """As MXNet names gradients."""
        return f"_backward_{self.of.name}"

    def resolved(self, values: Sequence[Array]) -> tuple[Call, tuple[Any, ...]]:
        """The gradient of what the call has become."""
        call, scalars = self.of.resolved(values)
        left_out = sorted(self.at)
        wanted = tuple(number - sum(at < number for at in left_out) for number in self.wanted)
        return vjp_call(call, wanted, self.given), scalars

    def gradient(self, back: Backward) -> Sequence[Any]:
        """The same again."""
        return _late_gradient(self, "", back)


def _late_gradient(call: Unresolved, no_gradient: str, back: Backward) -> list[Any]:
    wanted = tuple(index for index, want in enumerate(back.wanted) if want and index not in call.at)
    given = back.given
    if no_gradient or not wanted or not given:
        return [None] * len(back.inputs)
    operands = [*back.inputs, *(back.grads[index] for index in given)]
    return back.placed(wanted, back.apply(_Gradient(call, wanted, given), operands))

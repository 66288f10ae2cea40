"""Variables as a saver sees them: a value to be read now, and set when a checkpoint is restored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from hybridnet.base.array_types import DType, NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.errors import ParameterError
from hybridnet.gluon import Block, Parameter, ParameterDict, Trainer
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.copies import put
from hybridnet.session import Session, UninitializedError
from hybridnet.symbol import Symbol

from .faults import OpenShape


class Slot(ABC):
    """A variable that is saved and restored; see `ArraySlot` for that of an array."""

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> OpenShape:
        """Its shape, as far as it is known."""

    @property
    @abstractmethod
    def dtype(self) -> DType | None:
        """Its element type; None where any will do."""

    @abstractmethod
    def read(self) -> NDArray:
        """Returns its value.

        Raises:
            MXNetError: it has none yet.
        """

    @abstractmethod
    def assign(self, value: NumpyArray) -> None:
        """Sets its value, which has its shape and dtype."""


@final
class ArraySlot(Slot):
    """An array, or a part of one."""

    __slots__ = ("array",)

    def __init__(self, array: NDArray) -> None:
        self.array = array

    @property
    def shape(self) -> OpenShape:
        """The array's shape."""
        return self.array.shape

    @property
    def dtype(self) -> DType:
        """The array's element type."""
        return self.array.inferred_dtype

    def read(self) -> NDArray:
        """Returns the array."""
        return self.array

    def assign(self, value: NumpyArray) -> None:
        """Overwrites the array."""
        ctx = self.array.context
        self.array.assign(NDArray.from_value(put(value, ctx), ctx))


@final
class ParameterSlot(Slot):
    """A parameter of a network, which need not be initialized to be restored."""

    __slots__ = ("parameter",)

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter

    @property
    def shape(self) -> OpenShape:
        """Its shape; unknown where the first input decides it."""
        shape = self.parameter.shape
        return None if shape is None else tuple(size or None for size in shape)

    @property
    def dtype(self) -> DType:
        """The element type of its value."""
        dtype: DType = np.dtype(self.parameter.dtype)
        return dtype

    def read(self) -> NDArray:
        """Returns the value; the mean where it is on several contexts."""
        return self.parameter.reduced()

    def assign(self, value: NumpyArray) -> None:
        """Sets the value on every context."""
        data = NDArray.from_value(put(value, cpu()), cpu())
        if self.parameter.is_initialized or self.parameter.is_deferred:
            self.parameter.set_data(data)
        else:
            self.parameter.initialize_with(data, None)


@final
class TrainerSlot(Slot):
    """A trainer's optimizer with its states, as bytes. Reading it waits for the states."""

    __slots__ = ("trainer",)

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer

    @property
    def shape(self) -> OpenShape:
        """One axis of bytes, whose number depends on what has been learned."""
        return (None,)

    @property
    def dtype(self) -> DType:
        """Bytes."""
        return np.dtype(np.uint8)

    def read(self) -> NDArray:
        """Returns the states."""
        raw = np.frombuffer(self.trainer.states_to_bytes(), np.uint8)
        return NDArray.from_value(put(raw, cpu()), cpu())

    def assign(self, value: NumpyArray) -> None:
        """Takes over states."""
        self.trainer.states_from_bytes(value.tobytes())


@final
class SessionSlot(Slot):
    """A variable that a `hybridnet.session.Session` keeps; it need not have a value."""

    __slots__ = ("session", "variable")

    def __init__(self, session: Session, variable: Symbol) -> None:
        self.session = session
        self.variable = variable

    @property
    def shape(self) -> OpenShape:
        """The shape of the variable's value; unknown where it has none."""
        held = self.session.variables.get(str(self.variable.name))
        return None if held is None else held.shape

    @property
    def dtype(self) -> DType | None:
        """The element type of the variable's value; None where it has none."""
        held = self.session.variables.get(str(self.variable.name))
        return None if held is None else held.inferred_dtype

    def read(self) -> NDArray:
        """Returns the value."""
        held = self.session.variables.get(str(self.variable.name))
        if held is None:
            raise UninitializedError(
                f"variable {self.variable.name!r} has no value in the session; set or restore it"
            )
        return held

    def assign(self, value: NumpyArray) -> None:
        """Gives it a value."""
        self.session.set({self.variable: value})


def session_slots(session: Session, variables: Sequence[Symbol]) -> dict[str, Slot]:
    """Returns slots of session variables for a Saver: ``Saver(session_slots(s, [w, b]))``.

    Raises:
        ParameterError: something is no variable.
    """
    for variable in variables:
        if (
            not isinstance(variable, Symbol)
            or len(variable) != 1
            or not variable.edges[0].node.is_variable
        ):
            raise ParameterError(f"session_slots: needs variables (hn.sym.var), got {variable!r}")
    return {str(variable.name): SessionSlot(session, variable) for variable in variables}


def slots_of(variables: Any, where: str = "") -> dict[str, Slot]:
    """Returns the slots of what a user wants saved, by name.

    Args:
        variables: arrays, parameters, blocks, trainers, dicts of parameters or slots in a dict by
            name; or a block or dict of parameters alone. The names of what is inside come after a
            slash.
        where: the name of it, for messages.

    Raises:
        ParameterError: something else is in it.
    """
    if isinstance(variables, Block):
        variables = variables.structural_params()
    if isinstance(variables, (Mapping, ParameterDict)):
        found: dict[str, Slot] = {}
        for name, variable in variables.items():
            if not isinstance(name, str) or not name:
                raise ParameterError(f"Saver: a variable needs a name, got {name!r}")
            full = f"{where}/{name}" if where else name
            for inner, slot in slots_of(variable, full).items():
                if inner in found:
                    raise ParameterError(f"Saver: two variables have the name {inner!r}")
                found[inner] = slot
        return found
    if not where:
        raise ParameterError(
            "Saver: variables must be a dict of names and arrays (or parameters), a block, or a "
            f"ParameterDict, got {type(variables).__name__}"
        )
    return {where: _slot(variables, where)}


def _slot(variable: Any, name: str) -> Slot:
    if isinstance(variable, Slot):
        return variable
    if isinstance(variable, Parameter):
        return ParameterSlot(variable)
    if isinstance(variable, Trainer):
        return TrainerSlot(variable)
    if isinstance(variable, NDArray) and variable.stype == "default":
        return ArraySlot(variable)
    kind = type(variable).__name__
    raise ParameterError(
        f"Saver: variable {name!r} must be a dense NDArray, a Parameter or a Trainer, got {kind}"
    )

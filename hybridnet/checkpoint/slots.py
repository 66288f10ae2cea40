"""Variables as a saver sees them: a value to be read now, and set when a checkpoint is restored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from hybridnet.base.array_types import DType, NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Placement
from hybridnet.gluon import Block, Parameter, ParameterDict, Trainer
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.copies import put
from hybridnet.runtime.recording import Value
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

    #: Whether it may have arrays beside its value.
    has_further: ClassVar[bool] = False

    def further(self) -> dict[str, NDArray]:
        """Returns arrays that are saved beside its value, after it was read."""
        return {}

    def assign_further(self, values: Mapping[str, Any]) -> None:
        """Sets the arrays beside its value, after that: NumPy's, or on its mesh a `Value`."""
        raise NotImplementedError

    def lies(self, shape: tuple[int, ...], inner: str = "") -> tuple[Mesh, Placement] | None:
        """Returns the mesh it is on, and how it lies there; None where it is on none.

        Args:
            shape: of the value that it gets.
            inner: the name of an array beside it.
        """
        return None

    @abstractmethod
    def assign(self, value: Any) -> None:
        """Sets its value, which has its shape and dtype: NumPy's, or on its mesh a `Value`."""


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

    def lies(self, shape: tuple[int, ...], inner: str = "") -> tuple[Mesh, Placement] | None:
        """As the array."""
        mesh = self.array.context
        return (mesh, self.array.placement) if isinstance(mesh, Mesh) else None

    def assign(self, value: Any) -> None:
        """Overwrites the array."""
        ctx = self.array.context
        made = value if isinstance(value, Value) else put(value, ctx)
        self.array.assign(NDArray.from_value(made, ctx))


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
        dtype: DType = as_dtype(self.parameter.dtype)
        return dtype

    def lies(self, shape: tuple[int, ...], inner: str = "") -> tuple[Mesh, Placement] | None:
        """As the parameter is to lie, if it is on a mesh, or will be."""
        known = self.parameter.is_initialized or self.parameter.is_deferred
        mesh = self.parameter.list_ctx()[0] if known else None
        return (mesh, self.parameter.placement_of(shape)) if isinstance(mesh, Mesh) else None

    def read(self) -> NDArray:
        """Returns the value; the mean where it is on several contexts."""
        first = self.parameter.list_values()[0]
        if isinstance(first.context, Mesh):
            return first.detach()
        return self.parameter.reduced()

    def assign(self, value: Any) -> None:
        """Sets the value on every context."""
        if isinstance(value, Value):
            data = NDArray.from_value(value, self.parameter.list_ctx()[0])
        else:
            data = NDArray.from_value(put(value, cpu()), cpu())
        if self.parameter.is_initialized or self.parameter.is_deferred:
            self.parameter.set_data(data)
        else:
            self.parameter.initialize_with(data, None)


@final
class TrainerSlot(Slot):
    """A trainer's optimizer with its states, as bytes. Reading it waits for the states.

    States on a mesh are no part of the bytes: they are arrays of their own, by the number of the
    parameter and their place in its state.
    """

    __slots__ = ("_apart", "trainer")
    has_further = True

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self._apart: dict[str, NDArray] = {}

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
        self._apart = {}
        raw = np.frombuffer(self.trainer.states_to_bytes(self._apart), np.uint8)
        return NDArray.from_value(put(raw, cpu()), cpu())

    def further(self) -> dict[str, NDArray]:
        """Returns the states that are on a mesh."""
        found, self._apart = self._apart, {}
        return found

    def lies(self, shape: tuple[int, ...], inner: str = "") -> tuple[Mesh, Placement] | None:
        """As the parameter, if the state has its shape."""
        if not inner:
            return None
        param = self.trainer.param_of(inner.partition("/")[0])
        known = param is not None and (param.is_initialized or param.is_deferred)
        mesh = param.list_ctx()[0] if param is not None and known else None
        if param is None or not isinstance(mesh, Mesh):
            return None
        return mesh, param.placement_of(shape) if shape == param.shape else {}

    def assign(self, value: NumpyArray) -> None:
        """Takes over states."""
        self.trainer.states_from_bytes(value.tobytes())

    def assign_further(self, values: Mapping[str, Any]) -> None:
        """Takes over the states that are on a mesh, or were when they were saved."""
        arrays = {}
        for inner, value in values.items():
            if isinstance(value, Value):
                lies = self.lies(value.type.shape, inner)
                assert lies is not None
                arrays[inner] = NDArray.from_value(value, lies[0])
            else:
                arrays[inner] = NDArray.from_value(put(value, cpu()), cpu())
        self.trainer.take_states(arrays)


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

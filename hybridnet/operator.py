"""Operators that you write in Python: `CustomOp` computes, `CustomOpProp` describes.

    @operator.register("scale")
    class ScaleProp(operator.CustomOpProp):
        def __init__(self, factor="1"):
            super().__init__(need_top_grad=True)
            self.factor = float(factor)

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Scale(self.factor)

    y = nd.Custom(x, op_type="scale", factor=3)

`nd.Custom` and `sym.Custom` apply it. The code runs on the host, on arrays, as a task of the
engine; a program around it is cut in two there.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from hybridnet.base.attrs import REQUIRED
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.base.legacy import NDArrayHandle
from hybridnet.base.unsupported import missing
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import PROPS, registry
from hybridnet.symbol import Custom, Symbol

# MXNet's module says no `__all__`, so that what it imports comes along: scripts for monitors have
# `ctypes`, `NDArray` and `NDArrayHandle` from ``from mxnet.operator import *``.
__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArray",
    "NDArrayHandle",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "ctypes",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]

_REQUESTS = ("null", "write", "inplace", "add")
# Of operators that describe themselves.
_numbers: Final = count()
# How a parameter that is one of a few texts begins to say so.
_CHOICE: Final = "one of "

_Prop = TypeVar("_Prop", bound=type)


class CustomOp:
    """The computation of an operator; subclass it, and define `forward` and `backward`.

    One instance serves a call and its gradient, so that `forward` can keep something for
    `backward`.
    """

    def forward(
        self,
        is_train: bool,
        req: Sequence[str],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        """Computes the outputs.

        Args:
            is_train: whether this is a training pass.
            req: for each output how it is to be given; see `assign`.
            in_data: the arguments, NDArrays.
            out_data: the outputs, to be assigned to.
            aux: the auxiliary states, which may be changed in place.
        """

    def backward(
        self,
        req: Sequence[str],
        out_grad: Sequence[NDArray],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        in_grad: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        """Computes the gradients of the arguments.

        Args:
            req: for each argument how its gradient is to be given; 'null' where it is not wanted.
            out_grad: the gradients of the outputs.
            in_data: the arguments, as `forward` saw them.
            out_data: the outputs.
            in_grad: the gradients, to be assigned to.
            aux: the auxiliary states.
        """

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Gives a result: ``self.assign(out_data[0], req[0], y)``.

        Args:
            dst: where to.
            req: 'write' or 'inplace' overwrites, 'add' adds, 'null' does nothing.
            src: an array that broadcasts to the shape of `dst`, or a number.

        Raises:
            ParameterError: `req` is something else.
        """
        if req not in _REQUESTS:
            raise ParameterError(f"assign: req must be one of {', '.join(_REQUESTS)}, got {req!r}")
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src


class CustomOpProp:
    """The properties of an operator: inputs and outputs, their types, and who computes it.

    Subclass it, and override what differs from an operator with the one argument ``data``, one
    output of its shape and dtype, and no states.

    Args:
        need_top_grad: whether `backward` needs the gradients of the outputs; a loss does not.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: list[Any]) -> tuple[list[Any], ...]:
        """Returns the shapes of arguments, outputs and auxiliary states, from those of arguments.

        Args:
            in_shape: a list for each argument; of a symbol, [] where it is not known.
        """
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> tuple[list[Any], ...]:
        """Returns the dtypes of arguments, outputs and auxiliary states, from those of arguments.

        Args:
            in_type: a NumPy type for each argument.
        """
        outputs = [in_type[0]] * len(self.list_outputs())
        return in_type, outputs, [in_type[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> tuple[list[str], ...]:
        """Returns the storage types of arguments, outputs and states: all 'default', dense.

        Raises:
            ParameterError: an argument is stored in another way.
        """
        for stype in in_stype:
            if stype != "default":
                raise ParameterError(
                    f"{type(self).__name__}: arguments must have storage type 'default', got "
                    f"{stype!r}; convert them with tostype('default')"
                )
        outputs = ["default"] * len(self.list_outputs())
        return in_stype, outputs, ["default"] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> tuple[list[str], ...]:
        """Returns the same lists, all 'default': gradients are dense.

        Raises:
            ParameterError: something is stored in another way.
        """
        groups = (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype)
        for storage in (stype for group in groups for stype in group):
            if storage not in ("default", "undefined"):
                raise ParameterError(
                    f"{type(self).__name__}: storage types must be 'default', got {storage!r}"
                )
        return tuple(["default"] * len(group) for group in groups)

    def list_arguments(self) -> list[str]:
        """Returns the names of the arguments."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Returns the names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Returns the names of the auxiliary states."""
        return []

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """Returns which of these numbers `backward` needs; all are kept, whatever it says."""
        heads = list(out_grad) if self.need_top_grad_ else []
        return [*heads, *in_data, *out_data]

    def create_operator(
        self, ctx: Context, in_shapes: list[Sequence[int]], in_dtypes: list[int]
    ) -> CustomOp:
        """Returns the operator for a context, and shapes and dtype codes of its inputs."""
        return CustomOp()


class PythonOp:
    """The base of `NumpyOp` and `NDArrayOp`, older forms of `CustomOp`, for symbols only.

    An instance describes the operator and computes it; calling it, or `get_symbol`, applies it.

    Args:
        need_top_grad: whether `backward` needs the gradients of the outputs; a loss does not.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad
        warnings.warn(
            f"{type(self).__name__}: use CustomOp and CustomOpProp, which serve arrays, too",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """Applies it; see `get_symbol`."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """Returns the operator applied to symbols.

        Args:
            args: symbols for the arguments.
            kwargs: symbols by the names of arguments, and ``name``.
        """
        # Symbols find it by this name, so it stays.
        op_type = f"_{type(self).__name__}{next(_numbers)}"
        PROPS[op_type] = _prop_of(self, self._adapted)
        return Custom(*args, op_type=op_type, **kwargs)

    def _adapted(self) -> CustomOp:
        raise NotImplementedError(f"{type(self).__name__}: subclass NumpyOp, or better CustomOp")

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        """Computes the outputs, by changing the arrays `out_data`; here it copies the first."""
        out_data[0][:] = in_data[0]

    def backward(
        self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]
    ) -> None:
        """Computes the gradients, by changing the arrays `in_grad`; here ones, for the first."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[Any]) -> tuple[list[Any], ...]:
        """Returns the shapes of arguments and outputs, from those of arguments."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Returns the names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Returns the names of the arguments."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether `backward` needs the gradients of the outputs."""
        return self.need_top_grad_


class NumpyOp(PythonOp):
    """An operator of symbols that computes with NumPy arrays, which it changes in place.

    MXNet's first form of operators in Python; new code is better off with `CustomOp`.
    """

    def _adapted(self) -> CustomOp:
        return _OfNumpy(self)


class NDArrayOp(PythonOp):
    """An operator of symbols that computes with NDArrays, which it changes in place.

    MXNet's second form of operators in Python; new code is better off with `CustomOp`.
    """

    def _adapted(self) -> CustomOp:
        return _OfArrays(self)

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """Returns which of these numbers `backward` needs; all are kept, whatever it says."""
        heads = list(out_grad) if self.need_top_grad() else []
        return [*heads, *in_data, *out_data]


class _OfArrays(CustomOp):
    """A `PythonOp` on NDArrays."""

    def __init__(self, op: PythonOp) -> None:
        self._op = op

    def forward(
        self,
        is_train: bool,
        req: Sequence[str],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        self._op.forward(in_data=list(in_data), out_data=list(out_data))

    def backward(
        self,
        req: Sequence[str],
        out_grad: Sequence[NDArray],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        in_grad: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        heads, grads = list(out_grad), list(in_grad)
        self._op.backward(
            out_grad=heads, in_data=list(in_data), out_data=list(out_data), in_grad=grads
        )


class _OfNumpy(CustomOp):
    """A `PythonOp` on NumPy arrays: copies, as arrays may share memory with others."""

    def __init__(self, op: PythonOp) -> None:
        self._op = op

    def forward(
        self,
        is_train: bool,
        req: Sequence[str],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        made = _copies(out_data)
        self._op.forward(in_data=_copies(in_data), out_data=made)
        for number, array in enumerate(made):
            self.assign(out_data[number], req[number], array)

    def backward(
        self,
        req: Sequence[str],
        out_grad: Sequence[NDArray],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        in_grad: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        made = _copies(in_grad)
        given = {"in_data": _copies(in_data), "out_data": _copies(out_data)}
        self._op.backward(out_grad=_copies(out_grad), in_grad=made, **given)
        for number, array in enumerate(made):
            self.assign(in_grad[number], req[number], array)


def _copies(arrays: Sequence[NDArray]) -> list[Any]:
    return [array.asnumpy().copy() for array in arrays]


def _prop_of(op: PythonOp, adapted: Callable[[], CustomOp]) -> type[CustomOpProp]:
    """Returns the description of an operator that describes itself."""

    class Described(CustomOpProp):
        def __init__(self) -> None:
            super().__init__(need_top_grad=op.need_top_grad())

        def infer_shape(self, in_shape: list[Any]) -> tuple[list[Any], ...]:
            found = op.infer_shape(in_shape)
            return found[0], found[1], []

        def list_arguments(self) -> list[str]:
            return op.list_arguments()

        def list_outputs(self) -> list[str]:
            return op.list_outputs()

        def create_operator(
            self, ctx: Context, in_shapes: list[Sequence[int]], in_dtypes: list[int]
        ) -> CustomOp:
            return adapted()

    return Described


class OperatorArguments(NamedTuple):
    """The arguments of an operator: how many, their names, and their types in words."""

    narg: int
    names: list[str]
    types: list[str]


def register(reg_name: str) -> Callable[[_Prop], _Prop]:
    """Registers a `CustomOpProp` for `nd.Custom` and `sym.Custom`: ``@register("scale")``.

    A class that is registered by a known name takes its place.

    Args:
        reg_name: the operator's name, ``op_type``.

    Raises:
        ParameterError: the class is no `CustomOpProp`.
    """

    def registered(prop_cls: _Prop) -> _Prop:
        if not (isinstance(prop_cls, type) and issubclass(prop_cls, CustomOpProp)):
            raise ParameterError(f"register: needs a subclass of CustomOpProp, got {prop_cls!r}")
        PROPS[reg_name] = prop_cls
        return prop_cls

    return registered


def get_all_registered_operators() -> list[str]:
    """Returns the names of all operators of the library."""
    return sorted(registry.REGISTRY)


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Returns the inputs and parameters of an operator of the library.

    Raises:
        MXNetError: there is no such operator.
    """
    op = registry.get(op_name)
    names = [*op.inputs, *op.params]
    types = ["NDArray-or-Symbol[]" if op.variadic else "NDArray-or-Symbol"] * len(op.inputs)
    for param in op.params.values():
        need = "required" if param.default is REQUIRED else f"optional, default={param.default!r}"
        kind = param.kind
        if kind.startswith(_CHOICE):
            kind = f"{{{kind.removeprefix(_CHOICE)}}}"  # as MXNet writes it
        types.append(f"{kind}, {need}")
    return OperatorArguments(len(names), names, types)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing("operator", name, __all__)

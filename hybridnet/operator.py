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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from hybridnet.base.attrs import REQUIRED
from hybridnet.base.errors import ParameterError
from hybridnet.base.unsupported import missing
from hybridnet.ops.core import registry
from hybridnet.ops.core.custom import PROPS

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "OperatorArguments",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]

_REQUESTS = ("null", "write", "inplace", "add")

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
        in_data: Sequence[Any],
        out_data: Sequence[Any],
        aux: Sequence[Any],
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
        out_grad: Sequence[Any],
        in_data: Sequence[Any],
        out_data: Sequence[Any],
        in_grad: Sequence[Any],
        aux: Sequence[Any],
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

    def assign(self, dst: Any, req: str, src: Any) -> None:
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

    def create_operator(self, ctx: Any, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        """Returns the operator for a context, and shapes and dtype codes of its inputs."""
        return CustomOp()


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
        types.append(f"{param.kind}, {need}")
    return OperatorArguments(len(names), names, types)


def __getattr__(name: str) -> Any:
    raise missing("operator", name, __all__)

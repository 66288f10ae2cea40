"""Estimates of the memory that a symbol takes, made before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import current_context
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import STATE
from hybridnet.ops.core import Types
from hybridnet.passes import STRATEGIES
from hybridnet.runtime.calls import GraphPrograms, PlannedGraph, Run, allocation_of, planned

from ._bind import Bindable, all_types, requests_of

_XLA: Final = "xla"


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes that a symbol takes to run once.

    Attributes:
        strategy: how memory is shared.
        is_train: whether gradients are computed too.
        arguments: data and parameters.
        auxiliary: auxiliary states.
        gradients: the gradients of the arguments.
        outputs: the outputs.
        internal: what is computed on the way.
    """

    strategy: str
    is_train: bool
    arguments: int
    auxiliary: int
    gradients: int
    outputs: int
    internal: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.arguments + self.auxiliary + self.gradients + self.outputs + self.internal

    def __str__(self) -> str:
        names = ("arguments", "auxiliary", "gradients", "outputs", "internal", "total")
        lines = [f"{name:12}{getattr(self, name) / 2**20:12.2f} MiB" for name in names]
        what = "training" if self.is_train else "prediction"
        return "\n".join([f"memory for {what}, strategy {self.strategy!r}", *lines])


def estimate_memory(
    symbol: Bindable,
    is_train: bool = False,
    strategy: str = "both",
    type_dict: Mapping[str, DTypeLike] | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    **kwargs: object,
) -> MemoryEstimate:
    """Tells how much memory it takes to run once, before anything is allocated or run.

    What is computed on the way is planned as an engine would that runs node by node:
    'naive' gives each result memory of its own, 'inplace' lets operators write over inputs
    that nobody needs any more, 'co-share' gives the memory of dead results to later ones,
    'both' does both. 'xla' compiles the program, which may take minutes, and tells what XLA
    allocates. ``MXNET_BACKWARD_DO_MIRROR=1`` counts as it does in training.

    Args:
        is_train: whether gradients are computed too.
        strategy: how memory is shared.
        type_dict: dtypes by name; the rest follow, or are float32.
        grad_req: which gradients are computed in training, as for `simple_bind`.
        kwargs: shapes by name, as for `simple_bind`.

    Returns:
        Bytes of arguments, auxiliary states, gradients, outputs and internal results;
        ``print`` shows them.

    Raises:
        ParameterError: there is no such strategy.
        MXNetError: the shapes do not tell all others, or contradict one another.
    """
    what = "estimate_memory"
    if strategy not in (*STRATEGIES, _XLA):
        raise ParameterError(
            f"{what}: strategy must be {', '.join(map(repr, STRATEGIES))} or {_XLA!r}, got "
            f"{strategy!r}"
        )
    programs, run, by_name, wanted = _prepared(what, symbol, is_train, type_dict, grad_req, kwargs)
    types = tuple(by_name[name] for name in symbol.list_inputs())
    auxiliary = sum(by_name[name].nbytes for name in symbol.list_auxiliary_states())
    return MemoryEstimate(
        strategy=strategy,
        is_train=is_train,
        arguments=sum(type_.nbytes for type_ in types) - auxiliary,
        auxiliary=auxiliary,
        gradients=sum(types[number].nbytes for number in wanted),
        outputs=sum(type_.nbytes for type_ in run.call.output_types[: programs.num_outputs]),
        internal=_internal(run, types, strategy),
    )


def plan_memory(
    symbol: Bindable,
    is_train: bool = False,
    strategy: str = "both",
    type_dict: Mapping[str, DTypeLike] | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    **kwargs: object,
) -> PlannedGraph:
    """Returns the plan that `estimate_memory` counts the internal results of.

    Args:
        symbol: the network.
        is_train, strategy, type_dict, grad_req, kwargs: see there; there is no plan of 'xla'.

    Raises:
        ParameterError: there is no such strategy.
        MXNetError: the shapes do not tell all others, or contradict one another.
    """
    _, run, by_name, _ = _prepared("plan_memory", symbol, is_train, type_dict, grad_req, kwargs)
    types = tuple(by_name[name] for name in symbol.list_inputs())
    return planned(run, (*types, STATE) if run.draws else types, strategy)


def _prepared(
    what: str,
    symbol: Bindable,
    is_train: bool,
    type_dict: Mapping[str, DTypeLike] | None,
    grad_req: str | Sequence[str] | Mapping[str, str],
    shapes: Mapping[str, object],
) -> tuple[GraphPrograms, Run, dict[str, TensorType], tuple[int, ...]]:
    """Returns programs, a run, the types of inputs by name, and which inputs get gradients."""
    requests = requests_of(what, symbol.list_arguments(), grad_req)
    known = all_types(what, symbol, shapes, type_dict or {})
    by_name = {name: tensor_type(*value) for name, value in known.items()}
    names = symbol.list_inputs()
    types = tuple(by_name[name] for name in names)
    wanted = tuple(
        number
        for number, name in enumerate(names)
        if is_train and requests.get(name, "null") != "null" and is_float(types[number].dtype)
    )
    programs = GraphPrograms(symbol.graph, symbol.name or "group")
    run = programs.training(types, wanted) if is_train else programs.inference(types)
    return programs, run, by_name, wanted


def _internal(run: Run, types: Types, strategy: str) -> int:
    types = (*types, STATE) if run.draws else types
    call = run.call
    if strategy == _XLA:
        if call.on_host:
            raise MXNetError(
                "estimate_memory: strategy 'xla' needs a program, but a custom operator in the "
                "symbol runs on the host; take 'both'"
            )
        return allocation_of(run, types, current_context()).temporary
    return planned(run, types, strategy).plan.num_bytes

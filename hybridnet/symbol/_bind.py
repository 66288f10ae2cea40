"""Binding: from the arguments of `Symbol.bind` and `simple_bind` to an executor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hybridnet.base.context import Context
from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import GraphError, MXNetError, ParameterError, ShapeError
from hybridnet.executor import Executor
from hybridnet.graph.node import Edge
from hybridnet.graph.shapes import is_known
from hybridnet.ndarray import NDArray, zeros
from hybridnet.runtime.graph_programs import GraphPrograms

from . import _infer

if TYPE_CHECKING:
    from .symbol import Symbol

__all__ = ["all_types", "bind", "requests_of", "simple_bind"]

_REQUESTS = ("write", "add", "null")


def bind(
    symbol: Symbol,
    ctx: Context,
    args: Any,
    args_grad: Any,
    grad_req: Any,
    aux_states: Any,
    group2ctx: Mapping[str, Context] | None,
) -> Executor:
    """Makes an executor from arrays; see `Symbol.bind`."""
    _check_placement("bind", ctx, group2ctx)
    names = symbol.list_arguments()
    _check_names("bind", symbol.list_inputs())
    given = _by_name("args", names, args, ctx)
    states = _by_name("aux_states", symbol.list_auxiliary_states(), aux_states, ctx)
    requests = requests_of("bind", names, grad_req)
    grads: dict[str, NDArray | None] = dict.fromkeys(names)
    if args_grad is not None:
        grads |= _by_name("args_grad", names, args_grad, ctx, partial=True)
    for name, grad in grads.items():
        if grad is None:
            requests[name] = "null"
        elif grad.shape != given[name].shape:
            raise ShapeError(
                f"bind: args_grad[{name!r}] must have the shape {given[name].shape} of its "
                f"argument, got {grad.shape}"
            )
    return Executor(symbol, ctx, given, grads, requests, states, _programs(symbol))


def simple_bind(
    symbol: Symbol,
    ctx: Context,
    grad_req: Any,
    type_dict: Mapping[str, Any] | None,
    stype_dict: Mapping[str, str] | None,
    group2ctx: Mapping[str, Context] | None,
    shared_arg_names: Sequence[str] | None,
    shared_exec: Executor | None,
    shared_buffer: dict[str, Any] | None,
    shapes: Mapping[str, Any],
) -> Executor:
    """Makes an executor with arrays of its own; see `Symbol.simple_bind`."""
    _check_placement("simple_bind", ctx, group2ctx)
    for name, stype in (stype_dict or {}).items():
        if stype != "default":
            raise ParameterError(
                f"simple_bind: the storage type of {name} must be 'default', got {stype!r}"
            )
    names, aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
    _check_names("simple_bind", symbol.list_inputs())
    requests = requests_of("simple_bind", names, grad_req)
    types = all_types("simple_bind", symbol, shapes, type_dict or {})
    args: dict[str, NDArray] = {}
    grads: dict[str, NDArray | None] = {}
    for name in names:
        shape, dtype = types[name]
        if name in (shared_arg_names or ()) and shared_exec is not None:
            args[name] = _shared(name, shape, shared_exec)
            grads[name] = shared_exec.grad_dict[name]
        else:
            args[name] = _buffered(name, shape, dtype, ctx, shared_buffer)
            grads[name] = None
        if requests[name] == "null":
            grads[name] = None
        elif grads[name] is None:
            grads[name] = zeros(shape, ctx, dtype)
    aux = {name: _aux_state(name, *types[name], ctx, shared_exec) for name in aux_names}
    return Executor(symbol, ctx, args, grads, requests, aux, _programs(symbol))


def all_types(
    what: str, symbol: Symbol, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]
) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Returns shape and dtype of every argument and auxiliary state.

    Raises:
        MXNetError: a shape cannot be told.
    """
    graph = symbol.graph
    known_dtypes = _infer.inferred_dtypes(graph, dtypes, FLOAT32)
    known = _infer.inferred_shapes(graph, shapes, known_dtypes)
    missing = [node.name for node in graph.inputs if not is_known(known[Edge(node, 0)])]
    if missing:
        raise MXNetError(
            f"{what}: the shapes of {', '.join(missing)} cannot be told from "
            f"{dict(shapes) or 'none given'}; give more: {what}(..., {missing[0]}=(...))"
        )
    return {
        node.name: (known[Edge(node, 0)] or (), known_dtypes[Edge(node, 0)])
        for node in graph.inputs
    }


def _programs(symbol: Symbol) -> GraphPrograms:
    if symbol._programs is None:
        symbol._programs = GraphPrograms(symbol.graph, symbol.name or "group")
    programs: GraphPrograms = symbol._programs
    return programs


def _check_names(what: str, names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise GraphError(
            f"{what}: every variable needs a name of its own, but there are several variables "
            f"named {', '.join(repeated)}; use one variable, or another name"
        )


def _check_placement(what: str, ctx: Any, group2ctx: Mapping[str, Context] | None) -> None:
    if not isinstance(ctx, Context):
        raise ParameterError(f"{what}: ctx must be a Context such as cpu(0), got {ctx!r}")
    elsewhere = {group: one for group, one in (group2ctx or {}).items() if one is not ctx}
    if elsewhere:
        raise MXNetError(
            f"{what}: a symbol runs on one device, here {ctx}, but group2ctx places "
            f"{', '.join(f'{group} on {one}' for group, one in elsewhere.items())}"
        )


def _by_name(
    what: str, names: Sequence[str], given: Any, ctx: Context, partial: bool = False
) -> dict[str, NDArray]:
    """Returns arrays by name, from a list in order or a dict.

    Args:
        what: the parameter, for messages.
        names: the names wanted.
        given: what the user gave.
        ctx: where the arrays must be.
        partial: whether a dict may lack some, and a list hold None.
    """
    if isinstance(given, Mapping):
        found = {name: given[name] for name in names if given.get(name) is not None}
    elif isinstance(given, (list, tuple)) or given is None:
        listed = given or ()
        if len(listed) != len(names):
            raise ParameterError(
                f"bind: {what} must hold {len(names)} arrays, for {', '.join(names)}, got "
                f"{len(listed)}"
            )
        found = {n: one for n, one in zip(names, listed, strict=True) if one is not None}
    else:
        raise ParameterError(
            f"bind: {what} must be a list of NDArrays or a dict, got {type(given).__name__}"
        )
    missing = [name for name in names if name not in found]
    if missing and not partial:
        raise ParameterError(f"bind: {', '.join(missing)} is missing in {what}")
    for name, one in found.items():
        if not isinstance(one, NDArray):
            raise ParameterError(
                f"bind: {what}[{name!r}] must be an NDArray, got {type(one).__name__}"
            )
        if one.context is not ctx:
            raise ParameterError(
                f"bind: {what}[{name!r}] must be on {ctx}, got {one.context}; use as_in_context"
            )
    return found


def requests_of(what: str, names: Sequence[str], grad_req: Any) -> dict[str, str]:
    """Returns 'write', 'add' or 'null' for each argument."""
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        requests = {name: grad_req.get(name, "null") for name in names}
    else:
        listed = list(grad_req)
        if len(listed) != len(names):
            raise ParameterError(
                f"{what}: grad_req must hold {len(names)} entries, for {', '.join(names)}, got "
                f"{len(listed)}"
            )
        requests = dict(zip(names, listed, strict=True))
    for name, request in requests.items():
        if request not in _REQUESTS:
            raise ParameterError(
                f"{what}: grad_req of {name} must be 'write', 'add' or 'null', got {request!r}"
            )
    return requests


def _shared(name: str, shape: tuple[int, ...], source: Executor) -> NDArray:
    found = source.arg_dict.get(name)
    if found is None or found.shape != shape:
        got = "no such argument" if found is None else f"shape {found.shape}"
        raise ShapeError(f"simple_bind: {name} must have shape {shape} in shared_exec, got {got}")
    return found


def _buffered(
    name: str, shape: tuple[int, ...], dtype: Any, ctx: Context, buffer: dict[str, Any] | None
) -> NDArray:
    if buffer is None:
        return zeros(shape, ctx, dtype)
    found = buffer.get(name)
    if found is None or (found.shape, found.inferred_dtype, found.context) != (shape, dtype, ctx):
        found = buffer[name] = zeros(shape, ctx, dtype)
    kept: NDArray = found
    return kept


def _aux_state(
    name: str, shape: tuple[int, ...], dtype: Any, ctx: Context, source: Executor | None
) -> NDArray:
    found = None if source is None else source.aux_dict.get(name)
    if found is None or (found.shape, found.inferred_dtype, found.context) != (shape, dtype, ctx):
        return zeros(shape, ctx, dtype)
    return found

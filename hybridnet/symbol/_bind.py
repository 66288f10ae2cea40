"""Binding: `Symbol.bind` and `Symbol.simple_bind`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from hybridnet import engine
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import GraphError, MXNetError, ParameterError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.executor import Executor
from hybridnet.executor.bound import Bound
from hybridnet.graph import Edge, is_known
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import storage_type, zeros_of
from hybridnet.runtime.calls import GraphPrograms

from . import _infer
from ._place import Contexts, Places, check_contexts, places_of
from ._storage import CODE_OF_STYPE, STYPE_OF_CODE

_REQUESTS = ("write", "add", "null")


class Bindable(Bound, Protocol):
    """The part of a symbol that binding uses; symbols import this file."""

    #: What executors have compiled for this graph.
    _programs: GraphPrograms | None

    def list_arguments(self) -> list[str]:
        """Returns the names of the variables that are no auxiliary states."""

    def list_auxiliary_states(self) -> list[str]:
        """Returns the names of the auxiliary states."""


def bind(
    self: Bindable,
    /,
    ctx: Contexts,
    args: Sequence[NDArray] | Mapping[str, NDArray] | None,
    args_grad: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    aux_states: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """Returns an executor that computes with these arrays.

    Args:
        ctx: where; several contexts are those among which nodes are placed by their cost.
        args: the arguments: NDArrays in order, or by name.
        args_grad: arrays that `backward` writes gradients to: in order, or by name, where
            some may be missing.
        grad_req: 'write', 'add' or 'null', for all, for each in order, or by name.
        aux_states: the auxiliary states, as `args`.
        group2ctx: ``ctx_group`` -> context, where the nodes with this attribute run and the
            arrays of variables with it must be. `hn.device` scopes win over it.
        shared_exec: without meaning here: memory is XLA's affair.

    Raises:
        ParameterError: an array is missing, or on another context.
        GraphError: a node is to run on a device that is not there, or has no kernel for it.
        ShapeError, DTypeError: the arrays do not fit; the message names the node.
    """
    check_contexts("bind", ctx, group2ctx)
    names, aux_names = self.list_arguments(), self.list_auxiliary_states()
    _check_names("bind", self.list_inputs())
    given = _by_name(self, "args", names, args)
    states = _by_name(self, "aux_states", aux_names, aux_states)
    held = {**given, **states}
    graph = self.graph
    places = places_of(
        graph,
        ctx,
        group2ctx,
        lambda: [held[node.name].type for node in graph.inputs],
        {name: value.context.computes_on for name, value in held.items()},
    )
    _check_contexts("args", given, places)
    _check_contexts("aux_states", states, places)
    requests = requests_of("bind", names, grad_req)
    grads: dict[str, NDArray | None] = dict.fromkeys(names)
    if args_grad is not None:
        found = _by_name(self, "args_grad", names, args_grad, partial=True)
        _check_contexts("args_grad", found, places)
        grads |= found
    for name, grad in grads.items():
        if grad is None:
            requests[name] = "null"
        elif grad.shape != given[name].shape:
            raise ShapeError(
                f"bind: args_grad[{name!r}] must have the shape {given[name].shape} of its "
                f"argument, got {grad.shape}"
            )
    programs = _programs(self, places)
    return Executor(self, places.ctx, given, grads, requests, states, programs, places.devices)


def simple_bind(
    self: Bindable,
    /,
    ctx: Contexts,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    type_dict: Mapping[str, DTypeLike] | None = None,
    stype_dict: Mapping[str, str] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_arg_names: Sequence[str] | None = None,
    shared_exec: Executor | None = None,
    shared_buffer: dict[str, NDArray] | None = None,
    **kwargs: object,
) -> Executor:
    """Returns an executor with arrays of its own, of the shapes that follow from some.

    All arrays are zeros at first. Shapes of names that the symbol does not have are ignored,
    as in MXNet, so that labels can be given to a network without loss.

    Args:
        ctx: as for `bind`.
        grad_req: as for `bind`; names left out of a dict get 'null'.
        type_dict: dtypes by name; the rest follow, or are float32.
        stype_dict: storage types by name: 'csr', 'row_sparse' or 'default'; of the others
            variables may say theirs (``var("x", stype="csr")``). The gradient of a row-sparse
            argument is row-sparse, too.
        group2ctx: as for `bind`.
        shared_arg_names: arguments whose arrays are those of `shared_exec`.
        shared_exec: where they, and auxiliary states of the same type, come from.
        shared_buffer: arrays by name to use for the other arguments where they fit; new
            arrays are added to it.
        kwargs: shapes by name.

    Raises:
        MXNetError: the shapes do not tell all others, or contradict one another.
    """
    check_contexts("simple_bind", ctx, group2ctx)
    stypes = _storage_types(self, stype_dict or {})
    names, aux_names = self.list_arguments(), self.list_auxiliary_states()
    _check_names("simple_bind", self.list_inputs())
    requests = requests_of("simple_bind", names, grad_req)
    types = all_types("simple_bind", self, kwargs, type_dict or {})
    graph = self.graph
    places = places_of(
        graph,
        ctx,
        group2ctx,
        lambda: [tensor_type(*types[node.name]) for node in graph.inputs],
    )
    where = places.contexts
    args: dict[str, NDArray] = {}
    grads: dict[str, NDArray | None] = {}
    for name in names:
        shape, dtype = types[name]
        shared = name in (shared_arg_names or ())
        grads[name] = None
        if shared and shared_exec is not None:
            args[name] = _shared(name, shape, shared_exec)
            grads[name] = shared_exec.grad_dict[name]
        else:
            buffer = None if shared else shared_buffer
            args[name] = _buffered(name, shape, dtype, where[name], buffer, stypes.get(name))
        if requests[name] == "null":
            grads[name] = None
        elif grads[name] is None:
            stype = args[name].stype
            kept = stype if stype == "row_sparse" else None
            grads[name] = _zeros(shape, args[name].context, dtype, kept)
    aux = {name: _aux_state(name, *types[name], where[name], shared_exec) for name in aux_names}
    programs = _programs(self, places)
    return Executor(self, places.ctx, args, grads, requests, aux, programs, places.devices)


def all_types(
    what: str, symbol: Bindable, shapes: Mapping[str, object], dtypes: Mapping[str, object]
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


def _programs(symbol: Bindable, places: Places) -> GraphPrograms:
    if places.devices is not None:
        return GraphPrograms(symbol.graph, symbol.name or "group", (), places.devices)
    if symbol._programs is None:
        symbol._programs = GraphPrograms(symbol.graph, symbol.name or "group")
    return symbol._programs


def _check_names(what: str, names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise GraphError(
            f"{what}: every variable needs a name of its own, but there are several variables "
            f"named {', '.join(repeated)}; use one variable, or another name"
        )


def _check_contexts(what: str, arrays: Mapping[str, NDArray], places: Places) -> None:
    for name, array in arrays.items():
        if array.context.computes_on is not places.contexts[name].computes_on:
            raise ParameterError(
                f"bind: {what}[{name!r}] must be on {places.contexts[name]}, got {array.context}; "
                "use as_in_context"
            )


def _made_at(symbol: Bindable, names: Sequence[str]) -> str:
    """Returns, for messages, the user's lines that made some variables."""
    made = [engine.resolve_origin(x.origin) for x in symbol.graph.inputs if x.name in names]
    lines = dict.fromkeys(f"{value[0]}:{value[1]}" for value in made if value is not None)
    return f"; its variable was made at {', '.join(lines)}" if lines else ""


def _by_name(
    symbol: Bindable, what: str, names: Sequence[str], given: object, partial: bool = False
) -> dict[str, NDArray]:
    """Returns arrays by name, from a list in order or a dict.

    Args:
        what: the parameter, for messages.
        names: the names wanted.
        given: what the user gave.
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
        found = {n: item for n, item in zip(names, listed, strict=True) if item is not None}
    else:
        raise ParameterError(
            f"bind: {what} must be a list of NDArrays or a dict, got {type(given).__name__}"
        )
    missing = [name for name in names if name not in found]
    if missing and not partial:
        made = _made_at(symbol, missing)
        raise ParameterError(f"bind: {', '.join(missing)} is missing in {what}{made}")
    for name, value in found.items():
        if not isinstance(value, NDArray):
            raise ParameterError(
                f"bind: {what}[{name!r}] must be an NDArray, got {type(value).__name__}"
            )
    return found


def requests_of(
    what: str, names: Sequence[str], grad_req: str | Sequence[str] | Mapping[str, str]
) -> dict[str, str]:
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


def _storage_types(symbol: Bindable, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the storage types of the variables that are not dense."""
    found = {}
    for node in symbol.graph.inputs:
        code = node.attrs.get("__storage_type__")
        stype = given.get(node.name) or STYPE_OF_CODE.get(code or "0", "default")
        if stype not in CODE_OF_STYPE:
            raise ParameterError(
                f"simple_bind: the storage type of {node.name} must be one of "
                f"{', '.join(CODE_OF_STYPE)}, got {stype!r}"
            )
        if stype != "default":
            found[node.name] = stype
    return found


def _zeros(shape: tuple[int, ...], ctx: Context, dtype: DTypeLike, stype: str | None) -> NDArray:
    """Returns zeros of a storage type; None: a dense array."""
    if stype is None:
        return zeros_of(shape, ctx, dtype)
    made: NDArray = storage_type(stype, "simple_bind").zeros(shape, ctx, dtype)
    return made


def _buffered(
    name: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    ctx: Context,
    buffer: dict[str, NDArray] | None,
    stype: str | None,
) -> NDArray:
    if buffer is None or stype is not None:
        return _zeros(shape, ctx, dtype, stype)
    found = buffer.get(name)
    if found is None or (found.shape, found.inferred_dtype, found.context) != (shape, dtype, ctx):
        found = buffer[name] = zeros_of(shape, ctx, dtype)
    kept: NDArray = found
    return kept


def _aux_state(
    name: str, shape: tuple[int, ...], dtype: DTypeLike, ctx: Context, source: Executor | None
) -> NDArray:
    found = None if source is None else source.aux_dict.get(name)
    if found is None or (found.shape, found.inferred_dtype, found.context) != (shape, dtype, ctx):
        return zeros_of(shape, ctx, dtype)
    return found

"""Checks of symbols: outputs and gradients against expected ones, numeric ones, and each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from hybridnet import symbol as sym_api
from hybridnet.base.array_types import DTypeLike, NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.executor import Executor
from hybridnet.ndarray import NDArray, array
from hybridnet.symbol import Symbol

from .compare import Given, assert_almost_equal
from .defaults import (
    Tolerance,
    default_context,
    default_numeric_eps,
    get_tolerance,
)

__all__ = [
    "check_numeric_gradient",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "numeric_grad",
    "same_symbol_structure",
    "simple_forward",
]

#: Arrays in order, or by name.
GivenByName: TypeAlias = Sequence[Given] | Mapping[str, Given]
_FLOATS = (np.float16, np.float32, np.float64)
_PROJECTION = "__random_proj"


def simple_forward(
    sym: Symbol, ctx: Context | None = None, is_train: bool = False, **inputs: Given
) -> Any:
    """Computes a symbol of arrays given by name.

    Returns:
        The output as a NumPy array; a list of them where there are several.
    """
    arrays = {name: array(value) for name, value in inputs.items()}
    executor = sym.bind(ctx or default_context(), args=arrays)
    executor.forward(is_train=is_train)
    outputs = [output.asnumpy() for output in executor.outputs]
    return outputs[0] if len(outputs) == 1 else outputs


def _check_dtype(where: str, dtype: DTypeLike, numpy_too: bool = False) -> None:
    if dtype in _FLOATS or (numpy_too and isinstance(dtype, str) and dtype == "asnumpy"):
        return
    also = " or 'asnumpy'" if numpy_too else ""
    raise ParameterError(f"{where}: dtype must be a floating NumPy type{also}, got {dtype!r}")


def _by_name(
    where: str, names: Sequence[str], given: GivenByName, ctx: Context, dtype: DTypeLike
) -> dict[str, NDArray]:
    """Returns arrays by name, of arrays in order or by name; NumPy's become ours."""
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ValueError(f"{where}: requires arrays named {sorted(names)}, got {sorted(given)}")
        chosen = dict(given)
    else:
        if len(given) != len(names):
            raise ValueError(
                f"{where}: requires {len(names)} arrays {list(names)}, got {len(given)}"
            )
        chosen = dict(zip(names, given, strict=True))
    return {name: _as_array(value, ctx, dtype) for name, value in chosen.items()}


def _as_array(value: Given, ctx: Context, dtype: DTypeLike) -> NDArray:
    if isinstance(value, NDArray):
        return value
    host = np.asarray(value)
    return array(host, ctx, host.dtype if isinstance(dtype, str) else dtype)


def _bindable(
    where: str,
    sym: Symbol,
    location: GivenByName,
    aux_states: GivenByName | None,
    ctx: Context,
    dtype: DTypeLike,
) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Returns a symbol's arguments and its auxiliary states, by name."""
    arrays = _by_name(where, sym.list_arguments(), location, ctx, dtype)
    return arrays, _by_name(where, sym.list_auxiliary_states(), aux_states or {}, ctx, dtype)


def _expected_by_name(names: Sequence[str], expected: GivenByName) -> dict[str, Any]:
    if isinstance(expected, Mapping):
        return dict(expected)
    return dict(zip(names, expected, strict=False))


def _requests(
    names: Sequence[str], grad_req: str | Sequence[str] | Mapping[str, str]
) -> dict[str, str]:
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, Mapping):
        return {name: grad_req.get(name, "null") for name in names}
    return dict(zip(names, grad_req, strict=True))


def numeric_grad(
    executor: Executor,
    location: dict[str, NumpyArray],
    aux_states: Mapping[str, Given] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: DTypeLike = np.float32,
) -> dict[str, NumpyArray]:
    """Differentiates the sum of an executor's first output by central differences.

    Args:
        executor: computes the output; its arrays are overwritten.
        location: NumPy arrays by name; whole-number ones are not differentiated by.
        aux_states: what the auxiliary states are set to before each pass.
        eps: the distance of the two points.
        use_forward_train: whether passes are training passes.
        dtype: of the gradients.

    Returns:
        The gradient by each array, by name.
    """
    _check_dtype("numeric_grad", dtype)

    def total() -> float:
        for name, value in (aux_states or {}).items():
            executor.aux_dict[name][:] = value
        executor.forward(is_train=use_forward_train)
        return float(executor.outputs[0].asnumpy().astype(np.float64).sum())

    for name, value in location.items():
        executor.arg_dict[name][:] = value
    before = total()
    grads = _differences(executor, location, total, eps, dtype)
    # Meanwhile NumPy may have handed the program over to XLA, which rounds differently: two points
    # of which each had one would differ by that. It does so once.
    if total() != before:
        grads = _differences(executor, location, total, eps, dtype)
    return grads


def _differences(
    executor: Executor,
    location: Mapping[str, NumpyArray],
    total: Callable[[], float],
    eps: float,
    dtype: DTypeLike,
) -> dict[str, NumpyArray]:
    """Returns the central differences of a total by each element of an executor's arguments."""
    grads = {name: np.zeros(np.shape(value), dtype) for name, value in location.items()}
    for name, value in location.items():
        start = np.array(value)
        if start.dtype.kind != "f":
            continue
        moved = start.copy()
        for place in np.ndindex(start.shape):
            sums = []
            for step in (eps / 2, -eps / 2):
                moved[place] = start[place] + step
                executor.arg_dict[name][:] = moved
                sums.append(total())
            moved[place] = start[place]
            grads[name][place] = (sums[0] - sums[1]) / eps
        executor.arg_dict[name][:] = start
    return grads


def check_numeric_gradient(
    sym: Symbol,
    location: GivenByName,
    aux_states: GivenByName | None = None,
    numeric_eps: Tolerance = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Sequence[str] | Mapping[str, str] | None = None,
    use_forward_train: bool = True,
    ctx: Context | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: DTypeLike = np.float32,
) -> None:
    """Compares a symbol's gradients with numeric ones, along a random direction of its output.

    Args:
        sym: a symbol with one output.
        location: arrays in the order of ``sym.list_arguments()``, or by name.
        aux_states: the auxiliary states, likewise.
        numeric_eps: the step; default by dtype, see `default_numeric_eps`.
        rtol, atol: as for `assert_almost_equal`.
        grad_nodes: names of the arguments whose gradients are compared, or their ``grad_req`` by
            name; default all.
        use_forward_train: whether the numeric passes are training passes.
        ctx: where; default the default context.
        grad_stype_dict: storage types of gradients by name; gradients are compared dense.
        dtype: of the arrays.

    Raises:
        AssertionError: a gradient differs.
        ValueError: arrays are missing, or names are unknown.
    """
    where = "check_numeric_gradient"
    _check_dtype(where, dtype)
    ctx = ctx or default_context()
    arrays, states = _bindable(where, sym, location, aux_states, ctx, dtype)
    requests = (
        dict(grad_nodes)
        if isinstance(grad_nodes, Mapping)
        else dict.fromkeys(sym.list_arguments() if grad_nodes is None else grad_nodes, "write")
    )
    host = {name: value.asnumpy() for name, value in arrays.items()}
    _, (shape, *_), _ = sym.infer_shape(**{name: value.shape for name, value in arrays.items()})
    # Weights with no small ones among them, so that every part of the output counts.
    arrays[_PROJECTION] = array(np.random.rand(*shape) + 0.1, ctx, dtype)
    before = {name: np.asarray(np.random.normal(size=host[name].shape)) for name in requests}
    before[_PROJECTION] = np.asarray(np.random.normal(size=shape))
    projected = sym_api.MakeLoss(sym * sym_api.var(_PROJECTION))
    executor = projected.bind(
        ctx,
        arrays,
        args_grad={name: array(value, ctx, dtype) for name, value in before.items()},
        grad_req={**requests, _PROJECTION: "write"},
        aux_states=states,
    )
    kept = {name: value.asnumpy() for name, value in states.items()}
    executor.forward(is_train=True)
    eps = get_tolerance(executor.outputs[0], numeric_eps, default_numeric_eps())
    executor.backward()
    grads = {name: grad for name, grad in executor.grad_dict.items() if grad is not None}
    found = {name: grads[name].asnumpy() for name in requests}
    wanted = numeric_grad(executor, host, kept, eps, use_forward_train, dtype)
    for name, request in requests.items():
        _compare(where, name, request, wanted[name], found[name], before[name], rtol, atol)


def _compare(
    where: str,
    name: str,
    request: str,
    expected: NumpyArray,
    found: NumpyArray,
    before: NumpyArray,
    rtol: Tolerance,
    atol: Tolerance,
    equal_nan: bool = False,
) -> None:
    """Compares a gradient array with what `backward` must have made of it, by its request."""
    if request == "add":
        found = np.asarray(found - before, found.dtype)
    elif request == "null":
        expected = before
    elif request != "write":
        raise ValueError(f"{where}: grad_req must be write, add or null, got {request!r}")
    labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
    assert_almost_equal(expected, found, rtol, atol, labels, equal_nan=equal_nan)


def check_symbolic_forward(
    sym: Symbol,
    location: GivenByName,
    expected: GivenByName,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: GivenByName | None = None,
    ctx: Context | None = None,
    equal_nan: bool = False,
    dtype: DTypeLike = np.float32,
) -> list[NDArray]:
    """Compares a symbol's outputs with expected ones.

    Args:
        sym: the symbol.
        location: arrays in the order of ``sym.list_arguments()``, or by name.
        expected: the outputs, in order or by name.
        rtol, atol, equal_nan: as for `assert_almost_equal`.
        aux_states: the auxiliary states, as `location`.
        ctx: where; default the default context.
        dtype: of the arrays; 'asnumpy': each has its own.

    Returns:
        The outputs.

    Raises:
        AssertionError: an output differs.
        ValueError: arrays are missing, or names are unknown.
    """
    where = "check_symbolic_forward"
    _check_dtype(where, dtype, numpy_too=True)
    ctx = ctx or default_context()
    arrays, states = _bindable(where, sym, location, aux_states, ctx, dtype)
    executor = sym.bind(ctx, arrays, aux_states=states)
    executor.forward(is_train=False)
    names = sym.list_outputs()
    for name, output in zip(names, executor.outputs, strict=True):
        wanted = _expected_by_name(names, expected)
        if name in wanted:
            labels = (f"EXPECTED_{name}", f"FORWARD_{name}")
            assert_almost_equal(wanted[name], output, rtol, atol, labels, equal_nan=equal_nan)
    return executor.outputs


def check_symbolic_backward(
    sym: Symbol,
    location: GivenByName,
    out_grads: GivenByName,
    expected: GivenByName,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: GivenByName | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ctx: Context | None = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: DTypeLike = np.float32,
) -> dict[str, NDArray]:
    """Compares a symbol's gradients with expected ones.

    The gradient arrays hold random numbers at first, so that 'write', 'add' and 'null' are told
    apart.

    Args:
        sym: the symbol.
        location, rtol, atol, aux_states, ctx, equal_nan, dtype: as for `check_symbolic_forward`.
        out_grads: the gradients of the outputs, in order or by name; None for a loss.
        expected: the gradients of the arguments, in order or by name.
        grad_req: for all, for each in order, or by name.
        grad_stypes: storage types of gradients by name; gradients are compared dense.

    Returns:
        The gradient arrays by name.

    Raises:
        AssertionError: a gradient differs.
        ValueError: arrays are missing, or names are unknown.
    """
    where = "check_symbolic_backward"
    _check_dtype(where, dtype, numpy_too=True)
    ctx = ctx or default_context()
    names = sym.list_arguments()
    arrays, states = _bindable(where, sym, location, aux_states, ctx, dtype)
    wanted = _expected_by_name(names, expected)
    grads = {}
    for name, value in wanted.items():
        values = np.random.normal(size=np.shape(value))
        grads[name] = array(values, ctx, value.dtype if isinstance(dtype, str) else dtype)
    before = {name: value.asnumpy() for name, value in grads.items()}
    requests = _requests(names, grad_req)
    executor = sym.bind(ctx, arrays, args_grad=grads, grad_req=requests, aux_states=states)
    executor.forward(is_train=True)
    if isinstance(out_grads, Mapping):
        out_grads = [out_grads[name] for name in sym.list_outputs()]
    if out_grads is not None:
        out_grads = [_as_array(grad, ctx, dtype) for grad in out_grads]
    executor.backward(out_grads)
    for name, value in wanted.items():
        found = grads[name].asnumpy()
        request = requests[name]
        _compare(where, name, request, value, found, before[name], rtol, atol, equal_nan)
    return grads


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols have the same operators at the same places of their saved graphs."""
    first, second = (
        [node["op"] for node in json.loads(sym.tojson())["nodes"]] for sym in (sym1, sym2)
    )
    return first == second

"""Checks that one network computes the same in several ways: dtypes, devices, hybridized or not."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hybridnet import autograd
from hybridnet.base.array_types import DTypeLike, NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.executor import Executor
from hybridnet.gluon import HybridBlock
from hybridnet.initializer import Initializer
from hybridnet.ndarray import NDArray, array, random
from hybridnet.optimizer import Optimizer
from hybridnet.symbol import Symbol

from .arrays import rand_ndarray
from .compare import assert_almost_equal, compare_ndarray_tuple
from .defaults import Tolerance, default_context, get_tols

__all__ = ["check_consistency", "check_gluon_hybridize_consistency", "compare_optimizer"]


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    arg_params: dict[str, NumpyArray] | None = None,
    aux_params: dict[str, NumpyArray] | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: dict[str, NumpyArray] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: DTypeLike = np.float64,
) -> dict[str, Any]:
    """Compares a symbol's outputs and gradients between contexts and dtypes.

    Args:
        sym: a symbol, or one for each context, with the same names.
        ctx_list: what each is bound with by ``simple_bind``: 'ctx', shapes by name, 'type_dict'.
        scale: the standard deviation of the random arguments.
        grad_req: as for ``simple_bind``.
        arg_params: arguments by name, for those that shall not be random.
        aux_params: auxiliary states by name; zeros by default.
        rtol, atol, equal_nan: as for `assert_almost_equal`.
        raise_on_err: whether a difference is raised, or printed.
        ground_truth: outputs and gradients by name to compare with; default those of the first
            context whose first output has the most precise dtype.
        use_uniform: whether random arguments are uniform and not normal.
        rand_type: what random arguments are rounded to before all get them.

    Returns:
        What was compared with, by name.

    Raises:
        AssertionError: something differs, and `raise_on_err`.
    """
    if len(ctx_list) < 2:
        raise ParameterError(
            f"check_consistency: requires at least 2 contexts to compare, got {len(ctx_list)}"
        )
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    names = symbols[0].list_arguments(), symbols[0].list_outputs()
    if any((symbol.list_arguments(), symbol.list_outputs()) != names for symbol in symbols):
        raise ParameterError("check_consistency: all symbols must have the same names")
    executors = [
        symbol.simple_bind(grad_req=grad_req, **given)
        for symbol, given in zip(symbols, ctx_list, strict=True)
    ]
    _fill(executors, arg_params, aux_params, scale, use_uniform, rand_type)
    dtypes = [np.dtype(executor.outputs[0].dtype) for executor in _forward(executors, False)]
    best = int(np.argmax([_precision(dtype) for dtype in dtypes]))

    def compare(kind: str, found: list[dict[str, Any]], truth: Mapping[str, Any]) -> None:
        for index, values in enumerate(found):
            if index == best and ground_truth is None:
                continue
            for name, value in values.items():
                if value is None or truth.get(name) is None:
                    continue
                least = min((dtypes[index], dtypes[best]), key=_precision)
                tols = _tols(value, truth[name], least, rtol, atol)
                labels = f"{kind} {name} of context {index}", f"of context {best}"
                try:
                    assert_almost_equal(value, truth[name], *tols, labels, equal_nan=equal_nan)
                except AssertionError as error:
                    if raise_on_err:
                        raise
                    print(error)

    found = [_hosts(executor.output_dict) for executor in executors]
    truth = dict(found[best] if ground_truth is None else ground_truth)
    compare("predict", found, truth)
    if grad_req != "null":
        _train(executors, dtypes)
        found = [_hosts({**executor.output_dict, **executor.grad_dict}) for executor in executors]
        truth = dict(found[best] if ground_truth is None else ground_truth)
        compare("train", found, truth)
    return truth


def _precision(dtype: np.dtype[np.generic]) -> int:
    return dtype.itemsize


def _forward(executors: Sequence[Executor], train: bool) -> Sequence[Executor]:
    for executor in executors:
        executor.forward(is_train=train)
    return executors


def _train(executors: Sequence[Executor], dtypes: Sequence[np.dtype[np.generic]]) -> None:
    """Runs a training pass of each, with the first one's outputs as gradients of the outputs."""
    _forward(executors, True)
    least = min(dtypes, key=_precision)
    heads = [output.asnumpy().astype(least) for output in executors[0].outputs]
    for executor in executors:
        grads = [
            array(head, output.context, output.dtype)
            for head, output in zip(heads, executor.outputs, strict=True)
        ]
        executor.backward(grads)


def _hosts(arrays: Mapping[str, NDArray | None]) -> dict[str, NumpyArray | None]:
    return {name: None if array is None else array.asnumpy() for name, array in arrays.items()}


def _tols(
    value: NumpyArray, truth: Any, least: np.dtype[np.generic], rtol: Tolerance, atol: Tolerance
) -> tuple[float, float]:
    """Returns tolerances; float32 gradients of a float16 network have float16's precision."""
    truth = truth.asnumpy() if isinstance(truth, NDArray) else np.asarray(truth)
    first, second = (
        array.astype(least) if _precision(least) < array.dtype.itemsize else array
        for array in (value, truth)
    )
    return get_tols(first, second, rtol, atol)


def _fill(
    executors: Sequence[Executor],
    arg_params: dict[str, NumpyArray] | None,
    aux_params: dict[str, NumpyArray] | None,
    scale: float,
    uniform: bool,
    rand_type: DTypeLike,
) -> None:
    """Gives all executors the same arguments and states, and zeros for gradients."""
    arguments = {} if arg_params is None else arg_params
    states = {} if aux_params is None else aux_params
    for name, argument in sorted(executors[0].arg_dict.items()):
        if name in arguments:
            continue
        if uniform:
            drawn = np.random.uniform(-0.92 * scale, 0.92 * scale, argument.shape)
        else:
            drawn = np.random.normal(scale=scale, size=argument.shape)
        arguments[name] = np.asarray(drawn).astype(rand_type)
    for executor in executors:
        for name, argument in executor.arg_dict.items():
            argument[:] = arguments[name]
        for name, argument in executor.aux_dict.items():
            argument[:] = states.get(name, 0)
        for grad in executor.grad_arrays:
            if grad is not None:
                grad[:] = 0


class _Kept(Initializer):
    """Initializes parameters with the values they had in another network, by name."""

    def __init__(self, values: Mapping[str, NumpyArray]) -> None:
        super().__init__()
        self._values = values

    def __call__(self, desc: str, arr: NDArray) -> None:
        arr[:] = self._values[str(desc)]


def check_gluon_hybridize_consistency(
    net_builder: Callable[..., HybridBlock],
    data_l: Sequence[NDArray],
    numpy_func: Callable[..., NumpyArray] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Compares a network's outputs, and gradients by its data, hybridized and not.

    Args:
        net_builder: makes the network, given ``prefix``; it must draw no random numbers.
        data_l: its inputs.
        numpy_func: computes the output with NumPy, to compare with too.
        test_grad: whether gradients are compared.
        rtol, atol: as for `assert_almost_equal`.

    Raises:
        AssertionError: something differs.
    """
    first: tuple[NumpyArray, list[NumpyArray]] | None = None
    initializer: Initializer | None = None
    for hybridize in (False, True):
        net = net_builder(prefix="net_")
        if initializer is None:
            net.initialize()
        else:
            net.initialize(initializer)
        if hybridize:
            net.hybridize()
        found = _run(net, data_l, test_grad)
        if initializer is None or first is None:
            parameters = net.collect_params()
            initializer = _Kept(
                {name: param.data().asnumpy() for name, param in parameters.items()}
            )
            first = found
            continue
        assert_almost_equal(found[0], first[0], rtol=rtol, atol=atol)
        for grad, other in zip(found[1], first[1], strict=True):
            assert_almost_equal(grad, other, rtol=rtol, atol=atol)
    if numpy_func is not None and first is not None:
        expected = numpy_func(*[array.asnumpy() for array in data_l])
        assert_almost_equal(first[0], expected, rtol=rtol, atol=atol)


def _run(
    net: HybridBlock, data_l: Sequence[NDArray], test_grad: bool
) -> tuple[NumpyArray, list[NumpyArray]]:
    """Returns the output of a network and, where wanted, the gradients by its inputs."""
    inputs = [array.copy() for array in data_l]
    if not test_grad:
        return net(*inputs).asnumpy(), []
    for value in inputs:
        value.attach_grad()
    with autograd.record():
        out = net(*inputs)
    out.backward(out)
    grads = [array.grad for array in inputs]
    return out.asnumpy(), [grad.asnumpy() for grad in grads if grad is not None]


def compare_optimizer(
    opt1: Optimizer,
    opt2: Optimizer,
    shape: Sequence[int],
    dtype: DTypeLike,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Compares one update by two optimizers, which are given the same weights and gradients.

    Args:
        opt1, opt2: the optimizers.
        shape: of the weight; or a list of `ntensors` shapes, which opt2 updates in one call.
        dtype: of the weight.
        w_stype, g_stype: storage of opt2's weight and gradient; opt1's are dense.
        rtol, atol: as for `assert_almost_equal`.
        compare_states: whether their states are compared too.
        ntensors: how many weights.

    Raises:
        AssertionError: weights or states differ.
    """
    shapes = shape if isinstance(shape, list) else [shape]
    if len(shapes) != ntensors:
        raise ParameterError(
            f"compare_optimizer: requires ntensors={ntensors} shapes, got {len(shapes)}"
        )
    weights = [_weight(shape, dtype, w_stype) for shape in shapes]
    grads = [_weight(shape, dtype, g_stype) for shape in shapes]
    dense = [array.tostype("default").copy() for array in weights]
    dense_grads = [array.tostype("default").copy() for array in grads]
    states1 = [opt1.create_state_multi_precision(i, weight) for i, weight in enumerate(dense)]
    states2 = [opt2.create_state_multi_precision(i, weight) for i, weight in enumerate(weights)]
    for index, (weight, grad) in enumerate(zip(dense, dense_grads, strict=True)):
        opt1.update_multi_precision(index, weight, grad, states1[index])
    if isinstance(shape, list):
        copies: tuple[Any, ...] = (list(range(ntensors)), weights, grads, states2)
        opt2.update_multi_precision(*copies)
    else:
        opt2.update_multi_precision(0, weights[0], grads[0], states2[0])
    compare_ndarray_tuple(dense, weights, rtol, atol)
    if compare_states:
        compare_ndarray_tuple(copy.copy(states1), states2, rtol, atol)


def _weight(shape: Sequence[int], dtype: DTypeLike, stype: str) -> NDArray:
    if stype == "default":
        made: NDArray = random.uniform(shape=shape, ctx=default_context(), dtype=dtype)
        return made
    return rand_ndarray(shape, stype, density=1, dtype=dtype)

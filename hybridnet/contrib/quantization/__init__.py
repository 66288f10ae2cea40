"""`contrib.quantization`: trained networks with 8-bit whole numbers in place of floats.

Convolutions and dense layers, and pooling, flattening, relu, sums and joins beside them, become
operators of whole numbers (`nd.contrib.quantized_conv` and its like); the rest of a network stays
as it is, with conversions where they meet. Ranges come from examples (calibration) or, without,
from each batch.

A quantized network is a quarter as large. It is no faster than floats: kernels for floats compute
its sums.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError
from hybridnet.base.unsupported import missing
from hybridnet.gluon import HybridBlock, SymbolBlock
from hybridnet.gluon.data import DataLoader
from hybridnet.io import DataIter
from hybridnet.ndarray import NDArray, contrib, ones, zeros
from hybridnet.symbol import Symbol

from ..block_symbols import as_block, as_symbol
from ._calibration import (
    Collector,
    HistogramCollector,
    RangeCollector,
    batches,
    collect,
    combine_histogram,
    entropy_range,
)
from ._graph import calibrated, measured, quantized

__all__ = [
    "calib_graph",
    "combine_histogram",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
]

Arrays = Mapping[str, NDArray]
_Made = tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]
_SUFFIX = "_quantize"


def _check(op: str, dtype: str, granularity: str, mode: str | None) -> None:
    if dtype not in ("int8", "uint8", "auto"):
        raise ParameterError(
            f"{op}: quantized_dtype must be 'int8', 'uint8' or 'auto', got {dtype!r}"
        )
    if granularity not in ("tensor-wise", "channel-wise"):
        raise ParameterError(
            f"{op}: quantize_granularity must be 'tensor-wise', one range for each array, or "
            f"'channel-wise', one for each output channel of weights; got {granularity!r}"
        )
    if mode not in (None, "none", "naive", "entropy", "customize"):
        raise ParameterError(
            f"{op}: calib_mode must be 'none', 'naive', 'entropy' or 'customize', got {mode!r}"
        )


def _parameters(sym: Symbol, arrays: Arrays) -> dict[str, NDArray]:
    """Returns the arrays that a quantized symbol takes: some as int8 with their ranges."""
    names = set(sym.list_arguments())
    attributes = sym.attr_dict()
    made = {name: array for name, array in arrays.items() if name in names}
    for name, array in arrays.items():
        whole = f"{name}{_SUFFIX}"
        if whole in names:
            by_channel = "__shape__" in attributes.get(f"{whole}_min", {})
            if by_channel:
                parts = _by_channel(array)
            else:
                parts = contrib.quantize(array, array.min(), array.max(), out_type="int8")
            for end, part in zip(("", "_min", "_max"), parts, strict=True):
                made[f"{whole}{end}"] = part
    return made


def _by_channel(array: NDArray) -> list[NDArray]:
    """Returns an array as int8 with the ranges of its rows."""
    rows = array.reshape((array.shape[0], -1))
    ends = rows.abs().max(axis=1)
    scaled = rows / (ends + (ends == 0)).reshape((-1, 1))
    one = ones((1,), ctx=array.context)
    whole = contrib.quantize(scaled, -one, one, out_type="int8")[0]
    return [whole.reshape(array.shape), -ends, ends]


def quantize_graph(
    sym: Symbol,
    arg_params: Arrays,
    aux_params: Arrays,
    ctx: Context = cpu(),  # noqa: B008  # as MXNet writes it
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Collector | None = None,
    logger: logging.Logger | None = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray], Any]:
    """Quantizes a symbol whose ranges the caller measures: see `calib_graph`.

    Args:
        sym: the network of floats.
        arg_params: its parameters by name.
        aux_params: its auxiliary states by name.
        ctx: read for MXNet's sake: the result is the same everywhere.
        excluded_sym_names: nodes that stay as they are.
        excluded_op_names: operators whose nodes stay as they are.
        calib_mode: 'naive', 'entropy', 'customize', or 'none'.
        quantized_dtype: 'int8', 'uint8', or 'auto': uint8 of what is found not to be negative.
        quantize_mode: 'full' quantizes all that can be; 'smart' layers with weights and what lies
            between two of them.
        quantize_granularity: 'tensor-wise', or 'channel-wise': weights have a range for each output
            channel.
        LayerOutputCollector: with 'customize', the collector.
        logger: told of what is done.

    Returns:
        The quantized symbol, its parameters, the auxiliary states, and a collector: call its
        ``collect(name, array)`` with the outputs of `sym` (`Executor.set_monitor_callback`).
    """
    _check("quantize_graph", quantized_dtype, quantize_granularity, calib_mode)
    made = quantized(
        sym,
        {name: array.shape for name, array in arg_params.items()},
        channel_wise=quantize_granularity == "channel-wise",
        excluded_names=excluded_sym_names or (),
        excluded_operators=excluded_op_names or (),
        dtype=quantized_dtype,
        mode=quantize_mode,
    )
    names = measured(made)
    collector: Any = None
    if calib_mode == "entropy":
        collector = HistogramCollector(names)
    elif calib_mode == "naive":
        collector = RangeCollector(names)
    elif calib_mode == "customize":
        if LayerOutputCollector is None:
            raise ParameterError("quantize_graph: 'customize' requires a LayerOutputCollector")
        collector = LayerOutputCollector
    if logger:
        logger.info("quantized the symbol; ranges are needed of %s", ", ".join(names))
    return made, _parameters(made, arg_params), dict(aux_params), collector


def calib_graph(
    qsym: Symbol,
    arg_params: Arrays,
    aux_params: Arrays,
    collector: Any,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger: logging.Logger | ModuleType | None = logging,
) -> _Made:
    """Returns a quantized symbol that knows the ranges which a collector has measured.

    Args:
        qsym: the symbol that `quantize_graph` returned.
        arg_params: the parameters of the network of floats.
        aux_params: its auxiliary states.
        collector: what `quantize_graph` returned, or one with a `min_max_dict`.
        calib_mode: 'naive' and 'customize' take the least and greatest number seen; 'entropy' the
            range by which 8 bits tell most of what was seen.
        quantized_dtype: as for `quantize_graph`.
        logger: told of what is done.

    Returns:
        The symbol, its parameters, and the auxiliary states.
    """
    if calib_mode not in ("naive", "entropy", "customize"):
        raise ParameterError(
            f"calib_graph: calib_mode must be 'naive', 'entropy' or 'customize', got {calib_mode!r}"
        )
    if calib_mode == "entropy":
        found = collector.hist_dict.items()
        ranges = {name: entropy_range(hist, quantized_dtype) for name, hist in found}
    else:
        ranges = dict(collector.min_max_dict)
    if logger:
        logger.info("calibrated %d outputs", len(ranges))
    made = calibrated(qsym, ranges)
    return made, _parameters(made, arg_params), dict(aux_params)


def quantize_model(
    sym: Symbol,
    arg_params: Arrays,
    aux_params: Arrays,
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Context = cpu(),  # noqa: B008
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: DataIter | DataLoader | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: logging.Logger | None = None,
) -> _Made:
    """Quantizes a checkpoint.

    Args:
        sym: the network of floats.
        arg_params: its parameters by name.
        aux_params: its auxiliary states by name.
        data_names: the variables for which `calib_data` has arrays, in this order.
        label_names: read for MXNet's sake: no range depends on labels.
        ctx: where the examples are computed.
        excluded_sym_names: nodes that stay as they are.
        excluded_op_names: operators whose nodes stay as they are.
        calib_mode: 'entropy' or 'naive', see `calib_graph`; or 'none', to measure each batch.
        calib_data: examples: a `DataIter` or a `DataLoader`.
        num_calib_examples: how many of them, at least; default all.
        quantized_dtype: 'int8', 'uint8', or 'auto': uint8 of what is found not to be negative.
        quantize_mode: 'full' quantizes all that can be; 'smart' layers with weights and what lies
            between two of them.
        quantize_granularity: 'tensor-wise', or 'channel-wise': weights have a range for each output
            channel.
        logger: told of what is done.

    Returns:
        The quantized symbol, its parameters, and the auxiliary states.
    """
    options = (excluded_sym_names, excluded_op_names, calib_mode, quantized_dtype)
    return _quantized(
        "quantize_model",
        (sym, arg_params, aux_params),
        (ctx, *options, quantize_mode, quantize_granularity, None, logger),
        data_names,
        calib_data,
        num_calib_examples,
    )


def _quantized(
    op: str,
    network: tuple[Symbol, Arrays, Arrays],
    options: tuple[Any, ...],
    data_names: Sequence[str],
    data: Any,
    limit: int | None,
) -> _Made:
    """Quantizes a network, and calibrates it where that is asked for.

    Args:
        op: for messages.
        network: symbol, parameters and states.
        options: the further arguments of `quantize_graph`, in order.
        data_names, data, limit: see `collect`.
    """
    ctx, _, _, mode, dtype, *_, logger = options
    calibrates = mode not in (None, "none")
    if calibrates and data is None:
        raise ParameterError(
            f"{op}: calib_mode={mode!r} requires calib_data; or pass calib_mode='none'"
        )
    sym, args, states = network
    made, params, states, collector = quantize_graph(sym, args, states, *options)
    if not calibrates:
        return made, params, dict(states)
    values = {**args, **states}
    seen = collect(sym, measured(made), values, data_names, data, collector, ctx=ctx, limit=limit)
    if logger:
        logger.info("measured %d examples", seen)
    return calib_graph(made, args, states, collector, mode, dtype, logger)


def quantize_model_mkldnn(
    sym: Symbol,
    arg_params: Arrays,
    aux_params: Arrays,
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Context = cpu(),  # noqa: B008
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: DataIter | DataLoader | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: logging.Logger | None = None,
) -> _Made:
    """The same as `quantize_model`, for a CPU; it differs in MXNet, whose library fuses layers."""
    if ctx.device_type != "cpu":
        raise ParameterError(f"quantize_model_mkldnn: ctx must be a CPU, got {ctx}")
    return quantize_model(
        sym,
        arg_params,
        aux_params,
        data_names,
        label_names,
        ctx,
        excluded_sym_names,
        excluded_op_names,
        calib_mode,
        calib_data,
        num_calib_examples,
        quantized_dtype,
        quantize_mode,
        quantize_granularity,
        logger,
    )


def quantize_net_v2(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: DataIter | DataLoader | None = None,
    data_shapes: Sequence[Any] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),  # noqa: B008
    LayerOutputCollector: Collector | None = None,
    logger: logging.Logger | None = None,
) -> SymbolBlock:
    """Returns a quantized block.

    Args:
        network: the block of floats.
        quantized_dtype: 'int8', 'uint8', or 'auto': uint8 of what is found not to be negative.
        quantize_mode: see `quantize_graph`.
        quantize_granularity: 'tensor-wise', or 'channel-wise': weights have a range for each output
            channel.
        exclude_layers: names of nodes that stay as they are.
        exclude_layers_match: parts of names of nodes that stay as they are.
        exclude_operators: operators whose nodes stay as they are.
        calib_data: examples: a `DataIter` or a `DataLoader`; of each batch the first arrays are
            what the block takes.
        data_shapes: of what the block takes, `DataDesc`; default those of `calib_data`.
        calib_mode: 'naive', 'entropy', 'customize', or 'none'; see `calib_graph`.
        num_calib_examples: how many examples, at least; default all.
        ctx: where the examples are computed, and where the parameters are.
        LayerOutputCollector: with 'customize', the collector.
        logger: told of what is done.

    Raises:
        ParameterError: neither `calib_data` nor `data_shapes` is there.
    """
    network.hybridize()
    if data_shapes is not None:
        arrays = [zeros(description.shape, ctx=ctx) for description in data_shapes]
    elif calib_data is not None:
        arrays = [array.as_in_context(ctx) for array in next(batches(calib_data, 1))]
    else:
        raise ParameterError("quantize_net: requires data_shapes where there is no calib_data")
    arrays = _accepted(network, arrays)
    sym, args, aux = as_symbol(network)
    data_names = [name for name in sym.list_inputs() if name not in args and name not in aux]
    excluded = [*(exclude_layers or ())]
    for part in exclude_layers_match or ():
        excluded += [node.name for node in sym.graph.nodes if part in node.name]
    options = (excluded, exclude_operators, calib_mode, quantized_dtype)
    made, params, states = _quantized(
        "quantize_net",
        (sym, args, aux),
        (ctx, *options, quantize_mode, quantize_granularity, LayerOutputCollector, logger),
        data_names,
        calib_data,
        num_calib_examples,
    )
    return as_block(made, data_names, {**params, **states}, ctx)


def _accepted(network: HybridBlock, arrays: list[NDArray]) -> list[NDArray]:
    """Calls a block with the first arrays of a batch, of which labels are the last; returns them.

    How many it takes only calling it tells.
    """
    while True:
        try:
            network(*arrays)
        except TypeError:
            if len(arrays) == 1:
                raise
            del arrays[-1]
        else:
            return arrays


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: DataIter | DataLoader | None = None,
    data_shapes: Sequence[Any] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),  # noqa: B008
    logger: logging.Logger | None = None,
) -> SymbolBlock:
    """Returns a quantized block: `quantize_net_v2` with fewer arguments.

    Args:
        network, quantized_dtype, quantize_mode, exclude_layers, exclude_layers_match,
        exclude_operators, calib_data, data_shapes, calib_mode, num_calib_examples, ctx, logger: as
            there.
    """
    return quantize_net_v2(
        network,
        quantized_dtype,
        quantize_mode,
        "tensor-wise",
        exclude_layers,
        exclude_layers_match,
        exclude_operators,
        calib_data,
        data_shapes,
        calib_mode,
        num_calib_examples,
        ctx,
        None,
        logger,
    )


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing("contrib.quantization", name, __all__)

"""Trained networks in mixed precision: symbols, checkpoints, blocks and modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.dtype import CODE_OF, DTYPE_OF_CODE
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.gluon import HybridBlock, SymbolBlock
from hybridnet.graph import Edge, Node
from hybridnet.module import BucketingModule
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ..block_symbols import as_block, as_symbol
from .casts import Casts

__all__ = ["convert_bucketing_module", "convert_hybrid_block", "convert_model", "convert_symbol"]

Names = Sequence[str] | None
Conditions = Sequence[tuple[str, str, Sequence[str]]] | None


def convert_symbol(
    sym: Symbol,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Names = None,
    fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None,
    data_names: Names = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """Returns a symbol that computes some operators in half precision, with casts where needed.

    Args:
        sym: the network, in float32.
        target_dtype: 'float16' or 'bfloat16'.
        target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names: see `Casts`.
        data_names: the arguments that are data; default all without a dtype.
        cast_optional_params: whether parameters that only such operators read are of this dtype
            themselves, instead of being cast at each call: their variables say so.

    Raises:
        ParameterError: the dtype is another, or an operator is in two lists.
    """
    if not isinstance(sym, Symbol):
        raise ParameterError(f"convert_symbol: needs a Symbol, got {type(sym).__name__}")
    casts = Casts(
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
    )
    graph = sym.graph
    halved: set[str] = set()
    if cast_optional_params:
        attrs = sym.attr_dict()
        data = set(data_names or ())
        if data_names is None:
            data = {x for x in sym.list_inputs() if "__dtype__" not in attrs.get(x, {})}
        halved = _read_by_half(graph.nodes, casts) - data
    changed = {
        node: replace(node, attrs={**node.attrs, "__dtype__": str(CODE_OF[casts.half])})
        for node in graph.inputs
        if node.name in halved
    }
    # They need no cast any more.
    made: dict[tuple[Edge, str], Node] = {
        (Edge(node, 0), casts.half.name): node for node in changed.values()
    }

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        edges = [edge._replace(node=changed.get(edge.node, edge.node)) for edge in inputs]
        return casts.apply(node, edges, made)

    return Symbol(graph.map(change).outputs)


def _read_by_half(nodes: Sequence[Node], casts: Casts) -> set[str]:
    """Returns the variables that only operators of half precision read."""
    half: set[str] = set()
    other: set[str] = set()
    for node in nodes:
        halves = casts.dtype_of(node.call) == casts.half and node.name not in casts.excluded
        for edge in node.inputs:
            if edge.node.is_variable:
                (half if halves else other).add(edge.node.name)
    return half - other


def convert_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Names = None,
    fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Returns the symbol and parameters of a checkpoint in mixed precision; see `convert_symbol`.

    Args:
        sym: the network.
        arg_params: the parameters by name.
        aux_params: the auxiliary states by name.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
        cast_optional_params: as for `convert_symbol`.
    """
    known = {*arg_params, *aux_params}
    made = convert_symbol(
        sym,
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        [name for name in sym.list_inputs() if name not in known],
        cast_optional_params,
    )
    attrs = made.attr_dict()
    return made, _as_said(arg_params, attrs), _as_said(aux_params, attrs)


def _as_said(
    arrays: Mapping[str, NDArray], attrs: Mapping[str, Mapping[str, str]]
) -> dict[str, NDArray]:
    """Returns arrays in the dtypes that their variables say."""
    made = {}
    for name, array in arrays.items():
        code = int(attrs.get(name, {}).get("__dtype__", "-1"))
        made[name] = array if code < 0 else array.astype(DTYPE_OF_CODE[code], copy=False)
    return made


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Names = None,
    fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None,
    ctx: Context | Sequence[Context] | None = None,
    cast_optional_params: bool = False,
) -> SymbolBlock:
    """Returns a block in mixed precision; the block must have been called before.

    Args:
        block: the block.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
        cast_optional_params: as for `convert_symbol`.
        ctx: where its parameters are; default the CPU.

    Raises:
        ParameterError: it is no HybridBlock.
    """
    if not isinstance(block, HybridBlock):
        raise ParameterError(
            f"convert_hybrid_block: needs a HybridBlock, got {type(block).__name__}"
        )
    sym, args, aux = as_symbol(block)
    values = {**args, **aux}
    data = [name for name in sym.list_inputs() if name not in values]
    made = convert_symbol(
        sym,
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        data,
        cast_optional_params,
    )
    return as_block(made, data, _as_said(values, made.attr_dict()), ctx)


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Names = None,
    fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """Returns a module in mixed precision, to be bound, with the buckets that there are.

    Args:
        bucketing_mod: the module, with parameters.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
        cast_optional_params: as for `convert_symbol`.

    Raises:
        MXNetError: it is not bound, or its parameters have no values.
    """
    symbols = bucketing_mod.symbols()
    if not symbols or not bucketing_mod.params_initialized:
        raise MXNetError("convert_bucketing_module: bind and initialize the module first")
    options = (target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    args, states = bucketing_mod.get_params()
    made = {
        key: convert_model(sym, args, states, *options, cast_optional_params)
        for key, sym in symbols.items()
    }
    _, args, states = next(iter(made.values()))
    return bucketing_mod.with_symbols({key: each[0] for key, each in made.items()}, args, states)

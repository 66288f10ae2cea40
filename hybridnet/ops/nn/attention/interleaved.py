"""Attention of several heads whose queries, keys and values lie interleaved in one array.

Vaswani et al., "Attention is all you need", 2017. Of each position, head after head has its query,
key and value side by side, as one dense layer for all of them makes them.
"""

from __future__ import annotations

from typing import Annotated, Any

from hybridnet.base.attrs import Range
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ...core.checks import require_floats, require_one_dtype
from ...core.operator import describe
from ...core.registry import operator
from ...core.rules import same_type

Heads = Annotated[int, Range(1)]


def _sequence_check(op: str, name: str, data: TensorType, heads: int, parts: int) -> None:
    """Checks an interleaved input: (length, batch, heads * parts * head size)."""
    require_floats(op, (name,), (data,))
    if len(data.shape) != 3:
        raise ShapeError(f"{op}: {name} must have shape (length, batch, features), got {data}")
    if data.shape[2] % (heads * parts):
        raise ParameterError(
            f"{op}: heads={heads} must divide the features of {name} into {parts} equal parts for "
            f"each head, got {name} {data}"
        )


def _attention_check(
    op: str, names: tuple[str, str], types: tuple[TensorType, TensorType], heads: int, parts: int
) -> None:
    data, attention = types
    _sequence_check(op, names[0], data, heads, parts)
    require_one_dtype(op, names, types)
    length, batch = data.shape[:2]
    shape = attention.shape
    if len(shape) != 3 or shape[0] != batch * heads or shape[2] != length:
        raise ShapeError(
            f"{op}: attention must have shape ({batch * heads}, any, {length}), that is "
            f"(batch * heads, queries, keys), got {describe(names, types)}"
        )


def _parts(data: Any, heads: int, parts: int) -> list[Any]:
    """Takes the interleaved parts apart, each (length, batch, heads, head size)."""
    length, batch, features = data.shape
    split = data.reshape(length, batch, heads, parts, features // (heads * parts))
    return [split[:, :, :, part] for part in range(parts)]


def _scores(queries: Any, keys: Any) -> Any:
    scale = 1 / queries.shape[-1] ** 0.5
    scores = jnp.einsum("qbhd,kbhd->bhqk", queries * scale, keys)
    batch, heads, *rest = scores.shape
    return scores.reshape(batch * heads, *rest)


def _mixed(attention: Any, values: Any) -> Any:
    _, batch, heads, size = values.shape
    split = attention.reshape(batch, heads, *attention.shape[1:])
    mixed = jnp.einsum("bhqk,kbhd->qbhd", split, values)
    return mixed.reshape(*mixed.shape[:2], heads * size)


def _self_qk_type(data: TensorType, *, heads: int) -> tuple[TensorType, ...]:
    length, batch, _ = data.shape
    return (tensor_type((batch * heads, length, length), data.dtype),)


@operator(
    "_contrib_interleaved_matmul_selfatt_qk",
    check=lambda data, *, heads: _sequence_check(
        "interleaved_matmul_selfatt_qk", "queries_keys_values", data, heads, 3
    ),
    infer=_self_qk_type,
)
def selfatt_qk(queries_keys_values: Any, *, heads: Heads) -> Any:
    """Products of queries and keys, the queries divided by the root of a head's size.

    Args:
        queries_keys_values: (length, batch, heads * 3 * head size).

    Returns:
        (batch * heads, length, length), by query and then by key.
    """
    queries, keys, _ = _parts(queries_keys_values, heads, 3)
    return _scores(queries, keys)


def _self_valatt_type(
    data: TensorType, attention: TensorType, *, heads: int
) -> tuple[TensorType, ...]:
    shape = (attention.shape[1], data.shape[1], data.shape[2] // 3)
    return (tensor_type(shape, data.dtype),)


@operator(
    "_contrib_interleaved_matmul_selfatt_valatt",
    check=lambda *types, heads: _attention_check(
        "interleaved_matmul_selfatt_valatt",
        ("queries_keys_values", "attention"),
        types,
        heads,
        3,
    ),
    infer=_self_valatt_type,
)
def selfatt_valatt(queries_keys_values: Any, attention: Any, *, heads: Heads) -> Any:
    """Mixes the values by the attention paid to them.

    Args:
        queries_keys_values: (length, batch, heads * 3 * head size).
        attention: (batch * heads, length, length), by query and then by key.

    Returns:
        (length, batch, heads * head size).
    """
    return _mixed(attention, _parts(queries_keys_values, heads, 3)[2])


def _encdec_qk_check(queries: TensorType, keys_values: TensorType, *, heads: int) -> None:
    op, names = "interleaved_matmul_encdec_qk", ("queries", "keys_values")
    _sequence_check(op, names[0], queries, heads, 1)
    _sequence_check(op, names[1], keys_values, heads, 2)
    require_one_dtype(op, names, (queries, keys_values))
    batch, features = queries.shape[1:]
    if keys_values.shape[1:] != (batch, 2 * features):
        raise ShapeError(
            f"{op}: keys_values must have shape (any, {batch}, {2 * features}), twice the features "
            f"of queries, got {describe(names, (queries, keys_values))}"
        )


def _encdec_qk_type(
    queries: TensorType, keys_values: TensorType, *, heads: int
) -> tuple[TensorType, ...]:
    shape = (queries.shape[1] * heads, queries.shape[0], keys_values.shape[0])
    return (tensor_type(shape, queries.dtype),)


@operator("_contrib_interleaved_matmul_encdec_qk", check=_encdec_qk_check, infer=_encdec_qk_type)
def encdec_qk(queries: Any, keys_values: Any, *, heads: Heads) -> Any:
    """Products of a decoder's queries and an encoder's keys, the queries divided as in selfatt_qk.

    Args:
        queries: (queries, batch, heads * head size).
        keys_values: (keys, batch, heads * 2 * head size).

    Returns:
        (batch * heads, queries, keys).
    """
    return _scores(_parts(queries, heads, 1)[0], _parts(keys_values, heads, 2)[0])


def _encdec_valatt_type(
    keys_values: TensorType, attention: TensorType, *, heads: int
) -> tuple[TensorType, ...]:
    shape = (attention.shape[1], keys_values.shape[1], keys_values.shape[2] // 2)
    return (tensor_type(shape, keys_values.dtype),)


@operator(
    "_contrib_interleaved_matmul_encdec_valatt",
    check=lambda *types, heads: _attention_check(
        "interleaved_matmul_encdec_valatt", ("keys_values", "attention"), types, heads, 2
    ),
    infer=_encdec_valatt_type,
)
def encdec_valatt(keys_values: Any, attention: Any, *, heads: Heads) -> Any:
    """Mixes an encoder's values by the attention paid to them.

    Args:
        keys_values: (keys, batch, heads * 2 * head size).
        attention: (batch * heads, queries, keys).

    Returns:
        (queries, batch, heads * head size).
    """
    return _mixed(attention, _parts(keys_values, heads, 2)[1])


def _div_sqrt_dim_check(data: TensorType) -> None:
    require_floats("div_sqrt_dim", ("data",), (data,))
    if not data.shape:
        raise ShapeError("div_sqrt_dim: data must have 1 dimension or more, got a scalar")


@operator("_contrib_div_sqrt_dim", check=_div_sqrt_dim_check, infer=same_type)
def div_sqrt_dim(data: Any) -> Any:
    """Divides by the root of the length of the last axis, as attention does with its scores."""
    return data / jnp.sqrt(jnp.asarray(data.shape[-1], data.dtype))

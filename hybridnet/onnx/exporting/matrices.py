"""Translations of products: dense layers, dot products, attention."""

from __future__ import annotations

import math

from .place import Place
from .table import translates

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@translates("FullyConnected")
def _dense(place: Place) -> str:
    data, weight, *bias = place.inputs
    rank = place.rank()
    if place.attrs["flatten"] and rank != 2:
        data, rank = place.add("Flatten", data, axis=1), 2
    if rank == 2:
        return place.add("Gemm", data, weight, *bias, transB=1)
    product = place.add("MatMul", data, place.add("Transpose", weight, perm=[1, 0]))
    return place.add("Add", product, bias[0]) if bias else product


def _turned(place: Place, value: str, rank: int, turn: bool) -> str:
    """Swaps the last two axes."""
    axes = list(range(rank))
    return place.transpose(value, [*axes[:-2], rank - 1, rank - 2]) if turn else value


@translates("dot", "_np_dot")
def _dot(place: Place) -> str:
    left, right = place.operands()
    ranks = place.rank(0), place.rank(1)
    if place.attrs.get("transpose_a"):
        left = place.transpose(left, [*range(1, ranks[0]), 0])
    if place.attrs.get("transpose_b"):
        right = place.transpose(right, [ranks[1] - 1, *range(ranks[1] - 1)])
    if ranks[1] <= 2 and min(ranks) > 0:
        product = place.add("MatMul", left, right)
        whole = ranks == (1, 1) and place.results[0].shape
        return place.reshape(product, [1]) if whole else product
    if place.call.name != "dot":
        place.fail("needs a second operand of one or two dimensions", "use sym.np.matmul")
    letters = _LETTERS[: sum(ranks) - 1]
    first, second = letters[: ranks[0]], letters[ranks[0] - 1 :]
    equation = f"{first},{second}->{first[:-1]}{second[1:]}"
    return place.add("Einsum", left, right, equation=equation)


@translates("batch_dot")
def _batch_dot(place: Place) -> str:
    left, right = place.operands()
    rank = place.rank()
    left = _turned(place, left, rank, place.attrs["transpose_a"])
    right = _turned(place, right, rank, place.attrs["transpose_b"])
    return place.add("MatMul", left, right)


@translates("_npi_matmul")
def _matmul(place: Place) -> str:
    return place.add("MatMul", *place.operands())


@translates("_npi_einsum")
def _einsum(place: Place) -> str:
    return place.add("Einsum", *place.operands(), equation=place.attrs["subscripts"])


@translates("_linalg_gemm2", "_linalg_gemm")
def _gemm(place: Place) -> str:
    attrs, rank = place.attrs, place.rank()
    if attrs["axis"] % rank != rank - 2:
        place.fail("axis must be -2", "transpose the operands")
    left = _turned(place, place.inputs[0], rank, attrs["transpose_a"])
    right = _turned(place, place.inputs[1], rank, attrs["transpose_b"])
    product = _scaled(place, place.add("MatMul", left, right), attrs["alpha"])
    if place.call.name == "_linalg_gemm2":
        return product
    return place.add("Add", product, _scaled(place, place.inputs[2], attrs["beta"]))


def _scaled(place: Place, value: str, factor: float) -> str:
    return value if factor == 1 else place.add("Mul", value, place.number(factor))


@translates("_contrib_div_sqrt_dim")
def _by_root_of_width(place: Place) -> str:
    (width,) = place.fixed(place.sizes[0][-1:], "the size of the last axis")
    return place.add("Div", place.inputs[0], place.number(math.sqrt(width)))


def _heads(place: Place, index: int, parts: int) -> list[str]:
    """Cuts (length, batch, heads * parts * width) into parts of (batch, heads, length, width)."""
    heads = place.attrs["heads"]
    (whole,) = place.fixed(place.sizes[index][-1:], "the size of the last axis")
    width = whole // heads // parts
    split = place.reshape(place.inputs[index], [0, 0, heads, parts, width])
    turned = place.transpose(split, [3, 1, 2, 0, 4])
    if parts == 1:
        return [place.squeeze(turned, 0)]
    cut = place.add_several("Split", parts, turned, axis=0, num_outputs=parts)
    return [place.squeeze(one, 0) for one in cut]


def _scores(place: Place, queries: str, keys: str) -> str:
    """Returns (batch * heads, length, length) of products, scaled."""
    (width,) = place.fixed(place.sizes[0][-1:], "the size of the last axis")
    parts = 3 if "selfatt" in place.call.name else 1
    scale = math.sqrt(width // place.attrs["heads"] // parts)
    queries = place.add("Div", queries, place.number(scale))
    product = place.add("MatMul", queries, place.transpose(keys, [0, 1, 3, 2]))
    rest = place.add("Shape", product, start=2)
    return place.add("Reshape", product, place.vector([place.ints(-1), rest]))


@translates("_contrib_interleaved_matmul_selfatt_qk")
def _self_scores(place: Place) -> str:
    queries, keys, _ = _heads(place, 0, 3)
    return _scores(place, queries, keys)


@translates("_contrib_interleaved_matmul_encdec_qk")
def _cross_scores(place: Place) -> str:
    (queries,), (keys, _) = _heads(place, 0, 1), _heads(place, 1, 2)
    return _scores(place, queries, keys)


@translates(
    "_contrib_interleaved_matmul_selfatt_valatt", "_contrib_interleaved_matmul_encdec_valatt"
)
def _weighted(place: Place) -> str:
    values = _heads(place, 0, 3 if "selfatt" in place.call.name else 2)[-1]
    heads = place.attrs["heads"]
    rest = place.add("Shape", place.inputs[1], start=1)
    shape = place.vector([place.ints(-1, heads), rest])
    product = place.add("MatMul", place.add("Reshape", place.inputs[1], shape), values)
    (width,) = place.fixed(place.result_sizes[0][-1:], "the size of the last axis")
    return place.reshape(place.transpose(product, [2, 0, 1, 3]), [0, 0, width])

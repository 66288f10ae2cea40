"""Scaled dot-product attention as one operator, whose scores need not be kept.

Vaswani et al., "Attention is all you need", 2017; with fewer heads of keys than of queries: Ainslie
et al., "GQA", 2023; with a window: Beltagy et al., "Longformer", 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

from hybridnet.base.attrs import REQUIRED, Platform, RandomState, Range, Shape, Train
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ...core.alternatives import PLAIN, Site, alternative, builtin_choice
from ...core.backward import vjp_gradient
from ...core.call import Backward
from ...core.checks import require_floats, require_one_dtype, wide
from ...core.families import keywords_of, signed
from ...core.operator import describe
from ...core.registry import get, operator
from ...random.state import next_key
from . import blocked, tiles
from .visible import Sizes, Visible, kept, sizes_of

_OP: Final = "dot_product_attention"
_NAME: Final = "_contrib_dot_product_attention"
_BACKWARD: Final = "_backward_dot_product_attention"
_NEEDED: Final = ("queries", "keys", "values")
#: The optional inputs, and the parameters that say whether they are given.
_FLAGS: Final = {
    "mask": "use_mask",
    "bias": "use_bias",
    "lengths": "use_lengths",
    "starts": "use_starts",
}
# Queries and keys from which on blocks of them are faster than all at once. (Milliseconds of 8
# sequences in 6 heads of 64 units, causal, gradients included, in blocks and at once: 256 positions
# 25 and 40.)
_MANY_POSITIONS: Final = 128
# On accelerators all at once is faster as long as the scores have room: a guess, which no card was
# asked.
_MANY_POSITIONS_ON_ACCELERATORS: Final = 1024


def _takes(**params: Any) -> tuple[str, ...]:
    return _NEEDED + tuple(name for name, flag in _FLAGS.items() if params[flag])


def _check(*types: TensorType, **params: Any) -> None:
    names = _takes(**params)
    if len(types) < len(names):
        flags = " and ".join(_FLAGS[name] for name in names[3:])
        raise ParameterError(
            f"{_OP}: requires {', '.join(names)}, as {flags} says, got {len(types)} inputs"
        )
    require_floats(_OP, _NEEDED[:1], types[:1])
    require_one_dtype(_OP, _NEEDED, types[:3])
    if any(len(one.shape) != 4 for one in types[:3]):
        raise ShapeError(
            f"{_OP}: queries, keys and values must have shape (batch, length, heads, units), got "
            f"{describe(_NEEDED, types)}"
        )
    queries, keys, values = (one.shape for one in types[:3])
    if keys[0] != queries[0] or keys[3] != queries[3] or values[:3] != keys[:3]:
        raise ShapeError(
            f"{_OP}: keys must have the batch and units of queries, and values the batch, length "
            f"and heads of keys, got {describe(_NEEDED, types)}"
        )
    if not keys[2] or queries[2] % keys[2]:
        raise ShapeError(
            f"{_OP}: the heads of keys must divide those of queries, got {describe(_NEEDED, types)}"
        )
    sizes = sizes_of(*types[:2])
    for name, one in zip(names[3:], types[3:], strict=False):
        if name in ("mask", "bias"):
            _check_scores(name, one, sizes)
            continue
        each, by_query = (sizes.batch,), (sizes.batch, sizes.queries)
        if one.shape != each and (name != "lengths" or one.shape != by_query):
            also = f", or {by_query}, one for each query" if name == "lengths" else ""
            raise ShapeError(
                f"{_OP}: {name} must have shape {each}, a number for each sequence{also}, got "
                f"{name} {one}"
            )


def _check_scores(name: str, got: TensorType, sizes: Sizes) -> None:
    """Checks a mask or a bias: what broadcasts to the scores."""
    wanted = (sizes.batch, sizes.heads, sizes.queries, sizes.keys)
    fits = len(got.shape) in (2, 3, 4) and all(
        size in (1, full) for size, full in zip(_four(got.shape), wanted, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"{_OP}: {name} must have shape {wanted}, that is (batch, heads, queries, keys), with "
            f"1 where it is the same for all, or without heads, or without batch and heads; got "
            f"{name} {got}"
        )
    if name == "bias" and not is_float(got.dtype):
        raise DTypeError(
            f"{_OP}: bias is added to the scores, and must be floating point, got {got}; what "
            "says where to look is mask"
        )


def _four(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns (batch, heads, queries, keys) of (queries, keys) or (batch, queries, keys)."""
    if len(shape) == 3:
        return (shape[0], 1, *shape[1:])
    return (1,) * (4 - len(shape)) + tuple(shape)


def _types(
    queries: TensorType, keys: TensorType, values: TensorType, *_: TensorType, **__: Any
) -> tuple[TensorType, ...]:
    batch, length, heads, _units = queries.shape
    return (
        tensor_type((batch, length, heads, values.shape[3]), queries.dtype),
        tensor_type((batch, length, heads), wide(queries.dtype)),
    )


def _cost(queries: TensorType, keys: TensorType, values: TensorType, *_: Any, **__: Any) -> float:
    per_key = queries.size + queries.size // max(queries.shape[3], 1) * values.shape[3]
    return 2.0 * per_key * keys.shape[1]


# -- computing -------------------------------------------------------------------------------------


def _visible(inputs: Mapping[str, Any], sizes: Sizes, params: Mapping[str, Any]) -> Visible:
    scores = [inputs.get(name) for name in ("mask", "bias")]
    mask, bias = (None if one is None else one.reshape(_four(one.shape)) for one in scores)
    rest = inputs.get("lengths"), inputs.get("starts")
    return Visible(sizes, mask, bias, *rest, params["causal"], params["window"])


def _heads_first(x: Any, dtype: Any) -> Any:
    """Returns what is (batch, length, heads, ...) with the heads in front."""
    return jnp.astype(jnp.moveaxis(x, 2, 1), dtype)


def _heads_last(x: Any) -> Any:
    """Returns what is (batch, key heads, group, length, ...) as (batch, length, heads, ...)."""
    batch, key_heads, group, *rest = x.shape
    return jnp.moveaxis(x.reshape(batch, key_heads * group, *rest), 1, 2)


def _grouped(x: Any, sizes: Sizes) -> Any:
    """Takes heads of queries, at axis 1, apart by those of keys."""
    return x.reshape(x.shape[0], sizes.key_heads, sizes.group, *x.shape[2:])


def _scale(queries: Any, scale: float | None) -> float:
    return max(queries.shape[3], 1) ** -0.5 if scale is None else scale


def _dropout(key: Any, p: float, sizes: Sizes) -> tiles.Dropout:
    # With p = 1 nothing is kept, and there is no scale that would keep the mean.
    scale = 1 / (1 - p) if p < 1 else 0.0
    return tiles.Dropout(lambda first, rows: kept(key, p, sizes, first, rows), scale)


def _prepared(
    arrays: Sequence[Any], key: Any, platform: str, in_blocks: bool, params: Mapping[str, Any]
) -> tuple[list[Any], tiles.Attention]:
    """Returns queries, keys and values as they are computed with, and what says how."""
    inputs = dict(zip(_takes(**params), arrays, strict=False))
    sizes, dtype = sizes_of(*arrays[:2]), wide(arrays[0].dtype)
    visible = _visible(inputs, sizes, params)
    dropout = None
    # NumPy cannot draw for a block alone.
    if platform == "host" and key is None:
        in_blocks = tiles.are_many(sizes)
    whole = sizes.queries, sizes.keys
    cut = tiles.tile_sizes(sizes, platform) if in_blocks else whole
    if key is not None:
        dropout = _dropout(key, params["dropout"], sizes)
    queries, keys, values = (_heads_first(x, dtype) for x in arrays[:3])
    queries = _grouped(queries * _scale(arrays[0], params["scale"]), sizes)
    return [queries, keys, values], tiles.Attention(visible, *cut, dropout)


def _key(state: Any, p: float, train: bool) -> tuple[Any, Any]:
    """Returns the key that dropout draws with, None where nothing is dropped, and the new state."""
    return next_key(state) if p > 0 and train else (None, state)


def _lowering(
    *arrays: Any,
    train: bool,
    platform: str,
    state: Any = None,
    in_blocks: bool = False,
    **params: Any,
) -> Sequence[Any]:
    p = params["dropout"]
    key, state = _key(state, p, train)
    (queries, keys, values), attention = _prepared(arrays, key, platform, in_blocks, params)
    output, sums = blocked.forward(queries, keys, values, attention)
    made = jnp.astype(_heads_last(output), arrays[0].dtype), _heads_last(sums)
    return (*made, state) if p > 0 else made


def _gradient(back: Backward) -> Sequence[Any]:
    if back.grads[1] is not None:
        return vjp_gradient(back)  # of second order: the sums have a gradient, too
    if back.grads[0] is None:
        return [None] * len(back.inputs)
    names = _takes(**back.attrs)
    wanted = tuple(
        number
        for number, name in enumerate(names)
        if back.wanted[number] and (name in _NEEDED or name == "bias")
    )
    if not wanted:
        return [None] * len(back.inputs)
    call, _ = get(_BACKWARD).bind({**back.attrs, "wanted": wanted}, back.call.train)
    operands = [*back.inputs, *back.outputs[:2], back.grads[0]]
    return back.placed(wanted, back.apply(call, operands))


@operator(
    _NAME,
    aliases=("_npx_dot_product_attention",),
    outputs=2,
    visible=1,
    takes=_takes,
    presence=_FLAGS,
    check=_check,
    infer=_types,
    gradient=_gradient,
    cost=_cost,
    takes_state=lambda *, dropout, **_: dropout > 0,
)
def dot_product_attention(
    queries: Any,
    keys: Any,
    values: Any,
    mask: Any = None,
    bias: Any = None,
    lengths: Any = None,
    starts: Any = None,
    *,
    causal: bool = False,
    window: Annotated[int, Range(1)] | None = None,
    scale: float | None = None,
    dropout: Annotated[float, Range(0, 1)] = 0.0,
    use_mask: bool = False,
    use_bias: bool = False,
    use_lengths: bool = False,
    use_starts: bool = False,
    train: Train,
    platform: Platform,
    state: RandomState = None,
) -> Any:
    """Mixes values by how well their keys fit each query: ``softmax(scale * q kᵀ + bias) v``.

    Vaswani et al., "Attention is all you need", 2017. Of long sequences the scores are computed in
    blocks and again for the gradient, so that memory grows with the length and not its square. A
    query that sees no key gives 0.

    Args:
        queries: (batch, queries, heads, units), floating point.
        keys: (batch, keys, key heads, units); the key heads divide the heads, and each serves as
            many heads in a row (grouped-query attention).
        values: (batch, keys, key heads, value units).
        mask: where a query sees a key: not 0. (batch, heads, queries, keys), each of which may be
            1; or (batch, queries, keys), or (queries, keys).
        bias: added to the scores, of the shapes that `mask` may have.
        lengths: (batch,), how many keys of a sequence there are, from the front; or (batch,
            queries), how many a query sees.
        starts: (batch,), the position of the first query among the keys, for `causal` and `window`;
            default: the last query is where the last key is.
        causal: hide the keys after a query.
        window: a query sees so many keys: its own and those before it; with causal=False as many
            after it, too. Default all.
        scale: default ``1 / sqrt(units)``.
        dropout: the probability that a share is dropped, in training.
        use_mask, use_bias, use_lengths, use_starts: whether these are given; set where they are.

    Returns:
        (batch, queries, heads, value units), the dtype of `queries`; narrow floats are computed in
        float32. Hidden: the logarithms of the sums of the exponentials, (batch, queries, heads).
    """
    given = [one for one in (mask, bias, lengths, starts) if one is not None]
    return _lowering(
        queries,
        keys,
        values,
        *given,
        train=train,
        platform=platform,
        state=state,
        causal=causal,
        window=window,
        scale=scale,
        dropout=dropout,
        use_mask=use_mask,
        use_bias=use_bias,
        use_lengths=use_lengths,
        use_starts=use_starts,
    )


# -- the gradient ----------------------------------------------------------------------------------


def _backward_lowering(
    *arrays: Any,
    wanted: tuple[int, ...],
    train: bool,
    platform: str,
    in_blocks: bool = False,
    **params: Any,
) -> Sequence[Any]:
    names, p = _takes(**params), params["dropout"]
    inputs = arrays[: len(names)]
    output, sums, grad = arrays[-3:]
    key, _ = _key(arrays[len(names)], p, train)
    (queries, keys, values), attention = _prepared(inputs, key, platform, in_blocks, params)
    output, grad, sums = (
        _grouped(_heads_first(x, queries.dtype), attention.visible.sizes)
        for x in (output, grad, sums)
    )
    head = queries, grad, sums, jnp.sum(output * grad, axis=4)
    with_bias = any(names[number] == "bias" for number in wanted)
    found = blocked.backward(head, keys, values, attention, with_bias=with_bias)
    of_queries = _heads_last(found.queries * _scale(inputs[0], params["scale"]))
    made = {"queries": of_queries, "bias": found.bias}
    made |= {name: jnp.moveaxis(getattr(found, name), 1, 2) for name in ("keys", "values")}
    return [
        jnp.astype(made[names[number]].reshape(inputs[number].shape), inputs[number].dtype)
        for number in wanted
    ]


def _backward_keywords() -> Mapping[str, Any]:
    keywords = keywords_of(dot_product_attention)
    del keywords["state"]
    return {**keywords, "wanted": (Shape, REQUIRED)}


operator(
    _BACKWARD,
    outputs=lambda *, wanted, **_: len(wanted),
    infer=lambda *types, wanted, **_: [types[number] for number in wanted],
    cost=lambda *types, **params: 2.5 * _cost(*types, **params),
    doc="""Gradient of dot_product_attention, from its inputs, its outputs and their gradient.

Args:
    arrays: the inputs (with the random state, where dropout > 0), the outputs with the hidden one,
        and the gradient of the first.
    wanted: the inputs whose gradients are wanted, by number.
""",
)(signed(_backward_lowering, ("*arrays",), _backward_keywords()))


# -- in blocks -------------------------------------------------------------------------------------


def _can_be_cut(site: Site) -> bool:
    # What is differentiated as a whole is the gradient, for one of second order: its blocks would
    # all be kept.
    return site.is_static and site.wanted is None


def _choose(site: Site) -> str:
    queries, keys = (operand.shape[1] for operand in site.operands[:2])
    many = _MANY_POSITIONS if site.platform == "cpu" else _MANY_POSITIONS_ON_ACCELERATORS
    return "blocks" if min(queries, keys) >= many else PLAIN


for _name, _function in ((_NAME, _lowering), (_BACKWARD, _backward_lowering)):
    alternative(_name, "blocks", applies=_can_be_cut, tolerance=1e-5)(
        partial(_function, in_blocks=True)
    )
    builtin_choice(_name)(_choose)

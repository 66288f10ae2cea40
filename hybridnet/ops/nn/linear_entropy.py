"""The cross entropy of a dense layer's outputs, of which only some rows are there at a time.

With a large vocabulary the scores of a batch are larger than the network: 8,192 rows of 128,000
scores are 4 GB. The loss needs of each row its sum of exponentials and one score, and the gradient
computes the scores again (as Wijmans et al., "Cut your losses in large-vocabulary language models",
2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

import numpy as np

from hybridnet.base.attrs import Range
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.alternatives import PLAIN, Site, alternative, builtin_choice
from ..core.backward import vjp_gradient
from ..core.call import Backward, IndexBound
from ..core.checks import require_floats, require_one_dtype, wide
from ..core.operator import describe
from ..core.registry import get, operator

_OP: Final = "linear_cross_entropy"
_NAME: Final = "_contrib_linear_cross_entropy"
_BACKWARD: Final = "_backward_linear_cross_entropy"
_NAMES: Final = ("data", "weight", "label")
# Scores that are there at a time, in blocks: 64 MB.
_MOST_SCORES: Final = 1 << 24


def _check(data: TensorType, weight: TensorType, label: TensorType, **_: Any) -> None:
    types = (data, weight, label)
    require_floats(_OP, _NAMES, types)
    require_one_dtype(_OP, _NAMES[:2], types[:2])
    fits = len(data.shape) == len(weight.shape) == 2 and data.shape[1] == weight.shape[1]
    if not fits or label.shape != data.shape[:1]:
        raise ShapeError(
            f"{_OP}: data must be (rows, units), weight (classes, units) and label (rows,), got "
            f"{describe(_NAMES, types)}"
        )


def _types(data: TensorType, *_: TensorType, **__: Any) -> tuple[TensorType, ...]:
    return (tensor_type(data.shape[:1], wide(data.dtype)),) * 2


def _bounds(
    data: TensorType, weight: TensorType, label: TensorType, *, ignore_label: int | None, **_: Any
) -> Sequence[IndexBound]:
    beside = None if ignore_label is None else float(ignore_label)
    return (IndexBound(2, "label", weight.shape[:1], (0,), besides=beside, always=True),)


class _Rows(NamedTuple):
    """Rows, and what is known of them.

    Attributes:
        data: (rows, units).
        label: (rows,), int32.
        counts: (rows,), 1, or 0 where the label is to be ignored.
    """

    data: Any
    label: Any
    counts: Any


def _prepared(data: Any, weight: Any, label: Any, ignore_label: int | None) -> tuple[_Rows, Any]:
    dtype = wide(data.dtype)
    counts = jnp.ones(label.shape, dtype)
    if ignore_label is not None:
        is_ignored = label == ignore_label
        counts = jnp.where(is_ignored, np.zeros((), dtype), counts)
        label = jnp.where(is_ignored, np.zeros((), label.dtype), label)
    label = jnp.clip(jnp.astype(label, np.int32), 0, max(weight.shape[0] - 1, 0))
    return _Rows(jnp.astype(data, dtype), label, counts), jnp.astype(weight, dtype)


def _in_blocks(one: Callable[..., Any], arrays: Sequence[Any], classes: int) -> Any:
    """Runs a function on some rows at a time, and joins what it returns."""
    rows = arrays[0].shape[0]
    count = max(min(_MOST_SCORES // max(classes, 1), rows), 1)
    whole = rows // count
    split = [x[: whole * count].reshape(whole, count, *x.shape[1:]) for x in arrays]
    made = lax.map(lambda block: one(*block), tuple(split))
    joined = [x.reshape(whole * count, *x.shape[2:]) for x in made]
    if whole * count == rows:
        return joined
    last = one(*(x[whole * count :] for x in arrays))
    return [jnp.concatenate([x, y]) for x, y in zip(joined, last, strict=True)]


def _loss(rows: _Rows, weight: Any, smoothing: float) -> tuple[Any, Any]:
    scores = jnp.matmul(rows.data, weight.T)
    highest = jnp.max(scores, axis=1, keepdims=True, initial=-np.inf)
    logs = (highest + jnp.log(jnp.sum(jnp.exp(scores - highest), axis=1, keepdims=True)))[:, 0]
    wanted = jnp.take_along_axis(scores, rows.label[:, None], axis=1)[:, 0]
    loss = logs - wanted
    if smoothing:
        mean = logs - jnp.mean(scores, axis=1)
        loss = (1 - smoothing) * loss + smoothing * mean
    return loss * rows.counts, logs


def _lowering(
    data: Any,
    weight: Any,
    label: Any,
    *,
    smoothing: float = 0.0,
    ignore_label: int | None = None,
    in_blocks: bool = False,
) -> Sequence[Any]:
    rows, weight = _prepared(data, weight, label, ignore_label)

    def one(*block: Any) -> tuple[Any, Any]:
        return _loss(_Rows(*block), weight, smoothing)

    made: Sequence[Any] = _in_blocks(one, rows, weight.shape[0]) if in_blocks else one(*rows)
    return made


def _gradient(back: Backward) -> Sequence[Any]:
    if back.grads[1] is not None:
        return vjp_gradient(back)  # of second order: the logarithms have a gradient, too
    if back.grads[0] is None:
        return [None] * 3
    call, _ = get(_BACKWARD).bind(back.attrs)
    made = back.apply(call, [back.grads[0], *back.inputs, back.outputs[1]])
    return [*made, None]


@operator(
    _NAME,
    aliases=("_npx_linear_cross_entropy",),
    outputs=2,
    visible=1,
    check=_check,
    infer=_types,
    bounds=_bounds,
    gradient=_gradient,
    cost=lambda data, weight, _, **__: 2.0 * data.size * weight.shape[0],
)
def linear_cross_entropy(
    data: Any,
    weight: Any,
    label: Any,
    *,
    smoothing: Annotated[float, Range(0, 1)] = 0.0,
    ignore_label: int | None = None,
) -> Any:
    """Cross entropy of the softmax of ``data @ weight.T``, whose scores need not be kept.

    Of large vocabularies the scores are computed some rows at a time, and again for the gradient.

    Args:
        data: (rows, units), floating point: hidden states.
        weight: (classes, units).
        label: (rows,), class numbers. One outside is an error, at once or where a value is next
            read.
        smoothing: how much of the label is spread over all classes (Szegedy et al., 2016).
        ignore_label: a label whose rows have no loss.

    Returns:
        (rows,), float32 or wider. Hidden: the logarithms of the sums of the exponentials.
    """
    return _lowering(data, weight, label, smoothing=smoothing, ignore_label=ignore_label)


def _slopes(rows: _Rows, grad: Any, logs: Any, weight: Any, smoothing: float) -> tuple[Any, Any]:
    """Returns the gradients of the data and, of these rows, of the weight."""
    scores = jnp.matmul(rows.data, weight.T)
    classes = jnp.arange(weight.shape[0], dtype=np.int32)
    wanted = jnp.astype(classes == rows.label[:, None], scores.dtype)
    if smoothing:
        wanted = (1 - smoothing) * wanted + smoothing / weight.shape[0]
    slopes = (jnp.exp(scores - logs[:, None]) - wanted) * (grad * rows.counts)[:, None]
    return jnp.matmul(slopes, weight), jnp.matmul(slopes.T, rows.data)


def _backward_lowering(
    grad: Any,
    data: Any,
    weight: Any,
    label: Any,
    logs: Any,
    *,
    smoothing: float = 0.0,
    ignore_label: int | None = None,
    in_blocks: bool = False,
) -> Sequence[Any]:
    rows, wide_weight = _prepared(data, weight, label, ignore_label)
    arrays = (*rows, jnp.astype(grad, rows.data.dtype), logs)
    if in_blocks:
        of_data, of_weight = _slopes_in_blocks(arrays, wide_weight, smoothing)
    else:
        of_data, of_weight = _slopes(rows, arrays[3], logs, wide_weight, smoothing)
    return jnp.astype(of_data, data.dtype), jnp.astype(of_weight, weight.dtype)


def _slopes_in_blocks(arrays: Sequence[Any], weight: Any, smoothing: float) -> tuple[Any, Any]:
    rows = arrays[0].shape[0]
    count = max(min(_MOST_SCORES // weight.shape[0], rows), 1)
    whole = rows // count

    def one(block: Sequence[Any]) -> tuple[Any, Any]:
        return _slopes(_Rows(*block[:3]), block[3], block[4], weight, smoothing)

    def step(total: Any, block: Sequence[Any]) -> tuple[Any, Any]:
        of_data, of_weight = one(block)
        return total + of_weight, of_data

    split = tuple(x[: whole * count].reshape(whole, count, *x.shape[1:]) for x in arrays)
    total, of_data = lax.scan(step, jnp.zeros_like(weight), split)
    of_data = of_data.reshape(whole * count, -1)
    if whole * count == rows:
        return of_data, total
    last_data, last = one([x[whole * count :] for x in arrays])
    return jnp.concatenate([of_data, last_data]), total + last


@operator(
    _BACKWARD,
    outputs=2,
    infer=lambda grad, data, weight, *_, **__: (data, weight),
    cost=lambda grad, data, weight, *_, **__: 6.0 * data.size * weight.shape[0],
)
def backward_linear_cross_entropy(
    grad: Any,
    data: Any,
    weight: Any,
    label: Any,
    logs: Any,
    *,
    smoothing: float = 0.0,
    ignore_label: int | None = None,
) -> Any:
    """Gradients of linear_cross_entropy by data and weight; `logs` is its hidden output."""
    return _backward_lowering(
        grad, data, weight, label, logs, smoothing=smoothing, ignore_label=ignore_label
    )


def _can_be_cut(site: Site) -> bool:
    # What is differentiated as a whole would keep all blocks.
    return site.is_static and site.wanted is None


def _choice(data: int, site: Site) -> str:
    rows, classes = site.operands[data].shape[0], site.operands[data + 1].shape[0]
    return "blocks" if rows * classes > _MOST_SCORES else PLAIN


for _name, _function, _data in ((_NAME, _lowering, 0), (_BACKWARD, _backward_lowering, 1)):
    alternative(_name, "blocks", applies=_can_be_cut, tolerance=1e-5)(
        partial(_function, in_blocks=True)
    )
    builtin_choice(_name)(partial(_choice, _data))

"""Connectionist temporal classification: the loss of a sequence that is not aligned.

Graves et al., "Connectionist temporal classification", 2006. The sum over all alignments is one
scan over time, in the log domain, and its gradient is that of the scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jax, jnp, lax

from ..core.checks import require_floats, wide
from ..core.operator import describe
from ..core.registry import operator

# The logarithm of a probability of zero: finite, so that no gradient is a NaN, and far below what
# sums of real ones come to.
_LOG_ZERO: Final = -1e30


def _inputs(*, use_data_lengths: bool, use_label_lengths: bool, **_: Any) -> Sequence[str]:
    lengths = (("data_lengths", use_data_lengths), ("label_lengths", use_label_lengths))
    return ("data", "label", *(name for name, used in lengths if used))


def _check(*types: TensorType, **params: Any) -> None:
    names = _inputs(**params)
    if len(types) != len(names):
        raise ParameterError(
            f"CTCLoss: these parameters require the inputs {', '.join(names)}, got "
            f"{len(types)} inputs"
        )
    data, label, *lengths = types
    require_floats("CTCLoss", names, types)
    fits = len(data.shape) == 3 and len(label.shape) == 2 and label.shape[0] == data.shape[1]
    if not fits or 0 in data.shape:
        raise ShapeError(
            "CTCLoss: requires data (time, batch, classes) with no size 0 and label (batch, "
            f"length), got {describe(names, types)}"
        )
    for name, given in zip(names[2:], lengths, strict=True):
        if given.shape != data.shape[1:2]:
            raise ShapeError(
                f"CTCLoss: {name} must have shape {data.shape[1:2]}, that of the batch, got {given}"
            )


def _lengths_of(label: Any, padding: int) -> Any:
    """The number of labels before the first that is padding, (batch,)."""
    return jnp.cumprod(label != padding, axis=1, dtype="int32").sum(1)


def _alignments(scores: Any, states: Any, blank: int, steps: Any) -> Any:
    """The logarithm of the probability to be in each state at the end, (batch, states).

    Args:
        scores: (time, batch, classes), logarithms of probabilities.
        states: (batch, 2 * length + 1), the labels with a blank before, between and after them.
        blank: the class of blanks.
        steps: (batch,), how long the sequences are.
    """
    count = states.shape[1]
    emitted = jnp.take_along_axis(scores, states[None].repeat(scores.shape[0], 0), 2, mode="clip")
    # A blank may be left out between two different labels.
    before = jnp.pad(states, ((0, 0), (2, 0)), constant_values=blank)[:, :count]
    may_skip = (states != blank) & (states != before)
    start = jnp.where(jnp.arange(count) < 2, emitted[0], _LOG_ZERO)

    def shifted(alpha: Any, by: int) -> Any:
        return jnp.pad(alpha, ((0, 0), (by, 0)), constant_values=_LOG_ZERO)[:, :count]

    def step(alpha: Any, now: tuple[Any, Any]) -> tuple[Any, None]:
        time, emission = now
        skipped = jnp.where(may_skip, shifted(alpha, 2), _LOG_ZERO)
        arrived = jnp.logaddexp(jnp.logaddexp(alpha, shifted(alpha, 1)), skipped) + emission
        return jnp.where((time < steps)[:, None], arrived, alpha), None

    times = jnp.arange(1, scores.shape[0])
    return lax.scan(step, start, (times, emitted[1:]))[0]


@operator(
    "CTCLoss",
    aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"),
    takes=_inputs,
    check=_check,
    infer=lambda data, *_, **__: (tensor_type(data.shape[1:2], data.dtype),),
)
def ctc_loss(
    data: Any,
    label: Any,
    data_lengths: Any = None,
    label_lengths: Any = None,
    *,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
) -> Any:
    """The negative logarithm of the probability of a sequence of labels, over all alignments.

    Args:
        data: (time, batch, classes), scores, of which softmax makes probabilities.
        label: (batch, length), classes, ended by padding.
        data_lengths: (batch,), how much of the time counts; with use_data_lengths=True alone.
        label_lengths: (batch,), how many labels count; with use_label_lengths=True alone, or else
            those before the first that is padding.
        use_data_lengths: whether `data_lengths` is given.
        use_label_lengths: whether `label_lengths` is given.
        blank_label: the class of blanks: 'first' is 0, and 0 is padding too; 'last' is the last
            one, and -1 is padding.

    Returns:
        (batch,). Labels that the time is too short for have an infinite loss without a gradient;
        no labels have that of blanks alone (for both MXNet returns what is no loss).
    """
    if use_label_lengths and not use_data_lengths:  # given in the place of the other
        data_lengths, label_lengths = None, data_lengths
    time, batch, classes = data.shape
    blank, padding = (0, 0) if blank_label == "first" else (classes - 1, -1)
    label = label.astype("int32")
    length = label_lengths.astype("int32") if use_label_lengths else _lengths_of(label, padding)
    steps = data_lengths.astype("int32") if use_data_lengths else jnp.full(batch, time, "int32")
    states = at(jnp.full((batch, 2 * label.shape[1] + 1), blank, "int32"))[:, 1::2].set(label)
    if use_data_lengths:  # what is beyond may be anything, NaN too, and has no gradient
        data = jnp.where((jnp.arange(time)[:, None] < steps)[:, :, None], data, 0)
    scores = jax.nn.log_softmax(data.astype(wide(data.dtype)), axis=2)
    ends = _alignments(scores, states, blank, steps)
    last = jnp.take_along_axis(ends, 2 * length[:, None], 1, mode="clip")[:, 0]
    before = jnp.take_along_axis(ends, 2 * length[:, None] - 1, 1, mode="clip")[:, 0]
    total = jnp.logaddexp(last, jnp.where(length > 0, before, _LOG_ZERO))
    return jnp.where(total > _LOG_ZERO / 2, -total, jnp.inf).astype(data.dtype)

"""The cross entropy of softmax with a distribution for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.call import Backward
from ..core.checks import require_floats, require_one_dtype
from ..core.operator import describe
from ..core.registry import get, operator

_NAMES = ("logits", "labels")


def _check(logits: TensorType, labels: TensorType) -> None:
    require_floats("_softmax_entropy", _NAMES, (logits, labels))
    require_one_dtype("_softmax_entropy", _NAMES, (logits, labels))
    if logits.shape != labels.shape or not logits.shape:
        raise ShapeError(
            "_softmax_entropy: logits and labels must have one shape, of at least one dimension, "
            f"got {describe(_NAMES, (logits, labels))}"
        )


def _gradient(back: Backward) -> Sequence[Any]:
    """As TensorFlow's: labels are taken to add up to 1."""
    logits, labels = back.inputs

    def applied(name: str, *inputs: Any, **attrs: Any) -> Any:
        return back.apply(get(name).bind(attrs)[0], inputs)[0]

    head = applied("expand_dims", back.grads[0], axis=-1)
    difference = applied("elemwise_sub", applied("softmax", logits, axis=-1), labels)
    logarithm = applied("negative", applied("log_softmax", logits, axis=-1))
    return [
        applied("broadcast_mul", difference, head),
        applied("broadcast_mul", logarithm, head),
    ]


@operator(
    "_softmax_entropy",
    check=_check,
    infer=lambda logits, labels: (tensor_type(logits.shape[:-1], logits.dtype),),
    gradient=_gradient,
)
def softmax_entropy(logits: Any, labels: Any) -> Any:
    """``-sum(labels * log_softmax(logits))`` along the last axis.

    Args:
        logits: (..., classes), floating point.
        labels: the same shape and dtype; each row adds up to 1, which the gradient relies on.

    Returns:
        (...).
    """
    shifted = logits - logits.max(-1, keepdims=True)
    total = jnp.log(jnp.sum(jnp.exp(shifted), -1, keepdims=True))
    return jnp.sum(labels * (total - shifted), -1)

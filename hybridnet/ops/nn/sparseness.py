"""A penalty for units that are active too often: sparse autoencoders' regularization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from hybridnet.base.attrs import Range, Train
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType

from ..core.call import Backward
from ..core.checks import fill, require_floats, require_one_dtype
from ..core.operator import Shapes, describe
from ..core.registry import get, operator

_NAMES = ("data", "moving_avg")


def _check(data: TensorType, moving_avg: TensorType, **_: Any) -> None:
    op = "IdentityAttachKLSparseReg"
    types = (data, moving_avg)
    require_floats(op, ("data",), (data,))
    require_one_dtype(op, _NAMES, types)
    if len(data.shape) != 2 or moving_avg.shape != data.shape[1:]:
        raise ShapeError(
            f"{op}: data must be (batch, units) and moving_avg (units,), got "
            f"{describe(_NAMES, types)}"
        )


def _shapes(shapes: Shapes, **_: Any) -> Shapes:
    data, average = shapes
    return [data, average if data is None or len(data) != 2 else fill(average, data[1:])]


def _gradient(back: Backward) -> Sequence[Any]:
    attrs = {name: back.attrs[name] for name in ("sparseness_target", "penalty")}
    call, _ = get("_backward_IdentityAttachKLSparseReg").bind(attrs)
    return [*back.apply(call, [back.grads[0], back.outputs[1]]), None]


@operator(
    "IdentityAttachKLSparseReg",
    outputs=2,
    visible=1,
    mutates={"moving_avg": 1},
    check=_check,
    infer=lambda data, moving_avg, **_: (data, moving_avg),
    complete=_shapes,
    gradient=_gradient,
    own_gradient=lambda **_: True,
)
def identity_attach_kl_sparse_reg(
    data: Any,
    moving_avg: Any,
    *,
    sparseness_target: Annotated[float, Range(0, 1)] = 0.1,
    penalty: float = 0.001,
    momentum: Annotated[float, Range(0, 1)] = 0.9,
    train: Train,
) -> Any:
    """Passes on sigmoids; each unit's gradient grows by how far its mean is from a target.

    Hinton, "A practical guide to training restricted Boltzmann machines", 2010, section 11. What is
    added is the derivative, by the mean activation m of the unit, of the Kullback-Leibler
    divergence between chances of `sparseness_target` and of m to be active, times `penalty`.

    Args:
        data: (batch, units), numbers between 0 and 1.
        moving_avg: (units,), the mean, overwritten in training with
            ``momentum * moving_avg + (1 - momentum) * mean`` (MXNet does so in the backward pass).
        sparseness_target: how often a unit should be active.
        penalty: a factor of what is added.
        momentum: of the mean.
    """
    if train:
        mean = data.mean(0).astype(moving_avg.dtype)
        moving_avg = momentum * moving_avg + (1 - momentum) * mean
    return data, moving_avg


@operator("_backward_IdentityAttachKLSparseReg", infer=lambda grad, *_, **__: (grad,))
def backward_identity_attach_kl_sparse_reg(
    grad: Any, moving_avg: Any, *, sparseness_target: float, penalty: float
) -> Any:
    """Gradient of IdentityAttachKLSparseReg from that of its output and the mean it has left."""
    slope = (1 - sparseness_target) / (1 - moving_avg) - sparseness_target / moving_avg
    return grad + (penalty * slope).astype(grad.dtype)

"""The output layer of a support vector machine: the gradient of the hinge loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jnp

from ..core.call import Backward, IndexBound
from ..core.checks import fill, require_floats
from ..core.operator import Shapes, describe
from ..core.registry import get, operator
from ..core.rules import same_type


def _check(data: TensorType, label: TensorType, **_: Any) -> None:
    require_floats("SVMOutput", ("data",), (data,))
    if len(data.shape) != 2 or label.shape != data.shape[:1]:
        raise ShapeError(
            "SVMOutput: data must be (batch, classes) and label (batch,), got "
            f"{describe(('data', 'label'), (data, label))}"
        )


def _complete(shapes: Shapes, **_: Any) -> Shapes:
    data, label = shapes
    return [data, label if data is None else fill(label, data[:1])]


def _gradient(back: Backward) -> Sequence[Any]:
    call, scalars = get("_backward_SVMOutput").bind(back.attrs)
    return [*back.apply(call, [back.outputs[0], back.inputs[1]], scalars), None]


@operator(
    "SVMOutput",
    bounds=lambda data, label, **_: (IndexBound(1, "label", data.shape[1:], (1,)),),
    check=_check,
    infer=same_type,
    complete=_complete,
    gradient=_gradient,
    own_gradient=lambda **_: True,
)
def svm_output(
    data: Any,
    label: Any,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> Any:
    """Passes on the scores; the gradient is that of the hinge loss of each class against the rest.

    It does not depend on what is done with the output later. The loss of a score s is
    ``max(0, margin - t * s)**2`` with t = 1 for the class of the label and -1 for the others.

    Args:
        data: (batch, classes), scores.
        label: (batch,), the class of each.
        margin: see above.
        regularization_coefficient: a factor of the gradient.
        use_linear: without the square.

    Returns:
        The shape and dtype of `data`.
    """
    return data


@operator("_backward_SVMOutput", infer=same_type)
def backward_svm_output(
    data: Any,
    label: Any,
    *,
    margin: float,
    regularization_coefficient: float,
    use_linear: bool,
) -> Any:
    """Gradient of SVMOutput.

    Args:
        data: (batch, classes), scores.
        label: (batch,), the class of each.
        margin: see SVMOutput.
        regularization_coefficient: see SVMOutput.
        use_linear: see SVMOutput.
    """
    own = jnp.arange(data.shape[1]) == label.astype("int32")[:, None]
    sign = jnp.where(own, 1, -1).astype(data.dtype)
    short = margin - sign * data
    slope = jnp.ones_like(data) if use_linear else 2 * short
    return jnp.where(short > 0, -sign * slope * regularization_coefficient, 0).astype(data.dtype)

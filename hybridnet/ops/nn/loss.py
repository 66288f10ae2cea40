"""Output layers that bring their own gradient, that of a loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jnp, lax

from ..core.call import Backward, IndexBound
from ..core.checks import fill, require_floats, wide
from ..core.operator import Shapes, describe
from ..core.registry import get, operator
from ..core.rules import known_product, same_type
from .softmax import masked_softmax, one_hot


def _label_shapes(
    data: tuple[int, ...], multi_output: bool, preserve_shape: bool
) -> list[tuple[int, ...]]:
    """Returns the label shapes that fit, the one that is filled in where none is known first."""
    if multi_output:
        batch, _, *rest = data
        return [(batch, known_product(rest)), (batch, *rest), (batch, 1, *rest), data]
    if preserve_shape or len(data) == 2:
        return [data[:-1], data]
    return [data[:-1], data[:1], data]


def _output_check(
    data: TensorType, label: TensorType, *, multi_output: bool, preserve_shape: bool, **_: Any
) -> None:
    require_floats("SoftmaxOutput", ("data",), (data,))
    if len(data.shape) < 2:
        raise ShapeError(f"SoftmaxOutput: data must have 2 dimensions or more, got data {data}")
    fits = _label_shapes(data.shape, multi_output, preserve_shape)
    if label.shape not in fits:
        wanted = " or ".join(str(shape) for shape in dict.fromkeys(fits))
        raise ShapeError(
            f"SoftmaxOutput: label must have shape {wanted} for multi_output={multi_output}, "
            f"got {describe(('data', 'label'), (data, label))}"
        )


def _output_shapes(shapes: Shapes, *, multi_output: bool, preserve_shape: bool, **_: Any) -> Shapes:
    data, label = shapes
    if data is None or len(data) < 2 or label not in (None, ()):
        return shapes
    return [data, _label_shapes(data, multi_output, preserve_shape)[0]]


def _output_gradient(back: Backward) -> Sequence[Any]:
    call, _ = get("_backward_SoftmaxOutput").bind(back.attrs)
    inputs = [back.outputs[0], back.inputs[1]]
    if back.attrs["out_grad"]:
        inputs.append(back.grads[0])
    return [*back.apply(call, inputs), None]


def _rows(data: Any, multi_output: bool, preserve_shape: bool) -> Any:
    """Views the data as (rows, classes, spatial)."""
    if multi_output:
        return data.reshape(*data.shape[:2], -1)
    if preserve_shape:
        return data.reshape(-1, data.shape[-1], 1)
    return data.reshape(data.shape[0], -1, 1)


def _label_bounds(
    data: TensorType,
    label: TensorType,
    *,
    use_ignore: bool,
    ignore_label: float,
    preserve_shape: bool,
    **_: Any,
) -> Sequence[IndexBound]:
    if label.shape == data.shape:  # probabilities
        return ()
    classes = data.shape[-1 if preserve_shape else 1]
    return (IndexBound(1, "label", (classes,), (), besides=ignore_label if use_ignore else None),)


@operator(
    "SoftmaxOutput",
    bounds=_label_bounds,
    aliases=("Softmax",),
    check=_output_check,
    infer=same_type,
    complete=_output_shapes,
    gradient=_output_gradient,
    own_gradient=lambda *, out_grad, **_: not out_grad,
)
def softmax_output(
    data: Any,
    label: Any,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Any:
    """Softmax whose gradient is that of the cross entropy with the labels.

    The gradient with respect to `data` is ``grad_scale * (softmax - onehot(label))``, whatever is
    done with the output later; `label` gets none.

    Args:
        data: (batch, classes), more axes being flattened into the classes.
        label: (batch,) class indices, whose fraction does not count; or probabilities in the
            shape of `data`, which makes the gradient ``grad_scale * (softmax - label)``.
        grad_scale: a factor of the gradient.
        ignore_label: the label meant by `use_ignore` and normalization='valid'.
        multi_output: `data` is (batch, classes, *spatial), `label` (batch, *spatial), and the
            gradient is divided by the spatial size (but not with normalization='valid').
        use_ignore: give elements labeled `ignore_label` no gradient.
        preserve_shape: `data` is (..., classes), `label` (...).
        normalization: divides the gradient: 'null' by nothing, 'batch' by the number of rows,
            'valid' by the number of labels that are not `ignore_label`.
        out_grad: multiply the gradient by that of the output. (MXNet 1.9.1 multiplies by the
            output itself; this does what its documentation says.)
        smooth_alpha: label smoothing: the onehot is ``1 - smooth_alpha`` at the label and
            ``smooth_alpha / (classes - 1)`` elsewhere. Not with multi_output, as in MXNet.

    Returns:
        The softmax, the shape and dtype of `data`.
    """
    if data.ndim == 2 and not multi_output:
        # As the operator softmax has it: XLA sums in another order with an axis more.
        return masked_softmax(data, axis=1)
    rows = _rows(data, multi_output, preserve_shape)
    return masked_softmax(rows, axis=1).reshape(data.shape)


@operator("_backward_SoftmaxOutput", infer=same_type)
def backward_softmax_output(
    output: Any,
    label: Any,
    grad: Any = None,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Any:
    """Gradient of SoftmaxOutput from its output, the labels and, with `out_grad`, the head's."""
    dtype = wide(output.dtype)
    probability = _rows(output, multi_output, preserve_shape).astype(dtype)
    if label.shape == output.shape:
        result = (probability - label.reshape(probability.shape).astype(dtype)) * grad_scale
    else:
        rows, classes, spatial = probability.shape
        # Flat data with a label for each inner row: MXNet counts on, and so do we.
        label = label.reshape(-1)[: rows * spatial].reshape(rows, spatial).astype("int32")
        target = one_hot(label, probability, 1).astype(dtype)
        if smooth_alpha and not multi_output:
            spread = smooth_alpha / (classes - 1)
            target = spread + (1 - smooth_alpha - spread) * target
        valid = label != int(ignore_label)
        result = (probability - target) * (grad_scale / _divisor(normalization, rows, spatial))
        if normalization == "valid":
            result = result / jnp.maximum(valid.sum(), 1).astype(dtype)
        if use_ignore:
            result = jnp.where(valid[:, None], result, 0)
    result = result.reshape(output.shape)
    if grad is not None:
        result = result * grad.astype(dtype)
    return result.astype(output.dtype)


def _divisor(normalization: str, rows: int, spatial: int) -> int:
    return {"null": spatial, "batch": spatial * rows, "valid": 1}[normalization]


def _regression(
    name: str, link: Callable[[Any], Any], error: Callable[[Any], Any], doc: str
) -> None:
    """Registers an output layer for numbers.

    Args:
        name: MXNet's name.
        link: the output, of the data.
        error: the gradient, of output minus label.
        doc: the first sentence of the documentation.
    """

    def check(data: TensorType, label: TensorType, **_: Any) -> None:
        require_floats(name, ("data",), (data,))
        if not data.shape:
            raise ShapeError(f"{name}: data must have 1 dimension or more, got data {data}")
        column = len(data.shape) > 1 and data.shape[-1] == 1
        if label.shape != data.shape and not (column and label.shape == data.shape[:-1]):
            raise ShapeError(
                f"{name}: label must have the shape of data, got "
                f"{describe(('data', 'label'), (data, label))}"
            )

    def complete(shapes: Shapes, **_: Any) -> Shapes:
        data, label = shapes
        if data is None:
            return shapes
        wanted = data[:1] if len(data) == 2 and data[1] == 1 else data
        return [data, fill(label, wanted)]

    def lowering(data: Any, label: Any, *, grad_scale: float = 1.0) -> Any:
        return link(data)

    def backward(output: Any, label: Any, *, grad_scale: float) -> Any:
        scale = grad_scale * output.shape[0] / max(math.prod(output.shape), 1)
        return error(output - label.reshape(output.shape).astype(output.dtype)) * scale

    def gradient(back: Backward) -> Sequence[Any]:
        call, _ = get(f"_backward_{name}").bind(back.attrs)
        return [*back.apply(call, [back.outputs[0], back.inputs[1]]), None]

    operator(
        name,
        aliases=(f"_sparse_{name}",),
        check=check,
        infer=same_type,
        complete=complete,
        gradient=gradient,
        own_gradient=lambda **_: True,
        doc=f"{doc}\n\n{_REGRESSION_DOC}",
    )(lowering)
    operator(f"_backward_{name}", infer=same_type, doc=f"Gradient of {name}.")(backward)


_REGRESSION_DOC = """The gradient is divided by the numbers in a row, and does not depend on what
is done with the output later.

Args:
    data: (batch, ...).
    label: the shape of `data`, or (batch,) for data of shape (batch, 1).
    grad_scale: a factor of the gradient.

Returns:
    The shape and dtype of `data`.
"""

_regression(
    "LinearRegressionOutput",
    lambda x: x,
    lambda difference: difference,
    "Passes on the data; the gradient is that of half the squared error, ``data - label``.",
)
_regression(
    "LogisticRegressionOutput",
    lambda x: lax.logistic(x),
    lambda difference: difference,
    "Applies the logistic function; the gradient is that of the cross entropy, ``output - label``.",
)
_regression(
    "MAERegressionOutput",
    lambda x: x,
    lambda difference: jnp.where(difference == 0, -1, jnp.sign(difference)),
    "Passes on the data; the gradient is ``sign(data - label)``, and -1 where both are equal.",
)

"""Second derivatives: ``tf.hessians``."""

from __future__ import annotations

from typing import Any

from ..graph import Tensor, convert_to_tensor, name_scope
from ..graph.gradients import gradients
from ..operations import reshape, stack, unstack
from ..variables.variable import Variable

__all__ = ["hessians"]


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
) -> list[Tensor]:
    """Returns the second derivatives of a sum with respect to tensors.

    Args:
        ys: tensors, whose elements are added up.
        xs: a tensor or a variable of known shape, or a list of these.
        colocate_gradients_with_ops, gate_gradients, aggregation_method: without meaning here.

    Returns:
        For each of `xs` a tensor of its shape twice.

    Raises:
        ValueError: a shape is not known, or the sum does not depend on one.
    """
    found = []
    with name_scope(name, "hessians"):
        for x in xs if isinstance(xs, (list, tuple)) else [xs]:
            tensor = x.value() if isinstance(x, Variable) else convert_to_tensor(x)
            dims = tensor.shape.as_list()
            (first,) = gradients(ys, x)
            if None in dims or first is None:
                raise ValueError(f"hessians: needs a known shape that ys depend on, got {x}")
            rows = [gradients(one, x)[0] for one in unstack(reshape(first, [-1]))]
            found.append(reshape(stack(rows), [*dims, *dims]))
    return found

"""The gradient of calls that select elements: indexing, and views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hybridnet.base.dtype import is_float

from .backward import vjp_gradient
from .call import Backward
from .registry import get

__all__ = ["selection_gradient"]


def selection_gradient(back: Backward) -> list[Any]:
    """The gradient rule of calls that select elements of their first input, whatever its dtype.

    Of whole numbers JAX has no gradients; MXNet has, which are whole numbers. They are computed in
    float64, where sums of gradients up to 2**53 are exact.
    """
    source = back.inputs[0]
    dtype = source.inferred_dtype
    if dtype is None or is_float(dtype) or not back.wanted[0] or not back.given:
        return vjp_gradient(back)

    def cast(x: Any, name: str) -> Any:
        return back.apply(get("Cast").bind({"dtype": name})[0], [x])[0]

    inputs = [cast(source, "float64"), *back.inputs[1:]]
    grads = [None if grad is None else cast(grad, "float64") for grad in back.grads]
    found = vjp_gradient(replace(back, inputs=inputs, grads=grads))
    found[0] = cast(found[0], dtype.name)
    return found

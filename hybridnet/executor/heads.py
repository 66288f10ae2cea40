"""The gradients of a graph's outputs, from which a backward pass starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.graph import Edge
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import ones_of
from hybridnet.ops.core import OpCall
from hybridnet.runtime.calls import Run
from hybridnet.runtime.recording import Value

from .bound import Bound


def _has_none(output: Edge) -> bool:
    """Whether an output is of an operator that has no gradient."""
    call = output.node.call
    return isinstance(call, OpCall) and bool(call.operator.no_gradient)


def head_grads(symbol: Bound, run: Run, contexts: Sequence[Context], out_grads: Any) -> list[Value]:
    """Returns the gradients that a backward pass starts from, for each output that takes one.

    Args:
        symbol: what is bound.
        run: the forward pass whose gradient is computed.
        contexts: where the outputs are.
        out_grads: what the user gave; see `Executor.backward`.

    Raises:
        ParameterError: one is missing, or is no array.
        ShapeError: one has another shape than its output.
    """
    assert run.call.split is not None
    types = run.call.output_types
    names = symbol.list_outputs()
    if isinstance(out_grads, NDArray):
        out_grads = [out_grads]
    elif isinstance(out_grads, Mapping):
        out_grads = [out_grads.get(name) for name in names]
    grads: list[Any] = [None] * len(names) if out_grads is None else list(out_grads)
    outputs = symbol.graph.outputs
    if not all(map(_has_none, outputs[len(grads) :])):
        needed = [name for name, out in zip(names, outputs, strict=True) if not _has_none(out)]
        raise ParameterError(
            f"backward: needs a gradient for each of the outputs {', '.join(needed)}, got "
            f"{len(grads)}"
        )
    grads += [None] * (len(names) - len(grads))
    # (Programs also give some for outputs that operators hide, which have none.)
    heads = []
    for number in run.call.split.given:
        wanted, grad, ctx = types[number], grads[number], contexts[number]
        if grad is None:
            grad = ones_of(wanted.shape, ctx, wanted.dtype)
        elif not isinstance(grad, NDArray):
            raise ParameterError(
                f"backward: the gradient of {names[number]} must be an NDArray, got "
                f"{type(grad).__name__}"
            )
        if grad.shape != wanted.shape and _has_none(outputs[number]):
            grad = ones_of(wanted.shape, ctx, wanted.dtype)  # nothing comes of it
        if grad.shape != wanted.shape:
            raise ShapeError(
                f"backward: the gradient of {names[number]} must have its shape "
                f"{wanted.shape}, got {grad.shape}"
            )
        grad = grad.detach().astype(wanted.dtype, copy=False).as_in_context(ctx)
        heads.append(grad.read())
    return heads

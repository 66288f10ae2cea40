"""Padding and cutting arrays without a program, of which there would be one for each length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from hybridnet import tape
from hybridnet.base.array_types import NumpyArray, Shape
from hybridnet.base.context import Context
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.copies import put
from hybridnet.ops.core import Backward, HostOnlyCall, Operand, Types
from hybridnet.runtime.recording import Value
from hybridnet.runtime.tasks import push_task


def fitted(host: NumpyArray, shape: Shape, pad: float) -> NumpyArray:
    """Returns an array cut or padded at the end of its axes."""
    corner = tuple(slice(0, min(sizes)) for sizes in zip(host.shape, shape, strict=True))
    made = np.full(shape, pad, host.dtype)
    made[corner] = host[corner]
    return made


@final
class Resize(HostOnlyCall):
    """A copy that is cut or padded at the end of its axes, made in host memory."""

    __slots__ = ("_pad", "_shape", "_source")
    name = "_resize"
    symbolic_rule = False

    def __init__(self, source: Shape, shape: Shape, pad: float) -> None:
        self._source = source
        self._shape = shape
        self._pad = pad
        super().__init__()

    def run(self, value: Value, ctx: Context) -> Value:
        """Makes the copy: at once if the array is there, else in the engine when it is."""

        def copy(source: object) -> Value:
            return put(fitted(np.asarray(source), self._shape, self._pad), ctx)

        if value.array is not None and value.array.is_ready():
            return copy(value.array)
        types = self.infer((value.type,))
        (made,) = push_task(lambda source: (copy(source).array,), [value], types, name="resize")
        return made

    def infer(self, types: Types) -> Types:
        """The same dtype in the new shape."""
        return (tensor_type(self._shape, types[0].dtype),)

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """0 for what was cut off; that of the padding is cut off."""
        return [resized(back.grads[0], self._source)]


def resized(x: NDArray, shape: Shape, pad: float = 0) -> NDArray:
    """Returns an array, outside a trace, cut or padded at the end of its axes.

    It is a copy, through which gradients flow; the array itself if it has the shape.
    """
    if x.shape == shape:
        return x
    call = Resize(x.shape, shape, pad)
    source = x.read()
    made = NDArray.from_value(call.run(source, x.context), x.context)
    if tape.state.recording and x.edge is not None:
        value = made.read()
        node = tape.record_call(call, (x.edge,), (), (source,), (value,), (made.type,), x.context)
        if node is not None:
            made.set_edge(tape.Edge(node, 0))
    return made

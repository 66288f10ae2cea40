"""Graphs on several simulated devices, cut into parts and run, for tests of control flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from hybridnet import sym
from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph.transform import prepare
from hybridnet.runtime.executor.partitioned import PartitionedCall
from hybridnet.runtime.graphs.graph_call import GraphCall
from hybridnet.runtime.record import recorder
from hybridnet.runtime.segments.segment import Value

#: Names of the devices of `simulated`.
TOYS = [f"/device:toy:{number}" for number in range(3)]


def values_of(arrays: Sequence[np.ndarray[Any, Any]]) -> list[Value]:
    """Returns arrays as a call takes them; their dtypes stay, 64-bit ones too."""
    with jax.enable_x64(True):
        made = [jax.numpy.asarray(one) for one in arrays]
    return [Value(tensor_type(one.shape, one.dtype), one) for one in made]


def call_of(
    symbol: sym.Symbol, context: Context, types: tuple[TensorType, ...], lower: bool = False
) -> PartitionedCall:
    """Makes the call of a symbol whose inputs, and what names no device, are on one context."""
    ready = prepare(symbol.graph, False)
    call = GraphCall(ready.graph, types, "program")
    wanted = [None] * len(ready.graph.outputs)
    return PartitionedCall(call, [context] * len(types), wanted, context, lower)


def run(
    call: PartitionedCall, arrays: Sequence[np.ndarray[Any, Any]]
) -> list[np.ndarray[Any, Any]]:
    """Runs a call, and waits for its results."""
    return [np.asarray(recorder.wait(one)) for one in call.run(values_of(arrays), ())]

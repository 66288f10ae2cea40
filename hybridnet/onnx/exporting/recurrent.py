"""The translation of recurrent networks: a step of ONNX for each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.ops.nn import Net, net_of

from .place import Place
from .table import translates

_OPS: Final = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
#: Where ONNX's gates are among ours. LSTM: input, output, forget, cell; GRU: update, reset, new.
_GATES: Final = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}


@translates("RNN")
def _rnn(place: Place) -> str | list[str]:
    net = net_of(**place.attrs)
    if net.projected is not None or net.clip is not None:
        place.fail("projections and bounds of the cell state have no form", "unroll the cell")
    (features,) = place.fixed(place.sizes[0][2:], "the number of features")
    vector = place.known_value(1)
    if vector is None:
        weights = _cut_weights(place, net, features)
    else:
        dtype = place.types[1].dtype
        found = _weights(vector, net, features)
        weights = [[place.constant(array, dtype) for array in arrays] for arrays in found]
    states = [_first_states(place, net, index) for index in range(2, 2 + len(net.states))]
    lengths = ""
    if place.attrs["use_sequence_length"]:
        index = 2 + len(net.states)
        lengths = place.cast(place.inputs[index], place.types[index].dtype, np.int32)
    data, ends = place.inputs[0], []
    for layer, arrays in enumerate(weights):
        first = [state[layer] for state in states]
        data, *last = _layer(place, net, data, arrays, lengths, first)
        ends.append(last)
    if not place.attrs["state_outputs"]:
        return data
    return [data, *(place.add("Concat", *parts, axis=0) for parts in zip(*ends, strict=True))]


def _weights(
    vector: NumpyArray, net: Net, features: int
) -> list[tuple[NumpyArray, NumpyArray, NumpyArray]]:
    """Returns for each layer W, R and the biases, of all directions and gates in ONNX's order."""
    gates, at = _GATES[net.mode], 0

    def take(*shape: int) -> NumpyArray:
        nonlocal at
        part = vector[at : at + int(np.prod(shape))].reshape(len(gates), -1, *shape[1:])
        at += int(np.prod(shape))
        return part[list(gates)].reshape(shape)

    blocks = [[take(*shape) for shape in block] for block in net.blocks(features)]
    size = len(gates) * net.hidden
    biases = [np.concatenate([take(size), take(size)]) for _ in blocks]
    found = []
    for start in range(0, len(blocks), net.directions):
        here = slice(start, start + net.directions)
        inner, outer = (np.stack(side) for side in zip(*blocks[here], strict=True))
        found.append((inner, outer, np.stack(biases[here])))
    return found


def _cut_weights(place: Place, net: Net, features: int) -> list[list[str]]:
    """Returns the same of a vector that is known only when the model runs."""
    gates, at = _GATES[net.mode], 0
    order = place.ints(*gates)

    def take(rows: int, columns: int) -> str:
        nonlocal at
        part = place.cut(place.inputs[1], 0, at, at + rows * columns)
        at += rows * columns
        split = place.reshape(part, [len(gates), rows // len(gates) * columns])
        return place.reshape(place.add("Gather", split, order, axis=0), [1, rows, columns])

    blocks = [[take(*shape) for shape in block] for block in net.blocks(features)]
    size = len(gates) * net.hidden
    pairs = [[place.squeeze(take(size, 1), 2) for _ in range(2)] for _ in blocks]
    biases = [place.add("Concat", *pair, axis=1) for pair in pairs]

    def joined(parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else place.add("Concat", *parts, axis=0)

    found = []
    for start in range(0, len(blocks), net.directions):
        here = slice(start, start + net.directions)
        sides = zip(*blocks[here], strict=True)
        found.append([*(joined(side) for side in sides), joined(biases[here])])
    return found


def _first_states(place: Place, net: Net, index: int) -> list[str]:
    """Returns the first state of each layer; "" where it is zeros."""
    if place.is_zeros(index):
        return [""] * net.layers
    if net.layers == 1:
        return [place.inputs[index]]
    state, count = place.inputs[index], net.directions
    return [place.cut(state, 0, i * count, (i + 1) * count) for i in range(net.layers)]


def _layer(
    place: Place,
    net: Net,
    data: str,
    arrays: Sequence[str],
    lengths: str,
    states: Sequence[str],
) -> list[str]:
    """Adds a layer; returns its outputs, (time, batch, directions * size), and last states."""
    attrs: dict[str, Any] = {"hidden_size": net.hidden}
    if net.directions == 2:
        attrs["direction"] = "bidirectional"
    if net.mode == "gru":
        attrs["linear_before_reset"] = 1
    if net.mode.startswith("rnn"):
        attrs["activations"] = ["Relu" if net.mode == "rnn_relu" else "Tanh"] * net.directions
    inputs = [data, *arrays, lengths, *states]
    while not inputs[-1]:
        inputs.pop()
    output, *last = place.add_several(_OPS[net.mode], 1 + len(states), *inputs, **attrs)
    if net.directions == 1:
        return [place.squeeze(output, 1), *last]
    return [place.reshape(place.transpose(output, [0, 2, 1, 3]), [0, 0, -1]), *last]

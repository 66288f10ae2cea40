"""ONNX's recurrent networks: LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import arrives

#: Where our gates are among ONNX's.
_GATES: Final = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_USUAL: Final = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}


@arrives("LSTM", "GRU", "RNN")
def _recurrent(arrival: Arrival) -> list[Symbol]:
    attrs = arrival.attrs
    direction = attrs.get("direction", "forward")
    mode, hidden = _mode(arrival), attrs["hidden_size"]
    if attrs.get("layout") or attrs.get("clip") or arrival.has(7) or attrs.get("input_forget"):
        arrival.fail("layout, clip and peepholes have no form", "export the model without them")
    if arrival.op == "GRU" and not attrs.get("linear_before_reset"):
        arrival.fail("linear_before_reset must be 1", "train it so, or unroll the cell")
    count = 2 if direction == "bidirectional" else 1
    vector = arrival.parameter(_parameters(arrival, count), "parameters")
    data = arrival.symbol(0)
    if direction == "reverse":
        data = _turned(arrival, data)
    states = [
        arrival.symbol(index) if arrival.has(index) else _zero_state(arrival, count, hidden)
        for index in ((5, 6) if arrival.op == "LSTM" else (5,))
    ]
    lengths = [arrival.symbol(4)] if arrival.has(4) else []
    made = arrival.make(
        "RNN",
        data,
        vector,
        *states,
        *lengths,
        state_size=hidden,
        num_layers=1,
        mode=mode,
        bidirectional=count == 2,
        state_outputs=True,
        use_sequence_length=bool(lengths),
    )
    outputs = made[0]
    if direction == "reverse":
        outputs = _turned(arrival, outputs)
    split = arrival.make("Reshape", outputs, shape=(0, 0, count, hidden))
    ends = [made[index] for index in range(1, len(made))]
    return [arrival.make("transpose", split, axes=(0, 2, 1, 3)), *ends]


def _turned(arrival: Arrival, data: Symbol) -> Symbol:
    """Runs time backward."""
    if arrival.has(4):
        return arrival.make("SequenceReverse", data, arrival.symbol(4), use_sequence_length=True)
    return arrival.make("reverse", data, axis=(0,))


def _mode(arrival: Arrival) -> str:
    given = list(arrival.attrs.get("activations", ()))
    if arrival.op != "RNN":
        usual = _USUAL[arrival.op]
        if given and given[: len(usual)] != usual:
            arrival.fail(f"activations must be {usual}, got {given}", "unroll the cell")
        return arrival.op.lower()
    name = given[0] if given else "Tanh"
    if name not in ("Tanh", "Relu") or len(set(given)) > 1:
        arrival.fail(f"activations must be Tanh or Relu, got {given}", "unroll the cell")
    return f"rnn_{name.lower()}"


def _parameters(arrival: Arrival, directions: int) -> NumpyArray:
    """Returns weights and biases as our vector: weights of all directions, then biases."""
    gates = list(_GATES[arrival.op])
    weights = [arrival.constant(index, "the weights") for index in (1, 2)]
    rows = weights[0].shape[1]
    biases = np.zeros((directions, 2 * rows), weights[0].dtype)
    if arrival.has(3):
        biases = arrival.constant(3, "the biases")

    def ordered(array: NumpyArray) -> NumpyArray:
        return array.reshape(len(gates), -1)[gates].reshape(-1)

    matrices = [ordered(one[way]) for way in range(directions) for one in weights]
    vectors = [ordered(half) for way in range(directions) for half in np.split(biases[way], 2)]
    return np.concatenate([*matrices, *vectors])


def _zero_state(arrival: Arrival, directions: int, hidden: int) -> Symbol:
    batch = arrival.shape()[1]
    if batch is not None:
        shape = (directions, batch, hidden)
        return arrival.make("_zeros", shape=shape, dtype=arrival.dtype().name)
    # As many zeros as there are examples, however many these are.
    step = arrival.make("slice_axis", arrival.symbol(0), axis=0, begin=0, end=1)
    column = arrival.make("zeros_like", arrival.make("max", step, axis=(2,), keepdims=True))
    return arrival.make("tile", column, reps=(directions, 1, hidden))

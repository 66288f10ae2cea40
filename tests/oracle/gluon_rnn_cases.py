"""What recurrent cells and layers are tried with: by MXNet in `make_gluon_rnn.py`, and in tests.

Nothing here imports either; functions are given ``mx``, which is one or the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.gluon_cases import numbers, set_params

#: Cells, with the sizes of their inputs and the valid lengths of two sequences of four steps.
CELLS: dict[str, tuple[int, list[int] | None]] = {
    "RNNCell(3)": (2, None),
    "RNNCell(3, 'relu', prefix='mine_')": (2, [1, 4]),
    "RNNCell(3, 'softsign')": (2, None),
    "LSTMCell(3)": (2, None),
    "LSTMCell(2, activation='relu', recurrent_activation='softsign')": (3, [4, 2]),
    "GRUCell(3)": (2, [3, 1]),
    "GRUCell(3, input_size=2)": (2, None),
    "ResidualCell(GRUCell(2))": (2, None),
    "ResidualCell(LSTMCell(2))": (2, [2, 4]),
    "ZoneoutCell(RNNCell(3), 0.3, 0.2)": (2, None),
    "DropoutCell(0.4)": (2, None),
    "BidirectionalCell(LSTMCell(2), GRUCell(3))": (2, None),
    "BidirectionalCell(RNNCell(2), RNNCell(2), 'both_')": (2, [3, 4]),
    "stack(SequentialRNNCell(), LSTMCell(2), DropoutCell(0.5), ResidualCell(RNNCell(2)))": (
        3,
        None,
    ),
    "stack(HybridSequentialRNNCell(), GRUCell(2), BidirectionalCell(RNNCell(1), LSTMCell(2)))": (
        2,
        [4, 1],
    ),
}
#: Layers, with the shapes of their inputs.
LAYERS: dict[str, tuple[int, ...]] = {
    "RNN(2)": (4, 2, 3),
    "RNN(2, 2, 'tanh', 'NTC', bidirectional=True)": (2, 4, 3),
    "LSTM(2, input_size=3)": (4, 2, 3),
    "LSTM(3, 2, 'NTC', bidirectional=True, prefix='mine_')": (2, 4, 2),
    "LSTM(3, 2, projection_size=2)": (4, 2, 2),
    "GRU(2, 3, dropout=0.0)": (3, 2, 2),
    "GRU(2, 2, layout='NTC', bidirectional=True)": (2, 3, 2),
}


def made(mx: Any, text: str) -> Any:
    """Returns the cell or layer that a text means, with names as in a fresh start."""

    def stack(whole: Any, *cells: Any) -> Any:
        for cell in cells:
            whole.add(cell)
        return whole

    with mx.name.NameManager():
        return eval(text, {**vars(mx.gluon.rnn), "stack": stack})


def names(mx: Any, text: str) -> list[list[str]]:
    """Returns the texts of a cell, its names, and those of its parameters and of their places."""
    block = made(mx, text)
    places = (
        block.structural_params
        if hasattr(block, "structural_params")
        else block._collect_params_with_prefix
    )
    parts = [[block.name, block.prefix], list(block.collect_params().keys()), sorted(places())]
    return [[repr(block)], *parts]


def outputs_of_symbols(mx: Any, text: str) -> list[str]:
    """Returns the names of all nodes of a cell that is unrolled on symbols, and of its inputs."""
    with mx.name.NameManager():
        data = [mx.sym.var(f"t{step}_data") for step in range(2)]
        outputs, states = made(mx, text).unroll(2, data, merge_outputs=False)
        return list(mx.sym.Group([*outputs, *states]).get_internals().list_outputs())


def run_cell(mx: Any, text: str, hybridize: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """Unrolls a cell outside training, with gradients.

    Returns:
        The output (batch, time, channels), the states after, the gradient ``x`` and those of the
        parameters by their numbers.
    """
    size, lengths = CELLS[text]
    cell = made(mx, text)
    cell.initialize(mx.init.One())
    x = mx.nd.array(numbers(1, (2, 4, size)))
    valid = None if lengths is None else mx.nd.array(lengths)
    cell.unroll(4, x)  # finds the shapes
    set_params(mx, cell)
    if hybridize:
        cell.hybridize()
    x.attach_grad()
    with mx.autograd.record(train_mode=False):
        out, states = cell.unroll(4, x, merge_outputs=True, valid_length=valid)
        total = mx.nd.add_n(*[one.sum() for one in (out * out, *states)])
    total.backward(train_mode=False)
    return _found(cell, x, out, states)


def run_layer(mx: Any, text: str, hybridize: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """Runs a layer, with gradients; returns the same as `run_cell`."""
    layer = made(mx, text)
    layer.initialize(mx.init.One())
    x = mx.nd.array(numbers(1, LAYERS[text]))
    layer(x)  # finds the shapes
    set_params(mx, layer)
    if hybridize:
        layer.hybridize()
    x.attach_grad()
    batch = x.shape["NTC".index("N") if "NTC" in text else 1]
    states = [
        mx.nd.array(numbers(50 + index, one.shape))
        for index, one in enumerate(layer.begin_state(batch))
    ]
    if "projection" in text:  # MXNet has no gradient of it on CPUs
        out, states = layer(x, states)
        return {"out": out.asnumpy(), "state0": states[0].asnumpy(), "state1": states[1].asnumpy()}
    with mx.autograd.record():
        out, states = layer(x, states)
        total = mx.nd.add_n(*[one.sum() for one in (out * out, *states)])
    total.backward()
    return _found(layer, x, out, states)


def _found(block: Any, x: Any, out: Any, states: Any) -> dict[str, np.ndarray[Any, Any]]:
    found = {"out": out.asnumpy(), "x": x.grad.asnumpy()}
    found |= {f"state{index}": state.asnumpy() for index, state in enumerate(states)}
    params = block.collect_params().values()
    return found | {str(index): one.grad().asnumpy() for index, one in enumerate(params)}

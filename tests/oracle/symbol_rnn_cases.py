"""What the symbolic recurrent cells are tried with: by MXNet in `make_symbol_rnn.py`, and in tests.

Nothing here imports either; functions are given ``mx``, which is one or the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Cells over sequences (2, 3, 4), and over pictures (2, 3, 6, 5) in three steps.
CELLS = (
    "RNNCell(3)",
    "RNNCell(3, 'relu', 'mine_')",
    "LSTMCell(3)",
    "GRUCell(3)",
    "BidirectionalCell(LSTMCell(2, 'l_'), GRUCell(3, 'r_'))",
    "ResidualCell(GRUCell(4))",
    "DropoutCell(0.5)",
    "FusedRNNCell(3, 2, 'lstm', True, get_next_state=True, prefix='f_')",
    "FusedRNNCell(3, 1, 'gru')",
    "FusedRNNCell(3, 2, 'lstm', True, dropout=0.5, prefix='f_').unfuse()",
    "FusedRNNCell(3, 2, 'rnn_relu').unfuse()",
    "stack(LSTMCell(4, 'a_'), DropoutCell(0.3), ResidualCell(RNNCell(4, prefix='b_')))",
    "ConvRNNCell((1, 3, 6, 5), 2)",
    "ConvLSTMCell((1, 3, 6, 5), 2, activation='tanh')",
    "ConvGRUCell((1, 3, 6, 5), 2, i2h_kernel=(5, 3), h2h_kernel=(1, 3), i2h_pad=(2, 1))",
)


def made(mx: Any, text: str) -> Any:
    """Returns the cell that a text means."""

    def stack(*cells: Any) -> Any:
        whole = mx.rnn.SequentialRNNCell()
        for cell in cells:
            whole.add(cell)
        return whole

    return eval(text, {**vars(mx.rnn), "stack": stack})


def run(mx: Any, text: str, merge: bool | None) -> dict[str, Any]:
    """Unrolls a cell and runs it.

    Returns:
        The names of all nodes, the shapes of the arguments, what `unpack_weights` makes of them,
        and of each output some numbers.
    """
    pictures = text.startswith("Conv")
    with mx.name.NameManager():
        cell = made(mx, text)
        steps = [mx.sym.var(f"t{step}") for step in range(3)]
        outputs, _ = cell.unroll(3, steps if pictures else mx.sym.var("x"), merge_outputs=merge)
    whole = mx.sym.Group(outputs) if isinstance(outputs, list) else outputs
    given = {f"t{step}": (2, 3, 6, 5) for step in range(3)} if pictures else {"x": (2, 3, 4)}
    shapes = dict(zip(whole.list_arguments(), whole.infer_shape(**given)[0]))  # noqa: B905
    drawn = np.random.RandomState(0)
    values = {name: mx.nd.array(drawn.uniform(-1, 1, shape)) for name, shape in shapes.items()}
    found = whole.bind(mx.cpu(), values).forward()
    unpacked = cell.unpack_weights({n: x for n, x in values.items() if n not in given})
    return {
        "names": whole.get_internals().list_outputs(),
        "shapes": [list(shape) for shape in shapes.values()],
        "parts": {name: _numbers(part) for name, part in sorted(unpacked.items())},
        "outputs": [_numbers(one) for one in found],
    }


def _numbers(x: Any) -> list[float]:
    array = x.asnumpy().astype(np.float64)
    return [array.size, *(round(float(one), 5) for one in (*array.reshape(-1)[:4], array.sum()))]

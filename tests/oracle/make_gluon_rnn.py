"""Records what MXNet 1.9.1's recurrent cells and layers give for `gluon_rnn_cases.py`.

Run it from ``tests`` with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python -m oracle.make_gluon_rnn

It writes ``gluon_rnn.json`` (names and texts) and ``gluon_rnn.npz`` (outputs and gradients).
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
import numpy as np

from . import gluon_rnn_cases as cases

HERE = Path(__file__).resolve().parent


def main() -> None:
    answer = {
        "mxnet": mx.__version__,
        "names": {text: cases.names(mx, text) for text in (*cases.CELLS, *cases.LAYERS)},
        "symbols": {text: cases.outputs_of_symbols(mx, text) for text in cases.CELLS},
    }
    (HERE / "gluon_rnn.json").write_text(json.dumps(answer, indent=0) + "\n")
    arrays = {}
    for runner, texts in ((cases.run_cell, cases.CELLS), (cases.run_layer, cases.LAYERS)):
        for text in texts:
            for name, array in runner(mx, text).items():
                arrays[f"{text} {name}"] = array
    np.savez_compressed(HERE / "gluon_rnn.npz", **arrays)


if __name__ == "__main__":
    main()

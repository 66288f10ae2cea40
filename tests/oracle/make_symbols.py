"""Writes what MXNet 1.9.1 says of the expressions in `symbol_cases.py`: ``symbols.json``.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_symbols.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
from symbol_cases import DEBUG, DTYPES, NUMPY_SHAPES, SHAPES, STRUCTURE, evaluate, facts

HERE = Path(__file__).resolve().parent


def dtype_names(found: Any) -> Any:
    return [[None if one is None else np.dtype(one).name for one in part] for part in found]


def main() -> None:
    structure = {}
    for source in STRUCTURE:
        symbol = evaluate(mx, source)
        structure[source] = facts(symbol, json.loads(symbol.tojson()))
    shapes = [evaluate(mx, source).infer_shape_partial(**known) for source, known in SHAPES]
    with mx.np_shape():
        as_numpy = [
            evaluate(mx, source).infer_shape_partial(**known) for source, known in NUMPY_SHAPES
        ]
    dtypes = [
        dtype_names(evaluate(mx, source).infer_type_partial(**known)) for source, known in DTYPES
    ]
    debug = [evaluate(mx, source).debug_str() for source in DEBUG]
    answers = {
        "structure": structure,
        "shapes": shapes,
        "numpy_shapes": as_numpy,
        "dtypes": dtypes,
        "debug": debug,
    }
    text = json.dumps(answers, indent=0, separators=(",", ":"))
    (HERE / "symbols.json").write_text(text.replace("\n", "") + "\n")


if __name__ == "__main__":
    main()

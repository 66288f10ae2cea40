"""Asks MXNet 1.9.1 what operators do with sparse arrays, and writes its answers.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_sparse.py

``sparse.json`` holds for each call of `sparse_cases.py` the storage type, the shape and the values
of the result, and the positions where it is sparse; and, as 'called', which functions of
`nd.sparse` were called.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mxnet as mx
from sparse_cases import CASES, OPTIMIZERS, called, make, run, train


def answer(made: Any) -> dict[str, Any]:
    """Returns a result as plain data."""
    found = {
        "stype": made.stype,
        "dtype": made.dtype.__name__,
        "shape": list(made.shape),
        "values": [None if one != one else one for one in made.asnumpy().reshape(-1).tolist()],
    }
    if made.stype == "row_sparse":
        found["rows"] = made.indices.asnumpy().tolist()
    return found


def main() -> None:
    answers: dict[str, Any] = {}
    for name, case in CASES.items():
        try:
            answers[name] = answer(run(mx, case, make(mx, case)))
        except (mx.MXNetError, ValueError, TypeError, IndexError, AssertionError) as error:
            print(f"FAILED {name}: {str(error).strip()[-100:]}")
    answers = {"called": sorted({called(name) for name in answers} - {""}), **answers}
    for name in OPTIMIZERS:
        # Of dense weights MXNet's ftrl updates all rows, whatever the gradient holds.
        stype = "row_sparse" if name == "ftrl" else "default"
        answers[f"train {name}"] = answer(train(mx, name, stype))
    path = Path(__file__).with_name("sparse.json")
    path.write_text(json.dumps(answers, separators=(",", ":")).replace("},", "},\n") + "\n")
    print(f"{len(answers)} answers, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

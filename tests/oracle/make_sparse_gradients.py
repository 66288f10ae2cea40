"""Records what MXNet 1.9.1 gives in the cases of `sparse_gradient_cases.py`; null where it refuses.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_sparse_gradients.py

It writes `sparse_gradients.json` beside it.
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
from sparse_gradient_cases import CASES, numbers

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    answers = {}
    for name, case in CASES.items():
        try:
            answers[name] = numbers(mx, *case)
        except (AttributeError, TypeError, ValueError, mx.MXNetError):
            answers[name] = None
    (HERE / "sparse_gradients.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")

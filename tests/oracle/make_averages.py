"""Records when MXNet 1.9.1 moves running averages, in the cases of `average_cases.py`.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_averages.py

It writes `averages.json` beside it.
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
from average_cases import CASES

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    answers = {name: case(mx) for name, case in CASES.items()}
    (HERE / "averages.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")

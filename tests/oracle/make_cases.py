"""Records what MXNet 1.9.1's modules give in the cases of `module_cases.py`.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_module.py

It writes `module.json` beside it.
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
from module_cases import CASES

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    answers = {name: case(mx) for name, case in CASES.items()}
    (HERE / "module.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")

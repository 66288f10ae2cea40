"""Records what MXNet 1.9.1 gives in cases that are functions of it: averages and modules.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_cases.py

It writes `averages.json` (of `average_cases.py`) and `module.json` (of `module_cases.py`).
"""

from __future__ import annotations

import json
from pathlib import Path

import average_cases
import module_cases
import mxnet as mx

HERE = Path(__file__).resolve().parent
CASES = {"averages": average_cases.CASES, "module": module_cases.CASES}

if __name__ == "__main__":
    for file, cases in CASES.items():
        answers = {name: case(mx) for name, case in cases.items()}
        (HERE / f"{file}.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")

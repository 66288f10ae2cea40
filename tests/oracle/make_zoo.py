"""Records what MXNet 1.9.1's model zoo gives for the networks of `zoo_cases.py`.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``; it takes minutes::

    python tests/oracle/make_zoo.py                        # writes zoo.json, beside it
    python tests/oracle/make_zoo.py hybridnet [NAME ...]   # with hybridnet: compares all of them

The tests compare the small ones.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import zoo_cases as cases

FILE = Path(__file__).resolve().parent / "zoo.json"


def main() -> None:
    if len(sys.argv) == 1:
        mx = importlib.import_module("mxnet")
        answers = {name: cases.run(mx, name) for name in cases.NETWORKS}
        FILE.write_text(json.dumps({"mxnet": mx.__version__, "networks": answers}, indent=0) + "\n")
        return
    hn = importlib.import_module(sys.argv[1])
    answers = json.loads(FILE.read_text())["networks"]
    for name in sys.argv[2:] or cases.NETWORKS:
        found, wanted = cases.run(hn, name), answers[name]
        assert {**found, "outputs": None} == {**wanted, "outputs": None}, name
        largest = wanted["outputs"][-1]
        error = np.abs(np.subtract(found["outputs"], wanted["outputs"])).max() / largest
        print(f"{name}: within {error:.1e} of the largest output, {largest}", flush=True)
        assert error < 1e-4, name


if __name__ == "__main__":
    main()

"""Runs the calls of `numpy_cases.py` under MXNet 1.9.1 and writes its answers.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_numpy.py
"""

from __future__ import annotations

import json

import mxnet as mx
import numpy as np
from case import HERE
from numpy_cases import CASES, run


def main() -> None:
    mx.npx.set_np()
    pools: dict[str, list[np.ndarray]] = {"float32": [], "float64": []}
    sizes = dict.fromkeys(pools, 0)
    index = []
    for case in CASES:
        try:
            found = run(mx, case)
        except Exception as error:  # MXNet refuses it: there is nothing to compare
            print(f"FAILED {case.name} {case.attrs}: {str(error).strip().splitlines()[-1][:120]}")
            continue
        for key, array in found.items():
            kind = "float64" if array.dtype in (np.float64, np.int64) else "float32"
            index.append([case.name, key, array.dtype.name, list(array.shape), kind, sizes[kind]])
            pools[kind].append(array.reshape(-1).astype(kind))
            sizes[kind] += array.size
    text = json.dumps(index, separators=(",", ":")).encode()
    file = HERE / "answers_numpy.npz"
    parts = {kind: np.concatenate(arrays) for kind, arrays in pools.items()}
    np.savez_compressed(file, index=np.frombuffer(text, np.uint8), **parts)
    print(f"{len(CASES)} calls, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()

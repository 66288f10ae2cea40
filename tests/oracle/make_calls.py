"""Makes the calls of `calls.py` under MXNet 1.9.1 and writes its answers.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_calls.py [FAMILY ...]
"""

from __future__ import annotations

import json
import sys

import mxnet as mx
import numpy as np
from calls import FAMILIES, run
from case import HERE, Case


def make(family: str, cases: list[Case]) -> None:
    """Writes the answers of a family."""
    pools: dict[str, list[np.ndarray]] = {"float32": [], "float64": []}
    sizes = dict.fromkeys(pools, 0)
    index = []
    for case in cases:
        # Outside this scope a size of 0 means an unknown one to MXNet.
        empty = any(0 in one.shape for one in case.inputs if one.values is None)
        try:
            with mx.util.np_shape(empty or mx.util.is_np_shape()):
                found = run(mx, case)
        except Exception as error:  # MXNet refuses it: there is nothing to compare
            text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            print(f"FAILED {case.name} {case.attrs}: {text[:120]}")
            continue
        for key, array in found.items():
            kind = "float64" if array.dtype in (np.float64, np.int64) else "float32"
            index.append([case.name, key, array.dtype.name, list(array.shape), kind, sizes[kind]])
            pools[kind].append(array.reshape(-1).astype(kind))
            sizes[kind] += array.size
    text = json.dumps(index, separators=(",", ":")).encode()
    file = HERE / f"answers_{family}.npz"
    parts = {kind: np.concatenate(arrays) for kind, arrays in pools.items()}
    np.savez_compressed(file, index=np.frombuffer(text, np.uint8), **parts)
    print(f"{family}: {len(cases)} calls, {file.stat().st_size} bytes")


def main() -> None:
    for family in sys.argv[1:] or FAMILIES:
        mx.npx.set_np() if family == "numpy" else mx.npx.reset_np()
        make(family, FAMILIES[family])


if __name__ == "__main__":
    main()

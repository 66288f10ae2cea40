"""Records what MXNet 1.9.1's losses give for the cases of `loss_cases.py`, in ``losses.npz``.

Run it from ``tests`` with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python -m oracle.make_losses
"""

from __future__ import annotations

from pathlib import Path

import mxnet as mx
import numpy as np

from . import loss_cases as cases


def main() -> None:
    answers = {
        f"{index} {name}": array
        for index in range(len(cases.LOSSES))
        for name, array in cases.run(mx, index).items()
    }
    np.savez_compressed(Path(__file__).resolve().parent / "losses.npz", **answers)


if __name__ == "__main__":
    main()

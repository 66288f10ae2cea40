"""Writes MXNet 1.9.1's answers about pictures: ``pictures.npz``, with the encoded files.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5 opencv-python-headless``::

    python tests/oracle/make_pictures.py
"""

from __future__ import annotations

from pathlib import Path

import cv2
import mxnet as mx
import numpy as np
from picture_cases import answers, encoded

HERE = Path(__file__).resolve().parent


def main() -> None:
    files = encoded(cv2)
    stored = {f"file_{name}": np.frombuffer(data, np.uint8) for name, data in files.items()}
    np.savez_compressed(HERE / "pictures.npz", **stored, **answers(mx, files))


if __name__ == "__main__":
    main()

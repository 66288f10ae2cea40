"""Writes what MXNet 1.9.1's record iterators give: ``image_records.npz``.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5 opencv-python-headless``,
on a machine with two processors, where MXNet decodes with one thread::

    python tests/oracle/make_image_records.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2
import mxnet as mx
import numpy as np
from image_record_cases import answers, pictures

HERE = Path(__file__).resolve().parent


def main() -> None:
    files = pictures(cv2)
    stored = {f"file_{n}": np.frombuffer(data, np.uint8) for n, data in enumerate(files)}
    with tempfile.TemporaryDirectory() as folder:
        np.savez_compressed(HERE / "image_records.npz", **stored, **answers(mx, files, folder))


if __name__ == "__main__":
    main()

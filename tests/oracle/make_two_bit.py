"""Asks MXNet 1.9.1 for the bytes of its 2-bit gradient compression, and writes its answers.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_two_bit.py

No function of its Python package returns these bytes: they are taken from the C++ class in its
library. ``two_bit.npz`` holds for each case a threshold, gradients (rounds, n) that are quantised
one after another with one residual, and for each round the bytes, the residual after it, and the
values that the bytes stand for.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import mxnet as mx
import numpy as np
from mxnet.base import _LIB

CLASS = "_ZN5mxnet7kvstore19GradientCompression"
#: name -> (values, rounds, threshold)
CASES = {
    "one": (1, 3, 0.5),
    "sixteen": (16, 4, 0.5),
    "odd": (83, 5, 0.25),
    "many": (1000, 4, 1.5),
}


def function(name: str):
    return getattr(_LIB, CLASS + name)


def main() -> None:
    found = {}
    generator = np.random.default_rng(7)
    for name, (count, rounds, threshold) in CASES.items():
        compression = ctypes.create_string_buffer(256)
        function("C1Ev")(compression)
        function("20SetTwoBitCompressionEf")(compression, ctypes.c_float(threshold))
        gradients = (threshold * generator.standard_normal((rounds, count))).astype(np.float32)
        gradients[0, 0] = threshold  # exactly what is sent
        residual = mx.nd.zeros(count)
        rows = []
        for gradient in gradients:
            given = mx.nd.array(gradient)
            packed = mx.nd.zeros(-(-count // 16))
            values = mx.nd.zeros(count)
            function("8QuantizeERKNS_7NDArrayEPS2_S5_i")(
                compression, given.handle, packed.handle, residual.handle, 0
            )
            function("10DequantizeERKNS_7NDArrayEPS2_i")(
                compression, packed.handle, values.handle, 0
            )
            rows.append((packed.asnumpy().view(np.uint8), residual.asnumpy(), values.asnumpy()))
        found[f"{name}/threshold"] = np.float32(threshold)
        found[f"{name}/gradients"] = gradients
        for field, arrays in zip(
            ("bytes", "residuals", "values"), zip(*rows, strict=True), strict=True
        ):
            found[f"{name}/{field}"] = np.stack(arrays)
    np.savez_compressed(Path(__file__).with_name("two_bit.npz"), **found)


if __name__ == "__main__":
    main()

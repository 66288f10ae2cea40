"""Products of few rows, kept apart from what XLA's library for CPUs would join them with.

The library (YNNPACK) takes several products and a reduction over the last of them for one step. In
jaxlib 0.10 such a step computes the products again and again: VGG-16's three dense layers and their
softmax took 20 s with 8 rows, and 0.2 s apart. Milliseconds of three products with 1024x1024 and a
sum, joined and apart, jaxlib 0.10 and 0.12:

    rows   0.10        0.12
    1      0.94  0.88  0.76  0.68
    3      0.72  0.71  0.95  0.81
    4      10.0  0.93  0.87  0.86
    16     11.5  1.2   1.3   1.3
    32     15.0  1.5   1.5   1.5
    64     2.2   2.1   2.1   2.1
"""

from __future__ import annotations

import math
from typing import Any, Final

from hybridnet.base.dtype import FLOAT32
from hybridnet.ops.host.namespace import lax

_FEW_ROWS: Final = range(1, 33)


def apart(product: Any, platform: str) -> Any:
    """Returns a product such that no step of the library's goes on from it.

    Args:
        product: (..., columns).
        platform: where the program runs; 'cpu' matters.
    """
    rows = math.prod(product.shape[:-1])
    if (
        platform != "cpu"
        or product.dtype != FLOAT32
        or type(rows) is not int
        or rows not in _FEW_ROWS
    ):
        return product
    # The precision that it has: this changes no value, and is no part of such a step.
    return lax.reduce_precision(product, 8, 23)

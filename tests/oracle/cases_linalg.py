"""Cases of the operators on matrices; see `case.py`."""

from __future__ import annotations

import numpy as np
from case import Cases, Input
from case import given as _v
from case import random as _x

CASES = Cases("linalg")
_case = CASES.add


def _square(*shape: int, kind: str = "any", dtype: str = "float32") -> Input:
    """Matrices that are well away from singular: any, symmetric, positive, lower or upper."""
    draw = np.random.RandomState(sum(shape) + len(kind))
    size = shape[-1]
    values = draw.uniform(-1, 1, shape)
    if kind == "symmetric":
        values = values + np.swapaxes(values, -1, -2) + np.diag(3.0 * np.arange(size))
    elif kind == "positive":
        values = np.matmul(values, np.swapaxes(values, -1, -2)) + np.eye(size)
    elif kind == "lower":
        values = np.tril(values) + 2 * np.eye(size)
    elif kind == "upper":
        values = np.triu(values) + 2 * np.eye(size)
    else:
        values = values + 2 * np.eye(size)
    return _v(*np.round(values, 3).tolist(), dtype=dtype)


# Products.
_case("_linalg_gemm2", _x(2, 3), _x(3, 4))
_case("_linalg_gemm2", _x(3, 2), _x(3, 4), transpose_a=True, alpha=0.5)
_case("_linalg_gemm2", _x(2, 3), _x(4, 3), transpose_b=True, alpha=-2.0)
_case("_linalg_gemm2", _x(3, 2), _x(4, 3), transpose_a=True, transpose_b=True)
_case("_linalg_gemm2", _x(5, 2, 3), _x(5, 3, 4))
_case("_linalg_gemm2", _x(1, 1, 2, 3), _x(1, 1, 3, 1))
_case("_linalg_gemm2", _x(4, 2, 5, 3), _x(4, 3, 5, 6), axis=1)
_case("_linalg_gemm2", _x(4, 3, 5, 2), _x(4, 3, 5, 6), axis=-3, transpose_a=True, alpha=3.0)
_case("_linalg_gemm2", _x(2, 4, 3), _x(3, 4, 5), axis=0)
_case("_linalg_gemm2", _x(2, 2, dtype="float64"), _x(2, 2, dtype="float64"), alpha=1.5)
_case("_linalg_gemm2", _x(1, 1), _x(1, 1))
_case("_linalg_gemm", _x(2, 3), _x(3, 4), _x(2, 4))
_case("_linalg_gemm", _x(2, 3), _x(3, 4), _x(2, 4), alpha=2.0, beta=10.0)
_case("_linalg_gemm", _x(3, 2), _x(4, 3), _x(2, 4), transpose_a=True, transpose_b=True)
_case("_linalg_gemm", _x(3, 2), _x(3, 4), _x(2, 4), transpose_a=True, beta=-1.0)
_case("_linalg_gemm", _x(2, 3), _x(4, 3), _x(2, 4), transpose_b=True, beta=0.0)
_case("_linalg_gemm", _x(5, 2, 3), _x(5, 3, 1), _x(5, 2, 1))
_case("_linalg_gemm", _x(2, 1, 2, 3), _x(2, 1, 3, 2), _x(2, 1, 2, 2), alpha=0.5)
_case("_linalg_gemm", _x(2, 4, 3), _x(3, 4, 5), _x(2, 4, 5), axis=0)
_case("_linalg_gemm", _x(4, 2, 5, 3), _x(4, 3, 5, 6), _x(4, 2, 5, 6), axis=-3, alpha=2.0)
_case("_linalg_gemm", *[_x(2, 2, dtype="float64")] * 3, beta=0.5)
_case("_linalg_syrk", _x(2, 3))
_case("_linalg_syrk", _x(2, 3), transpose=True)
_case("_linalg_syrk", _x(3, 2), alpha=2.5)
_case("_linalg_syrk", _x(4, 2, 3), alpha=-1.0)
_case("_linalg_syrk", _x(4, 2, 3), transpose=True, alpha=0.5)
_case("_linalg_syrk", _x(1, 3))
_case("_linalg_syrk", _x(1, 3), transpose=True)
_case("_linalg_syrk", _x(3, 1, 1))
_case("_linalg_syrk", _x(2, 3, dtype="float64"))
_case("_linalg_syrk", _x(2, 1, 4, 2), transpose=True)

# Triangular matrices, on either side; the other triangle is not read.
for _op in ("_linalg_trmm", "_linalg_trsm"):
    for _lower in (True, False):
        _kind = "lower" if _lower else "upper"
        for _transpose in (True, False):
            _flags = {"lower": _lower, "transpose": _transpose}
            _case(_op, _square(3, 3, kind=_kind), _x(3, 2), **_flags)
            _case(_op, _square(3, 3, kind=_kind), _x(2, 3), rightside=True, alpha=1.5, **_flags)
    _case(_op, _square(2, 3, 3, kind="lower"), _x(2, 3, 1), alpha=-2.0)
    _case(_op, _square(2, 1, 2, 2, kind="upper"), _x(2, 1, 4, 2), lower=False, rightside=True)
    _case(_op, _square(1, 1), _x(1, 3))
    _case(_op, _square(3, 3), _x(3, 2), grads=[1])
    _case(_op, _square(2, 2, kind="lower", dtype="float64"), _x(2, 2, dtype="float64"))

# Factorizations and what follows from them.
for _op in ("potrf", "syevd", "inverse", "det", "slogdet"):
    _kind = {"potrf": "positive", "syevd": "symmetric"}.get(_op, "any")
    _heads = {"outputs": 2} if _op == "syevd" else {}
    for _shape in [(3, 3), (1, 1), (2, 2), (2, 3, 3), (2, 1, 2, 2), (3, 1, 1), (4, 4), (1, 4, 4)]:
        _case(f"_linalg_{_op}", _square(*_shape, kind=_kind), **_heads)
    _case(f"_linalg_{_op}", _square(3, 3, kind=_kind, dtype="float64"), **_heads)
    _case(f"_linalg_{_op}", _square(5, 2, 2, kind=_kind, dtype="float64"), **_heads)
for _op in ("det", "slogdet"):
    _case(f"_linalg_{_op}", _v([0.0, 1.0], [2.0, 3.0]))
    _case(f"_linalg_{_op}", _v([1.0, 2.0], [2.0, 4.0]), grads=())
for _op in ("potri", "sumlogdiag"):
    for _shape in [(3, 3), (1, 1), (2, 2), (2, 3, 3), (2, 1, 2, 2), (3, 1, 1), (4, 4), (1, 4, 4)]:
        _case(f"_linalg_{_op}", _square(*_shape, kind="lower"))
    _case(f"_linalg_{_op}", _square(3, 3, kind="lower", dtype="float64"))
    _case(f"_linalg_{_op}", _square(5, 2, 2, kind="lower", dtype="float64"))
for _shape in [(2, 3), (3, 3), (1, 1), (1, 4), (2, 5), (2, 2, 3), (2, 1, 3, 4), (3, 1, 2), (4, 6)]:
    _case("_linalg_gelqf", _x(*_shape), outputs=2)
_case("_linalg_gelqf", _x(3, 5, dtype="float64"), outputs=2)

# Diagonals and triangles.
for _offset in (0, 1, -1, 2, -2):
    _case("_linalg_extractdiag", _x(3, 3), offset=_offset)
    _case("_linalg_extractdiag", _x(2, 4, 4), offset=_offset)
    _case("_linalg_makediag", _x(3), offset=_offset)
    _case("_linalg_makediag", _x(2, 3), offset=_offset)
    for _lower in (True, False):
        _case("_linalg_extracttrian", _x(3, 3), offset=_offset, lower=_lower)
        _case("_linalg_extracttrian", _x(2, 1, 4, 4), offset=_offset, lower=_lower)
        _case("_linalg_maketrian", _x(6), offset=_offset, lower=_lower)
        _case("_linalg_maketrian", _x(2, 1, 3), offset=_offset, lower=_lower)

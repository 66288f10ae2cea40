"""Arrays of int16 and of unsigned integers, which MXNet 1.9 does not have: NumPy's numbers."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd, sym

KINDS = ("int16", "uint16", "uint32", "uint64")
A = [[3, 7, 250], [1, 0, 9]]
B = [[2, 3, 5], [4, 1, 2]]


@pytest.mark.parametrize("host", ["auto", "only", "off"])
@pytest.mark.parametrize("kind", KINDS)
def test_they_are_numpys(kind: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDNET_HOST", host)
    a, b = np.array(A, kind), np.array(B, kind)
    x, y = nd.array(a, dtype=kind), nd.array(b, dtype=kind)
    pairs = {
        "+": (x + y, a + b),
        "-": (x - y, a - b),
        "%": (x % y, a % b),
        "**": (x**2, a**2),
        ">": (x > y, (a > b).astype(kind)),
        "sum": (x.sum(axis=0), a.sum(axis=0).astype(kind)),
        "take": (nd.take(x, nd.array([1, 0])), a[[1, 0]]),
        "dot": (nd.dot(x, y.T), a @ b.T),
        "sort": (nd.sort(x), np.sort(a)),
        "clip": (x.clip(2, 8), a.clip(2, 8)),
        "where": (nd.where(y > x, x, y), np.where(b > a, a, b)),
        "concat": (nd.concat(x, y, dim=0), np.concatenate([a, b])),
        "slice": (x[0, 1:], a[0, 1:]),
        "zeros": (nd.zeros((2,), dtype=kind), np.zeros(2, kind)),
        "arange": (nd.arange(5, dtype=kind), np.arange(5, dtype=kind)),
        "cast": (x.astype("float32"), a.astype("float32")),
        "function": (hn.function(lambda x: x * 2 + x)(x), a * 2 + a),
        "symbol": ((sym.var("x", dtype=kind) + 1).bind(hn.cpu(), {"x": x}).forward()[0], a + 1),
    }
    for name, (found, wanted) in pairs.items():
        np.testing.assert_array_equal(found.asnumpy(), wanted, name)
        assert found.dtype == wanted.dtype, name
    x[0], a[0] = 5, 5
    x += y
    np.testing.assert_array_equal(x.asnumpy(), a + b)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_written_and_read(kind: str, tmp_path: Path) -> None:
    largest = np.array([np.iinfo(kind).max, np.iinfo(kind).min, 7], kind)
    x = nd.array(largest, dtype=kind)
    nd.save(str(tmp_path / "x"), {"x": x})
    for one in (nd.load(str(tmp_path / "x"))["x"], pickle.loads(pickle.dumps(x)), x.copy()):
        assert one.dtype == np.dtype(kind)
        np.testing.assert_array_equal(one.asnumpy(), largest)
    assert str(np.iinfo(kind).max) in repr(x)

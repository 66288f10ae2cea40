"""2-bit compression: MXNet's bytes, residuals and values, and what is refused."""

import numpy as np
import pytest
from places import ORACLE

from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.storage.two_bit import compressed_size, dequantize, quantize

ANSWERS = np.load(ORACLE / "two_bit.npz")
NAMES = sorted({name.split("/")[0] for name in ANSWERS.files})


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_are_mxnets(name):
    threshold = float(ANSWERS[f"{name}/threshold"])
    gradients = ANSWERS[f"{name}/gradients"]
    residual = np.zeros(gradients.shape[1], np.float32)
    for turn, gradient in enumerate(gradients):
        packed = quantize(gradient, residual, threshold)
        assert packed.tobytes() == ANSWERS[f"{name}/bytes"][turn].tobytes()
        assert residual.tobytes() == ANSWERS[f"{name}/residuals"][turn].tobytes()
        values = np.empty_like(gradient)
        dequantize(packed, values, threshold)
        assert (values == ANSWERS[f"{name}/values"][turn]).all()


def test_large_arrays_are_worked_on_in_pieces():
    gradient = np.random.default_rng(0).standard_normal(200_003).astype(np.float32)
    residual = np.zeros_like(gradient)
    whole = quantize(gradient, residual, 0.5)
    for start in (0, 65536, 131072, 196608):
        stop = min(start + 65536, gradient.size)
        piece = quantize(gradient[start:stop], np.zeros(stop - start, np.float32), 0.5)
        assert (whole[start // 4 : start // 4 + piece.size] == piece).all()
    values = np.empty_like(gradient)
    dequantize(whole, values, 0.5)
    np.testing.assert_array_equal(values + residual, gradient)


def test_what_is_not_sent_is_sent_later():
    residual, total = np.zeros(40, np.float32), np.zeros(40, np.float32)
    values = np.empty(40, np.float32)
    for _ in range(10):
        dequantize(quantize(np.full(40, 0.2, np.float32), residual, 0.5), values, 0.5)
        total += values
    np.testing.assert_allclose(total + residual, 2.0, rtol=1e-6)


def test_what_is_refused():
    flat = np.zeros(20, np.float32)
    with pytest.raises(KVStoreError, match=r"a threshold above 0, got 0"):
        quantize(flat, flat.copy(), 0)
    with pytest.raises(KVStoreError, match=r"flat float32 residual of 20 values, got float32\(19,"):
        quantize(flat, np.zeros(19, np.float32), 0.5)
    with pytest.raises(KVStoreError, match=r"20 values in 2 bits require 8 bytes, got 5"):
        dequantize(np.zeros(5, np.uint8), flat, 0.5)
    assert [compressed_size(n) for n in (0, 1, 16, 17)] == [0, 4, 4, 8]

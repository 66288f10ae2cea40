"""`sym.sparse`: the operators of `nd.sparse` on symbols."""

import numpy as np
import pytest

import hybridnet as mx


def test_operators_of_nd_sparse_are_there_and_compute():
    assert set(mx.sym.sparse.__all__) <= set(mx.nd.sparse.__all__)
    out = mx.sym.sparse.dot(mx.sym.var("a"), mx.sym.var("b"))
    a = mx.nd.array([[0, 2], [1, 0]]).tostype("csr")
    executor = out.bind(mx.cpu(), {"a": a, "b": mx.nd.ones((2, 3))})
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [[2, 2, 2], [1, 1, 1]])
    with pytest.raises(AttributeError, match="hybridnet.sym.sparse has no function 'dott'"):
        _ = mx.sym.sparse.dott

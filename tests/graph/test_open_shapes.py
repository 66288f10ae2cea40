"""Arrays made with sizes that the rest of the graph tells: `sym.zeros((0, 3))`."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd, sym


def test_an_unknown_size_follows_from_what_the_array_is_added_to() -> None:
    total = sym.var("x") + sym.ones((0, 3))
    assert total.infer_shape(x=(5, 3))[1] == [(5, 3)]
    for size in (5, 7):
        executor = total.bind(hn.cpu(), {"x": nd.zeros((size, 3))})
        np.testing.assert_array_equal(executor.forward()[0].asnumpy(), np.ones((size, 3)))


def test_it_follows_backward_through_a_layer() -> None:
    hidden = sym.FullyConnected(sym.zeros((0, 2), name="begin"), num_hidden=3, name="h")
    out = sym.FullyConnected(sym.var("x"), num_hidden=3, name="i") + hidden
    executor = out.simple_bind(hn.cpu(), x=(4, 6))
    assert executor.arg_dict["h_weight"].shape == (3, 2)
    (made,) = executor.forward(is_train=True)
    executor.backward(nd.ones((4, 3)))
    assert made.shape == (4, 3)
    np.testing.assert_array_equal(executor.grad_dict["h_bias"].asnumpy(), [4, 4, 4])
    small = executor.reshape(x=(2, 6))
    assert small.forward()[0].shape == (2, 3)


def test_random_numbers_too() -> None:
    total = sym.var("x") * sym.random.uniform(1, 2, shape=(0, 3))
    found = total.bind(hn.cpu(), {"x": nd.ones((4, 3))}).forward()[0].asnumpy()
    assert found.shape == (4, 3)
    assert ((found >= 1) & (found < 2)).all()


def test_what_nothing_tells_is_not_inferred() -> None:
    with pytest.warns(UserWarning, match="Cannot decide shape"):
        assert (sym.zeros((0, 3)) * sym.var("x")).infer_shape() == (None, None, None)


@pytest.mark.parametrize(
    "left,right,told,complete",
    [
        # MXNet says (0, 0, 0), (0, 5) and (0, 0) of the first: the same where it knows a size.
        ((0, 0, 0), (0, 5, 4), (0, 5, 4), [((1, 1, 1), (2, 5, 4)), ((3, 5, 1), (1, 5, 4))]),
        ((0, 5), (1, 5), (0, 5), [((1, 5), (1, 5)), ((3, 5), (1, 5))]),
        ((0, 5), (0,), (0, 5), [((2, 5), (1,)), ((1, 5), (5,))]),
        ((0, 1), (0, 0), (0, 0), [((2, 1), (1, 3)), ((1, 1), (2, 1))]),
    ],
)
def test_what_broadcasts_tells_its_dimensions_where_sizes_are_unknown(
    left: tuple[int, ...],
    right: tuple[int, ...],
    told: tuple[int, ...],
    complete: list[tuple[tuple[int, ...], tuple[int, ...]]],
) -> None:
    total = sym.broadcast_sub(sym.var("x", shape=left), sym.var("y", shape=right))
    assert total.infer_shape_partial()[1] == [told]
    assert sym.mean(total, axis=-1).infer_shape_partial()[1] == [told[:-1]]
    found = [np.broadcast_shapes(*shapes) for shapes in complete]  # two ways to complete them
    assert all(n in (0, m) for shape in found for n, m in zip(told, shape, strict=True))

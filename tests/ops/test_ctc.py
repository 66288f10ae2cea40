"""CTCLoss against the sum over all alignments, one by one, and as users call it."""

import itertools

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import autograd, nd
from hybridnet.base.errors import ParameterError, ShapeError

_DATA = np.random.default_rng(0).normal(size=(4, 1, 3)).astype("float32")


def _brute_force(data, label, blank):
    """Sums the probability of every path that says the label."""
    probability = np.exp(data) / np.exp(data).sum(-1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(data.shape[1]), repeat=data.shape[0]):
        said = [one for one, _ in itertools.groupby(path) if one != blank]
        if said == list(label):
            total += np.prod([row[one] for row, one in zip(probability, path, strict=True)])
    return -np.log(total)


@pytest.mark.parametrize("label", [(1,), (1, 2), (2, 2), (1, 2, 1), ()])
def test_loss_is_the_sum_over_all_alignments(label):
    padded = np.zeros((1, 3), "float32")
    padded[0, : len(label)] = label
    loss = mx.nd.CTCLoss(mx.nd.array(_DATA), mx.nd.array(padded))
    np.testing.assert_allclose(loss.asnumpy(), _brute_force(_DATA[:, 0], label, 0), rtol=1e-5)
    # The same with the classes the other way round: blanks are 2, and padding is -1.
    turned = np.where(padded == 0, -1, 2 - padded)
    last = mx.nd.ctc_loss(mx.nd.array(_DATA[:, :, ::-1]), mx.nd.array(turned), blank_label="last")
    np.testing.assert_allclose(last.asnumpy(), loss.asnumpy(), rtol=1e-5)


def test_labels_that_do_not_fit_have_an_infinite_loss_without_a_gradient():
    data = mx.nd.array(np.concatenate([_DATA, _DATA], 1))
    data.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.CTCLoss(data, mx.nd.array([[1, 1, 1], [1, 1, 0]]))
    loss.backward()
    assert loss.asnumpy()[0] == np.inf
    assert np.isfinite(loss.asnumpy()[1])
    gradient = data.grad.asnumpy()
    assert (gradient[:, 0] == 0).all()
    assert np.isfinite(gradient).all() and (gradient[:, 1] != 0).any()


def test_either_length_may_be_left_out():
    data, label = mx.nd.array(_DATA), mx.nd.array([[1, 2, 1]])
    short = mx.nd.CTCLoss(data, mx.nd.array([[1, 2, 0]])).asnumpy()
    two = mx.nd.array([2])
    for given in (
        mx.nd.CTCLoss(data, label, None, two, use_label_lengths=True),
        mx.nd.CTCLoss(data, label, label_lengths=two, use_label_lengths=True),
    ):
        np.testing.assert_allclose(given.asnumpy(), short, rtol=1e-6)
    names = ("x", "y", "n")
    x, y, n = map(mx.sym.var, names)
    symbol = mx.sym.CTCLoss(x, y, None, n, use_label_lengths=True)
    assert symbol.list_arguments() == list(names)
    np.testing.assert_allclose(symbol.eval(x=data, y=label, n=two)[0].asnumpy(), short, rtol=1e-6)
    three = mx.nd.CTCLoss(data, label, mx.nd.array([3]), use_data_lengths=True)
    cut = mx.nd.CTCLoss(data[:3], label)
    np.testing.assert_allclose(three.asnumpy(), cut.asnumpy(), rtol=1e-6)


def test_unfit_inputs_are_refused():
    data, label = mx.nd.array(_DATA), mx.nd.array([[1, 2]])
    with pytest.raises(ShapeError, match=r"CTCLoss: requires data \(time, batch, classes\)"):
        mx.nd.CTCLoss(data, mx.nd.ones((2, 2)))
    with pytest.raises(ParameterError, match="require the inputs data, label, label_lengths"):
        mx.nd.CTCLoss(data, label, use_label_lengths=True)
    with pytest.raises(ShapeError, match=r"label_lengths must have shape \(1,\)"):
        mx.nd.CTCLoss(data, label, mx.nd.ones(3), use_label_lengths=True)
    with pytest.raises(ParameterError, match="blank_label must be one of 'first', 'last'"):
        mx.nd.CTCLoss(data, label, blank_label="middle")


def test_steps_beyond_the_length_may_be_anything():
    scores = np.random.default_rng(0).normal(size=(5, 2, 4)).astype("float32")
    label, lengths = nd.array([[1, 2], [3, 0]]), nd.array([3, 5])
    found = []
    for filler in (0, np.nan):
        given = scores.copy()
        given[3:, 0] = filler
        data = nd.array(given)
        data.attach_grad()
        with autograd.record():
            loss = nd.CTCLoss(data, label, lengths, use_data_lengths=True)
        loss.backward()
        found.append((loss.asnumpy(), data.grad.asnumpy()))
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)
    assert not found[1][1][3:, 0].any()

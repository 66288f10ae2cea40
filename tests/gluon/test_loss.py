"""Losses against MXNet's recorded answers and NumPy; extremes, wrong shapes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracle import gluon_cases as cases
from oracle import loss_cases as more
from places import ORACLE

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.base.errors import MXNetError, ShapeError
from hybridnet.gluon import loss as losses

RECORDED = json.loads((ORACLE / "gluon.json").read_text())
NUMBERS = np.load(ORACLE / "gluon.npz")
MORE = np.load(ORACLE / "losses.npz")


COUNT = len(cases.LOSSES)


@pytest.mark.parametrize(
    ("index", "hybridize"),
    [*((one, False) for one in range(COUNT)), *((one, True) for one in range(0, COUNT, 3))],
)
def test_losses_and_gradients_are_mxnets(index: int, hybridize: bool) -> None:
    for name, array in cases.run_loss(hn, index, hybridize).items():
        wanted = NUMBERS[f"loss {index} {name}"]
        assert array.shape == wanted.shape
        np.testing.assert_allclose(array, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("index", range(len(more.LOSSES)))
def test_more_losses_and_gradients_are_mxnets(index: int) -> None:
    for hybridize in (False, True):
        for name, array in more.run(hn, index, hybridize).items():
            wanted = MORE[f"{index} {name}"]
            assert array.shape == wanted.shape
            np.testing.assert_allclose(array, wanted, rtol=1e-4, atol=1e-5)


def test_counts_of_zero_have_no_logarithm() -> None:
    loss = losses.PoissonNLLLoss(from_logits=False, compute_full=True)
    assert loss(nd.array([[2.0]]), nd.array([[0.0]])).asscalar() == 2


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="label_format must be 'signed' or 'binary', got 'both'"):
        losses.LogisticLoss(label_format="both")
    with pytest.raises(ValueError, match="layout must be 'NTC' or 'TNC'"):
        losses.CTCLoss(layout="CNT")
    with pytest.raises(ValueError, match="weight must be a number, got 'heavy'"):
        losses._apply_weighting(nd, nd.ones((2,)), "heavy")
    with pytest.raises(ShapeError, match=r"SDMLLoss: x1 and x2 must have one shape"):
        losses.SDMLLoss()(nd.ones((2, 3)), nd.ones((3, 3)))


def test_texts_are_mxnets() -> None:
    with hn.name.NameManager():
        found = [repr(losses.L2Loss()), repr(losses.SoftmaxCELoss(weight=2))]
    assert found == RECORDED["reprs"]["loss"]


@pytest.mark.parametrize("from_sigmoid", [False, True])
def test_positive_weights(from_sigmoid: bool) -> None:
    logits, label = cases.numbers(0, (3, 4)), (cases.numbers(1, (3, 4)) > 0).astype(np.float32)
    weight = np.array([[0.5, 1.0, 2.0, 3.0]], np.float32)
    p = 1 / (1 + np.exp(-logits))
    wanted = -(weight * label * np.log(p) + (1 - label) * np.log(1 - p)).mean(1)
    loss = losses.SigmoidBCELoss(from_sigmoid=from_sigmoid)
    given = nd.array(p if from_sigmoid else logits)
    out = loss(given, nd.array(label), None, nd.array(weight))
    np.testing.assert_allclose(out.asnumpy(), wanted, rtol=1e-5)


def test_large_logits_stay_finite() -> None:
    x = nd.array([[-200.0, 200.0], [200.0, -200.0]])
    x.attach_grad()
    with autograd.record():
        sigmoid = losses.SigmoidBCELoss()(x, nd.array([[0, 0], [1, 1]]))
        softmax = losses.SoftmaxCELoss()(x, nd.array([0, 0]))
    autograd.backward([sigmoid, softmax])
    assert sigmoid.asnumpy().tolist() == [100, 100]
    assert softmax.asnumpy().tolist() == [400, 0]
    np.testing.assert_allclose(x.grad.asnumpy(), [[-1, 1.5], [0, -0.5]], atol=1e-6)


def test_losses_compose_symbols() -> None:
    loss = losses.SoftmaxCELoss(prefix="ce_")
    out = loss(hn.sym.var("pred"), hn.sym.var("label"))
    assert out.list_arguments() == ["pred", "label"]
    _, shapes, _ = out.infer_shape(pred=(5, 3), label=(5,))
    assert shapes == [(5,)]


def test_a_loss_of_ones_own() -> None:
    class Cubic(losses.Loss):
        def hybrid_forward(self, F, pred, label):  # type: ignore[no-untyped-def]
            return F.mean(F.abs(pred - label) ** 3, axis=self._batch_axis, exclude=True)

    loss = Cubic(None, 0)
    assert loss(nd.array([[1.0, 3.0]]), nd.zeros((1, 2))).asnumpy().tolist() == [14]
    with pytest.raises(NotImplementedError, match="Loss must define hybrid_forward"):
        losses.Loss(None, 0)(nd.ones((1, 1)))


@pytest.mark.parametrize(
    ("loss", "shapes"),
    [
        (losses.L2Loss(prefix="l2_"), [(2, 3), (2, 4)]),
        (losses.L1Loss(prefix="l1_"), [(2, 3), (2,)]),
        (losses.SoftmaxCELoss(prefix="ce_"), [(4, 3), (3,)]),
        (losses.SoftmaxCELoss(sparse_label=False, prefix="dense_"), [(4, 3), (4,)]),
        (losses.L2Loss(prefix="weighted_"), [(4, 3), (4, 3), (3, 3)]),
    ],
)
def test_shapes_that_do_not_fit_name_the_loss(
    loss: losses.Loss, shapes: list[tuple[int, ...]]
) -> None:
    with pytest.raises(ShapeError, match=rf"{loss.name} \({type(loss).__name__}\)"):
        loss(*map(nd.ones, shapes))


def test_labels_that_are_no_arrays() -> None:
    with pytest.raises(MXNetError, match="NDArray"):
        losses.L2Loss()(nd.ones((2, 1)), np.ones((2, 1)))
    with pytest.raises(TypeError, match="label"):
        losses.L2Loss()(nd.ones((2, 1)))

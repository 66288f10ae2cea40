"""Metrics, against the values MXNet 1.9.1 gave (`oracle/make_optimizer.py`) and by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from places import ORACLE

from hybridnet import autograd, metric, nd
from hybridnet.base.context import cpu
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.runtime.record import recorder
from hybridnet.tracing import function

ANSWERS = json.loads((ORACLE / "optimizer.json").read_text())
CASES = ANSWERS["metrics"]
BATCHES = ANSWERS["batches"]

LABELS = [1, 1, 1]
SCORES = [[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]


def case_id(case: dict[str, Any]) -> str:
    return "-".join([case["name"], *map(str, case["settings"].values()), case["kind"]])


def batches(case: dict[str, Any]) -> list[list[nd.NDArray]]:
    return [[nd.array(one) for one in pair] for pair in BATCHES[case["kind"]]]


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_values_are_mxnets(case: dict[str, Any]) -> None:
    made = metric.create(case["name"], **case["settings"])
    for labels, preds in batches(case):
        made.update([labels], [preds])
    assert made.get() == (case["shown"], close(case["both"]))
    made.reset()
    assert math.isnan(made.get()[1])
    assert math.isnan(made.get_global()[1])


@pytest.mark.parametrize("case", [one for one in CASES if one["each"] is not None], ids=case_id)
def test_local_and_global_values_are_mxnets(case: dict[str, Any]) -> None:
    made = metric.create(case["name"], **case["settings"])
    for (labels, preds), value in zip(batches(case), case["each"], strict=True):
        made.reset_local()
        assert math.isnan(made.get()[1])
        made.update(labels, preds)
        assert made.get_name_value() == [(case["shown"], close(value))]
    assert made.get_global_name_value() == [(case["shown"], close(case["global"]))]


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_an_update_waits_for_nothing(case: dict[str, Any]) -> None:
    made = metric.create(case["name"], **case["settings"])
    labels, preds = batches(case)[0]
    made.update(labels, preds)
    recorder.flush()
    later = preds * 1  # recorded, not launched: an update that read it would launch it
    made.update(labels, later)
    made.reset_local()
    made.update(labels, later)
    assert later.read().segment is not None


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_an_update_can_be_part_of_a_traced_function(case: dict[str, Any]) -> None:
    made = metric.create(case["name"], **case["settings"])

    @function
    def step(labels: Any, preds: Any) -> Any:
        made.update(labels, preds)
        return preds.sum()

    data = batches(case)
    for labels, preds in [*data, data[0]]:
        step(labels, preds)
    made.reset()
    for labels, preds in data:
        step(labels, preds)
    assert step.cache_info().traces == 2
    assert made.get()[1] == close(case["both"])


def test_correlation_of_all_heeds_reset_local() -> None:
    made = metric.PearsonCorrelation(average="micro")
    assert math.isnan(made.get()[1])
    pairs = [([1.0, 2, 3], [1.0, 3, 2]), ([1.0, 2, 5], [1.0, 3, 9])]
    for labels, preds in pairs:
        made.reset_local()
        made.update(nd.array(labels), nd.array(preds))
        assert made.get()[1] == close(np.corrcoef(labels, preds)[0, 1])
    labels, preds = np.concatenate(pairs, 1)
    assert made.get_global()[1] == close(np.corrcoef(labels, preds)[0, 1])
    made.reset()
    made.update(nd.ones((3,)), nd.array([1, 2, 3]))
    assert math.isnan(made.get()[1])  # a constant is correlated with nothing


def test_updates_while_recording_leave_no_trace_on_the_tape() -> None:
    x = nd.array(SCORES)
    x.attach_grad()
    made: Any = metric.create(["loss", "acc", "ce"])
    with autograd.record():
        y = x * 2
        made.update(nd.array(LABELS), y)
    y.backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full((3, 2), 2.0))
    assert made.metrics[0].get()[1] == close(1.0)


def test_sums_keep_small_terms_beside_large_ones() -> None:
    """In float32 2**24 + 1 is 2**24."""
    made = metric.Loss()
    made.update(None, nd.array([2.0**24]))
    for _ in range(10):
        made.update(None, nd.array([1.0]))
    assert made.sum_metric == 2.0**24 + 10
    assert made.num_inst == 11


def test_batches_on_several_devices_are_summed() -> None:
    made: Any = metric.create(["acc", "f1", "mse"])
    halves = [nd.array(SCORES, ctx=cpu(i)) for i in (0, 1)]
    labels = [nd.array(LABELS, ctx=cpu(0)), nd.array([0, 0, 0], ctx=cpu(0))]
    made.metrics[0].update(labels, halves)
    made.metrics[1].update(labels, halves)
    # Right: rows 0 and 2 of the first half, row 1 of the second.
    assert made.metrics[0].get()[1] == pytest.approx(3 / 6)
    # tp 2, fp 2, fn 1 over both halves.
    assert made.metrics[1].get()[1] == pytest.approx(4 / 7)


def test_narrow_dtypes_and_numpy_arrays() -> None:
    loss = metric.Loss()
    loss.update(None, nd.full((4096,), 100.0, dtype="float16"))  # the sum is beyond float16
    assert loss.get()[1] == 100
    mse = metric.MSE()
    mse.update(np.array([1, 2]), nd.array([2, 4], dtype="float16"))
    assert mse.get()[1] == 2.5
    mse.reset()
    mse.update(nd.array([1, 2], dtype="int32"), nd.array([2, 3], dtype="int32"))
    assert mse.get()[1] == 1
    accuracy = metric.Accuracy()
    accuracy.update(np.array(LABELS, np.int64), nd.array(SCORES, dtype="float16"))
    assert accuracy.get()[1] == close(2 / 3)


def test_accuracy_of_classes_and_of_columns() -> None:
    made = metric.Accuracy()
    made.update(nd.array(LABELS), nd.array([1, 0, 1]))
    assert made.get()[1] == close(2 / 3)
    made.reset()
    made.update(nd.array([[1], [1], [0]]), nd.array(SCORES))
    assert made.get()[1] == close(1 / 3)
    made = metric.Accuracy(axis=2)
    made.update(nd.array([[1, 0], [1, 1]]), nd.array([[[0.1, 0.9], [0.2, 0.8]]] * 2))
    assert made.get()[1] == close(3 / 4)


def test_equal_scores_rank_by_class() -> None:
    made = metric.TopKAccuracy(2)
    made.update(nd.array([0, 1, 2]), nd.array([[0.25] * 4] * 3))
    assert made.get() == ("top_k_accuracy_2", close(2 / 3))
    made = metric.TopKAccuracy(9)
    made.update(nd.array([3]), nd.array([[0.25] * 4]))
    assert made.get()[1] == 1


def test_a_label_that_is_no_class_is_reported_by_get() -> None:
    made = metric.CrossEntropy()
    made.update(nd.array([-1, 0, 0]), nd.array(SCORES))  # -1 is the last class, as in MXNet
    assert made.get()[1] == close(-np.log([0.9, 0.8, 0.3]).mean())
    made.update(nd.array([2, 0, -3]), nd.array(SCORES))
    with pytest.raises(ParameterError, match=r"cross-entropy: every label.*but 2 were not"):
        made.get()
    made.reset()
    made.update(nd.array([1, 0, 0]), nd.array(SCORES))
    assert made.get()[1] == close(-np.log([0.9, 0.8, 0.3]).mean())


def test_perplexity_over_sequences() -> None:
    scores = np.array([[[0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.5, 0.5]]])
    wanted = math.exp(-np.log([0.9, 0.2, 0.7, 0.5]).mean())
    for axis, data in ((-1, scores), (1, scores.transpose(0, 2, 1))):
        made = metric.Perplexity(None, axis=axis)
        made.update(nd.array([[1, 0], [1, 1]]), nd.array(data))
        assert made.get()[1] == close(wanted)


def test_scores_without_a_positive_are_0() -> None:
    for kind in (metric.F1, metric.MCC):
        for average in ("macro", "micro"):
            made = kind(average=average)
            made.update(nd.array([0, 0]), nd.array([[0.9, 0.1], [0.9, 0.1]]))
            assert made.get()[1] == 0


def test_composite_nests_and_reads_in_order() -> None:
    made = metric.CompositeEvalMetric(["acc", metric.CrossEntropy()])
    made.add("mse")
    made.metrics.pop()
    made.update([nd.array(LABELS)], [nd.array(SCORES)])
    outer = metric.create([made, "mae"])
    names, values = outer.get()
    assert names == ["accuracy", "cross-entropy", "mae"]
    assert values[:2] == [close(2 / 3), close(-np.log([0.9, 0.2, 0.7]).mean())]
    assert math.isnan(values[2])
    assert outer.get_global()[0] == names
    assert made.get_metric(1) is made.metrics[1]
    assert str(made).startswith("EvalMetric: {'accuracy': 0.66")
    assert made.get_config()["metrics"][0] == {
        "axis": 1,
        "metric": "Accuracy",
        "name": "accuracy",
        "output_names": None,
        "label_names": None,
    }
    made.reset_local()
    assert math.isnan(made.get()[1][0])
    assert made.get_global()[1][0] == close(2 / 3)
    made.reset()
    assert math.isnan(made.get_global()[1][0])
    with pytest.raises(ParameterError, match="index must be below 2, got 3"):
        made.get_metric(3)
    assert metric.CompositeEvalMetric().get() == ([], [])


def test_named_arrays_are_chosen() -> None:
    labels = {"l": nd.array(LABELS), "z": nd.array([0])}
    preds = {"p": nd.array(SCORES), "q": nd.array([0])}
    made = metric.Accuracy(output_names=["p"], label_names=["l"])
    made.update_dict(labels, preds)
    assert made.get()[1] == close(2 / 3)
    both = metric.CompositeEvalMetric([metric.Accuracy()], output_names=["p"], label_names=["l"])
    both.update_dict(labels, preds)
    assert both.get()[1] == [close(2 / 3)]
    with pytest.raises(ParameterError, match="must include o, got p, q"):
        metric.Accuracy(output_names=["o"]).update_dict(labels, preds)


def test_functions_become_metrics() -> None:
    def wrong(label: Any, pred: Any) -> float:
        assert isinstance(label, np.ndarray)
        return float((label != pred.argmax(1)).mean())

    for made in (metric.create(wrong), metric.np(wrong), metric.CustomMetric(wrong)):
        made.update(nd.array(LABELS), nd.array(SCORES))
        assert made.get() == ("wrong", close(1 / 3))
    assert metric.np(lambda label, pred: 0).name == "custom(<lambda>)"
    assert metric.np(wrong, "mine").name == "mine"
    made = metric.create(lambda label, pred: (6, 3))
    made.update([nd.array(LABELS)], [nd.array(SCORES)])
    assert made.get()[1] == 2
    with pytest.raises(ShapeError, match="lengths of labels and predictions must be equal"):
        made.update([nd.array(LABELS)], [nd.array(SCORES)] * 2)
    extra = metric.CustomMetric(wrong, allow_extra_outputs=True)
    extra.update([nd.array(LABELS)], [nd.array(SCORES)] * 2)
    assert extra.get()[1] == close(1 / 3)
    with pytest.raises(NotImplementedError, match="cannot be put into a configuration"):
        made.get_config()


def test_a_metric_of_ones_own_as_in_mxnet() -> None:
    @metric.register
    class Mean(metric.EvalMetric):
        def __init__(self) -> None:
            super().__init__("mean")

        def reset(self) -> None:
            self.num_inst = 0
            self.sum_metric = 0.0

        def update(self, labels: Any, preds: Any) -> None:
            self.sum_metric += float(preds.sum().asscalar())
            self.num_inst += preds.size

    made = metric.create("mean")
    made.update(None, nd.array([1, 2]))
    made.update(None, nd.array([6]))
    assert made.get() == made.get_global() == ("mean", 3)
    assert (made.sum_metric, made.num_inst) == (9, 3)
    made.reset()
    assert math.isnan(made.get()[1])
    with pytest.raises(NotImplementedError, match="must define update"):
        metric.EvalMetric("x").update(None, None)


@pytest.mark.parametrize(
    "made",
    [metric.Accuracy(axis=3), metric.TopKAccuracy(3, name="t"), metric.Perplexity(1), metric.F1()],
    ids=lambda made: made.name,
)
def test_configurations_read_back(made: metric.EvalMetric) -> None:
    config = made.get_config()
    if isinstance(made, metric.TopKAccuracy):
        assert config.pop("name") == "t_3"
    again = metric.create(json.dumps(config))
    assert type(again) is type(made)
    assert again._kwargs == made._kwargs


def test_names_and_json() -> None:
    assert metric.create("TOP_K_ACC", top_k=3).name == "top_k_accuracy_3"
    assert metric.create('["acc", {"axis": 2}]').get_config()["axis"] == 2
    made = metric.Accuracy(name="foo")
    assert metric.create(made) is made
    assert made.get()[0] == "foo"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metric.create("foo"), r"must be registered \(one of acc, .*got 'foo'"),
        (lambda: metric.create(metric.Accuracy(), axis=2), "takes no further arguments"),
        (lambda: metric.TopKAccuracy(), "top_k must be at least 2"),
        (lambda: metric.F1(average="x"), "'macro' or 'micro', got 'x'"),
        (lambda: metric.PearsonCorrelation(average="x"), "'macro' or 'micro', got 'x'"),
        (
            lambda: metric.Accuracy().update([nd.array(LABELS)] * 2, [nd.array(SCORES)]),
            "lengths of labels and predictions must be equal, got 2 and 1",
        ),
        (
            lambda: metric.Accuracy().update(nd.ones((2,)), nd.ones((3, 2))),
            r"labels of shape \(2,\) and predictions of shape \(3, 2\)",
        ),
        (lambda: metric.CrossEntropy().update(nd.ones((2,)), nd.ones((3, 2))), "batch, classes"),
        (lambda: metric.TopKAccuracy(2).update(nd.ones((3,)), nd.ones((3,))), "batch, classes"),
        (lambda: metric.Perplexity(None).update(nd.ones((2,)), nd.ones((3, 2))), "a label for"),
        (lambda: metric.F1().update(nd.ones((2,)), nd.ones((3, 2))), r"shape \(batch, 2\)"),
        (
            lambda: metric.PearsonCorrelation().update(nd.ones((2,)), nd.ones((3,))),
            "must have one shape",
        ),
        (
            lambda: metric.check_label_shapes(nd.ones((2, 3)), nd.ones((2, 2)), shape=True),
            r"shapes of labels .* got \(2, 3\) and \(2, 2\)",
        ),
    ],
)
def test_misuse_is_explained(call: Any, message: str) -> None:
    with pytest.raises((ParameterError, ShapeError), match=message):
        call()


def test_check_label_shapes_wraps_single_arrays() -> None:
    label, pred = nd.array(LABELS), nd.array(SCORES)
    assert metric.check_label_shapes(label, pred, wrap=True) == ([label], [pred])


def test_pcc_is_mcc_for_two_classes_and_the_correlation_of_indicators_for_more() -> None:
    rng = np.random.default_rng(3)
    for classes in (2, 5):
        true, scores = rng.integers(0, classes, 40), rng.random((40, classes)).astype("float32")
        said = scores.argmax(1)
        pcc = metric.create("pcc")
        for part in (slice(0, 20), slice(20, 40)):
            pcc.update([nd.array(true[part])], [nd.array(scores[part])])
        sides = [np.eye(classes)[side] - np.eye(classes)[side].mean(0) for side in (true, said)]
        wanted = (sides[0] * sides[1]).sum() / np.sqrt(np.prod([(s * s).sum() for s in sides]))
        np.testing.assert_allclose(pcc.get()[1], wanted, rtol=1e-6, atol=1e-12)
        if classes == 2:
            mcc = metric.MCC(average="micro")
            mcc.update([nd.array(true)], [nd.array(scores)])
            np.testing.assert_allclose(pcc.get()[1], mcc.get()[1], rtol=1e-6)
        pcc.reset_local()
        assert np.isnan(pcc.get()[1]) and pcc.get_global()[1] == pytest.approx(wanted)
        pcc.update([nd.array(true)], [nd.array(said)])  # classes instead of scores
        assert pcc.get()[1] == pytest.approx(wanted)


def test_composites_are_made_again_of_their_configuration() -> None:
    composite = metric.CompositeEvalMetric([metric.Accuracy(axis=0), metric.F1()])
    again = metric.create(json.dumps(composite.get_config()))
    assert again.get_config() == composite.get_config()
    assert metric.create({"metric": "acc", "axis": 0}).axis == 0


def test_pearson_goes_by_mxnets_steps_too() -> None:
    made = metric.PearsonCorrelation(average="micro")
    first, second = np.array([1.0, 4.0, -2.0]), np.array([0.5, 3.0])
    seen = made.update_variance(second, *made.update_variance(first, 0, 0, 0))
    both = np.concatenate([first, second])
    np.testing.assert_allclose(seen, (5, both.mean(), both.var() * 5))
    assert made.update_variance(first[:0], *seen) == seen
    labels, preds = [0.0, 1.0, 3.0], [0.5, 0.25, 2.0]
    made.update([nd.array(labels)], [nd.array(preds)])
    once = made.get()[1]
    made.update_cov(np.array(labels), np.array(preds))  # the products a second time
    np.testing.assert_allclose(made.get()[1], 2 * once)
    made.reset_micro()
    assert np.isnan(made.get()[1])


@pytest.mark.parametrize("name", ["torch", "caffe"])
def test_criterions_of_other_frameworks_are_means(name: str) -> None:
    made = metric.create(name)
    made.update(None, [nd.array([1.0, 3.0])])
    assert made.get() == (name, 2.0)

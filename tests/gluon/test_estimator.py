"""`gluon.contrib.estimator`: the loop, its handlers, checkpoints and going on from them."""

from __future__ import annotations

import logging
import os

import numpy as np
import pytest
from oracle.gluon_cases import numbers

import hybridnet as hn
from hybridnet import gluon, nd
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.gluon.contrib.estimator import (
    BatchBegin,
    BatchEnd,
    BatchProcessor,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    Estimator,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

X = numbers(1, (8, 3))
Y = (X.sum(1) > 0).astype(np.float32)


def data(batch_size: int = 4) -> gluon.data.DataLoader:
    dataset = gluon.data.ArrayDataset(nd.array(X), nd.array(Y))
    return gluon.data.DataLoader(dataset, batch_size)


def estimator(rate: float = 0.5, **kwargs) -> Estimator:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(2, in_units=3))
    net.initialize(hn.init.Zero())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate, "momentum": 0.5})
    made = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, **kwargs)
    made.logger = logging.getLogger("test_estimator")
    return made


def weights(est: Estimator) -> np.ndarray:
    return est.net[0].weight.data().asnumpy()


def test_training_is_what_the_loop_by_hand_does(caplog) -> None:
    caplog.set_level(logging.INFO)
    est, other = estimator(), estimator()
    est.fit(data(), data(), epochs=3)
    for _ in range(3):
        for x, y in data():
            with hn.autograd.record():
                loss = other.loss(other.net(x), y)
            loss.backward()
            other.trainer.step(4)
    np.testing.assert_allclose(weights(est), weights(other), rtol=1e-6)
    accuracy, loss_metric = est.val_metrics
    assert accuracy.get() == ("validation accuracy", 1.0)
    assert loss_metric.get()[0] == "validation softmaxcrossentropyloss"
    text = caplog.text
    assert "using optimizer SGD with current learning rate 0.5000" in text
    assert "[Epoch 2] Finished in" in text and "Train finished using total" in text


def test_events_come_in_order() -> None:
    class Notes(TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def train_begin(self, estimator, *args, **kwargs):
            self.seen.append("train")

        def epoch_begin(self, estimator, *args, **kwargs):
            self.seen.append("epoch")

        def batch_begin(self, estimator, *args, **kwargs):
            self.seen.append(f"batch of {len(kwargs['batch'][0])}")

        def batch_end(self, estimator, *args, **kwargs):
            self.seen.append(f"{kwargs['loss'][0].shape}")

        def epoch_end(self, estimator, *args, **kwargs):
            self.seen.append("end of epoch")

        def train_end(self, estimator, *args, **kwargs):
            self.seen.append("end")

    notes = Notes()
    estimator().fit(data(4), event_handlers=notes, batches=3)
    batch = ["batch of 4", "(4,)"]
    assert notes.seen == [
        *("train", "epoch", *batch, *batch, "end of epoch"),
        *("epoch", *batch, "end of epoch", "end"),
    ]


def test_the_best_and_the_latest_are_kept_and_gone_on_from(tmp_path, caplog) -> None:
    caplog.set_level(logging.INFO)
    folder = str(tmp_path / "saved")
    est = estimator(0.01)
    handler = CheckpointHandler(
        folder, "m", est.train_metrics[1], 1, save_best=True, max_checkpoints=2
    )
    est.fit(data(), epochs=11, event_handlers=handler)
    assert handler.saved_checkpoints == ["m-epoch9batch20", "m-epoch10batch22"]
    files = sorted(os.listdir(folder))
    stems = ["m-best", "m-epoch10batch22", "m-epoch9batch20"]
    saved = [f"{stem}.{kind}" for stem in stems for kind in ("params", "states")]
    assert files == [*saved, "m-symbol.json"]
    assert "improved from inf" in caplog.text
    symbol = hn.sym.load(f"{folder}/m-symbol.json")
    assert symbol.infer_shape(data=(8, 3))[1] == [(8, 2)]

    whole, again = estimator(0.01), estimator(0.01)
    whole.fit(data(), epochs=13)
    handler = CheckpointHandler(folder, "m", resume_from_checkpoint=True)
    again.fit(data(), epochs=13, event_handlers=[handler])
    np.testing.assert_allclose(weights(again), weights(whole), rtol=1e-5)
    assert handler.saved_checkpoints[-1] == "m-epoch12batch26"
    with pytest.raises(ParameterError, match="is of all 13 epochs already"):
        estimator().fit(data(), epochs=13, event_handlers=[handler])
    with pytest.raises(ParameterError, match="save by what training is counted by"):
        estimator().fit(data(), batches=13, event_handlers=[handler])


def test_checkpoints_by_batches(tmp_path) -> None:
    def handler(**kwargs) -> CheckpointHandler:
        return CheckpointHandler(str(tmp_path), epoch_period=None, batch_period=2, **kwargs)

    estimator().fit(data(2), batches=5, event_handlers=handler())
    names = {name for name in os.listdir(tmp_path) if name.endswith(".params")}
    assert names == {"model-epoch0batch1.params", "model-epoch0batch3.params"}
    est = estimator()
    est.fit(data(2), batches=8, event_handlers=handler(resume_from_checkpoint=True))
    assert os.path.exists(tmp_path / "model-epoch1batch7.params")
    (tmp_path / "model-epochXbatch7.params").write_bytes(b"")
    with pytest.raises(FormatError, match="must be named like"):
        est.fit(data(2), batches=9, event_handlers=handler(resume_from_checkpoint=True))


def test_training_that_makes_nothing_better_ends() -> None:
    est = estimator(rate=0.0)
    handler = EarlyStoppingHandler(est.train_metrics[1], patience=2)
    est.fit(data(), epochs=50, event_handlers=handler)
    assert handler.stopped_epoch == 2 and handler.current_epoch == 3
    for mode, values, stopped in (("max", [1, 2, 2, 2], 3), ("min", [1, 2, 2], 2)):
        metric = hn.metric.EvalMetric("it")
        handler = EarlyStoppingHandler(metric, patience=2, mode=mode)
        handler.train_begin(est)
        for value in values:
            metric.get = lambda value=value: ("it", value)
            ended = handler.epoch_end(est)
        assert ended and handler.stopped_epoch == stopped


def test_own_processing_of_batches_and_evaluation_by_batches() -> None:
    class Twice(BatchProcessor):
        def fit_batch(self, estimator, train_batch, batch_axis=0):
            super().fit_batch(estimator, train_batch, batch_axis)
            return super().fit_batch(estimator, train_batch, batch_axis)

    seen = []
    validation = ValidationHandler(
        data(), lambda **kwargs: seen.append(kwargs["batch_axis"]), None, batch_period=2
    )
    est = estimator(batch_processor=Twice())
    est.fit(data(2), epochs=1, event_handlers=[validation, LoggingHandler(1, est.train_metrics)])
    assert seen == [0, 0]
    with pytest.raises(ParameterError, match="must have a method fit_batch"):
        estimator(batch_processor=object())


def test_defaults_are_warned_of() -> None:
    net = gluon.nn.Dense(1)
    with pytest.warns(UserWarning, match="No trainer specified"):
        est = Estimator(net, gluon.loss.L2Loss(), initializer=hn.init.One())
    est.fit(data(), epochs=1)
    assert [metric.name for metric in est.train_metrics] == ["training l2loss"]
    with pytest.warns(UserWarning, match="Network already fully initialized"):
        Estimator(net, gluon.loss.L2Loss(), initializer="ones", trainer=est.trainer)


def test_misuse_is_refused() -> None:
    est = estimator()
    with pytest.raises(ParameterError, match="loss must be a gluon.loss.Loss, got int"):
        Estimator(est.net, 3)
    with pytest.raises(ParameterError, match="train_data must be a gluon.data.DataLoader"):
        est.fit(hn.io.NDArrayIter(X, Y), epochs=1)
    for counts in ({}, {"epochs": 1, "batches": 1}):
        with pytest.raises(ParameterError, match="give epochs or batches, one of the two"):
            est.fit(data(), **counts)
    with pytest.raises(ParameterError, match="context must be a context"):
        estimator(context="cpu")
    with pytest.raises(ParameterError, match="MetricHandler: metrics must be from"):
        est.fit(data(), epochs=1, event_handlers=MetricHandler(hn.metric.Accuracy()))
    with pytest.raises(ParameterError, match="event_handlers must be"):
        est.fit(data(), epochs=1, event_handlers=[print])
    with pytest.raises(ParameterError, match="log_interval must be a number of batches"):
        LoggingHandler("batch")
    with pytest.raises(ParameterError, match="monitor must be one metric"):
        EarlyStoppingHandler(hn.metric.CompositeEvalMetric())
    with pytest.raises(ParameterError, match="to save the best, monitor must be"):
        CheckpointHandler(".", save_best=True)
    assert StoppingHandler(2).max_epoch == 2

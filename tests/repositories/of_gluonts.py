"""GluonTS: four estimators of `gluonts.mx`, and predictors that are read back."""

import numpy as np
import pandas as pd
from drive import STEPS, begin, main
from gluonts.dataset.common import ListDataset
from gluonts.model.predictor import Predictor
from gluonts.mx.model.deepar import DeepAREstimator
from gluonts.mx.model.deepstate import DeepStateEstimator
from gluonts.mx.model.seq2seq import MQCNNEstimator
from gluonts.mx.model.transformer import TransformerEstimator
from gluonts.mx.trainer import Trainer
from gluonts.mx.trainer.callback import Callback, TrainingHistory

LAGS = [1, 2, 7, 14]
MODELS = ("DeepAR", "DeepState", "Transformer", "MQCNN")


class Begin(Callback):
    def on_network_initializing_end(self, training_network):
        begin(training_network.collect_params().values())


def series(count=8, length=200):
    drawn = np.random.RandomState(3)
    days = np.arange(length)
    return ListDataset(
        [
            {
                "start": pd.Period("2020-01-01", freq="D"),
                "target": 10 + 3 * np.sin(days / 7 * 2 * np.pi + k) + drawn.normal(size=length),
                "feat_static_cat": [k % 2],
            }
            for k in range(count)
        ],
        freq="D",
    )


def estimator(name, trainer):
    shared = {"freq": "D", "prediction_length": 6, "trainer": trainer, "batch_size": 8}
    if name == "DeepAR":
        return DeepAREstimator(num_layers=1, num_cells=16, dropout_rate=0, lags_seq=LAGS, **shared)
    if name == "DeepState":
        return DeepStateEstimator(
            cardinality=[2], num_layers=1, num_cells=16, dropout_rate=0, past_length=48, **shared
        )
    if name == "Transformer":
        return TransformerEstimator(
            dropout_rate=0, model_dim=16, num_heads=2, lags_seq=LAGS, **shared
        )
    return MQCNNEstimator(context_length=24, seed=0, **shared)


def train(folder):
    everything, arrays = {}, {}
    for name in MODELS:
        np.random.seed(1)
        history = TrainingHistory()
        trainer = Trainer(
            epochs=STEPS,
            num_batches_per_epoch=1,
            hybridize=name != "DeepState",
            callbacks=[Begin(), history],
        )
        predictor = estimator(name, trainer).train(series())
        everything[name] = history.loss_history
        (folder / name).mkdir(exist_ok=True)
        predictor.serialize(folder / name)
        arrays.update(told(name, predictor))
    return everything, arrays


def told(name, predictor):
    """What two frameworks must agree on: parameters, and a forecast where it is not sampled."""
    parameters = predictor.prediction_net.collect_params().values()
    arrays = {f"{name} parameters": [each.data().norm().asscalar() for each in parameters]}
    forecast = next(iter(predictor.predict(series(1))))
    if name == "MQCNN":
        arrays["MQCNN forecast"] = forecast.forecast_array
    else:
        assert forecast.samples.shape == (100, 6), forecast.samples.shape
        assert np.isfinite(forecast.samples).all()
    return arrays


def read(folder):
    arrays = {}
    for name in MODELS:
        arrays.update(told(name, Predictor.deserialize(folder / name)))
    return arrays


if __name__ == "__main__":
    main(train, read)

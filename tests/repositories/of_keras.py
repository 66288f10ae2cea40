"""Keras on MXNet: a convolutional and a recurrent network, fit and saved by Keras."""

import os

os.environ["KERAS_BACKEND"] = "mxnet"
import keras
import mxnet as mx
import numpy as np
from drive import STEPS, main, nudged
from keras import layers

DRAWN = np.random.RandomState(2)
PICTURES = DRAWN.uniform(size=(16 * STEPS, 12, 12, 1)).astype("float32")
WORDS = DRAWN.randint(1, 30, (16 * STEPS, 9))
KINDS = keras.utils.to_categorical(DRAWN.randint(0, 4, 16 * STEPS), 4)


class Each(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_batch_end(self, batch, logs=None):
        self.seen.append(float(logs["loss"]))


def weights(model):
    drawn = np.random.RandomState(9)
    values = model.get_weights()
    for k, each in enumerate(values):
        if each.ndim > 1:
            values[k] = nudged(drawn.uniform(-0.2, 0.2, each.shape))
    model.set_weights(values)


def pictures():
    model = keras.models.Sequential(
        [
            layers.Conv2D(8, 3, activation="relu", input_shape=(12, 12, 1)),
            layers.MaxPooling2D(2),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dense(16, activation="tanh"),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile("sgd", "categorical_crossentropy", metrics=["accuracy"])
    return model, PICTURES


def words():
    model = keras.models.Sequential(
        [
            layers.Embedding(30, 8, input_length=9),
            layers.LSTM(12, unroll=True),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(lr=0.01), "categorical_crossentropy")
    return model, WORDS


MODELS = {"convolutional": pictures, "recurrent": words}


def train(folder):
    everything, arrays = {}, {}
    for name, make in MODELS.items():
        model, x = make()
        weights(model)
        each = Each()
        model.fit(x, KINDS, batch_size=16, epochs=1, shuffle=False, verbose=0, callbacks=[each])
        everything[name] = each.seen
        names, _ = keras.models.save_mxnet_model(model, prefix=str(folder / name))
        (folder / f"{name}.txt").write_text(names[0])
        arrays[name] = model.predict(x[:16])
    return everything, arrays


def read(folder):
    arrays = {}
    for name, x in (("convolutional", PICTURES), ("recurrent", WORDS)):
        symbol, weights, averages = mx.model.load_checkpoint(str(folder / name), 0)
        data = (folder / f"{name}.txt").read_text()
        module = mx.mod.Module(symbol, data_names=[data], label_names=None)
        module.bind([(data, (16, *x.shape[1:]))], for_training=False)
        module.set_params(weights, averages)
        module.forward(mx.io.DataBatch([mx.nd.array(x[:16])]))
        arrays[name] = module.get_outputs()[0].asnumpy()
    return arrays


if __name__ == "__main__":
    main(train, read)

"""The networks in TensorFlow: Keras layers, run and trained by a ``tf.function``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from works.layers import (
    LSTM,
    Activation,
    BatchNorm,
    Conv,
    Dense,
    Flatten,
    GlobalAverage,
    Layer,
    MaxPool,
    Residual,
    channels_last,
    first_statistics,
    first_values,
    images_last,
)
from works.nets import Net
from works.runner import Array, Runner, each, losses, plain
from works.training import EPSILON, KEEP


class _Builder:
    """Applies layers to a Keras tensor, and notes them in the order of the list."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def run(self, layers: Sequence[Layer], x: Any) -> Any:
        for layer in layers:
            x = self._apply(layer, x)
        return x

    def _note(self, made: Any) -> Any:
        self.made.append(made)
        return made

    def _apply(self, layer: Layer, x: Any) -> Any:
        from keras import layers as k

        match layer:
            case Conv():
                return self._convolution(layer, x)
            case BatchNorm():
                return self._note(k.BatchNormalization(momentum=KEEP, epsilon=EPSILON))(x)
            case Activation():
                return k.Activation(layer.kind)(x)
            case MaxPool():
                x = k.ZeroPadding2D(layer.pad)(x) if layer.pad else x  # after a ReLU
                return k.MaxPooling2D(layer.size, layer.stride)(x)
            case GlobalAverage():
                return k.GlobalAveragePooling2D()(x)
            case Flatten():
                return k.Flatten()(x)
            case Dense():
                return self._note(k.Dense(layer.units))(x)
            case Residual():
                body = self.run(layer.body, x)
                return k.ReLU()(k.Add()([body, self.run(layer.skip, x)]))
            case LSTM():
                for left in reversed(range(layer.layers)):
                    x = self._note(k.LSTM(layer.hidden, return_sequences=left > 0))(x)
                return x

    def _convolution(self, layer: Conv, x: Any) -> Any:
        from keras import layers as k

        padding = "valid"
        if layer.pad and layer.stride == 1:
            padding = "same"  # the same for odd kernels
        elif layer.pad:
            x = k.ZeroPadding2D(layer.pad)(x)
        shared = (layer.kernel, layer.stride, padding)
        if layer.groups == layer.filters:
            made = k.DepthwiseConv2D(*shared, use_bias=layer.bias)
        else:
            made = k.Conv2D(layer.filters, *shared, use_bias=layer.bias)
        return self._note(made)(x)


def _with_first_values(net: Net, trained: bool) -> tuple[Any, Any]:
    """Returns the model with its first weights, and batches of data and labels."""
    import keras
    import tensorflow as tf

    batches = [
        (tf.constant(images_last(data.swapaxes(0, net.batch_axis))), tf.constant(label))
        for data, label in net.batches()
    ]
    inputs = keras.Input(batches[0][0].shape[1:])
    builder = _Builder()
    model = keras.Model(inputs, builder.run(net.layers, inputs))
    learned = [variable for layer in builder.made for variable in layer.trainable_variables]
    for variable, value in zip(learned, _values(net), strict=True):
        variable.assign(value.reshape(variable.shape))
    normalizations = [
        layer for layer in builder.made if isinstance(layer, keras.layers.BatchNormalization)
    ]
    moving = first_statistics(net.statistics)
    for layer, (mean, var) in zip(normalizations, moving, strict=True):
        if not trained:
            layer.moving_mean.assign(mean)
            layer.moving_variance.assign(var)
    return model, batches


def _values(net: Net) -> list[Array]:
    """The first weights; the two biases of a recurrent layer are one here."""
    table = net.parameters
    values: list[Array] = []
    before = ""
    for name, value in first_values(table).items():
        kind = table[name].kind
        if not (kind == before == "bias"):
            values.append(channels_last(table[name], value))
        before = kind
    return values


def inference(net: Net) -> Runner:
    import tensorflow as tf

    model, batches = _with_first_values(net, trained=False)
    given = cycle(batches)
    run = tf.function(lambda data: model(data, training=False))
    return plain(each(lambda: run(next(given)[0]).numpy()), lambda: run(batches[0][0]).numpy())


def training(net: Net) -> Runner:
    import keras
    import tensorflow as tf

    model, batches = _with_first_values(net, trained=True)
    given = cycle(batches)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(net.learning_rate, net.momentum)

    @tf.function  # type: ignore[untyped-decorator]
    def step(data: Any, label: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(label, model(data, training=True))
        slopes = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(slopes, model.trainable_variables, strict=True))
        return loss

    def once() -> float:
        return step(*next(given)).numpy()

    return plain(each(once), lambda: losses(once))

"""MobileNet: Howard et al. (2017), and its second version: Sandler et al. (2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Unpack

from hybridnet.base.context import Context, cpu

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames, Data, Operators
from ._classifier import Classifier, ClassifierOptions, TrainedOptions, chain, trained

__all__ = [
    "RELU6",
    "LinearBottleneck",
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]

#: Channels and stride of each pair of convolutions.
_V1: Final = [
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *[(512, 1)] * 5,
    (1024, 2),
    (1024, 1),
]
#: How many times as many channels inside, channels outside, how many, and the first one's stride.
_V2: Final = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


class RELU6(HybridBlock):
    """min(max(x, 0), 6)."""

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Returns x between 0 and 6."""
        return F.clip(x, 0, 6, name="relu6")


def _conv(
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
    activation: str | None = "relu",
) -> list[HybridBlock]:
    """Returns a convolution that keeps the size but for its stride, and what follows it."""
    made: list[HybridBlock] = [
        nn.Conv2D(channels, kernel, stride, kernel // 2, groups=groups, use_bias=False),
        nn.BatchNorm(),
    ]
    if activation is not None:
        made.append(RELU6() if activation == "relu6" else nn.Activation(activation))
    return made


class LinearBottleneck(HybridBlock):
    """A wide convolution of each channel between two narrow places, added to its input.

    Args:
        in_channels, channels: channels before and after.
        t: how many times as many there are between.
        stride: of the convolution.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Unpack[BlockNames]
    ) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            self.out.add(*_conv(wide, activation="relu6"))
            self.out.add(*_conv(wide, 3, stride, groups=wide, activation="relu6"))
            self.out.add(*_conv(channels, activation=None))

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Runs the convolutions."""
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(Classifier):
    """Convolutions of each channel, each followed by one over all channels at one place.

    Args:
        multiplier: on all numbers of channels, at least 0.25.
        classes: how many.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Unpack[BlockNames]
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            before = int(32 * multiplier)
            self.features = chain(*_conv(before, 3, 2))
            for full, stride in _V1:
                channels = int(full * multiplier)
                self.features.add(*_conv(before, 3, stride, groups=before), *_conv(channels))
                before = channels
            self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class MobileNetV2(Classifier):
    """Linear bottlenecks, and a convolution as output.

    Args:
        multiplier: on all numbers of channels.
        classes: how many.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Unpack[BlockNames]
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                before = int(32 * multiplier)
                self.features.add(*_conv(before, 3, 2, activation="relu6"))
                for t, full, count, first in _V2:
                    channels = int(full * multiplier)
                    for stride in (first, *(1,) * (count - 1)):
                        self.features.add(LinearBottleneck(before, channels, t, stride))
                        before = channels
                last = int(1280 * max(multiplier, 1.0))
                self.features.add(*_conv(last, activation="relu6"), nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def _suffix(multiplier: float) -> str:
    """Returns a multiplier as names of files have it: 1.0, 0.75, 0.5, 0.25."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def get_mobilenet(
    multiplier: float,
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Unpack[ClassifierOptions],
) -> MobileNet:
    """Returns a MobileNet.

    Args:
        multiplier: on all numbers of channels, at least 0.25.
        pretrained: whether to fetch trained parameters.
        ctx: where these go.
        root: the folder that fetched files are kept in.
        kwargs: as for `MobileNet`.
    """
    net = MobileNet(multiplier, **kwargs)
    return trained(net, f"mobilenet{_suffix(multiplier)}", pretrained, ctx, root)


def get_mobilenet_v2(
    multiplier: float,
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Unpack[ClassifierOptions],
) -> MobileNetV2:
    """Returns a MobileNet of the second version; arguments as for `get_mobilenet`."""
    net = MobileNetV2(multiplier, **kwargs)
    return trained(net, f"mobilenetv2_{_suffix(multiplier)}", pretrained, ctx, root)


def mobilenet1_0(**kwargs: Unpack[TrainedOptions]) -> MobileNet:
    """Returns a MobileNet of full width; arguments as for `get_mobilenet`."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet0_75(**kwargs: Unpack[TrainedOptions]) -> MobileNet:
    """Returns a MobileNet of 0.75 the width; arguments as for `get_mobilenet`."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet0_5(**kwargs: Unpack[TrainedOptions]) -> MobileNet:
    """Returns a MobileNet of half the width; arguments as for `get_mobilenet`."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet0_25(**kwargs: Unpack[TrainedOptions]) -> MobileNet:
    """Returns a MobileNet of a quarter of the width; arguments as for `get_mobilenet`."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_1_0(**kwargs: Unpack[TrainedOptions]) -> MobileNetV2:
    """Returns a MobileNetV2 of full width; arguments as for `get_mobilenet`."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet_v2_0_75(**kwargs: Unpack[TrainedOptions]) -> MobileNetV2:
    """Returns a MobileNetV2 of 0.75 the width; arguments as for `get_mobilenet`."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet_v2_0_5(**kwargs: Unpack[TrainedOptions]) -> MobileNetV2:
    """Returns a MobileNetV2 of half the width; arguments as for `get_mobilenet`."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet_v2_0_25(**kwargs: Unpack[TrainedOptions]) -> MobileNetV2:
    """Returns a MobileNetV2 of a quarter of the width; arguments as for `get_mobilenet`."""
    return get_mobilenet_v2(0.25, **kwargs)

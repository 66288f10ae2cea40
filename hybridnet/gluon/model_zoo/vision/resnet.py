"""ResNet: He et al., "Deep residual learning" (2015) and "Identity mappings" (2016)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Unpack

from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames, Data, Operators
from ._classifier import Classifier, ClassifierOptions, chain, trained

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
    "resnet_spec",
]


def _conv(
    channels: int, kernel: int, stride: int = 1, in_channels: int = 0, use_bias: bool = False
) -> nn.Conv2D:
    return nn.Conv2D(
        channels, kernel, stride, kernel // 2, use_bias=use_bias, in_channels=in_channels
    )


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    """Returns such a convolution, by the name by which networks for faces import it from MXNet."""
    return _conv(channels, 3, stride, in_channels)


class _BlockV1(HybridBlock):
    """Base of the blocks of the first version: activation(body(x) + x).

    Args:
        channels: channels after.
        stride: of the first convolution.
        downsample: whether the input goes through a convolution, too.
        in_channels: channels before; 0 to find out from the first input.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self.body = chain(*self._layers(channels, stride, in_channels))
        self.downsample: nn.HybridSequential | None = (
            chain(_conv(channels, 1, stride, in_channels), nn.BatchNorm()) if downsample else None
        )

    def _layers(self, channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        """Makes the layers of the body."""
        raise NotImplementedError

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Runs the block."""
        out = self.body(x)
        short = x if self.downsample is None else self.downsample(x)
        return F.Activation(short + out, act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two 3x3 convolutions, added to the input; arguments as for all blocks, see `BottleneckV1`."""

    def _layers(self, channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        return [
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
            nn.BatchNorm(),
        ]


class BottleneckV1(_BlockV1):
    """A 3x3 convolution of a quarter of the channels between two 1x1 ones, added to the input.

    Args:
        channels: channels after.
        stride: of the first convolution.
        downsample: whether the input goes through a convolution, too.
        in_channels: channels before; 0 to find out from the first input.
        kwargs: ``prefix`` and ``params``.
    """

    def _layers(self, channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        narrow = channels // 4
        return [
            _conv(narrow, 1, stride, use_bias=True),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv(narrow, 3, 1, narrow),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv(channels, 1, use_bias=True),
            nn.BatchNorm(),
        ]


class _BlockV2(HybridBlock):
    """Base of the blocks of the second version: convolutions behind batch norms and activations.

    Args:
        channels, stride, downsample, in_channels, kwargs: as for `BottleneckV1`.
    """

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        convolutions = self._convolutions(channels, stride, in_channels)
        for number, convolution in enumerate(convolutions, 1):
            setattr(self, f"bn{number}", nn.BatchNorm())
            setattr(self, f"conv{number}", convolution)
        self._count = len(convolutions)
        self.downsample = _conv(channels, 1, stride, in_channels) if downsample else None

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[nn.Conv2D]:
        """Makes the convolutions of the body."""
        raise NotImplementedError

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Runs the block."""
        short, out = x, x
        for number in range(1, self._count + 1):
            out = F.Activation(getattr(self, f"bn{number}")(out), act_type="relu")
            if number == 1 and self.downsample is not None:
                short = self.downsample(out)
            out = getattr(self, f"conv{number}")(out)
        return out + short


class BasicBlockV2(_BlockV2):
    """Two 3x3 convolutions, each after a batch norm and activation, added to the input.

    Args:
        channels, stride, downsample, in_channels, kwargs: as for `BottleneckV1`.
    """

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[nn.Conv2D]:
        return [_conv3x3(channels, stride, in_channels), _conv3x3(channels, 1, channels)]


class BottleneckV2(_BlockV2):
    """A 3x3 convolution between two 1x1 ones, each after a batch norm and activation.

    Args:
        channels, downsample, in_channels, kwargs: as for `BottleneckV1`.
        stride: of the 3x3 convolution.
    """

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[nn.Conv2D]:
        narrow = channels // 4
        return [_conv(narrow, 1), _conv(narrow, 3, stride, narrow), _conv(channels, 1)]


class _ResNet(Classifier):
    """Base of the networks: what comes first, the stages of blocks, and what comes behind."""

    features: nn.HybridSequential

    def __init__(
        self,
        block: Callable[..., HybridBlock],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(*self._first(channels[0], thumbnail))
            self._stages(block, layers, channels)
            self.features.add(*self._last())
            self.output = nn.Dense(classes, in_units=channels[-1])

    def _first(self, channels: int, thumbnail: bool) -> list[HybridBlock]:
        """Returns the layers before the blocks; those for thumbnails leave the size as it is."""
        if thumbnail:
            return [_conv(channels, 3)]
        return [
            _conv(channels, 7, 2),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(3, 2, 1),
        ]

    def _last(self) -> list[HybridBlock]:
        """Returns the layers between the blocks and the output."""
        return [nn.GlobalAvgPool2D()]

    def _stages(
        self, block: Callable[..., HybridBlock], layers: Sequence[int], channels: Sequence[int]
    ) -> None:
        """Adds the stages: each halves the size (but the first) with its first block."""
        if len(layers) != len(channels) - 1:
            raise ParameterError(
                f"{type(self).__name__}: channels must be one more than the {len(layers)} layers, "
                f"got {len(channels)}"
            )
        for stage, count in enumerate(layers, 1):
            before, after = channels[stage - 1 : stage + 1]
            part = nn.HybridSequential(prefix=f"stage{stage}_")
            with part.name_scope():
                stride = 1 if stage == 1 else 2
                part.add(block(after, stride, after != before, in_channels=before, prefix=""))
                for _ in range(count - 1):
                    part.add(block(after, 1, False, in_channels=after, prefix=""))
            self.features.add(part)


class ResNetV1(_ResNet):
    """A residual network, of blocks that end in an activation.

    Args:
        block: `BasicBlockV1` or `BottleneckV1`.
        layers: how many blocks each stage has.
        channels: of the first layer, and after each stage.
        classes: how many.
        thumbnail: whether pictures are small, such as 32 x 32.
        kwargs: ``prefix`` and ``params``.
    """


class ResNetV2(_ResNet):
    """A residual network, of blocks that begin with a batch norm and activation.

    Args:
        block: `BasicBlockV2` or `BottleneckV2`.
        layers, channels, classes, thumbnail, kwargs: as for `ResNetV1`.
    """

    def _first(self, channels: int, thumbnail: bool) -> list[HybridBlock]:
        return [nn.BatchNorm(scale=False, center=False), *super()._first(channels, thumbnail)]

    def _last(self) -> list[HybridBlock]:
        return [nn.BatchNorm(), nn.Activation("relu"), *super()._last(), nn.Flatten()]


_NARROW: Final = [64, 64, 128, 256, 512]
_WIDE: Final = [64, 256, 512, 1024, 2048]
#: Layers with weights -> the kind of block, blocks by stage, and channels.
resnet_spec: Final = {
    18: ("basic_block", [2, 2, 2, 2], _NARROW),
    34: ("basic_block", [3, 4, 6, 3], _NARROW),
    50: ("bottle_neck", [3, 4, 6, 3], _WIDE),
    101: ("bottle_neck", [3, 4, 23, 3], _WIDE),
    152: ("bottle_neck", [3, 8, 36, 3], _WIDE),
}
resnet_net_versions: Final[list[type[ResNetV1 | ResNetV2]]] = [ResNetV1, ResNetV2]
resnet_block_versions: Final[list[dict[str, Callable[..., HybridBlock]]]] = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


class ResNetOptions(ClassifierOptions, total=False):
    """The keyword arguments of the class."""

    thumbnail: bool


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Unpack[ResNetOptions],
) -> ResNetV1 | ResNetV2:
    """Returns a ResNet.

    Args:
        version: 1 or 2.
        num_layers: 18, 34, 50, 101 or 152 layers with weights.
        pretrained: whether to fetch trained parameters.
        ctx: where these go.
        root: the folder that fetched files are kept in.
        kwargs: as for `ResNetV1`.
    """
    if num_layers not in resnet_spec or version not in (1, 2):
        raise ParameterError(
            f"get_resnet: version must be 1 or 2 and num_layers in {list(resnet_spec)}, got "
            f"{version} and {num_layers}"
        )
    kind, layers, channels = resnet_spec[num_layers]
    block = resnet_block_versions[version - 1][kind]
    net: ResNetV1 | ResNetV2 = resnet_net_versions[version - 1](block, layers, channels, **kwargs)
    return trained(net, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


def _named(version: int, num_layers: int) -> Callable[..., ResNetV1 | ResNetV2]:
    """Returns the function that makes one of the networks."""

    def make(**kwargs: Any) -> ResNetV1 | ResNetV2:
        return get_resnet(version, num_layers, **kwargs)

    make.__name__ = make.__qualname__ = f"resnet{num_layers}_v{version}"
    make.__doc__ = (
        f"Returns a ResNet of {num_layers} layers, version {version}; arguments as for "
        "`get_resnet`."
    )
    return make


resnet18_v1 = _named(1, 18)
resnet34_v1 = _named(1, 34)
resnet50_v1 = _named(1, 50)
resnet101_v1 = _named(1, 101)
resnet152_v1 = _named(1, 152)
resnet18_v2 = _named(2, 18)
resnet34_v2 = _named(2, 34)
resnet50_v2 = _named(2, 50)
resnet101_v2 = _named(2, 101)
resnet152_v2 = _named(2, 152)

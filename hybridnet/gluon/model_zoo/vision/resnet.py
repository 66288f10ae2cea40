"""ResNet: He et al., "Deep residual learning" (2015) and "Identity mappings" (2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError

from ... import nn
from ...block import HybridBlock
from ._classifier import Classifier, chain, trained

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


class _BlockV1(HybridBlock):
    """Base of the blocks of the first version: activation(body(x) + x)."""

    body: nn.HybridSequential
    downsample: nn.HybridSequential | None

    def _set_short_way(self, there: bool, channels: int, stride: int, in_channels: int) -> None:
        """Makes what x goes through beside the body."""
        self.downsample = (
            chain(_conv(channels, 1, stride, in_channels), nn.BatchNorm()) if there else None
        )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Runs the block."""
        out = self.body(x)
        short = x if self.downsample is None else self.downsample(x)
        return F.Activation(short + out, act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two 3x3 convolutions, added to the input.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.body = chain(
            _conv(channels, 3, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv(channels, 3, 1, channels),
            nn.BatchNorm(),
        )
        self._set_short_way(downsample, channels, stride, in_channels)


class BottleneckV1(_BlockV1):
    """A 3x3 convolution of a quarter of the channels between two 1x1 ones, added to the input.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        narrow = channels // 4
        self.body = chain(
            _conv(narrow, 1, stride, use_bias=True),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv(narrow, 3, 1, narrow),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv(channels, 1, use_bias=True),
            nn.BatchNorm(),
        )
        self._set_short_way(downsample, channels, stride, in_channels)


class BasicBlockV2(HybridBlock):
    """Two 3x3 convolutions, each after a batch norm and activation, added to the input.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv(channels, 3, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv(channels, 3, 1, channels)
        self.downsample = _conv(channels, 1, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Runs the block."""
        out = F.Activation(self.bn1(x), act_type="relu")
        short = x if self.downsample is None else self.downsample(out)
        out = F.Activation(self.bn2(self.conv1(out)), act_type="relu")
        return self.conv2(out) + short


class BottleneckV2(HybridBlock):
    """A 3x3 convolution between two 1x1 ones, each after a batch norm and activation.

    Args:
        channels: channels after.
        stride: of the 3x3 convolution.
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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        narrow = channels // 4
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv(narrow, 1)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv(narrow, 3, stride, narrow)
        self.bn3 = nn.BatchNorm()
        self.conv3 = _conv(channels, 1)
        self.downsample = _conv(channels, 1, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Runs the block."""
        out = F.Activation(self.bn1(x), act_type="relu")
        short = x if self.downsample is None else self.downsample(out)
        out = F.Activation(self.bn2(self.conv1(out)), act_type="relu")
        out = F.Activation(self.bn3(self.conv2(out)), act_type="relu")
        return self.conv3(out) + short


class _ResNet(Classifier):
    """Base of the networks: what comes first, and the stages of blocks."""

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

    def _stages(self, block: Any, layers: Sequence[int], channels: Sequence[int]) -> None:
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
            self.features.add(part)  # type: ignore[attr-defined]


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

    def __init__(
        self,
        block: Any,
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(*self._first(channels[0], thumbnail))
            self._stages(block, layers, channels)
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """A residual network, of blocks that begin with a batch norm and activation.

    Args:
        block: `BasicBlockV2` or `BottleneckV2`.
        layers: how many blocks each stage has.
        channels: of the first layer, and after each stage.
        classes: how many.
        thumbnail: whether pictures are small, such as 32 x 32.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        block: Any,
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(nn.BatchNorm(scale=False, center=False))
            self.features.add(*self._first(channels[0], thumbnail))
            self._stages(block, layers, channels)
            self.features.add(nn.BatchNorm(), nn.Activation("relu"))
            self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes, in_units=channels[-1])


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
resnet_net_versions: Final[list[Any]] = [ResNetV1, ResNetV2]
resnet_block_versions: Final[list[dict[str, Any]]] = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Any,
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


def resnet18_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 18 layers, version 1; arguments as for `get_resnet`."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 34 layers, version 1; arguments as for `get_resnet`."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 50 layers, version 1; arguments as for `get_resnet`."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 101 layers, version 1; arguments as for `get_resnet`."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 152 layers, version 1; arguments as for `get_resnet`."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 18 layers, version 2; arguments as for `get_resnet`."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 34 layers, version 2; arguments as for `get_resnet`."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 50 layers, version 2; arguments as for `get_resnet`."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 101 layers, version 2; arguments as for `get_resnet`."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs: Any) -> ResNetV1 | ResNetV2:
    """Returns a ResNet of 152 layers, version 2; arguments as for `get_resnet`."""
    return get_resnet(2, 152, **kwargs)

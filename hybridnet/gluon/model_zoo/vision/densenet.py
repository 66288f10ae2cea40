"""DenseNet: Huang et al., "Densely connected convolutional networks" (2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Unpack

from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError

from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent, Identity
from ...types import BlockNames
from ._classifier import Classifier, ClassifierOptions, TrainedOptions, chain, trained

__all__ = [
    "DenseNet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "densenet_spec",
    "get_densenet",
]

#: Layers with weights -> filters of the first convolution, filters of each layer, layers by block.
densenet_spec: Final[dict[int, tuple[int, int, list[int]]]] = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


class DenseNetOptions(ClassifierOptions, total=False):
    """The keyword arguments of the class."""

    bn_size: int
    dropout: float


class TrainedDenseNetOptions(TrainedOptions, total=False):
    """The keyword arguments of the functions that return one."""

    bn_size: int
    dropout: float


class DenseNet(Classifier):
    """Blocks in which each layer gets what all layers before it in the block give.

    Args:
        num_init_features: filters of the first convolution.
        growth_rate: filters that each layer adds.
        block_config: how many layers each block has.
        bn_size: a layer's narrow convolution has this many times `growth_rate` filters.
        dropout: the part of what a layer gives that is dropped in training.
        classes: how many.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(
                nn.Conv2D(num_init_features, 7, 2, 3, use_bias=False),
                *_normed(),
                nn.MaxPool2D(3, 2, 1),
            )
            channels = num_init_features
            for stage, layers in enumerate(block_config, 1):
                self.features.add(_make_dense_block(layers, bn_size, growth_rate, dropout, stage))
                channels += layers * growth_rate
                if stage < len(block_config):
                    channels //= 2
                    self.features.add(_transition(channels))
            self.features.add(*_normed(), nn.AvgPool2D(7), nn.Flatten())
            self.output = nn.Dense(classes)


def _make_dense_block(
    num_layers: int, bn_size: int, growth_rate: int, dropout: float, stage_index: int
) -> nn.HybridSequential:
    """Returns one of the blocks, by the name by which networks for text import it from MXNet."""
    block = nn.HybridSequential(prefix=f"stage{stage_index}_")
    with block.name_scope():
        for _ in range(num_layers):
            block.add(_layer(growth_rate, bn_size, dropout))
    return block


def _normed() -> tuple[HybridBlock, HybridBlock]:
    return nn.BatchNorm(), nn.Activation("relu")


def _layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    new = chain(
        *_normed(),
        nn.Conv2D(bn_size * growth_rate, 1, use_bias=False),
        *_normed(),
        nn.Conv2D(growth_rate, 3, padding=1, use_bias=False),
    )
    if dropout:
        new.add(nn.Dropout(dropout))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(Identity(), new)
    return both


def _transition(channels: int) -> nn.HybridSequential:
    """Returns what is between two blocks: half as many channels, and half the size."""
    return chain(*_normed(), nn.Conv2D(channels, 1, use_bias=False), nn.AvgPool2D(2, 2))


def get_densenet(
    num_layers: int,
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Unpack[DenseNetOptions],
) -> DenseNet:
    """Returns a DenseNet.

    Args:
        num_layers: 121, 161, 169 or 201 layers with weights.
        pretrained: whether to fetch trained parameters.
        ctx: where these go.
        root: the folder that fetched files are kept in.
        kwargs: as for `DenseNet`.
    """
    if num_layers not in densenet_spec:
        raise ParameterError(
            f"get_densenet: num_layers must be in {list(densenet_spec)}, got {num_layers}"
        )
    net = DenseNet(*densenet_spec[num_layers], **kwargs)
    return trained(net, f"densenet{num_layers}", pretrained, ctx, root)


def densenet121(**kwargs: Unpack[TrainedDenseNetOptions]) -> DenseNet:
    """Returns a DenseNet of 121 layers; arguments as for `get_densenet`."""
    return get_densenet(121, **kwargs)


def densenet161(**kwargs: Unpack[TrainedDenseNetOptions]) -> DenseNet:
    """Returns a DenseNet of 161 layers; arguments as for `get_densenet`."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs: Unpack[TrainedDenseNetOptions]) -> DenseNet:
    """Returns a DenseNet of 169 layers; arguments as for `get_densenet`."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs: Unpack[TrainedDenseNetOptions]) -> DenseNet:
    """Returns a DenseNet of 201 layers; arguments as for `get_densenet`."""
    return get_densenet(201, **kwargs)

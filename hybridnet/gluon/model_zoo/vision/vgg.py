"""VGG: Simonyan and Zisserman, "Very deep convolutional networks" (2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

from hybridnet import initializer
from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames
from ._classifier import Classifier, ClassifierOptions, TrainedOptions, chain, trained

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
    "vgg_spec",
]

_FILTERS: Final = [64, 128, 256, 512, 512]
#: Layers with weights -> how many convolutions in each stage, and how many filters each has.
vgg_spec: Final = {
    11: ([1, 1, 2, 2, 2], _FILTERS),
    13: ([2, 2, 2, 2, 2], _FILTERS),
    16: ([2, 2, 3, 3, 3], _FILTERS),
    19: ([2, 2, 4, 4, 4], _FILTERS),
}


class VGGOptions(ClassifierOptions, total=False):
    """The keyword arguments of the class."""

    batch_norm: bool


class TrainedVGGOptions(TrainedOptions, total=False):
    """The keyword arguments of the functions that return one."""

    batch_norm: bool


class VGG(Classifier):
    """Stages of 3x3 convolutions, and three dense layers.

    Args:
        layers: how many convolutions each stage has.
        filters: how many filters those of each stage have.
        classes: how many.
        batch_norm: whether each convolution is followed by a batch norm.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise ParameterError(
                f"VGG: needs filters for each of {len(layers)} stages, got {len(filters)}"
            )
        with self.name_scope():
            self.features = chain()
            for count, channels in zip(layers, filters, strict=True):
                self.features.add(*_stage(count, channels, batch_norm))
            for _ in range(2):
                self.features.add(_dense(4096, activation="relu"), nn.Dropout(0.5))
            self.output = _dense(classes)


def _dense(units: int, **kwargs: Any) -> nn.Dense:
    return nn.Dense(units, weight_initializer="normal", bias_initializer="zeros", **kwargs)


def _stage(count: int, channels: int, batch_norm: bool) -> list[HybridBlock]:
    """Returns the convolutions of a stage and the pooling after them."""
    made: list[HybridBlock] = []
    for _ in range(count):
        init = initializer.Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        made.append(
            nn.Conv2D(channels, 3, padding=1, weight_initializer=init, bias_initializer="zeros")
        )
        if batch_norm:
            made.append(nn.BatchNorm())
        made.append(nn.Activation("relu"))
    return [*made, nn.MaxPool2D(strides=2)]


def get_vgg(
    num_layers: int,
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Unpack[VGGOptions],
) -> VGG:
    """Returns a VGG.

    Args:
        num_layers: 11, 13, 16 or 19 layers with weights.
        pretrained: whether to fetch trained parameters.
        ctx: where these go.
        root: the folder that fetched files are kept in.
        kwargs: as for `VGG`.
    """
    if num_layers not in vgg_spec:
        raise ParameterError(f"get_vgg: num_layers must be in {list(vgg_spec)}, got {num_layers}")
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return trained(VGG(*vgg_spec[num_layers], **kwargs), name, pretrained, ctx, root)


def vgg11(**kwargs: Unpack[TrainedVGGOptions]) -> VGG:
    """Returns a VGG of 11 layers; arguments as for `get_vgg`."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs: Unpack[TrainedVGGOptions]) -> VGG:
    """Returns a VGG of 13 layers; arguments as for `get_vgg`."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs: Unpack[TrainedVGGOptions]) -> VGG:
    """Returns a VGG of 16 layers; arguments as for `get_vgg`."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs: Unpack[TrainedVGGOptions]) -> VGG:
    """Returns a VGG of 19 layers; arguments as for `get_vgg`."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs: Unpack[TrainedVGGOptions]) -> VGG:
    """Returns a VGG of 11 layers with batch norms; arguments as for `get_vgg`."""
    kwargs["batch_norm"] = True
    return get_vgg(11, **kwargs)


def vgg13_bn(**kwargs: Unpack[TrainedVGGOptions]) -> VGG:
    """Returns a VGG of 13 layers with batch norms; arguments as for `get_vgg`."""
    kwargs["batch_norm"] = True
    return get_vgg(13, **kwargs)


def vgg16_bn(**kwargs: Unpack[TrainedVGGOptions]) -> VGG:
    """Returns a VGG of 16 layers with batch norms; arguments as for `get_vgg`."""
    kwargs["batch_norm"] = True
    return get_vgg(16, **kwargs)


def vgg19_bn(**kwargs: Unpack[TrainedVGGOptions]) -> VGG:
    """Returns a VGG of 19 layers with batch norms; arguments as for `get_vgg`."""
    kwargs["batch_norm"] = True
    return get_vgg(19, **kwargs)

"""Parts that the networks share: features and an output, chains of layers, trained parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hybridnet.base.context import Context

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames, Data, Operators
from ..model_store import get_model_file

_Net = TypeVar("_Net", bound=HybridBlock)


class ClassifierOptions(BlockNames, total=False):
    """The keyword arguments that all of the networks take."""

    classes: int


class TrainedOptions(ClassifierOptions, total=False):
    """The keyword arguments of the functions that return one: see `trained`."""

    pretrained: bool
    ctx: Context | Sequence[Context]
    root: str


class Classifier(HybridBlock):
    """Base of the networks that find features of a picture, and classify it by them."""

    features: HybridBlock
    output: HybridBlock

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Returns a score for each class, (batch, classes), before the softmax.

        Args:
            F: `nd` or `sym`.
            x: (batch, 3, height, width), normalized.
        """
        return self.output(self.features(x))


def chain(*layers: HybridBlock) -> nn.HybridSequential:
    """Returns layers one after another, without a part of their own in names."""
    whole = nn.HybridSequential(prefix="")
    whole.add(*layers)
    return whole


def trained(
    net: _Net, name: str, pretrained: bool, ctx: Context | Sequence[Context], root: str
) -> _Net:
    """Gives a network its trained parameters, if they are asked for.

    Args:
        net: the network.
        name: that its parameters are published by.
        pretrained: whether they are asked for.
        ctx: where they go.
        root: the folder that files are kept in.

    Raises:
        MXNetError: they could not be fetched, or do not fit.
    """
    if pretrained:
        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net

"""AlexNet: Krizhevsky, "One weird trick for parallelizing convolutional networks" (2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from hybridnet.base.context import Context, cpu

from ... import nn
from ...types import BlockNames
from ._classifier import Classifier, ClassifierOptions, chain, trained

__all__ = ["AlexNet", "alexnet"]


class AlexNet(Classifier):
    """AlexNet, of five convolutions and three dense layers.

    Args:
        classes: how many.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, classes: int = 1000, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(
                nn.Conv2D(64, 11, 4, 2, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Conv2D(192, 5, padding=2, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Conv2D(384, 3, padding=1, activation="relu"),
                nn.Conv2D(256, 3, padding=1, activation="relu"),
                nn.Conv2D(256, 3, padding=1, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Flatten(),
                nn.Dense(4096, activation="relu"),
                nn.Dropout(0.5),
                nn.Dense(4096, activation="relu"),
                nn.Dropout(0.5),
            )
            self.output = nn.Dense(classes)


def alexnet(
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Unpack[ClassifierOptions],
) -> AlexNet:
    """Returns an AlexNet.

    Args:
        pretrained: whether to fetch trained parameters.
        ctx: where these go.
        root: the folder that fetched files are kept in.
        kwargs: as for `AlexNet`.
    """
    return trained(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)

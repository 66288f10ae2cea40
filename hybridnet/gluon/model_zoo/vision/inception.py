"""Inception v3: Szegedy et al., "Rethinking the Inception architecture" (2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

from hybridnet.base.context import Context, cpu

from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ...types import BlockNames
from ._classifier import Classifier, ClassifierOptions, chain, trained

__all__ = ["Inception3", "inception_v3", "make_aux"]

#: The arguments of a convolution: filters, kernel, strides, padding.
_Conv = tuple[Any, ...]


class Inception3(Classifier):
    """Inception v3, for pictures of 299 x 299.

    Args:
        classes: how many.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, classes: int = 1000, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(
                _conv(32, 3, 2),
                _conv(32, 3),
                _conv(64, 3, 1, 1),
                nn.MaxPool2D(3, 2),
                _conv(80, 1),
                _conv(192, 3),
                nn.MaxPool2D(3, 2),
            )
            for number, channels in enumerate((32, 64, 64), 1):
                self.features.add(_module(f"A{number}_", *_a(channels)))
            self.features.add(_module("B_", *_B))
            for number, channels in enumerate((128, 160, 160, 192), 1):
                self.features.add(_module(f"C{number}_", *_c(channels)))
            self.features.add(_module("D_", *_D))
            self.features.add(_e("E1_"), _e("E2_"), nn.AvgPool2D(8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def _conv(
    channels: int,
    kernel_size: int | tuple[int, int],
    strides: int = 1,
    padding: int | tuple[int, int] = 0,
) -> nn.HybridSequential:
    return chain(
        nn.Conv2D(channels, kernel_size, strides, padding, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )


def _branch(*parts: _Conv | str) -> nn.HybridSequential:
    """Returns poolings ('avg' keeps the size, 'max' halves it) and convolutions in a row."""
    whole = chain()
    for part in parts:
        if part == "avg":
            whole.add(nn.AvgPool2D(3, 1, 1))
        elif part == "max":
            whole.add(nn.MaxPool2D(3, 2))
        else:
            whole.add(_conv(*part))
    return whole


def _module(prefix: str, *branches: tuple[_Conv | str, ...]) -> HybridConcurrent:
    whole = HybridConcurrent(axis=1, prefix=prefix)
    with whole.name_scope():
        for branch in branches:
            whole.add(_branch(*branch))
    return whole


_Branches = tuple[tuple[_Conv | str, ...], ...]
_WIDE: Final = (1, 7), 1, (0, 3)
_HIGH: Final = (7, 1), 1, (3, 0)


def _a(pooled: int) -> _Branches:
    return (
        ((64, 1),),
        ((48, 1), (64, 5, 1, 2)),
        ((64, 1), (96, 3, 1, 1), (96, 3, 1, 1)),
        ("avg", (pooled, 1)),
    )


_B: Final[_Branches] = (
    ((384, 3, 2),),
    ((64, 1), (96, 3, 1, 1), (96, 3, 2)),
    ("max",),
)


def _c(n: int) -> _Branches:
    return (
        ((192, 1),),
        ((n, 1), (n, *_WIDE), (192, *_HIGH)),
        ((n, 1), (n, *_HIGH), (n, *_WIDE), (n, *_HIGH), (192, *_WIDE)),
        ("avg", (192, 1)),
    )


_D: Final[_Branches] = (
    ((192, 1), (320, 3, 2)),
    ((192, 1), (192, *_WIDE), (192, *_HIGH), (192, 3, 2)),
    ("max",),
)


def _e(prefix: str) -> HybridConcurrent:
    """Returns a module two of whose branches end in a 1x3 and a 3x1 convolution."""
    whole = HybridConcurrent(axis=1, prefix=prefix)
    with whole.name_scope():
        whole.add(_branch((320, 1)))
        whole.add(_forked(_branch((384, 1))))
        whole.add(_forked(_branch((448, 1), (384, 3, 1, 1))))
        whole.add(_branch("avg", (192, 1)))
    return whole


def _forked(first: HybridBlock) -> nn.HybridSequential:
    fork = HybridConcurrent(axis=1, prefix="")
    fork.add(_branch((384, (1, 3), 1, (0, 1))), _branch((384, (3, 1), 1, (1, 0))))
    return chain(first, fork)


def make_aux(classes: int) -> nn.HybridSequential:
    """Returns a second output, for the features in the middle, that helps training.

    Args:
        classes: how many.
    """
    return chain(nn.AvgPool2D(5, 3), _conv(128, 1), _conv(768, 5), nn.Flatten(), nn.Dense(classes))


def inception_v3(
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Unpack[ClassifierOptions],
) -> Inception3:
    """Returns an Inception v3, for pictures of 299 x 299.

    Args:
        pretrained: whether to fetch trained parameters.
        ctx: where these go.
        root: the folder that fetched files are kept in.
        kwargs: as for `Inception3`.
    """
    return trained(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)

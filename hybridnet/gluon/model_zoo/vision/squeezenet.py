"""SqueezeNet: Iandola et al., "AlexNet-level accuracy with 50x fewer parameters" (2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Unpack

from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError

from ... import nn
from ...contrib.nn import HybridConcurrent
from ...types import BlockNames
from ._classifier import Classifier, ClassifierOptions, TrainedOptions, chain, trained

__all__ = ["SqueezeNet", "get_squeezenet", "squeezenet1_0", "squeezenet1_1"]

#: Version -> filters and size of the first convolution, and what follows: the filters of a fire
#: module's narrow convolution, or None for a pooling.
_VERSIONS: Final[dict[str, tuple[int, int, list[int | None]]]] = {
    "1.0": (96, 7, [None, 16, 16, 32, None, 32, 48, 48, 64, None, 64]),
    "1.1": (64, 3, [None, 16, 16, None, 32, 32, None, 48, 48, 64, 64]),
}


class SqueezeNet(Classifier):
    """Fire modules: a narrow convolution, then 1x1 and 3x3 ones beside each other.

    Args:
        version: '1.0' or '1.1'.
        classes: how many.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        if version not in _VERSIONS:
            raise ParameterError(f"SqueezeNet: version must be '1.0' or '1.1', got {version!r}")
        channels, size, parts = _VERSIONS[version]
        with self.name_scope():
            self.features = chain(nn.Conv2D(channels, size, 2), nn.Activation("relu"))
            for narrow in parts:
                if narrow is None:
                    self.features.add(nn.MaxPool2D(3, 2, ceil_mode=True))
                else:
                    self.features.add(_fire(narrow, 4 * narrow))
            self.features.add(nn.Dropout(0.5))
            self.output = chain(
                nn.Conv2D(classes, 1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten()
            )


def _fire(narrow: int, wide: int) -> nn.HybridSequential:
    first = chain(nn.Conv2D(narrow, 1), nn.Activation("relu"))
    branches = HybridConcurrent(axis=1, prefix="")
    branches.add(chain(nn.Conv2D(wide, 1), nn.Activation("relu")))
    branches.add(chain(nn.Conv2D(wide, 3, padding=1), nn.Activation("relu")))
    return chain(first, branches)


def get_squeezenet(
    version: str,
    pretrained: bool = False,
    ctx: Context | Sequence[Context] = cpu(),  # noqa: B008
    root: str = "$MXNET_HOME/models",
    **kwargs: Unpack[ClassifierOptions],
) -> SqueezeNet:
    """Returns a SqueezeNet.

    Args:
        version: '1.0' or '1.1'.
        pretrained: whether to fetch trained parameters.
        ctx: where these go.
        root: the folder that fetched files are kept in.
        kwargs: as for `SqueezeNet`.
    """
    net = SqueezeNet(version, **kwargs)
    return trained(net, f"squeezenet{version}", pretrained, ctx, root)


def squeezenet1_0(**kwargs: Unpack[TrainedOptions]) -> SqueezeNet:
    """Returns SqueezeNet 1.0; arguments as for `get_squeezenet`."""
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs: Unpack[TrainedOptions]) -> SqueezeNet:
    """Returns SqueezeNet 1.1, which computes less; arguments as for `get_squeezenet`."""
    return get_squeezenet("1.1", **kwargs)

"""Well-known image networks as symbols: ``NETWORKS[name]()`` ends in SoftmaxOutput.

AlexNet (Krizhevsky et al. 2012, without groups), GoogLeNet with batch normalization
("Inception-BN", Ioffe and Szegedy 2015), VGG-16 (Simonyan and Zisserman 2014) and ResNet-50
(He et al. 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hybridnet import sym

#: Of the data: channels, height, width.
IMAGE: Final = (3, 224, 224)
_CLASSES: Final = 1000


def _conv(x: Any, filters: int, kernel: int, stride: int = 1, pad: int = 0, **params: Any) -> Any:
    return sym.Convolution(
        x,
        num_filter=filters,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        **params,
    )


def _relu(x: Any) -> Any:
    return sym.Activation(x, act_type="relu")


def _pool(x: Any, kernel: int, stride: int, pad: int = 0, kind: str = "max") -> Any:
    # As MXNet's own models do: windows may stick out at the end.
    return sym.Pooling(
        x,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        pool_type=kind,
        pooling_convention="full",
    )


def _normalized(
    x: Any, filters: int, kernel: int, stride: int = 1, pad: int = 0, active: bool = True
) -> Any:
    x = _conv(x, filters, kernel, stride, pad, no_bias=True)
    x = sym.BatchNorm(x, fix_gamma=False)
    return _relu(x) if active else x


def _classified(x: Any) -> Any:
    x = sym.FullyConnected(sym.Flatten(x), num_hidden=_CLASSES)
    return sym.SoftmaxOutput(x, name="softmax")


def _dense(x: Any) -> Any:
    for _ in range(2):
        x = sym.Dropout(_relu(sym.FullyConnected(sym.Flatten(x), num_hidden=4096)), p=0.5)
    return _classified(x)


def alexnet() -> Any:
    x = _relu(_conv(sym.var("data"), 96, 11, 4))
    x = sym.LRN(_pool(x, 3, 2), alpha=1e-4, beta=0.75, knorm=2, nsize=5)
    x = _relu(_conv(x, 256, 5, 1, 2))
    x = sym.LRN(_pool(x, 3, 2), alpha=1e-4, beta=0.75, knorm=2, nsize=5)
    for filters in (384, 384, 256):
        x = _relu(_conv(x, filters, 3, 1, 1))
    return _dense(_pool(x, 3, 2))


def vgg16() -> Any:
    x = sym.var("data")
    for filters, layers in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(layers):
            x = _relu(_conv(x, filters, 3, 1, 1))
        x = _pool(x, 2, 2)
    return _dense(x)


def _inception(x: Any, one: int, three: Any, double: Any, kind: str, project: int) -> Any:
    """Four ways side by side; with stride 2 where there is no 1x1 way."""
    stride = 1 if one else 2
    ways = [_normalized(x, one, 1)] if one else []
    ways.append(_normalized(_normalized(x, three[0], 1), three[1], 3, stride, 1))
    y = _normalized(_normalized(x, double[0], 1), double[1], 3, 1, 1)
    ways.append(_normalized(y, double[1], 3, stride, 1))
    if one:
        ways.append(_normalized(_pool(x, 3, 1, 1, kind), project, 1))
    else:
        ways.append(sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max"))
    return sym.Concat(*ways, dim=1)


def inception_bn() -> Any:
    x = _pool(_normalized(sym.var("data"), 64, 7, 2, 3), 3, 2)
    x = _pool(_normalized(_normalized(x, 64, 1), 192, 3, 1, 1), 3, 2)
    for block in (
        (64, (64, 64), (64, 96), "avg", 32),
        (64, (64, 96), (64, 96), "avg", 64),
        (0, (128, 160), (64, 96), "max", 0),
        (224, (64, 96), (96, 128), "avg", 128),
        (192, (96, 128), (96, 128), "avg", 128),
        (160, (128, 160), (128, 160), "avg", 128),
        (96, (128, 192), (160, 192), "avg", 128),
        (0, (128, 192), (192, 256), "max", 0),
        (352, (192, 320), (160, 224), "avg", 128),
        (352, (192, 320), (192, 224), "max", 128),
    ):
        x = _inception(x, *block)
    return _classified(sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"))


def _bottleneck(x: Any, filters: int, stride: int, widen: bool) -> Any:
    y = _normalized(_normalized(x, filters, 1), filters, 3, stride, 1)
    y = _normalized(y, 4 * filters, 1, active=False)
    skip = _normalized(x, 4 * filters, 1, stride, active=False) if widen else x
    return _relu(y + skip)


def resnet50() -> Any:
    x = _normalized(sym.var("data"), 64, 7, 2, 3)
    x = sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    for stage, (filters, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            x = _bottleneck(x, filters, 2 if stage and not block else 1, not block)
    return _classified(sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"))


def residual(layers: int, width: int) -> Any:
    """A net of dense layers, each added to what it reads, and the mean square of its result."""
    x = sym.var("data")
    for number in range(layers):
        x = x + _relu(sym.FullyConnected(x, num_hidden=width, name=f"layer{number}"))
    return sym.mean(sym.square(x), name="loss")


NETWORKS: Final[dict[str, Callable[[], Any]]] = {
    "AlexNet": alexnet,
    "GoogLeNet (Inception-BN)": inception_bn,
    "VGG-16": vgg16,
    "ResNet-50": resnet50,
}

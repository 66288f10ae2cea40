"""ResNet-18 (He et al. 2015) as it is used on 32x32 images: a 3x3 stem without pooling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from works.training import EPSILON, KEEP, Network, jax_normalize, sizes, torch_normalize

#: Name, channels in, channels out, stride.
_BLOCKS = tuple(
    (f"block{2 * stage + i + 1}", channels // 2 if i == 0 and stage else channels, channels, stride)
    for stage, channels in enumerate((64, 128, 256, 512))
    for i, stride in enumerate((2 if stage else 1, 1))
)


def _normalized(name: str, out: int, inputs: int, kernel: int) -> Iterator[tuple[str, Any]]:
    """The parameters of a convolution and its normalization."""
    yield f"{name}_weight", (out, inputs, kernel, kernel)
    yield f"{name}_gamma", (out,)
    yield f"{name}_beta", (out,)


def _shapes() -> Iterator[tuple[str, Any]]:
    yield from _normalized("stem", 64, 3, 3)
    for name, inputs, out, stride in _BLOCKS:
        yield from _normalized(f"{name}_a", out, inputs, 3)
        yield from _normalized(f"{name}_b", out, out, 3)
        if stride != 1:
            yield from _normalized(f"{name}_skip", out, inputs, 1)
    yield "fc_weight", (10, 512)
    yield "fc_bias", (10,)


class ResNet18(Network):
    """Stem, eight blocks of two 3x3 convolutions, global average, dense 10."""

    data_shape = (32, 3, 32, 32)
    shapes = sizes(_shapes())
    statistics = tuple(
        shape[0] for name, shape in sizes(_shapes()).items() if name.endswith("_gamma")
    )

    def block(self, mx: Any) -> Any:
        nn = mx.gluon.nn

        def normalized(out: int, kernel: int, stride: int) -> tuple[Any, Any]:
            return (
                nn.Conv2D(out, kernel, stride, kernel // 2, use_bias=False),
                nn.BatchNorm(momentum=KEEP, epsilon=EPSILON),
            )

        class Block(mx.gluon.HybridBlock):  # type: ignore[misc]
            def __init__(self, out: int, stride: int) -> None:
                super().__init__()
                self.body = nn.HybridSequential()
                self.body.add(*normalized(out, 3, stride))
                self.body.add(nn.Activation("relu"), *normalized(out, 3, 1))
                self.skip = None
                if stride != 1:
                    self.skip = nn.HybridSequential()
                    self.skip.add(*normalized(out, 1, stride))

            def hybrid_forward(self, F: Any, x: Any) -> Any:
                skip = x if self.skip is None else self.skip(x)
                return F.relu(self.body(x) + skip)

        net = nn.HybridSequential()
        net.add(*normalized(64, 3, 1), nn.Activation("relu"))
        for _, _, out, stride in _BLOCKS:
            net.add(Block(out, stride))
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
        return net

    def jax(self, params: dict[str, Any], moving: list[Any], data: Any) -> tuple[Any, list[Any]]:
        import jax

        from hybridnet.ops.nn.conv.lowerings import convolution, pooling

        platform: Any = jax.default_backend()
        old, new = iter(moving), []

        def normalized(x: Any, name: str, stride: int) -> Any:
            weight = params[f"{name}_weight"]
            kernel = weight.shape[2:]
            pad = tuple(k // 2 for k in kernel)
            strides = (stride, stride)
            x = convolution(
                x, weight, None, kernel=kernel, stride=strides, pad=pad, platform=platform
            )
            x, statistics = jax_normalize(
                x, params[f"{name}_gamma"], params[f"{name}_beta"], next(old)
            )
            new.append(statistics)
            return x

        h = jax.nn.relu(normalized(data, "stem", 1))
        for name, _, _, stride in _BLOCKS:
            body = jax.nn.relu(normalized(h, f"{name}_a", stride))
            body = normalized(body, f"{name}_b", 1)
            skip = h if stride == 1 else normalized(h, f"{name}_skip", stride)
            h = jax.nn.relu(body + skip)
        h = pooling(h, kernel=(), global_pool=True, pool_type="avg", platform=platform)
        h = h.reshape(h.shape[0], -1)
        return h @ params["fc_weight"].T + params["fc_bias"], new

    def torch(self, params: dict[str, Any], moving: list[Any], data: Any) -> Any:
        from torch.nn.functional import conv2d, linear, relu

        statistics = iter(moving)

        def normalized(x: Any, name: str, stride: int) -> Any:
            weight = params[f"{name}_weight"]
            x = conv2d(x, weight, stride=stride, padding=weight.shape[2] // 2)
            return torch_normalize(
                x, params[f"{name}_gamma"], params[f"{name}_beta"], next(statistics)
            )

        h = relu(normalized(data, "stem", 1))
        for name, _, _, stride in _BLOCKS:
            body = relu(normalized(h, f"{name}_a", stride))
            body = normalized(body, f"{name}_b", 1)
            skip = h if stride == 1 else normalized(h, f"{name}_skip", stride)
            h = relu(body + skip)
        return linear(h.mean((2, 3)), params["fc_weight"], params["fc_bias"])

"""LeNet (LeCun et al. 1998, in MXNet's usual form) on 28x28 images, batch 64."""

from __future__ import annotations

from typing import Any

from works.training import Network


class LeNet(Network):
    """Twice convolution 5x5, tanh and max pooling 2; dense 500, tanh, dense 10."""

    data_shape = (64, 1, 28, 28)
    shapes = {  # noqa: RUF012
        "conv1_weight": (20, 1, 5, 5),
        "conv1_bias": (20,),
        "conv2_weight": (50, 20, 5, 5),
        "conv2_bias": (50,),
        "fc1_weight": (500, 800),
        "fc1_bias": (500,),
        "fc2_weight": (10, 500),
        "fc2_bias": (10,),
    }

    def block(self, mx: Any) -> Any:
        nn = mx.gluon.nn
        net = nn.HybridSequential()
        net.add(
            nn.Conv2D(20, 5, activation="tanh"),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(50, 5, activation="tanh"),
            nn.MaxPool2D(2, 2),
            nn.Flatten(),
            nn.Dense(500, activation="tanh"),
            nn.Dense(10),
        )
        return net

    def jax(self, params: dict[str, Any], moving: list[Any], data: Any) -> tuple[Any, list[Any]]:
        import jax
        import jax.numpy as jnp

        from hybridnet.ops.nn.conv.lowerings import convolution, pooling

        platform: Any = jax.default_backend()
        h = data
        for name in ("conv1", "conv2"):
            weight, bias = params[f"{name}_weight"], params[f"{name}_bias"]
            h = jnp.tanh(convolution(h, weight, bias, kernel=(5, 5), platform=platform))
            h = pooling(h, kernel=(2, 2), stride=(2, 2), platform=platform)
        h = h.reshape(h.shape[0], -1)
        h = jnp.tanh(h @ params["fc1_weight"].T + params["fc1_bias"])
        return h @ params["fc2_weight"].T + params["fc2_bias"], moving

    def torch(self, params: dict[str, Any], moving: list[Any], data: Any) -> Any:
        from torch.nn.functional import conv2d, linear, max_pool2d

        h = data
        for name in ("conv1", "conv2"):
            h = conv2d(h, params[f"{name}_weight"], params[f"{name}_bias"]).tanh()
            h = max_pool2d(h, 2)
        h = linear(h.flatten(1), params["fc1_weight"], params["fc1_bias"]).tanh()
        return linear(h, params["fc2_weight"], params["fc2_bias"])

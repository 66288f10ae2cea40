"""Multilayer perceptrons with two hidden layers and ReLU."""

from __future__ import annotations

from typing import Any

from works.training import Network


class MLP(Network):
    """inputs - hidden - hidden - 10."""

    def __init__(self, inputs: int, hidden: int, batch: int) -> None:
        self.shapes = {  # type: ignore[misc]
            "fc1_weight": (hidden, inputs),
            "fc1_bias": (hidden,),
            "fc2_weight": (hidden, hidden),
            "fc2_bias": (hidden,),
            "fc3_weight": (10, hidden),
            "fc3_bias": (10,),
        }
        self.data_shape = (batch, inputs)  # type: ignore[misc]
        self._hidden = hidden

    def block(self, mx: Any) -> Any:
        dense = mx.gluon.nn.Dense
        net = mx.gluon.nn.HybridSequential()
        net.add(
            dense(self._hidden, activation="relu"),
            dense(self._hidden, activation="relu"),
            dense(10),
        )
        return net

    def jax(self, params: dict[str, Any], moving: list[Any], data: Any) -> tuple[Any, list[Any]]:
        import jax

        h = jax.nn.relu(data @ params["fc1_weight"].T + params["fc1_bias"])
        h = jax.nn.relu(h @ params["fc2_weight"].T + params["fc2_bias"])
        return h @ params["fc3_weight"].T + params["fc3_bias"], moving

    def torch(self, params: dict[str, Any], moving: list[Any], data: Any) -> Any:
        from torch.nn.functional import linear, relu

        h = relu(linear(data, params["fc1_weight"], params["fc1_bias"]))
        h = relu(linear(h, params["fc2_weight"], params["fc2_bias"]))
        return linear(h, params["fc3_weight"], params["fc3_bias"])

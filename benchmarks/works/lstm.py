"""Two layers of LSTM (Hochreiter and Schmidhuber 1997), hidden 200, 35 steps, batch 20.

Unrolled: in gluon operator by operator, in JAX the same. The last state is classified.
"""

from __future__ import annotations

from typing import Any

from works.training import Network

_LAYERS, _HIDDEN, _STEPS, _BATCH = 2, 200, 35, 20


class LSTM(Network):
    """Data (steps, batch, inputs); gates in the order input, forget, cell, output."""

    data_shape = (_STEPS, _BATCH, _HIDDEN)
    batch_axis = 1
    shapes = {
        f"lstm{layer}_{name}": shape
        for layer in range(_LAYERS)
        for name, shape in (
            ("i2h_weight", (4 * _HIDDEN, _HIDDEN)),
            ("h2h_weight", (4 * _HIDDEN, _HIDDEN)),
            ("i2h_bias", (4 * _HIDDEN,)),
            ("h2h_bias", (4 * _HIDDEN,)),
        )
    } | {"fc_weight": (10, _HIDDEN), "fc_bias": (10,)}

    def block(self, mx: Any) -> Any:
        shapes = self.shapes

        class Unrolled(mx.gluon.HybridBlock):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                for name, shape in shapes.items():
                    setattr(self, name, self.params.get(name, shape=shape, init="zeros"))

            def hybrid_forward(self, F: Any, data: Any, **p: Any) -> Any:
                xs = F.SliceChannel(data, num_outputs=_STEPS, axis=0, squeeze_axis=True)
                hs = list(xs)
                for layer in range(_LAYERS):
                    hs = _layer(F, hs, {k[6:]: v for k, v in p.items() if k[4] == str(layer)})
                return F.FullyConnected(hs[-1], p["fc_weight"], p["fc_bias"], num_hidden=10)

        return Unrolled()

    def jax(self, params: dict[str, Any], moving: list[Any], data: Any) -> tuple[Any, list[Any]]:
        import jax.numpy as jnp
        from jax.nn import sigmoid

        hs = list(data)
        for layer in range(_LAYERS):
            i2h, h2h, i2h_bias, h2h_bias = (
                params[f"lstm{layer}_{name}"]
                for name in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
            )
            h = c = jnp.zeros((_BATCH, _HIDDEN))
            outputs = []
            for x in hs:
                gates = (x @ i2h.T + i2h_bias) + (h @ h2h.T + h2h_bias)
                i, f, g, o = jnp.split(gates, 4, axis=1)
                c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
                h = sigmoid(o) * jnp.tanh(c)
                outputs.append(h)
            hs = outputs
        return hs[-1] @ params["fc_weight"].T + params["fc_bias"], moving

    def torch(self, params: dict[str, Any], moving: list[Any], data: Any) -> Any:
        import torch
        from torch.nn.functional import linear

        hs = list(data)
        for layer in range(_LAYERS):
            i2h, h2h, i2h_bias, h2h_bias = (
                params[f"lstm{layer}_{name}"]
                for name in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
            )
            h = c = torch.zeros(_BATCH, _HIDDEN)
            outputs = []
            for x in hs:
                gates = linear(x, i2h, i2h_bias) + linear(h, h2h, h2h_bias)
                i, f, g, o = gates.chunk(4, dim=1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
                outputs.append(h)
            hs = outputs
        return linear(hs[-1], params["fc_weight"], params["fc_bias"])


def _layer(F: Any, xs: list[Any], p: dict[str, Any]) -> list[Any]:
    """One layer over all steps, of arrays or of symbols."""
    h = c = F.zeros((_BATCH, _HIDDEN))
    outputs = []
    for x in xs:
        gates = F.FullyConnected(x, p["i2h_weight"], p["i2h_bias"], num_hidden=4 * _HIDDEN)
        gates = gates + F.FullyConnected(h, p["h2h_weight"], p["h2h_bias"], num_hidden=4 * _HIDDEN)
        i, f, g, o = F.SliceChannel(gates, num_outputs=4)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        outputs.append(h)
    return outputs

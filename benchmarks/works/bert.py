"""A transformer like BERT: 6 layers of width 768 with 12 heads, on 32 sentences of 128 positions.

In gluon only, for hybridnet: what it is compared with on a card stands in docs/gpu.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BATCH, LENGTH, WIDTH, HEADS, LAYERS = 32, 128, 768, 12, 6


def network(mx: Any, layers: int = LAYERS) -> Any:
    """Returns the layers as a hybrid block: (batch, length, width) to the same."""
    nn = mx.gluon.nn

    class Attention(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Dense(3 * WIDTH, flatten=False, in_units=WIDTH)
            self.out = nn.Dense(WIDTH, flatten=False, in_units=WIDTH)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            def heads(t: Any) -> Any:
                apart = F.transpose(F.reshape(t, (0, 0, HEADS, -1)), (0, 2, 1, 3))
                return F.reshape(apart, (-3, 0, 0))

            q, k, v = map(heads, F.split(self.qkv(x), 3, axis=2))
            scores = F.batch_dot(q, k, transpose_b=True) / (WIDTH // HEADS) ** 0.5
            mixed = F.batch_dot(F.softmax(scores), v)
            together = F.transpose(F.reshape(mixed, (-4, -1, HEADS, 0, 0)), (0, 2, 1, 3))
            return self.out(F.reshape(together, (0, 0, -3)))

    class Layer(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.attention = Attention()
            self.first, self.second = (nn.LayerNorm(in_channels=WIDTH) for _ in range(2))
            self.wide = nn.Dense(4 * WIDTH, flatten=False, in_units=WIDTH)
            self.narrow = nn.Dense(WIDTH, flatten=False, in_units=4 * WIDTH)
            self.act = nn.GELU()

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            x = x + self.attention(self.first(x))
            return x + self.narrow(self.act(self.wide(self.second(x))))

    net = nn.HybridSequential()
    net.add(*(Layer() for _ in range(layers)))
    return net


def batch() -> np.ndarray[Any, Any]:
    """Returns random vectors of words."""
    random = np.random.default_rng(0)
    return random.standard_normal((BATCH, LENGTH, WIDTH), dtype=np.float32)

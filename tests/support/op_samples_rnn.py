"""Sample calls of the recurrent operators; see `op_samples`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from op_sample import Sample, random, sample

from hybridnet.ops.nn.rnn.parameters import net_of

__all__ = ["SAMPLES", "parameter_size"]


def parameter_size(
    mode: str,
    features: int,
    hidden: int,
    layers: int = 1,
    bidirectional: bool = False,
    projected: int | None = None,
) -> int:
    """Returns the length of the parameter vector of operator `RNN`."""
    net = net_of(
        state_size=hidden,
        num_layers=layers,
        mode=mode,
        bidirectional=bidirectional,
        projection_size=projected,
    )
    return net.size(features)


def _rnn(
    mode: str,
    layers: int = 1,
    directions: int = 1,
    projected: int | None = None,
    lengths: bool = False,
    train: bool | None = None,
    **attrs: Any,
) -> Sample:
    """A call over 3 steps, 2 sequences and 2 features, with hidden states of size 2."""
    attrs |= {"mode": mode, "state_size": 2, "num_layers": layers}
    if projected:
        attrs["projection_size"] = projected
    if directions == 2:
        attrs["bidirectional"] = True
    size = parameter_size(mode, 2, 2, layers, directions == 2, projected)
    # Narrow: gates with steep slopes make numeric gradients rough.
    arrays = [random(3, 2, 2), random(size, low=-0.71, high=0.83, seed=1)]
    arrays.append(random(layers * directions, 2, projected or 2, seed=2))
    if mode == "lstm":
        arrays.append(random(layers * directions, 2, 2, seed=3))
    if lengths:
        arrays.append(np.array([2, 3], np.int32))
        attrs["use_sequence_length"] = True
    outputs = 1 if not attrs.get("state_outputs") else 2 + (mode == "lstm")
    return Sample(tuple(arrays), attrs, train, outputs)


SAMPLES: Final[dict[str, list[Sample]]] = {
    "RNN": [
        _rnn("rnn_relu"),
        _rnn("rnn_tanh", directions=2, lengths=True),
        _rnn("lstm", layers=2, directions=2, lengths=True, state_outputs=True),
        _rnn("gru", directions=2, lengths=True, state_outputs=True),
        _rnn("lstm", projected=1, lstm_state_clip_min=-0.31, lstm_state_clip_max=0.29),
        _rnn("gru", layers=2, p=0.5, train=True),
    ],
    "_rnn_param_concat": [sample(random(3), random(2, seed=1), dim=0)],
}

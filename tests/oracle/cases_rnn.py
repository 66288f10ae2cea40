"""Cases of the recurrent operators; see `case.py`."""

from __future__ import annotations

from case import Cases, random

CASES = Cases("rnn")
_case = CASES.add

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def _size(mode: str, features: int, hidden: int, layers: int, directions: int, shown: int) -> int:
    """Returns the number of parameters."""
    count = 0
    for layer in range(layers):
        inputs = shown * directions if layer else features
        one = _GATES[mode] * hidden * (inputs + shown + 2)
        count += directions * (one + (hidden * shown if shown != hidden else 0))
    return count


def _rnn(
    mode: str,
    time: int,
    batch: int,
    features: int,
    hidden: int,
    layers: int = 1,
    directions: int = 1,
    projected: int = 0,
    dtype: str = "float32",
    state_outputs: bool = True,
    train: bool = True,
) -> None:
    shown = projected or hidden
    size = _size(mode, features, hidden, layers, directions, shown)
    states = [random(layers * directions, batch, shown, dtype=dtype)]
    if mode == "lstm":
        states.append(random(layers * directions, batch, hidden, dtype=dtype))
    attrs = {"projection_size": projected} if projected else {}
    _case(
        "RNN",
        random(time, batch, features, dtype=dtype),
        random(size, low=-0.6, high=0.6, dtype=dtype),
        *states,
        grads=None if train else (),
        train=train,
        outputs=1 + len(states) if state_outputs else 1,
        mode=mode,
        state_size=hidden,
        num_layers=layers,
        bidirectional=directions == 2,
        state_outputs=state_outputs,
        **attrs,
    )


for _mode in _GATES:
    _rnn(_mode, 4, 2, 3, 5)
    _rnn(_mode, 3, 2, 4, 3, layers=2, directions=2)
    _rnn(_mode, 1, 1, 1, 1, dtype="float64")
    _rnn(_mode, 5, 3, 2, 4, layers=3, state_outputs=False)
    # MXNet rounds the states of rnn_relu to float32, whatever the dtype.
    _wide = "float32" if _mode == "rnn_relu" else "float64"
    _rnn(_mode, 2, 1, 3, 2, directions=2, dtype=_wide, state_outputs=False)
_rnn("lstm", 1, 5, 1, 7, layers=2)
# MXNet has no gradient of projections on CPUs.
_rnn("lstm", 3, 2, 3, 4, projected=2, train=False)
_rnn("lstm", 4, 1, 3, 5, layers=2, directions=2, projected=3, train=False)

_case("_rnn_param_concat", random(6), random(4), dim=0)
_case("_rnn_param_concat", random(2, 3), random(1, 3), dim=0)
_case("_rnn_param_concat", random(2, 3), random(2, 1), random(2, 2))
_case("_rnn_param_concat", random(3), dim=0)
_case("_rnn_param_concat", random(2, 3), random(2, 3), dim=1)

"""The steps of an LSTM's layer on CPUs by oneDNN, where it is there (`native.onednn`).

A step is a product of few rows, and what follows it. XLA's loop has some ten operations of that,
each of which is begun and waited for; here they are two. The products over all steps are oneDNN's,
too: its threads wait for work busily for a while, and XLA's would share the cores with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hybridnet.native import onednn

from ...core.alternatives import Site
from ..conv import onednn as onednn_convolution

#: What the alternatives are called.
NAME: Final = "onednn"

_FORWARD: Final = 3
_GRADIENT: Final = 4
# Multiplications of a step; with fewer, the call costs more than it saves. Milliseconds of a layer
# forward and back, XLA's and this (steps x batch x hidden, AMD EPYC with AVX-512): 35 x 20 x 200
# 3.9, 5.2 and 2.0, 3.2; 35 x 64 x 256 13.6, 24.7 and 9.0, 15.4; 35 x 8 x 128 0.94, 1.66 and 0.65,
# 0.88; 35 x 16 x 64 0.51, 0.96 and 0.56, 0.77; 35 x 1 x 256 0.86, 1.03 and 1.02, 1.22.
_MIN_MULTIPLICATIONS: Final = 1 << 19


def applies(site: Site) -> bool:
    """Whether it can compute a recurrent network, or its gradient: an LSTM, with nothing else."""
    attrs = site.attrs
    plain = (
        attrs["mode"] == "lstm"
        and attrs["projection_size"] is None
        and attrs["lstm_state_clip_min"] is None
        and attrs["lstm_state_clip_max"] is None
        and not attrs["lstm_state_clip_nan"]
        and not attrs["use_sequence_length"]
        and attrs["p"] == 0
    )
    return plain and site.wanted is None and onednn_convolution.applies(site)


def pays(site: Site) -> bool:
    """Whether that is faster than XLA's loop."""
    return _multiplications(site) >= _MIN_MULTIPLICATIONS and applies(site)


def _multiplications(site: Site) -> int:
    if not site.is_static:
        return 0
    hidden = site.attrs["state_size"]
    count: int = 4 * site.operands[0].shape[1] * hidden * hidden
    return count


def _spec(kind: int, steps: int, batch: int, hidden: int, reverse: bool) -> list[int]:
    return [0, kind, steps, batch, hidden, int(reverse)]


def steps(x: Any, state: Sequence[Any], weight: Any, reverse: bool) -> tuple[Any, Any, Any]:
    """Runs a layer.

    Args:
        x: (time, batch, 4 * hidden), the part of the gates that the inputs make, with biases.
        state: (batch, hidden) each; the hidden state and the cell state.
        weight: (4 * hidden, hidden), for the hidden state.
        reverse: whether it begins with the last step.

    Returns:
        The hidden states (time, batch, hidden), the gates (time, batch, 4 * hidden), and the cell
        states.
    """
    time, batch, _ = x.shape
    hidden = weight.shape[1]
    shapes = [(time, batch, size) for size in (hidden, 4 * hidden, hidden)]
    spec = _spec(_FORWARD, time, batch, hidden, reverse)
    h, gates, c = onednn.compute(spec, shapes, x, *state, weight)
    return h, gates, c


def steps_gradient(
    grad: Any,
    kept: Sequence[Any],
    first_cell: Any,
    state_grads: Sequence[Any],
    weight: Any,
    reverse: bool,
) -> tuple[Any, tuple[Any, Any]]:
    """Returns the gradients of `x` and of `state`.

    Args:
        grad: that of the hidden states.
        kept: what `steps` returned.
        first_cell: (batch, hidden).
        state_grads: those of both states after the last step.
        weight, reverse: as for `steps`.
    """
    _, gates, c = kept
    time, batch, hidden = c.shape
    shapes = [gates.shape, (batch, hidden), (batch, hidden)]
    spec = _spec(_GRADIENT, time, batch, hidden, reverse)
    x, h_first, c_first = onednn.compute(
        spec, shapes, grad, gates, c, first_cell, *state_grads, weight
    )
    return x, (h_first, c_first)

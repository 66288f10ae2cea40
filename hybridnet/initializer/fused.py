"""`FusedRNN`: the first values of the vector that holds all parameters of a recurrent network."""

from __future__ import annotations

import math
from typing import Any, Final

from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray, concatenate
from hybridnet.ops.nn import net_of

from .base import InitDesc, Initializer, create, register

__all__ = ["FusedParts", "FusedRNN"]

_GATES: Final[dict[str, tuple[str, ...]]] = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}


class FusedParts:
    """The parts of the vector of parameters of operator `RNN`, one for each gate, by name.

    Names are such as ``l0_i2h_f_weight``: direction and layer, inputs or hidden state, gate, kind.

    Args:
        mode: the cell: 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
        num_hidden, num_layers, bidirectional: as for the operator.
    """

    def __init__(self, mode: str, num_hidden: int, num_layers: int, bidirectional: bool) -> None:
        if mode not in _GATES:
            raise ParameterError(f"FusedRNN: mode must be in {list(_GATES)}, got {mode!r}")
        self.gates = _GATES[mode]
        self._hidden = num_hidden
        self._sides = [
            f"{side}{layer}" for layer in range(num_layers) for side in "lr"[: 1 + bidirectional]
        ]
        self._net = net_of(
            state_size=num_hidden, num_layers=num_layers, mode=mode, bidirectional=bidirectional
        )

    def names(self, features: int) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the parts by name, in order, for inputs of so many features."""
        found: dict[str, tuple[int, ...]] = {}
        blocks = list(zip(self._sides, self._net.blocks(features), strict=True))
        for kind in ("weight", "bias"):
            for side, shapes in blocks:
                for group, (_, columns) in zip(("i2h", "h2h"), shapes, strict=True):
                    shape = (self._hidden, columns) if kind == "weight" else (self._hidden,)
                    for gate in self.gates:
                        found[f"{side}_{group}{gate}_{kind}"] = shape
        return found

    def cut(self, vector: NDArray) -> dict[str, NDArray]:
        """Returns the parts of a vector, by name.

        Raises:
            ParameterError: the vector is of no network like this.
        """
        # The length grows by the same with each feature.
        least, step = self._net.size(0), self._net.size(1) - self._net.size(0)
        features, rest = divmod(vector.size - least, step)
        if features < 1 or rest:
            raise ParameterError(
                f"FusedRNN: the vector must have {least} numbers and {step} for each feature, got "
                f"{vector.size}"
            )
        found, at = {}, 0
        for name, shape in self.names(features).items():
            count = math.prod(shape)
            found[name] = vector[at : at + count].reshape(shape)
            at += count
        return found


@register
class FusedRNN(Initializer):
    """Fills the vector of parameters of a recurrent network, part by part.

    Args:
        init: for the parts, an initializer or its name; default the one for the whole network.
        num_hidden, num_layers, mode, bidirectional: of the network, as for `sym.RNN`.
        forget_bias: the biases of an LSTM's forget gates.
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        made = None if init is None else create(init)
        super().__init__(
            init=None if made is None else made.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = made
        self._parts = FusedParts(mode, num_hidden, num_layers, bidirectional)
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        whole = getattr(name, "global_init", None)
        filled = []
        for part, array in self._parts.cut(arr).items():
            if part.endswith("_f_bias"):
                array[:] = self._forget_bias
            else:
                chosen = self._init or whole
                if chosen is None or isinstance(chosen, FusedRNN):
                    raise ParameterError(
                        f"FusedRNN: needs an initializer for the parts of {str(name)!r}; give it "
                        "one, or initialize the network with one"
                    )
                chosen(InitDesc(part, global_init=whole), array)
            filled.append(array.reshape((-1,)))
        arr[:] = concatenate(filled)

"""`BaseRNNCell`: a part of a symbol that takes one step of a sequence, and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from hybridnet import ndarray, symbol
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

__all__ = [
    "ActivationOfSymbols",
    "Arrays",
    "BaseRNNCell",
    "RNNParams",
    "SymbolState",
    "normalize_sequence",
]

#: Arrays by name.
Arrays = Mapping[str, NDArray]
#: The name of an activation, or a function of a symbol.
ActivationOfSymbols = str | Callable[..., Symbol]


class SymbolState(TypedDict):
    """The description of a cell's state: its shape, 0 for the batch, and the names of its axes."""

    shape: tuple[int, ...]
    __layout__: str


def normalize_sequence(
    length: int | None, inputs: Symbol | Sequence[Symbol], layout: str, merge: bool | None
) -> tuple[Any, int]:
    """Makes a sequence one symbol, or a list of its steps.

    Args:
        length: the number of steps; None where a list says it.
        inputs: a symbol of `layout`, or a list of steps (batch, ...).
        layout: the order of the axes of one symbol, 'NTC' or 'TNC': batch, time, channels.
        merge: True for one symbol, False for a list, None to leave it as it is.

    Returns:
        The sequence, and the axis of the time.
    """
    if inputs is None:
        raise ParameterError("unroll: needs inputs, a symbol or a list of one for each step")
    axis = layout.find("T")
    if isinstance(inputs, Symbol):
        if merge is False:
            if len(inputs) != 1:
                raise ParameterError(
                    f"unroll: inputs must be one symbol or a list, got one of {len(inputs)} "
                    "outputs; use list(inputs)"
                )
            if length is None:
                raise ParameterError("unroll: needs length where inputs are one symbol")
            steps = symbol.split(inputs, axis=axis, num_outputs=length, squeeze_axis=True)
            inputs = list(steps)
        return inputs, axis
    if length not in (None, len(inputs)):
        raise ShapeError(f"unroll: needs {length} inputs, one for each step, got {len(inputs)}")
    if merge:
        wide = [symbol.expand_dims(one, axis=axis) for one in inputs]
        inputs = symbol.Concat(*wide, dim=axis)
    return inputs, axis


class RNNParams:
    """The variables of cells, by name, each made when it is first asked for.

    Args:
        prefix: of their names.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """Returns the variable ``prefix + name``.

        Args:
            name: without the prefix.
            kwargs: as for `sym.var`, where it is made.
        """
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = symbol.var(full, **kwargs)
        return self._params[full]


class BaseRNNCell:
    """A part of a symbol that takes one step: ``output, states = cell(inputs, states)``.

    Args:
        prefix: of the names of its nodes and variables.
        params: variables to share with other cells.
    """

    #: The size of each gate, of cells that have some.
    _num_hidden: int

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        # Whether a modifier has taken this cell over.
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Forgets the steps taken, so that names begin with the first one again."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step; subclasses define it.

        Args:
            inputs: a symbol, (batch, ...).
            states: those of the step before, or from `begin_state`.

        Returns:
            The output, and a list of the new states.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(inputs, states)")

    @property
    def params(self) -> RNNParams:
        """The variables of this cell, to be shared."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of each state; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} must define state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shape of each state, with 0 for the batch."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Sequence[str]:
        return ()

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def begin_state(self, func: Callable[..., Any] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """Returns states to begin with.

        Args:
            func: makes each from ``name``, ``shape`` and ``__layout__``, such as `sym.var`.
            kwargs: further arguments of it.

        Raises:
            ParameterError: a modifier has taken this cell over.
        """
        self._check_own()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **(info or {})}))
        return states

    def _check_own(self) -> None:
        if self._modified:
            raise ParameterError(
                f"{type(self).__name__} {self._prefix!r}: a modifier such as ZoneoutCell was made "
                "of this cell; call the modifier instead"
            )

    def unpack_weights(self, args: Arrays) -> dict[str, NDArray]:
        """Returns the arrays with those of this cell cut into one for each gate.

        Args:
            args: by name; others are left as they are.
        """
        found = dict(args)
        if not self._gate_names:
            return found
        size = self._num_hidden
        for group in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                whole = found.pop(f"{self._prefix}{group}_{kind}")
                for number, gate in enumerate(self._gate_names):
                    part = whole[number * size : (number + 1) * size].copy()
                    found[f"{self._prefix}{group}{gate}_{kind}"] = part
        return found

    def pack_weights(self, args: Arrays) -> dict[str, NDArray]:
        """Returns the arrays with those of this cell's gates joined: undoes `unpack_weights`.

        Args:
            args: by name; others are left as they are.
        """
        found = dict(args)
        if not self._gate_names:
            return found
        for group in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                parts = [
                    found.pop(f"{self._prefix}{group}{gate}_{kind}") for gate in self._gate_names
                ]
                found[f"{self._prefix}{group}_{kind}"] = ndarray.concatenate(parts)
        return found

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """Takes all steps of a sequence.

        Args:
            length: how many.
            inputs: a symbol of `layout`, or a list of (batch, ...) for each step.
            begin_state: the first states; default zeros.
            layout: the order of the axes, 'NTC' or 'TNC': batch N, time T, channels C.
            merge_outputs: True for one symbol of `layout`, False for a list of steps, None for
                what is at hand.

        Returns:
            The outputs, and the states after the last step.
        """
        self.reset()
        inputs, _ = normalize_sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs: Any = []
        for step in range(length):
            output, states = self(inputs[step], states)
            outputs.append(output)
        outputs, _ = normalize_sequence(length, outputs, layout, merge_outputs)
        return outputs, states

    def _get_activation(
        self, inputs: Symbol, activation: ActivationOfSymbols, **kwargs: Any
    ) -> Symbol:
        """Applies an activation: the name of one, or a function of symbols."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)

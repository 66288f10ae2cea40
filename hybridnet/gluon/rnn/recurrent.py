"""`RecurrentCell`: a part of a network that takes one step of a sequence, and can be unrolled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet import ndarray
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ..block import Block, HybridBlock
from ..nn import LeakyReLU
from ..parameter import ParameterDict
from ..types import ActivationLike, Data, Operators, StateInfo
from .sequences import first_states, format_sequence, mask_sequence

__all__ = ["HybridRecurrentCell", "RecurrentCell"]


class RecurrentCell(Block):
    """A part of a network that takes one step: ``output, states = cell(inputs, states)``.

    Args:
        prefix, params: see `gluon.Block`.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        # Whether a modifier has taken this cell over.
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Forgets the steps taken, so that the next is the first of another sequence."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of each state; subclasses define it.

        Args:
            batch_size: the first number of each shape.
        """
        raise NotImplementedError(f"{type(self).__name__} must define state_info()")

    def begin_state(
        self,
        batch_size: int = 0,
        func: Callable[..., NDArray | Symbol] = ndarray.zeros,
        **kwargs: Any,
    ) -> list[Any]:
        """Returns states to begin with.

        Args:
            batch_size: how many sequences; symbols may leave it 0, to be found from the inputs.
            func: makes each state from ``name``, ``shape`` and ``__layout__``: `nd.zeros`,
                `sym.zeros`, `sym.var` and the like.
            kwargs: further arguments of it, such as ``ctx`` or ``dtype``.

        Raises:
            ParameterError: a modifier has taken this cell over.
        """
        self._check_own()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **(info or {}), **kwargs))
        return states

    def _check_own(self) -> None:
        if self._modified:
            raise ParameterError(
                f"{self.name}: a modifier such as ZoneoutCell was made of this cell; call the "
                "modifier instead"
            )

    def unroll(
        self,
        length: int,
        inputs: Data | Sequence[Data],
        begin_state: Sequence[Data] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Data | None = None,
    ) -> tuple[Any, list[Data]]:
        """Takes all steps of a sequence.

        Args:
            length: how many.
            inputs: an array or symbol of `layout`, or a list of (batch, ...) for each step.
            begin_state: the first states; default zeros.
            layout: the order of the axes, 'NTC' or 'TNC': batch N, time T, channels C.
            merge_outputs: True for one array of `layout`, False for a list of steps, None for
                what is at hand.
            valid_length: (batch,), how many steps of each sequence count: outputs after them are
                0, and the last states are those after the last valid step.

        Returns:
            The outputs, and the states after the last step.

        Raises:
            ShapeError: the inputs have another length.
        """
        self.reset()
        inputs, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        states = first_states(self, F, begin_state, inputs, batch_size)
        outputs: Any = []
        history = []
        for step in range(length):
            output, states = self(inputs[step], states)
            outputs.append(output)
            history.append(states)
        if valid_length is not None:
            states = [
                F.SequenceLast(
                    F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True
                )
                for steps in zip(*history, strict=True)
            ]
            outputs = mask_sequence(F, outputs, length, valid_length, axis, True)
        outputs, _, _, _ = format_sequence(length, outputs, layout, merge_outputs)
        return outputs, states

    def _get_activation(
        self, F: Operators[Data], inputs: Data, activation: ActivationLike, **kwargs: Any
    ) -> Any:
        """Applies an activation: the name of one, a `LeakyReLU` layer, or a function."""
        if activation in ("tanh", "relu", "sigmoid", "softsign"):
            return getattr(F, activation)(inputs, **kwargs)
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Data, states: list[Data] | None = None) -> Any:
        """Takes one step.

        Args:
            inputs: (batch, ...).
            states: those that the step before returned, or `begin_state` has made.

        Returns:
            The output, and the new states.
        """
        self._counter += 1
        return super().forward(inputs, given_states(self, states))


def given_states(cell: Block, states: list[Data] | None) -> list[Data]:
    """Returns the states that a step of a cell is given.

    Raises:
        TypeError: there are none.
    """
    if states is None:
        raise TypeError(
            f"{type(cell).__name__}: takes inputs and states, got inputs alone; the first states "
            "are cell.begin_state(batch_size)"
        )
    return states


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A recurrent cell that also runs on symbols, and after `hybridize` each step as one.

    Args:
        prefix, params: see `gluon.Block`.
    """

    #: Whether the cell keeps arrays of one step for the next beside its states. A traced step
    #: would go on with those of the step that was traced.
    _keeps_arrays = False

    def hybridize(self, active: bool = True, *args: Any, **kwargs: Any) -> None:
        """Makes each step run as one traced function; see `gluon.HybridBlock.hybridize`.

        Of a cell that keeps something between steps beside its states, such as a `ZoneoutCell`, the
        cells inside are traced.
        """
        if active and _keeps_arrays(self):
            super().hybridize(False)
            for child in self._children.values():
                child.hybridize(active, *args, **kwargs)
            return
        super().hybridize(active, *args, **kwargs)

    def hybrid_forward(
        self, F: Operators[Data], x: Data, *args: Any, **kwargs: Any
    ) -> tuple[Data, list[Data]]:
        """Takes one step; subclasses define it.

        Args:
            F: `nd` or `sym`.
            x: the inputs, (batch, ...).
            args: the states, as one list.
            kwargs: the own parameters by the names of their attributes.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define hybrid_forward(F, inputs, states, ...)"
        )


def _keeps_arrays(block: Block) -> bool:
    own = isinstance(block, HybridRecurrentCell) and block._keeps_arrays
    return own or any(map(_keeps_arrays, block._children.values()))

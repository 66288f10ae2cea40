"""Recurrent layers: whole sequences through several layers, as one operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar, Unpack, overload

from hybridnet import ndarray, symbol
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.numpy_mode import mode as numpy_mode
from hybridnet.initializer.base import InitLike
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import registry
from hybridnet.symbol import Symbol

from ..block import HybridBlock
from ..parameter import Parameter
from ..types import BlockNames, Data, Operators, StateInfo
from .cells import GRUCell, LSTMCell, RNNCell
from .modifiers import DropoutCell
from .stacks import BidirectionalCell, HybridSequentialRNNCell

__all__ = ["GRU", "LSTM", "RNN"]

A = TypeVar("A", bound=NDArray | Symbol)

_GATES: Final = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


class LayerOptions(BlockNames, total=False):
    """The keyword arguments that all recurrent layers take."""

    use_sequence_length: bool


class _LSTMOptions(NamedTuple):
    """The options that only an LSTM has; see `LSTM`."""

    projection_size: int | None = None
    h2r_weight_initializer: InitLike | None = None
    state_clip_min: float | None = None
    state_clip_max: float | None = None
    state_clip_nan: bool = False


_PLAIN: Final = _LSTMOptions()


class _RNNLayer(HybridBlock):
    """Base of the recurrent layers.

    Args:
        mode: the cell, as operator `RNN` names it.
        initializers: of the weights for inputs and hidden state, and of the two biases.
        lstm: what only an LSTM has.
        hidden_size, num_layers, layout, dropout, bidirectional, input_size, dtype, kwargs: as for
            `LSTM`.
    """

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        initializers: tuple[InitLike | None, InitLike | None, InitLike | None, InitLike | None],
        dtype: DTypeLike,
        lstm: _LSTMOptions = _PLAIN,
        /,
        use_sequence_length: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise ParameterError(
                f"{type(self).__name__}: layout must be 'TNC' or 'NTC', got {layout!r}"
            )
        self._hidden_size = hidden_size
        self._projection_size = lstm.projection_size or None
        self._num_layers = num_layers
        self._mode = mode
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        names = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")
        given = (*initializers, lstm.h2r_weight_initializer)
        self._initializers = dict(zip(names, given, strict=True))
        self._clip = {
            "lstm_state_clip_min": lstm.state_clip_min,
            "lstm_state_clip_max": lstm.state_clip_max,
            "lstm_state_clip_nan": lstm.state_clip_nan,
        }
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        self._gates = _GATES[mode]
        # Whether the call at hand was given no states, and gives none back.
        self.skip_states: bool | None = None
        for name, kind, shape in self._shapes():
            init = self._initializers[kind]
            made = self.params.get(
                name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype
            )
            setattr(self, name, made)

    def _shapes(self) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Yields the name, the kind and the shape of each parameter."""
        rows, shown = self._gates * self._hidden_size, self._projection_size or self._hidden_size
        inputs = self._input_size
        for layer in range(self._num_layers):
            for side in "lr"[: self._dir]:
                shapes: dict[str, tuple[int, ...]] = {
                    "i2h_weight": (rows, inputs),
                    "h2h_weight": (rows, shown),
                    "i2h_bias": (rows,),
                    "h2h_bias": (rows,),
                }
                if self._projection_size is not None:
                    shapes["h2r_weight"] = (shown, self._hidden_size)
                for kind, shape in shapes.items():
                    yield f"{side}{layer}_{kind}", kind, shape
            inputs = shown * self._dir

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of each state, (layers * directions, batch, hidden_size)."""
        return self._state_info(batch_size, (self._hidden_size,))

    def _state_info(self, batch_size: int, sizes: tuple[int, ...]) -> list[StateInfo]:
        first = (self._num_layers * self._dir, batch_size)
        return [{"shape": (*first, size), "__layout__": "LNC"} for size in sizes]

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Returns the parameters by their places, as MXNet's files name them: as those of cells.

        Args:
            prefix: the place of this block.
        """
        dot = prefix + "." if prefix else ""
        found = {}
        for name, param in self._reg_params.items():
            side, rest = name.split("_", 1)
            cell = f".{side[0]}_cell" if self._dir == 2 else ""
            found[f"{dot}_unfused.{side[1:]}{cell}.{rest}"] = param
        return found

    def _unfuse(self) -> HybridSequentialRNNCell:
        """Returns cells that compute the same, with the same parameters."""
        if self._projection_size or any(self._clip.values()):
            raise ParameterError(
                f"{self.name}: a layer with a projection or bounds of the cell state is not made "
                "of cells"
            )
        made = {
            "rnn_relu": lambda **kwargs: RNNCell(self._hidden_size, activation="relu", **kwargs),
            "rnn_tanh": lambda **kwargs: RNNCell(self._hidden_size, activation="tanh", **kwargs),
            "lstm": lambda **kwargs: LSTMCell(self._hidden_size, **kwargs),
            "gru": lambda **kwargs: GRUCell(self._hidden_size, **kwargs),
        }[self._mode]
        options = {
            f"{kind}_initializer": init
            for kind, init in self._initializers.items()
            if kind != "h2r_weight"
        }
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        inputs = self._input_size
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells = [
                    made(prefix=f"{side}{layer}_", input_size=inputs, **options)
                    for side in "lr"[: self._dir]
                ]
                stack.add(BidirectionalCell(cells[0], cells[1]) if self._dir == 2 else cells[0])
                if self._dropout and layer < self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                inputs = self._hidden_size * self._dir
        return stack

    def cast(self, dtype: DTypeLike) -> None:
        """Changes the element type of the parameters."""
        super().cast(dtype)
        self._dtype = dtype

    def begin_state(
        self,
        batch_size: int = 0,
        func: Callable[..., NDArray | Symbol] = ndarray.zeros,
        **kwargs: Any,
    ) -> list[Any]:
        """Returns states to begin with.

        Args:
            batch_size: how many sequences.
            func: makes each state from ``name``, ``shape`` and ``__layout__``: `nd.zeros`,
                `sym.zeros`, `sym.var` and the like.
            kwargs: further arguments of it, such as ``ctx`` or ``dtype``.
        """
        states = [
            func(name=f"{self.prefix}h0_{number}", **info, **kwargs)
            for number, info in enumerate(self.state_info(batch_size))
        ]
        return [state.as_np_ndarray() for state in states] if numpy_mode.array else states

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """Finds the shapes of the parameters from inputs.

        Raises:
            ShapeError: these are not (time, batch, features), or (batch, time, features).
        """
        if inputs.ndim != 3:
            raise ShapeError(
                f"inputs must have 3 axes, {self._layout}, got shape {tuple(inputs.shape)}"
            )
        for side in "lr"[: self._dir]:
            weight = self._reg_params[f"{side}0_i2h_weight"]
            weight.shape = (self._gates * self._hidden_size, inputs.shape[2])

    @overload  # type: ignore[override]
    def __call__(self, inputs: A, states: None = None, sequence_length: A | None = None) -> A: ...

    @overload
    def __call__(
        self, inputs: A, states: A | list[A], sequence_length: A | None = None
    ) -> tuple[A, list[A]]: ...

    def __call__(self, inputs: Any, states: Any = None, sequence_length: A | None = None) -> Any:
        """Runs the layers.

        Args:
            inputs: (time, batch, features), or (batch, time, features) with the layout 'NTC'.
            states: the first states as `begin_state` makes them, or one; default zeros.
            sequence_length: (batch,), how many steps count; with `use_sequence_length` only.

        Returns:
            The outputs; where states were given also a list of the last ones.
        """
        self.skip_states = states is None
        if isinstance(states, (NDArray, Symbol)):
            states = [states]
        elif states is None and isinstance(inputs, NDArray):
            batch_size = inputs.shape[self._layout.find("N")]
            states = self.begin_state(batch_size, ctx=inputs.context, dtype=inputs.dtype)
        elif states is None:
            states = self.begin_state(0, func=symbol.zeros)
        lengths = (sequence_length,) if self._use_sequence_length else ()
        return super().__call__(inputs, states, *lengths)

    def _call_block(self, args: tuple[Any, ...]) -> Any:
        skipped = self.skip_states
        out = super()._call_block(args)
        return out[0] if skipped else out

    def hybrid_forward(  # type: ignore[override]
        self,
        F: Operators[Data],
        inputs: Data,
        states: Sequence[Data],
        sequence_length: Data | None = None,
        **kwargs: Data,
    ) -> tuple[Data, list[Data]]:
        """Runs the layers; returns the outputs and a list of the last states."""
        if isinstance(inputs, NDArray):
            self._check_states(inputs, states)
        if self._layout == "NTC":
            inputs = inputs.swapaxes(0, 1)
        # The operator's vector: all weights, then all biases.
        names = sorted(self._reg_params, key=lambda name: name.endswith("bias"))
        flat = [kwargs[name].reshape((-1,)) for name in names]
        joined = type(inputs).apply_operator(
            registry.get("_rnn_param_concat"), flat, {"num_args": len(flat), "dim": 0}
        )
        lengths = (sequence_length,) if self._use_sequence_length else ()
        found = F.RNN(
            inputs,
            joined,
            *states,
            *lengths,
            use_sequence_length=self._use_sequence_length,
            state_size=self._hidden_size,
            projection_size=self._projection_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            **self._clip,
        )
        outputs, after = found[0], list(found)[1:]
        if self._layout == "NTC":
            outputs = outputs.swapaxes(0, 1)
        return outputs, after

    def _check_states(self, inputs: NDArray, states: Sequence[NDArray]) -> None:
        expected = self.state_info(inputs.shape[self._layout.find("N")])
        shapes = [info["shape"] for info in expected]
        if [tuple(state.shape) for state in states] != shapes:
            got = [tuple(state.shape) for state in states]
            raise ShapeError(f"states must have shapes {shapes}, got {got}")

    def __repr__(self) -> str:
        rows, inputs = self._reg_params["l0_i2h_weight"].shape or (0, 0)
        shown = f"{inputs or None} -> {rows // self._gates}, {self._layout}"
        if self._num_layers != 1:
            shown += f", num_layers={self._num_layers}"
        if self._dropout:
            shown += f", dropout={self._dropout}"
        if self._dir == 2:
            shown += ", bidirectional"
        return f"{type(self).__name__}({shown})"


class RNN(_RNNLayer):
    """Layers of Elman's cells: ``h' = activation(W x + b + R h + c)``.

    Args:
        hidden_size: the size of the hidden state.
        num_layers: how many layers; each gets what the one below gives.
        activation: 'relu' or 'tanh'.
        layout: the order of the axes, 'TNC' or 'NTC': time T, batch N, channels C.
        dropout: the part of the elements between two layers that is dropped in training.
        bidirectional: whether each layer has a second part that goes backward in time.
        i2h_weight_initializer, h2h_weight_initializer: first values of W and R.
        i2h_bias_initializer, h2h_bias_initializer: first values of b and c.
        input_size: the size of the inputs; 0 to find out from the first.
        dtype: of the parameters.
        kwargs: ``prefix``, ``params`` and ``use_sequence_length``.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        input_size: int = 0,
        dtype: DTypeLike = "float32",
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        weights = (i2h_weight_initializer, h2h_weight_initializer)
        biases = (i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(
            f"rnn_{activation}",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (*weights, *biases),
            dtype,
            **kwargs,
        )


class LSTM(_RNNLayer):
    """Layers of LSTM cells; `LSTMCell` has the formulas.

    Args:
        hidden_size: the size of the hidden state, and of the cell state.
        num_layers: how many layers; each gets what the one below gives.
        layout: the order of the axes, 'TNC' or 'NTC': time T, batch N, channels C.
        dropout: the part of the elements between two layers that is dropped in training.
        bidirectional: whether each layer has a second part that goes backward in time.
        input_size: the size of the inputs; 0 to find out from the first.
        i2h_weight_initializer, h2h_weight_initializer: first values of the weights.
        i2h_bias_initializer, h2h_bias_initializer: first values of the biases.
        projection_size: the hidden state is multiplied by a matrix to have this size.
        h2r_weight_initializer: first values of that matrix.
        state_clip_min, state_clip_max: bounds of the cell state.
        state_clip_nan: whether NaN in the cell state becomes 0.
        dtype: of the parameters.
        kwargs: ``prefix``, ``params`` and ``use_sequence_length``.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: InitLike | None = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: DTypeLike = "float32",
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        lstm = _LSTMOptions(
            projection_size, h2r_weight_initializer, state_clip_min, state_clip_max, state_clip_nan
        )
        weights = (i2h_weight_initializer, h2h_weight_initializer)
        biases = (i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(
            "lstm",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (*weights, *biases),
            dtype,
            lstm,
            **kwargs,
        )

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of h and c, (layers * directions, batch, size) each."""
        shown = self._projection_size or self._hidden_size
        return self._state_info(batch_size, (shown, self._hidden_size))


class GRU(_RNNLayer):
    """Layers of GRU cells; `GRUCell` has the formulas.

    Args:
        hidden_size: the size of the hidden state.
        num_layers: how many layers; each gets what the one below gives.
        layout: the order of the axes, 'TNC' or 'NTC': time T, batch N, channels C.
        dropout: the part of the elements between two layers that is dropped in training.
        bidirectional: whether each layer has a second part that goes backward in time.
        input_size: the size of the inputs; 0 to find out from the first.
        i2h_weight_initializer, h2h_weight_initializer: first values of the weights.
        i2h_bias_initializer, h2h_bias_initializer: first values of the biases.
        dtype: of the parameters.
        kwargs: ``prefix``, ``params`` and ``use_sequence_length``.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        dtype: DTypeLike = "float32",
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        weights = (i2h_weight_initializer, h2h_weight_initializer)
        biases = (i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(
            "gru",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (*weights, *biases),
            dtype,
            **kwargs,
        )

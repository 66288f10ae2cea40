"""Recurrent networks of several layers as one operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from hybridnet.base.attrs import RandomState, Range, Shape, Train
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jax, jnp, plus

from ...core.alternatives import PLAIN, Site, alternative, builtin_choice
from ...core.backward import vjp_gradient
from ...core.call import Backward
from ...core.checks import fill, require_floats, require_one_dtype, require_shape, wide
from ...core.families import keywords_of, signed
from ...core.operator import Shapes, describe
from ...core.registry import get, operator
from ...core.rules import UNKNOWN
from ...random.state import keep_mask, next_key
from ..conv.onednn import product as onednn_product
from . import _layer, onednn
from ._layer import KEPT, SCANNED, Layer, Way
from .parameters import Net, net_of, unpacked

# -- rules ---------------------------------------------------------------------------------------


def _names(*, use_sequence_length: bool, **params: Any) -> tuple[str, ...]:
    lengths = ("sequence_length",) if use_sequence_length else ()
    return ("data", "parameters", *net_of(**params).states, *lengths)


def _num_visible(*, state_outputs: bool, **params: Any) -> int:
    return 1 + len(net_of(**params).states) if state_outputs else 1


def _check(*types: TensorType, **params: Any) -> None:
    net, names = net_of(**params), _names(**params)
    if len(types) != len(names):
        raise ParameterError(
            f"RNN: requires {len(names)} inputs with these parameters ({', '.join(names)}), got "
            f"{len(types)}"
        )
    got = dict(zip(names, types, strict=True))
    if params["mode"] != "lstm" and (net.projected is not None or net.clip is not None):
        raise ParameterError(
            f"RNN: projection_size and lstm_state_clip_* require mode='lstm', got mode={net.mode!r}"
        )
    if net.clip is not None and net.clip[0] > net.clip[1]:
        raise ParameterError(
            f"RNN: lstm_state_clip_min must be at most lstm_state_clip_max, got {net.clip[:2]}"
        )
    require_floats("RNN", names, types)
    require_one_dtype("RNN", names, types[: 2 + len(net.states)])
    data = got["data"]
    if len(data.shape) != 3:
        raise ShapeError(
            f"RNN: data must have shape (time, batch, features), got {describe(names[:1], types)}"
        )
    batch, features = data.shape[1:]
    because = f"data {data} and {params['num_layers']} layers of state_size={net.hidden}"
    require_shape("RNN", "parameters", got["parameters"], (net.size(features),), because)
    for name in net.states:
        require_shape("RNN", name, got[name], net.state_shape(name, batch), because)
    if "sequence_length" in got:
        require_shape("RNN", "sequence_length", got["sequence_length"], (batch,), f"data {data}")


def _types(*types: TensorType, state_outputs: bool, **params: Any) -> Sequence[TensorType]:
    net = net_of(**params)
    data = types[0]
    time, batch, _ = data.shape
    found = [tensor_type((time, batch, net.shown * net.directions), data.dtype)]
    if state_outputs:
        found += [tensor_type(net.state_shape(state, batch), data.dtype) for state in net.states]
    if net.num_kept:
        size, dtype = net.hidden, wide(data.dtype)
        widths = {"lstm": (size, 4 * size, size), "gru": (size, 3 * size, size)}
        kept = [tensor_type((time, batch, width), dtype) for width in widths.get(net.mode, (size,))]
        found += kept * (net.layers * net.directions)
    return found


def _complete(shapes: Shapes, **params: Any) -> Shapes:
    data = shapes[0]
    if data is None or len(data) != 3:
        return shapes
    net, found = net_of(**params), list(shapes)
    for index, name in enumerate(_names(**params)):
        if name == "parameters" and data[2] != UNKNOWN:
            found[index] = fill(found[index], (net.size(data[2]),))
        elif name in net.states:
            found[index] = fill(found[index], net.state_shape(name, data[1]))
        elif name == "sequence_length":
            found[index] = fill(found[index], (data[1],))
    return found


def _cost(data: TensorType, *_: TensorType, **params: Any) -> float:
    time, batch, features = data.shape
    weights = sum(a * b for block in net_of(**params).blocks(features) for a, b in block)
    return 2.0 * time * batch * weights


# -- running -------------------------------------------------------------------------------------


def _run(
    net: Net,
    data: Any,
    parameters: Any,
    states: Sequence[Any],
    lengths: Any,
    drop: Callable[[Any], Any] | None,
    kept: Sequence[Any] = (),
    way: Way = SCANNED,
) -> tuple[Any, list[Any], list[Any]]:
    """Runs all layers.

    Args:
        data: (time, batch, features).
        parameters: the vector.
        states: the first states, (layers * directions, batch, size) each.
        lengths: (batch,), the number of valid steps; or None.
        drop: applied to what one layer gives to the next.
        kept: what an earlier run kept; then this one is to be differentiated only.
        way: how the steps are computed.

    Returns:
        The outputs, the last states, and what is kept for the gradient.
    """
    valid = None
    if lengths is not None:
        steps = jnp.arange(data.shape[0], dtype=np.int32)[:, None, None]
        valid = steps < lengths.astype(np.int32)[None, :, None]
    blocks = unpacked(parameters, net, data.shape[2])
    ends: list[tuple[Any, ...]] = []
    new_kept: list[Any] = []
    x = data
    for index in range(0, len(blocks), net.directions):
        if index and drop is not None:
            x = drop(x)
        outputs = []
        for number in range(index, index + net.directions):
            layer = Layer(net.mode, number > index, net.clip, way)
            first = tuple(state[number] for state in states)
            old = tuple(kept[number * KEPT[net.mode] :][: KEPT[net.mode]])
            output, end, mine = _one(layer, x, first, blocks[number], valid, old)
            outputs.append(output)
            ends.append(end)
            new_kept.extend(mine)
        x = jnp.concatenate(outputs, -1) if net.directions > 1 else outputs[0]
    return x, [jnp.stack(last) for last in zip(*ends, strict=True)], new_kept


def _one(
    layer: Layer,
    x: Any,
    state: tuple[Any, ...],
    block: tuple[Any, ...],
    valid: Any,
    kept: tuple[Any, ...],
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Runs one layer in one direction, or gives what it kept."""
    input_weight, weight, *projection, input_bias, state_bias = block
    inner = None
    if layer.mode == "gru":
        size = weight.shape[1]
        inner = state_bias[2 * size :]
        state_bias = jnp.concatenate([state_bias[: 2 * size], jnp.zeros_like(inner)])
    if layer.way.native:
        product = onednn_product(x, input_weight)
    else:
        product = _product(x, input_weight) if kept else jnp.matmul(x, input_weight.T)
    x = plus(product, input_bias + state_bias)
    if kept:
        output, end = _layer.remembered(layer, x, state, weight, inner, valid, kept)
        return output, end, ()
    projected = projection[0] if projection else None
    return _layer.scan(layer, x, state, weight, inner, projected, valid)


def _product(x: Any, weight: Any) -> Any:
    """Returns ``x @ weight.T``, differentiated as `_layer.weight_gradient` says."""

    @jax.custom_vjp
    def product(x: Any, weight: Any) -> Any:
        return jnp.matmul(x, weight.T)

    def backward(saved: tuple[Any, Any], grad: Any) -> tuple[Any, Any]:
        x, weight = saved
        return jnp.matmul(grad, weight), _layer.weight_gradient(grad, x)

    product.defvjp(lambda x, weight: (jnp.matmul(x, weight.T), (x, weight)), backward)
    return product(x, weight)


def _dropout(p: float, train: bool, state: Any) -> tuple[Callable[[Any], Any] | None, Any]:
    """Returns what is applied between layers, and the cell that holds the random state."""
    if not p or not train:
        return None, [state]
    cell = [state]

    def drop(x: Any) -> Any:
        key, cell[0] = next_key(cell[0])
        scale = 1 / (1 - p) if p < 1 else 0.0
        return jnp.where(keep_mask(key, x.shape, 1 - p), x * scale, 0).astype(x.dtype)

    return drop, cell


def _gradient(back: Backward) -> Sequence[Any]:
    num_kept = net_of(**back.attrs).num_kept
    num_visible = back.call.num_visible
    if not num_kept or any(grad is not None for grad in back.grads[num_visible:]):
        return vjp_gradient(back)  # of second order: what was kept has a gradient, too
    wanted = tuple(
        index
        for index, x in enumerate(back.inputs)
        if back.wanted[index] and (x.inferred_dtype is None or is_float(x.inferred_dtype))
    )
    given = tuple(i for i in range(num_visible) if back.grads[i] is not None)
    if not wanted or not given:
        return [None] * len(back.inputs)
    attrs = {**back.attrs, "wanted": wanted, "given": given}
    call, scalars = get("_backward_RNN").bind(attrs, back.call.train)
    kept = back.outputs[num_visible : num_visible + num_kept]
    operands = [*back.inputs, *kept, *(back.grads[i] for i in given)]
    return back.placed(wanted, back.apply(call, operands, scalars))


@operator(
    "RNN",
    aliases=("_npx_rnn",),
    outputs=lambda **params: _num_visible(**params) + net_of(**params).num_kept,
    visible=_num_visible,
    takes=_names,
    check=_check,
    infer=_types,
    complete=_complete,
    gradient=_gradient,
    cost=_cost,
    output_names=("output", "state_output", "statecell_output"),
    takes_state=lambda *, p, **_: p > 0,
)
def rnn(
    data: Any,
    parameters: Any,
    state: Any,
    state_cell: Any = None,
    sequence_length: Any = None,
    *,
    state_size: Annotated[int, Range(1)],
    num_layers: Annotated[int, Range(1)],
    bidirectional: bool = False,
    mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"],
    p: Annotated[float, Range(0, 1)] = 0.0,
    state_outputs: bool = False,
    projection_size: Annotated[int, Range(1)] | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    train: Train,
    generator: RandomState = None,
) -> Any:
    """Runs a recurrent network of several layers over a batch of sequences.

    ``rnn_relu`` and ``rnn_tanh``: ``h' = act(W x + b + R h + c)``. ``lstm``: Hochreiter and
    Schmidhuber (1997), gates in the order input, forget, cell, output. ``gru``: Cho et al. (2014),
    gates in the order reset, update, new, with ``n = tanh(W x + b + r * (R h + c))``.

    `parameters` holds for each layer, and in it for each direction, W and R (with a projection also
    its matrix), flattened; and then, in the same order, all b and c.

    MXNet has sequence lengths and bounds of the cell state on GPUs only, and passes over them on
    CPUs; here they hold everywhere.

    Args:
        data: (time, batch, features).
        parameters: a vector.
        state: (num_layers * directions, batch, state_size), or projection_size at last.
        state_cell: (num_layers * directions, batch, state_size); in mode 'lstm' only.
        sequence_length: (batch,), how many steps are valid: later ones give 0 and leave the state
            as it is; with `use_sequence_length` only.
        state_size: the size of the hidden state.
        num_layers: how many layers; each gets what the one below gives.
        bidirectional: whether each layer has a second part that goes backward in time.
        mode: the cell.
        p: the part of the elements between two layers that is dropped in a training pass.
        state_outputs: whether to return the last states too.
        projection_size: the hidden state of an LSTM is multiplied by a matrix to have this size.
        lstm_state_clip_min: the cell state is held above this.
        lstm_state_clip_max: the cell state is held below this.
        lstm_state_clip_nan: whether NaN in the cell state becomes 0.
        use_sequence_length: whether `sequence_length` is given.

    Returns:
        The outputs of the last layer, (time, batch, directions * state_size); with `state_outputs`
        also the states after the last step, of the shapes of the first ones. Hidden: what the
        gradient needs.
    """
    return _lowering(
        SCANNED,
        (data, parameters, state, state_cell, sequence_length),
        generator,
        train,
        p=p,
        state_outputs=state_outputs,
        use_sequence_length=use_sequence_length,
        state_size=state_size,
        num_layers=num_layers,
        mode=mode,
        bidirectional=bidirectional,
        projection_size=projection_size,
        lstm_state_clip_min=lstm_state_clip_min,
        lstm_state_clip_max=lstm_state_clip_max,
        lstm_state_clip_nan=lstm_state_clip_nan,
    )


def _lowering(
    way: Way,
    inputs: Sequence[Any],
    generator: Any,
    train: bool,
    *,
    p: float,
    state_outputs: bool,
    use_sequence_length: bool,
    **params: Any,
) -> Sequence[Any]:
    """Runs the network, its steps in some way; the last of the inputs may be missing."""
    net = net_of(**params)
    data, parameters, state, state_cell, sequence_length = (*inputs, None, None)[:5]
    # A call without a cell state has the lengths in its place.
    lengths = state_cell if use_sequence_length and net.mode != "lstm" else sequence_length
    states = (state, state_cell)[: len(net.states)]
    dtype = data.dtype
    drop, random = _dropout(p, train, generator)
    arrays = [jnp.astype(array, wide(dtype)) for array in (data, parameters, *states)]
    outputs, ends, kept = _run(net, arrays[0], arrays[1], arrays[2:], lengths, drop, way=way)
    found = [outputs, *ends] if state_outputs else [outputs]
    made = [jnp.astype(array, dtype) for array in found]
    if net.num_kept:
        made += kept
    return [*made, random[0]] if p > 0 else made


def _can_be_cut(site: Site) -> bool:
    return site.platform == "cpu" and site.is_static and site.operands[0].shape[1] > 1


@alternative("RNN", "halves", applies=_can_be_cut, tolerance=1e-5)
def _in_halves(*inputs: Any, generator: Any = None, train: bool, **params: Any) -> Sequence[Any]:
    """Runs each half of the batch beside the other, step by step."""
    return _lowering(Way(parts=2), inputs, generator, train, **params)


@alternative("RNN", onednn.NAME, applies=onednn.applies, tolerance=1e-5)
def _by_onednn(*inputs: Any, generator: Any = None, train: bool, **params: Any) -> Sequence[Any]:
    """Runs all steps of a layer as one call."""
    return _lowering(Way(native=True), inputs, generator, train, **params)


@builtin_choice("RNN")
def _choose(site: Site) -> str:
    """Decides whether XLA has work for both cores in each step of the scan.

    Milliseconds on two cores, an LSTM's forward pass as it is and in halves (steps x batch x hidden
    size; jaxlib 0.10 and 0.12): 2 layers of 35x20x200 6.9/6.0, 6.6/5.7; 35x8x200 1.7/1.65,
    1.7/1.5; 35x16x200 3.1/2.7, 2.8/2.4; 50x64x256 18.7/15.1, 19.3/16.0; 20x32x512 18.4/16.8,
    18.6/16.5; 10x128x512 28.2/27.3, 27.4/26.9. What a training pass keeps must be joined again,
    which costs what is won; other cells differ by less than they vary.
    """
    if onednn.pays(site):
        return onednn.NAME
    batch = site.operands[0].shape[1]
    wins = site.attrs["mode"] == "lstm" and not site.call.train and 8 <= batch < 128
    return "halves" if wins else PLAIN


def _backward_lowering(
    *arrays: Any,
    wanted: tuple[int, ...],
    given: tuple[int, ...],
    train: bool,
    way: Way = SCANNED,
    **params: Any,
) -> Sequence[Any]:
    net, p = net_of(**params), params["p"]
    inputs = list(arrays[: len(_names(**params))])
    rest = arrays[len(inputs) + (p > 0) :]
    kept, heads = rest[: net.num_kept], rest[net.num_kept :]
    drop, _ = _dropout(p, train, arrays[len(inputs)])
    dtype = arrays[0].dtype

    def forward(*values: Any) -> Any:
        every = list(inputs)
        for index, value in zip(wanted, values, strict=True):
            every[index] = value
        lengths = every.pop() if params["use_sequence_length"] else None
        data, parameters, *states = (jnp.astype(array, wide(dtype)) for array in every)
        outputs, ends, _ = _run(net, data, parameters, states, lengths, drop, kept, way)
        made = [outputs, *ends]
        return [made[index] for index in given]

    made, pull_back = jax.vjp(forward, *(inputs[index] for index in wanted))
    found: Sequence[Any] = pull_back(
        [jnp.astype(head, output.dtype) for head, output in zip(heads, made, strict=True)]
    )
    return found


def _backward_keywords() -> Mapping[str, Any]:
    keywords = keywords_of(rnn)
    del keywords["generator"]
    required = keywords["state_size"][1]
    return {**keywords, "wanted": (Shape, required), "given": (Shape, required)}


operator(
    "_backward_RNN",
    outputs=lambda *, wanted, **_: len(wanted),
    infer=lambda *types, wanted, **_: [types[index] for index in wanted],
    doc="""Gradient of RNN, from its inputs, what it kept, and the gradients of its outputs.

Args:
    arrays: the inputs (with the random state, where p > 0), what was kept, the gradients of
        outputs.
    wanted: the inputs whose gradients are wanted, by number.
    given: the outputs whose gradients are given, by number.
""",
)(signed(_backward_lowering, ("*arrays",), _backward_keywords()))


alternative("_backward_RNN", onednn.NAME, applies=onednn.applies, tolerance=1e-5)(
    partial(_backward_lowering, way=Way(native=True))
)


@builtin_choice("_backward_RNN")
def _choose_gradient(site: Site) -> str:
    return onednn.NAME if onednn.pays(site) else PLAIN

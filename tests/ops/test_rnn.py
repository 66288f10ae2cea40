"""The operator RNN, against PyTorch, against sequences run one by one, and in every front end.

MXNet's answers are in ``oracle/cases_rnn.py``, numeric gradients in `test_rules.py`.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from helpers import naive, run_op
from op_samples_rnn import parameter_size

import hybridnet as hn
from hybridnet import autograd, nd, sym
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.ops.core.registry import get

_TORCH = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN"}


def _random(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape)


def _setup(mode, layers=1, directions=1, time=4, batch=3, features=2, hidden=5, projected=None):
    """Returns the inputs of a call, float64, and its parameters."""
    size = parameter_size(mode, features, hidden, layers, directions == 2, projected)
    inputs = [
        _random(time, batch, features),
        0.6 * _random(size, seed=1),
        _random(layers * directions, batch, projected or hidden, seed=2),
    ]
    if mode == "lstm":
        inputs.append(_random(layers * directions, batch, hidden, seed=3))
    attrs = {"mode": mode, "state_size": hidden, "num_layers": layers}
    attrs |= {"bidirectional": directions == 2, "state_outputs": True}
    if projected:
        attrs["projection_size"] = projected
    return inputs, attrs


def _in_torch(inputs, attrs):
    """Runs PyTorch's network with the same parameters; returns outputs and gradients."""
    torch = pytest.importorskip("torch")
    mode, layers = attrs["mode"], attrs["num_layers"]
    extra = {"proj_size": attrs["projection_size"]} if "projection_size" in attrs else {}
    net = getattr(torch.nn, _TORCH[mode])(
        inputs[0].shape[2],
        attrs["state_size"],
        layers,
        bidirectional=attrs["bidirectional"],
        dtype=torch.float64,
        **extra,
    )
    ends = [
        f"l{i}{way}" for i in range(layers) for way in ("", "_reverse")[: 1 + net.bidirectional]
    ]
    weights = ["weight_ih", "weight_hh", *(["weight_hr"] if extra else [])]
    names = [f"{name}_{end}" for end in ends for name in weights]
    names += [f"{name}_{end}" for end in ends for name in ("bias_ih", "bias_hh")]
    vector = torch.tensor(inputs[1])
    position = 0
    for name in names:
        one = getattr(net, name)
        one.data = vector[position : position + one.numel()].reshape(one.shape).clone()
        position += one.numel()
    assert position == len(vector)
    data, *states = (torch.tensor(one, requires_grad=True) for one in (inputs[0], *inputs[2:]))
    output, ended = net(data, tuple(states) if len(states) > 1 else states[0])
    outputs = [output, *(ended if isinstance(ended, tuple) else (ended,))]
    sum((one * one * (i + 1)).sum() for i, one in enumerate(outputs)).backward()
    parameters = torch.cat([getattr(net, name).grad.reshape(-1) for name in names])
    grads = [data.grad, parameters, *(one.grad for one in states)]
    return [one.detach().numpy() for one in outputs], [one.numpy() for one in grads]


def _on_arrays(inputs, attrs):
    arrays = [nd.array(one, dtype="float64") for one in inputs]
    for one in arrays:
        one.attach_grad()

    @hn.function  # one program
    def step(*arrays):
        with autograd.record():
            outputs = nd.RNN(*arrays, **attrs)
            loss = sum((one * one * (i + 1)).sum() for i, one in enumerate(outputs))
        loss.backward()
        return outputs

    outputs = step(*arrays)
    return [one.asnumpy() for one in outputs], [one.grad.asnumpy() for one in arrays]


@pytest.mark.parametrize(
    ("mode", "layers", "directions", "projected"),
    [("lstm", 2, 2, None), ("gru", 1, 2, None), ("lstm", 1, 1, 3)],
)
def test_it_computes_what_torch_does(mode, layers, directions, projected):
    inputs, attrs = _setup(mode, layers, directions, projected=projected)
    wanted = _in_torch(inputs, attrs)
    with naive():
        found = _on_arrays(inputs, attrs)
    for ours, theirs in zip((*found[0], *found[1]), (*wanted[0], *wanted[1]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


def test_lengths_are_as_if_each_sequence_were_run_by_itself():
    inputs, attrs = _setup("lstm", directions=2)
    lengths = np.array([3, 1, 3], np.int32)
    outputs = run_op("RNN", *inputs, lengths, use_sequence_length=True, **attrs)
    count = 1 + len(inputs) - 2
    for length in (1, 3):
        mine = lengths == length
        alone = [inputs[0][:length, mine], inputs[1], *(one[:, mine] for one in inputs[2:])]
        wanted = run_op("RNN", *alone, **attrs)
        np.testing.assert_allclose(outputs[0][:length, mine], wanted[0], rtol=1e-12)
        assert not outputs[0][length:, mine].any()
        for ours, theirs in zip(outputs[1:count], wanted[1:count], strict=True):
            np.testing.assert_allclose(ours[:, mine], theirs, rtol=1e-12)


def test_it_computes_what_its_operators_do_one_by_one():
    inputs, attrs = _setup("gru", features=3)
    x, vector, state = (nd.array(one) for one in inputs)
    ends = np.cumsum([15 * 3, 15 * 5, 15, 15])
    w, r, b, c = np.split(inputs[1].astype("float32"), ends[:-1])
    w, r, b, c = nd.array(w.reshape(15, 3)), nd.array(r.reshape(15, 5)), nd.array(b), nd.array(c)

    def body(row, h):
        given = nd.split(nd.FullyConnected(row, w, b, num_hidden=15), num_outputs=3)
        known = nd.split(nd.FullyConnected(h, r, c, num_hidden=15), num_outputs=3)
        reset, update = (nd.sigmoid(given[i] + known[i]) for i in (0, 1))
        new = nd.tanh(given[2] + reset * known[2])
        h = (1 - update) * new + update * h
        return h, h

    with naive():
        outputs, last = nd.contrib.foreach(body, x, state[0])
        fused = nd.RNN(x, vector, state, **attrs)
    np.testing.assert_allclose(fused[0].asnumpy(), outputs.asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fused[1][0].asnumpy(), last.asnumpy(), rtol=1e-5, atol=1e-6)


def test_every_front_end_trains_alike():
    inputs, attrs = _setup("lstm")
    attrs["state_outputs"] = False
    arrays = [nd.array(one) for one in inputs]

    def loss_of(*arrays):
        return (nd.RNN(*arrays, **attrs) ** 2).sum()

    found = []
    for function in (loss_of, hn.function(loss_of)):
        arrays[1].attach_grad()
        with naive():
            with autograd.record():
                loss = function(*arrays)
            loss.backward()
        found.append((loss.asnumpy(), arrays[1].grad.asnumpy()))
    net = sym.RNN(sym.var("x"), name="net", **attrs)
    names = ["x", "net_parameters", "net_state", "net_state_cell"]
    assert net.list_arguments() == names
    assert net.infer_shape(x=(4, 3, 2))[0] == [one.shape for one in inputs]
    again = sym.load_json(sym.square(net).sum().tojson())
    executor = again.simple_bind(hn.cpu(), x=(4, 3, 2))
    executor.forward(is_train=True, **dict(zip(names, arrays, strict=True)))
    executor.backward(nd.ones((1,)))
    grad = executor.grad_dict["net_parameters"].asnumpy()
    found.append((executor.outputs[0].asnumpy(), grad))
    for loss, grad in found[1:]:
        np.testing.assert_allclose(loss, found[0][0], rtol=1e-5)
        np.testing.assert_allclose(grad, found[0][1], rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_the_gradient_of_a_gradient():
    inputs, attrs = _setup("rnn_tanh", time=3, batch=1, hidden=2)
    attrs["state_outputs"] = False
    call, _ = get("RNN").bind(attrs)

    def loss(vector):
        return (call.lower("cpu", [inputs[0], vector, inputs[2]], [])[0] ** 2).sum()

    with jax.enable_x64(True):
        wanted = jax.grad(lambda v: (jax.grad(loss)(v) ** 2).sum())(inputs[1])
    x, vector, state = (nd.array(one, dtype="float64") for one in inputs)
    vector.attach_grad()

    @hn.function  # one program
    def step(x, vector, state):
        with autograd.record():
            total = (nd.RNN(x, vector, state, **attrs) ** 2).sum()
            (grad,) = autograd.grad(total, [vector], create_graph=True)
            square = (grad * grad).sum()
        square.backward()

    with naive():
        step(x, vector, state)
    np.testing.assert_allclose(vector.grad.asnumpy(), wanted, rtol=1e-9)


def test_dropout_is_between_layers_and_in_training_only():
    inputs, attrs = _setup("rnn_tanh", layers=2, time=2, batch=4, hidden=6)
    arrays = [nd.array(one) for one in inputs]
    plain = nd.RNN(*arrays, **attrs)
    quiet = nd.RNN(*arrays, p=0.5, **attrs)
    np.testing.assert_array_equal(quiet[0].asnumpy(), plain[0].asnumpy())
    with autograd.train_mode():
        hn.random.seed(1)
        one = nd.RNN(*arrays, p=0.5, **attrs)
        other = nd.RNN(*arrays, p=0.5, **attrs)
        hn.random.seed(1)
        again = nd.RNN(*arrays, p=0.5, **attrs)
        gone = nd.RNN(*arrays, p=1, **attrs)
    # The lower layer is as without dropout.
    np.testing.assert_array_equal(one[1][0].asnumpy(), plain[1][0].asnumpy())
    assert (one[0].asnumpy() != other[0].asnumpy()).any()
    np.testing.assert_array_equal(one[0].asnumpy(), again[0].asnumpy())
    # With all dropped, the upper layer sees zeros; then its input weights have no gradient.
    zeros = nd.zeros((2, 4, 6))
    upper = np.concatenate([inputs[1][12 + 36 : 12 + 72 + 36], inputs[1][12 + 108 + 12 :]])
    wanted = nd.RNN(
        zeros, nd.array(upper), arrays[2][1:], mode="rnn_tanh", state_size=6, num_layers=1
    )
    np.testing.assert_allclose(gone[0].asnumpy(), wanted.asnumpy(), rtol=1e-5)


def test_bounds_of_the_cell_state():
    inputs, attrs = _setup("lstm")
    free = run_op("RNN", *inputs, **attrs)
    held = run_op("RNN", *inputs, lstm_state_clip_min=-0.1, lstm_state_clip_max=0.1, **attrs)
    assert np.abs(free[2]).max() > 0.1
    assert np.abs(held[2]).max() <= 0.1
    inputs[0][0, 0] = np.nan
    cleared = run_op("RNN", *inputs, lstm_state_clip_nan=True, **attrs)
    assert np.isnan(run_op("RNN", *inputs, **attrs)[2]).any()
    assert not np.isnan(cleared[2]).any()


def _call(*, drop=0, data=None, **changed):
    inputs, attrs = _setup("lstm")
    arrays = [nd.array(one) for one in inputs][: 4 - drop]
    if data is not None:
        arrays[0] = data
    return nd.RNN(*arrays, **{**attrs, **changed})


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"mode": "elman"}, ParameterError, "mode must be one of 'rnn_relu'"),
        ({"state_size": 0}, ParameterError, "state_size must be an integer >= 1"),
        ({"p": 1.5}, ParameterError, "p must be a number from 0 to 1"),
        ({"drop": 1}, ParameterError, "requires 4 inputs .*state_cell"),
        ({"data": nd.ones((3, 2))}, ShapeError, r"data must have shape \(time, batch, features\)"),
        ({"data": nd.ones((4, 3, 9))}, ShapeError, r"parameters must have shape \(320,\)"),
        ({"data": nd.ones((4, 2, 2))}, ShapeError, r"state must have shape \(1, 2, 5\)"),
        ({"data": nd.ones((4, 3, 2), dtype="int32")}, DTypeError, "data must be floating point"),
        ({"use_sequence_length": True}, ParameterError, "requires 5 inputs"),
        ({"lstm_state_clip_min": 1, "lstm_state_clip_max": 0}, ParameterError, "must be at most"),
    ],
)
def test_misuse_is_explained(changed, error, message):
    with pytest.raises(error, match=message):
        _call(**changed)


def test_projection_is_of_an_lstm_only():
    with pytest.raises(ParameterError, match="require mode='lstm', got mode='gru'"):
        nd.RNN(
            nd.ones((2, 1, 1)),
            nd.ones((12,)),
            nd.ones((1, 1, 1)),
            mode="gru",
            state_size=1,
            num_layers=1,
            projection_size=1,
        )

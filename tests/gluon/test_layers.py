"""Every layer against MXNet's recorded answers or NumPy; names, texts, signatures, wrong use."""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np
import pytest
from oracle import gluon_cases as cases
from places import ORACLE

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError
from hybridnet.gluon import nn

RECORDED = json.loads((ORACLE / "gluon.json").read_text())
NUMBERS = np.load(ORACLE / "gluon.npz")


@pytest.mark.parametrize("text", cases.LAYERS)
def test_outputs_and_gradients_are_mxnets(text: str) -> None:
    found = cases.run_layer(hn, text)
    recorded = {
        key.rsplit(" ", 1)[1]: NUMBERS[key]
        for key in NUMBERS.files
        if key.rsplit(" ", 1)[0] == f"layer {text}"
    }
    assert found.keys() == recorded.keys()
    for name, array in recorded.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_allclose(found[name], array, rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize(
    "text",
    [
        "Dense(3, activation='relu', in_units=8)",
        "Conv2D(4, (3, 2), (2, 1), (1, 0), (1, 2), 2, 'NCHW', 'tanh', False)",
        "Conv2DTranspose(4, 3, (2, 2), 1, (1, 0), groups=2, in_channels=2)",
        "MaxPool2D((3, 2), 2, (1, 0), 'NCHW', True)",
        "AvgPool2D(3, 2, 1, True, 'NCHW', False)",
        "BatchNorm(axis=-1, momentum=0.7, epsilon=0.01, in_channels=3)",
        "LayerNorm(axis=1, epsilon=0.1, center=False)",
        "InstanceNorm(axis=2, epsilon=0.01, center=False, scale=True)",
        "GroupNorm(2, 0.01, center=False)",
        "PReLU(in_channels=3)",
        "Swish(2.0)",
    ],
)
def test_hybridized_layers_give_the_same(text: str) -> None:
    found = cases.run_layer(hn, text, hybridize=True)
    for name, array in found.items():
        wanted = NUMBERS[f"layer {text} {name}"]
        np.testing.assert_allclose(array, wanted, rtol=2e-5, atol=2e-6, err_msg=name)


#: MXNet shows transposed convolutions by their weights' shapes: outputs of one group, then inputs.
#: And what a grouped convolution takes for one group. These are the channels instead.
CHANNELS = {
    "Conv2D(4, (3, 2), (2, 1), (1, 0), (1, 2), 2, 'NCHW', 'tanh', False)": ("2 -> 4", "4 -> 4"),
    "Conv1DTranspose(3, 4, 2, 1)": ("3 -> 2", "2 -> 3"),
    "Conv2DTranspose(4, 3, (2, 2), 1, (1, 0), groups=2, in_channels=2)": ("2 -> 2", "2 -> 4"),
    "Conv2DTranspose(2, (2, 3), in_channels=3, use_bias=False, dilation=2)": ("2 -> 3", "3 -> 2"),
    "Conv3DTranspose(2, 2, 2, in_channels=1)": ("2 -> 1", "1 -> 2"),
}


def text_in_mxnet(text: str) -> list[str]:
    """Returns the recorded texts of a layer."""
    before, after = CHANNELS.get(text, ("", ""))
    return [
        one.replace(f"({before},", f"({after},").replace("(3 -> 0,", "(None -> 3,")
        for one in RECORDED["reprs"][text]
    ]


@pytest.mark.parametrize("text", [*cases.LAYERS, *cases.MORE_REPRS])
def test_texts_are_mxnets(text: str) -> None:
    layer = cases.make_layer(hn, text)
    recorded = text_in_mxnet(text)
    assert repr(layer) == recorded[0]
    if recorded[0] != recorded[-1]:
        layer.initialize()
        layer(nd.ones(cases.LAYERS[text]))
        assert repr(layer) == recorded[1]


def test_texts_of_what_holds_others_are_mxnets() -> None:
    with hn.name.NameManager():
        net, inner = nn.HybridSequential(), nn.HybridSequential()
        inner.add(nn.Dense(2, "relu"), nn.Dense(1))
        net.add(inner, nn.Flatten())
    assert repr(net) == RECORDED["reprs"]["nested"][0]


@pytest.mark.parametrize("kind", cases.NAMES)
def test_names_are_mxnets(kind: str) -> None:
    assert cases.names(hn, kind) == RECORDED["names"][kind]


#: Layers and losses that MXNet 1.9 has not; `test_transformer.py` and others are theirs.
OURS = {
    *("KeyValueCache", "LearnedPositions", "MultiHeadAttention", "PositionwiseFFN", "RMSNorm"),
    *("RotaryEmbedding", "SiLU", "SinusoidalPositions", "SwiGLU", "TransformerDecoderLayer"),
    *("TransformerEncoderLayer", "LinearCrossEntropyLoss"),
}


def public(module: Any) -> list[str]:
    names = [one for one in module.__all__ if inspect.isclass(getattr(module, one))]
    return [one for one in names if not issubclass(getattr(module, one), Exception)]


@pytest.mark.parametrize(
    "name",
    [f"gluon.nn.{one}" for one in public(nn) if one not in OURS]
    + [f"gluon.loss.{one}" for one in public(gluon.loss) if one not in OURS]
    + [f"gluon.{one}" for one in public(gluon)],
)
def test_arguments_are_mxnets(name: str) -> None:
    member: Any = hn
    for part in name.split("."):
        member = getattr(member, part)
    ours = inspect.signature(member).parameters
    for key, kind, default in RECORDED["signatures"][name]:
        if kind == "VAR_KEYWORD":
            assert "kwargs" in ours or {"prefix", "params"} <= ours.keys()
            continue
        assert ours[key].kind.name == kind
        assert default is None or repr(ours[key].default) == default
    listed = [one for one in ours if one != "kwargs"]
    recorded = [one[0] for one in RECORDED["signatures"][name] if one[1] != "VAR_KEYWORD"]
    assert listed[: len(recorded)] == recorded


def test_help_shows_what_a_subclass_takes() -> None:
    class Mine(nn.Conv2D):
        def __init__(self, channels: int) -> None:
            super().__init__(channels, 3, padding=1)

    assert list(inspect.signature(Mine).parameters) == ["channels"]
    assert repr(Mine(2)) == ("Mine(None -> 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))")


# -- layers without recorded numbers -------------------------------------------------------------


@pytest.mark.parametrize("hybridize", [False, True])
def test_embedding_looks_up_and_adds_gradients_of_repeated_numbers(hybridize: bool) -> None:
    layer = nn.Embedding(4, 3)
    layer.initialize()
    table = layer.weight.data().asnumpy()
    if hybridize:
        layer.hybridize()
    index = nd.array([[0, 3], [3, 3]])
    with autograd.record():
        out = layer(index)
    np.testing.assert_array_equal(out.asnumpy(), table[[[0, 3], [3, 3]]])
    out.backward()
    np.testing.assert_array_equal(layer.weight.grad().asnumpy()[:, 0], [1, 0, 0, 3])


@pytest.mark.parametrize("hybridize", [False, True])
def test_dropout_drops_in_training_only(hybridize: bool) -> None:
    hn.random.seed(3)
    layer = nn.Dropout(0.25)
    if hybridize:
        layer.hybridize()
    x = nd.ones((100, 100))
    x.attach_grad()
    np.testing.assert_array_equal(layer(x).asnumpy(), 1)
    with autograd.record():
        out = layer(x)
    out.backward()
    values = out.asnumpy()
    assert set(np.unique(values)) == {0, np.float32(1 / 0.75)}
    # 10,000 draws: 5 standard deviations are 0.0217.
    assert abs((values == 0).mean() - 0.25) < 0.022
    np.testing.assert_array_equal(x.grad.asnumpy(), values)
    with autograd.record():
        again = layer(x).asnumpy()
    assert (again != values).any()


def test_dropout_along_axes_drops_whole_rows() -> None:
    layer = nn.Dropout(0.5, axes=(1,))
    with autograd.record():
        out = layer(nd.ones((64, 5))).asnumpy()
    assert (out == out[:, :1]).all()
    assert set(np.unique(out)) == {0, 2}


def test_selu() -> None:
    x = cases.numbers(0, (3, 4))
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    wanted = scale * np.where(x > 0, x, alpha * (np.exp(x) - 1))
    given = nd.array(x)
    given.attach_grad()
    with autograd.record():
        out = nn.SELU()(given)
    out.backward()
    np.testing.assert_allclose(out.asnumpy(), wanted, rtol=1e-5)
    slope = scale * np.where(x > 0, 1, alpha * np.exp(x))
    np.testing.assert_allclose(given.grad.asnumpy(), slope, rtol=1e-5)


@pytest.mark.parametrize("kind", [nn.Conv2D, nn.Conv1D])
def test_channels_last(kind: type) -> None:
    ndim = 2 if kind is nn.Conv2D else 1
    spatial = "HW"[-ndim:]
    first = kind(4, 3, padding=1, groups=2)
    last = kind(4, 3, padding=1, groups=2, layout=f"N{spatial}C")
    x = cases.numbers(0, (2, 6, *(5, 4)[-ndim:]))
    first.initialize()
    last.initialize()
    wanted = first(nd.array(x))
    last(nd.array(np.moveaxis(x, 1, -1)))
    assert last.weight.shape == (4, *(3,) * ndim, 3)
    last.weight.set_data(np.moveaxis(first.weight.data().asnumpy(), 1, -1))
    out = last(nd.array(np.moveaxis(x, 1, -1)))
    np.testing.assert_allclose(
        np.moveaxis(out.asnumpy(), -1, 1), wanted.asnumpy(), rtol=1e-5, atol=1e-6
    )
    assert repr(last).startswith(f"{kind.__name__}(6 -> 4")


@pytest.mark.parametrize("kind", [nn.MaxPool2D, nn.AvgPool2D, nn.GlobalAvgPool2D])
def test_pooling_channels_last(kind: type) -> None:
    x = cases.numbers(0, (2, 3, 4, 6))
    out = kind(layout="NHWC")(nd.array(np.moveaxis(x, 1, -1))).asnumpy()
    np.testing.assert_allclose(np.moveaxis(out, -1, 1), kind()(nd.array(x)).asnumpy(), rtol=1e-6)


def test_batch_norm_keeps_its_statistics_outside_training() -> None:
    layer = nn.BatchNorm(in_channels=2)
    layer.initialize()
    x = nd.array(cases.numbers(0, (8, 2)))
    with autograd.record(train_mode=False):
        out = layer(x)
    np.testing.assert_allclose(out.asnumpy(), x.asnumpy() / np.sqrt(1 + 1e-5), rtol=1e-5)
    assert layer.running_mean.data().asnumpy().tolist() == [0, 0]
    with autograd.record():
        out = layer(x)
    assert layer.running_mean.data().asnumpy().tolist() == [0, 0]
    out.backward()
    np.testing.assert_allclose(
        layer.running_mean.data().asnumpy(), 0.1 * x.asnumpy().mean(0), rtol=1e-5
    )


def test_batch_norm_hybridized_moves_its_statistics_each_time() -> None:
    plain, traced = (nn.BatchNorm(in_channels=3, momentum=0.5) for _ in range(2))
    for layer in (plain, traced):
        layer.initialize()
    traced.hybridize()
    for seed in range(4):
        x = nd.array(cases.numbers(seed, (5, 3, 2)))
        outs = []
        for layer in (plain, traced):
            with autograd.record():
                outs.append(layer(x).asnumpy())
        np.testing.assert_allclose(*outs, rtol=1e-5, atol=1e-6)
    for name in ("running_mean", "running_var"):
        values = [getattr(layer, name).data().asnumpy() for layer in (plain, traced)]
        np.testing.assert_allclose(*values, rtol=1e-5)


def test_batch_norm_relu_is_the_two_layers() -> None:
    both, norm = nn.BatchNormReLU(in_channels=3), nn.BatchNorm(in_channels=3)
    assert both.prefix.startswith("batchnormrelu")
    x = nd.array(np.random.default_rng(0).normal(1, 2, (4, 3, 2)))
    found = []
    for layer in (both, norm):
        layer.initialize(init=hn.init.Constant(0.5))
        x.attach_grad()
        with autograd.record():
            y = layer(x)
            y = y if layer is both else nd.relu(y)
        y.backward(nd.arange(24).reshape((4, 3, 2)))
        found.append((y, x.grad.copy(), layer.gamma.grad(), layer.running_mean.data()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [nn.BatchNorm, nn.Dense, nn.LayerNorm])
def test_half_precision(kind: type) -> None:
    layer = kind(4) if kind is nn.Dense else kind()
    layer.cast("float16")
    layer.initialize()
    x = nd.array(cases.numbers(0, (6, 4)), dtype="float16")
    with autograd.record():
        out = layer(x)
    out.backward()
    assert out.dtype is np.float16
    narrow = "float32" if kind is nn.BatchNorm else "float16"  # as in MXNet
    assert {one.dtype for one in layer.collect_params().values()} == {narrow}


def test_lambdas() -> None:
    x = nd.array([[-1.0, 2.0]])
    assert nn.Lambda("relu")(x).asnumpy().tolist() == [[0, 2]]
    assert nn.Lambda(lambda a: a * 2)(x).asnumpy().tolist() == [[-2, 4]]
    both = nn.HybridLambda(lambda F, a, b: F.broadcast_add(a, b))
    assert both(x, nd.array([[1.0], [2.0]])).shape == (2, 2)
    assert nn.HybridLambda("relu")(hn.sym.var("data")).list_arguments() == ["data"]


@pytest.mark.parametrize("kind", [nn.Sequential, nn.HybridSequential])
def test_containers(kind: type) -> None:
    net = kind(prefix="net_")
    layers = [nn.Dense(3), nn.Activation("relu"), nn.Dense(2)]
    net.add(*layers)
    assert len(net) == 3
    assert list(net) == layers
    assert net[0] is layers[0]
    assert net[-1] is layers[-1]
    part = net[1:]
    assert type(part) is kind
    assert list(part) == layers[1:]
    assert part.prefix == "net_"
    net.initialize()
    out = net(nd.ones((4, 5)))
    np.testing.assert_allclose(part(layers[0](nd.ones((4, 5)))).asnumpy(), out.asnumpy())
    with pytest.raises(IndexError):
        net[3]


# -- wrong use -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Conv2D(2, (3, 3, 3))", "Conv2D: kernel_size must be a whole number or 2 of them"),
        ("Conv2D(2, 'a')", "Conv2D: kernel_size must be a whole number or 2 of them, got 'a'"),
        ("Conv2D(2, 3, strides=1.5)", "Conv2D: strides must be a whole number"),
        ("Conv2D(2, 3, padding=None)", "Conv2D: padding must be a whole number"),
        ("Conv1D(2, 3, layout='NCHW')", "Conv1D: layout must be 'NCW' or 'NWC', got 'NCHW'"),
        ("MaxPool2D(layout='NCW')", "MaxPool2D: layout must be 'NCHW' or 'NHWC', got 'NCW'"),
        ("MaxPool2D((2,))", "MaxPool2D: pool_size must be a whole number or 2 of them"),
        ("Conv3DTranspose(2, 3, output_padding=(1, 1))", "output_padding must be a whole number"),
        ("Conv2D(3, 3, groups=2)", "groups must divide channels and in_channels, got 2"),
        ("Conv2D(2, 3, groups=2, in_channels=3)", "in_channels, got 2 .*in_channels=3"),
        ("Conv2D(2, 3, groups=0)", "groups must divide channels and in_channels, got 0"),
        ("Dense('a')", r"'dense0_weight': shape must be whole numbers.* got \('a', 0\)"),
        ("Dense(2.5)", r"'dense0_weight': shape must be whole numbers.* got \(2.5, 0\)"),
        ("Dense(-2)", r"'dense0_weight': shape must be whole numbers.* got \(-2, 0\)"),
        ("Dense(2, 'rellu')", "^Dense: activation must be one of 'relu', .*'tanh', got 'rellu'"),
        ("Dense(2, 3)", "^Dense: activation must be one of 'relu', .*, got 3"),
        ("Conv2D(2, 3, activation='elu')", "^Conv2D: activation must be one of .* got 'elu'"),
        ("LeakyReLU(-1)", "LeakyReLU: alpha must be >= 0, got -1"),
        ("Lambda('foo')", "has no function 'foo'"),
        ("HybridLambda('waitall')", "has no function 'waitall'"),
    ],
)
def test_layers_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        cases.make_layer(hn, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Dense(0)", r"dense0 \(Dense\): .*num_hidden must be an integer >= 1, got 0"),
        ("Conv2D(0, 3)", r"conv0 \(Conv2D\): .*num_filter must be an integer >= 1, got 0"),
        ("Activation('x')", r"x0 \(Activation\): .*act_type must be one of 'relu', .* got 'x'"),
        ("Dropout(1.5)", r"dropout0 \(Dropout\): .* p must be a number from 0 to 1, got 1.5"),
        ("Embedding(0, 2)", r"embedding0 \(Embedding\): .*input_dim must be an integer >= 1"),
        ("GroupNorm(0)", r"groupnorm0 \(GroupNorm\): .*num_groups must be an integer >= 1"),
        ("GroupNorm(3)", r"groupnorm0 \(GroupNorm\): .*must divide the 4 channels .* got 3"),
        ("Conv2D(2, 7)", r"conv0 \(Conv2D\): .*Convolution"),
    ],
)
def test_layers_that_cannot_run_are_named(text: str, message: str) -> None:
    layer = cases.make_layer(hn, text)
    layer.initialize()
    with pytest.raises((ParameterError, ShapeError), match=message):
        layer(nd.ones((1, 4, 5, 5)))


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("Dense(2, in_units=3)", (2, 4), r"dense0 \(Dense\).*FullyConnected"),
        (
            "Conv2D(2, 3)",
            (2, 3),
            r"conv0 \(Conv2D\): the shape \(2, 0, 3, 3\) of conv0_weight cannot be completed from "
            r"inputs of shapes \[\(2, 3\)\]",
        ),
        ("Conv2D(2, 3)", (1, 2, 2, 2), r"conv0 \(Conv2D\).*Convolution"),
        ("Conv2D(2, 3, in_channels=3)", (1, 2, 5, 5), r"conv0 \(Conv2D\).*Convolution"),
        ("MaxPool2D(4)", (1, 2, 3, 3), r"pool0 \(MaxPool2D\).*Pooling"),
        ("BatchNorm(in_channels=3)", (2, 4), r"batchnorm0 \(BatchNorm\).*BatchNorm"),
        ("LayerNorm(in_channels=3)", (2, 4), r"layernorm0 \(LayerNorm\).*LayerNorm"),
        ("GroupNorm(2)", (2, 4), r"groupnorm0 \(GroupNorm\).*GroupNorm"),
    ],
)
def test_inputs_of_wrong_shapes_name_the_layer(
    text: str, shape: tuple[int, ...], message: str
) -> None:
    layer = cases.make_layer(hn, text)
    layer.initialize()
    with pytest.raises(ShapeError, match=message):
        layer(nd.ones(shape))


def test_inputs_of_wrong_dtypes_name_the_layer() -> None:
    layer = cases.make_layer(hn, "Dense(2, in_units=3)")
    layer.initialize()
    with pytest.raises(DTypeError, match=r"dense0 \(Dense\).*FullyConnected"):
        layer(nd.ones((2, 3), dtype="float64"))


@pytest.mark.parametrize("given", [np.ones((2, 3), np.float32), [[1.0, 2.0]], None, 3])
@pytest.mark.parametrize("hybridize", [False, True])
def test_inputs_that_are_no_arrays(given: Any, hybridize: bool) -> None:
    layer = cases.make_layer(hn, "Dense(2)")
    layer.initialize()
    if hybridize:
        layer.hybridize()
    with pytest.raises(MXNetError, match=r"dense0: needs an NDArray or a Symbol, got \w+"):
        layer(given)


def test_batch_norm_leaves_its_statistics_alone_outside_training() -> None:
    net = nn.BatchNorm()
    net.initialize()
    x = hn.nd.array(np.arange(24.0).reshape(2, 3, 4))
    for hybrid in (False, True):
        net.hybridize(hybrid)
        net(x).wait_to_read()
        mean = net.running_mean.data().read().array
        net(x).wait_to_read()
        assert net.running_mean.data().read().array is mean, "the very array, not a copy of it"
        with hn.autograd.record():
            out = net(x)
        out.backward()
        net.running_mean.data().wait_to_read()
        assert net.running_mean.data().read().array is not mean

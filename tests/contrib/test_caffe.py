"""Networks of Caffe: files that are written here, and answers from NumPy and torch's formulas."""

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.cli.main import main
from hybridnet.contrib.caffe import import_caffe
from hybridnet.contrib.caffe.schema import net_message

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.normal(size=shape).astype("float32")


def write(folder, text, weights, old=False):
    """Writes both files; weights are arrays by layer."""
    (folder / "net.prototxt").write_text(text)
    message = net_message()()
    for name, arrays in weights.items():
        layer = (message.layers if old else message.layer).add(name=name)
        for array in arrays:
            blob = layer.blobs.add(data=array.reshape(-1).tolist())
            if old:
                sizes = (1,) * (4 - array.ndim) + array.shape
                blob.num, blob.channels, blob.height, blob.width = sizes
            else:
                blob.shape.dim.extend(array.shape)
    (folder / "net.caffemodel").write_bytes(message.SerializeToString())
    return folder / "net.prototxt", folder / "net.caffemodel"


def answers(files, **feeds):
    symbol, arguments, states = import_caffe(*files)
    given = {name: nd.array(value) for name, value in feeds.items()}
    return [one.asnumpy() for one in symbol.eval(**given, **arguments, **states)]


INPUT = 'input: "data" input_shape { dim: 2 dim: 4 dim: 7 dim: 7 }\n'


def layer(name, kind, bottoms="data", tops="", rest=""):
    read = " ".join(f'bottom: "{one}"' for one in bottoms.split())
    made = " ".join(f'top: "{one}"' for one in (tops or name).split())
    return f'layer {{ name: "{name}" type: "{kind}" {read} {made} {rest} }}\n'


def test_convolution_and_dense_layers_compute_as_torch(tmp_path):
    torch = pytest.importorskip("torch")
    text = (
        INPUT
        + layer("conv", "Convolution", rest=(
            "convolution_param { num_output: 6 kernel_size: 3 stride: 2 pad: 1 group: 2 }"
        ))
        + layer("relu", "ReLU", "conv", "conv")
        + layer("fc", "InnerProduct", "conv", rest="inner_product_param { num_output: 5 }")
        + layer("prob", "Softmax", "fc")
    )  # fmt: skip
    w, b, v, c = floats(6, 2, 3, 3), floats(6), floats(5, 6 * 4 * 4), floats(5)
    data = floats(2, 4, 7, 7)
    (got,) = answers(write(tmp_path, text, {"conv": [w, b], "fc": [v, c]}), data=data)
    hidden = torch.relu(
        torch.nn.functional.conv2d(*map(torch.tensor, (data, w, b)), stride=2, padding=1, groups=2)
    )
    wanted = torch.softmax(hidden.flatten(1) @ torch.tensor(v).T + torch.tensor(c), 1)
    np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-4, atol=1e-5)


def pooled_by_hand(data, kernel, stride, pad, kind):
    """Caffe's loops: windows begin inside the data, and a mean counts the padding up to its end."""
    size = data.shape[-1]
    count = int(np.ceil((size + 2 * pad - kernel) / stride)) + 1
    if pad and (count - 1) * stride >= size + pad:
        count -= 1
    made = np.zeros((*data.shape[:2], count, count), "float32")
    for i in range(count):
        for j in range(count):
            ends = [min(k * stride - pad + kernel, size + pad) for k in (i, j)]
            area = np.prod([end - (k * stride - pad) for end, k in zip(ends, (i, j), strict=True)])
            rows, columns = (
                slice(max(k * stride - pad, 0), min(end, size))
                for end, k in zip(ends, (i, j), strict=True)
            )
            part = data[:, :, rows, columns]
            made[:, :, i, j] = part.max((2, 3)) if kind == "MAX" else part.sum((2, 3)) / area
    return made


@pytest.mark.parametrize("kind", ["MAX", "AVE"])
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "pad"), [(7, 3, 2, 0), (6, 3, 2, 1), (5, 2, 2, 1)]
)
def test_pooling_rounds_up(kind, size, kernel, stride, pad, tmp_path):
    data = floats(1, 2, size, size)
    text = f'input: "data" input_shape {{ dim: 1 dim: 2 dim: {size} dim: {size} }}' + layer(
        "pool",
        "Pooling",
        rest=f"pooling_param {{ pool: {kind} kernel_size: {kernel} stride: {stride} pad: {pad} }}",
    )
    (tmp_path / "net.prototxt").write_text(text)
    (got,) = answers([tmp_path / "net.prototxt"], data=data)
    np.testing.assert_allclose(got, pooled_by_hand(data, kernel, stride, pad, kind), rtol=1e-5)


def test_batch_norm_and_scale_are_one(tmp_path):
    text = (
        INPUT
        + layer("bn", "BatchNorm")
        + layer("scale", "Scale", "bn", "bn", "scale_param { bias_term: true }")
    )
    mean, var, gamma, beta = floats(4), np.abs(floats(4)), floats(4), floats(4)
    factor = np.array([2.0], "float32")
    files = write(tmp_path, text, {"bn": [mean * 2, var * 2, factor], "scale": [gamma, beta]})
    data = floats(2, 4, 7, 7)
    (got,) = answers(files, data=data)
    mean, var, gamma, beta = (one.reshape(1, 4, 1, 1) for one in (mean, var, gamma, beta))
    wanted = gamma * (data - mean) / np.sqrt(var + 1e-5) + beta
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    symbol, arguments, states = import_caffe(*files)
    assert symbol.name == "bn"
    assert sorted(arguments) == ["bn_beta", "bn_gamma"]
    assert sorted(states) == ["bn_moving_mean", "bn_moving_var"]


def test_a_batch_norm_alone(tmp_path):
    mean, var = floats(4), np.abs(floats(4))
    files = write(tmp_path, INPUT + layer("bn", "BatchNorm"), {"bn": [mean, var, np.ones(1, "f")]})
    data = floats(2, 4, 7, 7)
    (got,) = answers(files, data=data)
    wanted = (data - mean.reshape(1, 4, 1, 1)) / np.sqrt(var.reshape(1, 4, 1, 1) + 1e-5)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_layers_without_weights(tmp_path):
    data = floats(2, 4, 7, 7)
    text = (
        INPUT
        + layer("cut", "Slice", tops="a b", rest="slice_param { axis: 1 slice_point: 1 }")
        + layer("tail", "Slice", "b", "c d e")
        + layer("sum", "Eltwise", "a c", rest="eltwise_param { operation: SUM coeff: 2 coeff: -1 }")
        + layer("best", "Eltwise", "d e", rest="eltwise_param { operation: MAX }")
        + layer("both", "Concat", "sum best")
        + layer("power", "Power", "both", rest="power_param { power: 2 scale: 3 shift: 1 }")
        + layer("leaky", "ReLU", "power", "power", "relu_param { negative_slope: 0.1 }")
        + layer("drop", "Dropout", "power", "power")
        + layer("flat", "Flatten", "power")
    )
    (tmp_path / "net.prototxt").write_text(text)
    (got,) = answers([tmp_path / "net.prototxt"], data=data)
    a, c, d, e = (data[:, i : i + 1] for i in range(4))
    both = np.concatenate([2 * a - c, np.maximum(d, e)], 1)
    np.testing.assert_allclose(got, ((3 * both + 1) ** 2).reshape(2, -1), rtol=1e-4)


def test_local_response(tmp_path):
    data = floats(2, 4, 7, 7)
    rest = "lrn_param { local_size: 3 alpha: 0.3 beta: 0.5 }"
    (tmp_path / "net.prototxt").write_text(INPUT + layer("lrn", "LRN", rest=rest))
    (got,) = answers([tmp_path / "net.prototxt"], data=data)
    padded = np.pad(data**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    around = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    np.testing.assert_allclose(got, data / (1 + 0.1 * around) ** 0.5, rtol=1e-4)


def test_deconvolution_computes_as_torch(tmp_path):
    torch = pytest.importorskip("torch")
    rest = "convolution_param { num_output: 3 kernel_size: 4 stride: 2 pad: 1 bias_term: false }"
    weight, data = floats(4, 3, 4, 4), floats(2, 4, 7, 7)
    files = write(tmp_path, INPUT + layer("up", "Deconvolution", rest=rest), {"up": [weight]})
    wanted = torch.nn.functional.conv_transpose2d(
        torch.tensor(data), torch.tensor(weight), stride=2, padding=1
    )
    np.testing.assert_allclose(answers(files, data=data)[0], wanted.numpy(), rtol=1e-3, atol=1e-4)


def test_files_of_the_first_form_and_of_training(tmp_path):
    text = """
        layers { name: "images" type: DATA top: "data" top: "label" include { phase: TRAIN }
                 data_param { source: "lmdb" batch_size: 64 backend: LMDB } }
        layers { name: "images" type: DATA top: "data" top: "label" include { phase: TEST } }
        layers { name: "fc" type: INNER_PRODUCT bottom: "data" top: "fc"
                 inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
        layers { name: "acc" type: ACCURACY bottom: "fc" bottom: "label" top: "acc" }
        layers { name: "loss" type: SOFTMAX_LOSS bottom: "fc" bottom: "label" top: "loss" }
    """
    weight, bias = floats(3, 5), floats(3)
    files = write(tmp_path, text, {"fc": [weight, bias]}, old=True)
    symbol, arguments, _ = import_caffe(*files)
    assert symbol.list_arguments() == ["data", "fc_weight", "fc_bias", "label"]
    data = floats(2, 5)
    (got,) = symbol.eval(data=nd.array(data), label=nd.zeros(2), **arguments)
    scores = np.exp(data @ weight.T + bias)
    np.testing.assert_allclose(got.asnumpy(), scores / scores.sum(1, keepdims=True), rtol=1e-4)


def test_the_command(tmp_path, capsys):
    text = INPUT + layer("fc", "InnerProduct", rest="inner_product_param { num_output: 3 }")
    weight, bias = floats(3, 4 * 7 * 7), floats(3)
    files = write(tmp_path, text, {"fc": [weight, bias]})
    prefix = str(tmp_path / "out")
    assert main(["convert", "caffe", *map(str, files), prefix]) == 0
    assert "fed: data" in capsys.readouterr().out
    symbol, arguments, _ = hn.model.load_checkpoint(prefix, 0)
    np.testing.assert_array_equal(arguments["fc_weight"].asnumpy(), weight)
    assert symbol.list_outputs() == ["fc_output"]


def test_what_does_not_fit_is_named(tmp_path, capsys):
    odd = tmp_path / "odd.prototxt"
    odd.write_text(INPUT + layer("x", "Odd"))
    with pytest.raises(hn.MXNetError, match=r"layer 'x' \(Odd\): layers of this type have no form"):
        import_caffe(odd)
    odd.write_text(layer("x", "ReLU", "nothing"))
    with pytest.raises(hn.MXNetError, match="reads the blob 'nothing', which no layer"):
        import_caffe(odd)
    odd.write_text("layer { this is no network }")
    assert main(["convert", "caffe", str(odd), str(odd), str(tmp_path / "out")]) == 2
    assert "must be a network of Caffe's in text" in capsys.readouterr().err
    text = INPUT + layer("fc", "InnerProduct", rest="inner_product_param { num_output: 3 }")
    files = write(tmp_path, text, {"other": [floats(3)]})
    with pytest.raises(hn.MXNetError, match="weights of layer 'fc' .* of another network"):
        import_caffe(*files)
    files = write(tmp_path, text, {"fc": [floats(3, 5)]})  # no bias
    with pytest.raises(hn.MXNetError, match=r"layer 'fc' \(InnerProduct\): its weights or param"):
        import_caffe(*files)
    (tmp_path / "net.caffemodel").write_bytes(b"\x00\xff no model")
    with pytest.raises(hn.MXNetError, match=r"net.caffemodel: must be a .caffemodel"):
        import_caffe(*files)

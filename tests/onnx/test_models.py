"""Whole networks exported to ONNX and read back; open sizes; errors."""

import damaged_files
import numpy as np
import onnx as onnx_package
import pytest
from helpers import thorough
from onnx_models import Case, close, run_model

import hybridnet as hn
from hybridnet import gluon, nd, sym
from hybridnet.base.errors import FormatError
from hybridnet.gluon.model_zoo import vision


def saved(net, data, tmp_path):
    """Initializes a block and exports it; returns its answers and the paths of its files."""
    net.initialize(hn.init.Xavier())
    net.hybridize()
    answers = net(nd.array(data, dtype=data.dtype))
    net.export(str(tmp_path / "net"))
    return answers, str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params")


def check_zoo(make, size, tmp_path):
    data = np.random.default_rng(0).uniform(0, 1, (1, 3, size, size)).astype("float32")
    wanted, json, params = saved(make(classes=10), data, tmp_path)
    path = hn.onnx.export_model(json, params, [data.shape], onnx_file_path=tmp_path / "m.onnx")
    close(run_model(path, {"data": data}), [wanted.asnumpy()], 1e-4)
    block = hn.onnx.import_to_gluon(path, hn.cpu())
    close([block(nd.array(data)).asnumpy()], [wanted.asnumpy()], 1e-4)


SMALL = ("resnet18_v2", "mobilenet_v2_0_25")
REST = [name for name in vision.__all__ if name[0].islower() and not name.startswith("get_")]


@pytest.mark.parametrize("name", SMALL)
def test_networks_of_the_zoo(name, tmp_path):
    check_zoo(getattr(vision, name), 32, tmp_path)


@pytest.mark.skipif(not thorough(1, 0), reason="takes long: HYBRIDNET_TEST_NIGHTLY=1")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", sorted({*REST} - {*SMALL}))
def test_all_networks_of_the_zoo(name, tmp_path):
    check_zoo(getattr(vision, name), 299 if "inception" in name else 224, tmp_path)


def test_sizes_that_are_left_open(tmp_path):
    net = gluon.nn.HybridSequential(prefix="net_")
    net.add(gluon.nn.Conv2D(4, 3, in_channels=3), gluon.nn.MaxPool2D(), gluon.nn.GlobalAvgPool2D())
    net.add(gluon.nn.Flatten(), gluon.nn.Dense(5, in_units=4))
    data = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype("float32")
    _, json, params = saved(net, data, tmp_path)
    path = hn.onnx.export_model(
        json, params, [data.shape], onnx_file_path=tmp_path / "m.onnx", dynamic=True
    )
    metadata = hn.onnx.get_model_metadata(path)
    assert metadata["input_tensor_data"] == [("data", (0, 3, 0, 0), 1)]  # channels are of weights
    other = np.random.default_rng(1).normal(size=(5, 3, 11, 13)).astype("float32")
    close(run_model(path, {"data": other}), [net(nd.array(other)).asnumpy()])
    block = hn.onnx.import_to_gluon(path, hn.cpu())
    close([block(nd.array(other)).asnumpy()], [net(nd.array(other)).asnumpy()])


def test_the_batch_alone_is_left_open(tmp_path):
    case = Case(sym.reshape(sym.var("data"), (0, -1)), data=np.zeros((2, 3, 4), "float32"))
    path = case.export(tmp_path / "m.onnx", dynamic=True, dynamic_input_shapes=[("batch", 3, 4)])
    dims = onnx_package.load(path).graph.input[0].type.tensor_type.shape.dim
    assert [one.dim_param or one.dim_value for one in dims] == ["batch", 3, 4]
    feeds = {"data": np.arange(60, dtype="float32").reshape(5, 3, 4)}
    close(run_model(path, feeds), [feeds["data"].reshape(5, 12)])


@pytest.mark.parametrize("kind", [gluon.rnn.LSTM, gluon.rnn.GRU])
def test_recurrent_layers_of_any_batch_and_length(kind, tmp_path):
    net = gluon.nn.HybridSequential(prefix="net_")
    net.add(gluon.nn.Embedding(9, 4), kind(3, num_layers=2, bidirectional=True, input_size=4))
    net.add(gluon.nn.Dense(2, flatten=False, in_units=6))
    words = np.random.default_rng(0).integers(0, 9, (5, 2)).astype("float32")
    _, json, params = saved(net, words, tmp_path)
    path = hn.onnx.export_model(
        json, params, [words.shape], onnx_file_path=tmp_path / "m.onnx", dynamic=True
    )
    other = np.random.default_rng(1).integers(0, 9, (7, 3)).astype("float32")
    wanted = [net(nd.array(other)).asnumpy()]
    close(run_model(path, {"data": other}), wanted)
    symbol, arguments, _ = hn.onnx.import_model(path)
    close([one.asnumpy() for one in symbol.eval(data=nd.array(other), **arguments)], wanted)


def test_values_are_named_after_nodes(tmp_path):
    first = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc1")
    case = Case(sym.softmax(sym.relu(first, name="act"), name="out"), data=np.ones((2, 4), "f"))
    graph = onnx_package.load(case.export(tmp_path / "m.onnx")).graph
    assert [node.output[0] for node in graph.node] == ["fc1", "act", "out"]
    assert {one.name for one in graph.initializer} == {"fc1_weight", "fc1_bias"}


def test_an_operator_without_a_form_is_named(tmp_path):
    case = Case(sym.gamma(sym.var("data"), name="odd"), data=np.ones((2, 3), "float32"))
    with pytest.raises(hn.MXNetError, match=r"'odd' \(gamma.*no form.*get_operator_support"):
        case.export(tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
    assert "gamma" not in hn.onnx.get_operator_support()
    assert "Convolution" in hn.onnx.get_operator_support()


def test_arguments_that_do_not_fit(tmp_path):
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    arrays = {"fc_weight": nd.ones((3, 4)), "fc_bias": nd.ones(3)}
    with pytest.raises(hn.MXNetError, match=r"a shape for each input \(data\)"):
        hn.onnx.export_model(net, arrays, [(2, 4), (2,)])
    with pytest.raises(hn.MXNetError, match=r"a shape for each input \(data, fc_bias\)"):
        hn.onnx.export_model(net, {"fc_weight": arrays["fc_weight"]}, [(2, 4)])
    with pytest.raises(hn.MXNetError, match="needs dynamic=True"):
        hn.onnx.export_model(net, arrays, [(2, 4)], dynamic_input_shapes=[(None, 4)])


def test_names_of_mxnet(tmp_path):
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    parts = [{"fc_weight": nd.ones((3, 4))}, {"fc_bias": nd.ones(3)}]
    path = hn.contrib.onnx.export_model(
        net, parts, input_shape=[(2, 4)], input_type=np.float32, onnx_file_path=tmp_path / "m.onnx"
    )
    symbol, arguments, states = hn.contrib.onnx.import_model(path)
    assert symbol.list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert sorted(arguments) == ["fc_bias", "fc_weight"]
    assert states == {}
    np.testing.assert_array_equal(arguments["fc_weight"].asnumpy(), np.ones((3, 4)))


def model_of(nodes, inputs, outputs, opset, tmp_path, **weights):
    """Writes a model with ONNX's own helpers."""
    helper = onnx_package.helper
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, 1, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, 1, None) for name in outputs],
        [onnx_package.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx_package.save(model, tmp_path / "own.onnx")
    return str(tmp_path / "own.onnx")


def test_shapes_that_other_frameworks_compute_while_they_run(tmp_path):
    """x.view(x.shape[0], -1) of PyTorch: Shape, Gather, Unsqueeze, Concat, Reshape."""
    node = onnx_package.helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["batch"], axis=0),
        node("Unsqueeze", ["batch", "axes"], ["row"]),
        node("Concat", ["row", "rest"], ["new"], axis=0),
        node("Reshape", ["x", "new"], ["y"]),
    ]
    weights = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1])}
    path = model_of(nodes, {"x": ("n", 3, 4)}, ["y"], 13, tmp_path, **weights)
    symbol, arguments, _ = hn.onnx.import_model(path)
    assert arguments == {}
    data = np.random.default_rng(0).normal(size=(5, 3, 4)).astype("float32")
    (got,) = symbol.eval(x=nd.array(data))
    np.testing.assert_array_equal(got.asnumpy(), data.reshape(5, 12))


def test_an_open_size_that_grows_on_its_way(tmp_path):
    """Heads of attention join the batch: (3, n, 4) becomes (3, 2 n, 2)."""
    node = onnx_package.helper.make_node
    nodes = [
        node("Shape", ["x"], ["batch"], start=1, end=2),
        node("Mul", ["batch", "two"], ["rows"]),
        node("Concat", ["three", "rows", "two"], ["new"], axis=0),
        node("Reshape", ["x", "new"], ["y"]),
    ]
    weights = {"two": np.array([2]), "three": np.array([3])}
    path = model_of(nodes, {"x": (3, "n", 4)}, ["y"], 15, tmp_path, **weights)
    symbol, _, _ = hn.onnx.import_model(path)
    data = np.random.default_rng(0).normal(size=(3, 5, 4)).astype("float32")
    (got,) = symbol.eval(x=nd.array(data))
    np.testing.assert_array_equal(got.asnumpy(), data.reshape(3, 10, 2))


def test_models_of_older_operators(tmp_path):
    node = onnx_package.helper.make_node
    nodes = [
        node("Squeeze", ["x"], ["a"], axes=[1]),
        node("Clip", ["a"], ["b"], min=0.0, max=1.0),
        node("Gemm", ["b", "w", "c"], ["d"], alpha=2.0, transB=1),
        node("Softmax", ["d"], ["y"]),
    ]
    rng = np.random.default_rng(0)
    w, c = rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=3).astype("float32")
    path = model_of(nodes, {"x": (2, 1, 4)}, ["y"], 10, tmp_path, w=w, c=c)
    data = rng.normal(size=(2, 1, 4)).astype("float32")
    symbol, arguments, _ = hn.onnx.import_model(path)
    (got,) = symbol.eval(x=nd.array(data), **arguments)
    close([got.asnumpy()], run_model(path, {"x": data}))


def test_operators_that_have_no_form_here_are_named(tmp_path):
    node = onnx_package.helper.make_node("Det", ["x"], ["y"], name="odd")
    path = model_of([node], {"x": (2, 2)}, ["y"], 13, tmp_path)
    with pytest.raises(hn.MXNetError, match="node 'odd': ONNX's operator Det has no form here"):
        hn.onnx.import_model(path)


def test_models_that_would_fill_the_memory_or_are_odd(tmp_path):
    node = onnx_package.helper.make_node
    nodes = [node("ConstantOfShape", ["n"], ["y"], name="large")]
    path = model_of(nodes, {"x": (2,)}, ["y"], 13, tmp_path, n=np.array([2**40, 2**20]))
    with pytest.raises(hn.MXNetError, match="node 'large' .* must make fewer than"):
        hn.onnx.import_model(path)
    path = model_of([node("Conv", ["x"], ["y"], name="odd")], {"x": (2,)}, ["y"], 13, tmp_path)
    with pytest.raises(hn.MXNetError, match="node 'odd' .*Conv"):
        hn.onnx.import_model(path)


def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "damaged.onnx"
    path.write_bytes(b"\x00\x01 this is no model")
    with pytest.raises(hn.MXNetError, match=r"damaged.onnx: must be an ONNX model"):
        hn.onnx.import_model(path)
    with pytest.raises(FileNotFoundError):
        hn.onnx.get_model_metadata(tmp_path / "missing.onnx")


@pytest.mark.slow
def test_models_damaged_by_chance(tmp_path):
    data = sym.var("data")
    net = sym.Convolution(data, num_filter=2, kernel=(3, 3), name="c")
    net = sym.Activation(sym.BatchNorm(net, name="b"), act_type="relu")
    net = sym.reshape(sym.Pooling(net, kernel=(2, 2), pool_type="max"), shape=(0, -1))
    net = sym.softmax(sym.FullyConnected(net, num_hidden=3, name="f"))
    path = Case(net, data=np.zeros((1, 1, 8, 8), "float32")).export(tmp_path / "m.onnx")
    assert damaged_files.run("onnx", path, 2000) == 0


@pytest.mark.parametrize("way", ["../w.data", "{tmp}/w.data", "link", "missing"])
def test_weights_outside_of_the_folder_are_not_read(tmp_path, way):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "w.data").write_bytes(bytes(400))
    (folder / "link").symlink_to(tmp_path / "w.data")
    helper = onnx_package.helper
    weight = helper.make_tensor("w", onnx_package.TensorProto.FLOAT, [100], bytes(400), raw=True)
    weight.ClearField("raw_data")
    weight.data_location = onnx_package.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=way.format(tmp=tmp_path))
    value = helper.make_tensor_value_info("x", onnx_package.TensorProto.FLOAT, [100])
    made = helper.make_tensor_value_info("y", onnx_package.TensorProto.FLOAT, [100])
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])], "g", [value], [made], [weight]
    )
    (folder / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    with pytest.raises(FormatError, match="must be an ONNX model"):
        hn.onnx.import_model(folder / "m.onnx")

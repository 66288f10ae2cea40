"""Writes files with MXNet 1.9.1 that hybridnet must read: ``files/``.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_files.py

For every network NAME:

- ``NAME-symbol.json`` and ``NAME-0000.params``, as ``mx.model.save_checkpoint`` writes them;
- ``NAME-io.params``: its inputs (``in:data``), its outputs in prediction mode (``out:0``, ...) and,
  where the network has no Dropout, in a training pass the outputs (``train:0``, ...) and the
  gradients of their sum (``grad:fc1_weight``, ...; loss layers ignore the head gradient).

The rest are array files: every dtype, every version of the format, and sparse ones.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

# Above 8 uses of one variable MXNet adds gradients up in place, and fails to bind the graph.
os.environ["MXNET_EXEC_INPLACE_GRAD_SUM_CAP"] = "100"

import mxnet as mx
import numpy as np

HERE = Path(__file__).resolve().parent / "files"
MX_BFLOAT16 = np.dtype([("bfloat16", np.uint16)])  # how MXNet's Python spells it


def lenet() -> tuple:
    """LeNet, with few filters so that its weights are small."""
    net = mx.sym.Variable("data")
    for index, filters in ((1, 3), (2, 4)):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{index}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{index}")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.Flatten(net)
    net = mx.sym.FullyConnected(net, num_hidden=12, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    return net, {"data": (2, 1, 28, 28), "softmax_label": (2,)}


def mlp() -> tuple:
    """BatchNorm, Dropout, LayerNorm, LeakyReLU of several kinds, attributes and shared weights."""
    data = mx.sym.Variable("data")
    shared = mx.sym.Variable("shared_weight", lr_mult=0.5, wd_mult=2.0, init=mx.init.Xavier())
    with mx.AttrScope(ctx_group="stage1", __note__="first"):
        net = mx.sym.FullyConnected(data, weight=shared, num_hidden=6, name="fc1")
        net = mx.sym.BatchNorm(net, name="bn1", fix_gamma=False, eps=1e-4, momentum=0.8)
    net = mx.sym.LeakyReLU(net, act_type="elu", slope=0.3)
    net = mx.sym.Dropout(net, p=0.4)
    net = mx.sym.FullyConnected(net, weight=shared, num_hidden=6, no_bias=True, name="fc2")
    net = mx.sym.LeakyReLU(net, act_type="prelu", name="prelu1")
    net = mx.sym.BatchNorm(net, name="bn2")
    net = mx.sym.LayerNorm(net, name="ln1")
    net = mx.sym.LeakyReLU(net, act_type="gelu") + mx.sym.Activation(net, act_type="softrelu")
    return mx.sym.softmax(net, axis=-1, temperature=2.0, name="prob"), {"data": (4, 6)}


def arithmetic() -> tuple:
    """Scalars on both sides, elementwise and broadcasting arithmetic, comparison, mathematics."""
    a, b, row = (mx.sym.Variable(name) for name in ("a", "b", "row"))
    first = (a + 1.5) * 2 - a / 3 + 2 / (a + 5) - (1 - a) + a**2 + 2**b - (-b) + a % 2 + 7 % (b + 2)
    second = a + b - a * b + a / (b + 3) + mx.sym.maximum(a, b) + mx.sym.minimum(a, 0.5)
    third = mx.sym.broadcast_mul(mx.sym.broadcast_add(a, row), row) + abs(a) + (a > b) + (a <= 0.1)
    fourth = mx.sym.exp(a) + mx.sym.log(b + 2) + mx.sym.sqrt(b + 2) + mx.sym.tanh(a)
    fifth = mx.sym.sigmoid(a) + mx.sym.relu(b) + mx.sym.clip(a, -0.5, 0.5) + mx.sym.square(b)
    sixth = mx.sym.add_n(a, b, a, name="total") + mx.sym.identity(mx.sym.BlockGrad(b))
    outputs = mx.sym.Group([first, second, third, fourth, fifth, sixth])
    return outputs, {"a": (2, 3, 4), "b": (2, 3, 4), "row": (1, 3, 1)}


def shapes() -> tuple:
    """Everything that moves elements about, and reductions."""
    data, index = mx.sym.Variable("data"), mx.sym.Variable("index")
    parts = mx.sym.SliceChannel(data, num_outputs=3, axis=1, squeeze_axis=True, name="parts")
    joined = mx.sym.Concat(
        parts[0],
        mx.sym.slice(parts[1], begin=(None, 3), end=(None, 0), step=(None, -1)),
        parts[2],
        dim=1,
        name="joined",
    )
    reshaped = mx.sym.Reshape(data, shape=(0, -4, -1, 1, -2))
    reshaped = mx.sym.transpose(mx.sym.reshape(reshaped, shape=(-3, -1)), axes=(1, 0))
    stacked = mx.sym.stack(parts[1], mx.sym.flip(parts[2], axis=1), axis=-1)
    stacked = mx.sym.swapaxes(mx.sym.expand_dims(stacked, axis=1), dim1=0, dim2=3)
    stacked = mx.sym.squeeze(stacked, axis=1)
    padded = mx.sym.pad(
        mx.sym.expand_dims(data, axis=0), mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 2, 1)
    )
    sums = mx.sym.sum(data, axis=(0, 2), keepdims=True) + mx.sym.mean(
        data, axis=1, exclude=True, keepdims=True
    )
    best = mx.sym.max(data, axis=2) * mx.sym.norm(data, axis=2)
    taken = mx.sym.take(data, index, axis=2, mode="wrap")
    hot = mx.sym.one_hot(index, depth=4, on_value=2.0)
    chosen = mx.sym.where(
        mx.sym.slice_axis(data, axis=0, begin=0, end=1) > 0,
        mx.sym.slice_axis(data, axis=0, begin=-1, end=None),
        mx.sym.zeros((1, 3, 4)),
    )
    half = mx.sym.cast(mx.sym.cast(data, dtype="float16"), dtype="float32")
    tiled = mx.sym.tile(mx.sym.Flatten(data), reps=(2, 1)) + mx.sym.arange(12)[0].reshape(
        (1, 12)
    ).tile((4, 1))
    embedded = mx.sym.Embedding(index, input_dim=5, output_dim=3, name="embed")
    outputs = [
        joined,
        reshaped,
        stacked,
        padded,
        sums,
        best,
        taken,
        hot,
        chosen,
        half,
        tiled,
        embedded,
        mx.sym.dot(mx.sym.Flatten(data), reshaped.reshape((12, 2))),
    ]
    return mx.sym.Group(outputs), {"data": (2, 3, 4), "index": (3,)}


def images() -> tuple:
    """Convolution and its transpose with every parameter, and the kinds of pooling."""
    net = mx.sym.Convolution(
        mx.sym.Variable("data"),
        kernel=(3, 2),
        stride=(2, 1),
        pad=(1, 1),
        dilate=(1, 2),
        num_group=2,
        num_filter=4,
        name="conv",
    )
    up = mx.sym.Deconvolution(
        net,
        kernel=(3, 3),
        stride=(2, 2),
        pad=(1, 1),
        adj=(1, 1),
        num_group=2,
        num_filter=6,
        no_bias=False,
        name="deconv",
    )
    pool = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}
    outputs = [
        up,
        mx.sym.Pooling(up, pool_type="avg", **pool),
        mx.sym.Pooling(up, pool_type="avg", count_include_pad=False, **pool),
        mx.sym.Pooling(
            up, pool_type="max", pooling_convention="full", kernel=(3, 3), stride=(2, 2)
        ),
        mx.sym.Pooling(up, pool_type="sum", kernel=(2, 2)),
        mx.sym.Pooling(up, pool_type="avg", global_pool=True, kernel=(1, 1)),
        mx.sym.BatchNorm(
            mx.sym.transpose(up, axes=(0, 2, 3, 1)),
            axis=3,
            use_global_stats=True,
            fix_gamma=False,
            name="bn",
        ),
    ]
    return mx.sym.Group(outputs), {"data": (2, 4, 6, 5)}


def segment() -> tuple:
    """A loss per pixel with ignored labels, a second loss, and an output that takes no gradient."""
    score = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(1, 1), num_filter=3, name="score")
    loss = mx.sym.SoftmaxOutput(
        score,
        name="softmax",
        multi_output=True,
        use_ignore=True,
        ignore_label=2,
        normalization="valid",
        grad_scale=3.0,
    )
    size = mx.sym.make_loss(mx.sym.mean(mx.sym.square(score)), name="size")
    best = mx.sym.BlockGrad(mx.sym.argmax(score, axis=1), name="best")
    return mx.sym.Group([loss, size, best]), {"data": (2, 2, 3, 3), "softmax_label": (2, 3, 3)}


NETWORKS = {
    "lenet": lenet,
    "mlp": mlp,
    "arithmetic": arithmetic,
    "shapes": shapes,
    "images": images,
    "segment": segment,
}
WITHOUT_TRAINING = {"mlp"}  # Dropout draws random numbers
INTEGERS = {"softmax_label": 3, "index": 5}  # inputs that hold whole numbers, below these


def save_network(name: str) -> None:
    """Saves a network, its parameters, and what it makes of its inputs."""
    symbol, input_shapes = NETWORKS[name]()
    random = np.random.RandomState(sum(map(ord, name)))
    wanted = [name for name in symbol.list_arguments() if name not in INTEGERS]
    grad_req = dict.fromkeys(wanted, "write")
    executor = symbol.simple_bind(mx.cpu(), grad_req=grad_req, **input_shapes)
    for key, array in executor.arg_dict.items():
        if key in INTEGERS:
            array[:] = random.randint(0, INTEGERS[key], array.shape)
        elif key in input_shapes:
            array[:] = random.uniform(-1.5, 1.5, array.shape).round(4)
        else:
            scale = 1.0 / np.sqrt(max(array.shape[-1], 4))
            array[:] = (random.standard_normal(array.shape) * scale).round(4)
    for array in executor.aux_dict.values():
        array[:] = random.uniform(0.5, 1.5, array.shape).round(4)
    params = {key: value for key, value in executor.arg_dict.items() if key not in input_shapes}
    symbol.save(str(HERE / f"{name}-symbol.json"))
    mx.model.save_checkpoint(str(HERE / name), 0, symbol, params, executor.aux_dict)
    io = {f"in:{key}": executor.arg_dict[key].copy() for key in input_shapes}
    for index, out in enumerate(executor.forward(is_train=False)):
        io[f"out:{index}"] = out.copy()
    if name not in WITHOUT_TRAINING:
        for index, out in enumerate(executor.forward(is_train=True)):
            io[f"train:{index}"] = out.copy()
        executor.backward([mx.nd.ones_like(out) for out in executor.outputs])
        io.update({f"grad:{key}": executor.grad_dict[key] for key in wanted})
    mx.nd.save(str(HERE / f"{name}-io.params"), io)


def save_detection() -> None:
    """Saves a graph of operators of detection and sampling: their names and parameters."""
    data, sym = mx.sym.Variable("x"), mx.sym
    labels = {"label": sym.Variable("label"), "label_lengths": sym.Variable("lengths")}
    window = {"kernel": (3, 3), "num_filter": 2, "pad": (1, 1), "name": "deformed"}
    bilinear = {"num_filter": 2, "sample_type": "bilinear", "num_args": 1, "name": "up"}
    outputs = [
        sym.UpSampling(data, scale=2, **bilinear),
        sym.UpSampling(data, data, scale=2, sample_type="nearest", num_args=2),
        sym.contrib.MultiBoxPrior(data, sizes=(0.5, 0.25), ratios=(1, 2)),
        sym.contrib.box_nms(sym.Variable("boxes"), id_index=0),
        sym.CTCLoss(sym.Variable("scores"), use_label_lengths=True, **labels),
        sym.contrib.BilinearResize2D(data, height=3, width=5),
        sym.contrib.AdaptiveAvgPooling2D(data, output_size=2),
        sym.contrib.DeformableConvolution(data, sym.Variable("offset"), **window),
    ]
    sym.Group(outputs).save(str(HERE / "detection-symbol.json"))


def save_gluon() -> None:
    """Saves what a hybridized gluon network exports, and its own parameter file."""
    mx.random.seed(7)
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Conv2D(2, 3, padding=1, activation="relu"),
            nn.BatchNorm(),
            nn.MaxPool2D(2),
            nn.Flatten(),
            nn.Dense(3, activation="tanh"),
            nn.Dropout(0.3),
            nn.LayerNorm(),
            nn.Dense(2, use_bias=False),
        )
    net.initialize(mx.init.Normal(0.5))
    data = mx.nd.array(np.random.RandomState(5).standard_normal((2, 1, 4, 4)).round(3))
    net.hybridize()
    out = net(data)
    net.export(str(HERE / "gluon"), epoch=0)
    net.save_parameters(str(HERE / "gluon-blocks.params"))
    mx.nd.save(str(HERE / "gluon-io.params"), {"in:data": data, "out:0": out})


def save_old_symbol() -> None:
    """Saves the lenet graph in the JSON of old MXNets ('param' and 'attr'), as they upgrade it."""
    graph = json.loads((HERE / "lenet-symbol.json").read_text())
    for node in graph["nodes"]:
        given = node.pop("attrs", {})
        if node["op"] == "null":
            given = {}
        node["param"], node["backward_source_id"] = given, -1
        node["inputs"] = [entry[:2] for entry in node["inputs"]]
    graph["heads"] = [entry[:2] for entry in graph["heads"]]
    del graph["attrs"], graph["node_row_ptr"]
    text = json.dumps(graph, indent=1)
    assert mx.sym.load_json(text).list_arguments() == lenet()[0].list_arguments()
    (HERE / "lenet_old-symbol.json").write_text(text + "\n")


def old_params(arrays: list, names: list, header: int | None) -> bytes:
    """Returns a file in the V1 layout, or (header None) in the one before it."""
    parts = [struct.pack("<QQQ", 0x112, 0, len(arrays))]
    for array in arrays:
        if header is not None:
            parts.append(struct.pack("<I", header))
        kind = "q" if header is not None else "I"
        parts.append(struct.pack(f"<I{array.ndim}{kind}", array.ndim, *array.shape))
        code = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4}[array.dtype.name]
        parts.append(struct.pack("<iii", 1, 0, code) + array.tobytes())
    parts.append(struct.pack("<Q", len(names)))
    parts += [struct.pack("<Q", len(name)) + name.encode() for name in names]
    return b"".join(parts)


def save_arrays() -> None:
    """Saves array files of every dtype and version, and checks that MXNet reads the old ones."""
    numbers = np.array([[0, 1, 2], [3, 100, 127]])
    nd = mx.nd
    dtypes = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"]
    arrays = {name: nd.array(numbers, dtype=name) for name in dtypes}
    arrays["bfloat16"] = nd.amp_cast(nd.array(numbers + 0.5), dtype=MX_BFLOAT16)
    nd.save(str(HERE / "dtypes.params"), arrays)
    nd.save(str(HERE / "list.params"), [nd.array([1, 2]), nd.array([[3.5]], dtype="float64")])
    nd.save(str(HERE / "single.params"), nd.arange(4))
    nd.save(str(HERE / "empty.params"), {})
    nd.save(str(HERE / "zero_size.params"), [nd.array(np.zeros((0,))), nd.array(np.ones((2, 0)))])
    with mx.util.np_shape(True):
        odd = [mx.np.array(3.5), mx.np.zeros((0, 4)), mx.np.array([1.0, 2.0])]
        nd.save(str(HERE / "v3.params"), [array.as_nd_ndarray() for array in odd])
        nd.save(str(HERE / "numpy_mode.params"), {"a": nd.arange(4), "b": nd.ones((2, 1))})
    old = [numbers.astype(name) for name in ("float32", "float64", "float16", "uint8", "int32")]
    names = ["arg:a", "arg:b", "aux:c", "d", "e"]
    for name, header in (("v1", 0xF993FAC8), ("v0", None)):
        (HERE / f"{name}.params").write_bytes(old_params(old, names, header))
        loaded = nd.load(str(HERE / f"{name}.params"))
        assert list(loaded) == names
        assert all((loaded[key].asnumpy() == numbers).all() for key in names)
    rows = nd.sparse.row_sparse_array((np.ones((1, 2)), [1]), shape=(3, 2))
    nd.save(str(HERE / "row_sparse.params"), [rows])
    nd.save(str(HERE / "csr.params"), {"m": nd.sparse.csr_matrix(np.eye(2))})


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for name in NETWORKS:
        save_network(name)
    save_detection()
    save_gluon()
    save_old_symbol()
    save_arrays()


if __name__ == "__main__":
    main()

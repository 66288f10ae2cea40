"""Writes files with a release of MXNet, from 0.9.5 to 2.0.0b1, that hybridnet must read.

    python tests/oracle/make_releases.py       # a Python of 2017 to 2023 with that mxnet

All go into ``files/releases/VERSION.zip``: a module's checkpoint with the optimizer's states after
two steps, what it predicts, and its weights after a third; a recurrent network; arrays of every
dtype and storage; records; and of what has Gluon, parameters by each way to save them, an export,
and a trainer's states with the weights after one more step. 1.9.1 also exports to ONNX, and needs
onnx 1.12 for it.
"""

# ruff: noqa: B905 - it is run by Python 3.6

import contextlib
import io
import os
import shutil
import sys
import tempfile
import zipfile

import mxnet as mx
import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files", "releases")
VERSION = mx.__version__.split("-")[0]
DATA, CLASSES = (4, 1, 8, 8), 3


def network():
    """Convolution, BatchNorm, ELU, Dropout, shared attributes and a loss."""
    net = mx.sym.Variable("data")
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=2, name="conv1")
    net = mx.sym.BatchNorm(net, name="bn1", fix_gamma=False, eps=1e-3, momentum=0.8)
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1")
    with mx.AttrScope(ctx_group="stage2"):
        net = mx.sym.Flatten(net, name="flatten1")
        weight = mx.sym.Variable("fc1_weight", lr_mult=0.5, wd_mult=2.0)
        net = mx.sym.FullyConnected(data=net, weight=weight, num_hidden=5, name="fc1")
    net = mx.sym.LeakyReLU(net, act_type="elu", slope=0.5, name="elu1")
    net = mx.sym.Dropout(net, p=0.0, name="drop1")
    net = mx.sym.FullyConnected(net, num_hidden=CLASSES, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax", normalization="batch")


def numbers(shape, seed):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def batch():
    label = mx.nd.array(np.arange(DATA[0]) % CLASSES)
    return mx.io.DataBatch([mx.nd.array(numbers(DATA, 1))], [label])


def step(module):
    module.forward(batch(), is_train=True)
    module.backward()
    module.update()
    mx.nd.waitall()  # older releases read averages while they move


def save_module():
    module = mx.mod.Module(network())
    module.bind([("data", DATA)], [("softmax_label", DATA[:1])])
    args, auxs = module.symbol.list_arguments(), module.symbol.list_auxiliary_states()
    shapes, _, more = module.symbol.infer_shape(data=DATA)
    given = {
        name: mx.nd.array(numbers(shape, 10 + number))
        for number, (name, shape) in enumerate(zip(args, shapes))
        if name not in ("data", "softmax_label")
    }
    averages = {
        name: mx.nd.array(numbers(shape, 30 + number) ** 2 + 0.5)
        for number, (name, shape) in enumerate(zip(auxs, more))
    }
    module.init_params(arg_params=given, aux_params=averages)
    settings = {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3}
    module.init_optimizer(optimizer="sgd", optimizer_params=settings)
    step(module), step(module)
    module.save_checkpoint("net", 2, save_optimizer_states=True)
    # A module of its own, as a user has who goes on.
    module = mx.mod.Module.load("net", 2, load_optimizer_states=True)
    module.bind([("data", DATA)], [("softmax_label", DATA[:1])])
    module.init_optimizer(optimizer="sgd", optimizer_params=settings)
    module.forward(batch(), is_train=False)
    answers = {"out": mx.nd.array(module.get_outputs()[0].asnumpy())}
    step(module)
    for kind, found in zip(("arg", "aux"), module.get_params()):
        answers.update((f"{kind}:{name}", one) for name, one in found.items())
    mx.nd.save("net-answers.params", answers)


def save_recurrent():
    cell = mx.rnn.SequentialRNNCell()
    cell.add(mx.rnn.LSTMCell(3, prefix="lstm_"))
    cell.add(mx.rnn.GRUCell(2, prefix="gru_"))
    outputs, _ = cell.unroll(4, mx.sym.Variable("data"), layout="NTC", merge_outputs=True)
    save_bound("rnn", outputs, (2, 4, 3), 50)


def save_bound(name, symbol, shape, seed):
    shapes, _, more = symbol.infer_shape(data=shape)
    names = [("arg", one) for one in symbol.list_arguments()]
    names += [("aux", one) for one in symbol.list_auxiliary_states()]
    arrays = {
        ":".join(kind): mx.nd.array(numbers(size, seed + number))
        for number, (kind, size) in enumerate(zip(names, shapes + more))
    }
    args = {key[4:]: one for key, one in arrays.items() if key.startswith("arg:")}
    executor = symbol.bind(mx.cpu(), args)
    out = executor.forward(is_train=False)[0]
    symbol.save(name + "-symbol.json")
    data = arrays.pop("arg:data")
    mx.nd.save(name + "-0000.params", arrays)
    mx.nd.save(name + "-answers.params", {"data": data, "out": out})


def save_arrays():
    arrays = {}
    for name in ("float32", "float64", "float16", "uint8", "int32", "int8", "int64"):
        try:
            made = mx.nd.array(np.arange(-3, 3).reshape(2, 3) * 2.5, dtype=name)
            if np.dtype(made.dtype) == np.dtype(name):
                arrays[name] = made
        except KeyError:
            pass  # 0.9 had five
    mx.nd.save("arrays.params", arrays)
    np.savez("arrays.npz", **{name: one.asnumpy() for name, one in arrays.items()})
    mx.nd.save("list.params", [mx.nd.ones((2, 1)), mx.nd.arange(3)])
    if hasattr(mx.nd, "sparse") and not VERSION.startswith("2."):
        dense = mx.nd.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -1]])
        kinds = {kind: dense.tostype(kind) for kind in ("csr", "row_sparse")}
        mx.nd.waitall()  # MXNet saves them unfinished
        mx.nd.save("sparse.params", kinds)


def save_records():
    writer = mx.recordio.MXIndexedRecordIO("records.idx", "records.rec", "w")
    for number in range(5):
        label = float(number) if number % 2 else np.arange(number + 1, dtype="float32")
        header = mx.recordio.IRHeader(0, label, number, 0)
        writer.write_idx(number, mx.recordio.pack(header, b"x" * number + b"\n\xce\xd7\x23\x0a"))
    writer.close()


def save_gluon():
    from mxnet import autograd, gluon

    second = VERSION.startswith("2.")  # no names of blocks, and NumPy's arrays only
    make = mx.np.array if second else mx.nd.array
    net = gluon.nn.HybridSequential(**({} if second else {"prefix": "net_"}))
    with contextlib.suppress(ValueError) if second else net.name_scope():
        net.add(gluon.nn.Conv2D(2, 3, activation="relu"))
        net.add(gluon.nn.BatchNorm())
        net.add(gluon.nn.Flatten())
        net.add(gluon.nn.Dense(CLASSES))
    net.initialize()
    data = make(numbers(DATA, 2))
    with autograd.predict_mode():
        net(data)
    for number, (_, param) in enumerate(sorted(net.collect_params().items())):
        param.set_data(make(abs(numbers(param.shape, 70 + number))))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05, "wd": 1e-3})

    def step():
        with autograd.record():
            out = net(data)
            loss = (mx.np if second else mx.nd).sum(out * out)
        loss.backward()
        trainer.step(DATA[0])

    step(), step()
    if hasattr(trainer, "save_states"):
        trainer.save_states("trainer.states")
    for name in ("save_params", "save_parameters"):
        if hasattr(net, name):
            getattr(net, name)(f"gluon-{name}.params")
    answers = {"out": net(data)}
    if hasattr(net, "export"):
        net.hybridize()
        net(data)
        net.export("exported", epoch=2) if "1.0" not in VERSION else net.export("exported")
    if VERSION == "1.9.1":
        mx.onnx.export_model(
            "exported-symbol.json", "exported-0002.params", [DATA], ["float32"], "exported.onnx"
        )
    step()
    answers.update(("after:" + name, one.data()) for name, one in net.collect_params().items())
    mx.nd.save("gluon-answers.params", {
        name: mx.nd.array(one.asnumpy()) for name, one in answers.items()
    })  # fmt: skip


def main():
    folder, back = tempfile.mkdtemp(), os.getcwd()
    os.chdir(folder)
    for needed, save in (
        ("mod", save_module), ("rnn", save_recurrent), ("nd", save_arrays),
        ("recordio", save_records), ("gluon", save_gluon),
    ):  # fmt: skip
        if hasattr(mx, needed):
            save()
    os.chdir(back)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(os.listdir(folder)):
            entry = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            with open(os.path.join(folder, name), "rb") as one:
                file.writestr(entry, one.read())
    shutil.rmtree(folder)
    if not os.path.isdir(HERE):
        os.makedirs(HERE)
    with open(os.path.join(HERE, VERSION + ".zip"), "wb") as file:
        file.write(packed.getvalue())
    sys.stdout.write(f"{VERSION}: {len(packed.getvalue())} bytes\n")


if __name__ == "__main__":
    main()

"""What one process does: it trains, saves, loads, and reads data with workers."""

import os
import sys
import warnings

import numpy as np

import hybridnet as hn
from hybridnet import autograd, checkpoint, gluon, nd, sym

rng = np.random.default_rng(0)
images = rng.normal(size=(64, 1, 12, 12)).astype("float32")
labels = (images.mean(axis=(1, 2, 3)) > 0).astype("float32")


def by_gluon():
    """A network of blocks is trained on batches that workers make."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.MaxPool2D(), gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        data = gluon.data.ArrayDataset(images, labels)
        loader = gluon.data.DataLoader(data, 16, num_workers=2)
    print("warned:", *(str(one.message) for one in told))
    losses = []
    for _ in range(4):
        total = 0.0
        for x, y in loader:
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(16)
            total += float(loss.mean().asscalar())
        losses.append(total)
    assert losses[-1] < losses[0], losses
    return net, trainer


def saved(net, trainer):
    """Files are written, read, and written over again while they may be in use."""
    for _ in range(2):
        net.save_parameters("net.params")
        net.load_parameters("net.params")
        trainer.save_states("trainer.states")
        trainer.load_states("trainer.states")
        net.export("net")
        again = gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
        x = nd.array(images[:2])
        np.testing.assert_allclose(again(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-5)
        nd.save("arrays", {"x": x})
        assert (nd.load("arrays")["x"] == x).asnumpy().all()
    saver = checkpoint.Saver({"net": net}, max_to_keep=1)
    for number in range(3):
        saver.save_async("run/model", number).wait()
    saver.restore(checkpoint.latest_checkpoint("run"))
    assert not os.path.exists("run/model-0.safetensors")


def by_module():
    """A symbol is trained, with a checkpoint after each epoch."""
    h = sym.Activation(sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4), "relu")
    h = sym.FullyConnected(sym.Flatten(sym.Pooling(h, kernel=(2, 2))), num_hidden=2)
    module = hn.mod.Module(sym.SoftmaxOutput(h, name="softmax"))
    batches = hn.io.NDArrayIter(images, labels, 16, label_name="softmax_label")
    kept = hn.callback.do_checkpoint("module")
    module.fit(batches, num_epoch=2, epoch_end_callback=kept, kvstore="device")
    module.save_checkpoint("module", 2, save_optimizer_states=True)
    hn.mod.Module.load("module", 2, load_optimizer_states=True)


def records():
    """Records are written and read by their numbers."""
    with_numbers = hn.recordio.MXIndexedRecordIO("a.idx", "a.rec", "w")
    for number in range(3):
        with_numbers.write_idx(number, b"record %d" % number)
    with_numbers.close()
    with_numbers = hn.recordio.MXIndexedRecordIO("a.idx", "a.rec", "r")
    assert with_numbers.read_idx(2) == b"record 2"
    with_numbers.close()


def refused(*calls):
    """Prints what calls are refused with."""
    for call in calls:
        try:
            call()
        except hn.MXNetError as error:
            print("refused:", error)
        else:
            print("not refused")


os.chdir(sys.argv[1])
saved(*by_gluon())
by_module()
records()
hn.profiler.set_config(filename="profile.json")
hn.profiler.set_state("run")
(nd.ones(3) + 1).wait_to_read()
hn.profiler.set_state("stop")
hn.profiler.dump()
if sys.platform == "win32":
    refused(
        lambda: hn.kv.create("dist_sync"),
        lambda: hn.distributed.initialize("127.0.0.1:9000", 2, 0),
        lambda: hn.cluster({"worker": ["127.0.0.1:0"]}, job="worker", task=0),
    )
hn.waitall()
print(sys.platform, "done")

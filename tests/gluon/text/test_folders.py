"""Networks of folders in use: memory, dtypes, devices, training, threads, and the hub."""

import copy
import gc
import sys
import threading
import tracemalloc
import types
import weakref

import numpy as np
import pytest
from oracle import folder_cases as cases
from safetensors.numpy import load_file, save_file
from text_models import FOLDERS, asked, assert_same, copied, whole

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.gluon.model_zoo import text, vision


def parameters(net):
    return list(dict.fromkeys(net.collect_params().values()))


def nbytes(shape, itemsize=4):
    return int(np.prod(shape)) * itemsize


def test_memory_holds_the_network_and_one_tensor_more(tmp_path):
    """And the zeros of each shape once, which untrained gradients share."""
    sizes = {"units": 128, "heads": 4, "hidden_units": 256, "layers": 12, "vocab_size": 1000}
    net = text.llama(**sizes)
    net.initialize()
    net.cast("bfloat16")
    text.save(net, tmp_path)
    shapes = [param.shape for param in parameters(net)]
    network = sum(map(nbytes, shapes))
    zeros = sum(map(nbytes, set(shapes)))
    largest = max(map(nbytes, shapes))
    del net
    text.load(tmp_path)  # what is imported at the first use
    tracemalloc.start()
    try:
        net = text.load(tmp_path, dtype="float32")
        assert net.max_length == 2048
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    names = 3_000_000  # bytes: blocks and parameters themselves, and JAX's
    assert peak < network + zeros + largest + names, (peak, network, zeros, largest)
    assert network > 2 * names


def test_gradients_that_shared_zeros_are_their_own_once_there_are_any():
    net = text.load(FOLDERS / "llama")
    params = parameters(net)
    assert all(not param.grad().asnumpy().any() for param in params)
    with autograd.record():
        loss = (net(whole(cases.tokens())) ** 2).sum()
    loss.backward()
    grads = [param.grad().asnumpy() for param in params]
    assert all(grad.any() for grad in grads)
    first = params[0]
    first.zero_grad()
    assert not first.grad().asnumpy().any()
    for param, grad in list(zip(params, grads, strict=True))[1:]:
        np.testing.assert_array_equal(param.grad().asnumpy(), grad)


def test_gradients_are_added_to_shared_zeros():
    net = text.load(FOLDERS / "gpt2")
    net.collect_params().setattr("grad_req", "add")
    fresh = text.load(FOLDERS / "gpt2")
    for one in (net, net, fresh):
        with autograd.record(train_mode=False):
            loss = (one(whole(cases.tokens())) ** 2).sum()
        loss.backward()
    for ours, single in zip(parameters(net), parameters(fresh), strict=True):
        twice = 2 * single.grad().asnumpy()
        np.testing.assert_allclose(ours.grad().asnumpy(), twice, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "qwen2", "bert-classifier", "vit-classifier"])
@pytest.mark.parametrize("hybridized", [False, True])
def test_training_lowers_the_loss(name, hybridized, tmp_path):
    net = text.load(FOLDERS / name)
    net.hybridize(hybridized)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    inputs = nd.array(cases.pictures()) if name in cases.VITS else whole(cases.tokens())
    labels = whole([0, 1, 2]) if name in (*cases.VITS, *cases.BERTS) else whole(cases.tokens())
    losses = []
    for _ in range(20):
        with autograd.record(train_mode=False):  # without dropout
            scores = net(inputs)
            loss = entropy(scores.reshape((-1, scores.shape[-1])), labels.reshape((-1,))).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    assert losses[-1] < 0.8 * losses[0]
    text.save(net, tmp_path)
    assert_same(name, asked(text.load(tmp_path), name), asked(net, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama3", "bert", "vit"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_other_dtypes(name, dtype, tmp_path):
    net = text.load(FOLDERS / name, dtype=dtype)
    wide = text.load(FOLDERS / name)
    assert {np.dtype(param.dtype).name for param in parameters(net)} == {dtype}
    if name in cases.VITS:
        found = net(nd.array(cases.pictures()).astype(dtype))
    else:
        found = net(whole(cases.tokens()))
    found = found[0] if isinstance(found, tuple) else found
    assert found.dtype == np.dtype(dtype)
    wanted = wide(nd.array(cases.pictures()) if name in cases.VITS else whole(cases.tokens()))
    wanted = (wanted[0] if isinstance(wanted, tuple) else wanted).asnumpy()
    near = 1e-4 if dtype == "float64" else 0.1 * np.abs(wanted).max()
    np.testing.assert_allclose(found.astype("float32").asnumpy(), wanted, atol=near)
    text.save(net, tmp_path)
    again = text.load(tmp_path)
    for ours, theirs in zip(parameters(again), parameters(net), strict=True):
        assert np.dtype(ours.dtype).name == dtype
        same = ours.data().astype("float64") == theirs.data().astype("float64")
        assert same.asnumpy().all()


def test_every_bfloat16_is_cast_exactly(tmp_path):
    """Zeros, infinities, NaN and numbers below the least normal one, also transposed."""
    net = text.gpt2(units=64, layers=1, heads=1, hidden_units=1024, vocab_size=3, max_length=2)
    net.initialize()
    net.cast("bfloat16")
    text.save(net, tmp_path)
    bits = np.arange(65536, dtype=np.uint16).reshape(64, 1024)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    name = "transformer.h.0.mlp.c_fc.weight"
    tensors[name] = bits.view(tensors[name].dtype)
    save_file(tensors, path, {"format": "pt"})
    found = text.load(tmp_path, dtype="float32").features.layers[0].hidden.weight.data().asnumpy()
    np.testing.assert_array_equal(found.T.view(np.uint32), bits.astype(np.uint32) << 16)


def test_a_cache_has_the_dtype_of_the_network():
    net = text.load(FOLDERS / "llama", dtype="bfloat16")
    cache = net.new_cache(2, 8)
    assert cache.keys[0].dtype == net.features.tokens.weight.dtype
    assert cache.keys[0].shape == (2, 8, 2, 4)
    assert net(whole(cases.tokens(2, 3)), cache).shape == (2, 3, 40)
    assert net.max_length == 64


@pytest.mark.parametrize("name", ["gpt2", "llama3", "bert-masked"])
def test_tied_weights_are_one_parameter(name):
    net = text.load(FOLDERS / name)
    assert net.output.weight is net.features.tokens.weight
    untied = text.load(FOLDERS / "llama")
    assert untied.output.weight is not untied.features.tokens.weight


def test_several_contexts():
    contexts = [hn.cpu(0), hn.cpu(1)]
    net = text.load(FOLDERS / "gpt2", ctx=contexts)
    assert set(net.collect_params().values()).pop().list_ctx() == contexts
    wanted = text.load(FOLDERS / "gpt2")(whole(cases.tokens())).asnumpy()
    for ctx in contexts:
        tokens = nd.array(cases.tokens(), dtype="int32", ctx=ctx)
        np.testing.assert_allclose(net(tokens).asnumpy(), wanted, atol=1e-5)
        scores = net(tokens[:, :3], net.new_cache(3, 8, ctx)).asnumpy()
        np.testing.assert_allclose(scores, wanted[:, :3], atol=1e-5)


def test_threads_read_and_run():
    wanted = text.load(FOLDERS / "llama")(whole(cases.tokens())).asnumpy()
    found = [None] * 4

    def work(number):
        net = text.load(FOLDERS / "llama")
        net.hybridize()
        found[number] = [net(whole(cases.tokens())).asnumpy() for _ in range(3)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for answers in found:
        for one in answers:
            np.testing.assert_allclose(one, wanted, atol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit"])
@pytest.mark.parametrize("hybridized", [False, True])
def test_copies(name, hybridized):
    net = text.load(FOLDERS / name)
    net.hybridize(hybridized)
    wanted = asked(net, name)
    again = copy.deepcopy(net)
    net.collect_params().setattr("grad_req", "null")
    for param in parameters(net):
        param.set_data(nd.zeros(param.shape))
    assert_same(name, asked(again, name), wanted)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_layer_keeps_no_cache(name):
    net = text.load(FOLDERS / name)
    cache = net.new_cache(1, 8)
    kept = weakref.ref(cache.keys[0])
    net(whole([[1, 2]]), cache).wait_to_read()
    del cache
    gc.collect()
    assert kept() is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit"])
def test_exported_files_give_the_same(name, tmp_path):
    net = text.load(FOLDERS / name)
    inputs = nd.array(cases.pictures()) if name == "vit" else whole(cases.tokens())
    hn.export(net, tmp_path / "net.hnx", inputs)
    wanted, found = net(inputs), hn.load(tmp_path / "net.hnx")(inputs)
    pair = (wanted, found) if isinstance(wanted, tuple) else ((wanted,), (found,))
    for ours, theirs in zip(*pair, strict=True):
        np.testing.assert_allclose(theirs.asnumpy(), ours.asnumpy(), atol=1e-5)


def test_decoders_are_no_symbols():
    for name in ("gpt2", "llama"):
        net = text.load(FOLDERS / name)
        with pytest.raises(ParameterError, match=r"got Symbol; .*is exported by hn\.export"):
            net(hn.sym.var("tokens"))
        with pytest.raises(ShapeError, match=r"tokens must be \(batch, length\), got \(3,\)"):
            net(whole([1, 2, 3]))


def test_new_networks_of_all_kinds():
    tokens = nd.zeros((2, 5), dtype="int32")
    small = {"units": 8, "layers": 1, "heads": 2, "vocab_size": 10}
    made = {
        text.gpt2(**small): (2, 5, 10),
        text.llama(**small, hidden_units=12): (2, 5, 10),
        text.bert("masked", **small, hidden_units=12): (2, 5, 10),
        text.bert("classifier", 4, **small, hidden_units=12): (2, 4),
    }
    for net, shape in made.items():
        net.initialize()
        assert net(tokens).shape == shape
    net = vision.vit(7, image_size=8, patch_size=4, units=8, layers=1, heads=2, hidden_units=12)
    net.initialize()
    assert net(nd.zeros((2, 3, 8, 8))).shape == (2, 7)


def test_default_sizes_are_the_published_ones():
    """Parameters in millions, as the papers and folders have them."""
    made = {
        text.gpt2(): 124,
        text.bert(): 109,
        text.llama(): 6738,
        vision.vit(): 86,
    }
    for net, millions in made.items():
        assert sum(nbytes(param.shape, 1) for param in parameters(net)) // 10**6 == millions


# -- the hub ---------------------------------------------------------------------------------------


def test_the_hub_is_asked_by_its_package(monkeypatch, tmp_path):
    asked_for = []

    def snapshot_download(name, revision, allow_patterns):
        asked_for.append((name, revision))
        assert not any(pattern.endswith(".bin") for pattern in allow_patterns)
        return str(copied("gpt2", tmp_path / str(len(asked_for))))

    hub = types.SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    assert text.load("hf://owner/name").max_length == 32
    text.load("hf://owner/name@main")
    assert asked_for == [("owner/name", None), ("owner/name", "main")]
    with pytest.raises(ParameterError, match="must be hf://owner/name, got hf://name"):
        text.load("hf://name")


def test_a_hub_that_cannot_be_reached(monkeypatch):
    def snapshot_download(*_, **__):
        raise OSError("no network")

    hub = types.SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    with pytest.raises(
        MXNetError, match=r"hf://a/b could not be fetched: no network; .*hf download"
    ):
        text.load("hf://a/b")


@pytest.mark.parametrize(
    ("package", "call", "message"),
    [
        ("huggingface_hub", lambda: text.load("hf://a/b"), "pip install huggingface_hub"),
        ("safetensors", lambda: text.load(FOLDERS / "gpt2"), r"pip install 'hybridnet\[text\]'"),
        ("tokenizers", lambda: text.load_tokenizer(FOLDERS), r"pip install 'hybridnet\[text\]'"),
    ],
)
def test_packages_that_are_missing(monkeypatch, package, call, message):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.numpy", None)
    with pytest.raises(ImportError, match=message):
        call()

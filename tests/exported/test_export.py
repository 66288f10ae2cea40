"""`hn.export` and `hn.load`: files that run with NumPy and JAX alone; bad ones are refused."""

import dataclasses
import hashlib
import json
import re
import subprocess
import sys
import zipfile

import damaged_files
import numpy as np
import pytest
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from places import ROOT

import hybridnet as hn
from hybridnet import gluon, nd
from hybridnet.base.errors import DTypeError, FormatError, MXNetError, ParameterError, ShapeError
from hybridnet.exported import archive, program

RNG = np.random.default_rng(0)


def network():
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(4, 3, activation="relu"),
        gluon.nn.BatchNorm(),
        gluon.nn.MaxPool2D(2),
        gluon.nn.Dense(5),
    )
    net.initialize()
    return net


def images(count):
    return nd.array(RNG.normal(size=(count, 1, 8, 8)).astype("f"))


def same(got, wanted, rtol=1e-5):
    np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=rtol, atol=1e-6)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A network, and the file of it that was exported before it had shapes."""
    net, path = network(), tmp_path_factory.mktemp("exported") / "net.hnx"
    hn.export(net, path, images(2))
    return net, path


def test_a_convolution_of_these_sizes_is_exported_without_the_libraries_of_this_machine(tmp_path):
    net = gluon.nn.Conv2D(16, 3)
    net.initialize()
    x = nd.random.uniform(shape=(4, 8, 32, 32))
    expected = net(x).asnumpy()
    hn.export(net, tmp_path / "conv.hnx", x, batch=False)
    found = hn.load(tmp_path / "conv.hnx")(x).asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_network_is_exported_for_every_batch(exported):
    net, path = exported
    model = hn.load(path)
    assert model.manifest.platforms == ("cpu", "cuda")
    assert repr(model).endswith("(float32[n0,1,8,8]) for cpu, cuda>")
    for count in (2, 3):
        x = images(count)
        same(model(x), net(x))
    same(model(x.asnumpy()), net(x))
    inside = hn.function(lambda x: model(x * 1) + 1)
    same(inside(x), net(x) + 1)
    assert not list(path.parent.glob(".*"))


def test_the_loader_of_the_documentation_needs_no_hybridnet(exported, tmp_path):
    net, path = exported
    text = (ROOT / "docs" / "function.md").read_text()
    (code,) = re.findall(r"```python\n(import dataclasses\n.*?)```", text, re.DOTALL)
    x = images(3)
    np.save(tmp_path / "x.npy", x.asnumpy())
    script = f"""{code}
import sys
model = load({str(path)!r})
np.save({str(tmp_path / "y.npy")!r}, np.asarray(model(np.load({str(tmp_path / "x.npy")!r}))[0]))
assert not any(name.split(".")[0] == "hybridnet" for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
    same(nd.array(np.load(tmp_path / "y.npy")), net(x))


def test_functions_with_structures_constants_and_other_dtypes(tmp_path):
    w = nd.array(RNG.normal(size=(3,)), dtype="float64")
    half = nd.array([1.5, 2.5, -3], dtype="bfloat16")

    def f(parts, x):
        return {"y": [parts["a"] * w + x, (half * 2).astype("float32")], "n": (3, "text", None)}

    path = tmp_path / "f.hnx"
    x = nd.array(RNG.normal(size=(2, 3)), dtype="float64")
    hn.export(f, path, {"a": x}, x, platforms=["cpu"])
    found, wanted = hn.load(path)({"a": x}, x), f({"a": x}, x)
    same(found["y"][0], wanted["y"][0], 1e-12)
    same(found["y"][1], wanted["y"][1])
    assert found["n"] == (3, "text", None)
    assert hn.load(path).manifest.platforms == ("cpu",)


def test_open_sizes_of_several_axes(tmp_path):
    def f(x, mask):
        return nd.softmax(nd.dot(x, nd.ones((4, 2))) * mask.expand_dims(2), axis=1)

    path = tmp_path / "f.hnx"
    hn.export(f, path, hn.TensorSpec((None, None, 4)), hn.TensorSpec((None, None)))
    model = hn.load(path)
    for shape in ((2, 3), (5, 1)):
        x = nd.array(RNG.normal(size=(*shape, 4)).astype("f"))
        mask = nd.ones(shape)
        same(model(x, mask), f(x, mask))
    with pytest.raises(ShapeError, match=r"array 1 must be float32\[n0,n1\], got float32\[5,2\]"):
        model(x, nd.ones((5, 2)))


def test_a_size_that_matters_is_fixed_or_refused(tmp_path):
    path = tmp_path / "f.hnx"

    def f(x):
        return x.reshape((x.shape[0] * 2, -1))

    hn.export(f, path, nd.ones((2, 4)))
    model = hn.load(path)
    assert model(nd.ones((2, 4))).shape == (4, 2)
    with pytest.raises(ShapeError, match=r"must be float32\[2,4\]"):
        model(nd.ones((3, 4)))
    for options in ({"batch": True}, {}):
        spec = nd.ones((2, 4)) if options else hn.TensorSpec((None, 4))
        with pytest.raises(MXNetError, match="cannot be exported for any size.*depends on"):
            hn.export(f, path, spec, **options)
    hn.export(lambda x: x + 1, path, nd.ones((2, 4)), batch=False)
    assert hn.load(path).manifest.inputs[0].shape == (2, 4)


def halved(x, n):
    i = n * 0
    while i < n:
        if x.sum() > 5:
            x = x / 2
        else:
            x = x * 3
        i = i + 1
    return x


def test_loops_and_branches_are_exported(tmp_path):
    path, function = tmp_path / "f.hnx", hn.function(halved)
    x = nd.array([1.0, 2])
    hn.export(function, path, x, nd.ones((1,)))
    model = hn.load(path)
    for turns in (0, 1, 2, 5):
        same(model(x, nd.array([turns])), halved(x, turns))
    with pytest.raises(MXNetError, match="loops and branches over arrays.*need all sizes"):
        hn.export(function, path, hn.TensorSpec((None,)), nd.ones((1,)))


def test_random_states_and_counters_go_on_from_call_to_call(tmp_path):
    calls = nd.zeros((1,))

    @hn.function
    def f(x):
        calls[:] = calls + 1
        return x + nd.random.uniform(shape=(3,)), calls

    path = tmp_path / "f.hnx"
    hn.random.seed(5)
    hn.export(f, path, nd.zeros((3,)))
    hn.random.seed(5)
    model = hn.load(path)
    zeros = nd.zeros((3,))
    wanted = [f(zeros)[0].asnumpy() for _ in range(3)]
    for number in range(3):
        drawn, count = model(zeros)
        np.testing.assert_allclose(drawn.asnumpy(), wanted[number], rtol=1e-6)
        assert count.asscalar() == number + 1
    model.seed(5)
    np.testing.assert_allclose(model(zeros)[0].asnumpy(), wanted[0], rtol=1e-6)


def test_a_size_of_which_random_numbers_are_drawn_is_fixed(tmp_path):
    path = tmp_path / "f.hnx"
    net = gluon.nn.Dropout(0.5)
    hn.export(net, path, nd.ones((40, 5)), train_mode=True)
    model = hn.load(path)
    found = model(nd.ones((40, 5))).asnumpy()
    assert set(np.unique(found)) == {0, 2}
    assert (model(nd.ones((40, 5))).asnumpy() != found).any()
    with pytest.raises(MXNetError, match="cannot be exported for any size"):
        hn.export(net, path, hn.TensorSpec((None, 5)), train_mode=True)


def test_training_mode_takes_statistics_of_the_batch(exported, tmp_path):
    """It leaves the running ones alone: a backward pass moves them."""
    net, _ = exported
    path = tmp_path / "train.hnx"
    x = images(4)
    hn.export(net, path, x, train_mode=True)
    model = hn.load(path)
    assert not model.manifest.updates
    with hn.autograd.train_mode():
        same(model(x), net(x), 1e-4)


def test_a_step_moves_statistics(tmp_path):
    def step(x):
        with hn.autograd.record():
            loss = (net(x) * nd.arange(3)).sum()
        loss.backward()
        return net.running_mean.data() + 0

    net = hn.gluon.nn.BatchNorm(in_channels=3)
    net.initialize()
    x = nd.array(np.arange(12).reshape(4, 3))
    path = tmp_path / "step.hnx"
    hn.export(step, path, x)
    model = hn.load(path)
    for moved in (0.1, 0.19):
        np.testing.assert_allclose(model(x).asnumpy(), moved * x.asnumpy().mean(0), rtol=1e-5)


def test_symbols_take_their_parameters(tmp_path):
    path = tmp_path / "s.hnx"
    symbol = hn.sym.FullyConnected(hn.sym.var("data"), num_hidden=2, name="fc")
    params = {"fc_weight": nd.array([[1.0, 2], [3, 4]]), "fc_bias": nd.array([10.0, 20])}
    hn.export(symbol, path, hn.TensorSpec((None, 2)), params=params)
    np.testing.assert_allclose(hn.load(path)(nd.ones((1, 2))).asnumpy(), [[13, 27]])
    with pytest.raises(ParameterError, match="params has other, which the symbol does not take"):
        hn.export(symbol, path, nd.ones((1, 2)), params={"other": nd.ones((1,))})


def test_an_input_signature_stands_for_examples(tmp_path):
    @hn.function(input_signature=[hn.TensorSpec((None, 2))])
    def f(x):
        return x * 2

    hn.export(f, tmp_path / "f.hnx")
    assert hn.load(tmp_path / "f.hnx")(nd.ones((3, 2))).shape == (3, 2)


@pytest.mark.parametrize(
    ("model", "args", "options", "message"),
    [
        (lambda x: hn.print(x), [nd.ones((1,))], {}, "runs Python code"),
        (lambda x: x.__iadd__(1), [nd.ones((1,))], {}, "overwrites one of its arguments"),
        (lambda x: object(), [nd.ones((1,))], {}, "must return arrays"),
        (lambda x: {1: x}, [nd.ones((1,))], {}, "keys of dicts must be text"),
        (lambda x, n: x, [nd.ones((1,)), 3], {}, "examples must be arrays.*got int: 3"),
        (lambda x: x, [hn.TensorSpec(None)], {}, "known rank"),
        (lambda x: x, [nd.ones((1,))], {"platforms": "cpu"}, "platforms must be some of"),
        (lambda x: x, [nd.ones((1,))], {"platforms": ["gpu"]}, "platforms must be some of"),
        (lambda x: x, [nd.ones((1,))], {"params": {}}, "params are for symbols"),
        (3, [nd.ones((1,))], {}, "needs a function, a block or a symbol, got int"),
    ],
)
def test_what_cannot_be_exported(model, args, options, message, tmp_path):
    with pytest.raises(MXNetError, match=message):
        hn.export(model, tmp_path / "f.hnx", *args, **options)
    assert not list(tmp_path.iterdir())


def test_arguments_of_a_loaded_model_are_checked(exported, tmp_path):
    model = hn.load(exported[1])
    with pytest.raises(DTypeError, match="got float64"):
        model(images(2).astype("float64"))
    with pytest.raises(ShapeError, match="array 0 must be"):
        model(nd.ones((2, 8, 8)))
    with pytest.raises(ParameterError, match="in the structure"):
        model(images(2), images(2))
    with pytest.raises(ParameterError, match="in the structure"):
        model([images(2)])
    path = tmp_path / "cuda.hnx"
    hn.export(lambda x: x + 1, path, nd.ones((2,)), platforms=["cuda"])
    with pytest.raises(MXNetError, match="was exported for cuda, and cannot run on cpu"):
        hn.load(path)(nd.ones((2,)))


# -- bad files -------------------------------------------------------------------------------


def rewritten(path, target, change):
    """Writes an exported file again with parts changed; `change` gets them by name."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    change(parts)
    with zipfile.ZipFile(target, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return target


def in_manifest(**fields):
    def change(parts):
        manifest = json.loads(parts["manifest.json"])
        for key, value in fields.items():
            manifest[key] = value(manifest[key]) if callable(value) else value
        parts["manifest.json"] = json.dumps(manifest).encode()

    return change


def widened(parameters):
    return [{**parameters[0], "shape": [1 << 40, 1 << 20]}, *parameters[1:]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_manifest(version=2), "version 2 of the format.*reads version 1"),
        (in_manifest(format="else"), "not that of a function"),
        (in_manifest(calling_convention=99), "99 of JAX's calling"),
        (in_manifest(updates=[77]), "manifest is damaged"),
        (in_manifest(inputs=[]), "manifest is damaged"),
        (in_manifest(results={"array": 5}), "manifest is damaged"),
        (in_manifest(results={"tuple": [{"array": 0}] * 2, "x": 1}), "manifest is damaged"),
        (in_manifest(num_results=1 << 40), "manifest is damaged"),
        (in_manifest(parameters=widened), "and not Argument"),
        (in_manifest(digest="00"), "digest is another"),
        (in_manifest(platforms=3), "manifest is damaged"),
        (lambda parts: parts.update({"manifest.json": b"{"}), "no JSON"),
        (lambda parts: parts.update({"manifest.json": b"[" * 100000}), "no JSON"),
        (lambda parts: parts.pop("program.bin"), "there is no program.bin"),
        (lambda parts: parts.pop("parameter0.npy"), "there is no parameter0.npy"),
        (lambda parts: parts.update({"parameter0.npy": b"x"}), "damaged"),
        (lambda parts: parts.update({"parameter0.npy": parts["parameter0.npy"][:-4]}), "bytes"),
    ],
)
def test_damaged_files_are_refused(exported, change, message, tmp_path):
    path = rewritten(exported[1], tmp_path / "bad.hnx", change)
    with pytest.raises(FormatError, match=message):
        hn.load(path)


def test_files_that_are_cut_or_flipped_anywhere_are_refused(exported, tmp_path):
    data = exported[1].read_bytes()
    bad = tmp_path / "bad.hnx"
    for end in np.linspace(0, len(data) - 1, 20).astype(int):
        bad.write_bytes(data[:end])
        with pytest.raises(FormatError):
            hn.load(bad)
    refused = 0
    for place in RNG.integers(0, len(data), 40):
        bad.write_bytes(data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :])
        try:
            hn.load(bad)
        except FormatError:
            refused += 1
    assert refused >= 30  # what is left are bytes of the archive's own that nobody reads


def test_a_file_that_holds_a_pickle_is_not_unpickled(exported, tmp_path):
    import io

    made = io.BytesIO()
    np.save(made, np.array([{}], dtype=object), allow_pickle=True)
    change = lambda parts: parts.update({"parameter0.npy": made.getvalue()})  # noqa: E731
    with pytest.raises(FormatError, match="and not Argument"):
        hn.load(rewritten(exported[1], tmp_path / "bad.hnx", change))


def hostile(body: str) -> bytes:
    """A program of StableHLO that nobody exported, of %x and %y, float32[2], as a file has it."""
    text = f"""
        func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
          {body}
          return %y : tensor<2xf32>
        }}"""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        version = stablehlo.get_current_version()
        return bytes(stablehlo.serialize_portable_artifact(module, version))


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (f"%y = stablehlo.custom_call @{target}(%x) : (tensor<2xf32>) -> tensor<2xf32>", target)
        for target in (
            "system",
            "xla_ffi_python_cpu_callback",
            "hybridnet_onednn_compute",
            "lapack_spotrf_ffi_",
            "tf.call_tf_function",
            "tpu_custom_call",
        )
    ]
    + [
        (
            """%t = stablehlo.create_token : !stablehlo.token
            %u = "stablehlo.outfeed"(%x, %t) {outfeed_config = ""} :
                (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
            %y = stablehlo.add %x, %x : tensor<2xf32>""",
            "stablehlo.outfeed",
        ),
        (
            """%y = "stablehlo.if"(%p) ({
              %t = stablehlo.create_token : !stablehlo.token
              %r:2 = "stablehlo.infeed"(%t) {infeed_config = ""} :
                  (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
              stablehlo.return %r#0 : tensor<2xf32>
            }, { stablehlo.return %x : tensor<2xf32> }) : (tensor<i1>) -> tensor<2xf32>""",
            "stablehlo.infeed",
        ),
    ],
)
def test_a_program_that_does_more_than_compute_is_refused(body, named, tmp_path):
    path = tmp_path / "file.hnx"
    hn.export(lambda x: x * 2, path, nd.ones((2,)), platforms=("cpu",), batch=False)
    found = archive.read(path)
    if "%p" in body:
        body = "%p = stablehlo.constant dense<true> : tensor<i1>\n" + body
    for data, refused in (
        (hostile("%y = stablehlo.add %x, %x : tensor<2xf32>"), False),
        (hostile(body), True),
        (b"no program", True),
    ):
        digest = hashlib.sha256(data).hexdigest()
        manifest = dataclasses.replace(found.manifest, digest=digest)
        archive.write(path, archive.Archive(manifest, data, found.parameters))
        if not refused:
            assert hn.load(path)(nd.ones((2,))).asnumpy().tolist() == [2, 2]
            continue
        with pytest.raises(FormatError, match="read" if data == b"no program" else named):
            hn.load(path)


def test_every_custom_call_that_jax_promises_to_keep_is_known():
    """None of a newer JAX is missed; the others are kernels and functions that files can bring."""
    from jax._src.export._export import _CUSTOM_CALL_TARGETS_GUARANTEED_STABLE as kept

    not_taken = {name for name in kept if not program._CUSTOM_CALL.fullmatch(name)}
    assert not_taken <= {
        "AllocateBuffer",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "Sharding",
        "annotate_device_placement",
        "mosaic_gpu_v2",
        "tf.call_tf_function",
        "tpu_custom_call",
    }


@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm", "tpu"])
def test_linear_algebra_and_random_numbers_are_loaded(platform, tmp_path):
    def model(x):
        a = nd.linalg.potrf(x)
        q, lower = nd.linalg.gelqf(x)
        vectors, values = nd.linalg.syevd(x)
        top = nd.topk(x, k=2, ret_typ="value")
        return a, q, lower, vectors * vectors, values, nd.linalg.det(x), top, nd.random.normal(0, x)

    x = nd.array(np.eye(3, dtype="f") * [2, 3, 4])
    path = tmp_path / "file.hnx"
    hn.export(model, path, x, platforms=[platform], batch=False)
    loaded = hn.load(path)
    if platform == "cpu":
        for got, expected in zip(loaded(x)[:-1], model(x)[:-1], strict=True):
            same(got, expected)


@pytest.mark.slow
def test_files_damaged_by_chance(exported):
    assert damaged_files.run("hnx", exported[1], 1500) == 0


def test_a_file_at_an_address_is_read(exported):
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe_file("/far.hnx", exported[1].read_bytes())
    assert hn.load("memory://far.hnx") is not None

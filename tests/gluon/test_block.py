"""Blocks: parts, running, tracing, hooks, copies, and files that MXNet and hybridnet exchange."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import gluon_cases as cases
from places import ORACLE

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet.base.errors import DTypeError, FormatError, MXNetError, ParameterError, ShapeError
from hybridnet.gluon import nn

FILES = ORACLE / "files"
BOTH = [hn.cpu(0), hn.cpu(1)]


def mlp(**options: Any) -> nn.HybridSequential:
    """Returns a network for inputs of any width, with parameters that wait."""
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, "tanh", **options), nn.BatchNorm(), nn.Dense(2))
    net.initialize()
    return net


class Pair(gluon.HybridBlock):
    """Two dense layers as attributes, and a parameter."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = nn.Dense(2, in_units=2)
            self.second = nn.Dense(2, in_units=2)
            self.scale = self.params.get("scale", shape=(1, 2), init="ones")

    def hybrid_forward(self, F: Any, x: Any, scale: Any) -> Any:
        return F.broadcast_mul(self.second(self.first(x)), scale)


X = np.arange(10, dtype=np.float32).reshape(2, 5) / 10


# -- parts ---------------------------------------------------------------------------------------


def test_children_are_in_the_order_in_which_they_were_assigned() -> None:
    net = Pair(prefix="pair_")
    assert list(net.collect_params()) == [
        "pair_scale",
        "pair_dense0_weight",
        "pair_dense0_bias",
        "pair_dense1_weight",
        "pair_dense1_bias",
    ]
    seen: list[str] = []
    assert net.apply(lambda block: seen.append(block.name)) is net
    assert seen == ["pair_dense0", "pair_dense1", "pair"]


@pytest.mark.parametrize("hybridize", [False, True])
def test_replacing_a_child_takes_its_place(hybridize: bool) -> None:
    net = Pair(prefix="pair_")
    net.initialize("ones")
    if hybridize:
        net.hybridize()
    x = nd.ones((1, 2))
    assert net(x).asnumpy().tolist() == [[4, 4]]
    net.first = nn.Dense(2, in_units=2, prefix="new_")
    net.first.initialize("zeros")
    assert list(net._children) == ["first", "second"]
    assert net(x).asnumpy().tolist() == [[0, 0]]
    assert "new_weight" in net.collect_params()
    assert "pair_dense0_weight" not in net.collect_params()


def test_attributes_keep_their_kind() -> None:
    net = Pair()
    for value in (3, None, gluon.Parameter("w", shape=(1,))):
        with pytest.raises(TypeError, match=r"Pair.first: is a Dense and must stay a Block"):
            net.first = value
    with pytest.raises(TypeError, match=r"Pair.scale: is a Parameter and must stay a Parameter"):
        net.scale = nn.Dense(1)
    with pytest.raises(ParameterError, match=r"Pair.scale: a Parameter is not replaced.*set_data"):
        net.scale = gluon.Parameter("other", shape=(1,))
    net.extra = None
    net.extra = nn.Dense(1)
    assert list(net._children) == ["first", "second", "extra"]


def test_what_is_no_child() -> None:
    class Early(gluon.Block):
        def __init__(self) -> None:
            self.layer = nn.Dense(1)

    with pytest.raises(ParameterError, match=r"Early.layer: call super\(\).__init__\(\) before"):
        Early()
    with pytest.raises(ParameterError, match="children of a HybridBlock must be .* got Sequential"):
        Pair().extra = nn.Sequential()
    with pytest.raises(
        ParameterError, match="Sequential: children must be Blocks or functions, got int"
    ):
        nn.Sequential().add(3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="got Dense; make one of it first"):
        nn.Sequential().add(nn.Dense)


def test_functions_are_children_of_blocks_that_are_not_hybrid() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(2, in_units=2, prefix="fc_"), lambda x: x * 2)
    net.initialize(hn.init.One())
    assert net(nd.ones((1, 2))).asnumpy().tolist() == [[4, 4]]
    assert list(net.collect_params()) == ["fc_weight", "fc_bias"]
    assert "(1): <function" in repr(net)
    both = gluon.contrib.nn.Concurrent()
    both.add(lambda x: x * 2)
    assert both(nd.ones(2)).asnumpy().tolist() == [2, 2]
    with pytest.raises(ParameterError, match="children of a HybridBlock must be .* got function"):
        nn.HybridSequential().add(lambda x: x)


def test_blocks_without_children_are_shown_as_by_mxnet() -> None:
    assert repr(nn.Sequential()) == "Sequential(\n\n)"
    assert repr(nn.PReLU()) == "PReLU(\n\n)"


def test_blocks_define_forward() -> None:
    with pytest.raises(NotImplementedError, match=r"Block must define forward\(\)"):
        gluon.Block()(nd.ones((1,)))
    with pytest.raises(NotImplementedError, match=r"HybridBlock must define hybrid_forward"):
        gluon.HybridBlock()(nd.ones((1,)))


def test_two_parameters_of_one_name() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(1, prefix="a_"), nn.Dense(1, prefix="a_"))
    with pytest.raises(ParameterError, match="two different parameters named 'a_weight'; give one"):
        net.collect_params()


def test_shared_parameters_are_learned_once() -> None:
    first = nn.Dense(2, in_units=2, prefix="first_")
    second = nn.Dense(2, in_units=2, params=first.params)
    assert second.weight is first.weight
    first.initialize("ones")
    with autograd.record():
        loss = second(first(nd.ones((1, 2)))).sum()
    loss.backward()
    # loss = 1ᵀ W W 1: its gradient is 1 (W 1)ᵀ + (Wᵀ 1) 1ᵀ = 4 everywhere.
    assert first.weight.grad().asnumpy().tolist() == [[4, 4], [4, 4]]


def test_casting() -> None:
    net = mlp()
    net.cast("float64")
    out = net(nd.array(X, dtype="float64"))
    assert out.dtype is np.float64
    assert {one.dtype for one in net.collect_params().values()} == {"float64"}
    net.cast("float16")
    assert net[1].gamma.dtype == "float32"  # as in MXNet
    assert net(nd.array(X, dtype="float16")).dtype is np.float16


# -- running -------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybridize", [False, True])
def test_shapes_are_found_at_the_first_input(hybridize: bool) -> None:
    net = mlp()
    if hybridize:
        net.hybridize()
    assert net[0].weight.shape == (3, 0)
    with pytest.raises(gluon.DeferredInitializationError, match="'net_dense0_weight'.*run some"):
        net[0].weight.data()
    with autograd.record():
        loss = net(nd.array(X)).sum()
    loss.backward()
    assert net[0].weight.shape == (3, 5)
    assert net[1].gamma.shape == (3,)
    assert net[2].bias.grad().asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("hybridize", [False, True])
def test_before_initialization(hybridize: bool) -> None:
    net = nn.Dense(2, prefix="net_")
    if hybridize:
        net.hybridize()
    with pytest.raises(MXNetError, match=r"'net_weight' has not been initialized; call initialize"):
        net(nd.array(X))


def test_inferring_shapes_and_types() -> None:
    net = mlp()
    net.infer_shape(nd.ones((4, 7)))
    assert net[0].weight.shape == (3, 7)
    net.infer_type(nd.ones((4, 7)))
    assert np.dtype(net[0].weight.dtype) == np.float32
    with pytest.raises(DTypeError, match="FullyConnected: .* must have one dtype"):  # as in MXNet
        net.infer_type(nd.ones((4, 7), dtype="float64"))
    with pytest.raises(ShapeError, match="FullyConnected"):
        net.infer_shape(nd.ones((4, 8)))


@pytest.mark.parametrize("hybridize", [False, True])
def test_other_shapes_and_modes_after_the_first(hybridize: bool) -> None:
    net, plain = mlp(in_units=5), None
    net(nd.array(X))
    plain = copy.deepcopy(net)
    if hybridize:
        net.hybridize()
    for batch in (2, 3, 1, 2):
        x = nd.array(cases.numbers(batch, (batch, 5)))
        np.testing.assert_allclose(net(x).asnumpy(), plain(x).asnumpy(), rtol=1e-5, atol=1e-6)
        for one in (net, plain):
            with autograd.record():
                loss = (one(x) ** 2).sum()
            loss.backward()
        for a, b in zip(
            net.collect_params().values(), plain.collect_params().values(), strict=True
        ):
            if a.grad_req != "null":
                np.testing.assert_allclose(
                    a.grad().asnumpy(), b.grad().asnumpy(), rtol=1e-4, atol=1e-5
                )


def test_plain_forward_hybridized() -> None:
    class Plain(gluon.HybridBlock):
        calls = 0

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Dense(2, in_units=2)

        def forward(self, x: Any, factor: float = 1.0) -> Any:
            Plain.calls += 1
            return [self.layer(x) * factor, {"x": x + 1}]

    net = Plain()
    net.initialize("ones")
    net.hybridize()
    for _ in range(3):
        doubled, rest = net(nd.ones((1, 2)), 2.0)
        assert doubled.asnumpy().tolist() == [[4, 4]]
        assert rest["x"].asnumpy().tolist() == [[2, 2]]
    assert Plain.calls == 1
    assert net(nd.ones((1, 2)), 3.0)[0].asnumpy().tolist() == [[6, 6]]
    assert Plain.calls == 2


def test_changes_of_parameters_reach_traces() -> None:
    net = Pair(prefix="pair_")
    net.initialize("ones")
    net.hybridize()
    x = nd.ones((1, 2))
    net(x)
    net.first.weight.set_data(np.zeros((2, 2)))
    assert net(x).asnumpy().tolist() == [[0, 0]]
    net.initialize("ones", force_reinit=True)
    assert net(x).asnumpy().tolist() == [[4, 4]]
    net.cast("float64")
    assert net(x.astype("float64")).dtype is np.float64
    net.cast("float32")
    net.collect_params().reset_ctx(hn.cpu(1))
    assert net(x.as_in_context(hn.cpu(1))).context == hn.cpu(1)
    net.hybridize(False)
    assert net(x.as_in_context(hn.cpu(1))).asnumpy().tolist() == [[4, 4]]


@pytest.mark.parametrize("hybridize", [False, True])
def test_several_contexts(hybridize: bool) -> None:
    net = Pair(prefix="pair_")
    net.initialize(ctx=BOTH)
    if hybridize:
        net.hybridize()
    outs = [net(nd.ones((1, 2), ctx=ctx)) for ctx in BOTH]
    assert [one.context for one in outs] == BOTH
    np.testing.assert_array_equal(*(one.asnumpy() for one in outs))
    net.collect_params().reset_ctx(hn.cpu(1))
    with pytest.raises(MXNetError, match=r"was not initialized on cpu\(0\); it is on cpu\(1\)"):
        net(nd.ones((1, 2)))


def test_wrong_numbers_of_inputs() -> None:
    net = nn.Dense(2, in_units=2, prefix="net_")
    net.initialize()
    with pytest.raises(TypeError, match=r"net \(Dense\): takes x, got 2 inputs"):
        net(nd.ones((1, 2)), nd.ones((1, 2)))
    with pytest.raises(TypeError, match="x"):
        net()


def test_what_a_trace_cannot_do() -> None:
    class Reads(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x if x.sum().asnumpy()[0] > 0 else -x

    net = Reads()
    assert net(nd.ones((1,))).asscalar() == 1
    net.hybridize()
    with pytest.raises(MXNetError, match=r"hybridize\(\).* cannot be read there"):
        net(nd.ones((1,)))
    with pytest.raises(ParameterError, match="no backend 'tensorrt'"):
        net.hybridize(backend="tensorrt")


def test_threads_run_one_block() -> None:
    net = mlp()
    net(nd.array(X))
    net.hybridize()
    inputs = [nd.array(cases.numbers(seed, (2, 5))) for seed in range(8)]
    wanted = [net(x).asnumpy() for x in inputs]
    found: list[Any] = [None] * 8

    def run(place: int) -> None:
        found[place] = net(inputs[place]).asnumpy()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    np.testing.assert_array_equal(found, wanted)


def test_names_scopes_are_each_threads_own() -> None:
    names: list[str] = []
    with hn.name.NameManager(), nn.HybridSequential(prefix="outer_").name_scope():

        def make() -> None:
            with hn.name.NameManager():
                names.append(nn.Dense(1).name)

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        names.append(nn.Dense(1).name)
    assert names == ["dense0", "outer_dense0"]


# -- hooks, summary ------------------------------------------------------------------------------


def test_hooks() -> None:
    net = Pair(prefix="pair_")
    net.initialize()
    seen: list[str] = []
    before = net.register_forward_pre_hook(lambda block, x: seen.append(f"before {len(x)}"))
    net.first.register_forward_hook(lambda block, x, out: seen.append(f"first {out.shape}"))
    with net.register_forward_hook(lambda block, x, out: seen.append("after")):
        net(nd.ones((1, 2)))
    assert seen == ["before 1", "first (1, 2)", "after"]
    before.detach()
    before.detach()
    net(nd.ones((1, 2)))
    assert seen[3:] == ["first (1, 2)"]
    with pytest.raises(TypeError, match="a hook must be callable, got int"):
        net.register_forward_hook(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="has a hook already"):
        before.attach(net._forward_hooks, print)


def test_summaries(capsys: pytest.CaptureFixture[str]) -> None:
    net = mlp()
    net.summary(nd.array(X))
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "=" not in line]
    assert lines[1:] == [
        ["net_dense0_tanh", "(Activation)", "(2,", "3)", "0"],
        ["net_dense0", "(Dense)", "(2,", "3)", "18"],
        ["net_batchnorm0", "(BatchNorm)", "(2,", "3)", "12"],
        ["net_dense1", "(Dense)", "(2,", "2)", "8"],
        ["net", "(HybridSequential)", "(2,", "2)", "0"],
        ["parameters", "in", "all", "38"],
        ["of", "these", "learned", "32"],
    ]
    net.hybridize()
    with pytest.raises(AssertionError, match="summary: needs blocks that run operator by operator"):
        net.summary(nd.array(X))


# -- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("via", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_share_nothing(hybridize: bool, via: Any) -> None:
    net = mlp()
    x = nd.array(X)
    net(x)
    if hybridize:
        net.hybridize()
        net(x)
    other = via(net)
    # One of the two may be compiled by now, which rounds otherwise.
    np.testing.assert_allclose(other(x).asnumpy(), net(x).asnumpy(), 1e-5, 1e-8)
    for one in other.collect_params().values():
        one.set_data(np.zeros(one.shape))
    assert not other(x).asnumpy().any()
    assert net(x).asnumpy().any()
    with autograd.record():
        loss = other(x).sum()
    loss.backward()
    assert other[2].bias.grad().asnumpy().tolist() == [2, 2]
    assert net[2].bias.grad().asnumpy().tolist() == [0, 0]


def test_copies_before_the_first_input_wait_for_their_own() -> None:
    net = mlp()
    other = copy.deepcopy(net)
    other(nd.ones((1, 4)))
    assert other[0].weight.shape == (3, 4)
    assert net[0].weight.shape == (3, 0)


# -- files ---------------------------------------------------------------------------------------


def outputs(net: Any) -> list[Any]:
    return [one.asnumpy() for one in net(*cases.saved_inputs(hn))]


def assert_mxnets(net: Any) -> None:
    """Checks that a network gives the outputs which MXNet recorded."""
    for found, wanted in zip(outputs(net), nd.load(FILES / "saved-io.params"), strict=True):
        np.testing.assert_allclose(found, wanted.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["saved", "saved-deduplicated", "saved-dict", "saved-0003"])
@pytest.mark.parametrize("initialize", [False, True])
def test_mxnets_files(name: str, initialize: bool) -> None:
    net = cases.make_saved(hn)
    if initialize:
        net.initialize()
        outputs(net)
    net.load_parameters(FILES / f"{name}.params")
    assert_mxnets(net)
    net.hybridize()
    assert_mxnets(net)


@pytest.mark.parametrize(("name", "how"), [("saved", False), ("saved-deduplicated", True)])
def test_files_are_byte_for_byte_mxnets(tmp_path: Path, name: str, how: bool) -> None:
    net = cases.make_saved(hn)
    net.load_parameters(FILES / "saved.params")
    net.save_parameters(tmp_path / "ours", deduplicate=how)
    assert (tmp_path / "ours").read_bytes() == (FILES / f"{name}.params").read_bytes()


def test_dicts_and_exports_are_mxnets(tmp_path: Path) -> None:
    net = cases.make_saved(hn)
    net.load_parameters(FILES / "saved.params")
    assert_mxnets(net)
    net.collect_params().save(tmp_path / "dict", strip_prefix="saved_")
    assert_same_arrays(tmp_path / "dict", FILES / "saved-dict.params")
    symbol, params = net.export(str(tmp_path / "ours"), 3)
    assert_same_arrays(Path(params), FILES / "saved-0003.params")
    ours, theirs = sym.load(symbol), sym.load(FILES / "saved-symbol.json")
    assert ours.list_arguments() == theirs.list_arguments()
    assert ours.list_auxiliary_states() == theirs.list_auxiliary_states()
    assert ours.list_outputs() == theirs.list_outputs()


def assert_same_arrays(ours: Path, theirs: Path) -> None:
    found, wanted = nd.load(ours), nd.load(theirs)
    assert found.keys() == wanted.keys()
    for name, one in wanted.items():
        np.testing.assert_array_equal(found[name].asnumpy(), one.asnumpy())


@pytest.mark.parametrize("by", ["mxnet", "hybridnet"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_imports(tmp_path: Path, by: str, hybridize: bool) -> None:
    prefix = str(FILES / "saved")
    if by == "hybridnet":
        prefix = str(tmp_path / "net")
        net = cases.make_saved(hn)
        net.load_parameters(FILES / "saved.params")
        outputs(net)
        net.export(prefix, 3)
    block = gluon.SymbolBlock.imports(
        prefix + "-symbol.json", ["data0", "data1"], prefix + "-0003.params", hn.cpu(1)
    )
    block.collect_params().reset_ctx(hn.cpu(0))
    if hybridize:
        block.hybridize()
    assert_mxnets(block)
    assert (
        block.collect_params()["saved_hybridsequential0_batchnorm0_running_var"].grad_req == "null"
    )


def test_imported_networks_learn() -> None:
    block = gluon.SymbolBlock.imports(
        FILES / "saved-symbol.json", ["data0", "data1"], FILES / "saved-0003.params"
    )
    original = cases.make_saved(hn)
    original.load_parameters(FILES / "saved.params")
    grads = []
    for net in (block, original):
        with autograd.record():
            first, second = net(*cases.saved_inputs(hn))
            loss = (first**2).sum() + second.sum()
        loss.backward()
        params = net.collect_params()
        grads.append(params["saved_hybridsequential0_dense0_weight"].grad().asnumpy())
        mean = params["saved_hybridsequential0_batchnorm0_running_mean"].data().asnumpy()
        grads.append(mean)
    np.testing.assert_allclose(grads[0], grads[2], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(grads[1], grads[3], rtol=1e-5)


def test_symbol_blocks() -> None:
    data = sym.var("data")
    inner = sym.FullyConnected(data, num_hidden=3, name="fc")
    block = gluon.SymbolBlock([inner, sym.tanh(inner)], data)
    block.initialize("ones")
    out, squashed = block(nd.ones((2, 4)))
    # initialize("ones") reaches every parameter without an initializer of its own.
    assert out.asnumpy().tolist() == [[5, 5, 5]] * 2
    np.testing.assert_allclose(squashed.asnumpy(), np.tanh(out.asnumpy()), rtol=1e-6)
    with pytest.raises(ParameterError, match=r"SymbolBlock: needs 1 inputs \(data\), got 2"):
        block(nd.ones((2, 4)), nd.ones((2, 4)))
    with pytest.raises(ShapeError, match=r"^SymbolBlock: FullyConnected: .*float32\[2,3\]"):
        block(nd.ones((2, 3)))
    with pytest.raises(ParameterError, match="inputs must be variables"):
        gluon.SymbolBlock(inner, inner)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ignore_extra": True}, r"has no 0.weight.*it has .*allow_missing=True"),
        ({"allow_missing": True}, r"9.weight is no parameter here; there are .*ignore_extra=True"),
    ],
)
def test_files_with_other_names(tmp_path: Path, change: dict[str, bool], message: str) -> None:
    net = mlp()
    net(nd.array(X))
    net.save_parameters(tmp_path / "whole")
    saved = nd.load(tmp_path / "whole")
    before = net[2].weight.data().asnumpy()
    saved["9.weight"] = saved.pop("0.weight")
    saved["2.weight"] = saved["2.weight"] + 1
    nd.save(tmp_path / "other", saved)
    with pytest.raises(ParameterError, match=message):
        net.load_parameters(tmp_path / "other", **change)
    np.testing.assert_array_equal(net[2].weight.data().asnumpy(), before)  # nothing was loaded
    net.load_parameters(tmp_path / "other", allow_missing=True, ignore_extra=True)
    np.testing.assert_array_equal(net[2].weight.data().asnumpy(), before + 1)


def test_files_with_other_shapes_and_dtypes(tmp_path: Path) -> None:
    net = mlp()
    net(nd.array(X))
    before = net[0].weight.data().asnumpy()
    net.save_parameters(tmp_path / "whole")
    saved = nd.load(tmp_path / "whole")
    nd.save(tmp_path / "shape", {**saved, "2.bias": nd.ones((3,))})
    with pytest.raises(ShapeError, match=r"2.bias has shape \(3,\), but the parameter has \(2,\)"):
        net.load_parameters(tmp_path / "shape")
    halves = {name: (one + 1).astype("float16") for name, one in saved.items()}
    nd.save(tmp_path / "halves", halves)
    with pytest.raises(ParameterError, match="float16, but the parameter has float32; pass cast"):
        net.load_parameters(tmp_path / "halves")
    np.testing.assert_array_equal(net[0].weight.data().asnumpy(), before)
    net.load_parameters(tmp_path / "halves", cast_dtype=True)
    assert net[0].weight.dtype == "float32"
    net.load_parameters(tmp_path / "halves", cast_dtype=True, dtype_source="saved")
    assert net[0].weight.data().dtype is np.float16
    with pytest.raises(ParameterError, match="dtype_source must be 'current' or 'saved', got 'x'"):
        net.load_parameters(tmp_path / "halves", cast_dtype=True, dtype_source="x")


def test_files_that_are_no_parameters(tmp_path: Path) -> None:
    net = mlp()
    (tmp_path / "garbage").write_bytes(b"garbage")
    with pytest.raises(FormatError, match="garbage.*damaged"):
        net.load_parameters(tmp_path / "garbage")
    nd.save(tmp_path / "list", [nd.ones((1,))])
    with pytest.raises(ParameterError, match="list: must hold arrays by name"):
        net.load_parameters(tmp_path / "list")
    with pytest.raises(FileNotFoundError, match="missing"):
        net.load_parameters(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="missing"):
        gluon.SymbolBlock.imports(tmp_path / "missing", "data")
    with pytest.raises(gluon.DeferredInitializationError, match="net_dense0_weight"):
        net.save_parameters(tmp_path / "early")
    assert not (tmp_path / "early").exists()


def test_loading_onto_contexts(tmp_path: Path) -> None:
    net = mlp(in_units=5)
    net(nd.array(X))
    net.save_parameters(tmp_path / "saved")
    fresh = nn.HybridSequential(prefix="net_")
    with fresh.name_scope():
        fresh.add(nn.Dense(3, "tanh"), nn.BatchNorm(), nn.Dense(2))
    fresh.load_parameters(tmp_path / "saved", ctx=BOTH)
    for ctx in BOTH:
        out = fresh(nd.array(X, ctx=ctx))
        np.testing.assert_allclose(out.asnumpy(), net(nd.array(X)).asnumpy(), rtol=1e-6)
    with pytest.raises(ParameterError, match=r"was to go to \[cpu\(0\)\], but .* use reset_ctx"):
        fresh.load_parameters(tmp_path / "saved", ctx=hn.cpu(0))


def test_exporting_needs_values(tmp_path: Path) -> None:
    net = mlp()
    with pytest.raises(gluon.DeferredInitializationError, match="net_dense0_weight"):
        net.export(str(tmp_path / "net"))
    assert not list(tmp_path.iterdir())

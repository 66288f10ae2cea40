"""What programs of MXNet do with blocks beside training: hooks, old names, warnings."""

import warnings

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.gluon import nn


def network(prefix="net_"):
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(2), nn.Activation("relu"))
    net.initialize(mx.init.One())
    return net


def test_hooks_see_what_each_operator_makes():
    x = nd.ones((2, 3))
    for whole in (False, True):
        seen = []
        net = network()
        net.register_op_hook(
            lambda name, op, array, seen=seen: seen.append((name, op, array)), whole
        )
        net(x)
        assert not seen, "only hybridized blocks show their operators"
        net.hybridize(static_alloc=True)
        with autograd.record():
            out = net(x)
        out.backward()
        made = [
            (b"net_dense0_fwd_output", b"FullyConnected"),
            (b"net_relu0_fwd_output", b"Activation"),
        ]
        if whole:
            read = ["dense0_fwd_data", "dense0_fwd_weight", "dense0_fwd_bias", "relu0_fwd_input0"]
            read = [f"net_{name}".encode() for name in read]
            assert [name for name, *_ in seen] == [*read[:3], made[0][0], read[3], made[1][0]]
        else:
            assert [(name, op) for name, op, _ in seen] == made
        np.testing.assert_array_equal(seen[-1][2].asnumpy(), np.full((2, 2), 3))
        assert (net[0].weight.grad().asnumpy() == 2).all()
    outer = nn.Sequential()
    outer.add(network("inner_"))
    shown = []
    outer.register_op_hook(lambda name, *_: shown.append(name))
    outer[0].initialize()
    outer[0].hybridize()
    outer[0](x)
    assert shown  # a block that is not hybridized shows the operators of those in it that are


def test_old_names_of_files_and_parameters(tmp_path):
    net, other = network(), network("other_")
    net(nd.ones((1, 3)))
    with pytest.warns(UserWarning, match="save_params is old"):
        net.save_params(tmp_path / "old.params")
    with pytest.warns(UserWarning, match="load_params is old"):
        other.load_params(tmp_path / "old.params", ctx=mx.cpu())
    assert list(nd.load(str(tmp_path / "old.params"))) == ["dense0_weight", "dense0_bias"]
    assert list(net._collect_params_with_prefix()) == ["0.weight", "0.bias"]
    assert list(net[0]._reg_params) == ["weight", "bias"]
    assert nn.Conv2D(3, 2)._kwargs["kernel"] == (2, 2)
    assert nn.BatchNorm(epsilon=0.5)._kwargs["eps"] == 0.5


def test_blocks_are_saved_and_loaded_by_their_structure(tmp_path):
    def made():
        inner = nn.HybridSequential()
        inner.add(nn.Dense(3))
        net = nn.Sequential()
        net._children["some" + inner.name] = inner  # as programs do that count themselves
        net.register_child(nn.Dense(2), "last")
        return net

    net, other = made(), made()
    net.initialize()
    x = nd.ones((1, 4))
    wanted = net(x).asnumpy()
    net.save(tmp_path / "it")
    other.load(tmp_path / "it")
    np.testing.assert_array_equal(other(x).asnumpy(), wanted)
    with pytest.raises(ParameterError, match="must describe blocks of the same kinds"):
        network().load(tmp_path / "it")
    (tmp_path / "it-model.json").write_text("{")
    with pytest.raises(FormatError, match="must be JSON"):
        other.load(tmp_path / "it")


def test_blocks_that_nobody_finds_are_warned_of():
    class Lists(gluon.Block):
        def __init__(self, parts):
            super().__init__()
            self.parts = parts

    for parts in ([nn.Dense(2)], {"a": [nn.Dense(2)]}):
        with pytest.warns(UserWarning, match="Lists.parts: blocks in a .* are not part"):
            Lists(parts).collect_params()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Lists({"a": "4", "b": [1]}).collect_params()
        found = Lists([])
        found.register_child(nn.Dense(2))
        found.parts = list(found._children.values())
        found.collect_params()
    net = nn.Sequential()
    net.add(nn.Dense(2))
    with pytest.warns(UserWarning, match="a HybridSequential would be traced"):
        net.hybridize()


class Added(gluon.HybridBlock):
    def hybrid_forward(self, F, a, b):
        return (sum(a) if isinstance(a, list) else a) + b


def test_arrays_beside_symbols_numbers_and_other_contexts_are_refused():
    one = nd.ones((2,))
    assert Added()(one, 1).asnumpy().tolist() == [2, 2]
    with pytest.raises(ValueError, match="needs arrays only, or symbols only, got NDArray, Sy"):
        Added()(one, mx.sym.var("b"))
    traced = Added()
    traced.hybridize()
    assert traced([one, one], one).asnumpy().tolist() == [3, 3]
    with pytest.raises(ValueError, match=r"or symbols only \(it is hybridized\), got NDArray, int"):
        traced(one, 1)
    with pytest.raises(ValueError, match=r"must be on one context, got cpu\(1\), cpu\(2\)"):
        traced(one.as_in_context(mx.cpu(1)), one.as_in_context(mx.cpu(2)))
    pinned = one.as_in_context(mx.cpu_pinned())
    assert traced(pinned, one).asnumpy().tolist() == [2, 2]


def test_hybridized_blocks_take_sparse_arrays():
    class Product(gluon.HybridBlock):
        def hybrid_forward(self, F, a, b):
            return F.dot(a, b)

    product = Product()
    product.hybridize()
    a = nd.array([[0, 2], [1, 0]])
    got = product(a.tostype("csr"), nd.ones((2, 3)))
    np.testing.assert_array_equal(got.asnumpy(), [[2, 2, 2], [1, 1, 1]])


def test_symbol_blocks_stand_where_they_stand(tmp_path):
    def made():
        body = nn.HybridSequential()
        with body.name_scope():
            body.add(nn.Dense(3), nn.Dense(2))
        out = body(mx.sym.var("data"))
        outer = nn.HybridSequential()
        outer.add(gluon.SymbolBlock(out, mx.sym.var("data"), params=body.collect_params()))
        return outer

    net, other = made(), made()
    net.initialize()
    x = nd.ones((1, 4))
    wanted = net(x).asnumpy()
    net.save_parameters(tmp_path / "w.params")
    assert "0.dense0_weight" in net.structural_params()
    other.load_parameters(tmp_path / "w.params")
    np.testing.assert_array_equal(other(x).asnumpy(), wanted)
    lines = repr(net[0]).splitlines()
    assert (lines[0], lines[2]) == ("SymbolBlock(", ")") and lines[1].endswith(": 1 -> 1")
    net[0].reset_ctx(mx.cpu(1))
    assert net[0].collect_params().list_ctx() == [mx.cpu(1)]

    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    wide = gluon.SymbolBlock(fc, mx.sym.var("data", dtype="float64"))
    assert wide.params["fc_weight"].dtype is np.float64


def test_symbol_blocks_refuse_sparse_parameters():
    weight = mx.sym.var("w", attr={"__storage_type__": "1"})
    with pytest.raises(AssertionError, match="parameters must be dense, but the variable 'w'"):
        gluon.SymbolBlock(mx.sym.dot(mx.sym.var("x"), weight), mx.sym.var("x"))


def test_optimize_for_makes_a_block_ready():
    net = network()
    assert net.optimize_for(nd.ones((2, 3)), static_alloc=True) is None
    assert net._active and net[0].weight.shape == (2, 3)
    with pytest.raises(ParameterError, match="there is no backend 'tvm'"):
        net.optimize_for(nd.ones((2, 3)), backend="tvm")


def test_reflection_pads_mirror():
    x = np.arange(12, dtype="float32").reshape(1, 1, 3, 4)
    wanted = np.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)], mode="reflect")
    np.testing.assert_array_equal(nn.ReflectionPad2D(2)(nd.array(x)).asnumpy(), wanted)
    wanted = np.pad(x, [(0, 0), (0, 0), (1, 0), (2, 1)], mode="reflect")
    got = nn.ReflectionPad2D((0, 0, 0, 0, 1, 0, 2, 1))(nd.array(x))
    np.testing.assert_array_equal(got.asnumpy(), wanted)
    with pytest.raises(ParameterError, match="must be a number or 8 of them"):
        nn.ReflectionPad2D((1, 1))


def test_parameters_are_set_from_arrays_by_name():
    params = gluon.ParameterDict("net_")
    params.get("w", shape=(2,))
    params.load_dict({"arg:w": nd.array([1, 2])}, restore_prefix="net_")
    assert params["net_w"].data().asnumpy().tolist() == [1, 2]
    with pytest.raises(ParameterError, match="param_dict: has no net_w"):
        params.load_dict({})


class _Nested(gluon.HybridBlock):
    """Takes and returns lists, and None in them."""

    def __init__(self):
        super().__init__(prefix="nested_")
        with self.name_scope():
            self.dense = nn.Dense(3, use_bias=False)

    def hybrid_forward(self, F, x, pair, nothing):
        """Returns one array, and two in a list."""
        assert nothing is None
        first, second = pair
        return self.dense(x * first), [second, (first,)]


@pytest.mark.parametrize("hybrid", [False, True])
def test_saved_networks_nest_as_their_formats_say(tmp_path, hybrid):
    net = _Nested()
    net.initialize(mx.init.One())
    if hybrid:
        net.hybridize()
    x, first, second = (nd.array([[i, 2]]) for i in range(3))
    wanted, _ = net(x, [first, second], None)
    assert (net._in_format, net._out_format) == ([0, [0, 0], -1], [0, [0, [0]]])
    files = net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(files[0], ["data0", "data1", "data2"], files[1])
    assert (block._in_format, block._out_format) == ([0, 0, 0], 3)
    assert len(block(x, first, second)) == 3
    block._in_format, block._out_format = net._in_format, net._out_format
    got, (again, (once,)) = block(x, [first, second], None)
    assert_same(got, wanted)
    assert_same(again, second)
    assert_same(once, first)
    with pytest.raises(ParameterError, match="nested as"):
        block(x, first, [second, None])
    composed, _ = block(mx.sym.var("a"), [mx.sym.var("b"), mx.sym.var("c")], None)
    assert set(composed.list_arguments()) >= {"a", "b"}


def assert_same(a, b):
    np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


class _Named(gluon.HybridBlock):
    """Keeps its weight in files as `kernel`, and notes what its parent calls."""

    def __init__(self, called, **kwargs):
        super().__init__(**kwargs)
        self.called = called
        with self.name_scope():
            self.d = nn.Dense(2, in_units=3)

    def _collect_params_with_prefix(self, prefix=""):
        self.called.append(f"places {prefix}")
        found = super()._collect_params_with_prefix(prefix)
        return {name.replace("d.weight", "kernel"): param for name, param in found.items()}

    def collect_params(self, select=None):
        self.called.append(f"collect {select}")
        return super().collect_params(select)

    def cast(self, dtype):
        self.called.append(f"cast {dtype}")
        super().cast(dtype)

    def hybridize(self, active=True, **kwargs):
        self.called.append(f"hybridize {active} {kwargs['static_alloc']}")
        super().hybridize(active, **kwargs)

    def _clear_cached_op(self):
        vars(self).setdefault("called", []).append("clear")
        super()._clear_cached_op()

    def hybrid_forward(self, F, x):
        return self.d(x)


@pytest.mark.filterwarnings("ignore:.*all blocks of this Sequential are hybrid")
@pytest.mark.parametrize("parent", [nn.HybridSequential, nn.Sequential])
def test_what_a_block_overrides_is_called_by_its_parent(parent, tmp_path):
    """MXNet 1.9.1: places, names, casts and hybridize go through the methods of the children."""
    called = []

    def calls(method, *args, **kwargs):
        called.clear()
        method(*args, **kwargs)
        return list(called)

    net = parent(prefix="net_")
    net.add(_Named(called), nn.Dropout(0.5))
    assert calls(net.initialize) == ["collect None"]
    assert calls(net.collect_params, ".*bias") == ["collect .*bias"]
    x = nd.array([[1, 2, 3]])
    before = net(x).asnumpy()
    path = str(tmp_path / "net.params")
    assert calls(net.save_parameters, path) == ["places 0"]
    assert sorted(nd.load(path)) == ["0.d.bias", "0.kernel"]
    again = parent()
    again.add(_Named([]), nn.Dropout(0.5))
    again.load_parameters(path)
    np.testing.assert_array_equal(again(x).asnumpy(), before)
    net.save(str(tmp_path / "net"))
    again.load(str(tmp_path / "net"))
    assert list(net.structural_params()) == ["0.kernel", "0.d.bias"]
    assert calls(net.hybridize, static_alloc=True) == ["hybridize True True", "clear"]
    assert net[0]._active and net[0].d._active
    np.testing.assert_allclose(net(x).asnumpy(), before, rtol=1e-6)
    np.testing.assert_allclose(net[0](x).asnumpy(), before, rtol=1e-6)
    assert calls(net.cast, "float64") == ["cast float64", "clear"]
    assert net(x.astype("float64")).dtype == np.float64
    assert calls(net.hybridize, False, static_alloc=False) == ["hybridize False False", "clear"]
    assert not net[0]._active


def test_a_part_of_a_hybridized_block_is_traced_where_it_is_called_alone():
    """As in MXNet: with its parent once, in the parent's trace, and by itself on its own."""
    runs = []

    class Part(gluon.HybridBlock):
        def hybrid_forward(self, F, x, factor=2):
            runs.append(self._active)
            return x * factor

    class Whole(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def hybrid_forward(self, F, x):
            return self.part(x, 3)  # a number, which a hybridized block alone does not take

    net = Whole()
    net.hybridize()
    x = nd.ones((2,))
    for _ in range(3):
        assert net(x).asnumpy().tolist() == [3, 3]
    assert runs == [True]
    for _ in range(3):
        assert net.part(x).asnumpy().tolist() == [2, 2]
        assert net(x).asnumpy().tolist() == [3, 3]
    assert runs == [True, True]
    with pytest.raises(ValueError, match="fix what is no array"):
        net.part(x, 3)
    net.hybridize(False)
    net.part.hybridize()
    assert net.part(x).asnumpy().tolist() == [2, 2]


def test_a_part_that_takes_a_list_is_exported_with_its_hybridized_parent(tmp_path):
    class Added(gluon.HybridBlock):
        def hybrid_forward(self, F, arrays):
            return arrays[0] * 2 + arrays[1]

    class Whole(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.added = Added()

        def hybrid_forward(self, F, x):
            return self.added([x, x])

    net = Whole()
    net.hybridize()
    x = nd.ones((2,))
    assert net(x).asnumpy().tolist() == net.added([x, x]).asnumpy().tolist() == [3, 3]
    names = net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(names[0], ["data"])
    assert again(x).asnumpy().tolist() == [3, 3]
    for name in ("a", "b"):
        variable = mx.sym.var(name)
        assert net(variable).list_arguments() == [name]
        assert net.added([variable, variable]).list_arguments() == [name]

"""Symbols: names, lists, composition, attributes and inference, as MXNet 1.9.1 has them."""

from __future__ import annotations

import ast
import copy
import json
import pickle

import numpy as np
import pytest
from oracle.symbol_cases import DEBUG, DTYPES, NUMPY_SHAPES, SHAPES, STRUCTURE, evaluate, facts
from places import ORACLE

import hybridnet as mx
from hybridnet import nd, sym

ANSWERS = json.loads((ORACLE / "symbols.json").read_text())
# MXNet counts the statistics of these among the outputs; ours has them only where they are shown.
_FEWER_OUTPUTS = ("S.LayerNorm", "S.InstanceNorm", "S.GroupNorm")


def as_read(attributes):
    """Returns attributes as an operator reads them: '2' is '2.0', and '1' as good as '(1,)'."""

    def value(text):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text
        return found[0] if isinstance(found, tuple) and len(found) == 1 else found

    return {name: {k: value(v) for k, v in one.items()} for name, one in attributes.items()}


@pytest.mark.parametrize("source", STRUCTURE)
def test_structure_is_that_of_mxnet(source):
    wanted = dict(ANSWERS["structure"][source])
    symbol = evaluate(mx, source)
    got = json.loads(json.dumps(facts(symbol, json.loads(symbol.tojson()))))
    assert as_read(got.pop("attributes")) == as_read(wanted.pop("attributes"))
    if source.startswith(_FEWER_OUTPUTS):
        del got["rows"], wanted["rows"]
    assert got == wanted


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_shapes_are_those_of_mxnet_or_tell_more(number):
    source, known = SHAPES[number]
    found = evaluate(mx, source).infer_shape_partial(**known)
    for got, wanted in zip(found, ANSWERS["shapes"][number], strict=True):
        assert len(got) == len(wanted)
        for ours, theirs in zip(got, wanted, strict=True):
            # () and 0 stand for what is not known.
            assert not theirs or [n and m for n, m in zip(theirs, ours, strict=True)] == theirs


@pytest.mark.parametrize("number", range(len(NUMPY_SHAPES)))
def test_shapes_as_numpys_are_those_of_mxnet(number):
    source, known = NUMPY_SHAPES[number]
    with mx.util.np_shape():
        found = evaluate(mx, source).infer_shape_partial(**known)
    wanted = ANSWERS["numpy_shapes"][number]
    listed = [[one if one is None else list(one) for one in part] for part in found]
    assert listed == wanted


def test_files_say_how_their_shapes_are_read():
    """0 is an unknown dimension in a file that was written outside NumPy mode, wherever read."""

    def text():
        return sym.relu(sym.var("x", shape=(3, 0))).tojson()

    with mx.util.np_shape():
        assert json.loads(text())["attrs"]["is_np_shape"] == ["int", 1]
        assert sym.load_json(text()).infer_shape_partial()[0] == [(3, 0)]
    assert "is_np_shape" not in json.loads(text())["attrs"]
    outside = text()
    with mx.util.np_shape():
        loaded = sym.load_json(outside)
        assert loaded.infer_shape_partial()[0] == [(3, -1)]
        assert loaded.infer_shape(x=(3, 4))[1] == [(3, 4)]


@pytest.mark.parametrize("number", range(len(DTYPES)))
def test_dtypes_are_those_of_mxnet(number):
    source, known = DTYPES[number]
    found = evaluate(mx, source).infer_type_partial(**known)
    names = [[None if one is None else np.dtype(one).name for one in part] for part in found]
    assert names == ANSWERS["dtypes"][number]


@pytest.mark.parametrize("number", range(len(DEBUG)))
def test_debug_str_is_that_of_mxnet(number):
    assert evaluate(mx, DEBUG[number]).debug_str() == ANSWERS["debug"][number]


def net():
    data = sym.var("data")
    hidden = sym.Activation(sym.FullyConnected(data, num_hidden=3, name="fc1"), act_type="relu")
    return sym.SoftmaxOutput(sym.FullyConnected(hidden, num_hidden=4, name="fc2"), name="softmax")


# -- what cannot be --------------------------------------------------------------------------


def test_inputs_must_be_symbols_of_one_output():
    x = sym.var("x")
    with pytest.raises(mx.MXNetError, match=r"exp: .* one output, got <Symbol sp> with 2"):
        sym.exp(sym.split(x, num_outputs=2, name="sp"))
    with pytest.raises(mx.MXNetError, match="must be a Symbol, got NDArray"):
        x + nd.ones((2,))
    with pytest.raises(TypeError):
        x + np.ones(2)
    with pytest.raises(TypeError):
        x + [1]
    with pytest.raises(mx.MXNetError, match="must be a Symbol, got int"):
        sym.FullyConnected(data=3, num_hidden=2)
    with pytest.raises(mx.MXNetError, match="no out="):
        sym.exp(x, out=x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: sym.FullyConnected(x), "num_hidden .* is required"),
        (lambda x: sym.FullyConnected(x, num_hidden=3, foo=1), "unknown parameter 'foo'"),
        (lambda x: sym.FullyConnected(x, num_hidden=3, foo=x), "unknown parameter 'foo'"),
        (lambda x: sym.FullyConnected(x, num_hidden="abc"), "must be an integer"),
        (
            lambda x: sym.FullyConnected(x, num_hidden=3, no_bias=True, bias=x, name="fc"),
            r"FullyConnected \('fc'\): takes the inputs data, weight",
        ),
        (lambda x: sym.Concat(x, x, num_args=1), "num_args=1"),
        (lambda x: sym.Concat(num_args=0), "at least 1"),
        (lambda x: sym.exp(x, attr={"mood": "x"}), "begin and end with two underscores"),
        (lambda x: sym.exp(x, attr={"__mood__": []}), "must be a string"),
        (lambda x: sym.maximum(x, "2"), "needs symbols or numbers"),
        (lambda x: sym.var(3), "must be a string"),
        (lambda x: sym.var("v", mood="x"), "two underscores"),
        (lambda x: sym.var("v", attr={"a": 1}), "must be strings"),
        (lambda x: sym.Group([]), "list of symbols"),
        (lambda x: sym.Group([x, 1]), "list of symbols"),
        (lambda x: mx.AttrScope(a=1), "must be strings"),
        (lambda x: x["zzz"], "no output with the name 'zzz'"),
        (lambda x: sym.Group([x, sym.var("x")])["x"], "several outputs"),
        (lambda x: sym.random.uniform(x, 1), "all be numbers"),
    ],
)
def test_misuse_is_explained(make, message):
    with pytest.raises(mx.MXNetError, match=message):
        make(sym.var("x"))


def test_index_out_of_range():
    with pytest.raises(IndexError, match="1 outputs, and no output 3"):
        sym.var("x")[3]


def test_a_symbol_has_no_truth_value():
    with pytest.raises(mx.base.NotImplementedForSymbol, match=r"no truth value.*use sym\.where"):
        bool(sym.var("x"))
    with pytest.raises(mx.MXNetError, match="no truth value"):
        if sym.var("x") == 1:
            pass


def test_composition_is_checked():
    symbol = net()
    with pytest.raises(mx.MXNetError, match=r"no argument 'foo'; it has data, fc1_weight"):
        symbol(foo=sym.var("x"))
    with pytest.raises(mx.MXNetError, match="by position or by name"):
        symbol(sym.var("x"), data=sym.var("y"))
    with pytest.raises(mx.MXNetError, match="must be a Symbol, got int"):
        symbol(data=3)
    with pytest.raises(mx.MXNetError, match="one output"):
        symbol(data=sym.split(sym.var("x"), num_outputs=2))


# -- composition and copies ------------------------------------------------------------------


def test_composition_leaves_the_original_alone():
    symbol = net()
    before = symbol.tojson()
    made = symbol(data=sym.FullyConnected(sym.var("x"), num_hidden=7, name="fc0"))
    assert made.list_arguments()[:3] == ["x", "fc0_weight", "fc0_bias"]
    assert symbol.tojson() == before


def test_composition_by_position_follows_the_variables():
    x, y, a, b = map(sym.var, "xyab")
    with mx.name.NameManager():
        composed = (x - y)(a, b).tojson()
    with mx.name.NameManager():
        assert composed == (a - b)(a, b).tojson()


def test_nodes_are_shared_not_copied():
    x = sym.var("x")
    y = sym.exp(x)
    both = sym.Group([y + 1, y * 2])
    assert len(json.loads(both.tojson())["nodes"]) == 4


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_are_equal(how):
    symbol = net()
    assert how(symbol).tojson() == symbol.tojson()


def test_attributes_set_later_are_seen_by_all_who_share_the_node():
    x = sym.var("x")
    y = x * 2
    frozen = copy.deepcopy(y)
    x._set_attr(lr_mult="3", mood="angry")
    assert y.attr_dict()["x"] == {"__lr_mult__": "3", "lr_mult": "3", "mood": "angry"}
    assert "x" not in frozen.attr_dict()
    with pytest.raises(mx.MXNetError, match="scalar is a parameter"):
        y._set_attr(scalar="3")
    with pytest.raises(mx.MXNetError, match="must be strings"):
        y._set_attr(__x__=3)


# -- names and attributes --------------------------------------------------------------------


def test_name_managers():
    manager = mx.name.NameManager()
    assert [manager.get(one, "a") for one in (None, "n", "")] == ["a0", "n", "a1"]
    x = sym.var("x")
    with mx.name.NameManager() as outer:
        assert mx.name.NameManager.current is outer
        assert sym.exp(x).name == "exp0"
        with mx.name.Prefix("p_"):
            assert sym.exp(x).name == "p_exp0"
            assert sym.exp(x, name="mine").name == "p_mine"
            assert sym.var("v").name == "v"
        assert sym.exp(x).name == "exp1"
    assert mx.name.NameManager.current is not outer


def test_a_name_manager_can_be_overridden():
    class Loud(mx.name.NameManager):
        def get(self, name, hint):
            return super().get(name, hint).upper()

    with Loud():
        assert sym.exp(sym.var("x")).name == "EXP0"


def test_scopes_are_left_after_an_error():
    before = mx.name.NameManager.current
    with pytest.raises(ZeroDivisionError), mx.name.Prefix("p_"), mx.AttrScope(ctx_group="a"):
        1 / 0  # noqa: B018
    assert mx.name.NameManager.current is before
    assert mx.AttrScope.current.get(None) == {}


def test_attribute_scopes_nest():
    with mx.AttrScope(ctx_group="a", __x__="1"), mx.AttrScope(ctx_group="b"):
        assert sym.var("v").attr("ctx_group") == "b"
        assert sym.var("v").attr("__x__") == "1"
        assert sym.var("v", attr={"ctx_group": "c"}).attr("__ctx_group__") == "c"
    assert sym.var("v").list_attr() == {}


def test_attr_of_a_group_and_of_nothing():
    x = sym.var("x", lr_mult=2)
    assert (x.attr("lr_mult"), x.attr("zzz")) == ("2", None)
    assert sym.Group([x, x * 2]).list_attr() == {}


def test_initializers_are_kept_as_text():
    xavier = mx.init.Xavier(magnitude=2)
    assert sym.var("w", init=xavier).attr("__init__") == xavier.dumps()
    assert sym.var("w", init="zeros").attr("__init__") == "zeros"


# -- inference -------------------------------------------------------------------------------


def test_infer_shape_by_position_and_by_name():
    symbol = net()
    wanted = ([(2, 5), (3, 5), (3,), (4, 3), (4,), (2,)], [(2, 4)], [])
    assert symbol.infer_shape(data=(2, 5)) == wanted
    assert symbol.infer_shape((2, 5)) == wanted
    weight = symbol.infer_shape_partial(None, (3, 5))
    assert weight == symbol.infer_shape_partial(fc1_weight=(3, 5))


def test_incomplete_inference_gives_nothing_and_warns():
    symbol = net()
    with pytest.warns(UserWarning, match=r"(?s)Cannot decide shape.*label: \(0,\)") as caught:
        assert symbol.infer_shape(data=(0, 5)) == (None, None, None)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"(?s)Cannot decide type.*data: None"):
        assert symbol.infer_type() == (None, None, None)


def test_contradictions_name_the_node_and_both_shapes():
    with pytest.raises(mx.MXNetError, match=r"(?s)node 'fc1'.*\(3, 5\).*\[3,4\]"):
        net().infer_shape(data=(2, 5), fc1_weight=(3, 4))
    a, b = sym.var("a"), sym.var("b")
    with pytest.raises(mx.MXNetError, match=r"node 'sum'.*\[2,3\].*\[2,4\]"):
        sym.elemwise_add(a, b, name="sum").infer_shape(a=(2, 3), b=(2, 4))
    with pytest.raises(mx.MXNetError, match=r"(?s)node 'fc'.*float16.*float32"):
        sym.FullyConnected(a, num_hidden=2, name="fc").infer_type(a="float16", fc_weight="float32")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.infer_shape(foo=(1,)), "no argument 'foo'; it has data"),
        (lambda s: s.infer_shape((2, 5), data=(2, 5)), "by position or by name"),
        (lambda s: s.infer_shape(*[(1,)] * 9), "6 arguments, got 9"),
        (lambda s: s.infer_shape(data=3), "tuple of integers, got 3"),
        (lambda s: s.infer_shape(data="x"), "tuple of integers, got 'x'"),
        (lambda s: s.infer_shape(data=(2, -3)), "tuple of integers"),
        (lambda s: s.infer_type(foo="float32"), "no argument 'foo'"),
        (lambda s: s.infer_type(data="foo"), "dtype must be one of"),
        (lambda s: sym.var("q", attr={"__shape__": "("}).infer_shape(), "tuple of integers"),
        (lambda s: sym.var("q", attr={"__dtype__": "99"}).infer_type(), "code 99"),
    ],
)
def test_inference_is_asked_well(call, message):
    with pytest.raises(mx.MXNetError, match=message):
        call(net())


def test_shapes_of_variables_may_have_unknown_dimensions():
    x = sym.var("x", shape=(-1, 5))
    assert sym.FullyConnected(x, num_hidden=2).infer_shape_partial()[1] == [(0, 2)]
    assert (x + sym.var("y", shape=4)).list_attr() == {}
    assert sym.var("y", shape=4).infer_shape()[0] == [(4,)]


def test_many_nodes_do_not_overflow_the_stack():
    x = sym.var("x")
    for _ in range(3000):
        x = x + 1
    assert len(sym.load_json(x.tojson()).get_internals()) == 3001
    assert x.infer_shape(x=(2,))[1] == [(2,)]
    assert pickle.loads(pickle.dumps(x)).name == x.name


# -- the functions ---------------------------------------------------------------------------


def test_functions_are_documented_and_spelled_out():
    assert "num_hidden" in str(__import__("inspect").signature(sym.FullyConnected))
    assert "num_hidden" in sym.FullyConnected.__doc__
    with pytest.raises(AttributeError, match="no function 'foo'"):
        sym.foo  # noqa: B018
    assert "foo" not in dir(sym)
    assert set(sym.__all__) <= set(dir(sym))


def test_constants():
    def value(symbol):
        return symbol.eval()[0]

    def check(symbol, wanted):
        np.testing.assert_array_equal(value(symbol).asnumpy(), wanted)

    check(sym.arange(1, 7, 2, repeat=2), [1, 1, 3, 3, 5, 5])
    check(sym.arange(3), [0, 1, 2])
    check(sym.linspace(0, 1, 3), [0, 0.5, 1])
    check(sym.eye(2, 3, 1), np.eye(2, 3, 1))
    check(sym.full((2,), 2.5), [2.5, 2.5])
    assert value(sym.zeros(3, dtype="int32")).dtype is np.int32
    assert value(sym.ones((1, 2), name="one")).shape == (1, 2)


def test_split_v2():
    x = nd.arange(6).reshape((3, 2))
    parts = sym.split_v2(sym.var("x"), (1,)).eval(x=x)
    assert [part.shape for part in parts] == [(1, 2), (2, 2)]
    halves = sym.split_v2(sym.var("x"), 2, axis=1, squeeze_axis=True).eval(x=x)
    np.testing.assert_array_equal(halves[1].asnumpy(), [1, 3, 5])


@pytest.mark.parametrize("method", ["asnumpy", "asscalar", "backward", "copy", "wait_to_read"])
def test_what_only_arrays_have_is_refused(method):
    with pytest.raises(mx.base.NotImplementedForSymbol, match=f"{method}: requires an NDArray"):
        getattr(sym.var("x"), method)()


def test_a_symbol_is_not_changed_in_place():
    x = sym.var("x")
    with pytest.raises(mx.base.NotImplementedForSymbol, match=r"\+="):
        x += 1


@pytest.mark.parametrize("name", ["nd.imdecode", "test_utils.get_mnist_pkl"])
def test_rare_names_say_what_to_use_instead(name):
    where, _, last = name.rpartition(".")
    module = getattr(mx, where)
    with pytest.raises(NotImplementedError, match=f"{name} of MXNet is not supported"):
        getattr(module, last)
    assert not hasattr(module, last)


def test_internal_operators_and_axes_by_name():
    x = sym.var("x")
    data = nd.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    plus = sym._internal._plus_scalar(x, scalar=2, name="more")
    turned = x.transpose(axes=(1, 0), name="turned")
    assert plus.list_outputs() + turned.list_outputs() == ["more_output", "turned_output"]
    both = sym.Group([plus, turned]).eval(x=data)
    np.testing.assert_array_equal(both[0].asnumpy(), data.asnumpy() + 2)
    np.testing.assert_array_equal(both[1].asnumpy(), data.asnumpy().T)
    with pytest.raises(AttributeError, match="did you mean one of _plus_scalar"):
        sym._internal._plus_scala(x)
    with pytest.raises(mx.MXNetError, match="not both"):
        x.transpose(1, 0, axes=(1, 0))


def test_a_nodes_operator_alone():
    x = sym.var("x")
    atom = sym.split(sym.relu(x, name="a"), num_outputs=2, name="s")._gen_atomic_symbol()
    assert (atom.list_outputs(), atom.list_arguments()) == (["s_output0", "s_output1"], ["s_a"])


def test_initializers_as_attributes_of_operators():
    net = sym.FullyConnected(
        sym.var("x"), num_hidden=2, name="fc", attr={"__init__": mx.init.One()}
    )
    assert net.attr_dict()["fc_weight"]["__init__"] == mx.init.One().dumps()


def test_arithmetic_of_two_numbers_is_plain() -> None:
    assert (sym.pow(2, 3), sym.power(2, 3), sym.maximum(2, 3.5)) == (8, 8, 3.5)
    assert (sym.minimum(2, 3.5), sym.hypot(3, 4)) == (2, 5)
    with pytest.raises(mx.MXNetError, match="needs symbols or numbers, got str and int"):
        sym.pow("2", 3)


def test_a_symbol_can_become_what_is_composed_of_it() -> None:
    first = sym.FullyConnected(data=sym.var("data"), name="fc1", num_hidden=10)
    second = sym.FullyConnected(name="fc3", num_hidden=10)
    second._compose(fc3_data=first, name="composed")
    assert second.list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc3_weight", "fc3_bias"]
    assert second.list_outputs() == ["composed_output"] and second.name == "composed"

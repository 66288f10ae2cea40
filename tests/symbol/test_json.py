"""Symbol files: MXNet's load and compute as they did there, ours read back, bad ones are named."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ORACLE
from same_graph import same_graph

import hybridnet as mx
from hybridnet import nd, sym
from hybridnet.base.errors import FormatError, GraphError
from hybridnet.graph import attributes_of
from hybridnet.graph import json as graph_json
from hybridnet.graph.node import topological

FILES = ORACLE / "files"
NETWORKS = ("lenet", "mlp", "arithmetic", "shapes", "images", "segment", "gluon", "lenet_old")


def bound(name):
    """Returns an executor of a network that MXNet saved, with its parameters and recorded data."""
    symbol = sym.load(FILES / f"{name}-symbol.json")
    stem = name.split("_")[0]
    io = nd.load(str(FILES / f"{stem}-io.params"))
    saved = nd.load(str(FILES / f"{stem}-0000.params"))
    saved = saved if isinstance(saved, dict) else {}
    args = {key[3:]: array for key, array in io.items() if key.startswith("in:")}
    args |= {key[4:]: array for key, array in saved.items() if key.startswith("arg:")}
    aux = {key[4:]: array for key, array in saved.items() if key.startswith("aux:")}
    grads = {key[5:]: array.zeros_like() for key, array in io.items() if key.startswith("grad:")}
    return symbol.bind(mx.cpu(), args, grads, "write", aux), io


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_mxnet_compute_as_they_did_there(name):
    executor, io = bound(name)
    for index, out in enumerate(executor.forward()):
        np.testing.assert_allclose(out.asnumpy(), io[f"out:{index}"].asnumpy(), 2e-5, 2e-6)
    if not executor.grad_dict or not any(key.startswith("train:") for key in io):
        return
    for index, out in enumerate(executor.forward(is_train=True)):
        np.testing.assert_allclose(out.asnumpy(), io[f"train:{index}"].asnumpy(), 2e-5, 2e-6)
    executor.backward()
    for key, array in io.items():
        if key.startswith("grad:"):
            got = executor.grad_dict[key[5:]].asnumpy()
            np.testing.assert_allclose(got, array.asnumpy(), 1e-4, 1e-5, err_msg=key)


@pytest.mark.parametrize("name", NETWORKS)
def test_saved_networks_read_back_equal(name, tmp_path):
    symbol = sym.load(FILES / f"{name}-symbol.json")
    symbol.save(tmp_path / "again.json")
    again = sym.load(str(tmp_path / "again.json"))
    assert same_graph(again.graph, symbol.graph)
    assert again.tojson() == symbol.tojson()
    assert [one.name for one in tmp_path.iterdir()] == ["again.json"]


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "lenet_old"])
def test_our_files_say_what_those_of_mxnet_say(name):
    """Parameters too, as they are written there; but MXNet counts more hidden outputs."""
    wanted = json.loads((FILES / f"{name}-symbol.json").read_text())
    got = json.loads(sym.load(FILES / f"{name}-symbol.json").tojson())
    del wanted["node_row_ptr"], got["node_row_ptr"]
    for ours, theirs in zip(got["nodes"], wanted["nodes"], strict=True):
        assert ours.pop("attrs", {}) == theirs.pop("attrs", {})
    assert got == wanted


x = sym.var("x")


@pytest.mark.parametrize(
    "symbol,written",
    [
        (
            sym.Convolution(x, kernel=[3, 3], num_filter="8", no_bias=False, num_group=1, name="n"),
            {"kernel": "[3, 3]", "num_filter": "8", "no_bias": "False", "num_group": "1"},
        ),
        (
            sym.BatchNorm(x, fix_gamma=True, eps=1e-3, momentum=0.9, name="n"),
            {"fix_gamma": "True", "eps": "0.001", "momentum": "0.9"},
        ),
        (sym.sum(x, axis=None, keepdims=0, name="n"), {"axis": "None", "keepdims": "0"}),
        (sym.clip(x, 0, 1, name="n"), {"a_min": "0", "a_max": "1"}),
        (sym.cast(x, dtype=np.float32, name="n"), {"dtype": "float32"}),
        (sym.Concat(x, x, dim=1, name="n"), {"dim": "1", "num_args": "2"}),
        (sym.FullyConnected(x, num_hidden=np.int64(3), name="n"), {"num_hidden": "3"}),
        (sym.Dropout(x, p=np.float32(0.5), name="n"), {"p": "0.5"}),
        (x.transpose(name="n"), {}),
    ],
)
def test_what_is_said_in_a_symbol_stays_as_it_is_written(symbol, written):
    """MXNet 1.9.1, also where it is the default: in attr, attr_dict, files, and after `load`."""
    for one in (symbol, sym.load_json(symbol.tojson()), symbol(x=sym.var("y"))):
        assert one.list_attr() == one.attr_dict().get("n", {}) == written
        assert all(one.attr(key) == value for key, value in written.items())
        (node,) = [node for node in json.loads(one.tojson())["nodes"] if node["name"] == "n"]
        assert node.get("attrs", {}) == written


def test_what_was_written_does_not_outlive_what_it_says():
    """A pass that changes a parameter keeps the node's text: the parameter counts."""
    (edge,) = sym.Convolution(x, kernel=(3, 3), num_filter=8, no_bias=False, name="n").edges
    op, attrs = edge.node.call.operator, {"kernel": (3, 3), "num_filter": 8, "no_bias": True}
    changed = replace(edge.node, call=op.bind(attrs)[0], inputs=edge.node.inputs[:2])
    assert attributes_of(changed) == {"kernel": "(3, 3)", "num_filter": "8", "no_bias": "True"}


# -- old files -------------------------------------------------------------------------------


def old(op, name, inputs=(), **fields):
    return {"op": op, "name": name, "inputs": list(inputs), "backward_source_id": -1, **fields}


def text_of(*nodes, heads=None, **fields):
    return json.dumps({"nodes": nodes, "heads": heads or [[len(nodes) - 1, 0]], **fields})


def test_files_before_0_9_do_not_list_auxiliary_states():
    symbol = sym.load_json(
        text_of(
            old("null", "data"),
            old("null", "bn_gamma"),
            old("null", "bn_beta"),
            old("BatchNorm", "bn", [[0, 0], [1, 0], [2, 0]], param={"eps": "0.01"}),
        )
    )
    assert symbol.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert symbol.attr("eps") == "0.01"


def test_old_spellings_of_attributes():
    symbol = sym.load_json(
        text_of(
            old("null", "x", attr={"ctx_group": "a"}),
            old("null", "w"),
            old(
                "FullyConnected",
                "fc",
                [[0, 0], [1, 0]],
                param={"num_hidden": "2", "no_bias": "True"},
                attr={"weight_lr_mult": "3", "lr_mult": "2", "__k__": "v"},
            ),
        )
    )
    attrs = symbol.attr_dict()
    assert attrs["x"]["__ctx_group__"] == "a"
    assert attrs["w"]["__lr_mult__"] == "3"
    assert (attrs["fc"]["__lr_mult__"], attrs["fc"]["__k__"]) == ("2", "v")


def test_nodes_may_be_listed_in_any_order():
    symbol = sym.load_json(
        text_of(
            old("elemwise_add", "y", [[1, 0], [2, 0]]),
            old("exp", "e", [[2, 0]]),
            old("null", "x"),
            heads=[[0, 0]],
        )
    )
    assert symbol.list_outputs() == ["y_output"]
    assert symbol.eval(x=nd.zeros((1,)))[0].asnumpy() == [1.0]


# -- bad files -------------------------------------------------------------------------------

_X = old("null", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be JSON"),
        ("{", "must be JSON"),
        (b"\xff\xfe\x00", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ("1" * 10_000, "must be JSON|must be an object"),
        ("[]", "must be an object, got list"),
        ("{}", "needs a list 'nodes', got nothing"),
        ('{"nodes": {}, "heads": []}', "needs a list 'nodes', got dict"),
        ('{"nodes": []}', "needs a list 'heads'"),
        ('{"nodes": [], "heads": []}', "at least one head"),
        ('{"nodes": [3], "heads": [[0, 0]]}', "node 0 must be an object, got int"),
        (text_of({"name": "x", "inputs": []}), "node 0 needs a string 'op', got nothing"),
        (text_of({"op": "null", "name": 3, "inputs": []}), "node 0 needs a string 'name', got int"),
        (text_of({**_X, "inputs": 3}), "inputs of node 0 must be a list"),
        (text_of(_X, old("exp", "e", [[7, 0]])), r"input 0 of node 1 .* 0 to 1, got \[7, 0\]"),
        (text_of(_X, old("exp", "e", [[-1, 0]])), "input 0 of node 1 must be"),
        (text_of(_X, old("exp", "e", [[0, -1]])), "input 0 of node 1 must be"),
        (text_of(_X, old("exp", "e", [[0, 1]])), "input 0 of node 1 .'e'. is output 1 of node 0"),
        (text_of(_X, old("exp", "e", [[0]])), "input 0 of node 1 must be"),
        (text_of(_X, old("exp", "e", [[True, 0]])), "input 0 of node 1 must be"),
        (text_of(_X, old("exp", "e", [[0.0, 0]])), "input 0 of node 1 must be"),
        (text_of(_X, old("exp", "e", ["ab"])), "input 0 of node 1 must be"),
        (text_of(_X, heads=[[3, 0]]), "head 0 must be"),
        (text_of(_X, heads=[[0, 5]]), "head 0 is output 5 of node 0"),
        (text_of(old("exp", "e", [[0, 0]])), "cycle through node 0 .'e'."),
        (
            text_of(old("exp", "a", [[1, 0]]), old("exp", "b", [[0, 0]])),
            "cycle through node 0 .'a'.",
        ),
        (text_of(old("null", "x", [[0, 0]])), "cycle"),
        (text_of(_X, old("null", "y", [[0, 0]])), "'y'. is a variable and has inputs"),
        (text_of(_X, old("NoSuchThing", "n", [[0, 0]])), "node 1 .'n'. applies .*'NoSuchThing'"),
        (
            text_of(_X, old("exp", "e"), attrs={"mxnet_version": ["int", 10901]}),
            "exp: requires 1 inputs",
        ),
        (text_of(_X, old("exp", "e", [[0, 0], [0, 0]])), "exp: requires 1 inputs"),
        (text_of(_X, old("Activation", "a", [[0, 0]])), "parameter act_type .* required"),
        (
            text_of(_X, old("Activation", "a", [[0, 0]], attrs={"act_type": "no"})),
            "node 1 .'a'.: Activation: parameter act_type must be one of",
        ),
        (
            text_of(_X, old("Activation", "a", [[0, 0]], attrs={"act_type": "relu", "q": "1"})),
            "unknown parameter 'q'",
        ),
        (
            text_of(_X, old("Pooling", "p", [[0, 0]], attrs={"kernel": "-" * 200_000})),
            "node 1 .'p'.: a parameter is nested too deep",
        ),
        (text_of({**_X, "attrs": []}), "attrs of node 0 .'x'. must be an object"),
        (text_of({**_X, "attrs": {"a": {}}}), "attribute 'a' of node 0 .'x'. must be a string"),
        (text_of(_X, attrs={"mxnet_version": "x"}), "mxnet_version must be"),
    ],
)
def test_bad_files_are_named(text, message):
    with pytest.raises(FormatError, match=message):
        sym.load_json(text)


def test_the_message_names_the_file(tmp_path):
    path = tmp_path / "broken-symbol.json"
    path.write_text("{")
    with pytest.raises(FormatError, match="broken-symbol.json: symbol JSON: the text must be JSON"):
        sym.load(path)
    with pytest.raises(FileNotFoundError):
        sym.load(tmp_path / "none.json")


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(
        ["null", "exp", "elemwise_add", "BatchNorm", "Concat", "Activation", "relu", "(2,", "x"]
    )
)
_KEYS = st.sampled_from(
    ["nodes", "heads", "op", "name", "inputs", "attrs", "attr", "param", "act_type", "num_args"]
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=12,
)


@given(_JSON, st.lists(st.lists(st.integers(-1, 3), max_size=3), max_size=3))
def test_any_json_gives_a_graph_or_a_format_error(anything, heads):
    for graph in (anything, {"nodes": anything, "heads": heads}):
        with contextlib.suppress(FormatError):
            graph_json.loads(json.dumps(graph))


@given(st.data())
def test_any_change_of_a_file_gives_a_graph_or_a_format_error(data):
    """A part of a real file is replaced by anything, anywhere in its tree."""
    graph = json.loads((FILES / "mlp-symbol.json").read_text())
    place = graph
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.integers(0, 3)) == 0:
            break
        place = inner
    place[key] = data.draw(_JSON)
    try:
        edges = graph_json.loads(json.dumps(graph))
    except FormatError:
        return
    assert topological(edges)


# -- what cannot be saved --------------------------------------------------------------------


def test_gradients_have_no_place_in_files():
    gradient = sym.tanh(sym.dot(sym.var("x"), sym.var("y"))).gradient(["x"])
    with pytest.raises(GraphError, match="no operator that a symbol file can name"):
        gradient.tojson()


def test_casts_of_mixed_precision_are_left_out():
    x = sym.var("x")
    symbol = sym.exp(sym.amp_cast(x, dtype="float16"), name="e")
    assert [node["op"] for node in json.loads(symbol.tojson())["nodes"]] == ["null", "exp"]
    kept = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
    assert [node["op"] for node in kept] == ["null", "amp_cast", "exp"]

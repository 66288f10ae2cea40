"""The pass epilogue: sums and ReLU inside the convolutions before them; values before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import run_op
from passes_samples import arrays_of, close, context_of, names, run_whole, size

import hybridnet as hn
from hybridnet import passes, sym
from hybridnet.graph.transform import prepare

x, y = sym.var("x"), sym.var("y")
SHAPE = (2, 6, 5, 3)
MADE = (2, 6, 5, 4)
FUSED = "_fused_convolution"


def conv(data: Any = x, name: str | None = None, **params: Any) -> Any:
    given = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 4, "layout": "NHWC", **params}
    return sym.Convolution(data, name=name, **given)


def fused(symbol: Any, **shapes: Any) -> tuple[Any, Any]:
    """Runs the pass over a symbol; compares its values; returns the graph and the firings."""
    graph = prepare(symbol.graph, False).graph
    arrays = arrays_of(symbol, **{"x": SHAPE, **shapes})
    made, report = passes.optimize(graph, context_of(graph, arrays), ["epilogue"])
    if made is not graph:
        close(run_whole(made, arrays), run_whole(graph, arrays))
    return made, report.fired


def attrs_of(graph: Any) -> list[dict[str, Any]]:
    return [node.call.attrs for node in graph.nodes if node.call and node.call.name == FUSED]


@pytest.mark.slow
@pytest.mark.parametrize("add", [lambda a, b: a + b, sym.broadcast_add, sym.elemwise_add])
def test_what_is_added_is_an_input_of_the_convolution(add: Any) -> None:
    one = conv(stride=(2, 1), dilate=(1, 2), pad=(1, 2))
    for symbol in (add(one, y), add(y, one)):
        made, fired = fused(sym.tanh(symbol), y=(2, 3, 5, 4))
        assert names(made) == [FUSED, "tanh"]
        assert fired == {"sum_into_convolution": 1}
        (attrs,) = attrs_of(made)
        assert (attrs["stride"], attrs["dilate"], attrs["pad"]) == ((2, 1), (1, 2), (1, 2))


@pytest.mark.parametrize("rank", [3, 5])
def test_other_numbers_of_axes_and_groups(rank: int) -> None:
    axes = rank - 2
    one = conv(
        kernel=(2,) * axes, pad=(0,) * axes, num_group=2, layout=("NWC", "NHWC", "NDHWC")[axes - 1]
    )
    shape = (2, *(6, 5, 4)[:axes], 4)
    made, _ = fused(one + y, x=shape, y=(2, *(5, 4, 3)[:axes], 4))
    assert names(made) == [FUSED]


def test_a_block_whose_two_branches_are_convolutions() -> None:
    """One of the two takes the other's result."""
    inner = sym.relu(conv(sym.relu(conv(name="a")), name="b"))
    symbol = sym.relu(conv(inner, name="c") + conv(x, name="short", kernel=(1, 1), pad=(0, 0)))
    made, fired = fused(symbol)
    assert fired == {"sum_into_convolution": 1, "relu_into_convolution": 3}
    assert sorted(names(made)) == ["Convolution", *[FUSED] * 3]
    assert sorted((one["with_addend"], one["relu"]) for one in attrs_of(made)) == [
        (False, True),
        (False, True),
        (True, True),
    ]


def test_a_block_whose_data_are_added() -> None:
    body = sym.relu(conv(num_filter=3))
    for _ in range(2):
        body = sym.relu(body + conv(sym.relu(conv(body)), num_filter=3))
    made, fired = fused(body)
    assert fired == {"sum_into_convolution": 2, "relu_into_convolution": 5}
    assert names(made) == [FUSED] * 5


@pytest.mark.parametrize(
    "rectify", [sym.relu, lambda a: sym.Activation(a, act_type="relu")], ids=["relu", "Activation"]
)
def test_what_is_rectified_is_rectified_by_the_convolution(rectify: Any) -> None:
    made, fired = fused(sym.tanh(rectify(conv(stride=(2, 1)))))
    assert names(made) == [FUSED, "tanh"]
    assert fired == {"relu_into_convolution": 1}
    (attrs,) = attrs_of(made)
    assert attrs["relu"] and not attrs["with_addend"] and attrs["stride"] == (2, 1)


def test_after_relu_nothing_more_is_absorbed() -> None:
    made, fired = fused(sym.relu(sym.relu(conv())) + y, y=MADE)
    assert names(made) == [FUSED, "relu", "elemwise_add"]
    assert fired == {"relu_into_convolution": 1}


@pytest.mark.parametrize(
    ("symbol", "shape"),
    [
        (conv(no_bias=True) + y, MADE),
        (conv(layout="NCHW", num_filter=6) + y, SHAPE),
        (conv(layout=None, num_filter=6) + y, SHAPE),
        (conv() * y, MADE),
        (conv() - y, MADE),
        (sym.tanh(conv()) + y, MADE),
        (x + y, SHAPE),
        (sym.relu(conv(no_bias=True)) * y, MADE),
        (sym.relu(conv(layout="NCHW", num_filter=6)) * y, SHAPE),
        (sym.Activation(conv(), act_type="tanh") * y, MADE),
        (sym.LeakyReLU(conv(), act_type="leaky") * y, MADE),
    ],
    ids=[
        *("no bias", "channels first", "no layout", "product", "difference", "not beside", "none"),
        *("relu, no bias", "relu, channels first", "tanh", "leaky"),
    ],
)
def test_other_operators_and_convolutions_are_left(symbol: Any, shape: tuple[int, ...]) -> None:
    made, fired = fused(symbol, y=shape)
    assert FUSED not in names(made) and not fired


def test_a_convolution_that_is_used_twice_is_left() -> None:
    one = conv()
    for symbol in (
        sym.Group([one + y, one]),
        one + one,
        (one + y) * sym.tanh(one),
        sym.relu(one) * one,
    ):
        shapes = {"y": MADE} if "y" in symbol.list_arguments() else {}
        made, fired = fused(symbol, **shapes)
        assert FUSED not in names(made) and not fired


@pytest.mark.parametrize("shape", [(4,), (1, 1, 1, 4), (2, 6, 5, 1)])
def test_what_is_broadcast_is_not_added(shape: tuple[int, ...]) -> None:
    made, fired = fused(sym.broadcast_add(conv(), y), y=shape)
    assert FUSED not in names(made) and not fired


def test_a_convolution_that_is_broadcast_adds_nothing() -> None:
    made, fired = fused(sym.broadcast_add(conv(pad=(0, 0)), y), x=(2, 3, 3, 3), y=MADE)
    assert FUSED not in names(made) and not fired


def test_a_second_sum_stays() -> None:
    made, fired = fused(conv() + y + y, y=MADE)
    assert size(made) == 2
    assert fired == {"sum_into_convolution": 1}


def test_what_must_be_kept_is_neither_absorbed_nor_lost() -> None:
    symbol = sym.elemwise_add(conv(name="kept"), y)
    graph = prepare(symbol.graph, False).graph
    arrays = arrays_of(symbol, x=SHAPE, y=MADE)
    kept = next(node for node in graph.nodes if node.call and node.call.name == "Convolution")
    context = context_of(graph, arrays, keep=frozenset([kept.name]))
    made = passes.optimize(graph, context, ["epilogue"])[0]
    assert names(made) == ["Convolution", "elemwise_add"]


def test_it_runs_only_where_it_is_asked_for() -> None:
    symbol = conv() + y
    assert FUSED not in names(symbol.optimize(x=SHAPE, y=MADE).graph)
    better = symbol.optimize(passes=["epilogue"], x=SHAPE, y=MADE)
    assert names(better.graph) == [FUSED]
    assert sorted(better.list_arguments()) == sorted(symbol.list_arguments())


@pytest.mark.parametrize("symbol", [conv(name="c") + y, sym.relu(conv(name="c") + y)])
def test_gradients_are_the_same(symbol: Any) -> None:
    better = symbol.optimize(passes=["epilogue"], train=True, x=SHAPE, y=MADE)
    assert names(better.graph) == [FUSED]
    values = arrays_of(symbol, x=SHAPE, y=MADE)
    results = []
    for one in (symbol, better):
        executor = one.simple_bind(hn.cpu(), x=SHAPE, y=MADE)
        for name, array in executor.arg_dict.items():
            array[:] = values[name]
        out = executor.forward(is_train=True)[0]
        executor.backward(hn.nd.array(np.cos(np.arange(out.size)).reshape(out.shape)))
        grads = [executor.grad_dict[name].asnumpy() for name in symbol.list_arguments()]
        results.append([out.asnumpy(), *grads])
    close(results[1], results[0])


def test_the_fused_operator_says_what_does_not_fit() -> None:
    given = {"kernel": (3, 3), "num_filter": 4, "layout": "NHWC"}
    arrays = [np.ones(one, np.float32) for one in ((2, 6, 5, 3), (4, 3, 3, 3), (4,), (2, 4, 3, 4))]
    assert run_op(FUSED, *arrays[:3], **given)[0].shape == (2, 4, 3, 4)
    given["with_addend"] = True
    assert run_op(FUSED, *arrays, **given)[0].shape == (2, 4, 3, 4)
    for addend in (np.ones((2, 6, 5, 4), np.float32), arrays[3].astype(np.float64)):
        with pytest.raises(hn.MXNetError, match="addend"):
            run_op(FUSED, *arrays[:3], addend, **given)
    with pytest.raises(hn.MXNetError, match="addend"):
        run_op(FUSED, *arrays[:3], **given)
    with pytest.raises(hn.MXNetError, match="bias"):
        run_op(FUSED, *arrays[:2], np.ones(3, np.float32), arrays[3], **given)

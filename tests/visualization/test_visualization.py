"""Pictures and tables of networks, against what MXNet 1.9.1 prints and draws for the same ones."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from itertools import combinations
from pathlib import Path

import graphviz
import matplotlib
import pytest
from matplotlib import pyplot

import hybridnet as hn
from hybridnet import sym, viz
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.gluon.model_zoo.vision import resnet18_v1
from hybridnet.graph.node import Edge
from hybridnet.ops.core.registry import REGISTRY
from hybridnet.visualization.layers import FAMILIES

matplotlib.use("agg")

SHAPE = {"data": (2, 1, 8, 8)}


@pytest.fixture
def network():
    """data -> c1 -> bn -> r1 -> p1 -> flatten0 -> fc -> softmax <- softmax_label."""
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, name="c1")
    x = sym.BatchNorm(x, name="bn")
    x = sym.Activation(x, act_type="relu", name="r1")
    x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p1")
    x = sym.FullyConnected(sym.Flatten(x, name="flatten0"), num_hidden=10, name="fc")
    return sym.SoftmaxOutput(x, name="softmax")


@pytest.fixture
def axes():
    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


#: (child, parent, label) of each line that MXNet 1.9.1 draws for `network`.
MXNET_LINES = {
    ("c1", "data", "1x8x8"),
    ("bn", "c1", "4x6x6"),
    ("r1", "bn", "4x6x6"),
    ("p1", "r1", "4x6x6"),
    ("flatten0", "p1", "4x3x3"),
    ("fc", "flatten0", "36"),
    ("softmax", "fc", "10"),
    ("softmax", "softmax_label", '""'),
}


def lines_of(digraph) -> set[tuple[str, str, str]]:
    found = set()
    for line in digraph.body:
        ends, _, attrs = line.strip().partition(" [")
        if " -> " in ends:
            child, parent = ends.split(" -> ")
            label = attrs.partition("label=")[2].split(" ")[0]
            found.add((child, parent, label.strip('"') or '""'))
    return found


def test_plot_network_has_mxnets_nodes_lines_and_labels(network):
    digraph = viz.plot_network(network, title="net", save_format="svg", shape=SHAPE)
    assert isinstance(digraph, graphviz.Digraph)
    assert (digraph.name, digraph.format) == ("net", "svg")
    assert lines_of(digraph) == MXNET_LINES
    for label in ("Convolution\n3x3/1, 4", "Activation\nrelu", "Pooling\nmax, 2x2/2x2"):
        assert f'label="{label}"' in digraph.source
    assert 'label="FullyConnected\n10"' in digraph.source
    assert "c1_weight" not in digraph.source and "bn_moving_mean" not in digraph.source


def test_plot_network_shows_weights_dtypes_and_styles_at_wish(network):
    source = viz.plot_network(
        network,
        dtype={"data": "float32"},
        hide_weights=False,
        node_attrs={"width": "9", "fontname": "Helvetica"},
    ).source
    assert "c1 -> c1_weight [" in source and "bn -> bn_moving_mean [" in source
    assert "width=9" in source and "width=1.2" not in source and "fontname=Helvetica" in source
    assert "label=float32" in source


def test_nodes_of_one_name_stay_apart():
    """b's gradient adds two products, which are both named broadcast_mul."""
    a, b = sym.var("a", shape=(1,)), sym.var("b", shape=(1,))
    gradient = ((sym.exp(a) + b) * (b + 1)).gradient(["a", "b"])
    internals = gradient.get_internals()
    drawn = viz.plot_network(gradient)
    boxes = [line for line in drawn.body if "->" not in line]
    assert len(boxes) == len({edge.node for edge in internals.edges})
    assert "broadcast_add -> broadcast_mul [" in drawn.source
    assert 'broadcast_add -> "broadcast_mul#2" [' in drawn.source


def test_print_summary_has_mxnets_table(network, capsys):
    viz.print_summary(network, shape=SHAPE, line_length=100)
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if line[0] not in "_="]
    assert rows == [
        ["Layer", "(type)", "Output", "Shape", "Param", "#", "Previous", "Layer"],
        ["data", "(null)", "1x8x8", "0"],
        ["c1", "(Convolution)", "4x6x6", "40", "data"],
        ["bn", "(BatchNorm)", "4x6x6", "8", "c1"],
        ["r1", "(Activation)", "4x6x6", "0", "bn"],
        ["p1", "(Pooling)", "4x3x3", "0", "r1"],
        ["flatten0", "(Flatten)", "36", "0", "p1"],
        ["fc", "(FullyConnected)", "10", "370", "flatten0"],
        ["softmax_label", "(null)", "0"],
        ["softmax", "(SoftmaxOutput)", "10", "0", "fc"],
        ["softmax_label"],
        ["Total", "params:", "418"],
        ["Auxiliary", "states:", "8"],
    ]
    assert {len(line) for line in lines if line[0] in "_="} == {100}


def test_print_summary_columns_end_where_they_are_told(network, capsys):
    viz.print_summary(network, SHAPE, line_length=60, positions=[20, 30, 40, 60])
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if line.startswith("fc")]
    # The first cell is cut, so that the second begins in its column.
    assert row == "fc (FullyConnected) 10        370       flatten0"


def test_print_summary_without_shapes_says_what_is_missing(network, capsys):
    viz.print_summary(network)
    out = capsys.readouterr().out
    assert "Total params: unknown; give shape= for it" in out


def test_shared_weights_are_counted_once(capsys):
    weight = sym.var("w_weight")
    x = sym.var("data")
    for name in ("one", "two"):
        x = sym.FullyConnected(x, weight, num_hidden=4, no_bias=True, name=name)
    viz.print_summary(x, {"data": (3, 4)})
    assert "Total params: 16\n" in capsys.readouterr().out


def test_draw_network_puts_each_layer_below_its_inputs(network, axes):
    assert viz.draw_network(network, SHAPE, axes) is axes
    heights = {one.get_text().split("\n")[0]: one.get_position()[1] for one in axes.texts}
    heights.pop("", None)  # arrows
    layers = ["data", "c1", "bn", "r1", "p1", "flatten0", "fc", "softmax"]
    assert [heights[one] for one in layers] == list(range(8))
    assert heights.keys() == {*layers, "softmax_label"}
    # An input stands just above its first use.
    assert heights["softmax_label"] == heights["fc"]
    assert axes.yaxis_inverted()
    words = {one.get_text() for one in axes.texts}
    assert "c1\nConvolution 3x3/1, 4\n(2, 4, 6, 6)" in words
    axes.figure.canvas.draw()


def extents(ax):
    """Returns where Matplotlib draws the boxes and the words within them, in pixels, by name."""
    ax.figure.canvas.draw()
    shown = [one for one in ax.texts if one.get_text()]
    return {
        one.get_text().split("\n")[0]: (
            one.get_bbox_patch().get_window_extent(),
            one.get_window_extent(),
        )
        for one in shown
    }


def check_boxes(ax):
    """Boxes are around their words, within the figure, and none is over another."""
    found = extents(ax)
    whole = ax.figure.bbox
    for box, words in found.values():
        assert box.x0 < words.x0 and words.x1 < box.x1 and box.y0 < words.y0 and words.y1 < box.y1
        assert (
            whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 <= box.y1 <= whole.y1
        )
    for (one, (box, _)), (other, (beside, _)) in combinations(found.items(), 2):
        apart = box.x1 < beside.x0 or beside.x1 < box.x0 or box.y1 < beside.y0 or beside.y1 < box.y0
        assert apart, (one, other)
    return found


def resnet18():
    return resnet18_v1()(sym.var("data")), {"data": (1, 3, 224, 224)}


def branches():
    """Four branches of different depths, with long names, that are joined: an Inception block."""
    x = sym.var("data")
    outs = []
    for number in range(4):
        y = x
        for step in range(number + 1):
            name = f"inception_mixed_block_branch{number}_convolution{step}"
            y = sym.Convolution(y, kernel=(1, 1), num_filter=128 * (step + 1), name=name)
        outs.append(y)
    return sym.Concat(*outs, name="joined"), {"data": (1, 3, 8, 8)}


def lstm():
    cell = hn.rnn.LSTMCell(16, prefix="a_long_prefix_of_a_cell_")
    outputs, _ = cell.unroll(2, sym.var("data"), layout="NTC", merge_outputs=True)
    return outputs, {"data": (1, 2, 8)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "with_shapes"),
    [(resnet18, False), (resnet18, True), (branches, False), (branches, True), (lstm, False)],
)
def test_boxes_are_as_large_as_their_words_and_none_is_over_another(make, with_shapes):
    symbol, shape = make()
    ax = viz.draw_network(symbol, shape if with_shapes else None)
    assert len(check_boxes(ax)) > 5
    assert all(7.9 < one.get_fontsize() <= 8 for one in ax.texts if one.get_text())
    pyplot.close(ax.figure)


def test_in_axes_that_are_too_small_words_are(axes):
    viz.draw_network(*branches(), ax=axes)
    found = check_boxes(axes)
    (size,) = {one.get_fontsize() for one in axes.texts if one.get_text()}
    assert size < 8 and len(found) == 12
    assert tuple(axes.figure.get_size_inches()) == (6.4, 4.8)


def test_long_links_pass_beside(axes):
    """A residual block: the link from x to the sum leads past three layers."""
    x = sym.relu(sym.var("data"), name="x")
    y = sym.tanh(sym.exp(sym.sin(x, name="one"), name="two"), name="three")
    wide = [sym.cos(y, name=f"wide{i}") for i in range(4)]
    viz.draw_network(sym.add_n(x, *wide, name="sum"), ax=axes)
    found = check_boxes(axes)
    longest = max(axes.lines, key=lambda line: len(line.get_xdata()))
    points = axes.transData.transform(longest.get_xydata())
    start = found["x"][0]
    assert start.x0 < points[0][0] < start.x1 and start.y0 < points[0][1] < start.y1
    assert len(points) == 1 + 2 * 4
    for upper, lower in zip(points[1::2], points[2::2], strict=True):  # straight down past a row
        assert upper[0] == lower[0]
        beside = [box for box, _ in found.values() if lower[1] < (box.y0 + box.y1) / 2 < upper[1]]
        assert beside and not any(box.x0 <= upper[0] <= box.x1 for box in beside)


def test_draw_network_makes_a_figure_where_none_is_given():
    ax = viz.draw_network(sym.var("alone"))
    assert [one.get_text() for one in ax.texts] == ["alone"]
    pyplot.close(ax.figure)


def test_colors_tell_operators_that_exist():
    for _, operators in FAMILIES.values():
        assert set(operators) - {"null"} <= {one.name for one in REGISTRY.values()}


@pytest.mark.parametrize("draw", [viz.plot_network, viz.print_summary, viz.draw_network])
def test_wrong_arguments_say_what_is_right(draw, network):
    name = draw.__name__
    with pytest.raises(ParameterError, match=f"{name}: needs a Symbol, got int"):
        draw(3)
    with pytest.raises(ParameterError, match=f"{name}: shape must be a dict .* got tuple"):
        draw(network, shape=(2, 1, 8, 8))
    with pytest.raises(ShapeError, match=f"{name}: .* does not tell the shapes of data"):
        draw(network, shape={"softmax_label": (2,)})
    with pytest.raises(MXNetError, match="no argument 'dat'"):
        draw(network, shape={"dat": (2, 1, 8, 8)})


def test_positions_must_be_increasing(network):
    with pytest.raises(ParameterError, match="4 increasing numbers"):
        viz.print_summary(network, positions=[0.5, 0.4, 0.9, 1.0])


@pytest.mark.parametrize(
    ("draw", "package"),
    [
        (viz.plot_network, "graphviz"),
        (viz.draw_network, "networkx"),
        (viz.draw_network, "matplotlib"),
    ],
)
def test_a_missing_package_is_named(draw, package, network, monkeypatch):
    real = importlib.import_module

    def missing(name, *args):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    message = rf"{draw.__name__}: needs {package}; .* pip install 'hybridnet\[viz\]'"
    with pytest.raises(ImportError, match=message):
        draw(network)


@pytest.mark.parametrize("way", ["render", "pipe"])
def test_a_missing_dot_has_a_way_out(way, network, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MXNetError, match=r"program dot of Graphviz.*draw_network"):
        getattr(viz.plot_network(network), way)()


# -- devices and stages ----------------------------------------------------------------------


@pytest.fixture
def split():
    """data -> c1 (cpu:0) -> c2, neg -> neg2 -> sum (cpu:1) -> fc (cpu:0), which c2 controls."""
    with hn.device("/cpu:0"):
        x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, pad=(1, 1), name="c1")
    with hn.device("/cpu:1"):
        same = sym.negative(sym.negative(x, name="neg"), name="neg2")
        c2 = sym.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), name="c2")
        x = sym.elemwise_add(same, c2, name="sum")
    with hn.device("/cpu:0"):
        x = sym.FullyConnected(x, num_hidden=10, name="fc")
    node = x.edges[0].node.with_controls((c2.edges[0].node,))
    return sym.Symbol([Edge(node, 0)])


def frames_of(digraph) -> dict[str, set[str]]:
    """Returns the boxes in each frame of a picture, by the frame's label."""
    found: dict[str, set[str]] = {}
    inside = None
    for line in digraph.body:
        if "subgraph" in line:
            inside = ""
        elif inside == "" and "label=" in line:
            inside = re.search(r'label=(?:"([^"]+)"|(\S+))', line)
            inside = inside[1] or inside[2]
            found[inside] = set()
        elif line.strip() == "}":
            inside = None
        elif inside and "->" not in line:
            found[inside].add(line.split(" [")[0].strip().strip('"'))
    return found


def test_devices_have_frames_and_control_edges_are_dashed(split):
    digraph = viz.plot_network(split, shape=SHAPE)
    assert frames_of(digraph) == {
        "cpu:0": {"data", "c1", "fc"},
        "cpu:1": {"neg", "neg2", "c2", "sum"},
    }
    (dashed,) = [line for line in digraph.body if "style=dashed" in line]
    assert dashed.strip().startswith("fc -> c2 [")
    with hn.AttrScope(ctx_group="left"):
        grouped = sym.relu(sym.var("x"), name="r")
    assert frames_of(viz.plot_network(grouped)) == {"group left": {"x", "r"}}
    with hn.device("/job:ps/task:1/device:cpu:0"):
        away = sym.relu(sym.var("x"), name="r")
    assert list(frames_of(viz.plot_network(away))) == ["/job:ps/task:1/device:cpu:0"]


def test_each_pass_that_changes_something_has_a_picture(split, network):
    pictures = viz.plot_passes(split, **SHAPE)
    assert list(pictures) == ["written", "arithmetic"]
    before, after = pictures.values()
    assert 'label="as written: 6 nodes"' in before.source
    assert re.search(r"arithmetic: 6 -> 4 nodes\\n\w+ x1", after.source)
    going = {line.split(" [")[0].strip() for line in before.body if "#c0392b" in line}
    assert going == {"neg", "neg2"} and "#c0392b" not in after.source
    assert lines_of(after) >= {("sum", "c1", "4x8x8"), ("sum", "c2", "4x8x8")}
    assert "style=dashed" in after.source and frames_of(after)["cpu:1"] == {"c2", "sum"}
    folded = viz.plot_passes(network, passes=["remap"], data=(8, 1, 64, 64))
    assert list(folded) == ["written", "remap"]
    assert any("#27803b" in line for line in folded["remap"].body)
    assert list(viz.plot_passes(sym.exp(sym.var("x")), x=(2,))) == ["written"]


def test_a_partition_shows_each_transfer(split):
    bound = split.simple_bind(hn.cpu(0), **SHAPE)
    pictures = viz.plot_partitions(bound, is_train=True)
    cuts = bound.partitioned(is_train=True)
    assert [one.name for one in pictures] == ["forward", "backward"]
    for digraph, cut in zip(pictures, cuts, strict=True):
        thick = [line for line in digraph.body if "->" in line and "penwidth=2" in line]
        assert len(thick) == len(cut.transfers) > 0
        for one in cut.transfers:
            assert any(f'label="{one.tensor}\n' in line for line in thick)
        boxes = frames_of(digraph)
        assert set(boxes) == {"cpu:0", "cpu:1"}
        for line in thick:
            ends = re.findall(r'"([^"]+)" -> "([^"]+)"', line)[0]
            homes = [next(name for name, held in boxes.items() if end in held) for end in ends]
            assert len(set(homes)) == 2
    alone = sym.exp(sym.var("x")).simple_bind(hn.cpu(), x=(2,))
    assert viz.plot_partitions(alone) == []


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_dot_draws_what_is_written(split, tmp_path):
    bound = split.simple_bind(hn.cpu(0), **SHAPE)
    pictures = [
        viz.plot_network(split, save_format="svg"),
        *viz.plot_passes(split, save_format="svg", **SHAPE).values(),
        *viz.plot_partitions(bound, save_format="svg"),
    ]
    for number, digraph in enumerate(pictures):
        path = digraph.render(str(tmp_path / str(number)))
        assert "<svg" in Path(path).read_text(encoding="utf-8") and "cpu:1" in Path(path).read_text(
            encoding="utf-8"
        )


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_dot_finds_room_for_all_words_and_little_beside():
    symbol, shape = resnet18()
    source = viz.plot_network(symbol, shape=shape).source
    command = ["dot", "-Tsvg"]
    drawn = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    assert "too small for label" not in drawn.stderr
    height = int(re.search(r'height="(\d+)pt"', drawn.stdout)[1])
    assert height < 60 * source.count("label=") / 2  # lines have labels, too; it was 104 a layer


def test_stages_refuse_what_is_no_network(network):
    with pytest.raises(ParameterError, match="plot_passes: needs a Symbol, got int"):
        viz.plot_passes(3)
    with pytest.raises(ParameterError, match="plot_partitions: needs an Executor, got Symbol"):
        viz.plot_partitions(network)
    with pytest.raises(ParameterError, match="passes must be names among"):
        viz.plot_passes(network, passes=["polish"], **SHAPE)
    with pytest.raises(MXNetError, match="plot_passes: the shapes of data"):
        viz.plot_passes(network)


def test_variables_of_one_name_are_warned_of():
    both = sym.var("x") + sym.var("x")
    with pytest.warns(UserWarning, match="multiple variables with the same name in your graph.*x"):
        hn.viz.plot_network(both)

"""Pictures of how arrays and networks lie on meshes, against where JAX has their parts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import browser
import numpy as np
import pytest
from places import site_module

import hybridnet as hn
from hybridnet import nd, viz
from hybridnet.base.errors import ParameterError
from hybridnet.gluon import nn
from hybridnet.parallel import COLUMNS, ROWS, fully_sharded, split, tensor
from hybridnet.runtime.programs.cache import cache

MESH = hn.Mesh({"data": 4, "model": 2})
PLACEMENTS = [
    None,
    split(0),
    {"model": split(1)},
    {"data": split(1), "model": split(0)},
    {"data": split(0), "model": split(0)},
]


def said_of(picture: viz.PlacementPicture) -> dict[str, str]:
    """Returns the region that a picture's text has for each device."""
    return dict(re.findall(r"(cpu\(\d\)) has (.*)", picture.text))


def parts_of(svg: str) -> list[ElementTree.Element]:
    """Returns the boxes of devices, or the lines of parameters, in a picture."""
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}g")
    return [one for one in found if one.get("class") in ("part", "row")]


def rectangles(part: ElementTree.Element) -> list[tuple[float, ...]]:
    """Returns left, top, width and height of the rectangles in a box."""
    found = part.iter("{http://www.w3.org/2000/svg}rect")
    return [tuple(float(one.attrib[k]) for k in ("x", "y", "width", "height")) for one in found]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_each_device_has_what_jax_has_there(placement):
    numbers = np.arange(8 * 12).reshape(8, 12)
    array = nd.array(numbers, ctx=MESH, placement=placement)
    picture = viz.plot_placement(array)
    said = said_of(picture)
    shards = array.to_jax().addressable_shards
    assert len(said) == len(shards) == 8
    for shard, part in zip(shards, parts_of(picture.svg), strict=True):
        words = said[f"cpu({shard.device.id})"]
        held = eval(f"numbers{words}", {"numbers": numbers})
        np.testing.assert_array_equal(shard.data, held)
        (x0, y0, wide, high), (x, y, across, down) = rectangles(part)
        assert across * down / (wide * high) == pytest.approx(held.size / 96, rel=0.02)
        rows, columns = shard.index
        assert (y - y0) / high == pytest.approx((rows.start or 0) / 8, abs=0.01)
        assert (x - x0) / wide == pytest.approx((columns.start or 0) / 12, abs=0.01)


def test_boxes_of_one_color_hold_the_same():
    svg = viz.plot_placement(nd.ones((8, 3), ctx=MESH).to_placement(split(0))).svg
    colors = re.findall(r"hsl\([^)]*\)", svg)
    assert len(colors) == 8 and len(set(colors)) == 4
    assert colors[0] == colors[1] != colors[2]


@pytest.mark.parametrize("shape", [(16,), (1,), (2, 4, 8), (8, 3000)])
def test_any_number_of_axes_is_drawn(shape):
    svg = viz.plot_placement(nd.ones(shape, ctx=MESH)).svg
    assert len(parts_of(svg)) == 8


def test_a_picture_is_asked_for_and_nothing_is_sent():
    array = nd.ones((8, 3), ctx=MESH).to_placement(split(0))
    array.wait_to_read()
    before = cache.launches()
    viz.plot_placement(array)
    assert cache.launches() == before


@pytest.fixture
def network():
    net = nn.HybridSequential()
    net.add(nn.Dense(64, in_units=32), nn.BatchNorm(in_channels=64), nn.Dense(8, in_units=64))
    net.add(nn.Dense(3))
    net.initialize(ctx=MESH)
    return net


def test_a_network_has_a_line_for_each_parameter(network):
    tensor(network, MESH, {r"0\.(weight|bias)": COLUMNS, r"2\.weight": ROWS})
    fully_sharded(network, MESH)
    picture = viz.plot_placement(network)
    lines = {line.split()[0]: line for line in picture.text.splitlines()[2:]}
    assert list(lines) == list(network.structural_params())
    assert "split(1) over data, split(0) over model" in lines["0.weight"]
    assert lines["1.gamma"].split()[2:] == ["float32", "whole", "256", "of", "256", "bytes"]
    assert lines["3.weight"].split()[3:6] == ["no", "value", "yet"]
    held = 0
    for param in network.collect_params().values():
        if param.is_initialized:
            held += param.data().to_jax().addressable_shards[0].data.nbytes
    assert f"{held / 1024:.3g} of " in picture.text.splitlines()[1]
    rows = parts_of(picture.svg)
    assert len(rows) == len(lines)
    (_, _, whole, _), (_, _, bar, _) = rectangles(rows[0])
    assert bar / whole == pytest.approx(1 / 8, rel=0.05)


def test_a_parameter_is_drawn_by_its_name(network):
    assert viz.plot_placement(network[0].weight).text.startswith(network[0].weight.name)


def test_a_picture_holds_no_name_as_markup():
    net = nn.HybridSequential(prefix="<b>&")
    net.add(nn.Dense(8, in_units=8, prefix="<i>"))
    net.initialize(ctx=MESH)
    for picture in (viz.plot_placement(net), viz.plot_placement(net[0].weight)):
        assert "<i>" not in picture.svg and "<b>" not in picture.svg
        ElementTree.fromstring(picture.svg)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            lambda: nd.ones((3,)),
            r"plot_placement: requires an array on a mesh, got .* cpu\(0\)",
        ),
        (lambda: 3, "plot_placement: requires an array, a parameter or a block, got int"),
        (lambda: nn.Dense(3, in_units=3), "requires a network that has parameters on a mesh"),
        (lambda: nn.Dense(3).weight, "has no value yet; initialize it"),
    ],
)
def test_what_lies_on_no_mesh_is_refused(what, message):
    with pytest.raises(ParameterError, match=message):
        viz.plot_placement(what())


def test_it_is_saved_printed_and_shown(network, tmp_path):
    picture = viz.plot_placement(network)
    picture.save(tmp_path / "parts.svg")
    picture.save(tmp_path / "parts.html")
    assert (tmp_path / "parts.svg").read_text() == picture.svg
    assert picture.svg in (tmp_path / "parts.html").read_text()
    assert str(picture) == repr(picture) == picture.text
    assert picture._repr_html_().startswith("<iframe")
    pixels = np.round(browser.screenshot(tmp_path / "parts.html") * 255).astype(int)
    assert (pixels == (0x3B, 0x74, 0xB5)).all(axis=-1).sum() > 500  # bars


def test_the_pictures_of_the_docs_are_those_of_today():
    pictures = site_module("pictures")
    for name, picture in pictures.pictures().items():
        changed = "run python docs/_site/pictures.py"
        assert (pictures.FOLDER / name).read_text() == picture.svg, changed

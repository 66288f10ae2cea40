"""Pages that fold, and pictures of memory: in a real browser, and against the plans they show."""

from __future__ import annotations

import re

import browser
import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb

import hybridnet as hn
from hybridnet import sym, viz
from hybridnet.base.errors import ParameterError
from hybridnet.visualization.layers import FAMILIES

matplotlib.use("agg")


def links_of(page: str) -> int:
    return len(re.findall(r'data-key="\d', page))


@pytest.fixture
def network():
    """data -> body (a -> two layers -> plus a) -> fc."""
    x = sym.FullyConnected(sym.var("data"), num_hidden=8, name="body_a")
    y = sym.FullyConnected(x, num_hidden=16, name="body_inner_wide")
    y = sym.Activation(y, act_type="tanh", name="body_inner_tanh")
    y = sym.FullyConnected(y, num_hidden=8, name="body_b_fwd")
    return sym.FullyConnected(sym.elemwise_add(x, y, name="body__plus0"), num_hidden=3, name="fc")


def scopes_of(page: str) -> dict[str, bool]:
    """Returns the names of scopes, and whether each is open."""
    found = re.findall(r"<details( open(?:=\"\")?)?><summary>(\S+)", page)
    return {name: bool(opened) for opened, name in found}


def test_scopes_are_those_of_the_names_and_of_more_than_one_layer(network):
    page = str(viz.fold_network(network, {"data": (2, 4)}))
    assert scopes_of(page) == {"body": True, "body_inner": False}
    assert scopes_of(str(viz.fold_network(network, depth=0))) == {
        "body": False,
        "body_inner": False,
    }
    # 4*8+8, 8*16+16 and 16*8+8 in the body, of which 8*16+16 in the inner one.
    assert "5 layers, 2x8, 320 parameters" in page and "2 layers, 2x16, 144 parameters" in page


def test_names_with_slashes_are_scopes_too():
    x = sym.exp(sym.var("x"), name="tower/one")
    page = str(viz.fold_network(sym.log(x, name="tower/two")))
    assert scopes_of(page) == {"tower": True}


def test_a_page_holds_no_name_as_html():
    page = str(viz.fold_network(sym.exp(sym.var("x"), name="<b>bold</b>")))
    assert "<b>bold" not in page and "&lt;b&gt;bold" in page


def test_pages_need_no_network(network):
    page = str(viz.fold_network(network))
    assert not re.search(r"https?:|src=|@import", page)


def test_only_symbols_are_drawn():
    for function in (viz.fold_network, viz.plot_memory):
        with pytest.raises(ParameterError, match=f"{function.__name__}: needs a Symbol, got int"):
            function(3)


def test_a_click_folds_a_scope_and_the_links_follow(network, tmp_path):
    page = tmp_path / "network.html"
    viz.fold_network(network, {"data": (2, 4)}).save(page)
    before = browser.after(page, "")
    assert scopes_of(before) == {"body": True, "body_inner": False}
    # data, a, the inner scope, b, plus, fc: five links down, and the one that goes by.
    assert links_of(before) == 6
    opened = browser.after(page, "document.getElementById('open').click()")
    assert scopes_of(opened) == {"body": True, "body_inner": True}
    assert links_of(opened) == 7
    folded = browser.after(page, "document.querySelector('summary').click()")
    assert scopes_of(folded)["body"] is False
    assert links_of(folded) == 2  # from data to the body, and from there to fc


def test_boxes_are_seen_in_the_colors_of_their_families(network, tmp_path):
    page = tmp_path / "network.html"
    viz.fold_network(network, depth=2).save(page)
    pixels = np.round(browser.screenshot(page) * 255).astype(int)
    for family in ("input", "product", "activation", "arithmetic"):
        color = np.round(np.array(to_rgb(FAMILIES[family][0])) * 255).astype(int)
        assert (pixels == color).all(axis=-1).sum() > 500, family


def test_a_notebook_shows_a_page_in_a_frame(network):
    shown = viz.fold_network(network)._repr_html_()
    assert shown.startswith('<iframe srcdoc="') and shown.count("<") == 2  # all else is escaped


@pytest.mark.parametrize("is_train", [False, True])
@pytest.mark.parametrize("strategy", ["naive", "inplace", "co-share", "both"])
def test_a_picture_of_memory_is_the_plan(network, is_train, strategy):
    ax = viz.plot_memory(network, is_train, strategy, data=(64, 4))
    internal = network.estimate_memory(is_train, strategy, data=(64, 4)).internal
    boxes = [patch.get_bbox() for patch in ax.patches]
    pyplot.close(ax.figure)
    assert max(box.y1 for box in boxes) * 1024 == pytest.approx(internal)
    if strategy == "naive":
        assert sum(box.height for box in boxes) * 1024 == pytest.approx(internal)
    if strategy in ("naive", "co-share"):  # nothing is written over what is still to be read
        for number, one in enumerate(boxes):
            for other in boxes[number + 1 :]:
                beside = one.x1 <= other.x0 or other.x1 <= one.x0
                assert beside or one.y1 <= other.y0 + 1e-9 or other.y1 <= one.y0 + 1e-9


def test_plans_whose_axes_share_their_height_are_drawn_by_one_scale(network):
    sizes = {
        strategy: network.estimate_memory(True, strategy, data=(2500, 4)).internal
        for strategy in ("both", "naive")
    }
    assert sizes["both"] < 2**20 < sizes["naive"]  # each alone has a unit of its own
    figure, axes = pyplot.subplots(1, 2, sharey=True)
    for ax, strategy in zip(axes, sizes, strict=True):
        viz.plot_memory(network, True, strategy, ax=ax, data=(2500, 4))
    assert [ax.get_ylabel() for ax in axes] == ["KiB", "KiB"]
    assert ["KiB" in ax.get_title() for ax in axes] == [True, False]
    for ax, size in zip(axes, sizes.values(), strict=True):
        assert max(patch.get_bbox().y1 for patch in ax.patches) * 1024 == pytest.approx(size)
        assert ax.get_ylim()[1] * 1024 >= sizes["naive"]
    pyplot.close(figure)


def test_a_function_that_hn_exports_is_there():
    assert {"fold_network", "plot_memory"} <= set(hn.viz.__all__)

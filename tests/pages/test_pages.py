"""Each page that hybridnet makes, as people meet it: on wide screens and phones, light and dark."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import browser
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet.base.html_page import HtmlPage
from hybridnet.profiler.spans import Span
from hybridnet.profiler.timeline import timeline_page

_MESH = hn.Mesh({"data": 4, "model": 2})
_CHECKS = (Path(__file__).parents[1] / "support" / "page_checks.js").read_text(encoding="utf-8")
#: A name that is a page's own end, and asks to be run.
_NAME = "</script><script>alert(1)</script>"


def _network() -> Any:
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, name="body_conv0_fwd")
    x = sym.Activation(x, act_type="relu", name="body_relu0_fwd")
    x = sym.elemwise_add(x, sym.tanh(x, name="body_tanh0_fwd"), name="body_plus0")
    return sym.FullyConnected(x, num_hidden=10, name=f"a_long_name_of_a_layer_{_NAME}")


def _timeline() -> Any:
    facts = {"line": f"{_NAME}.py:3", "recorded": [f"train.py:{i}" for i in range(40)]}
    busy = [Span("task", f"task {i} {_NAME}", "io", 10 * i, 9.5, facts) for i in range(3000)]
    return timeline_page(
        [
            Span("steps", "a launch", "MainThread", 0, 30_000, facts, ("Convolution",) * 18),
            *busy,
            Span("counter", _NAME, "MainThread", 100, 0, {"value": 0.1}),
            Span("marker", _NAME, "MainThread", 20_000, 0, {"scope": "process"}),
        ]
    )


def _traffic() -> Any:
    kv = hn.kv.create("device")
    parts = [nd.ones((8, 8), ctx=hn.cpu(i)) for i in range(3)]
    names = [f"stage{i}_conv_weight" for i in range(12)] + [_NAME]
    for name in names:
        kv.init(name, nd.zeros((8, 8)))
    with hn.profiler.profile():
        for _ in range(4):
            for name in names:
                kv.push(name, parts)
                kv.pull(name, parts)
        nd.waitall()
    return hn.profiler.traffic()


def _memory() -> Any:
    net = gluon.nn.Dense(64, in_units=64, prefix=_NAME)
    net.initialize()
    with hn.debug.tracking_memory() as track:
        trainer = gluon.Trainer(net.collect_params(), "adam")
        for _ in range(3):
            with autograd.record():
                loss = net(nd.ones((4, 64))).sum()
            loss.backward()
            trainer.step(4)
            loss.wait_to_read()
            hn.debug.memory()
    return track


def _launches() -> Any:
    with hn.runtime.explaining() as seen:
        x = nd.softmax(nd.dot(nd.ones((64, 20)), nd.ones((20, 10))) + 1)
        for _ in range(20):
            x = x * 0.5 + 1
        x.wait_to_read()
    return HtmlPage(_NAME, seen._repr_html_())


_PAGES = {
    "launches": _launches,
    "placement": lambda: hn.viz.plot_placement(nd.ones((512, 2048), ctx=_MESH)),
    "timeline": _timeline,
    "traffic": _traffic,
    "memory": _memory,
    "network": lambda: hn.viz.fold_network(_network(), {"data": (1, 3, 8, 8)}, depth=2),
    "plan": lambda: hn.viz.memory_page(_network(), is_train=True, data=(8, 3, 8, 8)),
    "weights": lambda: hn.viz.fold_network(_network(), hide_weights=False),
}


@pytest.fixture(params=_PAGES)
def page(request, tmp_path):
    path = tmp_path / f"{request.param}.html"
    _PAGES[request.param]().save(path)
    return path


@pytest.mark.slow
def test_nothing_is_cut_off_or_covered_at_any_width(page):
    with browser.opened(page) as shown:
        for scheme in ("light", "dark"):
            shown.emulate_media(color_scheme=scheme)
            for width in (1600, 900, 400):
                shown.set_viewport_size({"width": width, "height": 700})
                shown.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
                assert shown.evaluate(_CHECKS) == [], (scheme, width)


@pytest.mark.slow
def test_the_checks_find_what_is_wrong(tmp_path):
    page = tmp_path / "wrong.html"
    page.write_text(
        "<!doctype html><title>wrong</title><body>"
        "<div style='width:50px;overflow:hidden;white-space:nowrap'>longer than its box</div>"
        "<p style='position:absolute;top:50px'>under</p><p style='position:absolute;top:52px'>over"
        "<div style='width:2000px'>wide</div><i style='cursor:pointer'>click</i>"
    )
    with browser.opened(page) as shown:
        found = "\n".join(shown.evaluate(_CHECKS))
    for words in ("pixels wide", "cut off: longer", "under overlaps over", "only a mouse reaches"):
        assert words in found


@pytest.mark.slow
def test_the_keyboard_reaches_everything(page):
    with browser.opened(page) as shown:
        shown.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        count = shown.evaluate(
            "document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]').length"
        )
        reached = set()
        for number in range(count):
            shown.keyboard.press("Tab")
            reached.add(
                shown.evaluate(
                    "number => document.activeElement.dataset.reached ??= String(number)", number
                )
            )
        assert len(reached) == count
        if count:
            shown.keyboard.press("Enter")  # what has the focus answers, and keeps it
            assert shown.evaluate("document.activeElement !== document.body")


@pytest.mark.slow
def test_axe_finds_nothing_serious(page):
    pytest.importorskip("axe_playwright_python")
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    with browser.opened(page) as shown:
        shown.evaluate(axe)
        for scheme in ("light", "dark"):
            shown.emulate_media(color_scheme=scheme)
            found = shown.evaluate(
                "axe.run().then(result => result.violations"
                ".filter(one => ['serious', 'critical'].includes(one.impact))"
                ".map(one => `${one.id}: ${one.nodes[0].html}`))"
            )
            assert found == [], scheme


def test_a_layer_is_found_and_tells_what_it_is(tmp_path):
    page = tmp_path / "network.html"
    hn.viz.fold_network(_network(), {"data": (1, 3, 8, 8)}, depth=0).save(page)
    with browser.opened(page) as shown:
        shown.fill("#search", "CONVOL")
        shown.press("#search", "Enter")
        assert shown.inner_text("#count") == "1 of 1"
        words = shown.inner_text("#told").split("\n")
        assert words[0] == "body_conv0_fwd"
        facts = dict(zip(words[1::2], words[2::2], strict=False))
        assert facts["kernel"] == "(3, 3)" and facts["shape"] == "1x4x6x6"
        assert facts["takes"] == "data" and facts["goes to"] == "body_relu0_fwd"
        assert shown.locator(".layer.chosen").is_visible()  # its scope was opened


def test_links_go_down_with_weights_shown(tmp_path):
    page = tmp_path / "weights.html"
    x = sym.FullyConnected(sym.var("data"), num_hidden=4, name="cell_i2h")
    x = x + sym.FullyConnected(sym.var("begin_state"), num_hidden=4, name="cell_h2h")
    hn.viz.fold_network(x, hide_weights=False).save(page)
    with browser.opened(page) as shown:
        assert "cell_i2h_weight" in shown.inner_text(".layer:has-text('cell_i2h')")
        ends = shown.evaluate(
            "[...document.querySelectorAll('path[data-key]')].map(path =>"
            " path.dataset.key.split('>').map(Number))"
        )
        assert len(ends) == 4 and all(begin < end for begin, end in ends)


@pytest.mark.slow
def test_a_plan_tells_of_each_result_by_each_strategy(tmp_path):
    page, network = tmp_path / "plan.html", _network()
    hn.viz.memory_page(network, is_train=True, data=(8, 3, 8, 8)).save(page)
    with browser.opened(page) as shown:
        for strategy in ("naive", "inplace", "co-share", "both"):
            shown.click(f"[data-strategy={strategy}]")
            size = network.estimate_memory(True, strategy, data=(8, 3, 8, 8)).internal
            assert shown.inner_text("#size").startswith(f"{size / 1024:.2f} KiB")
        shown.focus("#plan")
        shown.keyboard.press("ArrowRight")
        words = shown.inner_text("#told").split("\n")
        facts = dict(zip(words[1::2], words[2::2], strict=False))
        assert words[0] == "body_conv0_fwd" and facts["operator"] == "Convolution"
        assert facts["result"] == f"float32[8,4,6,6], {8 * 4 * 36 * 4 / 1024:.2f} KiB"
        shown.hover("[data-result='2']")
        assert words[0] not in shown.inner_text("#told")

"""Takes the pictures of pages in docs/pages.md: ``python docs/_site/screenshots.py``.

Needs Chromium, and hybridnet with its extras test and viz.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.html_page import HtmlPage
from hybridnet.parallel import split

FOLDER = Path(__file__).parents[1] / "pictures"
_SIZE = {"width": 1000, "height": 520}
# Made first: XLA then has as many CPU devices.
_MESH = hn.Mesh({"data": 4, "model": 2})


def _lenet() -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        for channels in (20, 50):
            net.add(gluon.nn.Conv2D(channels, 5, activation="tanh"), gluon.nn.MaxPool2D(2, 2))
        net.add(gluon.nn.Dense(500, activation="tanh"), gluon.nn.Dense(10))
    net.initialize(hn.init.Xavier())
    return net


def _trained() -> tuple[Any, Any, Any]:
    """Trains LeNet on two devices; returns the timeline, the traffic, and a table of launches."""
    net, devices = _lenet(), [hn.cpu(0), hn.cpu(1)]
    net.collect_params().reset_ctx(devices)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="device")
    counter = hn.profiler.Domain("training").new_counter("loss")
    frames = hn.profiler.Domain("training")

    def step() -> None:
        data, label = nd.random.uniform(shape=(64, 1, 28, 28)), nd.zeros((64,))
        xs = gluon.utils.split_and_load(data, devices)
        ys = gluon.utils.split_and_load(label, devices)
        with frames.new_frame("step"):
            with autograd.record():
                losses = [loss_of(net(x), y) for x, y in zip(xs, ys, strict=True)]
            autograd.backward(losses)
            trainer.step(64)
            counter.set_value(float(losses[0].mean().asscalar()))

    hn.profiler.set_config(profile_memory=True)
    with hn.profiler.profile():
        for _ in range(12):
            step()
        nd.waitall()
    with hn.runtime.explaining() as seen:
        nd.softmax(nd.dot(nd.ones((64, 20)), nd.ones((20, 10))) + 1).wait_to_read()
    return hn.profiler.timeline(), hn.profiler.traffic(), seen


def _memory() -> Any:
    net = _lenet()
    with hn.debug.tracking_memory() as track:
        trainer = gluon.Trainer(net.collect_params(), "adam")
        for _ in range(5):
            with autograd.record():
                loss = net(nd.ones((64, 1, 28, 28))).sum()
            loss.backward()
            trainer.step(64)
            loss.wait_to_read()
            hn.debug.memory()
    return track


def _placement() -> Any:
    x = nd.ones((512, 2048), ctx=_MESH)
    return hn.viz.plot_placement(x.to_placement({"data": split(0), "model": split(1)}))


def main() -> None:
    """Writes the pictures."""
    timeline, traffic, explained = _trained()
    network = _lenet()(hn.sym.var("data"))
    pages = {
        "timeline": timeline,
        "traffic": traffic,
        "explained": HtmlPage("Launches", explained._repr_html_()),
        "memory": _memory(),
        "network": hn.viz.fold_network(
            network, {"data": (1, 1, 28, 28)}, depth=3, hide_weights=False
        ),
        "plan": hn.viz.memory_page(network, is_train=True, data=(64, 1, 28, 28)),
        "placement": _placement(),
    }
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        shown = running.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        window = shown.new_page(viewport=_SIZE)
        for name, page in pages.items():
            path = Path(folder, f"{name}.html")
            page.save(path)
            window.goto(path.as_uri())
            if name == "timeline":
                window.keyboard.press("ArrowRight")
            if name == "network":
                window.click(".layer >> nth=1")
            high = window.evaluate("document.documentElement.offsetHeight")
            clip = {"x": 0, "y": 0, "width": _SIZE["width"], "height": min(high, _SIZE["height"])}
            window.screenshot(path=FOLDER / f"page_{name}.png", clip=clip)
        shown.close()


if __name__ == "__main__":
    main()

"""The timeline as a page: its data against the events, and in a real browser."""

from __future__ import annotations

import json
import re

import browser
import numpy as np
import pytest

import hybridnet as hn
from hybridnet import engine, nd, profiler
from hybridnet.profiler.spans import Span
from hybridnet.profiler.timeline import timeline_page


def held(page: object) -> dict:
    """Returns the data of a page."""
    (text,) = re.findall(r'id="data">(.*?)</script>', str(page))
    return json.loads(text)


def bars_of(page: object) -> list[tuple[str, str, str, float, float, int]]:
    """Returns row, kind, name, begin, duration and lane of each bar."""
    data = held(page)
    return [
        (row["name"], data["kinds"][kind]["what"], data["names"][name], start, duration, lane)
        for row in data["rows"]
        for start, duration, lane, kind, name, _ in row["spans"]
    ]


@pytest.fixture
def spans():
    facts = {"line": "train.py:7", "recorded": ["train.py:7", "<b>net.py:3</b>"]}
    return [
        Span("steps", "outer", "MainThread", 1000, 400, {}),
        Span("host", "inner & co", "MainThread", 1100, 100, facts, ("inner", "co")),
        Span("counter", "loss", "MainThread", 1150, 0, {"value": 3}),
        Span("counter", "loss", "MainThread", 1160, 0, {"value": float("nan")}),
        Span("marker", "<i>half</i>", "MainThread", 1200, 0, {"scope": "process"}),
        Span("task", "read", "io", 1200, 200, {"lane": "io"}),
        Span("dropped", "nobody's", "MainThread", 1300, 50, {}),
    ]


def test_each_event_that_takes_time_is_a_bar(spans):
    assert bars_of(timeline_page(spans)) == [
        ("MainThread", "launches one by one", "outer", 0, 400, 0),
        ("MainThread", "operators by NumPy", "inner & co", 100, 100, 1),
        ("io", "tasks of the engine", "read", 200, 200, 0),
    ]


def test_counters_and_markers_are_drawn(spans):
    data = held(timeline_page(spans))
    (counter,) = data["counters"]
    assert counter["points"] == [[150, 3]] and counter["label"] == "loss: 3 to 3"
    (mark,) = data["marks"]
    assert (mark["name"], mark["start"]) == ("<i>half</i>", 200)


def test_a_device_stands_below_the_thread_that_it_works_for():
    on = {"device": "gpu(0)"}
    spans = [
        Span("program", "a", "MainThread", 0, 5, on),
        Span("task", "t", "io", 1, 5, {}),
        Span("device", "a", "MainThread", 2, 9, on),
        Span("device", "b", "gpu(1)", 2, 9, {"device": "gpu(1)"}),
    ]
    names = [row["name"] for row in held(timeline_page(spans))["rows"]]
    assert names == ["MainThread", "gpu(0), started by MainThread", "io", "gpu(1)"]


def test_nothing_is_a_page_and_nothing_is_left_out():
    assert held(timeline_page([]))["count"] == "0 events in no time"
    many = [Span("task", "t", "io", 10 * i, 1 + i / 1000, {}) for i in range(20_000)]
    page = timeline_page(many)
    assert len(bars_of(page)) == 20_000 and len(str(page)) < 1_000_000


def test_a_run_is_shown_with_its_lines(tmp_path):
    with profiler.profile():
        engine.push(lambda: None, name="a task")
        (nd.ones((3, 3)) + 1).wait_to_read()
        engine.wait_for_all()
    page = profiler.timeline()
    assert "a task" in {bar[2] for bar in bars_of(page)}
    facts = held(page)["facts"]
    assert any("test_timeline.py" in fact.get("line", "") for fact in facts)
    assert hn.profiler.timeline()._repr_html_().startswith("<iframe")
    page.save(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text() == str(page)


def test_the_page_opens_behind_a_silence_that_would_leave_no_width_for_the_rest(spans, tmp_path):
    data = held(timeline_page(spans))
    assert data["begin"] == 0 and data["count"] == "3 events in 400 us"
    later = [
        Span("host", "next", "MainThread", 3_600_001_000, 200, {}),
        Span("host", "last", "MainThread", 3_600_001_300, 100, {}),
    ]
    page = timeline_page([*spans, *later])
    assert held(page)["begin"] == 3_600_000_000
    page.save(tmp_path / "timeline.html")
    with browser.opened(tmp_path / "timeline.html") as shown:
        said = shown.locator("#count").text_content()
        assert said.endswith("; shown are the last 400 us, All shows what was long before")
        seen = "[view.from, view.to]"
        assert shown.evaluate(seen) == [3_600_000_000, 3_600_000_400]
        shown.locator("#all").click()
        assert shown.evaluate(seen) == [0, 3_600_000_400]


@pytest.fixture
def file(spans, tmp_path):
    page = tmp_path / "timeline.html"
    timeline_page(spans).save(page)
    return page


def _row(shown, name):
    """Returns where on the canvas a row begins, in pixels."""
    return shown.evaluate(f"rows.find(row => row.name === {name!r}).top")


def _click(shown, share, lane, row="MainThread"):
    """Clicks on the canvas at a share of its width, in a lane of a row."""
    box = shown.locator("#rows").bounding_box()
    y = box["y"] + _row(shown, row) + 17 + 16 * lane + 7
    shown.mouse.click(box["x"] + share * box["width"], y)


def test_a_click_tells_all_of_a_bar(file):
    with browser.opened(file) as shown:
        _click(shown, 0.375, 1)
        said = shown.locator("#said")
        assert said.locator("b").inner_text() == "inner & co"
        words = said.inner_text().splitlines()
        for one in ("operators by NumPy", "100 us from 100 us, MainThread", "train.py:7"):
            assert one in words
        items = [one.inner_text() for one in said.locator("li").all()]
        assert items == ["train.py:7", "<b>net.py:3</b>", "inner", "co"]
        _click(shown, 0.75, 0, "io")
        assert said.locator("b").inner_text() == "read"
        shown.keyboard.press("Escape")
        assert "Choose a bar" in said.inner_text()


def test_moving_by_mouse_and_keys(file):
    with browser.opened(file) as shown:
        seen = lambda: tuple(shown.evaluate("[view.from, view.to]"))  # noqa: E731
        assert seen() == (0, 400)
        shown.click("#in")
        assert seen() == (100, 300)
        shown.keyboard.press("a")
        assert seen() == (60, 260)
        box = shown.locator("#rows").bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] - 4
        shown.mouse.move(*middle)
        shown.mouse.down()
        shown.mouse.move(middle[0] - box["width"] / 4, middle[1], steps=3)
        shown.mouse.up()
        np.testing.assert_allclose(seen(), (110, 310))
        shown.keyboard.press("Home")
        ruler = shown.locator("#ruler").bounding_box()
        shown.mouse.move(ruler["x"] + ruler["width"] / 4, ruler["y"] + 5)
        shown.mouse.down()
        shown.mouse.move(ruler["x"] + ruler["width"] / 2, ruler["y"] + 5, steps=3)
        shown.mouse.up()
        np.testing.assert_allclose(seen(), (100, 200), atol=1)
        shown.keyboard.press("ArrowRight")
        shown.keyboard.press("ArrowDown")
        assert shown.locator("#said b").inner_text() == "inner & co"
        shown.keyboard.press("Enter")
        np.testing.assert_allclose(seen(), (95, 205))


@pytest.mark.slow
def test_search_and_kinds(file):
    with browser.opened(file) as shown:
        shown.fill("#search", "NET.PY")  # a line of it
        assert shown.inner_text("#count") == "1 found: Enter shows them"
        shown.press("#search", "Enter")
        assert shown.locator("#said b").inner_text() == "inner & co"
        assert shown.inner_text("#count") == "1 of 1"
        shown.fill("#search", "nowhere")
        assert shown.inner_text("#count") == "0 found"
        shown.fill("#search", "")
        assert shown.inner_text("#count") == "3 events in 400 us"
        button = shown.get_by_role("button", name="operators by NumPy")
        button.click()
        assert button.get_attribute("aria-pressed") == "false"
        _click(shown, 0.375, 1)
        assert "Choose a bar" in shown.inner_text("#said")


def test_bars_are_seen_in_the_colors_of_their_kinds(file):
    pixels = (browser.screenshot(file) * 255).round().astype(int)
    for color in ((0x3B, 0x74, 0xB5), (0xA0, 0x9A, 0x2A)):
        assert (pixels == color).all(axis=-1).sum() > 1000


@pytest.mark.slow
def test_what_is_narrower_than_a_pixel_is_seen(tmp_path):
    page = tmp_path / "many.html"
    busy = [Span("task", "t", "io", 1000 + i, 0.9, {}) for i in range(100_000)]
    idle = [Span("task", "last", "io", 200_000, 1, {})]
    timeline_page(busy + idle).save(page)
    with browser.opened(page) as shown:
        shares = shown.evaluate(
            """() => {
              const pen = canvas.getContext("2d");
              const line = pen.getImageData(0, LABEL + 5, canvas.width, 1).data;
              return [0.2, 0.8].map(share => line[4 * Math.round(share * canvas.width) + 3] / 255);
            }"""
        )
        assert shares[0] > 0.8 and shares[1] == 0
        _click(shown, 0.2, 0, "io")
        assert "more in the same pixel" in shown.inner_text("#said")

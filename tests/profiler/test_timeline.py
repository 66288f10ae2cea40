"""The timeline as a page: in a real browser, and bar by bar against the events."""

from __future__ import annotations

import re

import browser
import pytest

import hybridnet as hn
from hybridnet import engine, nd, profiler
from hybridnet.profiler.spans import Span
from hybridnet.profiler.timeline import timeline_page


def bars_of(page: str) -> list[tuple[str, str, float, float]]:
    """Returns kind, name, and where it begins and how wide it is in per cent of each bar."""
    found = re.findall(
        r'class="bar (\w+)[^"]*" style="left:([\d.]+)%;width:([\d.]+)%[^>]*>([^<]*)<', page
    )
    return [(kind, name, float(left), float(width)) for kind, left, width, name in found]


@pytest.fixture
def spans():
    facts = {"line": "train.py:7"}
    return [
        Span("steps", "outer", "MainThread", 1000, 400, {}),
        Span("host", "inner & co", "MainThread", 1100, 100, facts),
        Span("counter", "loss", "MainThread", 1150, 0, {"value": 3}),
        Span("task", "read", "io", 1200, 200, {"lane": "io"}),
    ]


def test_each_event_that_takes_time_is_a_bar(spans):
    assert bars_of(str(timeline_page(spans))) == [
        ("steps", "outer", 0, 100),
        ("host", "inner &amp; co", 25, 25),
        ("task", "read", 50, 50),
    ]


def test_what_lies_within_stands_below(spans):
    tops = re.findall(r"top:(\d+)px", str(timeline_page(spans)))
    assert int(tops[1]) > int(tops[0]) == int(tops[2])


def test_nothing_and_too_much_are_pages_too():
    assert "0 events" in str(timeline_page([]))
    many = [Span("task", "t", "io", 10 * i, 1 + i / 1000, {}) for i in range(6000)]
    page = str(timeline_page(many))
    assert len(bars_of(page)) == 5000 and "the 1000 shortest are left out" in page


def test_a_run_is_shown_with_its_lines(tmp_path):
    with profiler.profile():
        engine.push(lambda: None, name="a task")
        (nd.ones((3, 3)) + 1).wait_to_read()
        engine.wait_for_all()
    page = profiler.timeline()
    names = {name for _, name, _, _ in bars_of(str(page))}
    assert "a task" in names
    assert "line: " in str(page) and "test_timeline.py" in str(page)
    assert hn.profiler.timeline()._repr_html_().startswith("<iframe")
    page.save(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text() == str(page)


def test_a_click_tells_all_of_a_bar_and_hides_a_kind(spans, tmp_path):
    page = tmp_path / "timeline.html"
    timeline_page(spans).save(page)
    said = browser.after(page, "document.querySelector('.bar.host').click()")
    (text,) = re.findall(r'(?s)id="said">(.*?)</code>', said)
    assert text == "inner &amp; co\nhost, 100 us from 100 us\nline: train.py:7"
    hidden = browser.after(page, "document.querySelector('[data-kind=task]').click()")
    assert re.search(r'class="bar task"[^>]*display: none', hidden)
    assert not re.search(r'class="bar host"[^>]*display: none', hidden)
    wide = browser.after(page, "document.getElementById('in').click()")
    assert re.search(r'id="rows" style="width: 200%', wide)


def test_bars_are_seen_in_the_colors_of_their_kinds(spans, tmp_path):
    page = tmp_path / "timeline.html"
    timeline_page(spans).save(page)
    pixels = (browser.screenshot(page) * 255).round().astype(int)
    for color in ((0x3B, 0x74, 0xB5), (0xA0, 0x9A, 0x2A)):
        assert (pixels == color).all(axis=-1).sum() > 1000

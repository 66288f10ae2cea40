"""What stores sent: recorded between devices, and as a page in a real browser."""

from __future__ import annotations

import re

import browser
import pytest

import hybridnet as hn
from hybridnet import kv, nd, profiler
from hybridnet.base.errors import ParameterError
from hybridnet.profiler.spans import Span
from hybridnet.profiler.traffic import messages_of, traffic_page


def message(what, key, source, to, sent, received, number, start, took):
    facts = {
        "what": what,
        "key": key,
        "part": 0,
        "source": source,
        "to": to,
        "sent": sent,
        "received": received,
        "round": number,
        "shared": False,
    }
    return Span("message", f"{what} {key}", f"{source} - {to}", start, took, facts)


@pytest.fixture
def spans():
    return [
        message("push", "w", "worker 0", "server 0", 4000, 0, 1, 0, 50),
        message("pull", "w", "worker 0", "server 0", 0, 4000, 1, 10, 90),
        message("push and pull", "<b>", "worker 0", "server 1", 800, 800, 2, 200, 1000),
        Span("task", "read", "io", 100, 200, {"lane": "io"}),
    ]


@pytest.fixture
def page(spans, tmp_path):
    made = tmp_path / "traffic.html"
    traffic_page(messages_of(spans)).save(made)
    return made


def table_of(dom, name):
    (body,) = re.findall(rf'(?s)<tbody id="{name}">(.*?)</tbody>', dom)
    lines = re.sub("</?button.*?>", "", body).split("</tr>")[:-1]
    return [re.findall(r"<td>(.*?)</td>", line) for line in lines]


def summary_of(dom):
    (text,) = re.findall(r'<span id="sum">(.*?)</span>', dom)
    return text


def test_devices_send_to_where_the_sum_is_made_and_back():
    devices = (hn.cpu(0), hn.cpu(1))
    store = kv.create("device")
    arrays = [nd.ones((10, 3), ctx=device) for device in devices]
    store.init("w", arrays[0])
    with profiler.profile():
        for _ in range(2):
            store.push("w", arrays)
            store.pull("w", out=arrays)
        nd.waitall()
    found = [span.facts for span in profiler.events() if span.kind == "message"]
    seen = sorted((one["round"], one["what"], one["source"], one["to"]) for one in found)
    there, back = ("push", "cpu(1)", "cpu(0)"), ("pull", "cpu(0)", "cpu(1)")
    assert seen == [(1, *back), (1, *there), (2, *back), (2, *there)]
    assert {(one["key"], one["sent"], one["received"]) for one in found} == {("w", 120, 0)}
    assert "Messages of key-value stores" in profiler.dumps()
    assert str(profiler.traffic()) == str(traffic_page(messages_of(profiler.events())))


def test_one_device_sends_nothing():
    store = kv.create("local")
    store.init(3, nd.ones((2,)))
    with profiler.profile():
        store.push(3, nd.ones((2,)))
        store.pull(3, out=nd.ones((2,)))
        nd.waitall()
    assert not [span for span in profiler.events() if span.kind == "message"]


def test_traces_of_several_workers_are_shown_together(tmp_path):
    paths = [tmp_path / f"trace{number}.json" for number in range(2)]
    arrays = [nd.ones((2,), ctx=device) for device in (hn.cpu(0), hn.cpu(1))]
    store = kv.create("device")
    store.init("w", arrays[0])
    for path in paths:
        with profiler.profile(path):
            store.push("w", arrays)
            nd.waitall()
    both = str(profiler.traffic(*paths))
    # The number of the round, behind source, to, key and kind, which are the same; 8 bytes.
    assert sorted(re.findall(r"\[0,1,2,3,(\d),8,0,", both)) == ["1", "2"]
    paths[0].write_text("[]")
    with pytest.raises(ParameterError, match=r"traffic: needs a trace .*trace0.json' is none"):
        profiler.traffic(paths[0])
    with pytest.raises(FileNotFoundError):
        profiler.traffic(tmp_path / "none.json")


def test_the_page_adds_up_and_needs_no_network(page):
    text = page.read_text()
    assert "<b>" not in text and not re.search(r"src=|@import", text)
    dom = browser.after(page, "")
    assert summary_of(dom) == "3 messages of 2 rounds: 4.8 kB sent, 4.8 kB answered"
    assert table_of(dom, "links") == [
        ["worker 0", "server 0", "1", "4 kB"],
        ["server 0", "worker 0", "1", "4 kB"],
        ["worker 0", "server 1", "1", "800 B"],
        ["server 1", "worker 0", "1", "800 B"],
    ]
    assert table_of(dom, "keys") == [
        ["w", "push", "1", "4 kB", "0 B", "50 us", "50 us"],
        ["w", "pull", "1", "0 B", "4 kB", "90 us", "90 us"],
        ["&lt;b&gt;", "push and pull", "1", "800 B", "800 B", "1 ms", "1 ms"],
    ]
    assert "round 1: 100 us, 8 kB" in dom and "round 2: 1 ms, 1.6 kB" in dom


@pytest.mark.slow
def test_a_click_shows_what_belongs_to_an_arrow_a_round_or_a_key(page):
    click = "document.querySelector('{}').dispatchEvent(new MouseEvent('click'));"
    arrow = browser.after(page, click.format(".arrow.back"))
    assert summary_of(arrow) == "1 messages of 1 rounds: 0 B sent, 4 kB answered"
    second = browser.after(page, click.format('[data-round="2"]'))
    assert summary_of(second) == "1 messages of 1 rounds: 800 B sent, 800 B answered"
    assert [row[:2] for row in table_of(second, "links")] == [
        ["worker 0", "server 1"],
        ["server 1", "worker 0"],
    ]
    key = browser.after(page, click.format("#keys button"))
    assert summary_of(key) == "2 messages of 1 rounds: 4 kB sent, 4 kB answered"
    again = browser.after(page, click.format("#keys button") + click.format("#all"))
    assert summary_of(again).startswith("3 messages")


def test_arrows_are_seen_in_their_colors(page):
    pixels = (browser.screenshot(page) * 255).round().astype(int)
    for color in ((0x3F, 0x8F, 0x4F), (0xD9, 0x86, 0x2B), (0x3B, 0x74, 0xB5)):
        assert (pixels == color).all(axis=-1).sum() > 500


def test_nothing_was_sent_is_a_page_too(tmp_path):
    made = tmp_path / "none.html"
    traffic_page([]).save(made)
    assert summary_of(browser.after(made, "")).startswith("0 messages of 0 rounds")

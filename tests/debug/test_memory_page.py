"""The page of snapshots: whole in itself, harmless whatever things are called, and right."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import browser
import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.debug.memory.page import _ROWS, memory_page
from hybridnet.runtime.watching import LiveArray

EVIL = "</script><script>document.title = 'evil'</script><img src=x onerror=alert(1)>"


def array(line, name, nbytes):
    return LiveArray(nbytes, (nbytes // 4,), "float32", "cpu(0)", (line, 3), (name,) * bool(name))


@pytest.fixture
def page(tmp_path):
    first = [array("a.py", "weight", 4 << 20)]
    second = [*first, array("b.py", EVIL, 2 << 20), array("b.py", EVIL, 2 << 20)]
    made = tmp_path / "memory.html"
    memory_page([first, second]).save(made)
    return made


class Reader(HTMLParser):
    """Collects the tags of a page, what they refer to, and its scripts."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.scripts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "onerror")]

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script":
            self.scripts.append(data)


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def test_a_page_is_one_file_that_asks_for_nothing(page):
    reader = Reader()
    reader.feed(page.read_text())
    assert reader.tags.count("script") == 2 and "img" not in reader.tags
    assert reader.links == []
    assert not re.search(
        r"fetch\(|XMLHttp|import\(|https?://(?!www\.w3\.org/2000/svg)", page.read_text()
    )


def test_a_page_has_the_arrays_in_it(page):
    reader = Reader()
    reader.feed(page.read_text())
    data = json.loads(reader.scripts[0])
    words, (first, second) = data["words"], data["moments"]
    assert [[words[i] for i in row[:4]] + row[4:] for row in first] == [
        ["a.py:3", "weight", f"float32[{1 << 20}]", "cpu(0)", 4 << 20, 1]
    ]
    assert sorted([words[row[0]], words[row[1]], *row[4:]] for row in second) == [
        ["a.py:3", "weight", 4 << 20, 1],
        ["b.py:3", EVIL, 4 << 20, 2],
    ]


def test_small_arrays_of_a_large_page_are_one_row():
    arrays = [array(f"{number}.py", "", 4 * number) for number in range(1, _ROWS + 101)]
    text = str(memory_page([arrays]))
    data = data_of(text)
    (rows,) = data["moments"]
    assert len(rows) == _ROWS + 1
    assert data["words"][rows[-1][0]] == "all others" and rows[-1][5] == 100
    assert sum(row[4] for row in rows) == sum(one.nbytes for one in arrays)


def test_snapshots_and_tracks_save_pages(tmp_path):
    with hn.debug.tracking_memory() as seen:
        kept = nd.ones((10, 10)) + 1
        kept.wait_to_read()
        hn.debug.memory().save(tmp_path / "one.html")
    seen.save(tmp_path / "all.html")
    one, several = ((tmp_path / name).read_text() for name in ("one.html", "all.html"))
    assert one.count('"moments":[[[') == 1 and "test_memory_page.py" in one
    assert len(data_of(several)["moments"]) == 3
    assert seen._repr_html_().startswith("<iframe srcdoc=")


def table_of(dom, name):
    (body,) = re.findall(rf'(?s)<tbody id="{name}">(.*?)</tbody>', dom)
    lines = re.findall(r"<tr.*?>(.*?)</tr>", body)
    return [[re.sub("<.*?>", "", cell) for cell in line.split("</td>")[:-1]] for line in lines]


@pytest.mark.slow
def test_a_click_on_a_line_shows_its_arrays(page):
    dom = browser.after(page, "")
    assert [row[:3] for row in table_of(dom, "lines")] == [
        ["a.py:3", "4.00", "1"],
        ["b.py:3", "4.00", "2"],
    ]
    assert "evil" not in re.search(r"<title>(.*?)</title>", dom)[1]
    clicked = browser.after(page, "document.querySelectorAll('#lines button')[1].click();")
    assert [row[4:] for row in table_of(clicked, "arrays")] == [["2", "4.00"]]
    old = browser.after(
        page, "document.querySelectorAll('.moment')[0].dispatchEvent(new Event('click'));"
    )
    assert [row[4:] for row in table_of(old, "arrays")] == [["1", "4.00"]]

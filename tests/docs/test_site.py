"""The documentation site has every page, and the reference every public name."""

import contextlib
import functools
import os
import re
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import browser
import pytest
from places import ROOT, site_module

from hybridnet.compat_report import judge, read_checklist

SITE = (ROOT / "mkdocs.yml").read_text()


def test_each_page_is_in_the_contents():
    listed = set(re.findall(r": (\S+\.md)", SITE))
    made = {"index.md", "contributing.md"}  # of README and CONTRIBUTING
    assert listed - made == {page.name for page in (ROOT / "docs").glob("*.md")}


def test_links_that_lead_nowhere_are_found(tmp_path):
    dead_links = site_module("links").dead_links
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text('<h1 id="here">x</h1><a name="there">y</a>')
    links = ["other/", "other/#here", "other/index.html#there", "https://a.b/c", "#gone", "none/"]
    links += ["other/#gone", "mailto:a@b.c"]
    text = "".join(f'<a href="{link}">link</a>' for link in links)
    (tmp_path / "index.html").write_text(f'{text}<img src="gone.png">')
    assert dead_links(tmp_path) == [
        f"index.html: {link}" for link in ("#gone", "none/", "other/#gone", "gone.png")
    ]


@pytest.fixture(scope="module")
def pages():
    for name in ("mkdocs", "griffe"):
        pytest.importorskip(name, reason="the extra docs is not installed")
    return site_module("pages")


def test_reference_holds_every_public_name_with_mxnets_own(pages):
    rows = {row.name: row for row in read_checklist()}
    text = "\n".join(pages._page(title, modules, rows) for title, modules in pages.PAGES.items())
    anchors = set(re.findall(r"\{: #(\S+) \}", text)) | set(re.findall(r'<a id="([^"]+)"', text))
    modules = set(re.findall(r"(?m)^## (\S+)$", text))
    there = {row.name for row in rows.values() if judge(row).present}
    public = {name for name in there if not re.search(r"(^|\.)_(?!_)", name)}
    assert len(public) > 2800
    missing = public - anchors - modules
    assert not missing, "name their modules in PAGES of docs/_site/pages.py"
    linked = set(re.findall(r"MXNet 1\.9\.1: \[`mx\.([^`]+)`\]\(https://", text))
    assert public - modules - linked == set()


def test_the_search_finds_a_name_by_its_last_part():
    (separator,) = re.findall(r"search: \{separator: '(.*)'\}", SITE)
    words = re.split(separator, "nd.topk(data, axis=-1, k=1) 0.5 list_ops")
    assert words[:3] == ["nd", "topk", "data"]
    assert {"0.5", "list_ops"} <= set(words)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site, built as it is published, by its address.

    HYBRIDNET_TEST_SITE: the folder of one that was built of this tree, as .ci/run has.
    """
    for name in ("mkdocs", "material", "mkdocs_jupyter", "griffe"):
        pytest.importorskip(name, reason="the extra docs is not installed")
    pytest.importorskip("playwright")
    folder = os.environ.get("HYBRIDNET_TEST_SITE")
    if not folder:
        folder = str(tmp_path_factory.mktemp("site"))
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
        subprocess.run(command, cwd=ROOT, check=True, timeout=280)
    handler = functools.partial(Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *said):
        pass


#: What is typed, and the section that is to be the first answer.
ANSWERS = {
    "BatchNorm": "nd.BatchNorm",
    "batchnorm": "nd.BatchNorm",
    "nn.BatchNorm": "gluon.nn.BatchNorm",
    "Convolution": "nd.Convolution",
    "topk": "nd.topk",
    "Dense": "gluon.nn.Dense",
    "NDArray": "NDArray",
    "nd.NDArray": "nd.NDArray",
    "dot": "nd.dot",
    "Pooling": "nd.Pooling",
    "softmax": "nd.softmax",
    "arange": "nd.arange",
    "Trainer": "gluon.Trainer",
    "SoftmaxCrossEntropyLoss": "gluon.loss.SoftmaxCrossEntropyLoss",
}


@pytest.mark.slow
def test_a_name_is_answered_with_what_is_so_named(built):
    library = pytest.importorskip("playwright.sync_api")
    with library.sync_playwright() as running, contextlib.closing(browser.started(running)) as used:
        page = used.new_page()
        page.goto(built)
        box = page.get_by_role("textbox", name="Search")
        first = page.locator(".md-search-result__item").first.locator("> a h2").first
        for typed, answer in ANSWERS.items():
            box.fill(typed)
            box.press("End")  # the page looks at keys
            library.expect(first).to_have_text(answer, timeout=60_000)

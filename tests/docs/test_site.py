"""The documentation site has every page, and the reference every public name."""

import re
import sys

import pytest
from places import ROOT

from hybridnet.compat_report import judge, read_checklist

SITE = (ROOT / "mkdocs.yml").read_text()


def test_each_page_is_in_the_contents():
    listed = set(re.findall(r": (\S+\.md)", SITE))
    made = {"index.md", "contributing.md"}  # of README and CONTRIBUTING
    assert listed - made == {page.name for page in (ROOT / "docs").glob("*.md")}


@pytest.fixture(scope="module")
def pages():
    for name in ("mkdocs", "griffe"):
        pytest.importorskip(name, reason="the extra docs is not installed")
    sys.path.insert(0, str(ROOT / "docs" / "_site"))
    try:
        import pages
    finally:
        sys.path.pop(0)
    return pages


@pytest.mark.parametrize("module", ["nd", "np", "gluon.nn", "optimizer"])
def test_reference_holds_every_public_name_with_its_signature(pages, module):
    rows = [row for row in read_checklist() if row.name.rpartition(".")[0] == module]
    there = [row for row in rows if judge(row).present and row.kind != "constant"]
    title = next(title for title, modules in pages.PAGES.items() if module in modules)
    text = pages._page(title, pages.PAGES[title], {row.name: row for row in rows})
    public = [row.name for row in there if not row.name.rpartition(".")[2].startswith("_")]
    missing = [name for name in public if f"{{: #{name} }}" not in text]
    assert not missing
    assert len(public) > 10

"""The documentation site has every page, and the reference every public name."""

import json
import re
import sys
import tomllib

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
    public += [row.name for row in rows if row.name in ("np.pi", "np.newaxis")]
    missing = [name for name in public if f"{{: #{name} }}" not in text]
    assert not missing
    assert len(public) > 10


@pytest.mark.parametrize(
    "name",
    [
        *("mod", "nd.NDArray.__setitem__", "nd.NDArray.__add__", "executor.Executor.arg_dict"),
        *("gluon.Block.__call__", "recordio.IRHeader.label", "gluon.contrib.cnn"),
    ],
)
def test_reference_holds_aliases_special_methods_and_fields(pages, name):
    rows = {row.name: row for row in read_checklist()}
    module = max((m for all_ in pages.PAGES.values() for m in all_ if f"{name}.".startswith(f"{m}.")
                  or not m), key=len)  # fmt: skip
    title = next(title for title, modules in pages.PAGES.items() if module in modules)
    text = pages._page(title, (module,), rows)
    anchors = f"{{: #{name} }}", f'<a id="{name}">', f"## {name}\n"
    assert any(anchor in text for anchor in anchors)


NOTEBOOKS = sorted((ROOT / "tutorials").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_install_what_they_need_and_have_no_outputs(path):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cells = json.loads(path.read_text())["cells"]
    text, first = ("".join(cell["source"]) for cell in cells[:2])
    assert text.startswith("# ")
    (asked,) = re.findall(r"%pip install --quiet 'hybridnet\[([\w,]+)\]'", first)
    assert set(asked.split(",")) <= extras["optional-dependencies"].keys()
    for cell in cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None

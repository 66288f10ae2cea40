"""A notebook in a real JupyterLab: pages in frames that are as dark as it is, and as high.

Needs JupyterLab, which the extras do not bring.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest

pytest.importorskip("jupyterlab", reason="needs JupyterLab")
pytestmark = pytest.mark.slow

_CELLS = (
    "import hybridnet as hn\nfrom hybridnet import nd",
    "with hn.runtime.explaining() as seen:\n    (nd.ones((2, 3)) + 1).wait_to_read()\nseen",
    "with hn.profiler.profile():\n    (nd.ones((64, 64)) * 3).wait_to_read()\n"
    "hn.profiler.timeline()",
)


def _notebook(path: Path) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "id": f"cell{i}", "source": text} for i, text in enumerate(_CELLS)]
    held = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(held))


@pytest.fixture
def lab(tmp_path) -> Iterator[str]:
    """A server with a notebook; yields its address."""
    _notebook(tmp_path / "pages.ipynb")
    kinds = ("CONFIG", "DATA", "RUNTIME")
    folders = {f"JUPYTER_{kind}_DIR": str(tmp_path / kind) for kind in kinds}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += ["--port=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path}"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **folders}
    ) as running:
        try:
            assert running.stderr is not None
            address = next(
                line.split()[-1] for line in running.stderr if "http://127.0.0.1" in line
            )
            yield address.partition("/lab")[0]
        finally:
            running.terminate()


@pytest.mark.parametrize("dark", [False, True])
def test_a_notebook_shows_tables_and_pages(lab, dark):
    library = pytest.importorskip("playwright.sync_api")
    with library.sync_playwright() as playwright:
        window = browser.started(playwright).new_page(viewport={"width": 1200, "height": 900})
        window.goto(f"{lab}/lab/tree/pages.ipynb")
        window.wait_for_selector("text=| Idle", timeout=60_000)  # its kernel is there
        if dark:
            window.click("text=Settings")
            window.hover("text=Theme")
            window.click("text=JupyterLab Dark")
            window.wait_for_selector("body[data-jp-theme-light=false]", state="attached")
        window.click("text=Run")
        window.click("text=Run All Cells >> nth=0")
        table = window.wait_for_selector(".jp-OutputArea-output table", timeout=120_000)
        assert "Cell In[2]:2" in table.inner_text()
        frame = window.wait_for_selector(".jp-OutputArea-output iframe", timeout=120_000)
        inside: Any = frame.content_frame()
        inside.wait_for_selector("#said")
        assert inside.evaluate("document.documentElement.style.colorScheme") == (
            "dark" if dark else "light"
        )
        high = inside.evaluate("document.documentElement.offsetHeight")
        assert high <= frame.bounding_box()["height"] <= high + 40
        inside.click("#rows", position={"x": 20, "y": 25})
        assert "MainThread" in inside.inner_text("#said")

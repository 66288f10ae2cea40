"""Pages as a real browser shows them, without a window: the DOM after clicks, and as a picture."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

__all__ = ["after", "opened", "screenshot", "started"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
    *("--disable-dev-shm-usage", "--no-first-run", "--virtual-time-budget=2000"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1000,700"),
)


def _found() -> str:
    """Returns the path of a browser; without one the test is skipped."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium or Chrome: apt-get install chromium")
    return found


def _run(page: Path, *flags: str) -> str:
    """Runs the browser with a profile of its own; a page that asks the network gets nothing."""
    found = _found()
    command = [found, *_FLAGS, f"--user-data-dir={page.parent / 'profile'}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def after(page: Path, script: str) -> str:
    """Returns the DOM of a page once a script (clicks, such as users make) has run in it."""
    clicked = page.with_name(f"clicked-{page.name}")
    clicked.write_text(
        page.read_text(encoding="utf-8").replace("</body>", f"<script>{script}</script></body>")
    )
    return _run(clicked, "--dump-dom")


def screenshot(page: Path) -> np.ndarray:
    """Returns a page as pixels: height x width x (red, green, blue), from 0 to 1."""
    picture = page.with_suffix(".png")
    _run(page, f"--screenshot={picture}")
    return pyplot.imread(picture)[..., :3]


def started(playwright: Any) -> Any:
    """Returns Playwright's browser, the one that the machine has."""
    return playwright.chromium.launch(executable_path=_found(), args=["--no-sandbox"])


@contextmanager
def opened(page: Path, width: int = 1000, *, dark: bool = False) -> Iterator[Any]:
    """Opens a page, in which a test clicks and types as users do.

    Args:
        page: the file.
        width: of the window, in pixels.
        dark: whether the system is said to be dark.

    Yields:
        Playwright's page.

    Raises:
        AssertionError: at the end, if the page wrote to the console, failed, or asked for more than
            its own file.
    """
    library = pytest.importorskip("playwright.sync_api")
    said: list[str] = []
    with library.sync_playwright() as running:
        browser = started(running)
        scheme = "dark" if dark else "light"
        shown = browser.new_page(viewport={"width": width, "height": 700}, color_scheme=scheme)
        shown.on("console", lambda message: said.append(f"console: {message.text}"))
        shown.on("pageerror", lambda error: said.append(f"error: {error}"))
        shown.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        shown.on("request", lambda request: said.append(f"request: {request.url}"))
        shown.goto(page.as_uri())
        yield shown
        browser.close()
    assert said == [f"request: {page.as_uri()}"], said

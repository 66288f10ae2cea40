"""Pages as a real browser shows them, without a window: the DOM after clicks, and as a picture."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

__all__ = ["after", "screenshot"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
    *("--disable-dev-shm-usage", "--no-first-run", "--virtual-time-budget=2000"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1000,700"),
)


def _run(page: Path, *flags: str) -> str:
    """Runs the browser with a profile of its own; a page that asks the network gets nothing."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium or Chrome")
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

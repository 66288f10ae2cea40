"""Pictures as pages of HTML: whole in one file, with nothing fetched, and shown by notebooks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from typing import Final, final

from .files import atomic_write

_STYLE: Final = """\
:root { color-scheme: light dark; }
body { font: 13px/1.4 system-ui, sans-serif; margin: 8px; }
code { font: 12px/1.4 ui-monospace, monospace; }
"""


@final
@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A picture as a page of HTML.

    Notebooks show it in a frame, so that its styles and its script stay within.

    Attributes:
        title: of the page.
        body: its HTML.
        style: its CSS.
        script: its JavaScript; run when the page is there.
        height: of the frame in a notebook, in pixels.
    """

    title: str
    body: str
    style: str = ""
    script: str = ""
    height: int = 400

    def __str__(self) -> str:
        script = f"<script>\n{self.script}</script>\n" if self.script else ""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{_STYLE}{self.style}</style>\n</head>\n"
            f"<body>\n{self.body}\n{script}</body>\n</html>\n"
        )

    def __repr__(self) -> str:
        return f"<HtmlPage {self.title!r}: .save(path) writes it>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(str(self))}" title="{escape(self.title)}" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; the file appears whole or not at all.

        Args:
            path: the file, such as "timeline.html".

        Raises:
            OSError: it cannot be written.
        """
        with atomic_write(path) as file:
            file.write(str(self).encode())

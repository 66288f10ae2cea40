"""Where the links of a built site lead nowhere: ``python docs/_site/links.py out/site``."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["dead_links"]


class _Page(HTMLParser):
    """The links of a page, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what an element has of these."""
        facts = {key: value for key, value in attrs if value}
        self.anchors.update(facts[key] for key in ("id", "name") if key in facts)
        self.links += [facts[key] for key in ("href", "src") if key in facts]


def dead_links(site: Path) -> list[str]:
    """Returns the links of a site's pages to files or anchors that it has not.

    Args:
        site: the folder. Links to other sites are not followed.
    """
    files = [file for file in sorted(site.rglob("*.html")) if file.name != "404.html"]
    pages = {file.resolve(): _Page(file.read_text(encoding="utf-8")) for file in files}
    dead = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            found = target.exists()
            if found and parts.fragment and target in pages:
                found = unquote(parts.fragment) in pages[target].anchors
            if not found:
                dead.append(f"{file.relative_to(site.resolve())}: {link}")
    return dead


if __name__ == "__main__":
    found = dead_links(Path(sys.argv[1]))
    print(*found, sep="\n")
    sys.exit(bool(found))

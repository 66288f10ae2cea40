"""What pyproject.toml cannot say: the page of a package index is README without what is dead there.

README's links and pictures lead to files beside it, which an index does not show. They lead to the
source where ``project.urls`` says where that is, by a line ``Source``; else words are left of the
links.
"""

import re
import tomllib
from pathlib import Path

#: A link or, with a "!", a picture, that leads to a file beside the page.
_BESIDE = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


def index_page(readme: str, source: str | None) -> str:
    """Returns README as an index shows it.

    Args:
        readme: the text.
        source: the address that README's links are below; None: there is none.
    """

    def led(found: re.Match[str]) -> str:
        mark, words, path = found.groups()
        if source is not None:
            return f"{mark}[{words}]({source.rstrip('/')}/{path})"
        return "" if mark else words

    return _BESIDE.sub(led, readme)


if __name__ == "__main__":
    from setuptools import setup

    root = Path(__file__).parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    setup(
        long_description=index_page(
            (root / "README.md").read_text(encoding="utf-8"), project.get("urls", {}).get("Source")
        ),
        long_description_content_type="text/markdown",
    )

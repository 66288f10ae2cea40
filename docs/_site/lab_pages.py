"""The labs' pages of the site: the task of each, in each language, with its figure."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final

from hybridnet.labs import NAMES
from hybridnet.labs.lab import Lab
from hybridnet.labs.words import LANGUAGES

#: The name of a lab in the first cell of a row.
_ROW: Final = re.compile(r"(?m)^\| `(\w+)` \|")
_SIGN: Final = "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef“”‘’…—"  # Chinese ones
_STOP: Final = "\u3000-\u303f\uff00-\uffef”’…—"
#: Ends of lines within a sentence in Chinese, which would be shown as spaces.
_LINE_END: Final = re.compile(
    f"(?<=[{_SIGN}])\n {{0,3}}(?=[{_SIGN}])|(?<=[{_STOP}])\n {{0,3}}(?=[A-Za-z\\[]|`(?!``)|\\*\\b)"
)
_FENCED: Final = re.compile(r"(?ms)(^ *```.*?^ *```$)")
#: What stands under the title of a lab.
_BEGIN: Final = {
    "en": """\
`hybridnet lab start {name} my-{name}` makes a folder with this page, a stub and tests, once
`pip install 'hybridnet[labs]'` has brought what it takes. [The course]({course}) · [中文]({other})
""",
    "zh": """\
先运行 `pip install 'hybridnet[labs]'`，再运行 `hybridnet lab start {name} my-{name}`，就会得到
一个文件夹，其中有本页、代码骨架和测试。[课程]({course}) · [English]({other})
""",
}


def page_name(page: str, language: str) -> str:
    """Returns the file of a page in a language: ``labs.md``, ``labs.zh.md``."""
    return f"{page}.md" if language == "en" else f"{page}.{language}.md"


def in_one_line(text: str) -> str:
    """Returns a text in Markdown without the ends of lines that Chinese has no spaces for."""
    parts = _FENCED.split(text)
    parts[::2] = [_LINE_END.sub("", part) for part in parts[::2]]
    return "".join(parts)


def lab_pages(language: str) -> Iterator[tuple[str, str]]:
    """Yields the file and the text of each lab's page, in the order of the course."""
    (other,) = (one for one in LANGUAGES if one != language)
    for name in NAMES:
        links = {
            "course": f"../{page_name('labs', language)}",
            "other": page_name(name, other),
        }
        title, _, text = Lab(name).text(language, "page.md").partition("\n")
        begin = _BEGIN[language].format(name=name, **links)
        yield (
            f"labs/{page_name(name, language)}",
            in_one_line(f"{title}\n\n{begin}\n{_with_figures(text, name, language)}"),
        )


def lab_figures() -> Iterator[tuple[str, bytes]]:
    """Yields the file and the content of each figure of each lab."""
    for name in NAMES:
        for figure, content in _figures(name).items():
            yield f"labs/{name}/{figure}", content


def with_links(text: str, file: str) -> str:
    """Returns a page; in that of the course the labs that are there are links to their pages.

    Args:
        text: of the page.
        file: of the page, in docs/.
    """
    for language in LANGUAGES:
        if file == page_name("labs", language):
            text = _ROW.sub(partial(_linked, language=language), text)
    return text


def _linked(row: re.Match[str], language: str) -> str:
    name = row[1]
    return f"| [`{name}`](labs/{page_name(name, language)}) |" if name in NAMES else row[0]


@cache  # `mkdocs serve` asks again after each change
def _figures(name: str) -> Mapping[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        Lab(name).runner.figure(Path(folder))
        return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


def _with_figures(text: str, name: str, language: str) -> str:
    """Puts each figure behind the paragraph that names it; before one that goes on below it."""
    title = Lab(name).words(language)("title")
    blocks = []
    for block in text.split("\n\n"):
        figures = [
            f"{'!' if figure.endswith('.svg') else ''}[{title}]({name}/{figure})"
            for figure in _figures(name)
            if f"`pictures/{figure}`" in block
        ]
        goes_on = block.endswith((":", "："))
        blocks += [*figures, block] if goes_on else [block, *figures]
    return "\n\n".join(blocks)

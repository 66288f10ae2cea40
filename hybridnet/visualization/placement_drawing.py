"""The pictures of placements: SVG that is readable in 400 pixels, on light and on dark."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Final, final

from hybridnet.base.files import atomic_write
from hybridnet.base.html_page import HtmlPage

#: Pixels: of the picture across; from one device's box to the next, and the array in it.
_WIDE: Final = 396
_BOX: Final = 100
_ARRAY: Final = (84, 38)
_STRIP: Final = 14  # an array of one axis, down
_TEXTS: Final = (48, 60)  # below an array: of one line for its region, and of two
_LINE: Final = 17  # from one line of text to the next
_ROW: Final = 38  # from one parameter to the next
_BAR: Final = 96
_ACROSS: Final = 4  # boxes in a line
#: Characters that there is room for.
_HEAD_LETTERS: Final = 58
_NAME_LETTERS: Final = 38
_SAID_LETTERS: Final = 50
_RANGE_LETTERS: Final = 16
_STYLE: Final = """\
:root { color-scheme: light dark; }
svg { color: #24292f; color: light-dark(#24292f, #e6edf3); }
text { font: 12px system-ui, sans-serif; fill: currentColor; }
.small { font-size: 11px; opacity: .8; }
.range { font: 10px ui-monospace, monospace; }
.whole { fill: #8883; stroke: #888; stroke-width: 1; }
.bar { fill: #3b74b5; fill: light-dark(#3b74b5, #6ea3dd); }
"""


@final
@dataclass(frozen=True, slots=True)
class PlacementPicture:
    """A picture of how something lies on a mesh: notebooks show it, prompts print it as text.

    Attributes:
        title: what it is of.
        text: the same as text.
        svg: the picture, as a file would hold it.
    """

    title: str
    text: str
    svg: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        high = int(self.svg.partition(' height="')[2].partition('"')[0])
        return self._page(min(high + 24, 700))._repr_html_()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture; the file appears whole or not at all.

        Args:
            path: the file: SVG where it ends in .svg, else a page of HTML.

        Raises:
            OSError: it cannot be written.
        """
        if os.fspath(path).endswith(".svg"):
            with atomic_write(path) as file:
                file.write(self.svg.encode())
        else:
            self._page(400).save(path)

    def _page(self, height: int) -> HtmlPage:
        body = f'<div class="wide" tabindex="0">{self.svg}</div>'
        return HtmlPage(self.title, body, height=height)


@final
@dataclass(frozen=True, slots=True)
class Held:
    """The part of an array that a device holds.

    Attributes:
        device: its name.
        region: of the array, a slice with both ends for each axis.
        words: the same in words.
    """

    device: str
    region: tuple[slice, ...]
    words: str


def drawn_array(
    lines: Sequence[str], rows: Mapping[str, Sequence[Held]], shape: tuple[int, ...]
) -> str:
    """Returns the picture of an array on a mesh.

    Args:
        lines: what stands above.
        rows: what stands beside each other, by what is said of it; the first devices of many.
        shape: of the array.
    """
    parts, top = _head(lines)
    colors = _colors([one.region for row in rows.values() for one in row])
    longest = max(len(one.words) for row in rows.values() for one in row)
    high = _STRIP if len(shape) < 2 else _ARRAY[1]
    down = high + _TEXTS[longest > _RANGE_LETTERS]
    for label, row in rows.items():
        if label:
            parts.append(_text(0, top + 10, label, "small"))
            top += _LINE
        for number, one in enumerate(row):
            line, column = divmod(number, _ACROSS)
            place = f"translate({column * _BOX},{top + line * down})"
            inside = _part(one, shape, high, colors[str(one.region)])
            parts.append(f'<g class="part" transform="{place}">{inside}</g>')
        top += down * math.ceil(len(row) / _ACROSS)
    return _svg(parts, top, lines[0])


def drawn_table(lines: Sequence[str], rows: Sequence[tuple[str, str, str, int, int]]) -> str:
    """Returns the picture of a network's parameters.

    Args:
        lines: what stands above.
        rows: of each its name, facts, its sizes in words, the bytes on a device, and of the whole.
    """
    parts, top = _head(lines)
    for row in rows:
        parts.append(f'<g class="row" transform="translate(0,{top})">{_row(*row)}</g>')
        top += _ROW
    return _svg(parts, top, lines[0])


def _row(name: str, said: str, sizes: str, held: int, size: int) -> str:
    """Returns what is drawn of a parameter: see `drawn_table`."""
    title = f"<title>{escape(f'{name}: {said}')}</title>"
    cut = said if len(said) <= _SAID_LETTERS else f"{said[:_SAID_LETTERS]}…"
    words = _text(0, 12, _end(name, _NAME_LETTERS)) + _text(0, 27, cut, "small")
    if not size:
        return title + words
    left = _WIDE - _BAR
    whole = f'<rect class="whole" x="{left}.5" y="18.5" width="{_BAR - 1}" height="8"/>'
    bar = f'<rect class="bar" x="{left}" y="18" width="{_BAR * held / size:.1f}" height="9"/>'
    return title + words + _text(left, 12, sizes, "small") + whole + bar


def _part(one: Held, shape: tuple[int, ...], high: int, color: str) -> str:
    """Returns an array as a rectangle with the device's region filled, and words below."""
    title = f"<title>{escape(f'{one.device} has {one.words}')}</title>"
    texts = [_text(0, high + 14, _end(one.device, _RANGE_LETTERS), "small")]
    for number, text in enumerate(_halves(one.words)):
        texts.append(_text(0, high + 27 + 12 * number, text, "range"))
    return title + _rectangles(one.region, shape, high, color) + "".join(texts)


def _rectangles(region: Sequence[slice], shape: tuple[int, ...], high: int, color: str) -> str:
    rows, columns = _two_axes(region, shape)
    (down, (y0, y1)), (across, (x0, x1)) = (_extent(region, shape, i) for i in (rows, columns))
    wide = min(max(high * across / down, high / 2), _ARRAY[0]) if rows is not None else _ARRAY[0]
    return (
        f'<rect class="whole" x=".5" y=".5" width="{wide:.1f}" height="{high}"/>'
        f'<rect x="{0.5 + wide * x0:.1f}" y="{0.5 + high * y0:.1f}" '
        f'width="{wide * (x1 - x0):.1f}" height="{high * (y1 - y0):.1f}" fill="{color}"/>'
    )


def _two_axes(region: Sequence[slice], shape: tuple[int, ...]) -> tuple[int | None, int | None]:
    """Returns the axes that are drawn down and across: those that are split go before others."""
    if len(shape) < 2:
        return None, 0 if shape else None
    by_split = sorted(range(len(shape)), key=lambda i: region[i] == slice(0, shape[i]))
    down, across = sorted(by_split[:2])
    return down, across


def _extent(
    region: Sequence[slice], shape: tuple[int, ...], axis: int | None
) -> tuple[int, tuple[float, float]]:
    """Returns the size of an axis, and where a region begins and ends along it, from 0 to 1."""
    if axis is None or not shape[axis]:
        return 1, (0.0, 1.0)
    one, size = region[axis], shape[axis]
    return size, (one.start / size, one.stop / size)


def _colors(regions: Sequence[tuple[slice, ...]]) -> dict[str, str]:
    """Returns a color for each different region; neighbors differ in hue by the golden angle."""
    different = dict.fromkeys(map(str, regions))
    return {key: f"hsl({(210 + 137.5 * i) % 360:.0f} 55% 50%)" for i, key in enumerate(different)}


def _head(lines: Sequence[str]) -> tuple[list[str], int]:
    """Returns what stands above a picture, and where it ends."""
    broken = [one for line in lines for one in wrap(line, _HEAD_LETTERS)]
    texts = [_text(0, _LINE * (i + 1) - 4, line) for i, line in enumerate(broken)]
    return texts, _LINE * len(broken) + 6


def _halves(words: str) -> list[str]:
    """Returns a region in one line, or in two where it is long, each cut to what fits."""
    if len(words) <= _RANGE_LETTERS:
        return [words]
    spaces = [i for i, letter in enumerate(words) if letter == " "] or [len(words)]
    middle = min(spaces, key=lambda i: abs(2 * i - len(words)))
    return [_end(half, _RANGE_LETTERS) for half in (words[:middle], words[middle:].strip())]


def _end(text: str, letters: int) -> str:
    """Returns the end of a text that is too long."""
    return text if len(text) <= letters else f"…{text[1 - letters :]}"


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x}" y="{y}">{escape(text)}</text>'


def _svg(parts: Sequence[str], high: int, title: str) -> str:
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{high}" '
        f'viewBox="0 0 {_WIDE} {high}" role="img" aria-label="{escape(title)}">\n'
        f"<style>\n{_STYLE}</style>\n{inside}\n</svg>\n"
    )

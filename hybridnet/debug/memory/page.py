"""The page of snapshots: which arrays there were, over time, by line and by name.

The page has the arrays in it, equal ones as one row with their number, and adds them up itself, as
far as they belong to what was clicked on: a moment, a line, a name. It shows what users called
things as text only, never as HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hybridnet.base.html_page import HtmlPage, json_element, script_file
from hybridnet.runtime.watching import LiveArray

from .sums import group_of

__all__ = ["memory_page"]

#: More rows of a snapshot make a page that opens slowly; the others are one row.
_ROWS: Final = 2000
_STYLE: Final = """\
svg { display: block; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
#scroll { overflow-x: auto; margin: 6px 0; }
.moment { cursor: pointer; }
.moment.dim rect { opacity: .35; }
.beside { display: flex; flex-wrap: wrap; gap: 0 24px; align-items: flex-start; }
h2 { font-size: 1em; margin: 10px 0 2px; }
.beside > div { max-width: 100%; }
th:first-child, td:first-child, #arrays td:nth-child(-n+4) { text-align: left; }
tr.chosen { background: #3b74b533; }
i { display: inline-block; width: 10px; height: 10px; margin-right: 6px; }
"""
_BODY: Final = """\
<div><button id="all">show all</button> <span id="sum"></span></div>
<div id="scroll" tabindex="0"><svg id="moments" role="group" aria-label="bytes at each snapshot">
</svg></div>
<div class="beside">
<div><h2>Lines</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>line<th>MiB<th>arrays<th>since the first</thead>
<tbody id="lines"></tbody></table></div></div>
<div><h2>Names</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>name<th>MiB<th>arrays<th>since the first</thead>
<tbody id="names"></tbody></table></div></div>
</div>
<h2>Arrays</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>line<th>name<th>kind<th>on<th>arrays<th>MiB</thead>
<tbody id="arrays"></tbody></table></div>
"""


def memory_page(snapshots: Sequence[Sequence[LiveArray]]) -> HtmlPage:
    """Returns the page of the arrays of some snapshots, in their order."""
    words: dict[str, int] = {}
    moments = [_rows(arrays, words) for arrays in snapshots]
    body = _BODY + json_element("data", {"words": list(words), "moments": moments})
    return HtmlPage("Where the memory is", body, _STYLE, script_file(__package__, "page.js"), 640)


def _rows(arrays: Sequence[LiveArray], words: dict[str, int]) -> list[list[int]]:
    """Returns rows of a line, a name, a kind and a context, as numbers of words; bytes, a count."""
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for one in arrays:
        key = group_of(one), ", ".join(one.names), one.kind, one.ctx
        sizes = sums.setdefault(key, [0, 0])
        sizes[0] += one.nbytes
        sizes[1] += 1
    rows = sorted(sums.items(), key=lambda row: -row[1][0])
    more = rows[_ROWS:]
    if more:
        size = [sum(sizes[at] for _, sizes in more) for at in (0, 1)]
        rows = [*rows[:_ROWS], (("all others", "", "", ""), size)]
    return [[*(words.setdefault(word, len(words)) for word in key), *sizes] for key, sizes in rows]

"""A picture of what ran when, in a page: a row for each thread and device, a bar for each event.

Bars within bars (a compilation in a launch) stand below them; what is narrower than a pixel is
drawn together, as dark as it fills the pixel. Above are counters, as steps, and markers, as lines
through all. `timeline.js` draws, on a canvas: all events are in the page, and a browser shows
hundreds of thousands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from html import escape
from typing import Any, Final

from hybridnet.base.html_page import HtmlPage, json_element, script_file
from hybridnet.base.units import size_words

from .spans import Span

#: Kinds of events that are drawn: their colors, and what they are.
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "program": ("#3f8f4f", "programs"),
    "device": ("#1f6f5f", "devices at work"),
    "collective": ("#c46a1b", "collectives"),
    "host": ("#a09a2a", "operators by NumPy"),
    "steps": ("#8a9c6f", "launches one by one"),
    "compile": ("#c0392b", "compilations"),
    "task": ("#3b74b5", "tasks of the engine"),
    "wait": ("#d98cb3", "waits"),
    "transfer": ("#6fb7a8", "tensors of other tasks"),
    "message": ("#2a8f9f", "messages of stores"),
    "custom": ("#8a63b0", "operators in Python"),
    "user": ("#d9862b", "the user's"),
    "counter": ("#7a6fc0", "counters"),
    "memory": ("#5a7fa8", "memory"),
    "marker": ("#888888", "markers"),
}
#: Kinds that are no bars.
_COUNTERS: Final = frozenset({"counter", "memory"})
_BAR_HEIGHT: Final = 16  # pixels, as in the script
_HEAD_HEIGHT: Final = 17
_SILENT: Final = 0.9  # of all the time: where nothing happened that long, the page opens behind it
_STYLE: Final = """\
.line button[aria-pressed=false] { text-decoration: line-through; border-style: dashed; }
#search { flex: 0 1 14em; min-width: 6em; }
#seen { margin-left: auto; }
#drawn { border: 1px solid GrayText; margin: 6px 0; }
#ruler { position: sticky; top: 0; background: Canvas; border-bottom: 1px solid GrayText;
  cursor: col-resize; z-index: 1; }
canvas { display: block; width: 100%; touch-action: pan-y; }
#rows:focus-visible { outline: 2px solid Highlight; }
#said { min-height: 5em; overflow-wrap: anywhere; }
dd { white-space: pre-wrap; }
ol { margin: 0; padding-left: 2.5em; columns: 22em; }
details { margin: 4px 0; }
kbd { border: 1px solid GrayText; border-radius: 3px; padding: 0 3px; }
"""
_HELP: Final = (
    "<details><summary>How to move</summary>Drag to move, or <kbd>A</kbd> <kbd>D</kbd>; "
    "<kbd>W</kbd> <kbd>S</kbd>, or the wheel with Ctrl, zoom. Drag over the ruler, or with Shift, "
    "to see what lies between; a double click fits the chosen bar. Arrow keys go from bar to bar. "
    "A kind in the line above is hidden by a click.</details>"
)


def timeline_page(events: Sequence[Span]) -> HtmlPage:
    """Returns the page of some events, which come by start."""
    shown = [event for event in events if event.kind in _KINDS]
    begin = min((event.start for event in shown), default=0.0)
    end = max((event.start + event.duration for event in shown), default=begin)
    bars = [event for event in shown if event.kind not in {*_COUNTERS, "marker"}]
    data = _Data(begin)
    rows = [
        {"name": name, "lanes": max(depths) + 1, "spans": data.spans(spans, depths)}
        for name, spans in _rows(bars).items()
        if (depths := _depths(spans))
    ]
    counters = _counters([one for one in shown if one.kind in _COUNTERS], data)
    marks = [
        {
            "name": one.name,
            "kind": data.kinds.of(one.kind),
            "start": data.time(one),
            "facts": data.fact(one),
        }
        for one in shown
        if one.kind == "marker"
    ]
    count = f"{len(bars)} events in {_time(end - begin) if shown else 'no time'}"
    first = _after_silence(shown, begin, end)
    if first > begin:
        count += f"; shown are the last {_time(end - first)}, All shows what was long before"
    held = {
        "begin": first - begin,
        "end": max(end - begin, 1e-3),
        "count": count,
        "rows": rows,
        "counters": counters,
        "marks": marks,
        "names": data.names.values,
        "facts": [json.loads(one) for one in data.facts.values],
        "kinds": [_kind(kind) for kind in data.kinds.values],
    }
    body = (
        f'<div class="line" role="group" aria-label="Kinds">{_legend(data.kinds)}</div>\n'
        '<div class="line"><button id="in" aria-label="Zoom in">+</button>'
        '<button id="out" aria-label="Zoom out">&minus;</button><button id="all">All</button>'
        '<input id="search" type="search" placeholder="Search" aria-label="Search events">'
        '<span id="count" role="status"></span><span id="seen"></span></div>\n'
        '<div id="drawn"><canvas id="ruler" aria-hidden="true"></canvas>'
        '<canvas id="rows" tabindex="0" role="application" '
        'aria-label="Events by time: arrow keys go from one to the next"></canvas></div>\n'
        f'<div id="said" role="status"></div>\n{_HELP}\n{json_element("data", held)}'
    )
    height = 230 + 55 * len(counters)
    height += sum(_HEAD_HEIGHT + 4 + _BAR_HEIGHT * int(str(row["lanes"])) for row in rows)
    return HtmlPage(
        "What ran when", body, _STYLE, script_file(__package__, "timeline.js"), min(height, 700)
    )


def _after_silence(events: Sequence[Span], begin: float, end: float) -> float:
    """Returns where the page opens: behind a silence that would leave no width for what is around.

    Such is between two runs of the profiler that are far apart; else it is where all begins.
    """
    longest, after, last = 0.0, begin, begin
    for event in events:
        if event.start - last > longest:
            longest, after = event.start - last, event.start
        last = max(last, event.start + event.duration)
    return after if longest > _SILENT * (end - begin) else begin


class _Table:
    """Values that many events share, each once, by number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def of(self, value: Hashable) -> int:
        """Returns the number of a value."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class _Data:
    """The events as the page holds them; times from `begin` on."""

    def __init__(self, begin: float) -> None:
        self.names, self.facts, self.kinds = _Table(), _Table(), _Table()
        self._begin = begin

    def spans(self, spans: Sequence[Span], depths: Sequence[int]) -> list[list[float]]:
        """Returns start, duration, lane, and numbers of kind, name and facts of each event."""
        return [
            [
                *(self.time(one), round(one.duration, 3), depth),
                *(self.kinds.of(one.kind), self.names.of(one.name), self.fact(one)),
            ]
            for one, depth in zip(spans, depths, strict=True)
        ]

    def time(self, span: Span) -> float:
        """Returns when an event began."""
        return round(span.start - self._begin, 3)

    def fact(self, span: Span) -> int:
        """Returns the number of what is known of an event, as words."""
        known = {key: _words(value) for key, value in span.facts.items()}
        if len(span.operators) > 1:
            known["operators"] = [*span.operators]
        return self.facts.of(json.dumps(known))


def _words(value: object) -> str | list[str]:
    return [*map(str, value)] if isinstance(value, (list, tuple)) else str(value)


def _rows(bars: Sequence[Span]) -> dict[str, list[Span]]:
    """Returns the events of each row; a device's row follows that of the thread it works for."""
    rows: dict[str, list[Span]] = {}
    after: dict[str, dict[str, list[Span]]] = {}
    for event in bars:
        if event.kind in ("device", "collective"):
            device = str(event.facts["device"])
            name = device if device == event.row else f"{device}, started by {event.row}"
            after.setdefault(event.row, {}).setdefault(name, []).append(event)
        else:
            rows.setdefault(event.row, []).append(event)
    ordered = {}
    for name in [*rows, *(one for one in after if one not in rows)]:
        if name in rows:
            ordered[name] = rows[name]
        ordered |= after.get(name, {})
    return ordered


def _counters(events: Sequence[Span], data: _Data) -> list[dict[str, Any]]:
    """Returns the values of each counter over time."""
    points: dict[tuple[str, str], list[list[float]]] = {}
    for one in events:
        value = float(one.facts["value"])
        if math.isfinite(value):
            point = [data.time(one), value]
            points.setdefault((one.kind, one.name), []).append(point)
    found = []
    for (kind, name), values in points.items():
        numbers = [value for _, value in values]
        low, high = min(numbers), max(numbers)
        if kind == "memory":
            words = f"{size_words(int(low))} to {size_words(int(high))}"
        else:
            words = f"{low:g} to {high:g}"
        found.append(
            {
                "name": name,
                "label": f"{name}: {words}",
                "kind": data.kinds.of(kind),
                "low": low,
                "high": high,
                "points": values,
            }
        )
    return found


def _depths(spans: Sequence[Span]) -> list[int]:
    """Returns of each event of a row how many others it lies within."""
    around: list[float] = []
    depths = []
    for span in spans:
        while around and around[-1] <= span.start:
            around.pop()
        depths.append(len(around))
        around.append(span.start + span.duration)
    return depths


def _kind(kind: str) -> dict[str, str]:
    color, title = _KINDS[kind]
    return {"what": title, "color": color, "text": _readable_on(color)}


def _readable_on(color: str) -> str:
    """Returns black or white, whichever stands out more: 4.5 at least, as WCAG 2 counts it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000" if (light + 0.05) / 0.05 > 1.05 / (light + 0.05) else "#fff"


def _time(microseconds: float) -> str:
    if microseconds < 1e3:
        return f"{microseconds:.0f} us"
    return f"{microseconds / 1e3:.3g} ms" if microseconds < 1e6 else f"{microseconds / 1e6:.3g} s"


def _legend(kinds: _Table) -> str:
    return "".join(
        f'<button data-kind="{number}" aria-pressed="true"><i style="background:{_KINDS[kind][0]}">'
        f"</i>{escape(_KINDS[kind][1])}</button>"
        for number, kind in enumerate(kinds.values)
    )

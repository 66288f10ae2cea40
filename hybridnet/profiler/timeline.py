"""A picture of what ran when, in a page: a row for each thread and device, a bar for each event.

Bars within bars (a compilation in a launch) stand below them. The wheel with Ctrl, or the buttons,
zoom; a click on a bar tells all that is known of it; a click on a kind in the legend hides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from hybridnet.base.html_page import HtmlPage

from .spans import Span

#: Kinds of events that are bars: their colors, and what they are.
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
}
#: More bars than this, and a browser takes seconds to show them: the longest are kept.
_BARS: Final = 5000
_BAR_HEIGHT: Final = 15  # pixels of a bar
_STYLE: Final = """\
.legend button { border: 1px solid #888; border-radius: 4px; margin-right: 4px; cursor: pointer;
  background: none; color: inherit; }
.legend button.off { opacity: .35; text-decoration: line-through; }
.legend i { display: inline-block; width: 10px; height: 10px; margin-right: 4px; }
#scroll { overflow-x: auto; border: 1px solid #8886; margin: 6px 0; }
#rows { position: relative; min-width: 100%; overflow-x: clip; }
.row { position: relative; border-bottom: 1px solid #8884; }
.row > span { position: sticky; left: 2px; font-size: 11px; opacity: .7; }
.bar { position: absolute; height: 14px; min-width: 1px; overflow: hidden; white-space: nowrap;
  font-size: 10px; text-indent: 3px; color: #fff; cursor: pointer; border-radius: 2px; }
.bar.chosen { outline: 2px solid currentColor; outline-color: #f60; }
#said { white-space: pre-wrap; min-height: 4em; }
"""
_SCRIPT: Final = """\
const scroll = document.getElementById("scroll"), rows = document.getElementById("rows");
const said = document.getElementById("said");
let zoom = 1;
function setZoom(factor, x) {          // what is below x stays there
  const at = (scroll.scrollLeft + x) / rows.offsetWidth;
  zoom = Math.min(Math.max(zoom * factor, 1), 2000);
  rows.style.width = 100 * zoom + "%";
  scroll.scrollLeft = at * rows.offsetWidth - x;
}
document.getElementById("in").onclick = () => setZoom(2, scroll.clientWidth / 2);
document.getElementById("out").onclick = () => setZoom(0.5, scroll.clientWidth / 2);
scroll.addEventListener("wheel", event => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  setZoom(event.deltaY < 0 ? 1.25 : 0.8, event.clientX - scroll.getBoundingClientRect().left);
}, {passive: false});
rows.onclick = event => {
  const bar = event.target.closest(".bar");
  if (!bar) return;
  document.querySelectorAll(".chosen").forEach(other => other.classList.remove("chosen"));
  bar.classList.add("chosen");
  said.textContent = bar.title;
};
document.querySelectorAll(".legend button[data-kind]").forEach(button => button.onclick = () => {
  const off = button.classList.toggle("off");
  document.querySelectorAll(".bar." + button.dataset.kind).forEach(
    bar => bar.style.display = off ? "none" : "");
});
"""


def timeline_page(events: Sequence[Span]) -> HtmlPage:
    """Returns the page of some events, which come by start; those without duration are left out."""
    shown = [event for event in events if event.kind in _KINDS]
    left_out = max(len(shown) - _BARS, 0)
    if left_out:
        shortest = sorted(shown, key=lambda event: event.duration)[left_out].duration
        shown = [event for event in shown if event.duration >= shortest]
    begin = min((event.start for event in shown), default=0.0)
    end = max((event.start + event.duration for event in shown), default=1.0)
    rows: dict[str, list[Span]] = {}
    for event in shown:
        rows.setdefault(_row_of(event), []).append(event)
    drawn = "\n".join(_row(name, spans, begin, end) for name, spans in rows.items())
    head = f"{len(shown)} events in {_time(end - begin) if shown else 'no time'}"
    if left_out:
        head += f"; the {left_out} shortest are left out"
    body = (
        f'<div class="legend">{_legend(shown)}<button id="in">+</button><button id="out">-</button>'
        f" {head}</div>\n"
        f'<div id="scroll"><div id="rows">\n{drawn}\n</div></div>\n'
        '<code id="said">Click on a bar.</code>'
    )
    height = 170 + sum(18 + _BAR_HEIGHT * (1 + max(_depths(spans))) for spans in rows.values())
    return HtmlPage("What ran when", body, _STYLE, _SCRIPT, min(height, 700))


def _row_of(event: Span) -> str:
    if event.kind in ("device", "collective"):
        device = str(event.facts["device"])
        return device if device == event.row else f"{device}, started by {event.row}"
    return event.row


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


def _row(name: str, spans: Sequence[Span], begin: float, end: float) -> str:
    depths = _depths(spans)
    scale = 100 / max(end - begin, 1e-9)
    bars = []
    for span, depth in zip(spans, depths, strict=True):
        place = (
            f"left:{(span.start - begin) * scale:.4f}%;width:{span.duration * scale:.4f}%;"
            f"top:{17 + _BAR_HEIGHT * depth}px;background:{_KINDS[span.kind][0]}"
        )
        bars.append(
            f'<div class="bar {span.kind}" style="{place}" title="{escape(_words(span, begin))}">'
            f"{escape(span.name)}</div>"
        )
    height = 19 + _BAR_HEIGHT * (max(depths) + 1)
    return (
        f'<div class="row" style="height:{height}px"><span>{escape(name)}</span>\n'
        + "\n".join(bars)
        + "</div>"
    )


def _words(span: Span, begin: float) -> str:
    facts = "".join(f"\n{key}: {_fact(value)}" for key, value in span.facts.items())
    return (
        f"{span.name}\n{span.kind}, {_time(span.duration)} from {_time(span.start - begin)}{facts}"
    )


def _fact(value: object) -> str:
    return "\n  ".join(value) if isinstance(value, list) else str(value)


def _time(microseconds: float) -> str:
    if microseconds < 1e3:
        return f"{microseconds:.0f} us"
    return f"{microseconds / 1e3:.3g} ms" if microseconds < 1e6 else f"{microseconds / 1e6:.3g} s"


def _legend(spans: Sequence[Span]) -> str:
    present = {span.kind for span in spans}
    return "".join(
        f'<button data-kind="{kind}"><i style="background:{color}"></i>{title}</button>'
        for kind, (color, title) in _KINDS.items()
        if kind in present
    )

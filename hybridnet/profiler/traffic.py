"""The page of a store's traffic: a picture of who sent what to whom, by arrows, rounds and keys.

The page has all messages in it, and adds them up itself, as far as they belong to what was clicked
on: an arrow (all from one to another), a round, a key. What is clicked on again is let go.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import ParameterError
from hybridnet.base.html_page import HtmlPage, json_element, script_file

from .spans import Span

#: More messages make a page that opens slowly.
_MESSAGES: Final = 20_000
_NUMBERS: Final = ("sent", "received", "round")
#: What separates a store's number from a key's name on servers (`hybridnet.kv.names`).
_MARK: Final = "\x1f"
_STYLE: Final = """\
svg { display: block; }
.beside { display: flex; flex-wrap: wrap; gap: 16px; align-items: center; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
#scroll { overflow-x: auto; }
.node { fill: #3b74b518; stroke: #3b74b5; }
.arrow { fill: none; cursor: pointer; }
.arrow.there { stroke: #3f8f4f; }
.arrow.back { stroke: #d9862b; }
.head.there { fill: #3f8f4f; }
.head.back { fill: #d9862b; }
.arrow.dim, .round.dim { opacity: .15; }
.round { fill: #3b74b5; cursor: pointer; }
h2 { font-size: 1em; margin: 10px 0 2px; }
h2 small { font-weight: normal; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
tbody tr.chosen { background: #3b74b533; }
"""
_BODY: Final = """\
<div class="legend"><button id="all">show all</button> <span id="sum"></span></div>
<div class="beside"><svg id="net" role="group" aria-label="who sent to whom"></svg>
<div class="wide" tabindex="0"><table>
<thead><tr><th>from<th>to<th>times<th>bytes</thead>
<tbody id="links"></tbody></table></div></div>
<h2>Rounds <small>(time from the first message to the last answer)</small></h2>
<div id="scroll" tabindex="0"><svg id="rounds" role="group" aria-label="time of each round">
</svg></div>
<h2>Keys</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>key<th>what<th>messages<th>sent<th>answered<th>mean time<th>longest</thead>
<tbody id="keys"></tbody></table></div>
"""

#: Of one message: source, to, key, what, round, bytes sent, bytes answered, begin and duration in
#: microseconds.
Message = tuple[str, str, str, str, int, int, int, float, float]


def messages_of(events: Sequence[Span]) -> list[Message]:
    """Returns the messages among a profiler's events."""
    return [
        _message(event.facts, event.start, event.duration)
        for event in events
        if event.kind == "message"
    ]


def messages_of_trace(path: str | os.PathLike[str]) -> list[Message]:
    """Returns the messages in a file that `dump` wrote.

    Raises:
        OSError: it cannot be read.
        ParameterError: it is no trace.
    """
    try:
        events = json.loads(Path(path).read_bytes())["traceEvents"]
        return [
            _message(event["args"], float(event["ts"]), float(event["dur"]))
            for event in events
            if event.get("cat") == "message" and event["ph"] == "X"
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"traffic: needs a trace that profiler.dump wrote, and {os.fspath(path)!r} is none: "
            f"{type(error).__name__}: {error}"
        ) from error


def _message(facts: Mapping[str, Any], start: float, duration: float) -> Message:
    sent, received, number = (int(facts[name]) for name in _NUMBERS)
    key = str(facts["key"])
    if _MARK in key:
        store, _, name = key.partition(_MARK)
        key = f"{name[1:]} (store {store})"
    names = str(facts["source"]), str(facts["to"])
    return (*names, key, str(facts["what"]), number, sent, received, start, duration)


def traffic_page(messages: Sequence[Message]) -> HtmlPage:
    """Returns the page of some messages."""
    newest = sorted(messages, key=lambda one: one[7])[-_MESSAGES:]
    left_out = len(messages) - len(newest)
    numbers: dict[str, int] = {}
    rows = [
        [*(numbers.setdefault(word, len(numbers)) for word in one[:4]), *one[4:7],
         round(one[7], 1), round(one[8], 1)]
        for one in newest
    ]  # fmt: skip
    held = {"words": list(numbers), "rows": rows, "leftOut": left_out}
    body = _BODY + json_element("data", held)
    script = script_file(__package__, "traffic.js")
    return HtmlPage("Who sent what to whom", body, _STYLE, script, 620)

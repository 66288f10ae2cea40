"""A launch as a table: each operator with what ran it, how long that took, and its result's bytes.

Single operators have times where the launch ran them one by one; the head has that of the launch.
The time of a program is that of handing it to its device, which may go on computing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from hybridnet.base.units import size_words
from hybridnet.graph import Node, to_text

from ..observe import journal
from ..observe.journal import Launch
from ..platform.jax_devices import platform_of
from .reading import collectives_of, graph_of, head_of, history_of

_HEADINGS: Final = ("", "operator", "result", "memory", "ran by", "time", "line", "")
#: What ran an operator, by the kind of event.
_TIERS: Final = {"host": "NumPy", "program": "program"}
_STEPS: Final = "steps"
_CAPTION: Final = "text-align:left"


def table_of(launch: Launch) -> str:
    """Returns a launch as a table of HTML."""
    graph, order, types = graph_of(launch)
    nodes = list(dict.fromkeys((*graph.inputs, *order, *graph.nodes)))
    texts = [line.partition(" = ") for line in to_text(graph, order=order).splitlines()]
    outputs, needed = {edge.node for edge in graph.outputs}, set(graph.nodes)
    donated = {graph.inputs[slot] for slot in launch.code.donated}
    ran = dict(zip(order, _ran(launch), strict=True))
    lines = dict(zip(order, _lines(launch, order), strict=True))
    rows = []
    for (name, _, text), node in zip(texts, nodes, strict=False):
        words = {
            "output": node in outputs,
            "donated": node in donated,
            "not needed": node not in needed and node in ran,
        }
        tier, seconds = ran.get(node, ("", None))
        size = sum(type_.nbytes for type_ in types[node])
        cells = (
            *(name, text, ", ".join(map(str, types[node])), size_words(size), tier, _time(seconds)),
            *(lines.get(node, ""), ", ".join(word for word, holds in words.items() if holds)),
        )
        rows.append(_row("td", cells))
    total = sum(type_.nbytes for node in order if node in needed for type_ in types[node])
    facts = [head_of(launch), history_of(launch)]
    if launch.seconds is not None:
        facts.append(f"{_time(launch.seconds)} in all")
    facts.append(f"{size_words(total)} of results")
    facts += collectives_of(launch)
    return "\n".join(
        (
            '<div style="overflow-x:auto">',
            f'<table><caption style="{_CAPTION}">{escape("; ".join(facts))}</caption>',
            _row("th", _HEADINGS),
            *rows,
            "</table></div>",
        )
    )


def _row(tag: str, cells: Sequence[str]) -> str:
    inside = "".join(f'<{tag} style="text-align:left">{escape(cell)}</{tag}>' for cell in cells)
    return f"<tr>{inside}</tr>"


def _lines(launch: Launch, order: Sequence[Node]) -> Iterator[str]:
    number = 0
    for node in order:
        yield journal.ranges([launch.lines.get(number)])
        number += node.num_outputs


def _ran(launch: Launch) -> list[tuple[str, float | None]]:
    """Returns for each operator of a launch what ran it, and the seconds that took if known."""
    instructions = launch.code.instructions
    platform = platform_of(launch.code.ctx)
    if _STEPS not in {event.kind for event in launch.events}:
        kinds = [event.kind for event in launch.events if event.kind in _TIERS]
        return [(_TIERS[kinds[0]] if kinds else "", None)] * len(instructions)
    steps = [event for event in launch.events if event.kind in _TIERS]
    for optimized in (False, True):
        parts = [
            len(call.lay_open(platform, optimized=optimized).instructions) if call.has_parts else 1
            for call, _ in instructions
        ]
        if len(steps) == sum(parts):
            break
    else:  # some of them were run together
        return [("", None)] * len(instructions)
    found: list[tuple[str, float | None]] = []
    for count in parts:
        own, steps = steps[:count], steps[count:]
        tiers = dict.fromkeys(_TIERS[event.kind] for event in own)
        found.append((" and ".join(tiers), math.fsum(event.seconds for event in own)))
    return found


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"

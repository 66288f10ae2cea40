"""Lab 5: what is to hold of a placement, tried on small graphs with a table of times.

How good a placement is says the plain simulation of simulated.py, which knows no placer.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final

from hypothesis import strategies as st

from hybridnet import sym
from hybridnet.base.device_name import DeviceName
from hybridnet.passes import (
    CostModel,
    DeviceCost,
    DeviceSite,
    LinkCost,
    Plan,
    earliest_finish,
    place,
)
from hybridnet.symbol.optimization import with_context

from ...checking import Check, Wrong
from .placer import Placer, speeds_of, works_of
from .simulated import Speeds, Work, length_of, placed_by

_DEVICES: Final = ("x", "y", "z")
#: How many times as long as the best run a placement's may take; of 15,000 random graphs the worst
#: by the greedy placer takes 2.75 times, and by one that has another taste in ties 3 times.
OF_BEST: Final = 4.0
#: How many times as long as that of ours.
OF_OURS: Final = 2.0
#: How often `compute` may be asked, for each node and each pair of devices.
_QUESTIONS: Final = 20
#: Nodes of the graphs that are to be placed quickly.
_MANY: Final = 300


@dataclass(frozen=True)
class _Costed:
    """A graph to be placed.

    Attributes:
        nodes: each after those that it reads.
        times: of each node by device, in seconds.
        latency: seconds that each transfer takes.
        per_byte: seconds that it takes more for each byte.
        devices: the names of all.
    """

    nodes: tuple[Work, ...]
    times: Mapping[Work, Mapping[str, int]] = field(repr=False)
    latency: float
    per_byte: float
    devices: tuple[str, ...]

    @property
    def speeds(self) -> Speeds:
        return Speeds(
            self.devices,
            lambda device, node: self.times[node][device],
            lambda source, device, nbytes: self.latency + self.per_byte * nbytes,
        )

    def __str__(self) -> str:
        lines = [f"devices {', '.join(self.devices)}; ", *map(self._line, self.nodes)]
        lines[0] += f"a transfer takes {self.latency:g} s, and {self.per_byte:g} s a byte"
        return "\n".join(lines)

    def _line(self, node: Work) -> str:
        times = ", ".join(f"{self.times[node][one]} s on {one}" for one in node.devices)
        words = [f"{node.name}: takes {times}"]
        if len(node.devices) < len(self.devices):
            words.append(f"can only be on {', '.join(node.devices)}")
        if node.together:
            mates = [one.name for one in self.nodes if one.together == node.together]
            words.append(f"must be with {', '.join(name for name in mates if name != node.name)}")
        if node.reads:
            reads = ", ".join(f"{source.name} ({nbytes} bytes)" for source, nbytes in node.reads)
            words.append(f"reads {reads}")
        return "; ".join(words)


_MOST: Final = 6  # nodes, so that all placements on two devices can be tried
_SIZES: Final = st.integers(1, 4)  # bytes
#: How far before a node those are that it reads.
_BACK: Final = st.lists(st.integers(1, _MOST), max_size=2)


def _rows(slowest: int) -> st.SearchStrategy[list[Any]]:
    """Nodes as numbers: what each reads, its seconds, where it cannot be, whether it has a mate."""
    seconds = st.tuples(*[st.integers(1, slowest)] * len(_DEVICES))
    sizes = st.tuples(_SIZES, _SIZES)
    one = st.tuples(_BACK, sizes, seconds, st.integers(0, 2 ** len(_DEVICES) - 1), st.booleans())
    return st.lists(one, min_size=1, max_size=_MOST)


def _sources(nodes: Sequence[Work], back: Sequence[int], default: Sequence[Work]) -> list[Work]:
    found = [nodes[-one] for one in dict.fromkeys(back) if one <= len(nodes)]
    return found or list(default)


@st.composite
def _graphs(draw: Any, devices: int = 3, free: bool = False, slowest: int = 9) -> _Costed:
    """Draws a graph.

    Args:
        devices: devices at most.
        free: whether each node can be on each device.
        slowest: seconds that a node takes at most.
    """
    names = _DEVICES[: draw(st.integers(1, devices))]
    rows = draw(_rows(slowest))
    mated = [row for row in rows if row[-1]]
    nodes: list[Work] = []
    times: dict[Work, dict[str, int]] = {}
    for name, row in zip(string.ascii_uppercase, rows, strict=False):
        back, sizes, seconds, without, has_mate = row
        has_mate = has_mate and len(mated) > 1 and not free
        without = 0 if free else mated[0][3] if has_mate else without
        can = tuple(one for i, one in enumerate(names) if not without >> i & 1) or names
        reads = tuple(zip(_sources(nodes, back, ()), sizes, strict=False))
        nodes.append(Work(name, reads, can, "together" if has_mate else ""))
        times[nodes[-1]] = dict(zip(_DEVICES, seconds, strict=True))
    latency, per_byte = draw(st.integers(0, 5)), draw(st.integers(0, 3))
    return _Costed(tuple(nodes), times, latency, per_byte, names)


@st.composite
def _branches(draw: Any) -> _Costed:
    """Draws two branches that have nothing to do with each other, on two equal devices."""
    length, seconds = draw(st.integers(1, 4)), draw(st.integers(2, 9))
    branches: list[list[Work]] = [[], []]
    for name in string.ascii_uppercase[:length]:
        for number, branch in enumerate(branches):
            reads = ((branch[-1], 1),) if branch else ()
            branch.append(Work(f"{name}{number}", reads, _DEVICES[:2]))
    nodes = [*branches[0], *branches[1]]
    if draw(st.booleans()):
        nodes = [node for pair in zip(*branches, strict=True) for node in pair]
    times = {node: dict.fromkeys(_DEVICES[:2], seconds) for node in nodes}
    return _Costed(tuple(nodes), times, 0.1, 0.1, _DEVICES[:2])


@st.composite
def _far_devices(draw: Any) -> _Costed:
    """Draws a graph of one first node, on two equal devices that are far from each other."""
    nodes: list[Work] = []
    times: dict[Work, dict[str, int]] = {}
    for name, row in zip(string.ascii_uppercase, draw(_rows(9)), strict=False):
        sources = _sources(nodes, row[0], nodes[:1])
        nodes.append(Work(name, tuple((one, 1) for one in sources), _DEVICES[:2]))
        times[nodes[-1]] = dict.fromkeys(_DEVICES[:2], row[2][0])
    return _Costed(tuple(nodes), times, 100.0, 1.0, _DEVICES[:2])


def _words(places: Mapping[Work, str]) -> str:
    return ", ".join(f"{node.name}→{device}" for node, device in places.items())


def _is_allowed(part: Any, graph: _Costed) -> None:
    placed_by(part, graph.nodes, graph.speeds)


def _runs_in_parallel(part: Any, graph: _Costed) -> None:
    places = placed_by(part, graph.nodes, graph.speeds)
    taken = length_of(graph.nodes, places, graph.speeds)
    branch = sum(graph.times[node]["x"] for node in graph.nodes) / 2
    if taken > 1.5 * branch:
        raise Wrong("one_by_one", places=_words(places), taken=f"{taken:g}", branch=f"{branch:g}")


def _stays_together(part: Any, graph: _Costed) -> None:
    places = placed_by(part, graph.nodes, graph.speeds)
    if len(set(places.values())) > 1:
        total = sum(graph.times[node]["x"] for node in graph.nodes)
        raise Wrong("too_far", places=_words(places), total=total)


def _is_no_worse_than_one(part: Any, graph: _Costed) -> None:
    places = placed_by(part, graph.nodes, graph.speeds)
    taken = length_of(graph.nodes, places, graph.speeds)
    for device in graph.devices:
        alone = length_of(graph.nodes, dict.fromkeys(graph.nodes, device), graph.speeds)
        if taken > alone:
            raise Wrong(
                "worse_than_one",
                places=_words(places),
                taken=f"{taken:g}",
                device=device,
                alone=f"{alone:g}",
            )


def _best_of(graph: _Costed) -> tuple[float, Mapping[Work, str]]:
    """Returns the shortest run of all, and its placement: by trying each."""
    speeds, found = graph.speeds, None
    for devices in product(graph.devices, repeat=len(graph.nodes)):
        places = dict(zip(graph.nodes, devices, strict=True))
        taken = length_of(graph.nodes, places, speeds)
        if found is None or taken < found[0]:
            found = taken, places
    assert found is not None
    return found


def _is_near_the_best(part: Any, graph: _Costed) -> None:
    places = placed_by(part, graph.nodes, graph.speeds)
    taken = length_of(graph.nodes, places, graph.speeds)
    least, best = _best_of(graph)
    if taken > OF_BEST * least:
        raise Wrong(
            "far_from_best",
            places=_words(places),
            taken=f"{taken:g}",
            best=_words(best),
            least=f"{least:g}",
            factor=f"{OF_BEST:g}",
        )


def _asks_little(part: Any) -> None:
    """A long graph of three rows is placed without trying everything."""
    nodes: list[Work] = []
    for number in range(_MANY):
        sources = [nodes[-back] for back in (1, 3) if back <= number and number % 7]
        nodes.append(Work(f"n{number}", tuple((one, 1) for one in sources), _DEVICES))
    speeds = Speeds(_DEVICES, lambda device, node: 1.0, lambda source, device, nbytes: 0.5)
    placed_by(part, nodes, speeds)
    most = _QUESTIONS * _MANY * len(_DEVICES) ** 2
    if speeds.asked > most:
        raise Wrong("asks_much", asked=speeds.asked, nodes=_MANY, most=most)


@dataclass(frozen=True)
class _Network:
    """A network of the framework's, and how fast two devices are.

    Attributes:
        sources: of each layer, which values it reads: 0 is the input, 1 the first layer's result.
        sizes: the hidden units of each layer.
        speeds: floating-point operations a second of the two devices.
        bandwidth: bytes a second between them.
    """

    sources: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    speeds: tuple[float, float]
    bandwidth: float

    def __str__(self) -> str:
        lines = [f"cpu({i}): {one:.0e} operations a second" for i, one in enumerate(self.speeds)]
        lines.append(f"bytes a second between them: {self.bandwidth:.0e}")
        for number, (sources, size) in enumerate(zip(self.sources, self.sizes, strict=True), 1):
            reads = " + ".join("the input" if one == 0 else f"fc{one}" for one in sources)
            lines.append(f"fc{number}: {size} units, reads {reads}")
        return "\n".join(lines)

    def symbol(self) -> Any:
        values = [sym.var("data")]
        for number, (sources, size) in enumerate(zip(self.sources, self.sizes, strict=True), 1):
            x = (
                values[sources[0]]
                if len(sources) == 1
                else sym.concat(*(values[i] for i in sources))
            )
            values.append(sym.FullyConnected(x, num_hidden=size, name=f"fc{number}"))
        return sym.Group(values[1:])


_LAYERS: Final = st.tuples(_BACK, st.sampled_from((8, 64, 512)))
_RATES: Final = st.sampled_from((1e9, 1e10, 1e11))


@st.composite
def _networks(draw: Any) -> _Network:
    layers = draw(st.lists(_LAYERS, min_size=1, max_size=_MOST))
    sources = tuple(
        tuple(dict.fromkeys(max(number - one, 0) for one in back or [1]))
        for number, (back, _) in enumerate(layers, 1)
    )
    sizes = tuple(size for _, size in layers)
    return _Network(
        sources, sizes, (draw(_RATES), draw(_RATES)), draw(st.sampled_from((1e8, 1e10)))
    )


def _is_like_ours(part: Any, network: _Network) -> None:
    """The library's placer and the part place a network; the plain simulation compares the runs."""
    graph, context = with_context(network.symbol(), data=(64, 32))
    names = [DeviceName("localhost", 0, 0, "cpu", index) for index in (0, 1)]
    speeds = [DeviceCost(flops, 1e12) for flops in network.speeds]
    costs = CostModel(
        dict(zip(map(str, names), speeds, strict=True)),
        other_links=LinkCost(network.bandwidth, 1e-6),
    )
    placer, lengths = Placer(part), []

    def both(*asked: Any) -> Plan:
        plans = placer(*asked), earliest_finish.own(*asked)
        _, placed, choices, types, _ = asked
        works = works_of(graph, placed, choices, types)
        for plan in plans:
            places = {work: plan.devices[node] for node, work in works.items()}
            timed = speeds_of(works, placed, choices, types, costs)
            lengths.append(length_of(list(works.values()), places, timed))
        return plans[0]

    with earliest_finish.replaced_by(both):
        place(graph, [DeviceSite(name) for name in names], types=context.types(graph), costs=costs)
    taken, ours = lengths
    if taken > OF_OURS * ours:
        raise Wrong(
            "worse_than_ours",
            places=_words(placer.asked[0].places),
            taken=f"{taken:.2e}",
            ours=f"{ours:.2e}",
            factor=f"{OF_OURS:g}",
        )


CHECKS: Final = (
    Check("allowed", _is_allowed, _graphs()),
    Check("parallel", _runs_in_parallel, _branches(), tries=60),
    Check("near", _stays_together, _far_devices(), tries=100),
    Check("one", _is_no_worse_than_one, _graphs(free=True, devices=2), tries=300),
    Check("best", _is_near_the_best, _graphs(free=True, devices=2, slowest=4)),
    Check("quick", _asks_little),
    Check("ours", _is_like_ours, _networks(), tries=60),
)

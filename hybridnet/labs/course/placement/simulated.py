"""The arguments of a placer, and the plain simulation by which its answers are judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

from ...checking import Wrong


@final
@dataclass(frozen=True, eq=False)
class Work:
    """A node of a graph, as a placer sees it. It can be the key of a dict.

    Attributes:
        name: for messages; two may have the same.
        reads: what it reads: of each tensor the node that makes it, and its size in bytes.
        devices: the names of the devices that it can be on; one where that is fixed.
        together: nodes that have the same text here must be on one device, and can be on the same
            devices; '': it may be alone.
    """

    name: str
    reads: tuple[tuple[Work, int], ...]
    devices: tuple[str, ...]
    together: str = ""

    def __repr__(self) -> str:
        return self.name


@final
class Speeds:
    """The seconds that nodes and transfers take.

    Args:
        devices: the names of all devices.
        seconds: of a node on a device.
        link: the seconds of so many bytes from one device to another one.

    Attributes:
        asked: how often `compute` was called.
    """

    def __init__(
        self,
        devices: Collection[str],
        seconds: Callable[[str, Work], float],
        link: Callable[[str, str, int], float],
    ) -> None:
        self._devices: Final = tuple(devices)
        self._seconds: Final = seconds
        self._link: Final = link
        self.asked = 0

    def compute(self, device: str, node: Work) -> float:
        """Returns the seconds that a node takes on a device."""
        self.asked += 1
        self._known(device)
        if not isinstance(node, Work):
            raise Wrong("no_node", node=repr(node))
        return self._seconds(device, node)

    def transfer(self, source: str, device: str, nbytes: int) -> float:
        """Returns the seconds that a tensor takes from a device to another; 0 to the same."""
        self._known(source)
        self._known(device)
        return 0.0 if source == device else self._link(source, device, nbytes)

    def _known(self, device: Any) -> None:
        if device not in self._devices:
            raise Wrong("no_device", device=repr(device), devices=", ".join(self._devices))


class Stretch(NamedTuple):
    """When a node runs, in seconds."""

    start: float
    end: float


def run_of(
    nodes: Sequence[Work], places: Mapping[Work, str], speeds: Speeds
) -> dict[Work, Stretch]:
    """Simulates a run, as plainly as can be.

    Each device takes its nodes in the order of the list, and begins with the next one as soon as it
    is free and all that the node reads is there.
    """
    run: dict[Work, Stretch] = {}
    free: dict[str, float] = {}
    for node in nodes:
        device = places[node]
        there = [
            run[source].end + speeds.transfer(places[source], device, nbytes)
            for source, nbytes in node.reads
        ]
        start = max(free.get(device, 0.0), *there, 0.0)
        run[node] = Stretch(start, start + speeds.compute(device, node))
        free[device] = run[node].end
    return run


def length_of(nodes: Sequence[Work], places: Mapping[Work, str], speeds: Speeds) -> float:
    """Returns when the last node of a simulated run ends, in seconds."""
    return max((one.end for one in run_of(nodes, places, speeds).values()), default=0.0)


def placed_by(part: Any, nodes: Sequence[Work], speeds: Speeds) -> dict[Work, str]:
    """Asks a part where nodes go.

    Raises:
        Wrong: its answer is no dictionary, or a node is not where it can be.
    """
    answer = part.place(list(nodes), speeds)
    if not isinstance(answer, Mapping):
        raise Wrong("no_dict", answer=repr(answer))
    together: dict[str, Work] = {}
    for node in nodes:
        if node not in answer:
            raise Wrong("not_placed", node=node.name)
        device, can = answer[node], ", ".join(node.devices)
        if device not in node.devices:
            raise Wrong("not_there", node=node.name, device=repr(device), devices=can)
        other = together.setdefault(node.together, node) if node.together else node
        if answer[other] != device:
            raise Wrong(
                "apart", node=node.name, device=device, other=other.name, there=answer[other]
            )
    return {node: answer[node] for node in nodes}

"""Lab 5: each node goes where it ends first in a simulated run; then simpler plans are tried."""

from __future__ import annotations

from collections.abc import Sequence

from hybridnet.labs.course.placement.simulated import Speeds, Work


class Run:
    """A simulated run as far as it has come."""

    def __init__(self, speeds: Speeds) -> None:
        self.speeds = speeds
        self.places: dict[Work, str] = {}
        #: When each node ends, and when each device is free again.
        self.ends: dict[Work, float] = {}
        self.free: dict[str, float] = {}
        #: Where the nodes of each `together` are.
        self.together: dict[str, str] = {}

    def end_on(self, node: Work, device: str) -> float:
        """Returns when a node would end on a device."""
        start = self.free.get(device, 0.0)
        for source, nbytes in node.reads:
            moved = self.speeds.transfer(self.places[source], device, nbytes)
            start = max(start, self.ends[source] + moved)
        return start + self.speeds.compute(device, node)

    def put(self, node: Work, device: str) -> None:
        """Runs a node on a device, in the simulation."""
        self.ends[node] = self.free[device] = self.end_on(node, device)
        self.places[node] = device
        if node.together:
            self.together[node.together] = device


def place(nodes: Sequence[Work], speeds: Speeds) -> dict[Work, str]:
    """Chooses a device for each node."""
    runs = [_simulated(nodes, speeds, "")]
    # Greedy is blind to what comes later: a plan that keeps all on one device may be shorter.
    for favorite in dict.fromkeys(device for node in nodes for device in node.devices):
        runs.append(_simulated(nodes, speeds, favorite))
    return min(runs, key=lambda run: max(run.ends.values(), default=0.0)).places


def _simulated(nodes: Sequence[Work], speeds: Speeds, favorite: str) -> Run:
    """Simulates a run: on the favorite device where that can be, else where a node ends first."""
    run = Run(speeds)
    for node in nodes:
        devices = node.devices
        if node.together in run.together:
            devices = (run.together[node.together],)
        elif favorite in devices:
            devices = (favorite,)
        ends = {device: run.end_on(node, device) for device in devices}
        run.put(node, min(ends, key=lambda device: ends[device]))
    return run

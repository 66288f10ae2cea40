"""A step of a network on a mesh, by formulas: what devices compute, and tell each other beside it.

- A **ring** of n devices brings S bytes together in n - 1 turns, in each of which each device sends
  S / n to the next (all-gather); adding up parts is the same the other way (reduce-scatter), and an
  all-reduce is both: each device sends 2 (n - 1) / n S, whatever n is (Patarasuk and Yuan,
  "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
- On **two levels** devices of a machine do so by fast links; then each goes on with its part,
  S / 8, by the slow links between machines.
- **Data parallel**: gradients are added up while the backward pass goes on, in buckets as XLA
  makes them, one after the other.
- **Fully sharded**: a group of layers is brought together while the one before it computes, forward
  and once more backward, and its gradients are added up into parts: 3 S instead of 2 S (Rajbhandari
  et al., "ZeRO", 2020).

A mesh of one machine's virtual devices has no links: `Shared` is about those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cards import Layer

__all__ = [
    "BUCKET",
    "Link",
    "Machines",
    "Shared",
    "data_parallel",
    "fully_sharded",
    "ring_bytes",
    "state_bytes",
]

#: Bytes of gradients that XLA adds up at once (kDefaultAllReduceCombineThreshold), and of
#: parameters that it brings together at once.
BUCKET: Final = 30 << 20
#: Bytes of a gradient, and of a parameter as layers compute with it: bfloat16.
ITEM: Final = 2
#: Of a parameter with its gradient and Adam's states in mixed precision (Rajbhandari et al., 3.1).
STATE: Final = 16


def ring_bytes(size: float, devices: int) -> float:
    """Returns what each device of a ring sends in an all-gather of `size` bytes."""
    return size * (devices - 1) / devices


@dataclass(frozen=True)
class Link:
    """What connects a device to others.

    Attributes:
        rate: bytes a second in each direction, of each device.
        latency: seconds of a turn of a ring.
    """

    rate: float
    latency: float

    def all_gather(self, size: float, devices: int) -> float:
        """Returns the seconds of bringing `size` bytes together, or of adding them up in parts."""
        return (devices - 1) * self.latency + ring_bytes(size, devices) / self.rate


@dataclass(frozen=True)
class Machines:
    """Devices in machines: fast links inside, slow ones between.

    Attributes:
        inside, between: the links.
        each: devices of a machine.
        begin: seconds until a collective begins.
    """

    inside: Link
    between: Link
    each: int = 8
    begin: float = 0.0

    def all_gather(self, size: float, devices: int) -> float:
        """Returns the seconds of an all-gather, or of a reduce-scatter, over all of them."""
        if devices == 1:
            return 0.0
        inside, machines = min(devices, self.each), max(1, devices // self.each)
        across = self.between.all_gather(size / inside, machines)
        return self.begin + self.inside.all_gather(size, inside) + across

    def all_reduce(self, size: float, devices: int) -> float:
        """Returns the seconds of an all-reduce: a reduce-scatter, and an all-gather."""
        return 2 * self.all_gather(size, devices) - (self.begin if devices > 1 else 0.0)


@dataclass(frozen=True)
class Shared:
    """Devices without links, which share one memory: all the bytes that they write take turns.

    Each writes all of what it has afterwards, its own part too: n S bytes, where a ring's devices
    send (n - 1) S.

    Attributes:
        rate: bytes a second, of all devices together.
        latency: seconds of each device.
    """

    rate: float
    latency: float

    def seconds(self, size: float, devices: int) -> float:
        """Returns the seconds of a collective that leaves `size` bytes on each device."""
        return devices * (self.latency + size / self.rate)


def data_parallel(
    layers: Sequence[Layer], devices: int, machines: Machines, bucket: float = BUCKET
) -> float:
    """Returns the seconds of a step in which gradients are added up beside the backward pass."""
    time = sum(one.forward for one in layers)
    free = 0.0  # when the links are
    for group in _groups(layers[::-1], bucket):
        time += sum(one.backward for one in group)
        free = max(free, time) + machines.all_reduce(_size(group), devices)
    return max(time, free)


def fully_sharded(
    layers: Sequence[Layer], devices: int, machines: Machines, bucket: float = BUCKET
) -> float:
    """Returns the seconds of a step of a network whose parameters lie in parts."""
    groups = list(_groups(layers, bucket))
    gathers = [machines.all_gather(_size(group), devices) for group in groups]
    time, free = 0.0, gathers[0]
    there = free  # when the parameters of the group are
    for number, group in enumerate(groups):  # forward; the next one's are on their way meanwhile
        time = max(time, there)
        if number + 1 < len(groups):
            there = free = max(free, time) + gathers[number + 1]
        time += sum(one.forward for one in group)
    there = time  # the last group's are still there
    for number in reversed(range(len(groups))):
        time = max(time, there)
        if number:
            there = free = max(free, time) + gathers[number - 1]
        time += sum(one.backward for one in groups[number])
        free = max(free, time) + gathers[number]  # a reduce-scatter of the gradients
    return max(time, free)


def state_bytes(layers: Sequence[Layer], devices: int = 1) -> float:
    """Returns what a device holds of parameters, gradients and states, where they lie in parts."""
    return STATE * sum(one.size for one in layers) / devices


def _groups(layers: Sequence[Layer], bucket: float) -> Iterator[list[Layer]]:
    """Yields layers in their order, as many at once as fit a bucket."""
    group: list[Layer] = []
    for one in layers:
        if group and _size([*group, one]) > bucket:
            yield group
            group = []
        group.append(one)
    yield group


def _size(layers: Sequence[Layer]) -> float:
    return ITEM * sum(one.size for one in layers)

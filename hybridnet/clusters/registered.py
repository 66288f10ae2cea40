"""A graph as a task knows it: its devices' parts, and the variables that they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hybridnet.base.context import Context
from hybridnet.base.device_name import DeviceName
from hybridnet.base.errors import FormatError
from hybridnet.base.tensor_type import TensorType
from hybridnet.passes import ReadPart, read_part
from hybridnet.runtime.between_tasks import DevicePlan, DeviceProgram
from hybridnet.runtime.placing import device_at

#: Inputs and outputs of a graph at most.
_MAX_ENDS: Final = 1 << 20


@final
@dataclass(frozen=True, eq=False, slots=True)
class Registered:
    """The parts of one task.

    Attributes:
        plans: of its devices.
        devices: the names of these in the cluster.
        owners: for each device of the graph the task that has it.
        num_outputs: of the whole graph.
        reads: the inputs that are variables, by number: their names.
        writes: the outputs that are new values of variables, by number: their names.
        updates: the variables that are read and written.
        late: the programs that change variables by what comes from other tasks; of each the places
            of these variables among what it reads, and their names.
        heads: the outputs that the client gets.
        input_types: of this task's inputs.
        places: of the inputs, by number, the plan that takes them.
    """

    plans: tuple[DevicePlan, ...]
    devices: tuple[str, ...]
    owners: Mapping[str, str]
    num_outputs: int
    reads: Mapping[int, str]
    writes: Mapping[int, str]
    updates: frozenset[str]
    late: Mapping[DeviceProgram, Sequence[tuple[int, str]]]
    heads: tuple[int, ...]
    input_types: Mapping[int, TensorType]
    places: Mapping[int, DevicePlan]

    @property
    def is_short(self) -> bool:
        """Whether all that it computes takes no more than a few milliseconds."""
        return all(plan.is_short for plan in self.plans)


def read_registered(words: Mapping[str, Any], task: str) -> Registered:
    """Reads what a client says of its graph.

    Raises:
        FormatError: it is nothing that can be run here.
    """
    owners = words.get("owners")
    if not isinstance(owners, dict) or not all(isinstance(one, str) for one in owners.values()):
        raise FormatError("a graph says which task has which device")
    parts = words.get("parts")
    if not isinstance(parts, list):
        raise FormatError("a graph has parts")
    plans, devices = [], []
    types: dict[int, TensorType] = {}
    places: dict[int, DevicePlan] = {}
    for one in parts:
        found = one if isinstance(one, ReadPart) else read_part(one)
        name = found.part.device
        if owners.get(name) != task:
            raise FormatError(f"the device {name[:80]} is not one of {task}")
        parsed = DeviceName.parse(name)
        if parsed.type is None or parsed.index is None:
            raise FormatError(f"the device {name[:80]} has no type and number")
        device = device_at(Context(parsed.type, parsed.index))
        plan = DevicePlan(found.part, device, found.input_types, found.ranks)
        plans.append(plan)
        devices.append(name)
        types.update(found.input_types)
        places.update(dict.fromkeys(found.input_types, plan))
    count = words.get("outputs")
    if type(count) is not int or not 0 <= count <= _MAX_ENDS:
        raise FormatError("a graph says how many outputs it has")
    reads, writes = _names(words, "reads", types), _names(words, "writes", range(count))
    updates = frozenset(reads.values()) & frozenset(writes.values())
    both = {number for number, one in reads.items() if one in updates}
    late = {
        program: [(place, reads[number]) for place, number in places]
        for plan in (plans if len(plans) == 1 else ())
        for program, places in plan.late_reads(both, writes.keys()).items()
        if places
    }
    return Registered(
        tuple(plans), tuple(devices), owners, count, reads, writes, updates, late,
        tuple(one for one in _list(words, "heads") if type(one) is int and 0 <= one < count),
        types, places,
    )  # fmt: skip


def _list(words: Mapping[str, Any], name: str) -> list[Any]:
    found = words.get(name, [])
    if not isinstance(found, list) or len(found) > _MAX_ENDS:
        raise FormatError(f"{name} must be a list")
    return found


def _names(words: Mapping[str, Any], name: str, numbers: Any) -> dict[int, str]:
    made: dict[int, str] = {}
    for one in _list(words, name):
        if not (isinstance(one, list) and len(one) == 2 and isinstance(one[1], str)):
            raise FormatError(f"{name} must have numbers and names")
        if type(one[0]) is not int or one[0] not in numbers:
            raise FormatError(f"{name}: there is no number {str(one[0])[:40]} here")
        made[one[0]] = one[1]
    return made

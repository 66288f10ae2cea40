"""`ClusterVariables`: the variables of a cluster's tasks, as one client knows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import final

import numpy as np

from hybridnet.base.context import Context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import GraphError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import Node
from hybridnet.ndarray import NDArray, array
from hybridnet.passes import wish_of
from hybridnet.runtime.between_tasks import TravellingTensor

from .containers import held_name
from .cut import task_of
from .members import Members, waited


@final
class ClusterVariables(Mapping[Node, NDArray]):
    """The variables that a client has met, with their values, which are fetched one by one.

    They are the tasks', by name: all clients see the same ones, and they stay when a client goes.

    Args:
        members: the tasks.
        ctx: where values that are fetched are put.
        timeout: seconds that a task may take to answer; None: any.
        soft: whether one that cannot be on its device is on another of the same task.

    Attributes:
        types: of those that have a value, as far as this client knows: another may have changed it.
    """

    def __init__(self, members: Members, ctx: Context, timeout: float | None, soft: bool) -> None:
        self._soft = soft
        self._members = members
        self._ctx = ctx
        self._timeout = timeout
        self._homes: dict[Node, str] = {}
        self.types: dict[Node, TensorType] = {}

    def __getitem__(self, node: Node) -> NDArray:
        return self.fetch([node])[node]

    def __iter__(self) -> Iterator[Node]:
        return iter(tuple(self.types))

    def __len__(self) -> int:
        return len(self.types)

    def fetch(self, nodes: Iterable[Node]) -> dict[Node, NDArray]:
        """Returns values of variables that have one, those of a task as they were at one moment."""
        groups = self._by_task(nodes)
        asked = {
            task: self._members.request(
                task, {"kind": "fetch", "names": [held_name(one) for one in of]}
            )
            for task, of in groups.items()
        }
        found: dict[Node, NDArray] = {}
        for task, future in asked.items():
            packet = waited(future, self._timeout)
            named = dict(zip(packet.words["names"], packet.tensors, strict=True))
            for node in groups[task]:
                name = held_name(node)
                if name in named:
                    host = named[name].array()
                    found[node] = array(host, self._ctx, host.dtype)
        return found

    def set(self, values: Mapping[Node, NDArray]) -> None:
        """Gives variables values, those of one task all at one moment."""
        asked = []
        for task, of in self._by_task(values).items():
            words = {"kind": "assign", "names": [held_name(node) for node in of]}
            tensors = [TravellingTensor.of(values[node].asnumpy()) for node in of]
            asked.append(self._members.request(task, words, tensors))
        for future in asked:
            waited(future, self._timeout)
        for node, value in values.items():
            self.types[node] = tensor_type(value.shape, np.dtype(value.dtype))

    def _by_task(self, nodes: Iterable[Node]) -> dict[str, list[Node]]:
        groups: dict[str, list[Node]] = {}
        for node in nodes:
            groups.setdefault(task_of(self.home_of(node)), []).append(node)
        return groups

    def learn(self, nodes: Iterable[Node]) -> None:
        """Asks the tasks for the types of variables; one that has no value has no type after."""
        for task, group in self._by_task(nodes).items():
            words = {"kind": "types", "names": [held_name(node) for node in group]}
            types = waited(self._members.request(task, words), self._timeout).words["types"]
            for node in group:
                name = held_name(node)
                if name in types:
                    shape, dtype = types[name]
                    self.types[node] = tensor_type(tuple(shape), as_dtype(dtype))

    def forget(self, nodes: Iterable[Node]) -> None:
        """Forgets the types of variables, so that they are asked for again."""
        for node in nodes:
            self.types.pop(node, None)

    def home_of(self, node: Node) -> str:
        """Returns the device of a variable."""
        if node not in self._homes:
            wish = wish_of(node, {})
            members = self._members.taking_part({wish: node})
            names = [site.name for one in members for site in one.sites]
            able = [one for one in names if wish.covers(one)]
            if not able and self._soft:
                able = [one for one in names if wish.process.covers(one)]
            if not able:
                raise GraphError(
                    f"variable {node.title} asks for the unknown device {wish}; there are "
                    + ", ".join(map(str, names))
                )
            self._homes[node] = str(able[0])
        return self._homes[node]

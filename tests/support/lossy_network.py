"""Tasks that are joined by a network as bad as networks can be, in one process and repeatable.

Messages are lost, doubled and brought in any order; what they hold is turned to bytes on the way.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hybridnet.engine import ManualPool
from hybridnet.passes.part_json import read_part, write_part
from hybridnet.runtime.executor.device_plan import DevicePlan
from hybridnet.runtime.executor.device_run import GraphRun
from hybridnet.runtime.executor.partitioned import PartitionedCall
from hybridnet.runtime.executor.remote_rendezvous import RemoteRendezvous, StepExchange
from hybridnet.runtime.executor.task_messages import Made, Message, TaskTransport, Tensors

__all__ = ["Network", "Tasks"]

Hear = Callable[[str, Message], None]


class Network:
    """What is on its way.

    Args:
        seed: of the order in which things happen.
        loss, doubles: how many of the messages are lost, and come twice.
    """

    def __init__(self, seed: int, loss: float = 0.1, doubles: float = 0.1) -> None:
        self.random = random.Random(seed)
        self._loss, self._doubles = loss, doubles
        self._listeners: dict[str, Hear] = {}
        self._under_way: list[tuple[str, str, Message]] = []
        self.count = 0

    def transport(self, task: str) -> TaskTransport:
        return _Transport(self, task)

    def listen(self, task: str, hear: Hear) -> None:
        self._listeners[task] = hear

    def post(self, sender: str, to: str, message: Message) -> None:
        self.count += 1
        if isinstance(message, Tensors):
            message = replace(message, made=tuple(map(_copied, message.made)))
        self._under_way.append((sender, to, message))

    def deliver(self) -> bool:
        """Brings one message, or loses it; returns whether there was one."""
        waiting = self._under_way
        if not waiting:
            return False
        place = self.random.randrange(len(waiting))
        sender, to, message = waiting[place]
        if self.random.random() >= self._doubles:
            del waiting[place]
        if self.random.random() >= self._loss:
            self._listeners[to](sender, message)
        return True


def _copied(made: Made) -> Made:
    tensor = made.tensor
    if tensor is None:
        return made
    return made._replace(tensor=tensor._replace(payload=bytes(tensor.payload)))


class _Transport(TaskTransport):
    def __init__(self, network: Network, task: str) -> None:
        self._network = network
        self._task = task

    @property
    def task(self) -> str:
        return self._task

    def send(self, task: str, message: Message) -> None:
        self._network.post(self._task, task, message)

    def listen(self, hear: Hear) -> None:
        self._network.listen(self._task, hear)


class Tasks:
    """One task for each device, or fewer.

    Args:
        network: joins them.
        pool: runs their tasks of the engine.
        count: how many.
    """

    def __init__(self, network: Network, pool: ManualPool, count: int = 3) -> None:
        self.network, self._pool = network, pool
        self.names = [f"/job:worker/replica:0/task:{number}" for number in range(count)]
        self.exchanges = [StepExchange(network.transport(name)) for name in self.names]
        self._step = 0
        self._plans: dict[PartitionedCall, dict[str, DevicePlan]] = {}
        self.rendezvous: list[RemoteRendezvous] = []

    def run(self, call: PartitionedCall, feeds: Sequence[Any]) -> list[GraphRun]:
        """Runs a call, whose devices are dealt to the tasks; returns the runs, which have ended."""
        self._step += 1
        owners = {
            name: self.names[i % len(self.names)] for i, name in enumerate(sorted(call.parts))
        }
        sent = self._sent(call)
        runs, count = [], len(call.call.graph.outputs)
        self.rendezvous = []
        order = list(zip(self.names, self.exchanges, strict=True))
        self.network.random.shuffle(order)
        for name, exchange in order:
            plans = [plan for device, plan in sent.items() if owners[device] == name]
            self.rendezvous.append(exchange.begin(self._step, owners))
            runs.append(GraphRun(plans, self.rendezvous[-1], {}, count, None))
            runs[-1].start(feeds)
            self._some(3)  # what comes to a task before it has begun
        quiet = 0
        while not all(run.ended for run in runs):
            if self._some(1):
                quiet = 0
                continue
            quiet += 1
            assert quiet < 100, "the step does not end"
            for exchange in self.exchanges:
                exchange.resend()
        return runs

    def _sent(self, call: PartitionedCall) -> dict[str, DevicePlan]:
        """Returns the plans of a call's parts as other processes make them: of their JSON."""
        if call not in self._plans:
            types, plans = call.call.input_types, {}
            for plan in call.plans:
                name = str(plan.device.name)
                text = json.dumps(write_part(call.parts[name], types, call.ranks))
                read = read_part(json.loads(text))
                plans[name] = DevicePlan(read.part, plan.device, read.input_types, read.ranks)
            self._plans[call] = plans
        return self._plans[call]

    def end(self) -> None:
        """Ends the step everywhere; what is still on its way comes late."""
        for exchange in self.exchanges:
            exchange.end(self._step)
        while self._some(1):
            pass

    def _some(self, most: int) -> bool:
        """Has a few things happen; returns whether anything did."""
        happened = False
        for _ in range(most):
            if self._pool.ready and self.network.random.random() < 0.5:
                self._pool.run_next()
                happened = True
            elif self.network.deliver():
                happened = True
            elif self._pool.ready:
                self._pool.run_next()
                happened = True
        return happened

"""The runtime: devices, values, segments, the program cache, and launches.

An eager operator becomes an instruction of its thread's segment (`record.recorder`); a segment
becomes a program (`programs`); a program is dispatched at once, or by the engine when one of its
inputs is still being made by a host task (`record.launch`). A trace is a segment that is kept
(`record.trace`).

The folders, lowest first; tests/house/test_layers.py says which may import which:

    platform      JAX's devices by context, and work in the background
    segments      what was recorded, as data; observe: who wants to know what happens is told
    tiers         who runs what, and what is worth its price: decided, and nothing done
    programs      compiled, kept in memory and on disk, dispatched
    checks        what launches are asked while somebody debugs, and the operator that is to blame
    devices       those of JAX and of users; record: recording, launching, waiting
    live          the arrays that are alive, and what is said where there is no room
    graphs        graphs as calls; tuning: better recipes for programs, by measurement
    specialize    programs for weights that stay the same
    executor      graphs on several devices

What other floors use of all this is in the modules beside the folders, and nowhere else:

    recording     values, storages, and their recorder; traces: recordings that are kept as graphs
    calls         graphs as calls; tasks: work of the engine's that reads and writes values
    contexts      JAX's devices and arrays on them; placing: devices by name, graphs placed on them
    between_tasks what tasks of a cluster run and send; tuner: what `hybridnet.tune` looks into
    watching      what happens, told to who wants to know; asking: what launches are asked

For users: what ran, as text with their own lines.

    with hn.runtime.explaining():
        train_step()
    hn.runtime.explain()

What the memory of the process is used for:

    print(hn.runtime.memory())

The same bits each time, whatever else the machine does:

    hn.runtime.deterministic()

What this installation can do, under MXNet's names:

    hn.runtime.Features().is_enabled("OPENCV")

And the devices: those there are, what nodes and transfers cost on them, and devices of your own.

    hn.runtime.list_devices()
    hn.runtime.register_device(MyDevice("mine", 0, memory=hn.cpu(0)))

What a device of several runs next, decided by a queue of yours:

    hn.runtime.set_ready_queue(MyQueue)
"""

from hybridnet.passes import CostModel as CostModel
from hybridnet.passes import DeviceCost as DeviceCost
from hybridnet.passes import LinkCost as LinkCost

from .deterministic import deterministic as deterministic
from .devices.calibrate import set_costs as set_costs
from .devices.device import Device as Device
from .devices.device import find_device as find_device
from .devices.device import list_devices as list_devices
from .devices.device import register_device as register_device
from .executor import control_runners as control_runners  # sets the runners of control flow
from .executor.ready_queue import ReadyProgram as ReadyProgram
from .executor.ready_queue import ReadyQueue as ReadyQueue
from .executor.ready_queue import ReadyQueueError as ReadyQueueError
from .executor.ready_queue import set_ready_queue as set_ready_queue
from .explain import Explanation as Explanation
from .explain import Launch as Launch
from .explain import explain as explain
from .explain import explaining as explaining
from .features import Feature as Feature
from .features import Features as Features
from .features import feature_list as feature_list
from .memory import Memory as Memory
from .memory import memory as memory
from .programs.making import improvers as _improvers
from .specialize.improve import improve as _specialize
from .tuning.again import improve as _compile_again
from .tuning.idle import improve as _tune

__all__ = [
    "CostModel",
    "Device",
    "DeviceCost",
    "Explanation",
    "Feature",
    "Features",
    "Launch",
    "LinkCost",
    "Memory",
    "ReadyProgram",
    "ReadyQueue",
    "ReadyQueueError",
    "deterministic",
    "explain",
    "explaining",
    "feature_list",
    "find_device",
    "list_devices",
    "memory",
    "register_device",
    "set_costs",
    "set_ready_queue",
]

# What programs that run often are looked at for: weights that stay the same, better recipes, and
# libraries and blocks of memory that they did without at first.
_improvers.extend((_specialize, _tune, _compile_again))

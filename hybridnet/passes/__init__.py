"""Passes: functions from a graph to another graph that computes the same with less work.

    better, report = passes.optimize(graph, passes.PassContext(input_types))
    print(report)

Users call `Symbol.optimize`. `pipeline` lists the passes in their order, and `register` puts one of
a user's among them. What a pass replaces by what is written down as data (`Rule`), and
``docs/passes.md`` lists all rules. `plan_memory` and `mirror` save memory (``docs/memory.md``).
Other floors use the names that are here.
"""

from .constants import computed_now
from .context import TOLERANCE, PassContext
from .cost import CostModel, DeviceCost, LinkCost, operations, upward_ranks
from .earliest_finish import Plan, earliest_finish
from .flow import EnterCall, ExitCall, FlowCall, Frame, MergeCall, NextIterationCall, SwitchCall
from .fuse import FusedCall, fused
from .loop_wiring import LoopValue, LoopWiring, wire_loop
from .lower_control import PARALLEL_ITERATIONS, Lowered, lower_control
from .memory import STRATEGIES, MemoryPlan, MemoryStep, memory_steps, plan_memory
from .mirror import mirror, mirror_marks
from .numpy_rules import NUMPY
from .part_json import ReadPart, read_part, write_part
from .partition import (
    NOTHING,
    DevicePart,
    Partition,
    RecvCall,
    SendCall,
    Transfer,
    TransferCall,
    partition,
)
from .pattern import rewritten
from .pieces import Piece, pieces_of
from .pipeline import (
    PIPELINE,
    Pass,
    Pipeline,
    Registration,
    optimize,
    passes_by_name,
    register,
)
from .pipeline import PIPELINE as pipeline
from .place import ANYWHERE, DeviceSite, Placement, asked_for, log, on_devices, place, wish_of
from .prune import pruned
from .report import Record, Report, size_of
from .rule import Rule
from .shortcuts import shortened, sunk
from .switch import enabled, off

__all__ = [
    "ANYWHERE",
    "NOTHING",
    "NUMPY",
    "PARALLEL_ITERATIONS",
    "PIPELINE",
    "STRATEGIES",
    "TOLERANCE",
    "CostModel",
    "DeviceCost",
    "DevicePart",
    "DeviceSite",
    "EnterCall",
    "ExitCall",
    "FlowCall",
    "Frame",
    "FusedCall",
    "LinkCost",
    "LoopValue",
    "LoopWiring",
    "Lowered",
    "MemoryPlan",
    "MemoryStep",
    "MergeCall",
    "NextIterationCall",
    "Partition",
    "Pass",
    "PassContext",
    "Piece",
    "Pipeline",
    "Placement",
    "Plan",
    "ReadPart",
    "Record",
    "RecvCall",
    "Registration",
    "Report",
    "Rule",
    "SendCall",
    "SwitchCall",
    "Transfer",
    "TransferCall",
    "asked_for",
    "computed_now",
    "earliest_finish",
    "enabled",
    "fused",
    "log",
    "lower_control",
    "memory_steps",
    "mirror",
    "mirror_marks",
    "off",
    "on_devices",
    "operations",
    "optimize",
    "partition",
    "passes_by_name",
    "pieces_of",
    "pipeline",
    "place",
    "plan_memory",
    "pruned",
    "read_part",
    "register",
    "rewritten",
    "shortened",
    "size_of",
    "sunk",
    "upward_ranks",
    "wire_loop",
    "wish_of",
    "write_part",
]

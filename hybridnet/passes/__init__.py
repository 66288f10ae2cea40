"""Passes: functions from a graph to another graph that computes the same with less work.

    better, report = passes.optimize(graph, passes.PassContext(input_types))
    print(report)

Users call `Symbol.optimize`. `pipeline` lists the passes in their order. What a pass replaces by
what is written down as data (`Rule`), and ``docs/passes.md`` lists all rules. `plan_memory` and
`mirror` save memory (``docs/memory.md``).
"""

from __future__ import annotations

from .context import PassContext
from .memory import MemoryPlan, plan_memory
from .mirror import mirror
from .pattern import rewritten
from .pipeline import PIPELINE as pipeline
from .pipeline import Pass, optimize
from .prune import pruned
from .report import Record, Report
from .rule import Rule
from .switch import off

__all__ = [
    "MemoryPlan",
    "Pass",
    "PassContext",
    "Record",
    "Report",
    "Rule",
    "mirror",
    "off",
    "optimize",
    "pipeline",
    "plan_memory",
    "pruned",
    "rewritten",
]

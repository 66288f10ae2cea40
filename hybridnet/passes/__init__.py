"""Passes: from a graph to a graph that computes the same with less.

    better, report = passes.optimize(graph, passes.PassContext(input_types))
    print(report)

Users call `Symbol.optimize`. The passes, in their order, are in `pipeline`; what they replace by
what is data (`Rule`), listed in ``docs/passes.md``. `plan_memory` and `mirror` are about memory
(``docs/memory.md``).
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

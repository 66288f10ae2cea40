"""Passes: from a graph to a graph that computes the same with less.

    better, report = passes.optimize(graph, passes.PassContext(input_types))
    print(report)

Users call `Symbol.optimize`. The passes, in their order, are in `pipeline`; what they replace by
what is data (`Rule`), listed in ``docs/passes.md``. `plan_memory` and `mirror` are about memory
(``docs/memory.md``).
"""

from __future__ import annotations

from .context import PassContext as PassContext
from .memory import MemoryPlan as MemoryPlan
from .memory import plan_memory as plan_memory
from .mirror import mirror as mirror
from .pattern import rewritten as rewritten
from .pipeline import PIPELINE as pipeline
from .pipeline import Pass as Pass
from .pipeline import optimize as optimize
from .prune import pruned as pruned
from .report import Record as Record
from .report import Report as Report
from .rule import Rule as Rule
from .switch import off as off

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

"""Alternatives, for users who write them: other lowerings of an operator, and which of them to use.

See docs/tuning.md. The library's own come from `hybridnet.ops.core.alternatives`, as these do.
"""

from .core.alternatives import PLAIN as PLAIN
from .core.alternatives import OperandType as OperandType
from .core.alternatives import Site as Site
from .core.alternatives import alternative as alternative
from .core.alternatives import builtin_choice as builtin_choice
from .core.alternatives import constant_choice as constant_choice

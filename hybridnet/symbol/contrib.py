"""`sym.contrib`: the operators that MXNet keeps apart, ``_contrib_*`` in the registry."""

from __future__ import annotations

from typing import Any

from hybridnet.base.unsupported import missing
from hybridnet.ops.random.candidates import log_uniform_candidates

from .control_flow import cond, foreach, while_loop
from .functions import operator_functions as _operator_functions
from .random import uniform as _uniform
from .symbol import Symbol

_operators = _operator_functions("_contrib_")
globals().update(_operators)

__all__ = ["cond", "foreach", "rand_zipfian", "while_loop", *_operators]


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Draws classes for a sampled softmax; see ``nd.contrib.rand_zipfian``."""
    return log_uniform_candidates(_uniform, true_classes, num_sampled, range_max)


def __getattr__(name: str) -> Any:
    raise missing("sym.contrib", name, __all__)

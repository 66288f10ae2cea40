"""`sym.contrib`: the operators that MXNet keeps apart, ``_contrib_*`` in the registry."""

from __future__ import annotations

from collections.abc import Callable

from hybridnet.ops.core.functions import Functions as _Functions
from hybridnet.ops.core.registry import public_operators as _public_operators
from hybridnet.ops.random.candidates import log_uniform_candidates

from .control_flow import cond, foreach, while_loop
from .functions import symbol_function as _function
from .random import uniform as _uniform
from .symbol import Symbol

_functions = _Functions("sym.contrib", globals(), _public_operators("_contrib_"), _function)

__all__ = ["cond", "foreach", "rand_zipfian", "while_loop", *_functions]


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Draws classes for a sampled softmax; see ``nd.contrib.rand_zipfian``."""
    return log_uniform_candidates(_uniform, true_classes, num_sampled, range_max)


def __dir__() -> list[str]:
    return _functions.names()


def __getattr__(name: str) -> Callable[..., Symbol]:
    return _functions.attribute(name)

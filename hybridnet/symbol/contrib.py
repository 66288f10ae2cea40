"""`sym.contrib`: the operators that MXNet keeps apart, ``_contrib_*`` in the registry."""

from __future__ import annotations

from typing import Any

from hybridnet.base.unsupported import missing

from .control_flow import cond, foreach, while_loop
from .functions import operator_functions as _operator_functions

_operators = _operator_functions("_contrib_")
globals().update(_operators)

__all__ = ["cond", "foreach", "while_loop", *_operators]


def __getattr__(name: str) -> Any:
    raise missing("nd.contrib", name, __all__)

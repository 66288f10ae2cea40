"""The contents of `amp`, under the name of the module that MXNet keeps them in."""

from __future__ import annotations

from .convert import convert_bucketing_module as convert_bucketing_module
from .convert import convert_hybrid_block as convert_hybrid_block
from .convert import convert_model as convert_model
from .convert import convert_symbol as convert_symbol
from .lists import list_conditional_fp32_ops as list_conditional_fp32_ops
from .lists import list_fp32_ops as list_fp32_ops
from .lists import list_loss_output_functions as list_loss_output_functions
from .lists import list_lp16_fp32_ops as list_lp16_fp32_ops
from .lists import list_lp16_ops as list_lp16_ops
from .lists import list_lp16_use_fp32_params as list_lp16_use_fp32_params
from .lists import list_widest_type_cast as list_widest_type_cast
from .training import init as init
from .training import init_trainer as init_trainer
from .training import is_on as _is_on
from .training import scale_loss as scale_loss
from .training import stop as stop
from .training import unscale as unscale

__all__ = [
    "convert_bucketing_module",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "stop",
    "unscale",
]


def __getattr__(name: str) -> bool:
    """Answers `_amp_initialized`, which networks read to choose numbers that float16 can hold."""
    if name == "_amp_initialized":
        return _is_on()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

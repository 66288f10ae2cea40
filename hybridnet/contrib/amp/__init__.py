"""`amp`: mixed precision, networks that compute some operators in float16 or bfloat16.

    sym, args, states = amp.convert_model(sym, args, states, "bfloat16")

See `convert_symbol`, and for training `init`, `init_trainer` and `scale_loss`.
"""

from .amp import convert_bucketing_module as convert_bucketing_module
from .amp import convert_hybrid_block as convert_hybrid_block
from .amp import convert_model as convert_model
from .amp import convert_symbol as convert_symbol
from .amp import init as init
from .amp import init_trainer as init_trainer
from .amp import list_conditional_fp32_ops as list_conditional_fp32_ops
from .amp import list_fp32_ops as list_fp32_ops
from .amp import list_loss_output_functions as list_loss_output_functions
from .amp import list_lp16_fp32_ops as list_lp16_fp32_ops
from .amp import list_lp16_ops as list_lp16_ops
from .amp import list_lp16_use_fp32_params as list_lp16_use_fp32_params
from .amp import list_widest_type_cast as list_widest_type_cast
from .amp import scale_loss as scale_loss
from .amp import stop as stop
from .amp import unscale as unscale

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

"""`amp`: mixed precision, networks that compute some operators in float16 or bfloat16.

    sym, args, states = amp.convert_model(sym, args, states, "bfloat16")

See `convert_symbol`, and for training `init`, `init_trainer` and `scale_loss`.
"""

from .amp import *  # noqa: F403
from .amp import __all__ as __all__

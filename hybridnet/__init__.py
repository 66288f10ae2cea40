"""hybridnet: eager arrays, symbols and traced functions over one graph, program cache and engine.

    import hybridnet as hn          # or, for MXNet's programs: import hybridnet as mx

Modules are loaded when first used: importing hybridnet starts no thread and loads no JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from .base.context import Context as Context
from .base.context import cpu as cpu
from .base.context import cpu_pinned as cpu_pinned
from .base.context import current_context as current_context
from .base.context import gpu as gpu
from .base.errors import MXNetError as MXNetError

__version__ = "0.1.0"

#: Public name -> the module it stands for.
_MODULES: Final = {
    "autograd": "hybridnet.autograd",
    "base": "hybridnet.base",
    "context": "hybridnet.base.context",
    "engine": "hybridnet.engine",
    "nd": "hybridnet.ndarray",
    "ndarray": "hybridnet.ndarray",
    "random": "hybridnet.random",
}
#: Public name -> (module, name in it).
_NAMES: Final = {
    "NDArray": ("hybridnet.ndarray", "NDArray"),
    "function": ("hybridnet.function", "function"),
    "waitall": ("hybridnet.ndarray", "waitall"),
}

if TYPE_CHECKING:
    from . import autograd as autograd
    from . import ndarray as nd
    from . import random as random
    from .function import function as function
    from .ndarray import NDArray as NDArray
    from .ndarray import waitall as waitall

    ndarray = nd

__all__ = [
    "Context",
    "MXNetError",
    "cpu",
    "cpu_pinned",
    "current_context",
    "gpu",
    *_MODULES,
    *_NAMES,
]


def num_gpus() -> int:
    """Returns how many GPUs this process can use."""
    from .runtime.devices import num_devices

    return num_devices("gpu")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name in _NAMES:
        module, attribute = _NAMES[name]
        value = getattr(importlib.import_module(module), attribute)
    else:
        raise AttributeError(f"module 'hybridnet' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

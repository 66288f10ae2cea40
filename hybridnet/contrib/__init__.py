"""`contrib`: what MXNet keeps beside its core; operators are in `nd.contrib` and `sym.contrib`."""

import importlib
from typing import TYPE_CHECKING, Any, Final

from hybridnet.base.unsupported import missing

if TYPE_CHECKING:
    from hybridnet.ndarray import contrib as _of_arrays
    from hybridnet.symbol import contrib as _of_symbols

    from . import amp as amp
    from . import autograd as autograd
    from . import caffe as caffe
    from . import io as io
    from . import onnx as onnx
    from . import quantization as quantization
    from . import svrg_optimization as svrg_optimization
    from . import tensorboard as tensorboard
    from . import text as text

    nd = _of_arrays
    ndarray = _of_arrays
    sym = _of_symbols
    symbol = _of_symbols

_MODULES: Final = {
    "amp": "hybridnet.contrib.amp",
    "autograd": "hybridnet.contrib.autograd",
    "caffe": "hybridnet.contrib.caffe",
    "io": "hybridnet.contrib.io",
    "nd": "hybridnet.ndarray.contrib",
    "ndarray": "hybridnet.ndarray.contrib",
    "onnx": "hybridnet.contrib.onnx",
    "quantization": "hybridnet.contrib.quantization",
    "svrg_optimization": "hybridnet.contrib.svrg_optimization",
    "sym": "hybridnet.symbol.contrib",
    "symbol": "hybridnet.symbol.contrib",
    "tensorboard": "hybridnet.contrib.tensorboard",
    "text": "hybridnet.contrib.text",
}

__all__ = [*_MODULES]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise missing("contrib", name, _MODULES)
        value = globals()[name] = importlib.import_module(_MODULES[name])
        return value
